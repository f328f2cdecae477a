// The faults with which calls of models fail.

import { ChildFailure, ChildGone } from "../../children/supervisor.ts";
import { Fault } from "../../domain/fault.ts";
import type { Priority } from "../../ports/models.ts";

/** Number of seconds after which callers may try again: queues usually have room again, or lanes are up, by then. */
const RETRY_AFTER_SECONDS = 2;

/** The fault of a call for which the queue has no room. */
export function overloaded(priority: Priority): Fault {
  const work = priority === "query" ? "search" : "ingest";
  const message = `Too much ${work} work is waiting for the models; try again later.`;
  return new Fault("overloaded", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** The error of calls whose lane failed with `error`. */
export function failureOf(error: unknown, model: string): unknown {
  if (error instanceof ChildFailure && error.thrown === "ModelFilesError") {
    return unavailable(`The model ${model} cannot be loaded.`, error.message);
  }
  if (!(error instanceof ChildGone)) return error;
  return new Fault("internal_error", "The models failed on this input twice.", { cause: error });
}

/** The fault of calls that no lane can answer. */
export function unavailable(message: string, cause: unknown = null): Fault {
  return new Fault("model_unavailable", message, {
    ...(cause !== null && { cause }),
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
