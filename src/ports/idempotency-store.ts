// Answers that are remembered under an `Idempotency-Key`. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). So `remember` becomes durable together with the change that it answers, and a repeated request
// never makes a second change. When a memory is erased, answers about it lose their body.

import type { ProjectId } from "../domain/ids.ts";
import type { Eventually } from "../kit/eventually.ts";

/** Identifies a remembered answer. */
export interface IdempotencySlot {
  readonly projectId: ProjectId;
  /** The user that the key is confined to: confined keys never see each other's answers. */
  readonly userId: string | null;
  /** Method and route template. */
  readonly route: string;
  /** The caller's Idempotency-Key. */
  readonly key: string;
}

/** A remembered answer. */
export interface RememberedAnswer {
  /** SHA-256 of the request: path parameters, query and body by value. */
  readonly fingerprint: Uint8Array;
  readonly status: number;
  /**
   * JSON, without secrets and without what the request itself contains; null if a subject of the answer was erased
   * since.
   */
  readonly body: string | null;
}

/** An answer to remember. */
export interface WholeAnswer extends RememberedAnswer {
  readonly body: string;
}

/** Remembered answers. */
export interface IdempotencyStore {
  /** Returns null if there is no answer, or if it is older than LIMITS.idempotencyMs. */
  recall(slot: IdempotencySlot): Eventually<RememberedAnswer | null>;
  /** @param subjects ids of what the answer is about, see `forget` */
  remember(slot: IdempotencySlot, answer: WholeAnswer, subjects: readonly string[]): Eventually<void>;
  /**
   * Erases the bodies of answers about these ids. Their slots stay taken, so that a repeated request does not run
   * again.
   */
  forget(projectId: ProjectId, subjects: readonly string[]): Eventually<void>;
  /** Removes answers older than LIMITS.idempotencyMs. */
  prune(): Eventually<void>;
}
