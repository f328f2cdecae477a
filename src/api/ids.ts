// Checks ids in paths and query parameters. A malformed id gets the same error as an unknown one, because no resource
// can have it.

import { Fault, type FaultCode } from "../domain/fault.ts";
import { type IdPrefix, isId, type MemoryId, type ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import { shortened } from "../kit/shortened.ts";
import { refuseBadText } from "./body.ts";

/**
 * Checks an id that the server made.
 * @param param name of the parameter in the request, for the error
 * @throws Fault `code` if the text is not a well-formed id
 */
export function pathId<Id extends string>(
  prefix: IdPrefix,
  text: string | undefined,
  code: FaultCode,
  param = "id",
): Id {
  if (text !== undefined && isId(prefix, text)) return text as Id;
  const noun = code.replace(/_not_found$/, "");
  throw new Fault(code, `There is no ${noun} '${shortened(text ?? "")}'. Ids look like ${prefix}_….`, { param });
}

/** Checks the id of a memory in a path. @throws Fault `memory_not_found` */
export function memoryPathId(text: string | undefined, param?: string): MemoryId {
  return pathId("mem", text, "memory_not_found", param);
}

/** Checks the id of a project in a path. @throws Fault `project_not_found` */
export function projectPathId(text: string | undefined): ProjectId {
  return pathId("prj", text, "project_not_found");
}

/**
 * Checks an optional `projectId` of a query or body; null if there is none.
 * @throws Fault `project_not_found`
 */
export function namedProjectId(named: string | null | undefined): ProjectId | null {
  return named === null || named === undefined ? null : pathId("prj", named, "project_not_found", "projectId");
}

/**
 * Checks an id that the caller's application chose: 1 to 256 characters, without NUL and lone surrogates.
 * @throws Fault `invalid_request`
 */
export function checkCallerId(text: string | undefined, param: string): string {
  const id = text ?? "";
  refuseBadText(id, [param]);
  if (id !== "" && [...id].length <= LIMITS.callerIdCharacters) return id;
  throw new Fault("invalid_request", `'${param}' must have 1 to ${LIMITS.callerIdCharacters} characters.`, { param });
}
