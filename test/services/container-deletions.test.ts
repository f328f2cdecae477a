// DELETE /v1/memories of many containers: the steps are bounded, go on after a failure in the middle, and never leave a
// part without its container.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { Transactions } from "../../src/ports/transactions.ts";
import { DeletionService } from "../../src/services/deletions.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { memoryActions, uploadDraft } from "../contract/memory-actions.ts";
import { addTwoProjects, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "../stores/databases.ts";
import { until } from "../support/until.ts";

const STEP = 200;
const CONTAINERS = 12;
const PARTS = 90;

onEachDatabase("deletions of containers", (open) => {
  let stores: OpenedStores;
  let project: ProjectId;
  let hidden: MemoryKey[][];
  const services: DeletionService[] = [];

  beforeEach(async () => {
    stores = await openEmpty(open, new ManualClock());
    [project] = await addTwoProjects(stores);
    hidden = [];
  });
  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop();
    await stores.close();
  });

  const { accept, acceptAll } = memoryActions(() => ({ stores, project }));
  const viewer = () => ({ projectId: project, userId: null });

  function serviceOn(transactions: Transactions): DeletionService {
    const service = new DeletionService({
      ...{ memories: stores.memories, deletions: stores.deletions, transactions, clock: systemClock },
      index: { hide: async (_, keys) => void hidden.push([...keys]) },
      ...{ wakeIngest: () => undefined, log: createLog("silent") },
    });
    services.push(service);
    return service;
  }
  const begin = (service: DeletionService, asked: object, expected: { matched: number; isExact: boolean }) =>
    stores.transactions.run((tx) => service.begin(tx, viewer(), asked, expected));

  async function containerWith(
    name: string,
    parts: number,
    { mediaType = "application/mbox", within }: { mediaType?: string; within?: Memory } = {},
  ): Promise<Memory> {
    const draft = (file: string, type: string, container?: MemoryId): MemoryDraft => {
      const made = uploadDraft(file, 10, type);
      if (container === undefined || made.upload?.source == null) return { ...made, agentId: "mail" };
      const source = { ...made.upload.source, container, path: file, container_version: 1 };
      return { ...made, agentId: "mail", upload: { ...made.upload, source } };
    };
    const { memory } = await accept(draft(name, mediaType, within?.id));
    const drafts = Array.from({ length: parts }, (_, at) => draft(`${name}-${at}`, "text/plain", memory.id));
    if (drafts.length > 0) await acceptAll(drafts);
    return memory;
  }

  /** Live memories, after checking that no part is without its container. */
  async function live(): Promise<readonly Memory[]> {
    const found: Memory[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await stores.memories.list(project, { limit: 500, ...(cursor !== undefined && { cursor }) });
      found.push(...page.items);
      cursor = page.cursor;
    }
    const ids = new Set<string>(found.map(({ id }) => id));
    for (const { source } of found) expect(source?.container === undefined || ids.has(source.container)).toBe(true);
    return found;
  }

  test("are bounded steps, which go on after a crash in the middle of one", async () => {
    const { memory: other } = await accept({ content: "stays", agentId: "notes" });
    for (let at = 0; at < CONTAINERS; at++) await containerWith(`box${at}`, PARTS);
    const total = CONTAINERS * (PARTS + 1);
    const begun = await begin(
      serviceOn(stores.transactions),
      { filters: { "metadata.x": null, agentId: "mail" } },
      { matched: total, isExact: true },
    );
    expect(begun).toMatchObject({ status: "processing", matched: total });
    await live();

    // the store fails within a step, as if the server were killed: nothing of that step stays
    let crashes = 0;
    const crashing: Transactions = {
      run: (work) =>
        stores.transactions.run(async (tx) => {
          const result = await work(tx);
          if (crashes++ === 1) throw new Error("killed");
          return result;
        }),
    };
    const killed = serviceOn(crashing);
    killed.start();
    await until("a step has crashed", () => crashes > 1);
    await killed.stop();
    const { deleted } = await killed.get(viewer(), begun.id);
    expect(await live()).toHaveLength(total - deleted + 1);

    const next = serviceOn(stores.transactions);
    next.start();
    await until("the deletion has ended", async () => (await next.get(viewer(), begun.id)).status !== "processing");
    expect(await next.get(viewer(), begun.id)).toMatchObject({ status: "completed", deleted: total });
    expect((await live()).map(({ id }) => id)).toEqual([other.id]);
    expect(Math.max(...hidden.map((keys) => keys.length))).toBeLessThanOrEqual(STEP + PARTS);
    expect(new Set(hidden.flat()).size).toBe(total);
  });

  test("of containers whose parts do not match take the parts along, in steps", async () => {
    const containers: Memory[] = [];
    for (let at = 0; at < 4; at++) containers.push(await containerWith(`box${at}`, 150));
    for (const { id } of containers) await stores.memories.change(project, id, { agentId: "boxes" });
    const service = serviceOn(stores.transactions);
    const begun = await begin(service, { agentId: "boxes" }, { matched: 4, isExact: true });
    expect(begun).toMatchObject({ status: "processing", deleted: 302 });
    service.start();
    await until("the deletion has ended", async () => (await service.get(viewer(), begun.id)).status !== "processing");
    expect((await service.get(viewer(), begun.id)).deleted).toBe(604);
    expect(hidden.map((keys) => keys.length)).toEqual([302, 302]);
    expect(await live()).toEqual([]);
  });

  test("of an expected number count what matches, without the parts that go along", async () => {
    const archive = await containerWith("archive", 3, { mediaType: "application/zip" });
    const inner = await containerWith("inner", 2, { mediaType: "application/zip", within: archive });
    await stores.memories.change(project, archive.id, { title: "the archive" });
    const service = serviceOn(stores.transactions);
    const filters = { title: "the archive" };
    expect(await begin(service, { filters }, { matched: 1, isExact: true })).toMatchObject({
      status: "completed",
      deleted: 7,
    });
    expect(await live()).toEqual([]);
    expect(await stores.memories.get(project, inner.id)).toBeNull();
    await containerWith("again", 1);
    const refused = begin(service, { filters: { agentId: "mail" } }, { matched: 3, isExact: true });
    expect(await refused.catch((error: Error) => error.message)).toStartWith("2 memories match now, not 3.");
    expect(await live()).toHaveLength(2);
  });
});
