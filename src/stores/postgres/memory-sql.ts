// Columns of memories that only PostgreSQL has, and the rows of their tags.

import { storedSource } from "../rows/memory.ts";
import { keptFileOf } from "../rows/memory-file.ts";
import type { Session } from "../session.ts";

/** The column `source`, and those that repeat what SQL needs of it. */
export interface SourceColumns {
  readonly source: string | null;
  readonly file: string | null;
  readonly mediaType: string | null;
}

/** The columns for a value of `source`. */
export function sourceColumns(source: string | null): SourceColumns {
  return { source, file: keptFileOf({ source }), mediaType: storedSource({ source })?.media_type ?? null };
}

const REMOVE_TAGS = "DELETE FROM memory_tags WHERE memory_key = ANY($keys::bigint[])";
const ADD_TAGS = `INSERT INTO memory_tags (project_key, tag, memory_key)
  SELECT DISTINCT project_key, tag, memory_key
  FROM unnest($projectKeys::bigint[], $tags::text[], $keys::bigint[]) AS given (project_key, tag, memory_key)`;

/** A row after a change, and the value of its column `tags` before it. */
interface RetaggedRow {
  readonly row: { readonly project_key: bigint; readonly memory_key: bigint; readonly tags: string | null };
  readonly before: string | null;
}

/** Replaces the rows of the tags of those memories whose tags have changed. */
export async function putTags(session: Session, memories: readonly RetaggedRow[]): Promise<void> {
  const changed = memories.filter(({ row, before }) => row.tags !== before);
  const tagged = changed.filter(({ before }) => before !== null && before !== "[]");
  if (tagged.length > 0) await session.run(REMOVE_TAGS, { keys: tagged.map(({ row }) => row.memory_key) });
  const added = changed.flatMap(({ row }) => {
    const tags = row.tags === null ? [] : (JSON.parse(row.tags) as readonly string[]);
    return tags.map((tag) => ({ projectKey: row.project_key, tag, key: row.memory_key }));
  });
  if (added.length === 0) return;
  await session.run(ADD_TAGS, {
    projectKeys: added.map(({ projectKey }) => projectKey),
    tags: added.map(({ tag }) => tag),
    keys: added.map(({ key }) => key),
  });
}
