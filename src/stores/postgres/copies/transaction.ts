// Runs work in a transaction of a command that moves data. It takes no locks of projects.

import type { Client, Connection } from "../client.ts";

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
