// Ids in paths and queries: what has not the form of an id names nothing that exists, and is answered like an unknown one.

import { Fault, type FaultCode } from "../domain/fault.ts";
import { type IdPrefix, isId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import { shortened } from "../kit/shortened.ts";
import { refuseBadText } from "./body.ts";

/**
 * The id that a path names.
 * @throws Fault `code` when it cannot be one.
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

/**
 * A caller's own id in a path: 1 to 256 characters, none of which a text may not have.
 * @throws Fault `invalid_request`
 */
export function checkCallerId(text: string | undefined, param: string): string {
  const id = text ?? "";
  refuseBadText(id, [param]);
  if (id !== "" && [...id].length <= LIMITS.callerIdCharacters) return id;
  throw new Fault("invalid_request", `'${param}' must have 1 to ${LIMITS.callerIdCharacters} characters.`, { param });
}
