// What the service of memories promises whoever changes them within a transaction of their own, and whoever is confined to
// one user: visibility follows what is durable, nothing leads past the confinement, and a purge leaves nothing.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import type { MemoryId } from "../../src/domain/ids.ts";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import type { Viewer } from "../../src/domain/scope.ts";
import { createLog } from "../../src/kit/log.ts";
import type { Accepted } from "../../src/ports/memory-store.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { type MemoryDesk, MemoryService } from "../../src/services/memories.ts";
import { Gate, hashVector, openWorkshop, type Workshop } from "../ingest/workshop.ts";

let shop: Workshop;
let service: MemoryService;
let everybody: Viewer;
let confined: Viewer;
let wakes: number;
let contentReads: number;
beforeEach(async () => {
  shop = await openWorkshop();
  [wakes, contentReads] = [0, 0];
  const { memories, index, database } = shop;
  const read = index.contents.bind(index);
  index.contents = (keys) => {
    contentReads += 1;
    return read(keys);
  };
  service = new MemoryService({
    ...{ memories, index, transactions: database, log: createLog("silent") },
    wakeIngest: () => {
      wakes += 1;
      shop.worker.wake();
    },
  });
  everybody = { projectId: shop.projectId, userId: null };
  confined = { projectId: shop.projectId, userId: "u" };
});
afterEach(() => shop.close());

function taken(result: Accepted | Fault | null | undefined): Memory {
  if (result === null || result === undefined || result instanceof Fault)
    throw result ?? new Error("nothing came back");
  return result.memory;
}

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof Fault) return `${error.code} ${error.param}`;
    throw error;
  }
  return "nothing was refused";
}

async function completed(draft: MemoryDraft, viewer = everybody): Promise<Memory> {
  const desk = await service.open(viewer);
  return shop.settled(taken(desk.create([draft])[0]));
}

async function searchableBy(userId: string): Promise<number> {
  const project = await shop.index.project(shop.projectId);
  const within = project.admit(shop.memories.userKey(shop.projectId, userId), shop.clock.now());
  return (await project.nearest(hashVector(""), within, 100)).chunkKeys.length;
}

describe("a change within the caller's transaction", () => {
  test("becomes visible when that is durable, and wakes the worker", async () => {
    const memory = await completed({ content: "Kept.", userId: "u" });
    const desk = await service.open(everybody);
    const before = wakes;
    shop.database.atomically(() => {
      desk.change(memory.id, { userId: "v" });
      desk.create([{ content: "New." }]);
      expect(wakes).toBe(before);
    });
    expect(wakes).toBe(before + 1);
    expect([await searchableBy("u"), await searchableBy("v")]).toEqual([0, 1]);
  });

  test("that is undone changes no visibility and wakes nobody", async () => {
    const memory = await completed({ content: "Kept.", userId: "u" });
    const desk = await service.open(everybody);
    const before = wakes;
    expect(() =>
      shop.database.atomically(() => {
        desk.change(memory.id, { userId: "v" });
        desk.change(memory.id, { content: "Rewritten." });
        desk.remove(memory.id, { purges: false });
        desk.create([{ content: "New." }]);
        throw new Error("changed my mind");
      }),
    ).toThrow("changed my mind");
    expect(wakes).toBe(before);
    expect(await shop.searchable()).toEqual(["Kept."]);
    expect(await searchableBy("u")).toBe(1);
    expect((await service.get(everybody, memory.id))?.content).toBe("Kept.");
  });
});

async function within(filter: unknown): Promise<number> {
  const project = await shop.index.project(shop.projectId);
  return (await project.admitWithin(null, shop.clock.now(), parseFilter(filter))).memories;
}

