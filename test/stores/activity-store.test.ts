// What ActivityStore (`src/ports/activity-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { ActivityStep } from "../../src/domain/activity.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { ActivityStore } from "../../src/ports/activity-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { memoryActions } from "../contract/memory-actions.ts";
import { addTwoProjects, errorOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

onEachDatabase("ActivityStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: ActivityStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.activity;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const { accept, completed, failed } = memoryActions(() => ({ stores, project }));
  const hourOf = (at: number) => Math.floor(at / HOUR_MS) * HOUR_MS;
  const listed = async (step: ActivityStep = "hour", of = project, from = 0, to = 9e15) =>
    (await store.list(of, { step, from, to })).map(({ at, counts }) => [at, Object.fromEntries(counts)] as const);

  test("counts what is noted, and completed, deleted and failed memories, at once and after flush", async () => {
    const first = await completed();
    await completed();
    await failed();
    await stores.memories.remove(project, first.id);
    store.note(project, "answered");
    store.note(project, "ms.fast.7");
    store.note(other, "not_found");
    const hour = [hourOf(clock.now()), { stored: 2, failed: 1, deleted: 1, answered: 1, "ms.fast.7": 1 }] as const;
    for (let round = 0; round < 2; round++) {
      expect(await listed()).toEqual([hour]);
      expect((await listed("day"))[0]?.[1]).toEqual(hour[1]);
      expect(await listed("hour", other)).toEqual([[hour[0], { not_found: 1 }]]);
      await store.flush();
    }
    store.note(project, "answered");
    await store.flush();
    expect((await listed())[0]?.[1]).toMatchObject({ answered: 2, stored: 2 });
  });

  test("a change that is undone is not counted", async () => {
    const memory = await completed();
    const undone = await errorOf(() =>
      stores.transactions.run(async (tx) => {
        await tx.memories.remove(project, memory.id);
        throw new Error("no");
      }),
    );
    expect(String(undone)).toContain("no");
    expect((await listed())[0]?.[1]).toEqual({ stored: 1 });
  });

  test("a step has the longest queue that flush saw, and the current one while it lasts", async () => {
    for (let n = 0; n < 3; n++) await accept();
    expect((await listed())[0]?.[1]).toEqual({ queue: 3 });
    await store.flush();
    await completed(); // completes one, the others stay claimed
    await store.flush();
    expect((await listed())[0]?.[1]).toMatchObject({ queue: 3, stored: 1 });
    clock.advance(HOUR_MS);
    expect((await listed())[1]).toEqual([hourOf(clock.now()), { queue: 3 }]);
  });

  test("hours are kept for 14 days and days for 400; a range has the steps that begin in it", async () => {
    const begin = hourOf(clock.now());
    store.note(project, "answered");
    await store.flush();
    clock.advance(HOUR_MS);
    store.note(project, "partial");
    await store.flush();
    expect(await listed("hour", project, begin + 1)).toEqual([[begin + HOUR_MS, { partial: 1 }]]);
    expect(await listed("hour", project, 0, begin + HOUR_MS)).toEqual([[begin, { answered: 1 }]]);
    clock.advance(14 * DAY_MS);
    await store.prune();
    expect(await listed()).toEqual([[begin + HOUR_MS, { partial: 1 }]]);
    clock.advance(DAY_MS);
    await store.prune();
    expect(await listed()).toEqual([]);
    expect(Object.assign({}, ...(await listed("day")).map(([, counts]) => counts))).toEqual({
      answered: 1,
      partial: 1,
    });
    clock.advance(387 * DAY_MS);
    await store.prune();
    expect(await listed("day")).toEqual([]);
  });

  test("many counts of many projects are all stored, and those of a removed project are gone", async () => {
    for (let at = 0; at < 230; at++) {
      store.note(project, `ms.balanced.${at}`);
      store.note(other, `ms.precise.${at}`);
    }
    await store.flush();
    expect(Object.keys((await listed())[0]?.[1] ?? {})).toHaveLength(230);
    store.note(other, "answered");
    await stores.accounts.removeProject(other);
    expect(await listed("hour", other)).toEqual([]);
    await store.flush();
    await stores.accounts.eraseProject(other);
    expect(Object.keys((await listed())[0]?.[1] ?? {})).toHaveLength(230);
  });
});
