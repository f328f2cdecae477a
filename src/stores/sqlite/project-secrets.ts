// Part of a migration: gives each project a secret for chunk ids, and replaces the ids in the sources of chat messages
// that an older version stored. Those ids were the keys of the chunks in base 32, numbered across all projects.

import { ChunkIds, PROJECT_SECRET_BYTES } from "../../domain/chunk-ids.ts";
import type { ChunkKey } from "../../domain/ids.ts";
import { systemRandom } from "../rows/random.ts";

/** The database, as far as the migration uses it. */
interface Tables {
  prepare(sql: string): {
    all(params: Values): unknown[];
    run(params: Values): number;
  };
}
type Values = Readonly<Record<string, string | bigint | Uint8Array>>;

/** Number of rows that are read at once. */
const ROWS_AT_ONCE = 1_000;

const PROJECTS = "SELECT project_key FROM projects";
const SET_SECRET = "UPDATE projects SET secret = $secret WHERE project_key = $project";
const SOURCES = `SELECT message_key, position, project_key, shown ->> '$.id' AS id
  FROM message_sources JOIN messages USING (message_key) JOIN chats USING (chat_key)
  WHERE (message_key, position) > ($message, $position) ORDER BY message_key, position LIMIT ${ROWS_AT_ONCE}`;
const SET_SOURCE = `UPDATE message_sources SET shown = json_set(shown, '$.id', $id)
  WHERE message_key = $message AND position = $position`;

interface Source {
  readonly message_key: bigint;
  readonly position: bigint;
  readonly project_key: bigint;
  readonly id: string | null;
}

/** Sets the secrets of all projects, and the ids in the sources of stored messages. */
export function addProjectSecrets(tables: Tables): void {
  const idsOf = new Map<bigint, ChunkIds>();
  for (const { project_key: project } of tables.prepare(PROJECTS).all({}) as { project_key: bigint }[]) {
    const secret = systemRandom(PROJECT_SECRET_BYTES);
    tables.prepare(SET_SECRET).run({ project, secret });
    idsOf.set(project, new ChunkIds(secret));
  }

  let [message, position] = [-1n, -1n];
  for (;;) {
    const rows = tables.prepare(SOURCES).all({ message, position }) as Source[];
    for (const row of rows) {
      [message, position] = [row.message_key, row.position];
      const key = keyIn(row.id);
      const id = key === null ? undefined : idsOf.get(row.project_key)?.of(key);
      if (id !== undefined) tables.prepare(SET_SOURCE).run({ message, position, id });
    }
    if (rows.length < ROWS_AT_ONCE) break;
  }
}

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** The key in an id of an older version: 26 characters of base 32, of which a u64 needs the last 13. */
function keyIn(id: string | null): ChunkKey | null {
  const digits = /^chunk_0{13}([0-9a-hjkmnp-tv-z]{13})$/.exec(id ?? "")?.[1];
  if (digits === undefined) return null;
  return [...digits].reduce((key, digit) => key * 32n + BigInt(ALPHABET.indexOf(digit)), 0n) as ChunkKey;
}