describe("a change", () => {
  test("of any attribute is seen by filters at once and after a restart", async () => {
    const memory = await completed({ content: "Kept.", type: "note", tags: ["a"], metadata: { n: 1, only: true } });
    const untouched = await completed({ content: "Other.", type: "note", metadata: { n: 1 } });
    const desk = await service.open(everybody);
    const createdAt = new Date(memory.createdAt).toISOString();
    shop.clock.advance(1_000);
    const updatedAt = new Date(shop.clock.now()).toISOString();
    desk.change(memory.id, { title: "New", type: "mail", tags: ["b"], language: "fr", externalId: "e", userId: "u" });
    desk.change(memory.id, { metadata: { n: 2 } });
    const cases: [filter: unknown, memories: number][] = [
      [{ type: "note" }, 1],
      [{ type: "mail" }, 1],
      [{ title: "New" }, 1],
      [{ tags: "a" }, 0],
      [{ tags: { $contains: "b" } }, 1],
      [{ language: "fr" }, 1],
      [{ externalId: "e" }, 1],
      [{ userId: "u" }, 1],
      [{ userId: null }, 1],
      [{ memory_id: { $in: [memory.id, untouched.id] } }, 2],
      [{ created_at: createdAt }, 1],
      [{ updated_at: updatedAt }, 1],
      [{ updated_at: { $lt: updatedAt } }, 1],
      [{ "metadata.n": { $gte: 1 } }, 2],
      [{ "metadata.n": { $gt: 1 } }, 1],
      [{ "metadata.only": { $exists: true } }, 0],
      [{ "metadata.only": null }, 2],
    ];
    const admitted = async () => {
      const found: [unknown, number][] = [];
      for (const [filter] of cases) found.push([filter, await within(filter)]);
      return found;
    };
    expect(await admitted()).toEqual(cases);
    const { incomplete } = await shop.index.restart(shop.projectId, shop.memories.visible(shop.projectId));
    expect(incomplete).toEqual([]);
    expect(await admitted()).toEqual(cases);
  });

  test("that is undone is seen by no filter, and what is deleted or rewritten lies within none", async () => {
    const [kept, removed, rewritten] = [
      await completed({ content: "Kept.", type: "note" }),
      await completed({ content: "Removed.", type: "note" }),
      await completed({ content: "Rewritten.", type: "note" }),
    ];
    const desk = await service.open(everybody);
    expect(() =>
      shop.database.atomically(() => {
        desk.change(kept.id, { type: "mail" });
        throw new Error("changed my mind");
      }),
    ).toThrow("changed my mind");
    expect([await within({ type: "note" }), await within({ type: "mail" })]).toEqual([3, 0]);
    desk.remove(removed.id, { purges: false });
    const gate = new Gate();
    shop.preparer.before = () => gate.pass();
    desk.change(rewritten.id, { content: "Written anew.", type: "mail" });
    expect([await within({ type: { $ne: "x" } }), await within({ type: "mail" })]).toEqual([1, 0]);
    gate.open();
    await shop.settled(rewritten);
    expect([await within({ type: "note" }), await within({ type: "mail" })]).toEqual([1, 1]);
  });

  test("of the expiry reaches searches at once", async () => {
    const memory = await completed({ content: "Soon gone." });
    const desk = await service.open(everybody);
    desk.change(memory.id, { expiresAt: shop.clock.now() + 10 });
    expect(await shop.searchable()).toEqual(["Soon gone."]);
    shop.clock.advance(10);
    expect(await shop.searchable()).toEqual([]);
  });

  test("of the content is searchable again only when it is completed", async () => {
    const memory = await completed({ content: "Old text." });
    const desk = await service.open(everybody);
    const { outcome } = desk.change(memory.id, { content: "New text." }) ?? {};
    expect(outcome).toBe("rewritten");
    expect(await shop.searchable()).toEqual([]);
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual(["New text."]);
    expect((await service.get(everybody, memory.id))?.content).toBe("New text.");
  });

  test("by retry works on a failed memory again", async () => {
    shop.preparer.refuse = () => new PrepareFailure("Not this time.");
    const desk = await service.open(everybody);
    const memory = taken(desk.create([{ content: "Second chance." }])[0]);
    await shop.settled(memory, "failed");
    shop.preparer.refuse = () => null;
    expect(desk.retry(memory.id)?.state.status).toBe("processing");
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual(["Second chance."]);
    expect(codeOf(() => desk.retry(memory.id))).toBe("invalid_state undefined");
  });
});

describe("a purge", () => {
  test("leaves neither text nor vectors nor row behind when it resolves", async () => {
    const memory = await completed({ content: "Forget me now." });
    await service.get(everybody, memory.id);
    const desk = await service.open(everybody);
    expect(desk.remove(memory.id, { purges: true })?.key).toBe(memory.key);
    await service.purgeNow(shop.projectId, [memory.key]);
    expect((await shop.index.contents([memory.key])).size).toBe(0);
    expect((await shop.index.project(shop.projectId)).stats().chunks).toBe(0);
    expect(shop.database.prepare("SELECT 1 FROM memories").all({})).toEqual([]);
    expect(desk.remove(memory.id, { purges: true })).toBeNull();
  });

  test("spares what was not deleted", async () => {
    const memory = await completed({ content: "Still here." });
    const other = await completed({ content: "Gone." });
    (await service.open(everybody)).remove(other.id, { purges: true });
    await service.purgeNow(shop.projectId, [other.key]);
    expect(await shop.searchable()).toEqual(["Still here."]);
    expect((await service.get(everybody, memory.id))?.content).toBe("Still here.");
  });
});

