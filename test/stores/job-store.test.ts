// What JobStore (`src/ports/job-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { filteredAttributesJson } from "../../src/domain/filter.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import type { MemoryStore } from "../../src/ports/memory-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { EXTRACTED, LEASE_MS, memoryActions, uploadDraft } from "../contract/memory-actions.ts";
import { ALL_VISIBLE, addTwoProjects, inTurn, messageOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

onEachDatabase("JobStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: MemoryStore;
  let jobStore: JobStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    ({ memories: store, jobs: jobStore } = stores);
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const { accept, claim, claimOne, complete, completed, keysOf, reread } = memoryActions(() => ({
    stores,
    project,
  }));

  describe("published", () => {
    test("returns completed memories with the facts of their files, in the order of their keys, without a lease", async () => {
      const plain = await completed({ content: "plain" });
      await accept(uploadDraft("a"));
      const job = await claimOne();
      const facts = { title: "From the file", marks: [{ at: 0, place: { page: 1 } }] };
      const completion = { job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 } as const;
      await jobStore.complete([{ ...completion, read: { ...facts, contentBytes: 5 } }]);
      const keys = [job.memory.key, plain.key, 999_999n as MemoryKey];
      const jobs = await jobStore.published(project, keys);
      expect(jobs.map(({ memory }) => memory.key)).toEqual([plain.key, job.memory.key]);
      expect(jobs.map((each) => each.facts)).toEqual([null, facts]);
      expect(jobs[0]).toMatchObject({ projectId: project, memory: plain, content: null, upload: null, lease: 0 });
      expect(await jobStore.renew(jobs, LEASE_MS)).toEqual([]);
      expect(await jobStore.published(other, keys)).toEqual([]);
    });

    test("also returns memories that are deleted or processed again", async () => {
      const [gone, rewritten] = [await completed(), await completed()];
      await store.remove(project, gone.id);
      await store.change(project, rewritten.id, { content: "new" });
      const jobs = await jobStore.published(project, [gone.key, rewritten.key]);
      expect(jobs.map(({ memory }) => memory.key)).toEqual([gone.key, rewritten.key]);
    });
  });

  describe("claim", () => {
    test("returns the oldest jobs first, each once, with its content and a fencing token", async () => {
      const memories = await inTurn(["a", "b", "c"], async (content) => {
        clock.advance(1);
        return (await accept({ content })).memory;
      });
      const jobs = [...(await claim(2)), ...(await claim(2))];
      expect(jobs.map((job) => job.memory.key)).toEqual(memories.map(({ key }) => key));
      expect(jobs.map(({ content }) => content)).toEqual(["a", "b", "c"]);
      expect(jobs.map(({ projectId, attempt }) => [projectId, attempt])).toEqual(Array(3).fill([project, 1]));
      expect(new Set(jobs.map(({ lease }) => lease)).size).toBe(3);
      expect(await claim()).toEqual([]);
    });

    test("alternates between projects, within one call and over several", async () => {
      for (let index = 0; index < 10; index++) await accept({ content: `backlog ${index}` });
      clock.advance(1);
      const late = [await accept({}, other), await accept({}, other), await accept({}, other)].map(
        ({ memory }) => memory.key,
      );
      const together = await claim(4);
      expect(together.filter(({ projectId }) => projectId === other)).toHaveLength(2);
      const singly = [await claimOne(), await claimOne()];
      expect(singly.map(({ projectId }) => projectId).sort()).toEqual([project, other].sort());
      const given = [...together, ...singly].filter(({ projectId }) => projectId === other);
      expect(given.map(({ memory }) => memory.key)).toEqual(late);
    });

    test("takes turns between projects with different numbers of jobs, and returns each job once", async () => {
      for (let index = 0; index < 9; index++) await accept({ content: `many ${index}` });
      for (let index = 0; index < 2; index++) await accept({ content: `few ${index}` }, other);
      const jobs = await claim(10);
      const inTurns = ["many 0", "few 0", "many 1", "few 1", ...[2, 3, 4, 5, 6, 7].map((index) => `many ${index}`)];
      expect(jobs.map(({ content }) => content)).toEqual(inTurns);
      expect(new Set(jobs.map(({ lease }) => lease)).size).toBe(10);
      expect((await claim(10)).map(({ content }) => content)).toEqual(["many 8"]);
    });

    test("respects the limit of bytes, but returns at least one job", async () => {
      for (const content of ["aaaa", "bbbb", "cc", "d"]) await accept({ content });
      const take = async (contentBytes: number) => await jobStore.claim({ jobs: 9, contentBytes, leaseMs: LEASE_MS });
      expect((await take(8)).map(({ content }) => content)).toEqual(["aaaa", "bbbb"]);
      expect((await take(1)).map(({ content }) => content)).toEqual(["cc"]);
    });

    test("returns a job again after its lease has ended, and refuses the worker that had it", async () => {
      const { memory } = await accept();
      const former = await claimOne();
      clock.advance(LEASE_MS - 1);
      expect(await claim()).toEqual([]);
      clock.advance(1);
      const later = await claimOne();
      expect(later).toMatchObject({ attempt: 2, memory: { key: memory.key } });
      expect(later.lease).toBeGreaterThan(former.lease);
      expect(await jobStore.renew([former], LEASE_MS)).toEqual([]);
      await jobStore.retryLater(former, 0);
      expect(await jobStore.fail(former, "processing_error", "x")).toBe(false);
      expect(await complete(former)).toEqual([]);
      expect(await claim()).toEqual([]);
      expect(await complete(later)).toHaveLength(1);
    });

    test("skips expired memories", async () => {
      await accept({ expiresAt: clock.now() + 1 });
      clock.advance(1);
      expect(await jobStore.nextJobInMs()).toBeNull();
      expect(await claim()).toEqual([]);
    });
  });

  describe("jobs", () => {
    test("cannot be claimed again while their leases are renewed", async () => {
      await accept();
      const job = await claimOne();
      for (let turn = 0; turn < 3; turn++) {
        clock.advance(LEASE_MS - 1);
        expect(await jobStore.renew([job], LEASE_MS)).toEqual([job]);
        expect(await claim()).toEqual([]);
      }
    });

    test("can be claimed again after voidLeases, except those that wait for their next attempt", async () => {
      await accept();
      await accept();
      const [held, putOff] = await claim();
      if (held === undefined || putOff === undefined) throw new Error("two jobs were to be claimed");
      await jobStore.retryLater(putOff, LEASE_MS);
      await jobStore.voidLeases();
      expect((await claim()).map((job) => job.memory.key)).toEqual([held.memory.key]);
      expect(await complete(held)).toEqual([]);
    });

    test("can be finished after the end of the lease if nobody else claimed them", async () => {
      await accept();
      const job = await claimOne();
      clock.advance(2 * LEASE_MS);
      expect(await complete(job)).toHaveLength(1);
    });

    test("that are retried later can be claimed after the delay, and the worker that had them is refused", async () => {
      await accept();
      const job = await claimOne();
      await jobStore.retryLater(job, 5_000);
      expect(await complete(job)).toEqual([]);
      expect(await jobStore.nextJobInMs()).toBe(5_000);
      clock.advance(4_999);
      expect(await claim()).toEqual([]);
      expect(await jobStore.nextJobInMs()).toBe(1);
      clock.advance(1);
      expect(await jobStore.nextJobInMs()).toBe(0);
      expect(await claimOne()).toMatchObject({ attempt: 2, content: "some text" });
    });

    test("that are retried later without counting keep their number of attempts", async () => {
      await accept();
      for (let round = 0; round < 3; round++) {
        const job = await claimOne();
        expect(job.attempt).toBe(1);
        await jobStore.retryLater(job, 0, false);
      }
      await jobStore.retryLater(await claimOne(), 0);
      expect((await claimOne()).attempt).toBe(2);
    });

    test("that fail keep their content and store the reason", async () => {
      const { memory } = await accept();
      clock.advance(7);
      expect(await jobStore.fail(await claimOne(), "unreadable_document", "no text in it")).toBe(true);
      expect(await reread(memory)).toMatchObject({
        state: { status: "failed", error: { code: "unreadable_document", message: "no text in it" } },
        updatedAt: clock.now(),
      });
      expect((await store.waitingContents([memory.key])).size).toBe(1);
      expect(await jobStore.nextJobInMs()).toBeNull();
      expect(await keysOf({ status: "failed" })).toEqual([memory.key]);
    });

    test("that complete become visible, and their content is removed from the row", async () => {
      const expiresAt = clock.now() + 9e6;
      const { memory } = await accept({ userId: "u", expiresAt, tags: ["given"] });
      const visible = await complete(await claimOne());
      const attributes = filteredAttributesJson(await reread(memory));
      expect(visible).toEqual([
        { memoryKey: memory.key, userKey: await store.userKey(project, "u"), expiresAt, attributes },
      ]);
      expect(await store.visible(project, ALL_VISIBLE)).toEqual(visible);
      expect(await reread(memory)).toMatchObject({
        state: { status: "completed", chunkCount: 3, extraction: "local" },
        title: "Extracted",
        type: "note",
        tags: ["given"],
        language: "en",
      });
      expect((await store.waitingContents([memory.key])).size).toBe(0);
    });

    test("of excluded projects are neither claimed nor counted by nextJobInMs", async () => {
      await accept();
      expect(await jobStore.nextJobInMs({ except: [project] })).toBeNull();
      expect(await jobStore.claim({ jobs: 9, contentBytes: 9, leaseMs: LEASE_MS, except: [project] })).toEqual([]);
      expect(await jobStore.nextJobInMs({ except: ["prj_other" as ProjectId] })).toBe(0);
      const [claimed] = await jobStore.claim({
        jobs: 9,
        contentBytes: 9,
        leaseMs: LEASE_MS,
        except: ["prj_other" as ProjectId],
      });
      expect(claimed?.projectId).toBe(project);
    });

    test("with longer texts are skipped if textBytesMax is given", async () => {
      const { memory } = await accept({ content: "1234567890" });
      expect(await jobStore.nextJobInMs({ textBytesMax: 9 })).toBeNull();
      const short = { jobs: 9, contentBytes: 99, leaseMs: LEASE_MS, textBytesMax: 9 };
      expect(await jobStore.claim(short)).toEqual([]);
      const { memory: small } = await accept({ content: "123456789" });
      expect(await jobStore.nextJobInMs({ textBytesMax: 9 })).toBe(0);
      expect((await jobStore.claim(short)).map((job) => job.memory.key)).toEqual([small.key]);
      expect(await jobStore.nextJobInMs({ textBytesMax: 10 })).toBe(0);
      expect((await jobStore.claim({ ...short, textBytesMax: 10 })).map((job) => job.memory.key)).toEqual([memory.key]);
    });

    test("that are files of containers are skipped if withoutParts is given", async () => {
      const { memory: archive } = await accept(uploadDraft("archive"));
      const draft = uploadDraft("part");
      if (draft.upload?.source == null) throw new Error("an upload has a source");
      const source = { ...draft.upload.source, container: archive.id, path: "part.pdf", container_version: 1 };
      const { memory: part } = await accept({ ...draft, upload: { ...draft.upload, source } });
      const options = { jobs: 9, contentBytes: 1e9, leaseMs: LEASE_MS };
      const claimed = async (withoutParts: boolean) =>
        (await jobStore.claim({ ...options, withoutParts })).map((job) => job.memory.key);
      expect(await claimed(true)).toEqual([archive.key]);
      expect(await jobStore.nextJobInMs({ withoutParts: true })).toBe(LEASE_MS);
      expect(await jobStore.nextJobInMs()).toBe(0);
      expect(await claimed(true)).toEqual([]);
      expect(await claimed(false)).toEqual([part.key]);
    });

    test("with files name the file; title and place marks from reading it are kept for a later indexing", async () => {
      const draft = uploadDraft("f1", 7);
      const { memory } = await accept(draft);
      const job = await claimOne();
      const hash = createHash("sha256")
        .update(draft.upload?.sha256 ?? "")
        .update("application/pdf");
      expect(job).toMatchObject({
        content: "",
        upload: {
          ...{ name: "f1", bytes: 7, filename: "f1.pdf", mediaType: "application/pdf" },
          contentSha256: hash.digest("hex"),
        },
        facts: null,
      });
      const read = { contentBytes: 1_234, title: "Of the file", marks: [{ at: 0, place: { page: 1 } }] };
      await jobStore.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1, read }]);
      expect(await reread(memory)).toMatchObject({ contentBytes: 1_234, source: { filename: "f1.pdf", bytes: 7 } });
      await jobStore.reopen([memory.key]);
      const { title, marks } = read;
      expect(await claimOne()).toMatchObject({ content: null, upload: null, facts: { title, marks } });
    });

    test("with files are skipped by size only if the file is plain text", async () => {
      await accept(uploadDraft("f1", 100, "text/plain"));
      await accept(uploadDraft("f2", 100, "application/json"));
      const { memory } = await accept(uploadDraft("f3", 100));
      const short = { jobs: 9, contentBytes: 1e9, leaseMs: LEASE_MS, textBytesMax: 99 };
      expect((await jobStore.claim(short)).map((job) => job.memory.key)).toEqual([memory.key]);
      expect(await jobStore.nextJobInMs({ textBytesMax: 99 })).toBe(LEASE_MS);
      expect(await jobStore.claim({ ...short, textBytesMax: 100 })).toHaveLength(2);
    });

    test("store the source of the attributes: the caller if all were given, else the extraction", async () => {
      const extractions = await inTurn(
        ["llm", "local"] as const,
        async (extractedBy) =>
          await inTurn([{}, { title: "t", type: "t", tags: [], language: "en" }], async (given) => {
            const { memory } = await accept(given);
            await jobStore.complete([{ job: await claimOne(), extracted: EXTRACTED, extractedBy, chunkCount: 1 }]);
            const { state } = await reread(memory);
            return state.status === "completed" ? state.extraction : null;
          }),
      );
      expect(extractions.flat()).toEqual(["llm", "caller", "local", "caller"]);
    });

    test("of one call complete independently", async () => {
      const [kept, gone] = [(await accept()).memory, (await accept()).memory];
      const jobs = await claim();
      await store.remove(project, gone.id);
      const visible = await jobStore.complete(
        jobs.map((job) => ({ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 })),
      );
      expect(visible.map(({ memoryKey }) => memoryKey)).toEqual([kept.key]);
      expect(
        await jobStore.complete(
          jobs.map((job) => ({ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 })),
        ),
      ).toEqual([]);
    });

    test("are claimed again when they are restarted, and the earlier claim completes nothing", async () => {
      const done = await completed();
      const { memory } = await accept({ content: "restarted" });
      const first = await claimOne();
      await jobStore.restart([memory.key, done.key, 4_711n as MemoryKey]);
      await complete(first);
      expect((await reread(memory)).state.status).toBe("processing");
      expect((await reread(done)).version).toBe(done.version);
      const again = await claimOne();
      expect(again).toMatchObject({ content: "restarted", attempt: 1, memory: { key: memory.key } });
      expect(again.memory.version).toBe(first.memory.version + 1);
      await complete(again);
      expect((await reread(memory)).state.status).toBe("completed");

      await jobStore.reopen([memory.key]);
      await jobStore.restart([memory.key]);
      expect(await claimOne()).toMatchObject({ content: null, isReindexed: true });
    });

    test("exist again for reopened memories, without content", async () => {
      const memory = await completed({ title: "given" });
      const failed = (await accept({ content: "fails" })).memory;
      await jobStore.fail(await claimOne(), "processing_error", "x");
      await jobStore.reopen([memory.key, failed.key, 4_711n as MemoryKey]);
      expect(await store.visible(project, ALL_VISIBLE)).toEqual([]);
      const jobs = await claim();
      expect(jobs).toMatchObject([{ content: null, attempt: 1, memory: { key: memory.key } }]);
      for (const job of jobs) await complete(job);
      expect(await reread(memory)).toMatchObject({ title: "given", state: { status: "completed" } });
    });
  });

  test("a reopened memory keeps its attributes and times, and no event tells of it; with a new content it is new", async () => {
    const hook = await stores.webhooks.create(project, {
      ...{ url: "https://receiver.test", events: ["memory.completed"], description: null, isEnabled: true },
    });
    const events = async () =>
      (await stores.webhooks.deliveries(project, hook.webhook.id, { limit: 100 })).items.length;
    const memory = await completed();
    const before = await reread(memory);
    const eventsBefore = await events();
    const finishWith = async (title: string) => {
      const job = await claimOne();
      const extracted = { ...EXTRACTED, title, tags: [title] };
      await jobStore.complete([{ job, extracted, extractedBy: "llm", chunkCount: 3 }]);
      return job;
    };

    clock.advance(5_000);
    await jobStore.reopen([memory.key]);
    expect((await reread(memory)).updatedAt).toBe(before.updatedAt);
    expect((await finishWith("another")).isReindexed).toBeTrue();
    const state = { ...before.state, chunkCount: 3 };
    expect(await reread(memory)).toEqual({ ...before, version: before.version + 1, state } as typeof before);
    expect(await events()).toBe(eventsBefore);

    await jobStore.reopen([memory.key]);
    await store.change(project, memory.id, { content: "another content" });
    expect((await finishWith("another")).isReindexed).toBeFalse();
    expect(await reread(memory)).toMatchObject({ title: "another", updatedAt: clock.now() });
    expect(await events()).toBe(eventsBefore + 1);
  });

  test("reserveChunkKeys returns ranges above 0 that never overlap", async () => {
    const first = await jobStore.reserveChunkKeys(5);
    expect(first).toBeGreaterThan(0n);
    expect(await jobStore.reserveChunkKeys(0)).toBe(first + 5n);
    expect(await jobStore.reserveChunkKeys(1)).toBe(first + 5n);
    expect(await jobStore.reserveChunkKeys(1)).toBe(first + 6n);
    expect(await messageOf(async () => await jobStore.reserveChunkKeys(-1))).toContain("bug in Mneme");
  });
});
