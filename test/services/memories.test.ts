// The memory service inside transactions and for viewers that are confined to one user: visibility changes with the
// commit, no operation bypasses the confinement, and a purge leaves no data.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { Fault } from "../../src/domain/fault.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import type { MemoryId } from "../../src/domain/ids.ts";
import type { Memory, MemoryChange, MemoryDraft } from "../../src/domain/memory.ts";
import type { Viewer } from "../../src/domain/scope.ts";
import { createLog } from "../../src/kit/log.ts";
import type { Accepted } from "../../src/ports/memory-store.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { Intake } from "../../src/services/intake.ts";
import { MemoryService } from "../../src/services/memories.ts";
import { ALL_VISIBLE } from "../contract/stores.ts";
import { Gate, hashVector, type IngestHarness, openIngestHarness } from "../ingest/ingest-harness.ts";
import { searchVectors } from "../support/search-legs.ts";
import { until } from "../support/until.ts";

let harness: IngestHarness;
let service: MemoryService;
let everybody: Viewer;
let confined: Viewer;
let wakes: number;
let contentReads: number;
beforeEach(async () => {
  harness = await openIngestHarness();
  [wakes, contentReads] = [0, 0];
  const { memories, retirement, files, index } = harness;
  const read = index.contents.bind(index);
  index.contents = (keys) => {
    contentReads += 1;
    return read(keys);
  };
  service = new MemoryService({
    ...{ memories, retirement, files, index, log: createLog("silent") },
    wakeIngest: () => {
      wakes += 1;
      harness.worker.wake();
    },
  });
  everybody = { projectId: harness.projectId, userId: null };
  confined = { projectId: harness.projectId, userId: "u" };
});
afterEach(() => harness.close());

function acceptedMemory(result: Accepted | Fault | null | undefined): Memory {
  if (result === null || result === undefined || result instanceof Fault)
    throw result ?? new Error("the draft was not accepted");
  return result.memory;
}

/** Operations of the memory service for a viewer, each in a separate transaction. */
function changesOf(viewer: Viewer) {
  const { transactions } = harness;
  return {
    create: (drafts: readonly MemoryDraft[]) => transactions.run((tx) => service.create(tx, viewer, drafts)),
    change: (id: MemoryId, change: MemoryChange) => transactions.run((tx) => service.change(tx, viewer, id, change)),
    retry: (id: MemoryId) => transactions.run((tx) => service.retry(tx, viewer, id)),
    remove: (id: MemoryId, options: { readonly purges: boolean }) =>
      transactions.run((tx) => service.remove(tx, viewer, id, options)),
  };
}

async function codeOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (error instanceof Fault) return `${error.code} ${error.param}`;
    throw error;
  }
  return "no fault was thrown";
}

async function completed(draft: MemoryDraft, viewer = everybody): Promise<Memory> {
  return harness.settled(acceptedMemory((await changesOf(viewer).create([draft]))[0]));
}

async function searchableBy(userId: string): Promise<number> {
  const project = await harness.index.project(harness.projectId);
  const within = await project.admit(await harness.memories.userKey(harness.projectId, userId), harness.clock.now());
  return (await searchVectors(project, harness.embedder.fingerprint, hashVector(""), within, 100)).chunkKeys.length;
}

