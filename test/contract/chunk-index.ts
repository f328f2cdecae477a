// Contract of ChunkIndex (src/ports/chunk-index.ts). Every implementation must pass it; `open` creates the one to test.
// The port does not promise how good scores are: they are compared with one another and with plain arithmetic.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Chunk, ChunkPlace } from "../../src/domain/chunk.ts";
import {
  type FilteredAttributes,
  filteredAttributesJson,
  matchesFilter,
  parseFilter,
} from "../../src/domain/filter.ts";
import type { MemoryKey, ProjectId, UserKey } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import {
  type AdmissibleSet,
  type ChunkIndex,
  type IndexModel,
  type IndexVerification,
  type ModelVectors,
  OtherModel,
  type ProjectIndex,
  type Publication,
  type Rebuild,
  type Recall,
  type VisibleMemory,
} from "../../src/ports/chunk-index.ts";
import { anyFilter, anyMemory, Chance, SCALARS } from "../support/any-filter.ts";
import { type LegHits, NO_SEEDS, searchGraph, searchText, searchVectors } from "../support/search-legs.ts";
import { seeded } from "../support/seeded.ts";
import { until } from "../support/until.ts";
import { codeOf, errorOf, inTurn } from "./stores.ts";

/** Number of components of every vector in these tests. */
export const DIMENSIONS = 24;
/** The models that are installed; new projects have the first. */
export const MODEL: IndexModel = { fingerprint: "model-a", dimensions: DIMENSIONS };
/** The other installed model. Its vectors have another length. */
export const OTHER_MODEL: IndexModel = { fingerprint: "model-b", dimensions: 16 };
/** Maximum difference between a score and the exact cosine: an index may store vectors rounded to bytes. */
const SCORE_TOLERANCE = 0.03;
const PROJECT = "prj_00000000000000000000000001" as ProjectId;
const OTHER = "prj_00000000000000000000000002" as ProjectId;
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_126);

/** An open index that can be closed and opened again with its stored data. */
export interface OpenedIndex {
  readonly index: ChunkIndex;
  /** Closes the index and opens it again. */
  reopen(): Promise<ChunkIndex>;
  /** Closes the index and removes what it stored. */
  remove(): Promise<void>;
}

/** Opens an empty index of vectors with DIMENSIONS components. */
export type OpenIndex = () => Promise<OpenedIndex>;

