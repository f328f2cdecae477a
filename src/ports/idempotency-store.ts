// Remembered answers: responses to requests with an `Idempotency-Key`, stored so that a repeated request gets the same
// one. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). So an answer becomes durable together with the change that it reports, and a repeated request
// never makes a second change. When a memory is erased, the bodies of answers about it are erased too.

import type { ProjectId } from "../domain/ids.ts";

/** The slot of a request: identifies its remembered answer. */
export interface IdempotencySlot {
  readonly projectId: ProjectId;
  /**
   * The user that the API key is confined to; null if it is not confined. Keys of different users never see each
   * other's answers.
   */
  readonly userId: string | null;
  /** HTTP method and route template. */
  readonly route: string;
  /** The value of the header `Idempotency-Key`. */
  readonly key: string;
}

/** A remembered answer. */
export interface RememberedAnswer {
  /**
   * SHA-256 of the request's path parameters, query and body, compared by value: the order of object keys does not
   * matter. A repeated request has the same fingerprint.
   */
  readonly fingerprint: Uint8Array;
  readonly status: number;
  /**
   * The answer as JSON, without secrets and without values that the request contains too; the operation takes those
   * from the repeated request. Null if something that the answer is about has been erased since.
   */
  readonly body: string | null;
}

/** An answer to remember, whose body has not been erased. */
export interface WholeAnswer extends RememberedAnswer {
  readonly body: string;
}

/** Remembered answers. */
export interface IdempotencyStore {
  /** Returns null if there is no answer, or if it is older than LIMITS.idempotencyMs. */
  recall(slot: IdempotencySlot): Promise<RememberedAnswer | null>;
  /**
   * Stores an answer.
   * @param subjects ids of what the answer is about, for `forget`
   * @throws Fault `idempotency_conflict` if the slot has an answer, because another server has carried out the same
   *   request in the meantime; the change of this one must be undone
   */
  remember(slot: IdempotencySlot, answer: WholeAnswer, subjects: readonly string[]): Promise<void>;
  /**
   * Erases the bodies of answers about these ids. The records stay, so that a repeated request is not carried out
   * again.
   */
  forget(projectId: ProjectId, subjects: readonly string[]): Promise<void>;
  /** Removes answers older than LIMITS.idempotencyMs. */
  prune(): Promise<void>;
}

/** The subject that stands for a user, and for all that belongs to the user, in `IdempotencyStore.forget`. */
export function userSubject(userId: string): string {
  return `user:${userId}`;
}

/** The subject that stands for the profile of a user alone. */
export function profileSubject(userId: string): string {
  return `profile:${userId}`;
}
