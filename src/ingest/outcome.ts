// How processing a job can end, apart from being published.

import type { FailureCode } from "../domain/memory.ts";

/** Ends a job as `failed`. The message is shown to the caller. */
export class JobRefused extends Error {
  override readonly name = "JobRefused";

  constructor(
    readonly code: FailureCode,
    message: string,
  ) {
    super(message);
  }
}

/** Puts a job back into the queue without counting an attempt: it is another job's turn. */
export class JobPostponed extends Error {
  override readonly name = "JobPostponed";

  constructor(readonly delayMs: number) {
    super("another job goes first");
  }
}

/** Ends the work on a job that is no longer held: its memory was deleted, or rewritten and claimed again. */
export class JobVoid extends Error {
  override readonly name = "JobVoid";
}