/** Runs the contract against the indexes that `open` makes. */
export function chunkIndexContract(implementation: string, open: OpenIndex): void {
  describe(`${implementation} as ChunkIndex`, () => {
    let opened: OpenedIndex;
    let index: ChunkIndex;
    let project: ProjectIndex;

    beforeEach(async () => {
      opened = await open();
      ({ index } = opened);
      project = await index.project(PROJECT);
    });
    afterEach(() => opened.remove());

    /** Publishes memories, by default with one passage each, and shows them. */
    const publish = async (memories: Readonly<Record<number, string | readonly string[]>>, to = project) => {
      const publications = Object.entries(memories).map(([key, passages]) => publication(Number(key), passages));
      await to.publish(publications);
      await to.show(publications.map(({ memoryKey }) => visible(memoryKey)));
    };
    /**
     * The memories that vector search finds. Checks that full-text search, for a word that all passages have, finds the
     * same ones.
     */
    const found = async (within?: AdmissibleSet, of = project): Promise<number[]> => {
      const set = within ?? (await of.admit(null, 1));
      const near = memoriesOf(await searchVectors(of, MODEL.fingerprint, vectorOf(999), set, 100));
      const matching = memoriesOf(await searchText(of, "passage", set, 100));
      expect(matching).toEqual(near);
      return near;
    };
    const all = () => project.admit(null, 1);

    describe("visibility", () => {
      test("a published memory is found once it is shown, and until it is hidden; the last call counts", async () => {
        await project.publish([publication(1, "passage")]);
        expect(await found()).toEqual([]);
        await project.show([visible(1)]);
        expect(await found()).toEqual([1]);
        await project.hide([key(1)]);
        expect(await found()).toEqual([]);
        await project.show([visible(1)]);
        await project.hide([key(1), key(77)]);
        await project.show([visible(1)]);
        await project.show([]);
        expect(await found()).toEqual([1]);
      });

      describe("in parts", () => {
        const passages = Array.from({ length: 600 }, (_, n) => `passage ${n}`);

        /** Publishes passages as memory 1 in parts. */
        async function publishInParts(texts: string | readonly string[], between: () => unknown = () => undefined) {
          for await (const _ of project.publishInParts(publication(1, texts))) await between();
        }

        test("a memory is found as a whole; another is published between its parts", async () => {
          let others = 0;
          await publishInParts(passages, async () => {
            if (others++ === 1) await publish({ 2: "passage between" });
          });
          expect(await found()).toEqual([2]);
          await project.show([visible(1)]);
          const near = await searchVectors(project, MODEL.fingerprint, vectorOf(999), await all(), 1_000);
          const matching = await searchText(project, "passage", await all(), 1_000);
          for (const { chunkKeys } of [near, matching]) {
            const texts = (await project.passages(chunkKeys)).map((passage) => passage?.text);
            expect(texts.sort()).toEqual([...passages, "passage between"].sort());
          }
          expect((await index.stored([key(1)])).get(key(1))?.chunks).toHaveLength(600);
        });

        test("scores, passages and entities are those of a memory that is published at once", async () => {
          const beginnings = [
            "The team of Grace Hopper met Howard Aiken in",
            "Grace Hopper wrote",
            "Howard Aiken moved to",
          ];
          const texts = passages.map((text, n) => `${beginnings[n % 400] ?? "It is"} ${text}, part ${n % 7}.`);
          const state = async () => {
            await project.show([visible(1)]);
            const within = await all();
            const seeds = { chunkKeys: new BigUint64Array(), scores: new Float32Array() };
            const legs = [
              await searchVectors(project, MODEL.fingerprint, vectorOf(3), within, 1_000),
              await searchText(project, "part 3 of the passage", within, 1_000),
              await searchGraph(project, "What did Grace Hopper write?", seeds, within, 1_000),
            ];
            const hits = legs.map(async ({ chunkKeys, scores }) => {
              const stored = await project.passages(chunkKeys);
              return stored.map((passage, at) => `${scores[at]} ${passage?.text} ${passage?.place.ordinal}`).sort();
            });
            const { entities } = await project.neighbourhood(key(1), within, 100);
            const mentioned = entities.map(({ name, kind, mentions }) => `${name} ${kind} ${mentions}`);
            return { hits: await Promise.all(hits), mentioned: mentioned.sort() };
          };
          await publishInParts(texts);
          const inParts = await state();
          await project.publish([publication(1, texts)]);
          expect(inParts).toEqual(await state());
          expect(inParts.hits.map((hits) => hits.length > 0)).toEqual([true, true, true]);
          expect(inParts.mentioned.length).toBeGreaterThan(1);
        });

        test("a publication replaces all parts of the one before it, and the other way round", async () => {
          await publishInParts(passages);
          await project.show([visible(1)]);
          await publishInParts(["other words", "some other words"]);
          expect((await searchText(project, "passage", await all(), 1_000)).chunkKeys).toHaveLength(0);
          expect((await searchText(project, "words", await all(), 1_000)).chunkKeys).toHaveLength(2);
          await publishInParts(passages);
          await publish({ 1: "the last passage" });
          expect(await found()).toEqual([1]);
          expect((await searchText(project, "passage", await all(), 1_000)).chunkKeys).toHaveLength(1);
        });

        test("a memory that is retracted between two parts leaves nothing, and can be published again", async () => {
          let parts = 0;
          for await (const _ of project.publishInParts(publication(1, passages))) if (++parts === 2) break;
          await project.retract([key(1)]);
          await project.show([visible(1)]);
          expect(await found()).toEqual([]);
          expect((await searchText(project, "passage", await all(), 1_000)).chunkKeys).toHaveLength(0);
          await publishInParts(passages);
          expect((await searchText(project, "passage", await all(), 1_000)).chunkKeys).toHaveLength(600);
        });

        test("vectors of another model are refused in the first step", async () => {
          await publish({ 1: "apples" });
          const wrong = { ...publication(1, passages), vectors: [{ fingerprint: "x", vectors: new Float32Array(0) }] };
          const steps = project.publishInParts(wrong)[Symbol.asyncIterator]();
          await expect(steps.next()).rejects.toThrow(OtherModel);
          expect((await searchText(project, "apples", await all(), 10)).chunkKeys).toHaveLength(1);
        });
      });

      test("a memory can be shown before it is published", async () => {
        await project.show([visible(1)]);
        expect(await found()).toEqual([]);
        await project.publish([publication(1, "passage")]);
        expect(await found()).toEqual([1]);
      });

      test("a hidden memory is absent from admissible sets that were created before", async () => {
        await publish({ 1: "passage one", 2: "passage two" });
        const within = await all();
        expect(within.memories).toBe(2);
        await project.hide([key(1)]);
        expect(await found(within)).toEqual([2]);
      });

      test("the set of a user has only the memories of that user, the set of the project has all", async () => {
        await project.publish([1, 2, 3, 4].map((memory) => publication(memory, "passage")));
        const owners: Readonly<Record<number, bigint | null>> = { 1: 7n, 2: 7n, 3: 8n, 4: null };
        await project.show(
          [1, 2, 3, 4].map((memory) => visible(memory, { userKey: owners[memory] as UserKey | null })),
        );
        const foundBy = async (userKey: bigint | null) => found(await project.admit(userKey as UserKey | null, 1));
        expect(await inTurn([7n, 8n, 9n, null], foundBy)).toEqual([[1, 2], [3], [], [1, 2, 3, 4]]);
        expect((await project.admit(7n as UserKey, 1)).memories).toBe(2);
        await project.show([visible(1, { userKey: 8n as UserKey })]);
        expect(await inTurn([7n, 8n], foundBy)).toEqual([[2], [1, 3]]);
      });

      test("a memory is absent from the millisecond of its expiry", async () => {
        await publish({ 1: "passage", 2: "passage" });
        await project.show([visible(1, { expiresAt: 1_000 })]);
        expect(await found(await project.admit(null, 999))).toEqual([1, 2]);
        expect(await found(await project.admit(null, 1_000))).toEqual([2]);
        await project.show([visible(1, { expiresAt: 2_000 })]);
        expect(await found(await project.admit(null, 1_000))).toEqual([1, 2]);
      });
    });

    describe("filters", () => {
      test("restrict the admissible set, and see the attributes of the last show", async () => {
        await project.publish([1, 2, 3, 4].map((memory) => publication(memory, "passage")));
        const shown = (memory: number, n: number, more: Partial<VisibleMemory> = {}) =>
          visible(memory, { attributes: filteredAttributesJson(attributes({ metadata: { n } })), ...more });
        await project.show([
          shown(1, 1, { userKey: 7n as UserKey }),
          shown(2, 2, { userKey: 8n as UserKey }),
          shown(3, 1, { userKey: 7n as UserKey, expiresAt: 500 }),
          shown(4, 1),
        ]);
        const asked = async (userKey: bigint | null, ...numbers: number[]) =>
          found(
            await project.admitWithin(
              userKey as UserKey | null,
              1_000,
              parseFilter({ "metadata.n": { $in: numbers } }),
            ),
          );
        expect(await asked(null, 1)).toEqual([1, 4]);
        expect(await asked(7n, 1, 2)).toEqual([1]);
        expect(await asked(9n, 1)).toEqual([]);
        await project.show([shown(1, 40)]);
        expect(await asked(null, 1)).toEqual([4]);
        expect(await asked(null, 40)).toEqual([1]);
      });

      test(`agree with matchesFilter for random filters (seed ${SEED})`, async () => {
        const chance = new Chance(SEED, SCALARS);
        const memories = Array.from({ length: 12 }, () => {
          const memory = anyMemory(chance);
          return { ...memory, metadata: parseJson(JSON.stringify(memory.metadata)) as JsonObject | null };
        });
        await project.publish(memories.map((_, at) => publication(at + 1, "passage")));
        await project.show(
          memories.map((memory, at) => visible(at + 1, { attributes: filteredAttributesJson(memory) })),
        );
        for (let round = 0; round < 150; round++) {
          const filter = parseFilter(anyFilter(chance, chance.below(3)));
          const expected = [...memories.keys()].filter((at) => matchesFilter(filter, memories[at] ?? attributes()));
          const within = await project.admitWithin(null, 1, filter);
          expect(within.memories).toBe(expected.length);
          expect(await found(within)).toEqual(expected.map((at) => at + 1));
        }
      });
    });

    describe("vector search", () => {
      const COUNT = 60;
      beforeEach(() =>
        publish(Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [at + 1, `passage ${at + 1}`]))),
      );

      test("returns the most similar chunks of the set, best first, with their cosine similarity", async () => {
        const query = unitVector(seeded(SEED));
        const expected = Array.from({ length: COUNT }, (_, at) => at + 1)
          .map((memory) => ({ memory, cosine: cosine(query, vectorOf(memory)) }))
          .sort((a, b) => b.cosine - a.cosine);
        const hits = await searchVectors(project, MODEL.fingerprint, query, await all(), COUNT);
        expect(memoriesOf(hits)).toEqual(Array.from({ length: COUNT }, (_, at) => at + 1));
        expectDescending(hits);
        for (const [at, { cosine }] of expected.entries()) {
          expect(Math.abs((hits.scores[at] ?? Number.NaN) - cosine)).toBeLessThan(SCORE_TOLERANCE);
        }
        const first = await searchVectors(project, MODEL.fingerprint, query, await all(), 5);
        expect([...first.chunkKeys]).toEqual([...hits.chunkKeys.slice(0, 5)]);
      });

      test("finds every chunk of its set, even if chunks outside rank higher", async () => {
        const odd = parseFilter({ "metadata.odd": true });
        for (let memory = 1; memory <= COUNT; memory += 2) {
          const json = filteredAttributesJson(attributes({ metadata: { odd: true } }));
          await project.show([visible(memory, { attributes: json })]);
        }
        const within = await project.admitWithin(null, 1, odd);
        for (const asked of [2, 4, 31]) {
          const hits = await searchVectors(project, MODEL.fingerprint, vectorOf(asked), within, COUNT / 2);
          expect(memoriesOf(hits)).toEqual(Array.from({ length: COUNT / 2 }, (_, at) => 2 * at + 1));
        }
        const [own] = (await searchVectors(project, MODEL.fingerprint, vectorOf(31), within, 1)).memoryKeys;
        expect(own).toBe(31n);
      });

      test("compareVectors returns the similarity of each pair of chunks, NaN for unknown ones, up to 256", async () => {
        const query = unitVector(seeded(SEED + 1));
        const found = await searchVectors(project, MODEL.fingerprint, query, await all(), 3);
        const asked = {
          chunkKeys: BigUint64Array.of(...found.chunkKeys, 4_711_000n),
          memoryKeys: BigUint64Array.of(...found.memoryKeys, 4_711n),
        };
        const compared = await project.compareVectors(asked);
        expect(compared).toHaveLength(16);
        for (const [at, similarity] of compared.entries()) {
          const [row, column] = [Math.floor(at / 4), at % 4];
          if (row === 3 || column === 3) expect(similarity).toBeNaN();
          else {
            const [one, other] = [row, column].map((place) => vectorOf(Number(found.memoryKeys[place])));
            const expected = cosine(one ?? query, other ?? query);
            expect(Math.abs(similarity - expected)).toBeLessThan(SCORE_TOLERANCE);
            expect(similarity).toBe(compared[column * 4 + row] ?? Number.NaN);
          }
        }
        const repeated = (count: number) => ({
          chunkKeys: new BigUint64Array(count).fill(found.chunkKeys[0] ?? 0n),
          memoryKeys: new BigUint64Array(count).fill(found.memoryKeys[0] ?? 0n),
        });
        expect(await project.compareVectors(repeated(0))).toHaveLength(0);
        expect(await project.compareVectors(repeated(256))).toHaveLength(65_536);
        expect(await errorOf(() => project.compareVectors(repeated(257)))).toBeInstanceOf(Error);
        await project.retract([found.memoryKeys[0] as MemoryKey]);
        const [missing, nan] = [await project.compareVectors(asked), Number.NaN];
        expect([...missing].slice(0, 6)).toEqual([nan, nan, nan, nan, nan, compared[5] ?? 0]);
      });
    });

    test("storedVectors returns what searches score, NaN for unknown chunks, and refuses other models", async () => {
      const query = unitVector(seeded(SEED + 1));
      await publish({ 1: "passage one", 2: "passage two", 3: "passage three" });
      const found = await searchVectors(project, MODEL.fingerprint, query, await all(), 3);
      const asked = {
        chunkKeys: BigUint64Array.of(...found.chunkKeys, 4_711_000n),
        memoryKeys: BigUint64Array.of(...found.memoryKeys, 4_711n),
      };
      const stored = await project.storedVectors(MODEL.fingerprint, asked);
      expect(stored).toHaveLength(4 * MODEL.dimensions);
      const rows = [0, 1, 2, 3].map((row) => stored.slice(row * MODEL.dimensions, (row + 1) * MODEL.dimensions));
      for (const [row, score] of found.scores.entries()) {
        expect(Math.abs(cosine(rows[row] ?? query, query) - score)).toBeLessThan(SCORE_TOLERANCE);
      }
      expect(rows[3]?.every(Number.isNaN)).toBe(true);
      const nothing = { chunkKeys: new BigUint64Array(0), memoryKeys: new BigUint64Array(0) };
      expect(await project.storedVectors(MODEL.fingerprint, nothing)).toHaveLength(0);
      expect(await errorOf(() => project.storedVectors("another model", asked))).toBeInstanceOf(OtherModel);
    });

    describe("full-text search", () => {
      beforeEach(() =>
        publish({
          1: "The heron waits beside the river passage",
          2: "A heron and another heron stand in the passage",
          3: "Nothing of the kind in this passage",
          4: ["First passage about trains", "Second passage about a heron"],
        }),
      );

      test("returns chunks with words of the query, best first, with scores above 0 and at most 1", async () => {
        const hits = await searchText(project, "heron", await all(), 10);
        expect(memoriesOf(hits)).toEqual([1, 2, 4]);
        expectDescending(hits);
        for (const score of hits.scores) {
          expect(score).toBeGreaterThan(0);
          expect(score).toBeLessThanOrEqual(1);
        }
        expect(memoriesOf(await searchText(project, "heron trains", await all(), 10))).toEqual([1, 2, 4, 4]);
        expect(memoriesOf(await searchText(project, "zebra", await all(), 10))).toEqual([]);
        expect(memoriesOf(await searchText(project, "", await all(), 10))).toEqual([]);
      });

      test("keeps to its limit and its set", async () => {
        expect((await searchText(project, "heron", await all(), 2)).chunkKeys).toHaveLength(2);
        await project.show([visible(1, { userKey: 7n as UserKey })]);
        const within = await project.admit(7n as UserKey, 1);
        expect(memoriesOf(await searchText(project, "heron", within, 10))).toEqual([1]);
      });

      test("accepts any text as a query and as a passage", async () => {
        const texts = ["", " ", "\0", "\ud800 lone", '"quoted" AND (x OR -y)', "ไทย 中文 हिन्दी 🙂", "a".repeat(20_000)];
        await publish({ 9: texts });
        for (const text of texts) await searchText(project, text, await all(), 10);
        expect((await index.contents([key(9)])).has(key(9))).toBe(true);
      });
    });

    describe("all legs together", () => {
      const vector = unitVector(seeded(SEED + 1));
      const asked = { text: "heron", fingerprint: MODEL.fingerprint, vectorLimit: 10, textLimit: 10, graph: null };
      const ask = async (changes: Partial<Recall> = {}, within?: AdmissibleSet) =>
        project.recall({ ...asked, vector: Promise.resolve(vector), ...changes }, within ?? (await all()));
      beforeEach(() =>
        publish({
          1: "The heron waits beside the river passage",
          2: "A heron and another heron stand in the passage of Grace Hopper",
          3: "Nothing of the kind in this passage",
          4: ["First passage about trains of Grace Hopper", "Second passage about a heron"],
        }),
      );

      test("find the nearest vectors, then other hits of full text, and score all by both", async () => {
        const near = await searchVectors(project, MODEL.fingerprint, vector, await all(), 10);
        const matching = await searchText(project, asked.text, await all(), 10);
        for (const vectorLimit of [1, 2, 3, 10]) {
          const legs: unknown[] = [];
          const pool = await ask({ vectorLimit, onLeg: (...leg) => legs.push(leg) });
          const first = near.chunkKeys.slice(0, vectorLimit);
          const others = matching.chunkKeys.filter((chunkKey) => !first.includes(chunkKey));
          expect([...pool.chunkKeys]).toEqual([...first, ...others]);
          expect(legs).toEqual([
            ["text", matching.chunkKeys.length],
            ["vector", pool.chunkKeys.length],
          ]);
          for (const [at, chunkKey] of pool.chunkKeys.entries()) {
            expect(pool.memoryKeys[at]).toBe(near.memoryKeys[near.chunkKeys.indexOf(chunkKey)]);
            expect(pool.cosines[at]).toBe(near.scores[near.chunkKeys.indexOf(chunkKey)] ?? 7);
            expect(pool.textScores?.[at]).toBe(matching.scores[matching.chunkKeys.indexOf(chunkKey)] ?? 0);
          }
          expect(pool.graph).toBeNull();
        }
      });

      test("keep to their set, and work without hits of full text, and if it only scores", async () => {
        await project.show([visible(1, { userKey: 7n as UserKey })]);
        const within = await project.admit(7n as UserKey, 1);
        for (const changes of [{ text: "zebra" }, { text: "zebra", textLimit: 0 }]) {
          const pool = await ask(changes, within);
          expect([[...pool.memoryKeys], [...(pool.textScores ?? [])]]).toEqual([[1n], [0]]);
        }
        const scored = await ask({ vectorLimit: 1, textLimit: 0 });
        expect(scored.chunkKeys).toHaveLength(1);
        expect((await ask({ textLimit: null })).textScores).toBeNull();
      });

      test("add the hits of a graph search that is sure enough, and of a walk from seeds, with the same scores", async () => {
        const text = "Grace Hopper and a kind heron";
        const full = await ask({ text, vectorLimit: 100 });
        const options = { limit: 10, usesSingleNames: false, certaintyMin: 0 };
        const sure = await ask({ text, vectorLimit: 1, textLimit: 0, graph: options });
        const { certainty = 0 } = sure.graph ?? {};
        expect(certainty).toBeGreaterThan(0);
        const above = { ...options, certaintyMin: certainty + 1e-6 };
        const unsure = await ask({ text, vectorLimit: 1, textLimit: 0, graph: above });
        expect([unsure.graph, unsure.chunkKeys.length]).toEqual([null, 1]);
        const query = { ...asked, text, vector };
        const walked = await project.walk(query, NO_SEEDS, unsure, await all(), options);
        for (const pool of [sure, walked]) {
          expect(pool.graph?.chunkKeys.every((chunkKey) => pool.chunkKeys.includes(chunkKey))).toBe(true);
          expect(new Set(pool.chunkKeys).size).toBe(pool.chunkKeys.length);
          for (const [at, chunkKey] of pool.chunkKeys.entries()) {
            const place = full.chunkKeys.indexOf(chunkKey);
            expect(pool.memoryKeys[at]).toBe(full.memoryKeys[place]);
            expect([pool.cosines[at], pool.textScores?.[at]]).toEqual([full.cosines[place], full.textScores?.[place]]);
          }
        }
      });

      test("give a passage that is removed while the question is embedded no cosine", async () => {
        // full text searches while the vector is awaited, so it may also miss the passage
        await until("full text finds the passage before its removal", async () => {
          await publish({ 2: "A heron and another heron stand in the passage of Grace Hopper" });
          const within = await all();
          const { promise, resolve } = Promise.withResolvers<Float32Array>();
          const asking = ask({ vector: promise, vectorLimit: 1 }, within);
          const { memoryKeys, scores } = await searchText(project, asked.text, within, 10);
          await project.retract([key(2)]);
          resolve(vector);
          const pool = await asking;
          const at = pool.memoryKeys.indexOf(2n);
          if (at === -1) return false;
          expect([pool.cosines[at], pool.textScores?.[at]]).toEqual([Number.NaN, scores[memoryKeys.indexOf(2n)]]);
          return true;
        });
      });

      test("fail with the error of the vector, and refuse vectors of another model", async () => {
        const { promise: failing, reject } = Promise.withResolvers<Float32Array>();
        const failed = errorOf(() => ask({ vector: failing }));
        reject(new Error("no lane"));
        expect(await failed).toEqual(new Error("no lane"));
        expect(await errorOf(() => ask({ fingerprint: "another model" }))).toBeInstanceOf(OtherModel);
        const query = { ...asked, fingerprint: "another model", vector };
        const [pool, within] = [await ask({ vectorLimit: 1, textLimit: 0 }), await all()];
        const options = { limit: 10, usesSingleNames: false, certaintyMin: 0 };
        const walk = () => project.walk({ ...query, text: "Grace Hopper" }, NO_SEEDS, pool, within, options);
        expect(await errorOf(walk)).toBeInstanceOf(OtherModel);
      });
    });

    describe("graph search", () => {
      beforeEach(() =>
        publish({
          1: "Grace Hopper wrote the first compiler in this passage.",
          2: "The compiler team of Grace Hopper met Howard Aiken for this passage.",
          3: "Howard Aiken later moved to the south, says this passage.",
          4: "This passage speaks of trains and rivers only.",
        }),
      );

      test("finds passages with entities of the query, and those that share another entity with them", async () => {
        const graph = await searchGraph(project, "What did Grace Hopper write?", NO_SEEDS, await all(), 10);
        const memories = memoriesOf(graph);
        expect(memories).toContain(1);
        expect(memories).toContain(2);
        expect(memories).not.toContain(4);
        expectDescending(graph);
        expect(graph.certainty).toBeGreaterThan(0);
        expect(graph.certainty).toBeLessThanOrEqual(1);
        expect(graph.scores[0]).toBeCloseTo(graph.certainty, 5);
        for (const score of graph.scores) expect(score).toBeGreaterThan(0);
        const path = graph.pathTo(0);
        expect(path.from?.toLowerCase()).toContain("grace hopper");
        const second = [...graph.memoryKeys].indexOf(3n);
        if (second !== -1) expect(graph.pathTo(second).via).not.toBeNull();
      });

      test("begins at a name that a single passage contains, if that is wanted", async () => {
        await publish({
          7: "Zephyrine Okonkwo is the chief engineer at the Calder Vale Observatory, says this passage.",
          8: "Spare mirrors of the Calder Vale Observatory rest in a cellar, says this passage.",
        });
        const graph = await searchGraph(project, "Zephyrine Okonkwo", NO_SEEDS, await all(), 10, {
          usesSingleNames: true,
        });
        expect(memoriesOf(graph)).toEqual([7, 8]);
        const path = graph.pathTo([...graph.memoryKeys].indexOf(8n));
        expect(path.from?.toLowerCase()).toBe("zephyrine okonkwo");
        expect(path.through?.toLowerCase()).toContain("calder vale observatory");
      });

      test("finds nothing, with certainty 0, below the minimum certainty", async () => {
        const found = async (certaintyMin: number) =>
          searchGraph(project, "Grace Hopper", NO_SEEDS, await all(), 10, { certaintyMin });
        const { certainty, chunkKeys } = await found(0);
        expect((await found(certainty)).chunkKeys).toEqual(chunkKeys);
        const above = await found(certainty + 1e-6);
        expect([above.certainty, above.chunkKeys.length, above.memoryKeys.length]).toEqual([0, 0, 0]);
      });

      test("finds nothing, with certainty 0, without entities in the query and without seeds", async () => {
        const graph = await searchGraph(project, "what is there to say?", NO_SEEDS, await all(), 10);
        expect([graph.certainty, graph.chunkKeys.length]).toEqual([0, 0]);
      });

      test("keeps to its limit and its set, also for intermediate passages", async () => {
        const query = "Grace Hopper";
        expect((await searchGraph(project, query, NO_SEEDS, await all(), 1)).chunkKeys).toHaveLength(1);
        await publish({ 5: "A ship was named after Grace Hopper, says this passage." });
        const leadsOn = memoriesOf(await searchGraph(project, query, NO_SEEDS, await all(), 10));
        expect(leadsOn).toEqual([1, 2, 3, 5]);
        await project.hide([key(2)]);
        const graph = await searchGraph(project, query, NO_SEEDS, await all(), 10);
        expect(memoriesOf(graph)).toEqual([1, 5]);
      });

      test("accepts seeds, even if some no longer exist", async () => {
        const seeds = await searchText(project, "compiler", await all(), 2);
        const withForeign = {
          chunkKeys: BigUint64Array.of(...seeds.chunkKeys, 4_711_000n),
          scores: Float32Array.of(...seeds.scores, 1),
        };
        const graph = await searchGraph(project, "Grace Hopper", withForeign, await all(), 10);
        expect(memoriesOf(graph)).toContain(2);
      });

      test("the neighbourhood of a memory has its entities and the memories of the set that share them", async () => {
        const { entities, neighbours } = await project.neighbourhood(key(2), await all(), 10);
        const names = entities.map(({ name }) => name.toLowerCase());
        for (const expected of ["grace hopper", "howard aiken"]) {
          const entity = entities[names.findIndex((name) => name.includes(expected))];
          expect(entity).toMatchObject({ mentions: 1, memories: 2 });
          expect(entity?.chunkKeys).toHaveLength(1);
        }
        expect(neighbours.map(({ memoryKey }) => Number(memoryKey)).sort()).toEqual([1, 3]);
        for (const [at, { weight, entities: shared }] of neighbours.entries()) {
          expect(weight).toBeGreaterThan(0);
          expect(weight).toBeLessThanOrEqual(neighbours[at - 1]?.weight ?? weight);
          expect(shared.length).toBeGreaterThan(0);
        }
        await project.hide([key(3)]);
        const without = await project.neighbourhood(key(2), await all(), 10);
        expect(without.neighbours.map(({ memoryKey }) => Number(memoryKey))).toEqual([1]);
        const one = await project.neighbourhood(key(2), await all(), 1);
        expect([one.entities.length, one.neighbours.length]).toEqual([1, 1]);
      });
    });

    describe("publication", () => {
      test("replaces everything that a memory had before, and can be repeated", async () => {
        await publish({ 1: ["old passage", "another old passage"] });
        const { chunkKeys: before } = await searchText(project, "old", await all(), 10);
        const texts = (await project.passages(before)).map((passage) => passage?.text);
        expect(texts.toSorted()).toEqual(["another old passage", "old passage"]);
        const next = { ...publication(1, "new passage"), version: 2 };
        for (let round = 0; round < 2; round++) {
          await project.publish([next]);
          expect(memoriesOf(await searchText(project, "old", await all(), 10))).toEqual([]);
          expect(await found()).toEqual([1]);
        }
        expect(await project.passages(before)).toEqual([null, null]);
        expect(await index.contents([key(1)])).toEqual(new Map([[key(1), { version: 2, content: next.content }]]));
      });

      test("of many memories in one call stores the texts and vectors of each", async () => {
        await publish({ 1: "passage one", 2: ["passage two", "passage two and a half"], 3: "passage three" });
        for (const memory of [1, 3]) {
          const { memoryKeys, chunkKeys } = await searchVectors(
            project,
            MODEL.fingerprint,
            vectorOf(memory),
            await all(),
            1,
          );
          expect([...memoryKeys]).toEqual([BigInt(memory)]);
          const [passage] = await project.passages(chunkKeys);
          expect(passage?.text).toBe(memory === 1 ? "passage one" : "passage three");
        }
        const contents = await index.contents([1, 2, 3, 4].map(key));
        expect([...contents.keys()].sort()).toEqual([1n, 2n, 3n] as MemoryKey[]);
      });

      test("without chunks stores only the text", async () => {
        await publish({ 1: "passage", 2: "passage" });
        await project.publish([{ ...publication(1, []), content: "only content" }]);
        expect(await found()).toEqual([2]);
        expect((await index.contents([key(1)])).get(key(1))?.content).toBe("only content");
        await project.publish([]);
        expect(await found()).toEqual([2]);
      });

      test("takes effect in the order of the calls, including retract, show and purge calls in between", async () => {
        await project.show([visible(1), visible(2), visible(3)]);
        await Promise.all([
          project.publish([publication(1, Array(600).fill("first passage")), publication(2, "kept passage")]),
          project.retract([key(1)]),
          project.publish([publication(1, "second passage")]),
          project.retract([key(1), key(77)]),
          project.retract([]),
          project.publish([publication(3, "third passage")]),
          index.purge([key(3)]),
        ]);
        expect(await found()).toEqual([2, 3]);
        expect((await index.contents([key(3)])).size).toBe(0);
      });

      test("assigns chunk keys that were never used before", async () => {
        const seen = new Set<bigint>();
        for (let round = 0; round < 5; round++) {
          await publish({ 1: ["passage a", "passage b"], 2: "passage c" });
          const { chunkKeys } = await searchText(project, "passage", await all(), 10);
          expect(chunkKeys).toHaveLength(3);
          for (const chunkKey of chunkKeys) {
            expect(chunkKey > 0n && !seen.has(chunkKey)).toBe(true);
            seen.add(chunkKey);
          }
        }
      });
    });

    describe("rebuilding", () => {
      /** A memory as `publication` makes it, with the keys of its stored chunks. */
      const again = async (given: Publication): Promise<Rebuild> => {
        const chunks = (await index.stored([given.memoryKey])).get(given.memoryKey)?.chunks ?? [];
        return { ...given, chunkKeys: chunks.map(({ chunkKey }) => chunkKey) };
      };
      const nearest = async (number: number, model = MODEL) => {
        const hits = await searchVectors(project, model.fingerprint, vectorOf(number, model), await all(), 1);
        return { memory: memoriesOf(hits)[0], chunkKey: hits.chunkKeys[0], score: hits.scores[0] ?? 0 };
      };

      test("replaces vectors, postings and entities; texts and keys stay, also after a restart", async () => {
        await publish({ 1: ["old passage", "second passage"], 2: "passage" });
        const text = (await index.stored([key(1)])).get(key(1));
        const given = publication(1, ["new passage of Ada Lovelace", "second passage"]);
        const vectors = [vectorsOf(MODEL, [50, 51])];
        expect(await project.rebuild([await again({ ...given, vectors })])).toEqual([]);
        const check = async () => {
          expect(await found()).toEqual([1, 1, 2]);
          expect((await index.stored([key(1)])).get(key(1))).toEqual(text);
          const hit = await nearest(50);
          expect([hit.memory, hit.chunkKey]).toEqual([1, text?.chunks[0]?.chunkKey]);
          expect(hit.score).toBeCloseTo(1, 1);
          expect(memoriesOf(await searchText(project, "new", await all(), 5))).toEqual([1]);
          expect(memoriesOf(await searchText(project, "old", await all(), 5))).toEqual([]);
          const { entities } = await project.neighbourhood(key(1), await all(), 5);
          expect(entities.map(({ name }) => name)).toEqual(["Ada Lovelace"]);
        };
        await check();
        index = await opened.reopen();
        project = await index.project(PROJECT);
        await project.show([visible(1), visible(2)]);
        await check();
      });

      test("skips memories that were changed or retracted, and those with other chunks", async () => {
        await publish({ 1: "old passage", 2: "old passage", 3: ["old passage", "old passage"], 4: "old passage" });
        const rebuilds = await inTurn([1, 2, 3, 4], (memory) => again(publication(memory, "new passage")));
        await project.publish([publication(1, "changed passage")]);
        await project.retract([key(2)]);
        expect(await project.rebuild(rebuilds)).toEqual([1, 2, 3].map(key));
        expect(memoriesOf(await searchText(project, "new", await all(), 9))).toEqual([4]);
        expect(memoriesOf(await searchText(project, "changed", await all(), 9))).toEqual([1]);
        expect(await found()).toEqual([1, 3, 3, 4]);
        expect(await project.rebuild([])).toEqual([]);
      });

      test("takes effect in the order of the calls", async () => {
        await publish({ 1: "first passage", 2: "first passage" });
        const rebuilds = await inTurn([1, 2], (memory) => again(publication(memory, "rebuilt passage")));
        const [, skipped] = await Promise.all([
          project.publish([publication(1, "second passage")]),
          project.rebuild(rebuilds),
          project.retract([key(2)]),
        ]);
        expect(skipped).toEqual([key(1)]);
        expect(memoriesOf(await searchText(project, "passage", await all(), 9))).toEqual([1]);
        expect(memoriesOf(await searchText(project, "second", await all(), 9))).toEqual([1]);
      });

      test("needs vectors of the live model, and keeps those that are being built", async () => {
        await publish({ 1: "passage", 2: "passage" });
        await expect(project.rebuild([await again(publication(1, "new passage", [OTHER_MODEL]))])).rejects.toThrow(
          OtherModel,
        );
        expect(memoriesOf(await searchText(project, "new", await all(), 9))).toEqual([]);
        await project.beginModel(OTHER_MODEL);
        await project.publish([1, 2].map((memory) => publication(memory, "passage", [MODEL, OTHER_MODEL])));
        expect(await project.rebuild([await again(publication(1, "new passage"))])).toEqual([]);
        expect((await project.missingVectors()).memoryKeys).toEqual([]);
        expect(await project.swapModel()).toBe(true);
        expect((await nearest(1, OTHER_MODEL)).memory).toBe(1);
      });

      test("never hides a memory from searches", async () => {
        const numbers = Array.from({ length: 40 }, (_, at) => at + 1);
        const passageOf = (memory: number) => (memory < 4 ? "passage of Ada Lovelace" : `passage number ${memory}`);
        await publish(Object.fromEntries(numbers.map((memory) => [memory, passageOf(memory)])));
        const rebuilds = await inTurn(numbers, (memory) => again(publication(memory, passageOf(memory))));
        let goesOn = true;
        const searching = async () => {
          const noSeeds = { chunkKeys: new BigUint64Array(), scores: new Float32Array() };
          for (let round = 0; goesOn || round < 3; round++) {
            expect(await found()).toEqual(numbers);
            expect(memoriesOf(await searchGraph(project, "Ada Lovelace", noSeeds, await all(), 99))).toEqual([1, 2, 3]);
          }
        };
        const rebuilding = async () => {
          for (let round = 0; round < 10; round++) expect(await project.rebuild(rebuilds)).toEqual([]);
          goesOn = false;
        };
        await Promise.all([searching(), rebuilding()]);
      });
    });

    describe("passages", () => {
      test("are returned in the requested order with their places, null for unknown chunks", async () => {
        const places: readonly Omit<ChunkPlace, "ordinal" | "start" | "end">[] = [
          { headings: [] },
          { headings: ['Größe, "quoted"', "1.2"] },
          { headings: [], page: 3 },
          { headings: ["Sheet"], sheet: "Q1, sums", cells: "B2:AB14" },
          { headings: [], slide: 2, turn: { session: 1, speaker: "Ada", date: null, labelUnits: 5 } },
        ];
        const texts = places.map((_, at) => `passage ${at}: "text" \n😀`);
        const plain = publication(1, texts);
        const chunks = plain.chunks.map((chunk, at) => ({ ...chunk, ...places[at] }));
        await project.publish([{ ...plain, chunks }]);
        await project.show([visible(1)]);
        const { chunkKeys } = await searchText(project, "passage", await all(), 10);
        const passages = await project.passages(chunkKeys);
        expect(passages.map((passage) => passage?.chunkKey as bigint)).toEqual([...chunkKeys]);
        for (const passage of passages) {
          const at = passage?.place.ordinal ?? -1;
          const { start, end } = chunks[at] ?? {};
          expect(passage).toEqual({
            chunkKey: passage?.chunkKey as never,
            text: texts[at] ?? "",
            place: { ordinal: at, start: start ?? -1, end: end ?? -1, headings: [], ...places[at] },
          });
        }
        const [first = 0n, second = 0n] = chunkKeys;
        const asked = await project.passages(BigUint64Array.of(second, 4_711_000n, first, second));
        expect(asked).toEqual([passages[1] ?? null, null, passages[0] ?? null, passages[1] ?? null]);
      });
    });

    describe("retraction", () => {
      test("removes vectors and postings, and keeps the text until purge", async () => {
        await publish({ 1: "passage", 2: "passage" });
        await project.retract([key(1)]);
        await project.show([visible(1)]);
        expect(await found()).toEqual([2]);
        const { version, content } = publication(1, "passage");
        expect(await index.contents([key(1)])).toEqual(new Map([[key(1), { version, content }]]));
        await index.purge([key(1), key(77)]);
        const other = publication(2, "passage").content;
        expect(await index.contents([key(1), key(2)])).toEqual(new Map([[key(2), { version, content: other }]]));
        await index.purge([]);
      });
    });

    describe("projects", () => {
      test("are one instance per id, and never return or change data of another project", async () => {
        expect(await index.project(PROJECT)).toBe(project);
        const other = await index.project(OTHER);
        await publish({ 1: "passage here" });
        await publish({ 2: "passage there" }, other);
        expect(await found()).toEqual([1]);
        expect(await found(undefined, other)).toEqual([2]);
        const { chunkKeys } = await searchText(project, "passage", await all(), 10);
        expect(await other.passages(chunkKeys)).toEqual([null]);
        await other.hide([key(1)]);
        await other.retract([key(1)]);
        expect(await found()).toEqual([1]);
        expect(await errorOf(async () => searchText(other, "passage", await all(), 10))).toBeInstanceOf(Error);
      });

      test("that are dropped are removed for good; drop can be repeated and affects no other project", async () => {
        const other = await index.project(OTHER);
        await publish({ 1: "passage here" });
        await publish({ 2: "passage there" }, other);
        await index.drop(PROJECT);
        await index.drop(PROJECT);
        await index.drop("prj_00000000000000000000000003" as ProjectId);
        expect(await codeOf(() => index.project(PROJECT))).toBe("project_not_found");
        expect(await found(undefined, other)).toEqual([2]);
        expect((await index.contents([key(1)])).has(key(1))).toBe(true);
        await index.purge([key(1)]);
        expect((await index.contents([key(1)])).has(key(1))).toBe(false);
      });
    });

    describe("vectors of another model", () => {
      /** The keys of all chunks of these memories, as `addVectors` takes them. */
      const chunksOf = async (...memories: number[]) => {
        const stored = await index.stored(memories.map(key));
        const pairs = memories.flatMap((memory) =>
          (stored.get(key(memory))?.chunks ?? []).map(({ chunkKey }) => [chunkKey, key(memory)] as const),
        );
        return {
          chunkKeys: BigUint64Array.from(pairs, ([chunkKey]) => chunkKey),
          memoryKeys: BigUint64Array.from(pairs, ([, memoryKey]) => memoryKey),
        };
      };
      /** Adds the vectors of memories with one passage each. */
      const add = async (model: IndexModel, ...memories: number[]) =>
        project.addVectors(await chunksOf(...memories), vectorsOf(model, memories));
      const missing = async () => (await project.missingVectors()).memoryKeys.map(Number);
      /** The memory that is found first with the vector of each of these memories. */
      const firstBy = (model: IndexModel, ...memories: number[]) =>
        inTurn(memories, async (memory) => {
          const hits = await searchVectors(project, model.fingerprint, vectorOf(memory, model), await all(), 1);
          return Number(hits.memoryKeys[0]);
        });

      test("a new project has the model of new projects", async () => {
        expect(await project.models()).toEqual({ live: MODEL, building: null, previous: null });
        expect(await errorOf(() => project.missingVectors())).toBeInstanceOf(Error);
        expect(await errorOf(() => project.swapModel())).toBeInstanceOf(Error);
        expect(await errorOf(() => project.beginModel(MODEL))).toBeInstanceOf(Error);
        await project.dropBuilding();
        await project.forgetPrevious();
      });

      test("stored texts and chunks belong together and are in the order of the text", async () => {
        await project.publish([{ ...publication(1, ["one", "two"]), version: 4 }, publication(2, "three")]);
        const stored = await index.stored([key(2), key(1), key(3)]);
        expect([...stored.keys()].sort()).toEqual([1n, 2n] as MemoryKey[]);
        const { version, content, chunks } = stored.get(key(1)) ?? { chunks: [] };
        expect([version, content]).toEqual([4, "one\ntwo"]);
        expect(chunks.map(({ ordinal, start, end }) => [ordinal, start, end])).toEqual([
          [0, 0, 3],
          [1, 4, 7],
        ]);
        const passages = await project.passages(BigUint64Array.from(chunks, ({ chunkKey }) => chunkKey));
        expect(passages.map((passage) => passage?.text)).toEqual(["one", "two"]);
        await project.publish([publication(1, "anew")]);
        expect((await index.stored([key(1)])).get(key(1))?.chunks).toHaveLength(1);
      });

      test("are built beside the live ones and swapped in once no chunk lacks one", async () => {
        await publish({ 1: "passage one", 2: "passage two", 3: ["passage three", "more"] });
        await project.beginModel(OTHER_MODEL);
        await project.beginModel(OTHER_MODEL);
        expect(await project.models()).toEqual({ live: MODEL, building: OTHER_MODEL, previous: null });
        const all = await project.missingVectors();
        expect(all).toEqual({ memoryKeys: [1, 2, 3].map(key), missingChunks: 4, chunks: 4 });
        expect(await add(OTHER_MODEL, 1, 2)).toBe(2);
        expect(await project.missingVectors()).toEqual({ memoryKeys: [key(3)], missingChunks: 2, chunks: 4 });
        expect(await project.swapModel()).toBe(false);
        expect(await firstBy(MODEL, 1, 2, 3)).toEqual([1, 2, 3]);
        expect(await project.addVectors(await chunksOf(3), vectorsOf(OTHER_MODEL, [3, 10_003]))).toBe(2);
        expect(await project.swapModel()).toBe(true);
        expect(await project.models()).toEqual({ live: OTHER_MODEL, building: null, previous: MODEL });
        expect(await firstBy(OTHER_MODEL, 1, 2, 3, 10_003)).toEqual([1, 2, 3, 3]);
      });

      test("are never compared with a vector of the live model, before and after the swap", async () => {
        await publish({ 1: "passage" });
        const chunks = await chunksOf(1);
        const vector = (model: IndexModel) => [model.fingerprint, vectorOf(1, model)] as const;
        const refused = async (model: IndexModel) => {
          expect(await errorOf(async () => searchVectors(project, ...vector(model), await all(), 1))).toBeInstanceOf(
            OtherModel,
          );
        };
        await refused(OTHER_MODEL);
        await project.beginModel(OTHER_MODEL);
        await refused(OTHER_MODEL);
        await add(OTHER_MODEL, 1);
        await project.swapModel();
        await refused(MODEL);
        expect(await errorOf(() => project.publish([publication(2, "passage")]))).toBeInstanceOf(OtherModel);
        expect(await errorOf(() => project.publish([publication(2, "passage", [])]))).toBeInstanceOf(OtherModel);
        await project.show([visible(2)]);
        expect(memoriesOf(await searchText(project, "passage", await all(), 10))).toEqual([1]);
        const near = await searchVectors(project, ...vector(OTHER_MODEL), await all(), 10);
        expect([[...near.chunkKeys], near.scores[0]]).toEqual([[...chunks.chunkKeys], expect.closeTo(1, 1)]);
      });

      test("of memories that change while they are built are right after the swap", async () => {
        await publish({ 1: "passage", 2: "passage", 3: "passage", 4: "passage" });
        await project.beginModel(OTHER_MODEL);
        await add(OTHER_MODEL, 1, 2, 3, 4);
        const stale = await chunksOf(2);
        await project.publish([publication(1, "new passage"), publication(5, "passage", [MODEL, OTHER_MODEL])]);
        await project.publish([publication(2, "new passage", [OTHER_MODEL, MODEL])]);
        await project.retract([key(3)]);
        expect(await missing()).toEqual([1]);
        expect(await project.addVectors(stale, vectorsOf(OTHER_MODEL, [77]))).toBe(0);
        expect(await add(OTHER_MODEL, 3)).toBe(0);
        expect(await add(OTHER_MODEL, 1)).toBe(1);
        expect(await project.swapModel()).toBe(true);
        await project.show([visible(5)]);
        expect(await firstBy(OTHER_MODEL, 1, 2, 4, 5)).toEqual([1, 2, 4, 5]);
        const near = await searchVectors(project, OTHER_MODEL.fingerprint, vectorOf(3, OTHER_MODEL), await all(), 100);
        expect(memoriesOf(near)).toEqual([1, 2, 4, 5]);
      });

      test("of a memory with only some of its chunks are not added", async () => {
        await publish({ 1: ["passage", "more"] });
        await project.beginModel(OTHER_MODEL);
        const { chunkKeys, memoryKeys } = await chunksOf(1);
        const first = { chunkKeys: chunkKeys.subarray(0, 1), memoryKeys: memoryKeys.subarray(0, 1) };
        expect(await project.addVectors(first, vectorsOf(OTHER_MODEL, [1]))).toBe(0);
        expect(await missing()).toEqual([1]);
      });

      test("of a third model, and invalid ones, are refused while they are built", async () => {
        await publish({ 1: "passage" });
        await project.beginModel(OTHER_MODEL);
        const third = { fingerprint: "model-c", dimensions: 8 };
        expect(await errorOf(() => project.beginModel(third))).toBeInstanceOf(Error);
        const chunks = await chunksOf(1);
        expect(await errorOf(() => project.addVectors(chunks, vectorsOf(third, [1])))).toBeInstanceOf(OtherModel);
        expect(await errorOf(() => project.addVectors(chunks, vectorsOf(OTHER_MODEL, [1, 2])))).toBeInstanceOf(Error);
        expect(await missing()).toEqual([1]);
      });

      test("can be dropped; nothing of them is left", async () => {
        await publish({ 1: "passage", 2: "passage" });
        await project.beginModel(OTHER_MODEL);
        await add(OTHER_MODEL, 1);
        await project.dropBuilding();
        expect(await project.models()).toEqual({ live: MODEL, building: null, previous: null });
        await project.beginModel(OTHER_MODEL);
        expect(await missing()).toEqual([1, 2]);
        expect(await firstBy(MODEL, 1, 2)).toEqual([1, 2]);
      });

      test("that were live are kept for a rollback, which needs only what changed since, until they are forgotten", async () => {
        await publish({ 1: "passage", 2: "passage", 3: "passage" });
        await project.beginModel(OTHER_MODEL);
        await add(OTHER_MODEL, 1, 2, 3);
        await project.swapModel();
        await project.publish([publication(2, "new passage", [OTHER_MODEL])]);
        await project.retract([key(3)]);
        await project.beginModel(MODEL);
        expect(await project.models()).toEqual({ live: OTHER_MODEL, building: MODEL, previous: null });
        expect(await missing()).toEqual([2]);
        await add(MODEL, 2);
        expect(await project.swapModel()).toBe(true);
        expect(await firstBy(MODEL, 1, 2)).toEqual([1, 2]);
        await project.forgetPrevious();
        expect(await project.models()).toEqual({ live: MODEL, building: null, previous: null });
        await project.beginModel(OTHER_MODEL);
        expect(await missing()).toEqual([1, 2]);
      });

      test("survive a restart while they are built, and after the swap", async () => {
        await publish({ 1: "passage", 2: "passage" });
        await project.beginModel(OTHER_MODEL);
        await add(OTHER_MODEL, 1);
        const restart = async () => {
          index = await opened.reopen();
          project = await index.project(PROJECT);
          await project.show([visible(1), visible(2)]);
        };
        await restart();
        expect(await project.models()).toEqual({ live: MODEL, building: OTHER_MODEL, previous: null });
        expect(await missing()).toEqual([2]);
        await add(OTHER_MODEL, 2);
        expect(await project.swapModel()).toBe(true);
        await restart();
        expect(await project.models()).toEqual({ live: OTHER_MODEL, building: null, previous: MODEL });
        expect(await firstBy(OTHER_MODEL, 1, 2)).toEqual([1, 2]);
      });

      test("of one project do not affect another", async () => {
        const other = await index.project(OTHER);
        await publish({ 1: "passage" }, other);
        await publish({ 2: "passage" });
        await project.beginModel(OTHER_MODEL);
        expect(await missing()).toEqual([2]);
        await add(OTHER_MODEL, 2);
        await project.swapModel();
        expect((await other.models()).live).toEqual(MODEL);
        expect(await found(undefined, other)).toEqual([1]);
      });
    });

    async function* pages(...memories: readonly (readonly VisibleMemory[])[]) {
      for (const page of memories) yield page;
    }

    describe("verify", () => {
      const verify = (...completed: readonly number[]) =>
        index.verify(PROJECT, pages(completed.map((n) => visible(n))));
      const kindsOf = ({ findings }: IndexVerification) =>
        findings.map(({ kind, count, memoryKeys }) => [kind, count, memoryKeys.map(Number)]);

      test("counts the parts and finds nothing in a sound index, also after a restart", async () => {
        await publish({ 1: ["passage one", "passage two"], 2: "passage", 3: "passage" });
        await project.retract([key(3)]); // deleted: its row is no longer completed, its text stays until it is purged
        const progress: [number, number][] = [];
        const onProgress = (done: number, total: number) => progress.push([done, total]);
        const sound = { memories: 2, chunks: 3, vectors: 3, postings: 3, entityRecords: 3, findings: [] };
        expect(await index.verify(PROJECT, pages([visible(1)], [visible(2)]), onProgress)).toEqual(sound);
        const [done, total] = progress.at(-1) ?? [];
        expect(done).toBe(total);
        const reopened = await opened.reopen();
        expect(await reopened.verify(PROJECT, pages([visible(1), visible(2)]))).toEqual(sound);
      });

      test("names what completed memories lack, and counts chunks without a text", async () => {
        await publish({ 1: "passage", 2: ["passage two", "passage three"], 4: "passage" });
        await project.retract([key(2)]);
        await index.purge([key(4)]);
        const found = await verify(1, 2, 3);
        expect(kindsOf(found)).toEqual([
          ["missing_texts", 1, [3]],
          ["missing_vectors", 2, [2]],
          ["missing_postings", 2, [2]],
          ["surplus_chunks", 1, []],
        ]);
        for (const { detail, path } of found.findings) expect([detail.endsWith("."), path]).toEqual([true, null]);
        await publish({ 2: "passage again", 3: "passage" });
        await project.retract([key(4)]);
        expect((await verify(1, 2, 3)).findings).toEqual([]);
      });

      test("sees no publication half done, and changes nothing", async () => {
        await publish({ 1: "passage" });
        const memories = Array.from({ length: 20 }, (_, at) => at + 2);
        const published = memories.map((n) => publish({ [n]: ["passage one", "passage two"] }));
        const verified = await inTurn([1, 2, 3], () => verify(1));
        expect(verified.flatMap(({ findings }) => findings)).toEqual([]);
        await Promise.all(published);
        expect((await verify(1, ...memories)).findings).toEqual([]);
        expect(await found()).toHaveLength(41);
      });
    });

    describe("a restart", () => {
      test("shows nothing until reconcile has compared index and rows", async () => {
        await publish({ 1: "passage", 2: "passage" });
        const reopened = await opened.reopen();
        const again = await reopened.project(PROJECT);
        expect((await again.admit(null, 1)).memories).toBe(0);
        const attributesOf2 = filteredAttributesJson(attributes({ type: "note" }));
        const found = await reopened.reconcile(
          PROJECT,
          pages([visible(1)], [visible(2, { attributes: attributesOf2 })]),
        );
        expect(found).toEqual({ incomplete: [], removed: 0, repairs: [] });
        expect(memoriesOf(await searchText(again, "passage", await again.admit(null, 1), 10))).toEqual([1, 2]);
        const notes = await again.admitWithin(null, 1, parseFilter({ type: "note" }));
        expect(memoriesOf(await searchVectors(again, MODEL.fingerprint, vectorOf(1), notes, 10))).toEqual([2]);
      });

      test("reports completed memories with incomplete entries, and removes entries of other memories", async () => {
        await publish({ 1: "passage", 2: "passage", 3: "passage" });
        await project.retract([key(3)]);
        const reopened = await opened.reopen();
        const { incomplete, removed } = await reopened.reconcile(
          PROJECT,
          pages([visible(1), visible(3)], [], [visible(4)]),
        );
        expect([...incomplete].sort()).toEqual([3n, 4n] as MemoryKey[]);
        expect(removed).toBe(1);
        const again = await reopened.project(PROJECT);
        await again.show([visible(2)]);
        expect(memoriesOf(await searchText(again, "passage", await again.admit(null, 1), 10))).toEqual([1]);
        await again.publish([publication(3, "passage")]);
        await again.show([visible(3)]);
        expect(
          memoriesOf(await searchVectors(again, MODEL.fingerprint, vectorOf(1), await again.admit(null, 1), 10)),
        ).toEqual([1, 3]);
      });

      test("does not restore what was retracted, purged or dropped", async () => {
        const other = await index.project(OTHER);
        await publish({ 1: "passage", 2: "passage" });
        await publish({ 3: "passage" }, other);
        await project.retract([key(1)]);
        await index.purge([key(1)]);
        await index.drop(OTHER);
        const reopened = await opened.reopen();
        const contents = await reopened.contents([1, 2, 3].map(key));
        expect([...contents.keys()].sort()).toEqual([2n, 3n] as MemoryKey[]);
        const again = await reopened.project(PROJECT);
        await again.show([visible(1), visible(2)]);
        expect(
          memoriesOf(await searchVectors(again, MODEL.fingerprint, vectorOf(1), await again.admit(null, 1), 10)),
        ).toEqual([2]);
      });

      test("makes every call on the closed index fail", async () => {
        const within = await all();
        await opened.reopen();
        const calls: readonly (() => unknown)[] = [
          () => searchText(project, "passage", within, 10),
          () => searchVectors(project, MODEL.fingerprint, vectorOf(1), within, 10),
          () => project.admit(null, 1),
          () => project.publish([publication(1, "passage")]),
          () => project.retract([key(1)]),
        ];
        for (const call of calls) expect(await errorOf(call)).toBeInstanceOf(Error);
      });
    });
  });
}

