// What CaseStore (`src/ports/case-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { CASE_RUNS_KEPT_MS, type CaseDraft, type CaseSetup, type CaseSums } from "../../src/domain/case.ts";
import { type CaseId, type CaseRunId, isId, type MemoryId, type ProjectId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { CaseStore } from "../../src/ports/case-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const DRAFT: CaseDraft = { query: "Where?", userId: null, mode: null, memoryIds: null };
const SUMS: CaseSums = { mode: "fast", findable: 1, unfindable: 0, ndcg10: 0.5, first: 0, refused: 0 };
const SETUP: CaseSetup = {
  ...{ embedder: "e5", reranker: "small", min_evidence: 0.2 },
  default_mode: "balanced",
  superseding: "on",
};
const UNKNOWN = "run_00000000000000000000000000" as CaseRunId;

onEachDatabase("CaseStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: CaseStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.cases;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  test("keeps cases as they were given, lists them newest first in pages, and deletes them", async () => {
    const memoryIds = ["mem_b", "mem_a"] as MemoryId[];
    const first = await store.create(project, { query: "Wo? 🦊", userId: "ada", mode: "precise", memoryIds });
    clock.advance(5);
    const second = await store.create(project, DRAFT);
    await store.create(other, DRAFT);
    expect(isId("case", first.id)).toBe(true);
    expect(first).toMatchObject({ query: "Wo? 🦊", userId: "ada", mode: "precise", memoryIds });
    expect(second).toEqual({ id: second.id, ...DRAFT, createdAt: clock.now() });
    const page = await store.list(project, { limit: 1 });
    expect(page.items).toEqual([second]);
    const rest = await store.list(project, { limit: 1, cursor: page.cursor ?? "" });
    expect(rest).toEqual({ items: [first], cursor: null });
    const foreign = () => store.list(other, { limit: 1, cursor: page.cursor ?? "" });
    expect(await codeOf(foreign)).toBe("invalid_cursor");
    expect(await store.remove(other, first.id)).toBe(false);
    expect(await store.remove(project, first.id)).toBe(true);
    expect(await store.remove(project, first.id)).toBe(false);
    expect((await store.list(project, { limit: 9 })).items).toEqual([second]);
  });

  test("the last case below the limit is taken, and one more is refused", async () => {
    await stores.transactions.run(async (tx) => {
      for (let at = 0; at < LIMITS.casesPerProject; at++) await tx.cases.create(project, DRAFT);
    });
    expect(await codeOf(() => store.create(project, DRAFT))).toBe("invalid_request");
    await store.create(other, DRAFT);
  });

  test("the cases of a user go with the user", async () => {
    await store.create(project, { ...DRAFT, userId: "ada" });
    const kept = [await store.create(project, { ...DRAFT, userId: "ben" }), await store.create(project, DRAFT)];
    await store.forgetUser(project, "ada");
    expect((await store.list(project, { limit: 9 })).items).toEqual(kept.toReversed());
  });

  test("a run steps through the cases of its beginning, without those that are deleted meanwhile", async () => {
    const cases = [];
    for (let at = 0; at < 3; at++) cases.push(await store.create(project, { ...DRAFT, query: `${at}` }));
    const run = await store.begin(project, ["fast", "hybrid"], SETUP);
    expect(isId("run", run.id)).toBe(true);
    expect(run).toMatchObject({ modes: ["fast", "hybrid"], status: "processing", done: 0, skipped: 0, total: 6 });
    await store.create(project, { ...DRAFT, query: "too late" });
    await store.remove(project, cases[1]?.id as CaseId);
    const seen: string[] = [];
    for (;;) {
      const step = await store.step(project, run.id);
      if (step?.next == null) break;
      seen.push(step.next.searchCase.query);
      const { place } = step.next;
      await store.advance(project, run.id, {
        from: step.place,
        place,
        done: seen.length * 2,
        skipped: 1,
        sums: [SUMS],
      });
      // the same step of another node changes nothing
      await store.advance(project, run.id, { from: step.place, place, done: 99, skipped: 99, sums: [] });
    }
    expect(seen).toEqual(["0", "2"]);
    clock.advance(7);
    await store.end(project, run.id, null);
    const ended = await store.run(project, run.id);
    expect(ended).toMatchObject({ status: "completed", done: 4, skipped: 1, total: 4, sums: [SUMS], error: null });
    expect(ended?.setup).toEqual(SETUP);
    expect(ended?.updatedAt).toBe(clock.now());
    await store.end(project, run.id, "late");
    expect(await store.run(project, run.id)).toEqual(ended);
    expect(await store.step(project, run.id)).toBeNull();
  });

  test("a run without cases is complete, one that fails keeps its reason", async () => {
    expect(await store.begin(project, null, SETUP)).toMatchObject({ modes: null, status: "completed", total: 0 });
    await store.create(project, DRAFT);
    const { id } = await store.begin(project, null, SETUP);
    await store.end(project, id, "No model.");
    expect(await store.run(project, id)).toMatchObject({ status: "failed", error: "No model.", done: 0, total: 1 });
  });

  test("runs are seen in their project only, newest first; those in progress are limited and open", async () => {
    await store.create(project, DRAFT);
    const runs = [];
    for (let at = 0; at < LIMITS.caseRunsInProgress; at++) runs.push(await store.begin(project, null, SETUP));
    expect(await codeOf(() => store.begin(project, null, SETUP))).toBe("overloaded");
    await store.begin(other, null, SETUP);
    expect((await store.open(9)).map(({ id }) => id)).toEqual(runs.map(({ id }) => id));
    expect((await store.runs(project, { limit: 2 })).items).toEqual(runs.slice(-2).toReversed());
    const [first] = runs;
    const id = first?.id ?? UNKNOWN;
    expect([await store.run(other, id), await store.step(other, id), await store.run(project, UNKNOWN)]).toEqual([
      ...[null, null, null],
    ]);
    await store.end(other, id, "not its own");
    expect(await store.run(project, id)).toMatchObject({ status: "processing" });
    await store.end(project, id, null);
    await store.begin(project, null, SETUP);
  });

  test("runs that ended are kept for 30 days, those in progress until they end", async () => {
    await store.create(project, DRAFT);
    const ended = await store.begin(project, null, SETUP);
    const open = await store.begin(project, null, SETUP);
    await store.end(project, ended.id, null);
    clock.advance(CASE_RUNS_KEPT_MS);
    await store.prune();
    expect(await store.run(project, ended.id)).not.toBeNull();
    clock.advance(1);
    await store.prune();
    expect([await store.run(project, ended.id), (await store.run(project, open.id))?.status]).toEqual([
      null,
      "processing",
    ]);
  });

  test("a removed project has no cases and no runs", async () => {
    await store.create(other, DRAFT);
    const run = await store.begin(other, null, SETUP);
    await stores.accounts.removeProject(other);
    expect((await store.list(other, { limit: 9 })).items).toEqual([]);
    expect([await store.run(other, run.id), await store.open(9)]).toEqual([null, []]);
    for (const id of [other, "prj_nowhere" as ProjectId]) {
      expect(await codeOf(() => store.create(id, DRAFT))).toBe("project_not_found");
      expect(await codeOf(() => store.begin(id, null, SETUP))).toBe("project_not_found");
    }
    await stores.accounts.eraseProject(other);
  });
});
