// The question of the playground: reads it from the address and makes the request.

import type { SearchResults } from "../../core/calls.ts";
import type { Filters } from "../../core/router.ts";
import { filterOf } from "../../core/router.ts";
import { jsonOf } from "../../ui/form.tsx";
import { MODES, type ModeName } from "../shared/memory-names.ts";

/** A question with its settings, as they are in the address. */
export interface Question {
  readonly q: string;
  readonly modes: readonly ModeName[];
  readonly userId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly limit: string;
  readonly filters: string;
  readonly asOf: string;
  readonly graph: boolean;
}

/** The results of a question in each mode. */
export type Found = readonly { readonly mode: ModeName; readonly found: SearchResults }[];

/** The question in the address. */
export function questionInAddress(): Question {
  const named = filterOf("modes").split(",");
  const modes = MODES.map(([name]) => name).filter((name) => named.includes(name));
  return {
    q: filterOf("q"),
    modes: modes.length === 0 ? ["hybrid"] : modes,
    userId: filterOf("userId"),
    agentId: filterOf("agentId"),
    sessionId: filterOf("sessionId"),
    limit: filterOf("limit"),
    filters: filterOf("filters"),
    asOf: filterOf("asOf"),
    graph: filterOf("graph") === "true",
  };
}

/** The filters of the address (see router.ts) for a question. */
export function addressOfQuestion(question: Question): Filters {
  return { ...question, modes: question.modes.join(","), graph: question.graph || null };
}

/** The body of a search request in a mode. @throws ApiError if the filters are not JSON */
export function bodyOf(question: Question, mode: ModeName): Record<string, unknown> {
  const { q, userId, agentId, sessionId, limit, filters, asOf, graph } = question;
  return {
    query: q,
    mode,
    limit: Number(limit || 10),
    ...(userId !== "" && { userId }),
    ...(agentId !== "" && { agentId }),
    ...(sessionId !== "" && { sessionId }),
    ...(filters.trim() !== "" && { filters: jsonOf(filters, "filters") }),
    ...(asOf !== "" && { asOf }),
    ...(graph && { includeGraph: true }),
  };
}
