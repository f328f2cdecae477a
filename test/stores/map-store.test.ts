// What MapStore (`src/ports/map-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { MapStore } from "../../src/ports/map-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { memoryActions } from "../contract/memory-actions.ts";
import { addTwoProjects, type OpenedStores, openEmpty, times } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

onEachDatabase("MapStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: MapStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.maps;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const { accept, completed, failed } = memoryActions(() => ({ stores, project }));
  const placed = (keys: readonly MemoryKey[], x = 0.25) => keys.map((key, at) => ({ key, x, y: -at / 1_000 }));

  test("unplaced are the newest completed memories without a place", async () => {
    const made = await times(3, () => completed());
    await failed();
    await accept();
    const keys = made.map(({ key }) => key).reverse();
    expect(await store.unplaced(project, 9)).toEqual(keys);
    expect(await store.unplaced(project, 2)).toEqual(keys.slice(0, 2));
    expect(await store.unplaced(other, 9)).toEqual([]);
    expect(await store.place(project, placed(keys.slice(1)), { version: 0, laidOut: null })).toBe(true);
    expect(await store.unplaced(project, 9)).toEqual(keys.slice(0, 1));
  });

  test("keeps places, many at once, and knows when and how many were computed together", async () => {
    const keys = (await times(230, () => completed())).map(({ key }) => key);
    expect(await store.state(project)).toBeNull();
    await store.place(project, placed(keys), { version: 0, laidOut: 230 });
    expect(await store.state(project)).toEqual({ version: 1, laidOut: 230, computedAt: clock.now() });
    const [first = 0n as MemoryKey, second = 0n as MemoryKey] = keys;
    expect(await store.places(project, [second])).toEqual(new Map([[second, { x: 0.25, y: -0.001 }]]));
    expect(await store.places(other, [second])).toEqual(new Map());
    expect((await store.all(project, 500)).length).toBe(230);
    expect((await store.all(project, 2)).map(({ key }) => key)).toEqual(keys.slice(-2).reverse());
    clock.advance(5);
    await store.place(project, placed([first], -1), { version: 1, laidOut: null });
    expect(await store.state(project)).toEqual({ version: 2, laidOut: 230, computedAt: clock.now() });
    expect((await store.places(project, [first])).get(first)).toEqual({ x: -1, y: 0 });
  });

  test("stores nothing if another node was faster", async () => {
    const { key } = await completed();
    expect(await store.place(project, placed([key]), { version: 0, laidOut: null })).toBe(true);
    for (const version of [0, 2]) {
      expect(await store.place(project, placed([key], 0.5), { version, laidOut: null })).toBe(false);
    }
    expect((await store.places(project, [key])).get(key)?.x).toBe(0.25);
  });

  test("places of erased memories and removed projects are gone", async () => {
    const [first, second] = await times(2, () => completed());
    const keys = [first, second].flatMap((memory) => (memory === undefined ? [] : [memory.key]));
    await store.place(project, placed(keys), { version: 0, laidOut: null });
    await stores.memories.remove(project, first?.id ?? ("" as never), { purges: true });
    await stores.retirement.markRetracted(keys.slice(0, 1));
    await stores.retirement.erase(keys.slice(0, 1));
    expect((await store.all(project, 9)).map(({ key }) => key)).toEqual(keys.slice(1));
    await stores.accounts.removeProject(project);
    expect([await store.all(project, 9), await store.state(project)]).toEqual([[], null]);
    await stores.accounts.eraseMemoriesOfRemoved(project, keys);
    await stores.accounts.eraseProject(project);
  });
});
