// Opens stores on a new PostgreSQL database, for the contracts.

import { describe, test } from "bun:test";
import { SQL } from "bun";
import { systemClock } from "../../src/kit/clock.ts";
import { openPostgresStores } from "../../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import type { OpenShared } from "../contract/shared-index.ts";
import type { OpenStores, Stored } from "../contract/stores.ts";
import { databaseUrl, execute, POSTGRES_MISSING, postgresServer } from "../support/postgres.ts";

const TABLES: Readonly<Record<Stored, string>> = {
  messages: "messages",
  sources: "message_sources",
  answers: "idempotency_records",
  subjects: "idempotency_subjects",
};

/** A database with all tables, which are copied. */
const TEMPLATE = "mneme_template";
let templateMade: Promise<void> | null = null;

/** Runs tests that need PostgreSQL, or says why they are skipped. */
export function withPostgres(what: string, tests: () => void): void {
  if (POSTGRES_MISSING === null) tests();
  else describe.skip(`${what} on PostgreSQL (${POSTGRES_MISSING})`, () => test("is skipped", () => undefined));
}

/** Databases of earlier tests, which were emptied. Emptying one takes a tenth of the time of making one. */
const unused: string[] = [];

/** An empty database with all tables. `giveBack` empties it for a later test. */
export interface EmptyDatabase {
  readonly url: string;
  giveBack(): Promise<void>;
}

/** The names of all tables of a database, with those of their columns. */
export async function columnsOf(url: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const sql = new SQL({ url, max: 1 });
  const columns: { table_name: string; column_name: string }[] = await sql.unsafe(
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()",
  );
  await sql.close();
  const tables = Map.groupBy(columns, ({ table_name }) => table_name);
  return new Map([...tables].map(([table, of]) => [table, of.map(({ column_name }) => column_name)]));
}

/** Makes an empty database with all tables. */
export async function emptyDatabase(): Promise<EmptyDatabase> {
  const url = unused.pop() ?? (await makeDatabase());
  return {
    url,
    giveBack: async () => {
      await execute(url, EMPTY);
      unused.push(url);
    },
  };
}

const EMPTY = `DO $body$ BEGIN
  EXECUTE (SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ') || ' RESTART IDENTITY' FROM pg_tables
    WHERE schemaname = 'public' AND tablename NOT IN ('mneme_store', 'chunk_keys'));
  UPDATE chunk_keys SET next = 1;
  ALTER SEQUENCE known_users RESTART;
  ALTER SEQUENCE lease_tokens RESTART;
END $body$`;

async function makeDatabase(): Promise<string> {
  const server = await postgresServer();
  templateMade ??= makeTemplate(server);
  await templateMade;
  const name = `mneme_${crypto.randomUUID().replaceAll("-", "")}`;
  await execute(server, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  return databaseUrl(server, name);
}

/** Opens stores on a new database. */
export const openPostgres: OpenStores = async (surroundings) => {
  const { url, giveBack } = await emptyDatabase();
  const beside = new SQL({ url, max: 1 });
  const stores = await openPostgresStores({
    url,
    newWebhookSecret,
    onEffectFailure: (error) => {
      throw error;
    },
    ...surroundings,
  });
  return {
    ...stores,
    occupy: async (id, bytes) => {
      await beside.unsafe("UPDATE projects SET storage_bytes = storage_bytes + $1 WHERE id = $2", [bytes, id]);
    },
    stored: async (what) => Number((await beside.unsafe(`SELECT count(*) AS rows FROM ${TABLES[what]}`))[0]?.rows),
    close: async () => {
      await stores.close();
      await beside.close();
      await giveBack();
    },
  };
};

const ROWS = ["texts", "chunks", "publication_parts", "publication_vectors"]
  .map((table) => `(SELECT count(*) FROM ${table})`)
  .join(" + ");

/** Opens stores on a new database, with what several nodes share of their indexes. */
export const openPostgresShared: OpenShared = async (clock) => {
  const { url, giveBack } = await emptyDatabase();
  const beside = new SQL({ url, max: 1 });
  const onEffectFailure = () => undefined;
  const stores = await openPostgresStores({ url, clock, newWebhookSecret, onEffectFailure });
  return {
    ...stores,
    age: async (projectId, sequence, ms) => {
      await beside.unsafe(
        `UPDATE project_changes SET changed_at = changed_at - make_interval(secs => $1) WHERE sequence <= $2
          AND project_key = (SELECT project_key FROM projects WHERE id = $3)`,
        [ms / 1_000, sequence, projectId],
      );
    },
    size: async () => Number((await beside.unsafe(`SELECT ${ROWS} AS rows`))[0]?.rows),
    close: async () => {
      await stores.close();
      await beside.close();
      await giveBack();
    },
  };
};

// several test processes may share the server
async function makeTemplate(server: string): Promise<void> {
  const sql = new SQL({ url: server, max: 1 });
  try {
    await sql.unsafe("SELECT pg_advisory_lock(1)");
    const found = await sql.unsafe("SELECT 1 FROM pg_database WHERE datname = $1", [TEMPLATE]);
    if (found.length > 0) return;
    const unfinished = `${TEMPLATE}_unfinished`;
    await sql.unsafe(`DROP DATABASE IF EXISTS ${unfinished}`);
    await sql.unsafe(`CREATE DATABASE ${unfinished}`);
    const url = databaseUrl(server, unfinished);
    const onEffectFailure = () => undefined;
    await (await openPostgresStores({ url, clock: systemClock, newWebhookSecret, onEffectFailure })).close();
    await sql.unsafe(`ALTER DATABASE ${unfinished} RENAME TO ${TEMPLATE}`);
  } finally {
    await sql.close();
  }
}
