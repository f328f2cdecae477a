// Contract of SharedIndex (src/ports/shared-index.ts). Every implementation must pass it; `open` creates the one to
// test, with the stores whose changes it numbers.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChunkKey, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { systemClock } from "../../src/kit/clock.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { SharedIndex, SharedMemory } from "../../src/ports/shared-index.ts";
import type { TextArchive } from "../../src/ports/text-archive.ts";
import type { Stores, Transactions } from "../../src/ports/transactions.ts";
import { seeded } from "../support/seeded.ts";
import { addProject } from "./stores.ts";

const DIMENSIONS = 8;
const LEASE = { jobs: 10, contentBytes: 1e6, leaseMs: 60_000 };
const HOUR_MS = 60 * 60_000;
const UNKNOWN = "prj_00000000000000000000000000" as ProjectId;

/** Empty stores with what several nodes share of their indexes. */
export interface OpenedShared extends Stores {
  readonly transactions: Transactions;
  readonly shared: SharedIndex;
  /** The texts of published memories. */
  readonly texts: TextArchive;
  /** Makes the notes of changes up to this number older. */
  age(projectId: ProjectId, sequence: number, ms: number): Eventually<void>;
  /** Number of rows that are stored of texts and publications. */
  size(): Eventually<number>;
  close(): Eventually<void>;
}

/** Opens empty stores. */
export type OpenShared = (clock: Clock) => Eventually<OpenedShared>;

