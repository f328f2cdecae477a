// Earlier states of memories: texts that were replaced, and relations that were removed. Implemented by stores/, on
// SQLite and on PostgreSQL.
//
// Obligations of an implementation:
// - An earlier text is stored in the transaction that replaces it (MemoryStore), an earlier relation in the one that
//   removes it (RelationStore). A relation that is removed with a deleted memory is not kept.
// - If the text is published, only the text archive has it at that time. It is then stored without its content, and
//   `archived` names its memory until `keep` has been called. Whoever publishes another text of a memory calls `keep`
//   before that.
// - No method returns what was replaced or removed before the horizon of the project: `retention_days` back, or the
//   time since which earlier states are complete.

import type { RelationEntry, TextEntry } from "../domain/history.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";

/** A text of the history. `content` is null if the row of the memory or the text archive has it. */
export type StoredTextEntry = Omit<TextEntry, "content"> & { readonly content: string | null };
/** An entry of the history as it is stored. */
export type StoredHistoryEntry = StoredTextEntry | RelationEntry;

/** The text of a memory at an earlier time. */
export interface TextThen {
  readonly version: number;
  /** null: the text archive has it. */
  readonly content: string | null;
}

/** An earlier text as searches read it. */
export interface EarlierText {
  readonly key: MemoryKey;
  /** Different for each text, below 2^47. */
  readonly id: bigint;
  readonly content: string;
}

/** Which entries to list. */
export interface HistoryListing {
  readonly limit: number;
  readonly cursor?: string;
  /** Maximum size of all texts of a page together, in UTF-8 bytes. One text is listed even if it is larger. */
  readonly contentBytesMax: number;
}

/** Earlier states of memories. */
export interface HistoryStore {
  /**
   * The texts and relations of a live memory, newest first.
   * @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged
   */
  entries(projectId: ProjectId, key: MemoryKey, listing: HistoryListing): Promise<Page<StoredHistoryEntry>>;
  /**
   * Erases all earlier texts of a memory for good, and what quotes them: evidence of its earlier relations, which stay,
   * sources in chats, what was extracted from them, and all but the id of the memory in deliveries.
   */
  erase(projectId: ProjectId, key: MemoryKey): Promise<void>;
  /** Unix milliseconds since which all states are known; the current time if nothing is kept. */
  horizon(projectId: ProjectId): Promise<number>;
  /**
   * For each memory whose text has changed since `at`: the text that it had then; null if it had none, or that text is
   * not kept. Memories that are not in the map had today's text.
   */
  textsAt(
    projectId: ProjectId,
    keys: readonly MemoryKey[],
    at: number,
  ): Promise<ReadonlyMap<MemoryKey, TextThen | null>>;
  /**
   * The texts that memories of a project had at `at` and that were replaced since, the last replaced first.
   */
  earlierTexts(projectId: ProjectId, at: number, limit: number): Promise<readonly EarlierText[]>;
  /**
   * Those of these memories whose last earlier text only the text archive has. It is not wanted if `erase` was called
   * since.
   */
  archived(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, { readonly isWanted: boolean }>>;
  /** Stores the content of the earlier text that only the text archive has. null forgets it: it is erased or lost. */
  keep(key: MemoryKey, content: string | null): Promise<void>;
  /** Erases up to `limit` texts and relations whose retention has ended. Returns whether there may be more. */
  eraseOld(limit: number): Promise<boolean>;
}
