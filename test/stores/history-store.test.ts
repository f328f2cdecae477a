// What HistoryStore (`src/ports/history-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { EARLIER_TEXTS_MAX } from "../../src/domain/history.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import type { StoredHistoryEntry } from "../../src/ports/history-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { EXTRACTED, memoryActions } from "../contract/memory-actions.ts";
import { addTwoProjects, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const DAY_MS = 86_400_000;
const MANY_BYTES = 1_000_000;

onEachDatabase("HistoryStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let project: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    [project] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const { accept, claim, reread } = memoryActions(() => ({ stores, project }));

  const completing = async (memory: Memory, chunkCount = 1): Promise<Memory> => {
    const job = (await claim()).find((each) => each.memory.key === memory.key);
    if (job === undefined) throw new Error("the job was not claimed");
    await stores.jobs.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount }]);
    return reread(memory);
  };
  const stored = async (draft: Partial<MemoryDraft> = {}): Promise<Memory> => {
    clock.advance(1);
    return completing((await accept(draft)).memory);
  };
  const rewrite = async ({ id }: Memory, content: string, by = "key_2"): Promise<void> => {
    clock.advance(1);
    await stores.memories.change(project, id, { content, by });
  };
  const entries = async ({ key }: Memory, limit = 100): Promise<readonly StoredHistoryEntry[]> =>
    (await stores.history.entries(project, key, { limit, contentBytesMax: MANY_BYTES })).items;
  const textsOf = async (memory: Memory) =>
    (await entries(memory)).flatMap((entry) => (entry.kind === "text" ? [[entry.version, entry.content]] : []));
  const setRetention = (retention_days: number) =>
    stores.accounts.changeProject(project, { settings: { ...DEFAULT_SETTINGS, retention_days } });

  describe("texts that were replaced", () => {
    test("are kept with their times and senders, newest first", async () => {
      clock.advance(1);
      const { memory } = await accept({ content: "one", by: "key_1" });
      const acceptedAt = clock.now();
      await rewrite(memory, "two");
      const rewrittenAt = clock.now();
      const first = { kind: "text", version: 1, content: "one", from: acceptedAt, by: { kind: "key", id: "key_1" } };
      const second = { kind: "text", version: 2, content: null, from: rewrittenAt, by: { kind: "key", id: "key_2" } };
      expect(await entries(memory)).toEqual([
        { ...second, until: null } as never,
        { ...first, until: rewrittenAt } as never,
      ]);
    });

    test("are not kept twice: neither for the same content, nor for other attributes, nor for a retry", async () => {
      const memory = await stored({ content: "one" });
      await stores.memories.change(project, memory.id, { content: "one" });
      await stores.memories.change(project, memory.id, { title: "a title" });
      await rewrite(memory, "two");
      const [job] = await claim();
      if (job === undefined) throw new Error("no job");
      await stores.jobs.fail(job, "processing_error", "it failed");
      await stores.memories.retry(project, memory.id);
      expect((await entries(memory)).map((entry) => "version" in entry && entry.version)).toEqual([2, 1]);
    });

    test("stay in the text archive until it gets another text, and are then stored", async () => {
      const memory = await stored({ content: "one" });
      await rewrite(memory, "two");
      expect(await textsOf(memory)).toEqual([
        [2, null],
        [1, null],
      ]);
      expect(await stores.history.archived([memory.key])).toEqual(new Map([[memory.key, { isWanted: true }]]));
      await rewrite(memory, "three"); // the second one was not published
      await stores.history.keep(memory.key, "one");
      await stores.history.keep(memory.key, "not again");
      expect(await textsOf(memory)).toEqual([
        [3, null],
        [2, "two"],
        [1, "one"],
      ]);
      expect(await stores.history.archived([memory.key])).toEqual(new Map());
    });

    test("that are lost are forgotten", async () => {
      const memory = await stored({ content: "one" });
      await rewrite(memory, "two");
      await stores.history.keep(memory.key, null);
      expect(await textsOf(memory)).toEqual([[2, null]]);
    });

    test("are at most a hundred: the oldest go first", async () => {
      clock.advance(1);
      const { memory } = await accept({ content: "0" });
      for (let text = 1; text <= EARLIER_TEXTS_MAX + 2; text++) await rewrite(memory, String(text));
      const kept = (await stores.history.entries(project, memory.key, { limit: 200, contentBytesMax: MANY_BYTES }))
        .items;
      expect(kept).toHaveLength(EARLIER_TEXTS_MAX + 1);
      expect(kept.at(-1)).toMatchObject({ version: 3, content: "2" });
    });

    test("are not kept if the project keeps nothing", async () => {
      await setRetention(0);
      const memory = await stored({ content: "one" });
      await rewrite(memory, "two");
      expect(await textsOf(memory)).toEqual([[2, null]]);
      expect(await stores.history.horizon(project)).toBe(clock.now());
    });

    test("are erased when their retention has ended, and a longer one later does not bring them back", async () => {
      await setRetention(2);
      const memory = await stored({ content: "one" });
      await rewrite(memory, "two");
      clock.advance(2 * DAY_MS);
      expect(await textsOf(memory)).toHaveLength(2);
      expect(await stores.history.eraseOld(10)).toBe(false);
      await stores.history.keep(memory.key, "one");
      expect(await textsOf(memory)).toHaveLength(2);
      clock.advance(1);
      expect(await textsOf(memory)).toHaveLength(1); // before they are erased
      await setRetention(30);
      expect(await stores.history.horizon(project)).toBe(clock.now() - 2 * DAY_MS);
      expect(await textsOf(memory)).toHaveLength(1);
      await setRetention(2);
      await stores.history.eraseOld(10);
      await setRetention(30);
      expect(await textsOf(memory)).toHaveLength(1);
    });

    test("go with a purged memory", async () => {
      clock.advance(1);
      const { memory } = await accept({ content: "one" });
      await rewrite(memory, "two");
      await stores.memories.remove(project, memory.id, { purges: true });
      expect(await entries(memory)).toEqual([]);
      await stores.retirement.markRetracted([memory.key]);
      await stores.retirement.erase([memory.key]);
      expect((await stores.history.textsAt(project, [memory.key], clock.now() - 1)).size).toBe(0);
    });
  });

  describe("erase", () => {
    test("erases earlier texts, also the one that only the archive has, and evidence; the rest stays", async () => {
      const [memory, other] = [await stored({ content: "one" }), await stored({ content: "other" })];
      const job = (await stores.relations.claim({ limit: 9, leaseMs: 1_000, skipsBacklog: false })).find(
        ({ memory: { key } }) => key === other.key,
      );
      if (job === undefined) throw new Error("no job");
      const span = { start: 0, end: 3, text: "one" };
      await stores.relations.finish([
        {
          job,
          found: [
            {
              ...{ kind: "supersedes", key: other.key, otherKey: memory.key, by: "rule", confidence: 0.9 },
              ...{ versions: { own: other.version, other: memory.version }, ownPassage: 0, otherPassage: 0 },
              evidence: { own: { ...span, text: "other", end: 5 }, other: span },
            },
          ],
        },
      ]);
      await rewrite(memory, "two");
      await rewrite(memory, "three");
      const relations = async () => (await entries(memory)).filter(({ kind }) => kind === "relation");
      const removed = { action: "removed", by: { kind: "key", id: "key_2" }, relation: { type: "superseded_by" } };
      const set = { action: "set", by: { kind: "rule", id: null } };
      expect(await relations()).toMatchObject([removed, { ...set, relation: { evidence: { own: span } } }]);

      await stores.history.erase(project, memory.key);
      expect(await textsOf(memory)).toEqual([[3, null]]);
      expect(await relations()).toMatchObject([removed, { ...set, relation: { evidence: null } }]);
      expect(await stores.history.archived([memory.key])).toEqual(new Map([[memory.key, { isWanted: false }]]));
      expect(await stores.history.textsAt(project, [memory.key], clock.now() - 1)).toEqual(
        new Map([[memory.key, null]]),
      );
      await stores.history.keep(memory.key, null);
      expect(await stores.history.archived([memory.key])).toEqual(new Map());
    });
  });

  describe("relations", () => {
    test("that a person set, replaced and forgot are listed with the keys of the person", async () => {
      const [memory, other] = [await stored(), await stored()];
      const { relations } = stores;
      for (const [step, key] of [
        [() => relations.set(project, memory.key, other.key, "supersedes", "key_a"), "a"],
        [() => relations.set(project, memory.key, other.key, "duplicates", "key_b"), "b"],
        [() => relations.forget(project, other.key, memory.key, "key_c"), "c"],
      ] as const) {
        clock.advance(1);
        expect([key, await step()]).toEqual([key, true]);
      }
      const listed = (await entries(other)).flatMap((entry) =>
        entry.kind === "relation" ? [[entry.action, entry.relation.type, entry.by.id]] : [],
      );
      expect(listed).toEqual([
        ["removed", "duplicates", "key_c"],
        ["set", "duplicates", "key_b"],
        ["removed", "superseded_by", "key_b"],
        ["set", "superseded_by", "key_a"],
      ]);
    });

    test("go with a deleted memory, and with one that gets another user", async () => {
      for (const change of [
        ({ id }: Memory) => stores.memories.remove(project, id),
        ({ id }: Memory) => stores.memories.change(project, id, { userId: "eve" }),
      ]) {
        const [memory, other] = [await stored(), await stored()];
        await stores.relations.set(project, memory.key, other.key, "supersedes");
        clock.advance(1);
        await stores.relations.set(project, memory.key, other.key, "duplicates");
        expect((await entries(memory)).length).toBe(4);
        await change(other);
        expect((await entries(memory)).length).toBe(1);
      }
    });

    test("stood and superseded at an earlier time", async () => {
      const [older, newer] = [await stored(), await stored()];
      const before = clock.now();
      clock.advance(1);
      await stores.relations.set(project, newer.key, older.key, "supersedes");
      const during = clock.now();
      clock.advance(1);
      await stores.relations.set(project, newer.key, older.key, "none");
      const then = async (knownAt: number) => [
        (await stores.relations.of(project, older.key, knownAt)).map(({ type }) => type),
        (await stores.relations.supersededAt(project, [older.key], { knownAt })).get(older.key)?.supersededBy,
        (await stores.memories.list(project, { limit: 9, superseded: true, knownAt })).items.map(({ id }) => id),
        (await stores.memories.list(project, { limit: 9, superseded: false, knownAt })).items.map(({ id }) => id),
      ];
      expect(await then(before)).toEqual([[], null, [], [newer.id, older.id]]);
      expect(await then(during)).toEqual([["superseded_by"], newer.id, [older.id], [newer.id]]);
      expect(await then(clock.now())).toEqual([[], null, [], [newer.id, older.id]]);
    });
  });

  test("pages are cut by entries and by the size of texts, and cursors belong to their memory", async () => {
    clock.advance(1);
    const { memory } = await accept({ content: "a".repeat(60) });
    const { memory: other } = await accept({ content: "other" });
    for (const letter of ["b", "c", "d"]) await rewrite(memory, letter.repeat(60));
    const seen: unknown[] = [];
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const listing = { limit: 3, contentBytesMax: 130, ...(cursor !== undefined && { cursor }) };
      const page = await stores.history.entries(project, memory.key, listing);
      seen.push(...page.items.map((entry) => (entry.kind === "text" ? entry.version : entry)));
      sizes.push(page.items.length);
      if (page.cursor !== null) {
        await expect(stores.history.entries(project, other.key, { ...listing, cursor: page.cursor })).rejects.toThrow(
          "cursor",
        );
      }
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    expect([seen, sizes]).toEqual([
      [4, 3, 2, 1],
      [2, 2],
    ]);
  });

  test("textsAt and the list know the texts of then, and neither a memory nor a text that came later", async () => {
    clock.advance(1);
    const { memory } = await accept({ content: "one" });
    const first = clock.now();
    await rewrite(memory, "two");
    const second = clock.now();
    const later = await stored({ content: "later" });
    const at = async (time: number) => [
      [...(await stores.history.textsAt(project, [memory.key, later.key], time)).values()],
      (await stores.memories.list(project, { limit: 9, knownAt: time })).items.map(({ id }) => id),
    ];
    expect(await at(first - 1)).toEqual([[null, null], []]);
    expect(await at(first)).toEqual([[{ version: 1, content: "one" }, null], [memory.id]]);
    expect(await at(second)).toEqual([[null], [memory.id]]);
    expect(await at(clock.now())).toEqual([[], [later.id, memory.id]]);
  });
});