/** The key of a memory, by its number. */
export function key(memory: number): MemoryKey {
  return BigInt(memory) as MemoryKey;
}

/** The numbers of the memories that hits belong to, ascending. */
export function memoriesOf({ memoryKeys }: LegHits): number[] {
  return [...memoryKeys].map(Number).sort((a, b) => a - b);
}

function expectDescending({ scores }: LegHits): void {
  for (const [at, score] of scores.entries()) expect(score).toBeLessThanOrEqual(scores[at - 1] ?? score);
}

/** A memory with vectors of these models. Its first chunk has the vector `vectorOf(memory, model)`. */
export function publication(
  memory: number,
  passages: string | readonly string[],
  models: readonly IndexModel[] = [MODEL],
): Publication & { readonly content: string } {
  const list = typeof passages === "string" ? [passages] : passages;
  const vectors = models.map((model) =>
    vectorsOf(
      model,
      [...list.keys()].map((ordinal) => memory + ordinal * 10_000),
    ),
  );
  let end = 0;
  const chunks = list.map((passage, ordinal): Chunk => {
    const start = end;
    end += Array.from(passage).length + 1;
    return { ordinal, start, end: end - 1, tokens: 8, headings: [] };
  });
  const passageOf = ({ ordinal }: Chunk) => list[ordinal] ?? "";
  const texts = { passage: passageOf, embeddedText: passageOf, searchText: passageOf, contextText: () => null };
  const entities = { title: null, phrases: [] };
  const content = list.join("\n");
  return { memoryKey: key(memory), version: 1, content, language: "en", chunks, texts, vectors, entities };
}

