// Closes a database to changes while it is moved: triggers refuse them on all nodes. It can still be read. The state is
// in the database, so it outlasts the command that closed it.

import type { Client } from "../client.ts";
import { inTransaction } from "./transaction.ts";

/** Maximum time that closing waits for a transaction that uses a table, in milliseconds. */
const LOCK_MS_MAX = 25_000;
/** SQLSTATE of a change that is refused; database-error.ts knows it. */
const CLOSED_STATE = "MN001";
const FUNCTION = "mneme_refuse_change";
const TRIGGER = "mneme_closed";

/**
 * Tables that can still be changed: short-lived state that nodes share, uploaded files (their memories are refused
 * afterwards), and the progress of a move.
 */
const OPEN = `'mneme_store', 'mneme_migration', 'kept_files', 'rate_windows', 'rate_slots', 'request_flights',
  'query_reservations', 'token_reservations', 'node_tasks', 'nodes'`;

/** Changes of this table are ignored instead of refused: queries are answered, but not counted. */
const UNCOUNTED = "monthly_usage";
const NOT_COUNTED_FUNCTION = "mneme_skip_change";

const CLOSE = `
CREATE OR REPLACE FUNCTION ${FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  RAISE EXCEPTION 'this database is being moved' USING ERRCODE = '${CLOSED_STATE}';
END $body$;
CREATE OR REPLACE FUNCTION ${NOT_COUNTED_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  RETURN NULL;
END $body$;
DO $body$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN (${OPEN})
    ORDER BY tablename
  LOOP
    IF name = '${UNCOUNTED}' THEN
      EXECUTE format('CREATE OR REPLACE TRIGGER ${TRIGGER} BEFORE INSERT OR UPDATE OR DELETE ON %I
        FOR EACH ROW EXECUTE FUNCTION ${NOT_COUNTED_FUNCTION}()', name);
    ELSE
      EXECUTE format('CREATE OR REPLACE TRIGGER ${TRIGGER} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I
        FOR EACH STATEMENT EXECUTE FUNCTION ${FUNCTION}()', name);
    END IF;
  END LOOP;
END $body$`;
const REOPEN = `DROP FUNCTION IF EXISTS ${FUNCTION}() CASCADE; DROP FUNCTION IF EXISTS ${NOT_COUNTED_FUNCTION}() CASCADE`;
const CLOSING = `SELECT coalesce(obj_description(pg_proc.oid, 'pg_proc'), '') AS id FROM pg_proc
  JOIN pg_namespace ON pg_namespace.oid = pronamespace
  WHERE proname = '${FUNCTION}' AND nspname = current_schema()`;

/**
 * Refuses changes on all nodes from now on, unless they are refused already. Waits for transactions in progress.
 * Returns an id of this closing: while it stays the same, no row has changed.
 * @throws DatabaseError `busy` if one of them takes too long
 */
export async function closeDatabase(client: Client): Promise<string> {
  const known = await closingOf(client);
  if (known !== null) return known;
  const id = crypto.randomUUID();
  await inTransaction(client, async (connection) => {
    await connection.execute(`SET LOCAL lock_timeout = ${LOCK_MS_MAX}`);
    await connection.execute(CLOSE);
    await connection.execute(`COMMENT ON FUNCTION ${FUNCTION}() IS '${id}'`);
  });
  return id;
}

/** Allows changes again. */
export async function reopenDatabase(client: Client): Promise<void> {
  await inTransaction(client, (connection) => connection.execute(REOPEN));
}

/** A random id of this closing; null if changes are allowed. Between two closings, rows may have changed. */
export async function closingOf(client: Client): Promise<string | null> {
  const found = (await client.read(CLOSING, [])).rows[0];
  return found === undefined ? null : String(found.id);
}
