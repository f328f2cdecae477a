// What LlmExtractionStore (`src/ports/llm-extraction-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { LlmExtraction, LlmExtractionStore } from "../../src/ports/llm-extraction-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { memoryActions } from "../contract/memory-actions.ts";
import { addTwoProjects, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const EXTRACTION: LlmExtraction = {
  title: "Ada’s notes",
  tags: ["ö", "😀"],
  entities: [{ name: "Ada", type: "person" }],
  facts: [{ subject: "Ada", predicate: "wrote", object: "notes" }],
};

onEachDatabase("LlmExtractionStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: LlmExtractionStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.extractions;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const { accept, claimOne, complete, reread } = memoryActions(() => ({ stores, project }));
  const claimNew = async (draft: Parameters<typeof accept>[0] = {}) => {
    await accept(draft);
    return claimOne();
  };

  describe("an extraction", () => {
    test("is returned as it was stored, for the job and for the memory", async () => {
      const job = await claimNew();
      expect(await store.previous(job)).toBeNull();
      expect(await store.facts(job.memory.key)).toEqual([]);
      await store.keep(job, EXTRACTION);
      expect(await store.previous(job)).toEqual({ extraction: EXTRACTION });
      expect(await store.facts(job.memory.key)).toEqual(EXTRACTION.facts);
    });

    test("is replaced by a later one", async () => {
      const job = await claimNew();
      await store.keep(job, EXTRACTION);
      const later = { entities: [], facts: [] };
      await store.keep(job, later);
      expect(await store.previous(job)).toEqual({ extraction: later });
    });

    test("is valid when the same content is processed again, also after the memory was completed", async () => {
      const job = await claimNew();
      await store.keep(job, EXTRACTION);
      await complete(job);
      await stores.jobs.reopen([job.memory.key]);
      const again = await claimOne();
      expect(again.memory.version).toBe(2);
      expect(await store.previous(again)).toEqual({ extraction: EXTRACTION });
    });

    test("is invalid for another content", async () => {
      const job = await claimNew();
      await store.keep(job, EXTRACTION);
      await stores.memories.change(project, job.memory.id, { content: "another text" });
      const newer = await claimOne();
      expect(await store.previous(newer)).toBeNull();
      expect(await store.facts(job.memory.key)).toEqual([]);
    });

    test("is not stored for a job whose memory has a newer version or was erased", async () => {
      const job = await claimNew();
      await stores.memories.change(project, job.memory.id, { content: "another text" });
      await store.keep(job, EXTRACTION);
      expect(await store.previous(await claimOne())).toBeNull();
      await stores.memories.remove(project, job.memory.id, { purges: true });
      await stores.retirement.markRetracted([job.memory.key]);
      await stores.retirement.erase([job.memory.key]);
      await store.keep(job, EXTRACTION);
      expect(await store.previous(job)).toBeNull();
      expect(await store.facts(job.memory.key)).toEqual([]);
    });

    test("that is null is valid only for the version of its job", async () => {
      const job = await claimNew();
      await store.keep(job, null);
      expect(await store.previous(job)).toEqual({ extraction: null });
      expect(await store.facts(job.memory.key)).toEqual([]);
      await stores.jobs.fail(job, "processing_error", "no luck");
      await stores.memories.retry(project, job.memory.id);
      expect(await store.previous(await claimOne())).toBeNull();
    });
  });

  test("an unknown memory has no facts", async () => {
    expect(await store.facts(4_711n as MemoryKey)).toEqual([]);
  });

  describe("tokens", () => {
    test("count for the day and the month of the project, and start at 0 in the next ones", async () => {
      const job = await claimNew();
      const end = Date.UTC(2027, 1, 1);
      expect(await store.tokensToday(project)).toBe(0);
      await store.countTokens(job, { prompt: 10, completion: 3 });
      await store.countTokens(job, { prompt: 5, completion: 0 });
      expect([await store.tokensToday(project), await store.tokensToday(other)]).toEqual([18, 0]);
      expect(await stores.accounts.usage(project)).toMatchObject({
        queries: 0,
        tokens: { prompt: 15, completion: 3 },
      });
      const dayLeft = DAY_MS - (clock.now() % DAY_MS);
      clock.advance(dayLeft - 1);
      expect(await store.tokensToday(project)).toBe(18);
      clock.advance(1);
      expect(await store.tokensToday(project)).toBe(0);
      expect((await stores.accounts.usage(project)).tokens).toEqual({ prompt: 15, completion: 3 });
      clock.advance(end - clock.now());
      expect((await stores.accounts.usage(project)).tokens).toEqual({ prompt: 0, completion: 0 });
    });

    test("count for a memory that was deleted meanwhile, but not for a removed project", async () => {
      const job = await claimNew();
      await stores.memories.remove(project, (await reread(job.memory)).id);
      await store.countTokens(job, { prompt: 1, completion: 1 });
      expect(await store.tokensToday(project)).toBe(2);
      await stores.accounts.removeProject(project);
      await store.countTokens(job, { prompt: 1, completion: 1 });
      expect(await store.tokensToday(project)).toBe(0);
    });
  });
});