/** A visible memory without attributes. */
export function visible(memory: number | MemoryKey, more: Partial<VisibleMemory> = {}): VisibleMemory {
  const json = filteredAttributesJson(attributes());
  return { memoryKey: BigInt(memory) as MemoryKey, userKey: null, expiresAt: null, attributes: json, ...more };
}

function attributes(more: Partial<FilteredAttributes> = {}): FilteredAttributes {
  return {
    id: "mem_x" as FilteredAttributes["id"],
    title: null,
    type: null,
    tags: null,
    language: null,
    source: null,
    externalId: null,
    createdAt: 0,
    updatedAt: 0,
    occurredAt: null,
    supersededBy: null,
    userId: null,
    agentId: null,
    sessionId: null,
    metadata: null,
    ...more,
  };
}

/** The unit vector of a memory, the same in each call. */
export function vectorOf(memory: number, { fingerprint, dimensions } = MODEL): Float32Array {
  return unitVector(seeded(memory * 7_919 + fingerprint.charCodeAt(6)), dimensions);
}

function vectorsOf(model: IndexModel, numbers: readonly number[]): ModelVectors {
  const vectors = new Float32Array(numbers.length * model.dimensions);
  for (const [at, number] of numbers.entries()) vectors.set(vectorOf(number, model), at * model.dimensions);
  return { fingerprint: model.fingerprint, vectors };
}

function unitVector(random: () => number, dimensions = DIMENSIONS): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => random() + random() - 1);
  const length = Math.hypot(...vector);
  return vector.map((component) => component / length);
}

function cosine(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, component, at) => sum + component * (right[at] ?? 0), 0);
}
