// Copies texts and relations to the history before they are replaced or removed, in the same transaction. Nothing is
// kept if the project's `retention_days` is 0.

import { EARLIER_TEXTS_MAX } from "../../domain/history.ts";
import type { Dialect } from "../dialect.ts";
import type { KnownRow } from "../rows/memory-change.ts";
import type { Session } from "../session.ts";

// Copies a waiting content, unless it is empty, as it is for a file that has not been read. A published text stays in
// the text archive until another one is published (ports/history-store.ts).
const KEEP_TEXT = ({ retentionDays }: Dialect) => `INSERT INTO earlier_texts
    (memory_key, text_version, content, content_bytes, passages, since, until, text_by)
  SELECT memories.memory_key, text_version, content, content_bytes, chunk_count, coalesce(text_since,
    memories.created_at), $now, text_by
  FROM memories JOIN projects USING (project_key) LEFT JOIN waiting_contents USING (memory_key)
  WHERE memories.memory_key = $key AND ${retentionDays} > 0 AND (content IS NULL OR content <> '')
  ON CONFLICT DO NOTHING`;
const DROP_OLDEST = "DELETE FROM earlier_texts WHERE memory_key = $key AND text_version <= $last";

/** The columns that current and earlier relations have. */
export const RELATION_COLUMNS = `project_key, memory_key, other_key, kind, state, made_by, set_by, confidence, own_passage,
  other_passage, evidence, created_at`;
const keepRelations =
  (where: (dialect: Dialect) => string) =>
  (dialect: Dialect): string =>
    `INSERT INTO earlier_relations (${RELATION_COLUMNS}, removed_at, removed_by)
  SELECT ${RELATION_COLUMNS}, CAST($now AS bigint), CAST($by AS text) FROM relations
  WHERE ${where(dialect)} AND kind <> 'none' AND EXISTS (SELECT 1 FROM projects
    WHERE projects.project_key = relations.project_key AND ${dialect.retentionDays} > 0)`;
const KEEP_FOUND = keepRelations(
  ({ isIn }) => `(memory_key ${isIn("keys")} OR other_key ${isIn("keys")}) AND made_by <> 'person'`,
);
const BETWEEN = "((memory_key = $own AND other_key = $other) OR (memory_key = $other AND other_key = $own))";
const KEEP_BETWEEN = keepRelations(() => BETWEEN);
const KEEP_SAID_BETWEEN = keepRelations(() => `${BETWEEN} AND made_by = 'person'`);
const ERASE_RELATIONS = ({ isIn }: Dialect) => `DELETE FROM earlier_relations
  WHERE memory_key ${isIn("keys")} OR other_key ${isIn("keys")}`;

/** When relations are removed (Unix milliseconds), and the id of the key that removes them; null if no key does. */
interface Removal {
  readonly now: number;
  readonly by: string | null;
}

/** Keeps earlier texts and relations. */
export class EarlierRows {
  constructor(private readonly session: Session) {}

  /** Keeps the text of a memory, before its row gets another one. */
  async keepText({ memory_key: key, text_version }: KnownRow, now: number): Promise<void> {
    await this.session.run(KEEP_TEXT, { key, now });
    const last = text_version - BigInt(EARLIER_TEXTS_MAX);
    if (last > 0n) await this.session.run(DROP_OLDEST, { key, last });
  }

  /** Keeps the relations of memories that no person set. */
  async keepFoundRelations(keys: readonly bigint[], removal: Removal): Promise<void> {
    await this.session.run(KEEP_FOUND, { keys, ...removal });
  }

  /** Keeps all relations between two memories. */
  async keepRelationsBetween(own: bigint, other: bigint, removal: Removal): Promise<void> {
    await this.session.run(KEEP_BETWEEN, { own, other, ...removal });
  }

  /** Keeps the relations between two memories that a person set. */
  async keepSaidRelationsBetween(own: bigint, other: bigint, removal: Removal): Promise<void> {
    await this.session.run(KEEP_SAID_BETWEEN, { own, other, ...removal });
  }

  /** Erases the earlier relations of memories. */
  async eraseRelations(keys: readonly bigint[]): Promise<void> {
    await this.session.run(ERASE_RELATIONS, { keys });
  }
}
