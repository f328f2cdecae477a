// Conventions of routes: the form of errors and the framing of streams. Most routes have Mneme's own; those that
// clients of OpenAI or mem0 call have theirs.

import type { Fault } from "../domain/fault.ts";
import { errorView } from "./errors.ts";
import { mem0Error } from "./mem0-errors.ts";
import { openAiError } from "./openai/errors.ts";
import type { Operation } from "./operation.ts";
import { COMPATIBLE_PREFIX, matches } from "./routes.ts";
import { DATA_ONLY, type Framing, NAMED_EVENTS } from "./sse.ts";

/** The conventions of a route. */
export interface Conventions {
  /** The body of an error. */
  readonly errorBody: (fault: Fault, requestId: string) => object;
  readonly framing: Framing;
}

/** The conventions of a path, also for methods that the path does not have. */
export type ConventionsOf = (path: string) => Conventions;

const OWN: Conventions = {
  errorBody: (fault, requestId) => ({ error: errorView(fault, requestId) }),
  framing: NAMED_EVENTS,
};
const MEM0: Conventions = { errorBody: mem0Error, framing: NAMED_EVENTS };
const OPENAI: Conventions = { errorBody: openAiError, framing: DATA_ONLY };

/** The conventions of all paths. */
export function conventionsByPath(operations: readonly Pick<Operation, "conventions" | "path">[]): ConventionsOf {
  const paths = new Set(operations.filter(({ conventions }) => conventions === "openai").map(({ path }) => path));
  return (path) => {
    if (path.startsWith(COMPATIBLE_PREFIX)) return MEM0;
    return paths.values().some((template) => matches(template, path)) ? OPENAI : OWN;
  };
}
