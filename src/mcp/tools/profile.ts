// The tool get_profile: what is known of a user, without a language model. It shows the profile of the API, the newest
// memories, and those that share most entities with the newest. The latter are often old, and about what a person keeps
// coming back to. Superseded memories are left out.

import { Type } from "@sinclair/typebox";
import { Text } from "../../api/check.ts";
import { type Operations, ofMemory } from "../../api/operation-calls.ts";
import { profileView, requestedProfile } from "../../api/profile.ts";
import { scopeFields } from "../../api/schema/attributes.ts";
import { Body, described, OneOf, Optional } from "../../api/schema/fields.ts";
import { ProfileQuery, profileFields } from "../../api/schema/profile.ts";
import { Fault } from "../../domain/fault.ts";
import { type MemoryScope, scopeOf } from "../../domain/memory-attributes.ts";
import type { JsonRecord } from "../../kit/record.ts";
import { cutNote, ENVELOPE_TOKENS, firstFitting, MaxTokens, tokensOf } from "../budget.ts";
import { MemoryResult, memoryResult } from "../memory-result.ts";
import { READS, type Tool, tool } from "../tool.ts";

/** Default of `max_tokens`. */
const PROFILE_TOKENS = 2_000;
/** Number of newest memories that are read. */
const NEWEST_MAX = 30;
/** Number of newest memories whose links are followed; each takes one call of getMemoryGraph. */
const FOLLOWED_MAX = 10;
/** Number of neighbours that are read of each: so many that not all of them are among the newest. */
const NEIGHBOURS_MAX = 60;
/** Number of linked memories that are read besides the newest; each takes one call of getMemory. */
const LINKED_MAX = 10;
/** Number of entities that are named. */
const TOPICS_MAX = 20;
/** Smallest `max_tokens` with a profile. Below it, the memories leave no room for one. */
const WITH_PROFILE_TOKENS_MIN = 600;
/** Share of `max_tokens` that the profile may take, with the names of its fields. */
const PROFILE_SHARE = 0.4;
/** Number of tokens of a profile without entries. */
const EMPTY_PROFILE_TOKENS = 65;
/** Share of `max_tokens` that the newest memories get before the linked ones. */
const NEWEST_SHARE = 0.5;
/** Share of `max_tokens` that names may take. */
const TOPICS_SHARE = 0.1;

/** A memory, and why it is shown. */
const Known = Type.Object({
  ...MemoryResult.properties,
  chosen: OneOf(["newest", "linked"], "newest: stored last; linked: shares entities with many of the newest"),
});

/** What is known of a user. */
export const getProfile: Tool = tool({
  name: "get_profile",
  title: "What is known of a user",
  description:
    "Gives an overview of what is stored about a user, within max_tokens: facts that hold now, preferences, people and events, the newest memories, those that are linked with most of them, and the names that occur most. Use it at the beginning of a conversation.",
  scope: "memories:read",
  annotations: READS,
  input: Body({
    ...scopeFields,
    userId: described(scopeFields.userId, "The user; leave out for all memories that the key may read"),
    max_tokens: MaxTokens(PROFILE_TOKENS),
    time_zone: Optional(ProfileQuery.properties.time_zone),
  }),
  output: Type.Object({
    userId: Type.Optional(Text()),
    memories: Type.Array(Known),
    topics: Type.Array(Text(), { description: "Names that occur in most of the newest memories" }),
    has_more: Type.Boolean({ description: "Whether there are more memories than those that were looked at" }),
    note: Type.Optional(Text({ description: "What is left out or cut" })),
    // absent below WITH_PROFILE_TOKENS_MIN
    ...Type.Partial(Type.Object(profileFields)).properties,
  }),
  run: async ({ max_tokens, time_zone, ...named }, { operations, profile: profileOf }) => {
    const scope = scopeOf(named);
    const tokensMax = max_tokens ?? PROFILE_TOKENS;
    const page = await operations.call("listMemories", {
      query: { ...scope, status: "completed", superseded: false, limit: NEWEST_MAX },
    });
    const newest = (page.data as JsonRecord[]).map(memoryResult);
    const { ids, names } = await links(operations, newest);
    const linked = await readLinked(operations, ids, newest, scope);

    const topics = fittingNames(names, tokensMax * TOPICS_SHARE);
    const newestItems = newest.map((memory) => ({ ...memory, chosen: "newest" as const }));
    const linkedItems = linked.map((memory) => ({ ...memory, chosen: "linked" as const }));
    const max = Math.floor(tokensMax * PROFILE_SHARE) - EMPTY_PROFILE_TOKENS;
    const requested = requestedProfile({ ...named, time_zone, max_tokens: max });
    const hasRoom = tokensMax >= WITH_PROFILE_TOKENS_MIN;
    const profile = hasRoom ? profileView(await profileOf({ ...requested, besides: tokensOf })) : {};
    const room = tokensMax - ENVELOPE_TOKENS - tokensOf(topics) - tokensOf(profile);
    const first = firstFitting(newestItems, Math.floor(room * NEWEST_SHARE), tokensMax);
    const second = firstFitting(linkedItems, room - first.tokens, tokensMax, false);
    // the newest ones may take what the linked ones have left over
    const more = firstFitting(newestItems, room - second.tokens, tokensMax);
    const cut = more.cut + second.cut;
    const leftOut = more.leftOut + second.leftOut;
    const note = cutNote({ ...more, cut, leftOut, lighter: more.lighter + second.lighter }, tokensMax);
    return {
      ...(scope.userId !== undefined && { userId: scope.userId }),
      memories: [...more.items, ...second.items],
      topics,
      has_more: page.has_more === true,
      ...profile,
      ...(note !== null && { note }),
      ...(newest.length === 0 && { note: "Nothing is stored yet." }),
    };
  },
});