describe("a viewer who is confined to one user", () => {
  let mine: Memory;
  let theirs: Memory;
  let nobodys: Memory;
  let desk: MemoryDesk;
  beforeEach(async () => {
    mine = await completed({ content: "Mine.", userId: "u", externalId: "e" });
    theirs = await completed({ content: "Theirs.", userId: "v", externalId: "e" });
    nobodys = await completed({ content: "Nobody's." });
    desk = await service.open(confined);
  });

  test("reads and lists that user's memories only, whether named or not", async () => {
    expect((await service.get(confined, mine.id))?.content).toBe("Mine.");
    expect([await service.get(confined, theirs.id), await service.get(confined, nobodys.id)]).toEqual([null, null]);
    for (const listing of [{ limit: 9 }, { limit: 9, userId: "u" }]) {
      expect((await service.list(confined, listing)).items.map(({ content }) => content)).toEqual(["Mine."]);
    }
    await expect(service.list(confined, { limit: 9, userId: "v" })).rejects.toMatchObject({
      code: "insufficient_scope",
    });
  });

  test("cannot go on with a cursor of another viewer", async () => {
    await completed({ content: "Mine too.", userId: "u" });
    const { cursor } = await service.list(everybody, { limit: 1 });
    await expect(service.list(confined, { limit: 1, cursor: cursor ?? "" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
  });

  test("finds others' memories absent when changing, retrying or deleting", async () => {
    for (const { id } of [theirs, nobodys, { id: "mem_x" as MemoryId }]) {
      expect(desk.change(id, { title: "x" })).toBeNull();
      expect(desk.retry(id)).toBeNull();
      expect(desk.remove(id, { purges: true })).toBeNull();
    }
    expect((await service.get(everybody, theirs.id))?.memory).toEqual(theirs);
    expect(desk.remove(mine.id, { purges: false })?.key).toBe(mine.key);
  });

  test("stores for that user, and is refused singly for another", () => {
    const [own, foreign, named] = desk.create([
      { content: "Implied." },
      { content: "Foreign.", userId: "v", externalId: "e" },
      { content: "Mine.", userId: "u", externalId: "e" },
    ]);
    expect(taken(own).userId).toBe("u");
    expect((foreign as Fault).code).toBe("insufficient_scope");
    expect(taken(named).key).toBe(mine.key);
  });

  test("cannot give a memory away, to somebody or to nobody", () => {
    expect(codeOf(() => desk.change(mine.id, { userId: "v" }))).toBe("insufficient_scope userId");
    expect(codeOf(() => desk.change(mine.id, { userId: null }))).toBe("insufficient_scope userId");
    expect(desk.change(mine.id, { userId: "u", title: "T" })?.memory.title).toBe("T");
  });
});

describe("contents that were read", () => {
  test("are read again without asking the index, until they change or go", async () => {
    const memory = await completed({ content: "Read twice." });
    const desk = await service.open(everybody);
    const contents = async () => (await service.get(everybody, memory.id))?.content;
    expect([await contents(), await contents(), contentReads]).toEqual(["Read twice.", "Read twice.", 1]);
    desk.change(memory.id, { title: "T" });
    expect([await contents(), contentReads]).toEqual(["Read twice.", 1]);
    desk.change(memory.id, { content: "Read anew." });
    expect(await contents()).toBe("Read anew.");
    await shop.settled(memory);
    expect([await contents(), await contents(), contentReads]).toEqual(["Read anew.", "Read anew.", 2]);
    desk.remove(memory.id, { purges: false });
    expect(await contents()).toBeUndefined();
  });

  test("come in the order of the memories that were asked for, some read before, some waiting, some not", async () => {
    const first = await completed({ content: "First." });
    const second = await completed({ content: "Second." });
    await service.get(everybody, second.id);
    await shop.worker.stop();
    const waiting = taken((await service.open(everybody)).create([{ content: "Waiting." }])[0]);
    const shown = await service.withContents([waiting, first, second]);
    expect(shown.map(({ content }) => content)).toEqual(["Waiting.", "First.", "Second."]);
  });
});
