// Requests and answers of cases and their runs.

import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { SUPERSEDING } from "../../domain/project.ts";
import { MODE_NAMES } from "../../domain/ranking.ts";
import { Text } from "../check.ts";
import { Body, CallerId, ListOf, Nullable, OneOf, Optional, paging, Query, Time } from "./fields.ts";

const Mode = OneOf(MODE_NAMES);

/** Body of createCase. */
export const CreateCase = Body({
  query: Text({ minLength: 1, maxLength: LIMITS.queryCharacters }),
  userId: Optional({ ...CallerId, description: "only memories of this user are searched" }),
  mode: Optional(OneOf(MODE_NAMES, "of runs that name no modes; default: the project's `default_mode`")),
  expected: Type.Object(
    {
      memory_ids: Type.Optional(
        Type.Array(Text({ minLength: 1, maxLength: 64 }), {
          ...{ minItems: 1, maxItems: LIMITS.memoriesPerCase, uniqueItems: true },
          description: "memories that a search should find",
        }),
      ),
      not_found: Type.Optional(Type.Literal(true, { description: "nothing should be found" })),
    },
    { additionalProperties: false, description: "one of both" },
  ),
});
/** A checked body of createCase. */
export type CreateCase = Static<typeof CreateCase>;
/** Query parameters of listCases and listCaseRuns. */
export const ListCases = Query(paging);
/** Body of runCases. */
export const RunCases = Body({
  modes: Optional(
    Type.Array(Mode, {
      ...{ minItems: 1, maxItems: MODE_NAMES.length, uniqueItems: true },
      description: "each case is searched in all of them; default: each in its own mode",
    }),
  ),
});

/** A question with what a search should find. */
export const Case = Type.Object(
  {
    id: Text({ description: "case_…" }),
    query: Text(),
    userId: Nullable(Text()),
    mode: Nullable(Mode),
    expected: Type.Object({
      memory_ids: Type.Optional(Type.Array(Text({ description: "mem_…" }))),
      not_found: Type.Optional(Type.Literal(true)),
    }),
    created_at: { ...Time, description: "ISO 8601, UTC; runs ask the question as of this time" },
  },
  { $id: "Case" },
);
/** One page of cases. */
export const CaseList = ListOf("CaseList", Case);

/** What the searches of a mode found. */
export const CaseResult = Type.Object({
  mode: Mode,
  cases: Type.Integer({ description: "cases that were measured" }),
  ndcg10: Nullable(Type.Number({ description: "mean nDCG@10 of the cases with `memory_ids`, 0 to 1" })),
  right_first: Nullable(Type.Number({ description: "share of these cases whose first result is an expected memory" })),
  refused_right: Nullable(
    Type.Number({ description: "share of the cases with `not_found` whose question would not be answered" }),
  ),
});
/** A run over all cases. */
export const CaseRun = Type.Object(
  {
    id: Text({ description: "run_…" }),
    modes: Nullable(Type.Array(Mode)),
    setup: Nullable(
      Type.Object(
        {
          embedder: Text({ description: "id of the embedding model" }),
          reranker: Nullable(
            Text({
              description: "id of the reranker that was chosen; null: the one that belongs to its embedding model",
            }),
          ),
          default_mode: Mode,
          min_evidence: Type.Number(),
          superseding: OneOf(SUPERSEDING),
        },
        { description: "models and settings when the run began; null: an earlier version began it" },
      ),
    ),
    status: OneOf(["processing", "completed", "failed"]),
    done: Type.Integer({ description: "searches that are done" }),
    skipped: Type.Integer({ description: "of these, searches for cases whose expected memories were all deleted" }),
    total: Type.Integer({ description: "cases multiplied by modes" }),
    error: Type.Optional(Type.Object({ code: OneOf(["processing_error"]), message: Text() })),
    results: Type.Optional(Type.Array(CaseResult, { description: "when it is completed" })),
    created_at: Time,
    updated_at: Time,
  },
  { $id: "CaseRun" },
);
/** One page of runs. */
export const CaseRunList = ListOf("CaseRunList", CaseRun);
