// The operations on cases and their runs.

import type { CaseRun, CaseSums, SearchCase } from "../domain/case.ts";
import { Fault } from "../domain/fault.ts";
import type { CaseId, CaseRunId, MemoryId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import { isoTime } from "../kit/clock.ts";
import type { CaseService } from "../services/cases.ts";
import { checkNotBlank } from "./drafts.ts";
import { memoryPathId, pathId } from "./ids.ts";
import { changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import * as schema from "./schema/cases.ts";
import { NoQuery } from "./schema/fields.ts";
import { listView, type View } from "./views.ts";

/** The operations on /v1/cases. */
export function caseOperations(cases: CaseService): readonly Operation[] {
  const shared = { group: "Cases", scope: "project", isForConfinedKeys: false } as const;
  return [
    changing({
      ...shared,
      name: "createCase",
      summary: "Store a question with the memories that a search should find, or that nothing should be found.",
      method: "POST",
      path: "/v1/cases",
      query: NoQuery,
      body: schema.CreateCase,
      answers: { 201: schema.Case },
      faults: ["memory_not_found"],
      isIdempotent: true,
      prepare: ({ body }) => {
        checkNotBlank(body.query, "query", "say what is asked");
        return expectedOf(body.expected);
      },
      change: (tx, { principal, body: { query, userId = null, mode = null } }, memoryIds) =>
        cases.create(tx, principal, { query, userId, mode, memoryIds }),
      answer: (made) => ({ status: 201, body: caseView(made) }),
    }),

    reading({
      ...shared,
      name: "listCases",
      summary: "List cases, newest first.",
      method: "GET",
      path: "/v1/cases",
      query: schema.ListCases,
      answers: { 200: schema.CaseList },
      faults: ["invalid_cursor"],
      read: async ({ principal, query }) => {
        const page = await cases.list(principal, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, caseView) };
      },
    }),

    changing({
      ...shared,
      name: "deleteCase",
      summary: "Delete a case.",
      method: "DELETE",
      path: "/v1/cases/:id",
      query: NoQuery,
      answers: { 204: null },
      faults: ["case_not_found"],
      prepare: ({ params }) => pathId<CaseId>("case", params.id, "case_not_found"),
      change: (tx, { principal }, id) => cases.remove(tx, principal, id),
      answer: () => NO_CONTENT,
    }),

    changing({
      ...shared,
      name: "runCases",
      summary: "Search for all cases, and measure how well what was found fits. Costs no query.",
      method: "POST",
      path: "/v1/cases/runs",
      query: NoQuery,
      body: schema.RunCases,
      isBodyOptional: true,
      answers: { 202: schema.CaseRun },
      isIdempotent: true,
      prepare: ({ principal }) => cases.setup(principal),
      change: (tx, { principal, body }, setup) => cases.begin(tx, principal, body.modes ?? null, setup),
      answer: (run) => ({ status: 202, body: runView(run) }),
    }),

    reading({
      ...shared,
      name: "listCaseRuns",
      summary: "List runs, newest first. They are kept for 30 days after their end.",
      method: "GET",
      path: "/v1/cases/runs",
      query: schema.ListCases,
      answers: { 200: schema.CaseRunList },
      faults: ["invalid_cursor"],
      read: async ({ principal, query }) => {
        const page = await cases.runs(principal, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, runView) };
      },
    }),

    reading({
      ...shared,
      name: "getCaseRun",
      summary: "Read the progress of a run and, when it is completed, its results by mode.",
      method: "GET",
      path: "/v1/cases/runs/:id",
      query: NoQuery,
      answers: { 200: schema.CaseRun },
      faults: ["run_not_found"],
      read: async ({ principal, params }) => {
        const run = await cases.run(principal, pathId<CaseRunId>("run", params.id, "run_not_found"));
        return { status: 200, body: runView(run) };
      },
    }),
  ];
}

/** The ids of the memories that should be found; null if nothing should be found. @throws Fault `invalid_request` */
function expectedOf({ memory_ids: ids, not_found: isNone }: schema.CreateCase["expected"]): readonly MemoryId[] | null {
  if ((ids === undefined) === (isNone === undefined)) {
    const message = "'expected' must have either 'memory_ids', or 'not_found' with the value true.";
    throw new Fault("invalid_request", message, { param: "expected" });
  }
  if (ids === undefined) return null;
  return ids.map((id, at) => memoryPathId(id, `expected.memory_ids[${at}]`));
}

/** Converts a case to the schema `Case`. */
function caseView({ id, query, userId, mode, memoryIds, createdAt }: SearchCase): View<typeof schema.Case> {
  return {
    ...{ id, query, userId, mode },
    expected: memoryIds === null ? { not_found: true } : { memory_ids: memoryIds },
    created_at: isoTime(createdAt),
  };
}

/** Converts a run over all cases to the schema `CaseRun`. */
function runView(run: CaseRun): View<typeof schema.CaseRun> {
  const { id, modes, setup, status, done, skipped, total, error, createdAt, updatedAt } = run;
  return {
    ...{ id, modes, setup, status, done, skipped, total },
    ...{ created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) },
    ...(error === null ? {} : { error: { code: "processing_error", message: error } }),
    ...(status === "completed" ? { results: resultsOf(run) } : {}),
  };
}

/**
 * The result of each mode that the run names, in that order, even of one in which no case was measured. If the run
 * names no modes: of each mode in which a case was measured, by name.
 */
function resultsOf({ modes, sums }: CaseRun): readonly View<typeof schema.CaseResult>[] {
  const listed = modes ?? sums.map(({ mode }) => mode).toSorted();
  return listed.map((mode) => {
    const found: CaseSums | undefined = sums.find((each) => each.mode === mode);
    const { findable = 0, unfindable = 0, ndcg10 = 0, first = 0, refused = 0 } = found ?? {};
    return {
      ...{ mode, cases: findable + unfindable },
      ndcg10: findable === 0 ? null : ndcg10 / findable,
      right_first: findable === 0 ? null : first / findable,
      refused_right: unfindable === 0 ? null : refused / unfindable,
    };
  });
}
