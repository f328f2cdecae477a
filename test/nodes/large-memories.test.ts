// A large memory that one node publishes in parts: other nodes load it before it is completed, and what they loaded is
// given up when something else becomes of the memory.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { vectorSource } from "../../bench/lib/drawn-vectors.ts";
import { Quarantine } from "../../src/adapters/embedded/quarantine.ts";
import { FollowedChunkIndex } from "../../src/adapters/embedded/shared/followed-index.ts";
import { visiblePages } from "../../src/compose/storage.ts";
import type { Chunk } from "../../src/domain/chunk.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { Publication } from "../../src/ports/chunk-index.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { SharedIndex } from "../../src/ports/shared-index.ts";
import type { OpenedShared, OpenShared } from "../contract/shared-index.ts";
import { addProject } from "../contract/stores.ts";
import { openInMemoryShared } from "../in-memory/shared-index.ts";
import { openPostgresShared, withPostgres } from "../stores/open-postgres.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { RUNS_ALL } from "../support/extent.ts";
import { POSTGRES_MISSING } from "../support/postgres.ts";
import { searchText } from "../support/search-legs.ts";
import { until } from "../support/until.ts";

const MODEL = { fingerprint: "model", dimensions: 8 };
const LEASE = { jobs: 10, contentBytes: 1e9, leaseMs: 60_000 };
/** Several spans of parts, and a part that is not full. */
const CHUNKS = 5_000;

if (RUNS_ALL || POSTGRES_MISSING !== null) largeMemories("In-memory", openInMemoryShared);
withPostgres("a large memory", () => largeMemories("PostgreSQL", openPostgresShared));

