// What ProjectModelStore (`src/ports/project-model-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { ModelChange, ProjectModelStore } from "../../src/ports/project-model-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const UNKNOWN = "prj_00000000000000000000000000" as ProjectId;

onEachDatabase("ProjectModelStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: ProjectModelStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.projectModels;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const changeOf = async (of = project) => (await store.get(of))?.change ?? null;

  test("nothing is known of a project whose index no server has opened", async () => {
    expect([await store.get(project), await store.get(UNKNOWN)]).toEqual([null, null]);
    expect(await store.list()).toEqual([]);
    expect(await store.cancel(project)).toBe(false);
    expect(await store.forget(project)).toBe(false);
  });

  test("what the index uses is stored; vectors that were given up are not kept again", async () => {
    await store.observe(project, "model-a", "model-0");
    const seen = {
      projectId: project,
      live: "model-a",
      previous: "model-0",
      isChosen: false,
      reranker: null,
      change: null,
    };
    expect(await store.get(project)).toEqual(seen);
    expect(await store.forget(project)).toBe(true);
    expect(await store.forget(project)).toBe(false);
    await store.observe(project, "model-b", "model-0");
    expect(await store.get(project)).toEqual({ ...seen, live: "model-b", previous: null });
    await store.observe(UNKNOWN, "model-a", null);
    expect(await store.get(UNKNOWN)).toBeNull();
  });

  test("a change is building until it has ended, and then its model is live", async () => {
    await store.observe(project, "model-a", null);
    const asked = await store.ask(project, "model-b", true);
    const expected: ModelChange = {
      number: asked.number,
      model: "model-b",
      state: "building",
      error: null,
      chunksDone: 0,
      chunksTotal: null,
      startedAt: clock.now(),
      endedAt: null,
    };
    expect(asked).toEqual(expected);
    clock.advance(1_000);
    expect(await store.progress(project, asked.number, 3, 10)).toBe(true);
    expect(await changeOf()).toEqual({ ...expected, chunksDone: 3, chunksTotal: 10 });
    expect((await store.get(project))?.live).toBe("model-a");
    await store.finish(project, asked.number, "model-a");
    expect(await store.get(project)).toEqual({
      projectId: project,
      live: "model-b",
      previous: "model-a",
      isChosen: true,
      reranker: null,
      change: { ...expected, state: "done", chunksDone: 10, chunksTotal: 10, endedAt: clock.now() },
    });
  });

  test("a change that is asked for again goes on; another model replaces it under a higher number", async () => {
    const first = await store.ask(project, "model-b", false);
    await store.progress(project, first.number, 5, 10);
    clock.advance(1);
    expect(await store.ask(project, "model-b", true)).toEqual({ ...first, chunksDone: 5, chunksTotal: 10 });
    expect((await store.get(project))?.isChosen).toBe(true);
    const second = await store.ask(project, "model-c", false);
    expect(second.number).toBeGreaterThan(first.number);
    expect(second).toMatchObject({ model: "model-c", chunksDone: 0, chunksTotal: null, startedAt: clock.now() });
    expect((await store.get(project))?.isChosen).toBe(true);
    expect(await store.progress(project, first.number, 9, 10)).toBe(false);
    await store.finish(project, first.number, null);
    await store.fail(project, first.number, "too late");
    expect(await changeOf()).toEqual(second);
  });

  test("a failed change has its reason, and can be asked for again", async () => {
    await store.observe(project, "model-a", null);
    const { number } = await store.ask(project, "model-b", false);
    await store.progress(project, number, 4, 8);
    await store.fail(project, number, "The disk is full.");
    expect(await changeOf()).toMatchObject({ state: "failed", error: "The disk is full.", endedAt: clock.now() });
    expect(await store.get(project)).toMatchObject({ live: "model-a", previous: null });
    expect(await store.progress(project, number, 5, 8)).toBe(false);
    const again = await store.ask(project, "model-b", false);
    expect(again).toMatchObject({ state: "building", error: null, chunksDone: 0, endedAt: null });
    expect(again.number).toBeGreaterThan(number);
  });

  test("only a change that is building can be cancelled", async () => {
    const { number } = await store.ask(project, "model-b", true);
    expect(await store.cancel(project)).toBe(true);
    expect(await changeOf()).toMatchObject({ state: "cancelled", endedAt: clock.now() });
    expect(await store.cancel(project)).toBe(false);
    await store.finish(project, number, null);
    expect(await changeOf()).toMatchObject({ state: "cancelled" });
  });

  test("the list has all projects, in the order in which their changes began", async () => {
    await store.ask(other, "model-b", false);
    clock.advance(1);
    await store.ask(project, "model-b", false);
    expect((await store.list()).map(({ projectId }) => projectId)).toEqual([other, project]);
  });

  test("a removed project has no entry, and nothing can be asked for it", async () => {
    const { number } = await store.ask(project, "model-b", true);
    await stores.accounts.removeProject(project);
    expect(await store.get(project)).toBeNull();
    expect(await store.list()).toEqual([]);
    expect(await store.progress(project, number, 1, 2)).toBe(false);
    expect(await store.cancel(project)).toBe(false);
    await store.observe(project, "model-a", null);
    for (const id of [project, UNKNOWN]) {
      expect(await codeOf(() => store.ask(id, "model-b", true))).toBe("project_not_found");
    }
    await stores.accounts.eraseProject(project);
    expect(await store.get(project)).toBeNull();
  });
});
