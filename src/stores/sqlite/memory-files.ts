// Finds uploaded files to which no memory refers.

import type { SqliteDatabase } from "./database.ts";

/** Maximum number of file names per statement. Many thousand names in one parameter would take megabytes. */
const STEP_FILES = 500;

const UNREFERENCED = `SELECT value AS name FROM json_each($names) WHERE NOT EXISTS (
    SELECT 1 FROM memories WHERE source ->> '$.file' = value AND source ->> '$.file' IS NOT NULL)`;

/** See MemoryStore.unreferencedFiles. */
export function unreferencedFiles(database: SqliteDatabase, names: readonly string[]): readonly string[] {
  const unreferenced: string[] = [];
  for (let first = 0; first < names.length; first += STEP_FILES) {
    const rows = database
      .prepare<{ name: string }, { names: string }>(UNREFERENCED)
      .all({ names: JSON.stringify(names.slice(first, first + STEP_FILES)) });
    unreferenced.push(...rows.map(({ name }) => name));
  }
  return unreferenced;
}