interface Graph {
  readonly entities: readonly { readonly name: string }[];
  readonly neighbours: readonly { readonly memory_id: string; readonly score: number }[];
}

/**
 * Ids of the memories that are linked with the newest ones, most linked first, and the entities that most of them name.
 */
async function links(operations: Operations, newest: readonly MemoryResult[]) {
  const scores = new Map<string, number>();
  const names = new Map<string, number>();
  for (const { memory_id } of newest.slice(0, FOLLOWED_MAX)) {
    const graph = (await orNothing(
      operations.call("getMemoryGraph", { ...ofMemory(memory_id), query: { limit: NEIGHBOURS_MAX } }),
    )) as Graph | null;
    if (graph === null) continue;
    for (const { memory_id, score } of graph.neighbours) scores.set(memory_id, (scores.get(memory_id) ?? 0) + score);
    for (const { name } of graph.entities) names.set(name, (names.get(name) ?? 0) + 1);
  }
  return { ids: byCount(scores), names: byCount(names).slice(0, TOPICS_MAX) };
}

/** The first names that fit into a number of tokens. */
function fittingNames(names: readonly string[], tokensMax: number): string[] {
  const fitting = [...names];
  while (fitting.length > 0 && tokensOf(fitting) > tokensMax) fitting.pop();
  return fitting;
}

/** Reads at most `LINKED_MAX` of the memories with these ids. Leaves out those in `newest` and outside of `scope`. */
async function readLinked(
  operations: Operations,
  ids: readonly string[],
  newest: readonly MemoryResult[],
  scope: MemoryScope,
): Promise<readonly MemoryResult[]> {
  const known = new Set(newest.map(({ memory_id }) => memory_id));
  const found: MemoryResult[] = [];
  for (const id of ids.filter((id) => !known.has(id)).slice(0, LINKED_MAX)) {
    const memory = await orNothing(operations.call("getMemory", ofMemory(id)));
    // the graph of an unconfined key spans all users, agents and sessions
    const isInScope = Object.entries(scope).every(([name, id]) => memory?.[name] === id);
    if (memory !== null && isInScope && memory.superseded_by === null) found.push(memoryResult(memory));
  }
  return found;
}

/** The answer; null if the memory was just deleted, or if the rate limit is reached: the newest are enough then. */
async function orNothing(answer: Promise<JsonRecord>): Promise<JsonRecord | null> {
  try {
    return await answer;
  } catch (error) {
    const code = error instanceof Fault ? error.code : null;
    if (code === "memory_not_found" || code === "rate_limit_exceeded") return null;
    throw error;
  }
}

function byCount(counts: ReadonlyMap<string, number>): readonly string[] {
  return [...counts].sort(([, one], [, other]) => other - one).map(([key]) => key);
}
