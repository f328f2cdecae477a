// Opens a database for `mneme migrate`, which moves data into it or out of it, and stores the progress of a move into
// it. No node starts on the database until the move has ended.

import { Client } from "../client.ts";
import { DatabaseError } from "../database-error.ts";
import { prepareDatabase, readDatabase } from "../opening.ts";
import { inTransaction } from "./transaction.ts";

/** A database, with its id. The caller closes the client. */
export interface MovedDatabase {
  readonly client: Client;
  readonly id: string;
}

/** A move that has begun. */
export interface MoveProgress {
  /** Id of the stores that are moved. */
  readonly sourceId: string;
  /** Number of parts of the copy that are written. */
  readonly parts: number;
  /** The last memory whose publication is written, as `<project>/<key>`; empty if there is none. */
  readonly lastPublication: string;
}

const EXISTS = "SELECT to_regclass('mneme_migration') IS NOT NULL AS found";
const READ = "SELECT source_id, parts, last_publication FROM mneme_migration";
const HAS_DATA = "SELECT EXISTS (SELECT 1 FROM projects) AS found";
const CREATE = `CREATE TABLE mneme_migration (
    only_row bigint PRIMARY KEY CHECK (only_row = 1),
    source_id text NOT NULL,
    parts bigint NOT NULL,
    last_publication text NOT NULL
  )`;
const BEGIN = "INSERT INTO mneme_migration (only_row, source_id, parts, last_publication) VALUES (1, $1, 0, '')";

/** Opens a database to move data into. Creates its tables. @throws DatabaseError if it cannot be used */
export function openTarget(url: string): Promise<MovedDatabase> {
  return openMoved(url, prepareDatabase);
}

/**
 * Opens a database to move data out of. Does not change it.
 * @throws DatabaseError if it cannot be used, or has the tables of another version
 */
export function openSource(url: string): Promise<MovedDatabase> {
  return openMoved(url, async (client) => {
    const id = await readDatabase(client);
    await refuseUnfinishedMove(client);
    return id;
  });
}

async function openMoved(url: string, prepare: (client: Client) => Promise<string>): Promise<MovedDatabase> {
  const client = new Client(url);
  try {
    return { client, id: await prepare(client) };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** @throws DatabaseError `unfinished` if a move into the database has not ended */
export async function refuseUnfinishedMove(client: Client): Promise<void> {
  if (!(await hasMove(client))) return;
  throw new DatabaseError(
    "unfinished",
    `A move into the database ${client.where} has not ended: run mneme migrate again, or make the database empty.`,
  );
}

/**
 * Begins a move into the database, or continues it.
 * @throws DatabaseError `unfinished` if other stores are being moved into it, `not_empty` if it has data
 */
export async function beginMove(client: Client, sourceId: string): Promise<MoveProgress> {
  return inTransaction(client, async (connection) => {
    const { rows: exists } = await connection.query(EXISTS, []);
    if (exists[0]?.found !== true) {
      if ((await connection.query(HAS_DATA, [])).rows[0]?.found === true) throw notEmpty(client);
      await connection.execute(CREATE);
      await connection.query(BEGIN, [sourceId]);
    }
    const [row] = (await connection.query(READ, [])).rows;
    if (row?.source_id !== sourceId) {
      throw new DatabaseError(
        "unfinished",
        `A move of other data into the database ${client.where} has not ended: finish it, or give an empty database.`,
      );
    }
    return { sourceId, parts: Number(row.parts), lastPublication: String(row.last_publication) };
  });
}

/** Ends the move: from now on nodes may start. */
export async function endMove(client: Client): Promise<void> {
  await client.executeAlone("ANALYZE");
  await client.executeAlone("DROP TABLE mneme_migration");
}

/** @throws DatabaseError `not_empty` if the database has data that no unfinished move has written */
export async function refuseData(client: Client): Promise<void> {
  if (await hasMove(client)) return;
  if ((await client.read(HAS_DATA, [])).rows[0]?.found === true) throw notEmpty(client);
}

function notEmpty({ where }: Client): DatabaseError {
  return new DatabaseError("not_empty", `The database ${where} has data already: give an empty one.`);
}

async function hasMove(client: Client): Promise<boolean> {
  return (await client.read(EXISTS, [])).rows[0]?.found === true;
}