describe("a change within the caller's transaction", () => {
  test("becomes visible with the commit, and wakes the worker once", async () => {
    const memory = await completed({ content: "Kept.", userId: "u" });
    const before = wakes;
    await harness.transactions.run(async (tx) => {
      await service.change(tx, everybody, memory.id, { userId: "v" });
      await service.create(tx, everybody, [{ content: "New." }]);
      expect(wakes).toBe(before);
    });
    expect(wakes).toBe(before + 1);
    expect([await searchableBy("u"), await searchableBy("v")]).toEqual([0, 1]);
  });

  test("that is rolled back changes no visibility and does not wake the worker", async () => {
    const memory = await completed({ content: "Kept.", userId: "u" });
    const before = wakes;
    const rolledBack = harness.transactions.run(async (tx) => {
      await service.change(tx, everybody, memory.id, { userId: "v" });
      await service.change(tx, everybody, memory.id, { content: "Rewritten." });
      await service.remove(tx, everybody, memory.id, { purges: false });
      await service.create(tx, everybody, [{ content: "New." }]);
      throw new Error("rolled back on purpose");
    });
    await expect(rolledBack).rejects.toThrow("rolled back on purpose");
    expect(wakes).toBe(before);
    expect(await harness.searchable()).toEqual(["Kept."]);
    expect(await searchableBy("u")).toBe(1);
    expect((await service.get(everybody, memory.id))?.content).toBe("Kept.");
  });
});

async function within(filter: unknown): Promise<number> {
  const project = await harness.index.project(harness.projectId);
  return (await project.admitWithin(null, harness.clock.now(), parseFilter(filter))).memories;
}

describe("a change", () => {
  test("of any attribute affects filters at once and after a restart", async () => {
    const memory = await completed({ content: "Kept.", type: "note", tags: ["a"], metadata: { n: 1, only: true } });
    const untouched = await completed({ content: "Other.", type: "note", metadata: { n: 1 } });
    const changes = changesOf(everybody);
    const createdAt = new Date(memory.createdAt).toISOString();
    harness.clock.advance(1_000);
    const updatedAt = new Date(harness.clock.now()).toISOString();
    await changes.change(memory.id, {
      title: "New",
      type: "mail",
      tags: ["b"],
      language: "fr",
      externalId: "e",
      userId: "u",
    });
    await changes.change(memory.id, { metadata: { n: 2 } });
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
    const { incomplete } = await harness.index.restart(
      harness.projectId,
      await harness.memories.visible(harness.projectId, ALL_VISIBLE),
    );
    expect(incomplete).toEqual([]);
    expect(await admitted()).toEqual(cases);
  });

  test("that is rolled back affects no filter, and deleted or rewritten memories match no filter", async () => {
    const [kept, removed, rewritten] = [
      await completed({ content: "Kept.", type: "note" }),
      await completed({ content: "Removed.", type: "note" }),
      await completed({ content: "Rewritten.", type: "note" }),
    ];
    const changes = changesOf(everybody);
    const rolledBack = harness.transactions.run(async (tx) => {
      await service.change(tx, everybody, kept.id, { type: "mail" });
      throw new Error("rolled back on purpose");
    });
    await expect(rolledBack).rejects.toThrow("rolled back on purpose");
    expect([await within({ type: "note" }), await within({ type: "mail" })]).toEqual([3, 0]);
    await changes.remove(removed.id, { purges: false });
    const gate = new Gate();
    harness.preparer.before = () => gate.pass();
    await changes.change(rewritten.id, { content: "Written again.", type: "mail" });
    expect([await within({ type: { $ne: "x" } }), await within({ type: "mail" })]).toEqual([1, 0]);
    gate.open();
    await harness.settled(rewritten);
    expect([await within({ type: "note" }), await within({ type: "mail" })]).toEqual([1, 1]);
  });

  test("of the expiry affects searches at once", async () => {
    const memory = await completed({ content: "Soon gone." });
    const changes = changesOf(everybody);
    await changes.change(memory.id, { expiresAt: harness.clock.now() + 10 });
    expect(await harness.searchable()).toEqual(["Soon gone."]);
    harness.clock.advance(10);
    expect(await harness.searchable()).toEqual([]);
  });

  test("of the content is searchable again only when it is completed", async () => {
    const memory = await completed({ content: "Old text." });
    const changes = changesOf(everybody);
    const { outcome } = (await changes.change(memory.id, { content: "New text." })) ?? {};
    expect(outcome).toBe("rewritten");
    expect(await harness.searchable()).toEqual([]);
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual(["New text."]);
    expect((await service.get(everybody, memory.id))?.content).toBe("New text.");
  });

  test("by retry processes a failed memory again", async () => {
    harness.preparer.refuse = () => new PrepareFailure("Not this time.");
    const changes = changesOf(everybody);
    const memory = acceptedMemory((await changes.create([{ content: "Second chance." }]))[0]);
    await harness.settled(memory, "failed");
    harness.preparer.refuse = () => null;
    expect((await changes.retry(memory.id))?.state.status).toBe("processing");
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual(["Second chance."]);
    expect(await codeOf(() => changes.retry(memory.id))).toBe("invalid_state undefined");
  });
});

