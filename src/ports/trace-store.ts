// What the stores of record hold of a memory, a user or a project, for its erasure at once (services/forget.ts).
// Implemented by src/stores for both databases.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";

/** What can be forgotten. */
export const SUBJECT_KINDS = ["memory", "user", "project"] as const;
/** A kind of subject. */
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** A memory, user or project that exists, or of which something is left. */
export interface Subject {
  readonly kind: SubjectKind;
  readonly id: string;
  readonly projectId: ProjectId;
  readonly projectKey: bigint;
  /** Key of the user; null for other subjects. */
  readonly userKey: bigint | null;
  /** All of its memories in any state, deleted ones included: of a memory also those of the files in its file. */
  readonly memories: readonly { readonly key: MemoryKey; readonly id: string; readonly isLive: boolean }[];
}

/** Numbers of entries by store and kind of entry. */
export type Traces = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Finds subjects, counts what is left of them, and erases it. */
export interface TraceStore {
  /**
   * @param project id or name of the project of a memory or user; null: the default project
   * @throws Fault `project_not_found`, `user_not_found` or `memory_not_found`; `invalid_request` for the name of
   *   several projects
   */
  find(kind: SubjectKind, id: string, project: string | null): Promise<Subject>;
  /** Numbers of the subject's entries, by store and kind of entry. */
  count(subject: Subject): Promise<Traces>;
  /** Number of chunks in counts. The index has one entry for each. */
  chunksIn(traces: Traces): number;
  /** Number of answers in chats that were made with these memories as sources. Their text is not a trace. */
  answersFrom(subject: Subject): Promise<number>;
  /** Ends the retention of memories that are deleted. */
  endRetention(subject: Subject): Promise<void>;
  /** Erases everything of a user whose memories have been erased. */
  eraseUser(subject: Subject): Promise<void>;
}
