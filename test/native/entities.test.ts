// Tests graph search through the addon: paths of two hops, nothing from outside the admissible set, equal results after
// reopening. Tests in the Rust code compare the scores with their definition.

import { afterEach, describe, expect, test } from "bun:test";
import { NativeError } from "../../src/adapters/native/addon.ts";
import type {
  GraphHits,
  Hits,
  KnownEntities,
  NativeAdmissible,
  NativeIndex,
  ProjectIndexOptions,
} from "../../src/adapters/native/addon-types.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { live, MODEL, openIndex, publish as publishChunks, vectorOf } from "./corpus.ts";

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(directory = newFolder(), options: Partial<ProjectIndexOptions> = {}): Promise<NativeIndex> {
  const settings = { newModel: MODEL };
  const { index, repairs } = await openIndex({ directory, ...settings, ...options });
  expect(repairs).toEqual([]);
  cleanups.push(() => Promise.try(() => index.close()).catch((cause) => expect(cause).toBeInstanceOf(NativeError)));
  return index;
}

function newFolder(): string {
  const { path, remove } = temporaryFolder();
  cleanups.push(remove);
  return path;
}

const keys = (...values: bigint[]) => BigUint64Array.from(values);
const NO_SEEDS = { chunkKeys: keys(), scores: new Float32Array(0) };

/** A memory with one chunk. The chunk key is ten times the memory key. */
interface TestMemory {
  readonly key: bigint;
  readonly title: string | null;
  readonly text: string;
  readonly user?: bigint;
  readonly phrases?: readonly string[];
}

async function publish(index: NativeIndex, ...memories: readonly TestMemory[]): Promise<void> {
  const chunks = memories.map(({ key, title, text }) => ({
    ...{ chunkKey: key * 10n, memoryKey: key, own: `${title ?? ""}. ${text}`, context: null },
    ...{ language: "en", passage: text, place: "" },
  }));
  const vectors = new Float32Array(chunks.flatMap(({ chunkKey }) => [...vectorOf(chunkKey)]));
  const known: KnownEntities[] = memories.map(({ title, phrases = [] }) => ({ title, phrases }));
  await publishChunks(index, keys(...memories.map(({ key }) => key)), chunks, live(vectors), known);
  show(index, ...memories);
}

function show(index: NativeIndex, ...memories: readonly TestMemory[]): void {
  index.show(
    keys(...memories.map(({ key }) => key)),
    keys(...memories.map(({ user = 0n }) => user)),
    new Float64Array(memories.length),
  );
}

/** `FILM` names the director, `DIRECTOR` his birthplace. The query names only the film. */
const FILM: TestMemory = {
  key: 1n,
  title: "Aas Ka Panchhi",
  text: "Aas Ka Panchhi is a film directed by Mohan Sinha.",
};
const DIRECTOR: TestMemory = { key: 2n, title: "Mohan Sinha (director)", text: "Mohan Sinha was born in Rawalpindi." };
const OTHERS: readonly TestMemory[] = Array.from({ length: 30 }, (_, at) => ({
  ...{ key: BigInt(100 + at), title: `Village ${at} Report`, text: `The harvest of village ${at} was good this year.` },
}));

const searchGraph = (
  index: NativeIndex,
  query: string,
  { chunkKeys, scores }: Pick<Hits, "chunkKeys" | "scores">,
  within: NativeAdmissible,
  limit: number,
) => index.searchGraph(query, chunkKeys, scores, within, { limit, usesSingleNames: false, certaintyMin: 0 });

const pathsOf = (index: NativeIndex, found: GraphHits) => {
  const [from, through] = [index.entityNames(found.from), index.entityNames(found.through)];
  return [...found.chunkKeys].map((hit, at) => ({ hit, from: from[at], via: found.via[at], through: through[at] }));
};

