// Checks the server and brings the tables up to date when the database is opened. Several processes may do this at the
// same time.

import type { Client, Connection } from "./client.ts";
import { DatabaseError, databaseError } from "./database-error.ts";
import { MIGRATIONS } from "./migrations.ts";

/** The oldest supported version of PostgreSQL, as `server_version_num`. */
const SERVER_VERSION_MIN = 160_000;

// one process at a time changes the tables; the others then find them up to date
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('mneme schema', 0))";
const CREATE_STORE = `CREATE TABLE IF NOT EXISTS mneme_store (
    only_row bigint PRIMARY KEY CHECK (only_row = 1),
    -- random; tells this database from every other one
    store_id text NOT NULL,
    schema_version bigint NOT NULL
  );
  INSERT INTO mneme_store (only_row, store_id, schema_version) VALUES (1, replace(gen_random_uuid()::text, '-', ''), 0)
    ON CONFLICT DO NOTHING`;
const SERVER = `SELECT current_setting('server_version_num')::bigint AS version,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery()::int::bigint AS is_standby`;

const HAS_STORE = "SELECT to_regclass('mneme_store') IS NOT NULL AS found";
const STORE = "SELECT store_id, schema_version FROM mneme_store";

/** What `refuseServer` needs to know of a server. */
export interface Server {
  /** `server_version_num`, such as 180006. */
  readonly version: number;
  readonly encoding: string;
  readonly isStandby: boolean;
}

/** @throws DatabaseError `too_old`, `encoding` or `standby` if Mneme cannot use the server */
export function refuseServer(where: string, { version, encoding, isStandby }: Server): void {
  if (version < SERVER_VERSION_MIN) {
    const [found, needed] = [version, SERVER_VERSION_MIN].map((number) => Math.floor(number / 10_000));
    throw new DatabaseError(
      "too_old",
      `The database ${where} is on PostgreSQL ${found}, but Mneme needs at least ${needed}: upgrade the server.`,
    );
  }
  if (encoding !== "UTF8") throw databaseError("encoding", where);
  if (isStandby) throw databaseError("standby", where);
}

/**
 * Checks the server and applies the missing migrations in one transaction. Returns the id of the database.
 * @throws DatabaseError if the database cannot be used
 */
export async function prepareDatabase(client: Client): Promise<string> {
  const connection = await client.begin("BEGIN");
  let isBroken = true;
  try {
    const [row] = (await connection.query(SERVER, [])).rows;
    refuseServer(client.where, serverOf(row));
    await connection.query(LOCK, []);
    await connection.execute(CREATE_STORE);
    await migrate(connection, client.where);
    const [store] = (await connection.query("SELECT store_id FROM mneme_store", [])).rows;
    await connection.execute("COMMIT");
    isBroken = false;
    return String(store?.store_id);
  } finally {
    await connection.end(isBroken); // closing the connection undoes an open transaction
  }
}

/**
 * Checks the server and the version of the tables, and changes nothing. Returns the id of the database.
 * @throws DatabaseError if the database cannot be used, or has the tables of another version
 */
export async function readDatabase(client: Client): Promise<string> {
  await checkServer(client);
  const [found] = (await client.read(HAS_STORE, [])).rows;
  const [store] = found?.found === true ? (await client.read(STORE, [])).rows : [];
  const version = Number(store?.schema_version ?? 0);
  if (version > MIGRATIONS.length) throw newerSchema(client.where, version);
  if (version < MIGRATIONS.length) {
    throw new DatabaseError(
      "older_schema",
      version === 0
        ? `The database ${client.where} has no data of Mneme: check its name in the address.`
        : `The database ${client.where} has schema version ${version}, but this version of Mneme needs ${MIGRATIONS.length}: start a server of this version on it first.`,
    );
  }
  return String(store?.store_id);
}

/** Checks the server, and changes nothing. @throws DatabaseError if it cannot be used */
export async function checkServer(client: Client): Promise<void> {
  const [row] = (await client.read(SERVER, [])).rows;
  refuseServer(client.where, serverOf(row));
}

function serverOf(row: Record<string, unknown> | undefined): Server {
  const server = row as { readonly version: bigint; readonly encoding: string; readonly is_standby: bigint };
  const { version, encoding, is_standby: isStandby } = server;
  return { version: Number(version), encoding, isStandby: isStandby === 1n };
}

function newerSchema(where: string, version: number): DatabaseError {
  return new DatabaseError(
    "newer_schema",
    `The database ${where} has schema version ${version}, but this version of Mneme supports at most ${MIGRATIONS.length}: start a newer version of Mneme.`,
  );
}

async function migrate(connection: Connection, where: string): Promise<void> {
  const [row] = (await connection.query("SELECT schema_version FROM mneme_store", [])).rows;
  const version = Number(row?.schema_version);
  if (version > MIGRATIONS.length) throw newerSchema(where, version);
  if (version === MIGRATIONS.length) return;
  for (const sql of MIGRATIONS.slice(version)) await connection.execute(sql);
  await connection.query("UPDATE mneme_store SET schema_version = $1", [BigInt(MIGRATIONS.length)]);
}
