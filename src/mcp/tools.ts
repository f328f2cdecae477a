// The list of all tools, in the order in which clients show them. The order is fixed, so that clients can cache the
// list.

import type { Principal } from "../domain/scope.ts";
import { allows } from "../domain/scope.ts";
import type { Tool } from "./tool.ts";
import { fetchMemory, search } from "./tools/connector.ts";
import { getProfile } from "./tools/profile.ts";
import { askMemories, getMemory, listMemories, searchMemories } from "./tools/reading.ts";
import { addMemory, deleteMemory, updateMemory } from "./tools/writing.ts";

const TOOLS: readonly Tool[] = [
  addMemory,
  searchMemories,
  askMemories,
  getMemory,
  listMemories,
  updateMemory,
  deleteMemory,
  getProfile,
];
const CONNECTOR_TOOLS: readonly Tool[] = [search, fetchMemory];

/** All tools of a server. @param withConnector whether `search` and `fetch` are among them */
export function toolsOf(withConnector: boolean): readonly Tool[] {
  return withConnector ? [...TOOLS, ...CONNECTOR_TOOLS] : TOOLS;
}

/** The tools that a key may use. */
export function visibleTo(tools: readonly Tool[], principal: Pick<Principal, "scopes">): readonly Tool[] {
  return tools.filter(({ scope }) => allows(principal, scope));
}