/** Runs the contract against what `open` makes. */
export function sharedIndexContract(implementation: string, open: OpenShared): void {
  describe(`${implementation} as SharedIndex`, () => {
    let stores: OpenedShared;
    let project: ProjectId;
    beforeEach(async () => {
      stores = await open(systemClock);
      project = await addProject(stores);
    });
    afterEach(() => stores.close());

    const accept = async (content: string): Promise<Memory> => {
      const [result] = await stores.memories.accept(project, [{ content }]);
      if (result === undefined || !("memory" in result)) throw new Error("the draft was refused");
      return result.memory;
    };
    const claimed = async (): Promise<Job> => {
      const [job] = await stores.jobs.claim(LEASE);
      if (job === undefined) throw new Error("there is no job");
      return job;
    };
    const extracted = { title: "A title", type: "note", tags: ["tag"], language: "en" } as const;
    const complete = (job: Job, chunkCount = 1) =>
      stores.jobs.complete([{ job, extracted, extractedBy: "local", chunkCount }]);
    const publication = (job: Job, first: number, chunkCount = 1): SharedMemory => {
      const random = seeded(first);
      const vectors = Float32Array.from({ length: chunkCount * DIMENSIONS }, () => random() * 2 - 1);
      return {
        ...{ projectId: project, memoryKey: job.memory.key, version: job.memory.version, lease: job.lease },
        content: `content ${first}`,
        chunks: Array.from({ length: chunkCount }, (_, ordinal) => {
          return { chunkKey: BigInt(first + ordinal) as ChunkKey, ordinal, start: 0, end: 1, headings: [] };
        }),
        language: "en",
        entities: { title: "A title", phrases: ["\u0000 phrase"] },
        vectors: [{ fingerprint: "model", vectors }],
        texts: (from, end) =>
          Array.from({ length: end - from }, (_, at) => {
            return {
              own: `own ${from + at}`,
              context: at % 2 ? null : "context",
              passage: "p\u0000",
              place: `${from + at}`,
            };
          }),
      };
    };
    const changed = async (after: number): Promise<readonly MemoryKey[]> =>
      (await stores.shared.changesAfter(project, after)).memoryKeys;
    const now = async (): Promise<number> => (await stores.shared.sequence(project)) ?? -1;

    test("every change that searches can see is noted once, in order, and nothing else", async () => {
      const { key, id } = await accept("text");
      expect(await now()).toBe(0);
      const job = await claimed();
      await stores.jobs.renew([job], 60_000);
      expect(await now()).toBe(0);
      await stores.shared.publish([publication(job, 1)]);
      expect(await now()).toBe(0);
      await complete(job);
      expect([await now(), await changed(0)]).toEqual([1, [key]]);
      await stores.memories.change(project, id, { tags: ["other"] });
      expect(await now()).toBe(2);
      await stores.memories.change(project, id, { content: "another text" });
      const rewritten = await now();
      expect(rewritten).toBeGreaterThan(2);
      expect(await changed(2)).toEqual([key]);
      await stores.jobs.fail(await claimed(), "processing_error", "why");
      expect(await now()).toBe(rewritten);
      await stores.memories.remove(project, id);
      expect(await changed(rewritten)).toEqual([key]);
      const removed = await now();
      await stores.retirement.markRetracted([key]);
      expect(await now()).toBe(removed);
      expect((await stores.shared.changesAfter(project, removed)).memoryKeys).toEqual([]);
    });

    test("the completed memories are those neither deleted nor waiting, in the order of their keys", async () => {
      const listed = async (id: ProjectId) => (await Array.fromAsync(stores.shared.completed(id))).flat();
      expect(await listed(project)).toEqual([]);
      const memories = [await accept("one"), await accept("two"), await accept("three")];
      const jobs = await stores.jobs.claim(LEASE);
      await stores.shared.publish(jobs.map((job, at) => publication(job, 10 * (at + 1))));
      for (const job of jobs) await complete(job);
      await accept("waiting");
      const keys = memories.map(({ key }) => key).sort((a, b) => Number(a - b));
      expect(await listed(project)).toEqual(keys);
      expect(await listed(await addProject(stores))).toEqual([]);
      await stores.memories.remove(project, memories[1]?.id as Memory["id"]);
      expect(await listed(project)).toEqual(keys.filter((key) => key !== memories[1]?.key));
    });

    test("a publication is replaced and noted only if it is still that of a completed memory", async () => {
      const [one, two] = [await accept("one"), await accept("two")];
      const jobs = await stores.jobs.claim(LEASE);
      await stores.shared.publish(jobs.map((job, at) => publication(job, 10 * (at + 1), 2)));
      await complete(jobs[0] as Job, 2);
      const before = await now();
      const replacing = (job: Job | undefined, replaces: number, first: number) => ({
        ...publication(job as Job, first, 2),
        replaces: BigInt(replaces) as ChunkKey,
      });
      // the second memory is not completed, and the first one has another publication
      const refused = await stores.shared.replace(project, [replacing(jobs[0], 11, 100), replacing(jobs[1], 20, 110)]);
      expect([...refused]).toEqual([]);
      expect(await now()).toBe(before);
      const replaced = await stores.shared.replace(project, [replacing(jobs[0], 10, 100), replacing(jobs[1], 20, 110)]);
      expect([...replaced]).toEqual([one.key]);
      expect(await changed(before)).toEqual([one.key]);
      const states = await stores.shared.states(project, [one.key, two.key]);
      expect(states.map(({ firstChunkKey }) => Number(firstChunkKey)).sort()).toEqual([100, 20]);
      const wanted = [{ memoryKey: one.key, firstChunkKey: 100n as ChunkKey, chunkCount: 2 }];
      const [loaded] = await stores.shared.publications(wanted, ["model"]);
      expect(loaded?.vectors[0]?.vectors).toHaveLength(2 * DIMENSIONS);
      expect((await stores.texts.stored([one.key])).get(one.key)?.chunks.map(({ chunkKey }) => chunkKey)).toEqual([
        100n as ChunkKey,
        101n as ChunkKey,
      ]);
    });

    test("a transaction that is undone leaves no note, and one with many memories has one number", async () => {
      const memories = [await accept("one"), await accept("two"), await accept("three")];
      const jobs = await stores.jobs.claim(LEASE);
      await stores.jobs.complete(jobs.map((job) => ({ job, extracted, extractedBy: "local", chunkCount: 0 })));
      const before = await now();
      const failing = stores.transactions.run(async (tx) => {
        for (const { id } of memories) await tx.memories.remove(project, id);
        throw new Error("undone");
      });
      await expect(failing).rejects.toThrow("undone");
      expect(await now()).toBe(before);
      await stores.jobs.reopen(memories.map(({ key }) => key));
      expect(await now()).toBe(before + 1);
      expect(new Set(await changed(before))).toEqual(new Set(memories.map(({ key }) => key)));
    });

    test("removed notes are noticed", async () => {
      for (const text of ["one", "two", "three"]) {
        await accept(text);
        await complete(await claimed(), 0);
      }
      expect((await stores.shared.changesAfter(project, 1)).isIncomplete).toBe(false);
      await stores.age(project, 2, 25 * HOUR_MS);
      await stores.shared.prune();
      expect((await stores.shared.changesAfter(project, 1)).isIncomplete).toBe(true);
      expect((await stores.shared.changesAfter(project, 2)).isIncomplete).toBe(false);
    });

    test("a publication of 600 chunks is loaded as it was stored, with vectors rounded to bf16", async () => {
      const { key: memoryKey } = await accept("text");
      const job = await claimed();
      const memory = publication(job, 1_000, 600);
      expect(await stores.shared.publish([memory])).toEqual(new Set([memoryKey]));
      const wanted = { memoryKey, firstChunkKey: 1_000n as ChunkKey, chunkCount: 600 };
      const [loaded] = await stores.shared.publications([wanted], ["other model", "model"]);
      expect(loaded).toMatchObject({ ...wanted, language: "en", entities: memory.entities });
      expect([0, 1, 2].flatMap((part) => loaded?.part(part) ?? [])).toEqual([...memory.texts(0, 600)]);
      expect(loaded?.vectors.map(({ fingerprint }) => fingerprint)).toEqual(["model"]);
      const [given, found] = [memory.vectors[0]?.vectors, loaded?.vectors[0]?.vectors];
      expect(found?.length).toBe(600 * DIMENSIONS);
      for (const [at, value] of (given ?? []).entries()) {
        expect(Math.abs(value - (found?.[at] ?? 9))).toBeLessThanOrEqual(Math.abs(value) / 256);
      }
      // what was loaded is stored again without a change
      const again = { ...memory, vectors: [{ fingerprint: "model", vectors: found ?? new Float32Array(0) }] };
      await stores.shared.publish([again]);
      const [second] = await stores.shared.publications([wanted], ["model"]);
      expect(second?.vectors[0]?.vectors).toEqual(found ?? new Float32Array(0));
      const other = { ...wanted, firstChunkKey: 999n as ChunkKey };
      expect(await stores.shared.publications([other], ["model"])).toEqual([]);
    });

    test("a job that lost its lease, its version or its memory publishes nothing", async () => {
      const { id, key } = await accept("text");
      const first = await claimed();
      await stores.jobs.retryLater(first, 0);
      const second = await claimed();
      expect(await stores.shared.publish([publication(first, 1)])).toEqual(new Set());
      expect(await stores.shared.publish([publication(second, 10)])).toEqual(new Set([key]));
      expect(await stores.shared.publish([publication(first, 20)])).toEqual(new Set());
      await complete(second);
      expect(await stores.shared.publish([publication(second, 30)])).toEqual(new Set());
      const [state] = await stores.shared.states(project, [key]);
      expect(state).toMatchObject({ memoryKey: key, isDeleted: false, chunkCount: 1, firstChunkKey: 10n });
      expect(state?.visible?.memoryKey).toBe(key);

      await stores.memories.change(project, id, { content: "another text" });
      const third = await claimed();
      await stores.memories.change(project, id, { content: "a third text" });
      expect(await stores.shared.publish([publication(third, 40)])).toEqual(new Set());
      await stores.memories.remove(project, id, { purges: true });
      expect(await stores.shared.publish([publication(third, 50)])).toEqual(new Set());
      expect((await stores.shared.states(project, [key]))[0]).toMatchObject({ visible: null, isDeleted: true });
      await stores.texts.remove([key]);
      expect(await stores.size()).toBe(0);
    });

    test("vectors of a second model are added to the publication that they belong to, and dropped with their model", async () => {
      const { key: memoryKey } = await accept("text");
      await stores.shared.publish([publication(await claimed(), 7, 2)]);
      const wanted = { memoryKey, firstChunkKey: 7n as ChunkKey, chunkCount: 2 };
      const vectors = { fingerprint: "second", vectors: new Float32Array(8).fill(0.5) };
      await stores.shared.addVectors([{ ...wanted, firstChunkKey: 6n as ChunkKey, vectors }]);
      expect((await stores.shared.publications([wanted], ["second"]))[0]?.vectors).toEqual([]);
      await stores.shared.addVectors([{ ...wanted, vectors }]);
      expect((await stores.shared.publications([wanted], ["second"]))[0]?.vectors).toEqual([vectors]);
      await stores.shared.keepModels(project, ["model"]);
      const [kept] = await stores.shared.publications([wanted], ["model", "second"]);
      expect(kept?.vectors.map(({ fingerprint }) => fingerprint)).toEqual(["model"]);
    });

    test("the number of a project is null if it does not exist or was removed", async () => {
      const other = await addProject(stores);
      await accept("one");
      await complete(await claimed(), 0);
      expect(await stores.shared.sequences([project, UNKNOWN, other])).toEqual(
        new Map([
          [project, 1],
          [other, 0],
        ]),
      );
      expect(await stores.shared.sequence(UNKNOWN)).toBeNull();
      await stores.accounts.removeProject(project);
      expect(await stores.shared.sequence(project)).toBeNull();
      expect(await stores.shared.sequences([project])).toEqual(new Map());
    });

    test("a change of the live model is noted as a change of memory 0", async () => {
      await stores.projectModels.observe(project, "first", null);
      expect(await now()).toBe(0);
      await stores.projectModels.observe(project, "second", "first");
      expect([await now(), await changed(0)]).toEqual([1, [0n as MemoryKey]]);
    });

    test("a publication is announced while its memory is processed, and not any more when it is done or outdated", async () => {
      const { id, key: memoryKey } = await accept("text");
      const comingOf = async () => (await stores.shared.states(project, [memoryKey]))[0]?.coming;
      const job = await claimed();
      expect(await comingOf()).toBeNull();
      await stores.shared.publish([publication(job, 1, 600)]);
      const coming = { memoryKey, firstChunkKey: 1n as ChunkKey, chunkCount: 600 };
      expect([await comingOf(), await now()]).toEqual([coming, 0]);
      await stores.shared.announce(project, memoryKey);
      expect([await now(), await changed(0)]).toEqual([1, [memoryKey]]);
      expect((await stores.shared.publications([coming], ["model"]))[0]?.chunkCount).toBe(600);
      expect((await stores.shared.states(project, [memoryKey]))[0]?.visible).toBeNull();

      await complete(job, 600);
      expect([await comingOf(), await now()]).toEqual([null, 2]);
      await stores.memories.change(project, id, { content: "another text" });
      expect(await comingOf()).toBeNull(); // the publication is that of the text before
      await stores.shared.publish([publication(await claimed(), 1_000, 1)]);
      expect(await comingOf()).toEqual({ memoryKey, firstChunkKey: 1_000n as ChunkKey, chunkCount: 1 });
      await stores.memories.remove(project, id);
      expect(await comingOf()).toBeNull();
    });

    test("nothing is announced of a memory or project that does not exist, and no chunk of a memory without chunks", async () => {
      const { key } = await accept("text");
      await stores.shared.publish([publication(await claimed(), 1, 0)]);
      expect((await stores.shared.states(project, [key]))[0]).toMatchObject({ coming: null, firstChunkKey: null });
      await stores.shared.announce(project, 999n as MemoryKey);
      await stores.shared.announce(UNKNOWN, key);
      expect(await now()).toBe(0);
      await stores.accounts.removeProject(project);
      await stores.shared.announce(project, key);
      expect((await stores.shared.changesAfter(project, 0)).memoryKeys).toEqual([]);
    });
  });
}
