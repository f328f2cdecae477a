// What RetirementStore (`src/ports/retirement-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import type { MemoryStore } from "../../src/ports/memory-store.ts";
import type { RetirementStore } from "../../src/ports/retirement-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { memoryActions, uploadDraft } from "../contract/memory-actions.ts";
import { addTwoProjects, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

onEachDatabase("RetirementStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: MemoryStore;
  let retirement: RetirementStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    ({ memories: store, retirement } = stores);
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const { accept, completed, reread } = memoryActions(() => ({
    stores,
    project,
  }));
  const setRetention = async (projectId: ProjectId, days: number) =>
    await stores.accounts.changeProject(projectId, { settings: { ...DEFAULT_SETTINGS, retention_days: days } });

  describe("retirement", () => {
    test("goes from deleted to retracted to erased, after 30 days", async () => {
      const removed = await completed();
      const kept = await completed();
      await store.remove(project, removed.id);
      expect(await retirement.retired(10)).toEqual([{ projectId: project, memoryKey: removed.key }]);
      clock.advance(30 * DAY_MS + 1);
      expect(await retirement.purgeable(10)).toEqual([]);
      await retirement.markRetracted([removed.key, kept.key]);
      expect(await retirement.retired(10)).toEqual([]);
      expect(await retirement.purgeable(10)).toEqual([removed.key]);
      await retirement.erase([removed.key, kept.key]);
      expect(await retirement.purgeable(10)).toEqual([]);
      expect(await reread(kept)).toEqual(kept);
      expect((await accept()).memory.key).toBeGreaterThan(kept.key);
    });

    test("leaves no traces of what was erased, and can be asked again", async () => {
      expect(await retirement.eraseTraces()).toBe(true);
      expect(await retirement.eraseTraces()).toBe(true);
    });

    test("waits for the project's retention, to the millisecond", async () => {
      await setRetention(other, 7);
      const [here, there] = [(await accept()).memory, (await accept({}, other)).memory];
      await store.remove(project, here.id);
      await store.remove(other, there.id);
      await retirement.markRetracted([here.key, there.key]);
      clock.advance(7 * DAY_MS);
      expect(await retirement.purgeable(10)).toEqual([]);
      clock.advance(1);
      expect(await retirement.purgeable(10)).toEqual([there.key]);
      clock.advance(23 * DAY_MS);
      expect([...(await retirement.purgeable(10))].sort()).toEqual([here.key, there.key].sort());
    });

    test("does not wait if a purge was requested", async () => {
      const memory = await completed();
      await store.remove(project, memory.id, { purges: true });
      expect(await retirement.purgeable(10)).toEqual([]);
      expect(await retirement.retired(10)).toEqual([{ projectId: project, memoryKey: memory.key }]);
      await retirement.markRetracted([memory.key]);
      expect(await retirement.purgeable(10)).toEqual([memory.key]);
      await retirement.erase([memory.key]);
      expect(await retirement.purgeable(10)).toEqual([]);
    });

    test("erases everything but the id from deliveries about the memory, and nothing from others", async () => {
      for (const event of ["memory.completed", "memory.deleted"] as const) {
        const webhook = { url: "https://1.1.1.1/hook", events: [event], description: null, isEnabled: true };
        await stores.webhooks.create(project, webhook);
      }
      const draft = { title: "Plumbagothrix", tags: ["marzipan"], metadata: { k: "Fnord" } };
      const [memory, kept] = [await completed(draft), await completed(draft)];
      await store.remove(project, memory.id, { purges: true });
      const bodies = async () => (await stores.webhooks.due(10, new Set())).map(({ body }) => JSON.parse(body));
      const before = await bodies();
      expect(before.map(({ type }) => type)).toEqual(["memory.completed", "memory.completed", "memory.deleted"]);
      await retirement.markRetracted([memory.key]);
      await retirement.erase([memory.key]);
      expect(await bodies()).toEqual(
        before.map((event) => (event.data.id === memory.id ? { ...event, data: { id: memory.id } } : event)),
      );
      expect(before.filter(({ data }) => data.id === kept.id)).toHaveLength(1);
    });

    test("counts an expired memory as deleted when it expired", async () => {
      const memory = await completed({ expiresAt: clock.now() + 100 });
      clock.advance(100 + 10_000);
      expect(await retirement.retired(10)).toEqual([{ projectId: project, memoryKey: memory.key }]);
      await retirement.markRetracted([memory.key]);
      clock.advance(30 * DAY_MS - 10_000);
      expect(await retirement.purgeable(10)).toEqual([]);
      clock.advance(1);
      expect(await retirement.purgeable(10)).toEqual([memory.key]);
    });

    test("respects its limits, and returns every memory over several calls", async () => {
      for (let index = 0; index < 5; index++) await store.remove(project, (await accept()).memory.id);
      for (let index = 0; index < 5; index++) await accept({ expiresAt: clock.now() + 1 });
      clock.advance(1);
      const seen: MemoryKey[] = [];
      for (let round = 0; round < 6; round++) {
        const keys = (await retirement.retired(2)).map(({ memoryKey }) => memoryKey);
        expect(keys.length).toBeLessThanOrEqual(2);
        await retirement.markRetracted(keys);
        seen.push(...keys);
      }
      expect(new Set(seen).size).toBe(10);
      clock.advance(31 * DAY_MS);
      expect(await retirement.purgeable(3)).toHaveLength(3);
    });

    test("returns the files of erased rows, and ignores memories that were not deleted", async () => {
      const [erased, kept] = [await accept(uploadDraft("f1")), await accept(uploadDraft("f2"))];
      const keys = [erased.memory.key, kept.memory.key];
      await store.remove(project, erased.memory.id, { purges: true });
      expect(await retirement.erase(keys)).toEqual([]);
      await retirement.markRetracted(keys);
      expect(await retirement.erase(keys)).toEqual(["f1"]);
      expect(await store.unreferencedFiles(["f1", "f2"])).toEqual(["f1"]);
    });

    test("skips excluded and removed projects", async () => {
      const [here, there] = [(await accept()).memory, (await accept({}, other)).memory];
      await store.remove(project, here.id);
      await store.remove(other, there.id);
      const retiredKeys = async (except?: readonly ProjectId[]) =>
        (await retirement.retired(10, except)).map(({ memoryKey }) => memoryKey);
      expect(await retiredKeys([project])).toEqual([there.key]);
      expect(await retiredKeys([project, other])).toEqual([]);
      await stores.accounts.removeProject(other);
      expect(await retiredKeys()).toEqual([here.key]);
    });

    test("never reuses a memory key", async () => {
      const { memory } = await accept();
      await store.remove(project, memory.id);
      await retirement.markRetracted([memory.key]);
      await retirement.erase([memory.key]);
      expect((await accept()).memory.key).toBeGreaterThan(memory.key);
    });
  });
});
