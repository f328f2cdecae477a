// Columns of memories that only PostgreSQL has, and the rows of their tags.

import { storedSource } from "../rows/memory.ts";
import { keptFileOf } from "../rows/memory-file.ts";
import type { Session } from "./session.ts";

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

const REMOVE_TAGS = "DELETE FROM memory_tags WHERE memory_key = $key";
const ADD_TAGS = `INSERT INTO memory_tags (project_key, tag, memory_key)
  SELECT DISTINCT $projectKey::bigint, tag, $key::bigint FROM unnest($tags::text[]) AS given (tag)`;

/** Replaces the rows of a memory's tags if they change. The parameters are values of the column `tags`. */
export async function putTags(
  session: Session,
  memory: { readonly project_key: bigint; readonly memory_key: bigint },
  before: string | null,
  after: string | null,
): Promise<void> {
  if (before === after) return;
  const [key, projectKey] = [memory.memory_key, memory.project_key];
  if (before !== null && before !== "[]") await session.run(REMOVE_TAGS, { key });
  const tags = after === null ? [] : (JSON.parse(after) as readonly string[]);
  if (tags.length > 0) await session.run(ADD_TAGS, { key, projectKey, tags });
}