function largeMemories(implementation: string, open: OpenShared): void {
  describe(`a large memory on two nodes, ${implementation}`, () => {
    let stores: OpenedShared;
    let project: ProjectId;
    let folder: ReturnType<typeof temporaryFolder>;
    let nodes: FollowedChunkIndex[];
    /** Number of publications that the second node has read. */
    let read: number;
    /** While it is set, the second node gets publications only after this. */
    let held: Promise<void> | null;

    const start = (name: string, shared: SharedIndex = stores.shared): FollowedChunkIndex => {
      const directory = join(folder.path, name);
      mkdirSync(directory, { recursive: true });
      const node = new FollowedChunkIndex({
        ...{ directory, archive: stores.texts, log: createLog("silent"), models: () => [MODEL] },
        ...{ shared, clock: systemClock, memoryMax: null },
        quarantine: new Quarantine(join(folder.path, "quarantine"), systemClock),
        reserveChunkKeys: (count) => stores.jobs.reserveChunkKeys(count),
        completedOf: (id) => visiblePages(id, stores.memories),
        reopen: async (keys) => stores.jobs.reopen(keys),
        modelOf: async () => ({ live: MODEL, isChanging: false }),
      });
      nodes.push(node);
      return node;
    };
    const startSecond = () =>
      start("second", {
        ...withMethods(stores.shared),
        publications: async (wanted, models) => {
          read += wanted.length;
          if (wanted.length > 0) await held;
          return stores.shared.publications(wanted, models);
        },
      });

    beforeEach(async () => {
      [nodes, read, held] = [[], 0, null];
      folder = temporaryFolder();
      stores = await open(systemClock);
      project = await addProject(stores);
    });
    afterEach(async () => {
      for (const node of nodes) await node.close();
      await stores.close();
      folder.remove();
    });

    const accepted = async (content = "text"): Promise<Job> => {
      const [result] = await stores.memories.accept(project, [{ content }]);
      if (result === undefined || !("memory" in result)) throw new Error("the draft was refused");
      return claimed(result.memory.key);
    };
    const claimed = async (memoryKey: MemoryKey): Promise<Job> => {
      const job = (await stores.jobs.claim(LEASE)).find(({ memory }) => memory.key === memoryKey);
      if (job === undefined) throw new Error("there is no job");
      return job;
    };
    const complete = (job: Job, chunkCount = CHUNKS) =>
      stores.jobs.complete([
        { job, extracted: { title: null, type: null, tags: [], language: "en" }, extractedBy: "local", chunkCount },
      ]);
    /** Publishes all parts on a node, without completing the memory. */
    const publish = async (node: FollowedChunkIndex, job: Job, word = "oar", chunkCount = CHUNKS) => {
      using index = await node.project(project);
      for await (const _ of index.publishInParts(publicationOf(job, word, chunkCount))) await systemClock.sleep(0);
    };
    /** Memories with chunks that have a word, on a node that has every change. */
    const found = async (node: FollowedChunkIndex, word: string): Promise<readonly bigint[]> => {
      using index = await node.current(project);
      const hits = await searchText(index, word, await index.admit(null, 0), 10);
      return [...new Set(hits.memoryKeys)];
    };
    /** Number of chunks in the index of a node with vectors, postings and entities, whatever may see them. */
    const chunksOn = async (node: FollowedChunkIndex): Promise<readonly number[]> => {
      const none = (async function* () {})();
      const { vectors, postings, entityRecords } = await node.verify(project, none);
      return [vectors, postings, entityRecords];
    };
    const untilHas = (node: FollowedChunkIndex, chunks: number) =>
      until(`a node has ${chunks} chunks`, async () => (await chunksOn(node)).every((count) => count === chunks));

    test("is loaded by the other node before it is completed, and found there by the next search", async () => {
      const [first, second] = [start("first"), startSecond()];
      expect(await found(second, "oar")).toEqual([]);
      const job = await accepted();
      await publish(first, job);
      await untilHas(second, CHUNKS);
      expect(await found(second, "oar")).toEqual([]);
      expect(read).toBe(1);
      await complete(job);
      expect(await found(second, "oar")).toEqual([job.memory.key]);
      expect(await found(first, "oar")).toEqual([job.memory.key]);
      expect(read).toBe(1); // nothing was left to load
      expect(await comparedIndexes(first, second, job.memory.key)).toEqual([]);
    });

    test("is found at once although it is completed while the other node loads it", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      const release = Promise.withResolvers<void>();
      held = release.promise;
      const job = await accepted();
      await publish(first, job);
      await until("the other node loads it", () => read === 1);
      await complete(job);
      const finding = found(second, "oar");
      release.resolve();
      expect(await finding).toEqual([job.memory.key]);
      expect(read).toBe(1);
      expect(await chunksOn(second)).toEqual([CHUNKS, CHUNKS, CHUNKS]);
    });

    test("does not hold up other memories while it is loaded", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      const release = Promise.withResolvers<void>();
      held = release.promise;
      await publish(first, await accepted());
      await until("the other node loads it", () => read === 1);
      const deleted = await accepted("a short text");
      await complete(deleted, 0);
      await stores.memories.remove(project, deleted.memory.id);
      expect(await found(second, "oar")).toEqual([]);
      release.resolve();
      await untilHas(second, CHUNKS);
    });

    test("is removed from the other node if it is changed, deleted or fails instead of being completed", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      const outcomes: readonly ((job: Job) => unknown)[] = [
        ({ memory: { id } }) => stores.memories.change(project, id, { content: "another text" }),
        ({ memory: { id } }) => stores.memories.remove(project, id),
        (job) => stores.jobs.fail(job, "processing_error", "why"),
      ];
      for (const become of outcomes) {
        const job = await accepted();
        await publish(first, job);
        await untilHas(second, CHUNKS);
        await become(job);
        await complete(await accepted("an empty text"), 0); // failures are not noted, other changes are
        expect(await found(second, "oar")).toEqual([]);
        expect(await chunksOn(second)).toEqual([0, 0, 0]);
      }
    });

    test("that is published without chunks after it was changed is not found any more", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      for (const isCompletedBefore of [false, true]) {
        const job = await accepted();
        await publish(first, job);
        if (isCompletedBefore) await complete(job);
        else await untilHas(second, CHUNKS);
        await found(second, "oar");
        await stores.memories.change(project, job.memory.id, { content: "another text" });
        const empty = await claimed(job.memory.key);
        using index = await first.project(project);
        await index.publish([publicationOf(empty, "oar", 0)]);
        await complete(empty, 0);
        for (const node of [first, second]) {
          expect(await found(node, "oar")).toEqual([]);
          expect(await chunksOn(node)).toEqual([0, 0, 0]);
        }
      }
    });

    test("of a node that lost its lease is replaced by that of the next one, also while it is being loaded", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      const release = Promise.withResolvers<void>();
      held = release.promise;
      const lost = await accepted();
      await publish(first, lost);
      await until("the other node loads it", () => read === 1);
      await stores.jobs.retryLater(lost, 0);
      const job = await claimed(lost.memory.key);
      await publish(start("third"), job, "sail");
      release.resolve();
      await complete(job);
      for (const node of nodes) {
        expect(await found(node, "sail")).toEqual([job.memory.key]);
        expect(await found(node, "oar")).toEqual([]);
        expect(await chunksOn(node)).toEqual([CHUNKS, CHUNKS, CHUNKS]);
      }
    });

    test("that both nodes publish, because one of them lost its lease meanwhile, is whole on both", async () => {
      const [first, second] = [start("first"), start("second")];
      await found(second, "oar");
      const lost = await accepted();
      using index = await first.project(project);
      const parts = index.publishInParts(publicationOf(lost, "oar", CHUNKS))[Symbol.asyncIterator]();
      for (let part = 0; part < 3; part++) await parts.next();
      await stores.jobs.retryLater(lost, 0);
      const job = await claimed(lost.memory.key);
      await publish(second, job, "sail");
      await untilHas(first, CHUNKS); // it follows the other node
      await expect(parts.next()).rejects.toThrow("another node has taken over");
      await index.retract([lost.memory.key]); // as the publisher does
      await complete(job);
      for (const node of [first, second]) {
        expect(await found(node, "sail")).toEqual([job.memory.key]);
        expect(await found(node, "oar")).toEqual([]);
        expect(await chunksOn(node)).toEqual([CHUNKS, CHUNKS, CHUNKS]);
      }
    });

    test("is loaded later by a node that stops while it loads it", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      const release = Promise.withResolvers<void>();
      held = release.promise;
      const job = await accepted();
      await publish(first, job);
      await until("the other node loads it", () => read === 1);
      const closing = second.close();
      release.resolve();
      await closing;
      nodes.splice(nodes.indexOf(second), 1);
      held = null;
      const again = startSecond();
      expect(await found(again, "oar")).toEqual([]);
      expect(await chunksOn(again)).toEqual([0, 0, 0]);
      await complete(job);
      expect(await found(again, "oar")).toEqual([job.memory.key]);
      expect(await chunksOn(again)).toEqual([CHUNKS, CHUNKS, CHUNKS]);
    });

    test("is not loaded ahead if its publication cannot be read, and loaded when it is completed", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      const refuse = Promise.withResolvers<void>();
      held = refuse.promise;
      const job = await accepted();
      await publish(first, job);
      await until("the other node tries it", () => read > 0);
      held = null;
      refuse.reject(new Error("the database is gone"));
      await complete(job);
      expect(await found(second, "oar")).toEqual([job.memory.key]);
      expect(await chunksOn(second)).toEqual([CHUNKS, CHUNKS, CHUNKS]);
    });

    test("with 512 chunks is loaded when it is completed", async () => {
      const [first, second] = [start("first"), startSecond()];
      await found(second, "oar");
      const job = await accepted();
      await publish(first, job, "oar", 512);
      await found(second, "oar");
      expect(read).toBe(0);
      await complete(job, 512);
      expect(await found(second, "oar")).toEqual([job.memory.key]);
      expect(read).toBe(1);
    });

    /** The words and vectors by which two nodes differ. */
    async function comparedIndexes(one: FollowedChunkIndex, other: FollowedChunkIndex, memoryKey: MemoryKey) {
      const { chunks = [] } = (await stores.texts.stored([memoryKey])).get(memoryKey) ?? {};
      const chunkKeys = BigUint64Array.from(chunks, ({ chunkKey }) => chunkKey);
      const memoryKeys = new BigUint64Array(chunkKeys.length).fill(memoryKey);
      const contents = await Promise.all(
        [one, other].map(async (node) => {
          using index = await node.current(project);
          const vectors = await index.storedVectors(MODEL.fingerprint, { chunkKeys, memoryKeys });
          const passages = await index.passages(chunkKeys);
          const matching = await searchText(index, "oar n4321", await index.admit(null, 0), 2_000);
          const scoreOf = new Map(Array.from(matching.chunkKeys, (chunkKey, at) => [chunkKey, matching.scores[at]]));
          return chunks.map((_, at) => ({
            vector: [...vectors.subarray(at * MODEL.dimensions, (at + 1) * MODEL.dimensions)].join(" "),
            passage: passages[at]?.text,
            score: scoreOf.get(chunkKeys[at] ?? 0n),
          }));
        }),
      );
      return (contents[0] ?? []).filter((chunk, at) => !Bun.deepEquals(chunk, contents[1]?.[at]));
    }
  });
}

/** An object with the same methods, which can be replaced. */
function withMethods(shared: SharedIndex): SharedIndex {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(shared)) as (keyof SharedIndex)[];
  return Object.fromEntries(
    names.map((name) => [name, (shared[name] as () => unknown).bind?.(shared)]),
  ) as unknown as SharedIndex;
}

function publicationOf(job: Job, word: string, chunkCount: number): Publication {
  const passage = ({ ordinal }: Pick<Chunk, "ordinal">) => `The ${word} n${ordinal} is in the boat house.`;
  const vectors = vectorSource(chunkCount, MODEL.dimensions)(chunkCount);
  return {
    ...{ memoryKey: job.memory.key, version: job.memory.version, lease: job.lease, content: job.content ?? "" },
    chunks: Array.from({ length: chunkCount }, (_, ordinal): Chunk => {
      return { ordinal, start: 0, end: 1, tokens: 8, headings: [] };
    }),
    texts: { passage, embeddedText: passage, searchText: passage, contextText: passage },
    vectors: [{ fingerprint: MODEL.fingerprint, vectors }],
    ...{ language: "en", entities: { title: "A title", phrases: [] } },
  };
}
