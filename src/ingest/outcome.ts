// Errors that end the processing of a job in a defined way. worker.ts handles them.

import type { FailureCode } from "../domain/memory.ts";

/** Ends a job as `failed`. The message is shown to the caller. */
export class JobFailed extends Error {
  override readonly name = "JobFailed";

  constructor(
    readonly code: FailureCode,
    message: string,
  ) {
    super(message);
  }
}

/** Returns a job to the queue without counting an attempt, because another job goes first. */
export class JobPostponed extends Error {
  override readonly name = "JobPostponed";

  constructor(readonly delayMs: number) {
    super("another job goes first");
  }
}

/** Ends the work on a job whose lease is lost: its memory was deleted, or rewritten and claimed again. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}
