// Runs transactions and queries of a command that keeps or moves data. They take no locks of projects.

import type { Bindings } from "../../session.ts";
import type { Client, Connection } from "../client.ts";
import { bound } from "../session.ts";

/** Runs `work` in one transaction. */
export async function inTransaction<T>(client: Client, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await client.begin("BEGIN");
  let isBroken = true;
  try {
    const result = await work(connection);
    await connection.execute("COMMIT");
    isBroken = false;
    return result;
  } finally {
    await connection.end(isBroken); // closing the connection undoes an open transaction
  }
}

/** All rows of a query with parameters `$name`. */
export async function rowsOf<Row>(connection: Connection, sql: string, params: Bindings): Promise<readonly Row[]> {
  const { sql: numbered, values } = bound(sql, params);
  return (await connection.query(numbered, values)).rows as readonly Row[];
}