describe("a purge", () => {
  test("has removed text, vectors and row when it resolves", async () => {
    const memory = await completed({ content: "Forget me now." });
    await service.get(everybody, memory.id);
    const changes = changesOf(everybody);
    expect((await changes.remove(memory.id, { purges: true }))?.memory.key).toBe(memory.key);
    await service.purgeNow(harness.projectId, [memory.key]);
    expect((await harness.index.contents([memory.key])).size).toBe(0);
    expect(await harness.storedChunks()).toBe(0);
    expect(harness.database.prepare("SELECT 1 FROM memories").all({})).toEqual([]);
    expect(await changes.remove(memory.id, { purges: true })).toBeNull();
  });

  test("does not affect other memories", async () => {
    const memory = await completed({ content: "Still here." });
    const other = await completed({ content: "Gone." });
    await changesOf(everybody).remove(other.id, { purges: true });
    await service.purgeNow(harness.projectId, [other.key]);
    expect(await harness.searchable()).toEqual(["Still here."]);
    expect((await service.get(everybody, memory.id))?.content).toBe("Still here.");
  });
});

describe("a viewer who is confined to one user", () => {
  let mine: Memory;
  let theirs: Memory;
  let nobodys: Memory;
  let changes: ReturnType<typeof changesOf>;
  beforeEach(async () => {
    mine = await completed({ content: "Mine.", userId: "u", externalId: "e" });
    theirs = await completed({ content: "Theirs.", userId: "v", externalId: "e" });
    nobodys = await completed({ content: "Nobody's." });
    changes = changesOf(confined);
  });

  test("reads and lists only that user's memories, with and without naming the user", async () => {
    expect((await service.get(confined, mine.id))?.content).toBe("Mine.");
    expect([await service.get(confined, theirs.id), await service.get(confined, nobodys.id)]).toEqual([null, null]);
    for (const listing of [{ limit: 9 }, { limit: 9, userId: "u" }]) {
      expect((await service.list(confined, listing)).items.map(({ content }) => content)).toEqual(["Mine."]);
    }
    await expect(service.list(confined, { limit: 9, userId: "v" })).rejects.toMatchObject({
      code: "insufficient_scope",
    });
  });

  test("cannot use a cursor of another viewer", async () => {
    await completed({ content: "Mine too.", userId: "u" });
    const { cursor } = await service.list(everybody, { limit: 1 });
    await expect(service.list(confined, { limit: 1, cursor: cursor ?? "" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
  });

  test("cannot change, retry or delete memories of others: they are not found", async () => {
    for (const { id } of [theirs, nobodys, { id: "mem_x" as MemoryId }]) {
      expect(await changes.change(id, { title: "x" })).toBeNull();
      expect(await changes.retry(id)).toBeNull();
      expect(await changes.remove(id, { purges: true })).toBeNull();
    }
    expect((await service.get(everybody, theirs.id))?.memory).toEqual(theirs);
    expect((await changes.remove(mine.id, { purges: false }))?.memory.key).toBe(mine.key);
  });

  test("stores memories for that user, and only the drafts for another user are refused", async () => {
    const [own, foreign, named] = await changes.create([
      { content: "Implied." },
      { content: "Foreign.", userId: "v", externalId: "e" },
      { content: "Mine.", userId: "u", externalId: "e" },
    ]);
    expect(acceptedMemory(own).userId).toBe("u");
    expect((foreign as Fault).code).toBe("insufficient_scope");
    expect(acceptedMemory(named).key).toBe(mine.key);
  });

  test("cannot give a memory to another user or to no user", async () => {
    expect(await codeOf(() => changes.change(mine.id, { userId: "v" }))).toBe("insufficient_scope userId");
    expect(await codeOf(() => changes.change(mine.id, { userId: null }))).toBe("insufficient_scope userId");
    expect((await changes.change(mine.id, { userId: "u", title: "T" }))?.memory.title).toBe("T");
  });
});

describe("cached contents", () => {
  test("are read without the index until they change or are deleted", async () => {
    const memory = await completed({ content: "Read twice." });
    const changes = changesOf(everybody);
    const contents = async () => (await service.get(everybody, memory.id))?.content;
    expect([await contents(), await contents(), contentReads]).toEqual(["Read twice.", "Read twice.", 1]);
    await changes.change(memory.id, { title: "T" });
    expect([await contents(), contentReads]).toEqual(["Read twice.", 1]);
    await changes.change(memory.id, { content: "Read again." });
    expect(await contents()).toBe("Read again.");
    await harness.settled(memory);
    const before = contentReads; // publishing read the earlier text, which is kept
    expect([await contents(), await contents(), contentReads]).toEqual(["Read again.", "Read again.", before + 1]);
    await changes.remove(memory.id, { purges: false });
    expect(await contents()).toBeUndefined();
  });

  test("are returned in the order of the request, together with waiting and not cached ones", async () => {
    const first = await completed({ content: "First." });
    const second = await completed({ content: "Second." });
    await service.get(everybody, second.id);
    await harness.worker.stop();
    const waiting = acceptedMemory((await changesOf(everybody).create([{ content: "Waiting." }]))[0]);
    const shown = await service.withContents(harness.projectId, [waiting, first, second]);
    expect(shown.map(({ content }) => content)).toEqual(["Waiting.", "First.", "Second."]);
  });
});

test("a memory that is purged just before it is published leaves no text", async () => {
  const { promise: published, resolve: onPublished } = Promise.withResolvers<void>();
  harness.index.before = async ([publication]) => {
    const memory = (await harness.memories.list(harness.projectId, { limit: 1 })).items[0];
    if (memory?.key !== publication?.memoryKey || memory === undefined) return;
    await changesOf(everybody).remove(memory.id, { purges: true });
    await service.purgeNow(harness.projectId, [memory.key]);
  };
  harness.index.after = () => onPublished();
  const memory = acceptedMemory((await changesOf(everybody).create([{ content: "Gone soon." }]))[0]);
  await published;
  await until("the text is purged", async () => (await harness.index.contents([memory.key])).size === 0);
  expect(await harness.searchable()).toEqual([]);
});

describe("a memory that is deleted while it is read", () => {
  /** Deletes and purges a memory before its content is read from the index. */
  const purgeBeforeContent = (memory: Memory) => {
    const read = harness.index.contents.bind(harness.index);
    harness.index.contents = async (keys) => {
      harness.index.contents = read;
      await changesOf(everybody).remove(memory.id, { purges: true });
      await service.purgeNow(harness.projectId, [memory.key]);
      return read(keys);
    };
  };

  test("is not returned without its text", async () => {
    const memory = await completed({ content: "Gone soon." });
    purgeBeforeContent(memory);
    expect(await service.get(everybody, memory.id)).toBeNull();
  });

  test("is left out of a list", async () => {
    const other = await completed({ content: "Stays." });
    const memory = await completed({ content: "Gone soon." });
    purgeBeforeContent(memory);
    const { items } = await service.list(everybody, { limit: 10 });
    expect(items.map(({ memory: { id }, content }) => [id, content])).toEqual([[other.id, "Stays."]]);
  });

  test("is not returned with an earlier text", async () => {
    const before = await completed({ content: "The first text." });
    await harness.worker.stop();
    const rewritten = await changesOf(everybody).change(before.id, { content: "The second text." });
    const memory = acceptedMemory(rewritten);
    await changesOf(everybody).remove(memory.id, { purges: false });
    expect(await service.withContents(harness.projectId, [memory])).toEqual([]);
  });
});

describe("an uploaded file", () => {
  const incoming = async () => {
    const file = await harness.files.begin();
    const bytes = Buffer.from("Hello.");
    await file.write(bytes);
    await file.end();
    const source = { filename: "a.txt", media_type: "text/plain", bytes: 6 };
    const sha256 = createHash("sha256").update(bytes).digest();
    return { path: file.path, bytes: source.bytes, sha256, source };
  };
  const received = async () => {
    const { memories, files } = harness;
    return new Intake({ memories, files, log: createLog("silent") }).file(await incoming());
  };
  const store = async (more: Partial<MemoryDraft> = {}) => {
    await using file = await received();
    const [accepted] = await changesOf(everybody).create([{ content: "", upload: file.kept, ...more }]);
    if (accepted === undefined || accepted instanceof Fault) throw accepted ?? new Error("the draft was not accepted");
    return accepted;
  };
  const filesOf = async () => (await harness.files.names(0)).length;
  beforeEach(() => harness.worker.stop());

  test("is kept while its row refers to it", async () => {
    expect((await store()).outcome).toBe("created");
    expect(await filesOf()).toBe(1);
  });

  test("is removed if the memory has this content already", async () => {
    await store({ externalId: "e" });
    expect((await store({ externalId: "e", title: "New" })).outcome).toBe("updated");
    expect(await filesOf()).toBe(1);
  });

  test("is removed if storing fails", async () => {
    const failing = async () => {
      await using _file = await received();
      expect(await filesOf()).toBe(1);
      throw new Error("no room");
    };
    await expect(failing()).rejects.toThrow("no room");
    expect(await filesOf()).toBe(0);
  });
});

describe("a stored text that does not match its row", () => {
  const damages: Readonly<Record<string, (memory: Memory) => Promise<void> | void>> = {
    "of an earlier version": ({ key }) => setColumn(key, "version = version + 1"),
    "of another size": ({ key }) => setColumn(key, "content_bytes = content_bytes + 1"),
    "that is missing": ({ key }) => harness.index.purge([key]),
  };
  for (const [which, damage] of Object.entries(damages)) {
    test(`${which} is not shown: reading it is an error that says so, and a list shows the memory as failed`, async () => {
      const memory = await completed({ content: "The text of this version." });
      const other = await completed({ content: "A sound text." });
      expect((await service.get(everybody, memory.id))?.content).toBe("The text of this version.");
      await damage(memory);
      let damaged = 0;
      const { memories, retirement, files, index } = harness;
      const reader = new MemoryService({
        ...{ memories, retirement, files, index, log: createLog("silent"), wakeIngest: () => undefined },
        countDamaged: (texts) => {
          damaged += texts;
        },
      });
      const reading = Promise.resolve(reader.get(everybody, memory.id));
      await expect(reading).rejects.toThrow("missing or damaged, so it is not shown");
      await expect(reading).rejects.toMatchObject({ code: "internal_error" });
      expect(damaged).toBe(1);
      const { items } = await reader.list(everybody, { limit: 10 });
      expect(items.map((item) => [item.memory.id, item.memory.state.status, item.content])).toEqual([
        [other.id, "completed", "A sound text."],
        [memory.id, "failed", ""],
      ]);
      expect(damaged).toBe(2);
    });
  }
});

function setColumn(key: bigint, change: string): void {
  const sql = `UPDATE memories SET ${change} WHERE memory_key = $key`;
  harness.database.prepare<never, { key: bigint }>(sql).run({ key });
}
