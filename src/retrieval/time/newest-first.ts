// Puts the memory first that the query asks for, of two that contradict each other: the newer one for the present,
// the older one for the past. Runs on the final order, before calibration.

import type { RankedPassage } from "../../domain/ranking.ts";
import type { Candidate, Hydrated } from "../candidate.ts";
import { COMPARED_MAX, contradictions, reordered, STATEMENT_UNITS_MAX, type Statement } from "./contradictions.ts";
import type { QueryTime } from "./resolve-time.ts";
import { askedTense } from "./tense.ts";
import { happenedAt } from "./time-preference.ts";

/** A query, and the time that it names. */
export interface TimedQuery {
  readonly text: string;
  /** BCP 47; `und` if unknown. */
  readonly language: string;
  /** A query that names a span of time asks for neither the present nor the past in general. */
  readonly time: QueryTime | null;
}

/**
 * Reorders the candidates by `contradictions`. The memory that the query asks for takes the place and the score of
 * the other one, which follows it. Only short memories of the same user contradict each other: whole memories of one
 * chunk, no turns of conversations.
 */
export function newestFirst(
  query: TimedQuery,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
): readonly Candidate[] {
  if (query.time !== null && query.time.kind !== "event") return candidates;
  const head = candidates.slice(0, COMPARED_MAX);
  const found = head.map(({ chunkKey }) => hydrated.get(chunkKey));
  const owner = found.find((each) => each !== undefined)?.memory.userKey ?? null;
  const statements = head.map((candidate, place) => {
    const each = found[place];
    return each === undefined || each.memory.userKey !== owner ? null : statementOf(candidate, each);
  });
  if (statements.filter((statement) => statement !== null).length < 2) return candidates;
  const tense = askedTense(query.text, query.language);
  const pairs = contradictions({ text: query.text, language: query.language, tense }, statements);
  if (pairs.length === 0) return candidates;
  const changed = head.map((candidate, place) => {
    const above = pairs.find(({ lower }) => lower === place);
    const below = pairs.find(({ upper }) => upper === place);
    const other = head[above?.upper ?? below?.lower ?? -1];
    if (other === undefined) return candidate;
    const isOlder = (above !== undefined) === (tense === "past");
    const moved = above === undefined ? candidate : { ...candidate, finalScore: other.finalScore };
    return isOlder ? { ...moved, supersededBy: other.chunkKey } : moved;
  });
  return [...reordered(changed, pairs), ...candidates.slice(COMPARED_MAX)];
}

/** Whether a passage is a short memory of one chunk, and no turn: only such ones contradict each other. */
export function isStatement({ memory, text, place }: Pick<RankedPassage, "memory" | "text" | "place">): boolean {
  const isWhole = memory.state.status === "completed" && memory.state.chunkCount === 1;
  return isWhole && place.turn === undefined && text.length <= STATEMENT_UNITS_MAX;
}

function statementOf({ finalScore, signals }: Candidate, { memory, passage }: Hydrated): Statement | null {
  const { text, place } = passage;
  if (!isStatement({ memory, text, place })) return null;
  // Without the neighbour boost, which brings similar memories closer together: distances between scores are part of
  // how contradictions are recognised.
  const score = finalScore - (signals.neighbours?.score ?? 0);
  return { text, language: memory.language ?? "und", happenedAt: happenedAt(memory), score };
}