describe("graph search", () => {
  test("finds a memory that the query does not mention via one that it mentions, and returns the path", async () => {
    const index = await open();
    await publish(index, FILM, DIRECTOR, ...OTHERS);
    const within = index.admit(null, 1);
    const found = await searchGraph(index, "Where was the director of aas ka panchhi born?", NO_SEEDS, within, 10);
    expect(pathsOf(index, found)).toEqual(
      [
        { hit: 20n, from: "Aas Ka Panchhi", via: 10n, through: "Mohan Sinha" },
        { hit: 10n, from: "Aas Ka Panchhi", via: 0n, through: null },
      ].sort((a, b) => [...found.chunkKeys].indexOf(a.hit) - [...found.chunkKeys].indexOf(b.hit)),
    );
    expect([...found.memoryKeys].sort()).toEqual([1n, 2n]);
    expect(found.certainty).toBeGreaterThan(0.4);
    expect(Math.max(...found.scores)).toBeCloseTo(found.certainty, 5);
  });

  test("a seed leads on through its entities, and has no path itself", async () => {
    const index = await open();
    await publish(index, FILM, DIRECTOR, ...OTHERS);
    const seeds = { chunkKeys: keys(1000n, 555n), scores: Float32Array.of(1.5, 2) };
    const found = await searchGraph(index, "mohan sinha", seeds, index.admit(null, 1), 10);
    const paths = pathsOf(index, found);
    expect(paths.find(({ hit }) => hit === 1000n)).toEqual({ hit: 1000n, from: null, via: 0n, through: null });
    expect(paths.map(({ hit }) => hit)).not.toContain(555n);
  });

  test("nothing outside the admissible set is found, passed through or counted", async () => {
    const index = await open();
    await publish(index, { ...FILM, user: 7n }, { ...DIRECTOR, user: 8n }, ...OTHERS);
    const search = (user: bigint | null) => searchGraph(index, "Aas Ka Panchhi", NO_SEEDS, index.admit(user, 1), 10);
    expect([...(await search(null)).memoryKeys].sort()).toEqual([1n, 2n]);
    expect([...(await search(7n)).memoryKeys]).toEqual([1n]);
    expect((await search(8n)).memoryKeys).toHaveLength(0);
    expect((await search(8n)).certainty).toBe(0);
    const before = index.admit(null, 1);
    index.hide(keys(1n));
    expect((await searchGraph(index, "Aas Ka Panchhi", NO_SEEDS, before, 10)).memoryKeys).toHaveLength(0);
  });

  test("a query without an entity finds nothing, whatever the seeds", async () => {
    const index = await open();
    await publish(index, FILM, DIRECTOR, ...OTHERS);
    const seeds = { chunkKeys: keys(10n), scores: Float32Array.of(1) };
    for (const query of ["what was good this year?", "", "?!", "\u0000", "\ud800", "a ".repeat(50_000)]) {
      const found = await searchGraph(index, query, seeds, index.admit(null, 1), 10);
      expect([query.slice(0, 9), found.certainty, found.chunkKeys.length]).toEqual([query.slice(0, 9), 0, 0]);
    }
  });

  test("removed or replaced chunks lead nowhere, and reopening changes nothing", async () => {
    const directory = newFolder();
    const first = await open(directory);
    await publish(first, FILM, DIRECTOR, ...OTHERS);
    const ask = async (index: NativeIndex) => {
      const { from, through, ...rest } = await searchGraph(index, "Aas Ka Panchhi", NO_SEEDS, index.admit(null, 1), 10);
      return { ...rest, from: index.entityNames(from), through: index.entityNames(through) };
    };
    const whole = await ask(first);
    await publish(first, { ...DIRECTOR, text: "A director.", title: "Somebody Else" });
    expect([...(await ask(first)).memoryKeys]).toEqual([1n]);
    await publish(first, DIRECTOR);
    expect(await ask(first)).toEqual(whole);
    await first.close();
    const second = await open(directory);
    show(second, FILM, DIRECTOR, ...OTHERS);
    expect(await ask(second)).toEqual(whole);
    await second.remove(keys(1n));
    expect((await ask(second)).memoryKeys).toHaveLength(0);
  });

  test("bad seeds and limits are refused", async () => {
    const index = await open();
    await publish(index, FILM);
    const within = index.admit(null, 1);
    const eleven = { chunkKeys: new BigUint64Array(11), scores: new Float32Array(11) };
    const elsewhere = (await open()).admit(null, 1);
    const refusals = [
      () => searchGraph(index, "x", eleven, within, 10),
      () => searchGraph(index, "x", { chunkKeys: keys(1n), scores: Float32Array.of(Number.NaN) }, within, 10),
      () => searchGraph(index, "x", { chunkKeys: keys(1n), scores: new Float32Array(0) }, within, 10),
      () => searchGraph(index, "x", NO_SEEDS, within, 0),
      () => searchGraph(index, "x", NO_SEEDS, within, 2_001),
      () => searchGraph(index, "x", NO_SEEDS, elsewhere, 10),
      () => index.neighbourhood(1n, within, 0),
      () => index.neighbourhood(2n ** 64n, within, 1),
    ];
    for (const refused of refusals) await expect(refused()).rejects.toMatchObject({ code: "invalid" });
  });
});

describe("entities", () => {
  test("unknown ids have no name", async () => {
    const index = await open();
    expect(index.entityNames(Uint32Array.of(0, 1, 4_294_967_295))).toEqual([null, null, null]);
    await publish(index, FILM);
    expect(index.entityNames(Uint32Array.of(0, 4_294_967_295))).toEqual([null, null]);
  });

  test("a memory's neighbourhood has its entities and the memories that share them", async () => {
    const index = await open();
    await publish(index, FILM, { ...DIRECTOR, phrases: ["Born", "unsaid phrase"] }, ...OTHERS);
    const { entities, neighbours } = await index.neighbourhood(2n, index.admit(null, 1), 50);
    const described = entities.map(({ id, name, kind, mentions, memories }) => ({
      name,
      kind,
      mentions,
      memories,
      links: id > 0,
    }));
    expect(described).toContainEqual({ name: "Mohan Sinha", kind: "t", mentions: 2, memories: 2, links: true });
    expect(described).toContainEqual({ name: "Rawalpindi", kind: "c", mentions: 1, memories: 1, links: false });
    expect(described).toContainEqual({ name: "born", kind: "k", mentions: 1, memories: 1, links: false });
    expect(described.findIndex(({ links }) => !links)).toBeGreaterThan(described.findLastIndex(({ links }) => links));
    expect(neighbours).toEqual([{ memoryKey: 1n, weight: expect.any(Number), entities: ["Mohan Sinha"] }]);
    expect(await index.neighbourhood(2n, index.admit(9n, 1), 50)).toEqual({ entities: [], neighbours: [] });
    expect(await index.neighbourhood(77n, index.admit(null, 1), 50)).toEqual({ entities: [], neighbours: [] });
  });
});
