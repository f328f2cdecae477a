// Reads the rows of a database of any earlier version, whether or not servers use it, and changes nothing.

import { readProjects, type StoredRows } from "../before-upgrade.ts";
import { Client } from "./client.ts";
import { MIGRATIONS } from "./migrations.ts";
import { checkServer } from "./opening.ts";

const TABLES = "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()";
const BYTES = "SELECT pg_database_size(current_database()) AS bytes";

/** The rows in the database at `url`. @throws DatabaseError if it cannot be read, or its server cannot be used */
export async function readDatabaseBeforeUpgrade(url: string): Promise<StoredRows> {
  const client = new Client(url);
  try {
    const all = async (sql: string) => (await client.read(sql, [])).rows;
    await checkServer(client);
    const tables = new Set((await all(TABLES)).map(({ name }) => String(name)));
    const [store] = tables.has("mneme_store") ? await all("SELECT schema_version FROM mneme_store") : [];
    const found = Number(store?.schema_version ?? 0);
    const [size] = await all(BYTES);
    const rows = found === 0 ? { projects: [], addedModels: [] } : await readProjects(tables, all);
    return { schema: { found, supported: MIGRATIONS.length }, bytes: Number(size?.bytes ?? 0), ...rows };
  } finally {
    await client.close();
  }
}
