// The filters of the list of memories, which have the same names in the address and in the API.

import { filterOf } from "../../core/router.ts";

/** Names of the filters. */
const FILTER_NAMES = ["q", "status", "type", "tag", "userId", "agentId", "sessionId", "superseded"] as const;

/** The filters in the address that are set. */
export function filtersInAddress(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    FILTER_NAMES.map((name) => [name, filterOf(name)] as const).filter(([, value]) => value !== ""),
  );
}
