// ChunkIndex in memory by brute force: exact cosine, naive full text, a graph of shared entities. Every call answers
// after a short random delay (delays.ts); changes take effect in the order of their calls. An index opened on the
// `Disk` of a closed one has the same stored data.

import { type ChunkPlace, PLACE_FIELDS } from "../../src/domain/chunk.ts";
import type { EntityHash } from "../../src/domain/entity.ts";
import { Fault, invariant } from "../../src/domain/fault.ts";
import { type Filter, type FilteredAttributes, matchesFilter } from "../../src/domain/filter.ts";
import type { ChunkKey, MemoryId, MemoryKey, ProjectId, UserKey } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import {
  type AdmissibleSet,
  type ChunkIndex,
  type ChunkKeys,
  type EntityCuration,
  type EntityKind,
  type EntityNode,
  type EntityQuery,
  type FoundEntity,
  type FoundPath,
  type GraphHits,
  type GraphOptions,
  type GraphPath,
  type IndexFinding,
  type IndexModel,
  type IndexModels,
  type IndexQuery,
  type IndexVerification,
  type MemoryEntity,
  type MissingVectors,
  type ModelVectors,
  type Neighbourhood,
  OtherModel,
  type Passage,
  type Pool,
  type ProjectIndex,
  type Publication,
  type Rebuild,
  type Recall,
  type Reconciliation,
  type Seeds,
  type StoredMemory,
  type StoredText,
  type VectorIndexState,
  type VisibleMemory,
} from "../../src/ports/chunk-index.ts";
import type { PlacedMemory } from "../../src/ports/map-store.ts";
import { type Delay, Delays } from "./delays.ts";

interface StoredEntity {
  readonly name: string;
  readonly kind: EntityKind;
}

interface StoredChunk {
  readonly chunkKey: ChunkKey;
  readonly memoryKey: MemoryKey;
  /** Its vectors by the fingerprint of their model. */
  readonly vectors: Map<string, Float32Array>;
  readonly words: ReadonlyMap<string, number>;
  readonly passage: string;
  readonly place: ChunkPlace;
  /** Entities that the passage mentions, by their name in lower case. */
  readonly entities: ReadonlyMap<string, StoredEntity>;
}

/** Maximum number of chunks of `compareVectors`. */
const COMPARED_CHUNKS_MAX = 256;

/** The data of an index that survives when the index is closed. */
export class Disk {
  readonly texts = new Map<MemoryKey, StoredMemory>();
  readonly projects = new Map<ProjectId, Map<MemoryKey, readonly StoredChunk[]>>();
  readonly models = new Map<ProjectId, IndexModels>();
  nextChunkKey = 1n;
}

/** ChunkIndex in memory. */
export class InMemoryChunkIndex implements ChunkIndex {
  readonly #projects = new Map<ProjectId, InMemoryProjectIndex>();
  readonly #dropped = new Set<ProjectId>();
  readonly #calls: OrderedCalls;

  /** @param models the installed models; new projects have the first */
  constructor(
    private readonly models: readonly [IndexModel, ...IndexModel[]],
    private readonly disk = new Disk(),
    private readonly delays: Delay = new Delays(),
  ) {
    this.#calls = new OrderedCalls(delays);
  }

  async project(id: ProjectId): Promise<InMemoryProjectIndex> {
    await this.delays.next("index.project", "begin");
    this.#calls.checkOpen();
    if (this.#dropped.has(id)) throw new Fault("project_not_found", `There is no project '${id}' any more.`);
    const opened = this.#projects.get(id) ?? this.#open(id);
    this.#projects.set(id, opened);
    return opened;
  }

  current(id: ProjectId): Promise<InMemoryProjectIndex> {
    return this.project(id);
  }

  async show(id: ProjectId, memories: readonly VisibleMemory[]): Promise<void> {
    await (await this.project(id)).show(memories);
  }

  async hide(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void> {
    await (await this.project(id)).hide(memoryKeys);
  }

  async retract(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void> {
    const project = await this.project(id);
    await project.hide(memoryKeys);
    await project.retract(memoryKeys);
  }

  /** Keys of the visible memories of a project. */
  visibleKeys(id: ProjectId): ReadonlySet<MemoryKey> {
    return this.#projects.get(id)?.visibleKeys ?? new Set();
  }

  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredText>> {
    return this.#calls.read(
      "index.contents",
      () => new Map([...this.#stored(memoryKeys)].map(([key, { version, content }]) => [key, { version, content }])),
    );
  }

  stored(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredMemory>> {
    return this.#calls.read("index.stored", () => this.#stored(memoryKeys));
  }

  purge(memoryKeys: readonly MemoryKey[]): Promise<void> {
    return this.#calls.change(
      "index.purge",
      memoryKeys.map((key) => () => this.disk.texts.delete(key)),
      () => undefined,
    );
  }

  async eraseReplaced(): Promise<void> {
    // nothing is left of what was replaced
  }

  async reconcile(id: ProjectId, completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation> {
    return (await this.project(id)).reconcile(completed);
  }

  async verify(
    id: ProjectId,
    completed: AsyncIterable<readonly Pick<VisibleMemory, "memoryKey">[]>,
    onProgress: (done: number, total: number) => void = () => undefined,
  ): Promise<IndexVerification> {
    const project = await this.project(id);
    const keys: MemoryKey[] = [];
    for await (const page of completed) keys.push(...page.map(({ memoryKey }) => memoryKey));
    onProgress(0, 0); // there are no files
    return this.#calls.change("index.verify", [], () => project.compare(keys));
  }

  /** Does nothing: removed chunks take no space. */
  compact(): Promise<boolean> {
    return this.#calls.change("index.compact", [], () => true);
  }

  async vectorIndexes(): Promise<ReadonlyMap<ProjectId, VectorIndexState>> {
    return new Map([...this.#projects].map(([id, project]) => [id, project.vectorIndex()]));
  }

  drop(id: ProjectId): Promise<void> {
    this.#dropped.add(id);
    return this.#calls.change("index.drop", [], () => {
      this.#projects.delete(id);
      this.disk.projects.delete(id);
      this.disk.models.delete(id);
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
  }

  #stored(memoryKeys: readonly MemoryKey[]): Map<MemoryKey, StoredMemory> {
    return new Map([...this.disk.texts].filter(([key]) => memoryKeys.includes(key)));
  }

  #open(id: ProjectId): InMemoryProjectIndex {
    const [live] = this.models;
    const { fingerprint, dimensions } = this.disk.models.get(id)?.live ?? live;
    invariant(
      this.models.some((model) => model.fingerprint === fingerprint),
      `the model ${fingerprint} is installed`,
    );
    const isKnown = this.disk.models.has(id);
    if (!isKnown) this.disk.models.set(id, { live: { fingerprint, dimensions }, building: null, previous: null });
    return new InMemoryProjectIndex(id, this.disk, this.#calls, this.delays);
  }
}

/** Runs changes in the order of their calls. Reads do not wait for changes. Both are delayed. */
class OrderedCalls {
  #lastChange: Promise<unknown> = Promise.resolve();
  #isOpen = true;

  constructor(private readonly delays: Delay) {}

  checkOpen(): void {
    invariant(this.#isOpen, "an index was used after it was closed");
  }

  /**
   * Runs `steps` with delays between them, then `work`, whose result it returns. A crash, or an error of a delay,
   * leaves the effects of the steps before it.
   */
  change<T>(call: string, steps: readonly (() => void)[], work: () => T): Promise<T> {
    const isOpen = this.#isOpen;
    const change = async (): Promise<T> => {
      invariant(isOpen, "an index was used after it was closed");
      await this.delays.next(call, "begin");
      for (const step of steps) {
        step();
        await this.delays.next(call, "end");
      }
      return work();
    };
    const result = this.#lastChange.then(change, change);
    this.#lastChange = result;
    return result;
  }

  async read<T>(call: string, work: () => T): Promise<T> {
    this.checkOpen();
    await this.delays.next(call, "begin");
    const result = work();
    await this.delays.next(call, "end");
    return result;
  }

  async close(): Promise<void> {
    await this.change("index.close", [], () => undefined);
    this.#isOpen = false;
  }
}

interface Admitted extends AdmissibleSet {
  readonly project: ProjectId;
  readonly keys: ReadonlySet<MemoryKey>;
}

const NO_SEEDS: Seeds = { chunkKeys: new BigUint64Array(), scores: new Float32Array() };

type Scored = { readonly chunk: StoredChunk; readonly score: number };

/** A publication whose chunks have keys and texts. */
interface ToStore {
  readonly memoryKey: MemoryKey;
  readonly chunks: readonly StoredChunk[];
  readonly text: StoredMemory;
  readonly models: readonly ModelVectors[];
}

/** The index of one project in memory. */
export class InMemoryProjectIndex implements ProjectIndex {
  readonly #visible = new Map<MemoryKey, VisibleMemory & { readonly filtered: FilteredAttributes }>();

  constructor(
    private readonly id: ProjectId,
    private readonly disk: Disk,
    private readonly calls: OrderedCalls,
    private readonly delays: Delay,
  ) {}

  [Symbol.dispose](): void {}

  /** Keys of the visible memories. */
  get visibleKeys(): ReadonlySet<MemoryKey> {
    return new Set(this.#visible.keys());
  }

  publish(publications: readonly Publication[]): Promise<void> {
    // copies everything now: a publication computes its texts on access, and the caller may change its arrays after the
    // call
    const stored = publications.map((publication) => this.#toStore(publication));
    const steps = stored.flatMap(({ memoryKey, chunks, text }) => [
      () => void this.disk.texts.set(memoryKey, text),
      () => void this.#memories().set(memoryKey, chunks),
    ]);
    const checks = stored.map((each) => () => this.#checkModels(each));
    return this.calls.change("index.publish", [...checks, ...steps], () => undefined);
  }

  /** First all vectors, then the texts of one chunk per part. */
  async *publishInParts(publication: Publication): AsyncGenerator<void> {
    const stored = this.#toStore(publication);
    const { memoryKey, chunks, text } = stored;
    const vectors = chunks.map((chunk) => ({ ...chunk, words: new Map(), passage: "", entities: new Map() }));
    const steps = [
      () => this.#checkModels(stored),
      () => void this.disk.texts.set(memoryKey, text),
      () => void this.#memories().set(memoryKey, vectors),
    ];
    await this.calls.change("index.publishInParts", steps, () => undefined);
    for (const chunk of chunks) {
      yield;
      await this.calls.change("index.publishInParts", [() => this.#addText(chunk)], () => undefined);
    }
  }

  /** Adds the text of a chunk to its vectors. If the memory was retracted meanwhile, the chunk has only its text. */
  #addText(chunk: StoredChunk): void {
    const others = new Map(
      this.#memories()
        .get(chunk.memoryKey)
        ?.map((each) => [each.chunkKey, each]),
    );
    const vectors = others.get(chunk.chunkKey)?.vectors ?? new Map();
    this.#memories().set(chunk.memoryKey, [...others.set(chunk.chunkKey, { ...chunk, vectors }).values()]);
  }

  /** Gives the chunks of a publication keys. */
  #toStore(publication: Publication): ToStore {
    const { memoryKey, version, content } = publication;
    const chunkKeys = publication.chunks.map(() => this.disk.nextChunkKey++ as ChunkKey);
    const chunks = toChunks(publication, chunkKeys);
    const places = chunks.map(({ chunkKey, place: { ordinal, start, end } }) => ({ chunkKey, ordinal, start, end }));
    return {
      memoryKey,
      chunks,
      text: { version, content: content.slice(0), chunks: places },
      models: publication.vectors,
    };
  }

  /** Removes vectors of models that the project does not have. Refuses memories without vectors of the live one. */
  #checkModels({ chunks, models }: ToStore): void {
    const { live, building } = this.#models();
    for (const { vectors } of chunks) {
      for (const model of vectors.keys()) {
        if (model !== live.fingerprint && model !== building?.fingerprint) vectors.delete(model);
      }
    }
    checkModel(live, models.find(isOf(live))?.fingerprint ?? "none");
  }

  rebuild(memories: readonly Rebuild[]): Promise<readonly MemoryKey[]> {
    const given = memories.map((memory) => ({ ...memory, chunks: toChunks(memory, memory.chunkKeys) }));
    return this.calls.change("index.rebuild", [], () => {
      const { live } = this.#models();
      for (const { vectors } of given) checkModel(live, vectors.find(isOf(live))?.fingerprint ?? "none");
      const skipped: MemoryKey[] = [];
      for (const { memoryKey, chunks } of given) {
        const stored = new Map(
          this.#memories()
            .get(memoryKey)
            ?.map((chunk) => [chunk.chunkKey, chunk]),
        );
        const isSame = stored.size === chunks.length && chunks.every(({ chunkKey }) => stored.has(chunkKey));
        if (!isSame || chunks.length === 0) {
          skipped.push(memoryKey);
          continue;
        }
        const rebuilt = chunks.map((chunk) => {
          const vector = chunk.vectors.get(live.fingerprint) ?? new Float32Array();
          const others = stored.get(chunk.chunkKey)?.vectors ?? [];
          return { ...chunk, vectors: new Map([...others, [live.fingerprint, vector]]) };
        });
        this.#memories().set(memoryKey, rebuilt);
      }
      return skipped;
    });
  }

  retract(memoryKeys: readonly MemoryKey[]): Promise<void> {
    return this.calls.change(
      "index.retract",
      memoryKeys.map((key) => () => this.#memories().delete(key)),
      () => undefined,
    );
  }

  show(memories: readonly VisibleMemory[]): Promise<void> {
    return this.calls.change("index.show", [], () => this.#show(memories));
  }

  hide(memoryKeys: readonly MemoryKey[]): Promise<void> {
    return this.calls.change("index.hide", [], () => {
      for (const key of memoryKeys) this.#visible.delete(key);
    });
  }

  admit(userKey: UserKey | null, nowMs: number): Promise<AdmissibleSet> {
    return this.calls.read("index.admit", () => this.#admitted(userKey, nowMs, () => true));
  }

  admitWithin(userKey: UserKey | null, nowMs: number, filter: Filter): Promise<AdmissibleSet> {
    return this.calls.read("index.admitWithin", () =>
      this.#admitted(userKey, nowMs, (filtered) => matchesFilter(filter, filtered)),
    );
  }

  async recall(
    { text, fingerprint, vector, vectorLimit, textLimit, graph: options, onLeg = () => undefined }: Recall,
    within: AdmissibleSet,
  ): Promise<Pool> {
    const [textHits, graph, query] = await Promise.all([
      this.#searchText(text, within, textLimit ?? 0),
      options === null ? null : this.#searchGraph(text, NO_SEEDS, within, options),
      vector.then((embedded) => ({ text, fingerprint, vector: embedded })),
    ]);
    const pool = await this.calls.read("index.recall", () => {
      checkModel(this.#models().live, fingerprint);
      const near = best(
        this.#chunks(within).map((chunk) => ({ chunk, score: similarity(fingerprint, query.vector, chunk) })),
        vectorLimit,
      );
      const chunks = new Set([...near, ...textHits].map(({ chunk }) => chunk));
      const found = toPool([...chunks], query, textLimit !== null);
      const stored = this.#find(found.chunkKeys);
      return { ...found, cosines: found.cosines.map((score, at) => (stored[at] === null ? Number.NaN : score)) };
    });
    if (textLimit !== null) onLeg("text", textHits.length);
    onLeg("vector", pool.chunkKeys.length);
    if (graph === null) return pool;
    const isSure = graph.certainty > 0 && graph.certainty >= (options?.certaintyMin ?? 0);
    onLeg("graph", isSure ? graph.chunkKeys.length : 0);
    return isSure ? this.#withGraph(query, pool, graph) : pool;
  }

  async walk(query: IndexQuery, seeds: Seeds, pool: Pool, within: AdmissibleSet, options: GraphOptions): Promise<Pool> {
    const graph = await this.#searchGraph(query.text, seeds, within, options);
    checkModel(this.#models().live, query.fingerprint);
    return this.#withGraph(query, pool, graph);
  }

  #withGraph(query: IndexQuery, pool: Pool, graph: GraphHits): Pool {
    const found = this.#find(graph.chunkKeys.filter((key) => !pool.chunkKeys.includes(key)));
    const added = toPool(
      found.filter((chunk) => chunk !== null),
      query,
      pool.textScores !== null,
    );
    return {
      chunkKeys: BigUint64Array.of(...pool.chunkKeys, ...added.chunkKeys),
      memoryKeys: BigUint64Array.of(...pool.memoryKeys, ...added.memoryKeys),
      cosines: Float32Array.of(...pool.cosines, ...added.cosines),
      textScores: pool.textScores === null ? null : Float32Array.of(...pool.textScores, ...(added.textScores ?? [])),
      graph,
    };
  }

  compareVectors({ chunkKeys }: ChunkKeys): Promise<Float32Array> {
    return this.calls.read("index.compareVectors", () => {
      if (chunkKeys.length > COMPARED_CHUNKS_MAX) throw new Error(`at most ${COMPARED_CHUNKS_MAX} chunks`);
      const { fingerprint } = this.#models().live;
      const chunks = this.#find(chunkKeys);
      const between = (left: StoredChunk | null, right: StoredChunk | null) => {
        const vector = left?.vectors.get(fingerprint);
        return vector === undefined || right === null ? Number.NaN : similarity(fingerprint, vector, right);
      };
      return Float32Array.from(chunks.flatMap((left) => chunks.map((right) => between(left, right))));
    });
  }

  storedVectors(fingerprint: string, { chunkKeys }: ChunkKeys): Promise<Float32Array> {
    return this.calls.read("index.storedVectors", () => {
      const { live, building } = this.#models();
      const model = building?.fingerprint === fingerprint ? building : live;
      checkModel(model, fingerprint);
      const missing = new Float32Array(model.dimensions).fill(Number.NaN);
      const rows = this.#find(chunkKeys).map((chunk) => chunk?.vectors.get(fingerprint) ?? missing);
      return Float32Array.from(rows.flatMap((row) => [...row]));
    });
  }

  async chooseVectorIndex(): Promise<void> {
    // every search compares all vectors
  }

  vectorIndex(): VectorIndexState {
    const none = { graphChunks: 0, vectorsMissing: 0, graphSearches: 0, note: null };
    return { ...none, isGraphActive: false, build: null };
  }

  models(): Promise<IndexModels> {
    return this.calls.read("index.models", () => this.#models());
  }

  beginModel({ fingerprint, dimensions }: IndexModel): Promise<void> {
    return this.calls.change("index.beginModel", [], () => {
      const { live, building, previous } = this.#models();
      if (building?.fingerprint === fingerprint) return;
      if (building !== null || live.fingerprint === fingerprint) throw new Error(`${fingerprint} cannot be built now`);
      const kept = previous?.fingerprint === fingerprint ? null : previous;
      this.#setModels({ live, building: { fingerprint, dimensions }, previous: kept });
    });
  }

  missingVectors(): Promise<MissingVectors> {
    return this.calls.change("index.missingVectors", [], () => {
      const { fingerprint } = this.#building();
      const memories = [...this.#memories()].sort(([one], [other]) => (one < other ? -1 : 1));
      const missing = memories.filter(([, chunks]) => chunks.some(({ vectors }) => !vectors.has(fingerprint)));
      const count = (of: typeof memories) => of.reduce((sum, [, chunks]) => sum + chunks.length, 0);
      return {
        memoryKeys: missing.map(([key]) => key),
        missingChunks: count(missing),
        chunks: count(memories),
      };
    });
  }

  addVectors({ chunkKeys, memoryKeys }: ChunkKeys, { fingerprint, vectors }: ModelVectors): Promise<number> {
    return this.calls.change("index.addVectors", [], () => {
      const building = this.#building();
      checkModel(building, fingerprint);
      const { dimensions } = building;
      if (vectors.length !== chunkKeys.length * dimensions) throw new Error("one vector per chunk is needed");
      let added = 0;
      for (const key of new Set(memoryKeys)) {
        const chunks = this.#memories().get(key as MemoryKey) ?? [];
        const positions = [...memoryKeys.keys()].filter((at) => memoryKeys[at] === key);
        const given = new Map(positions.map((at) => [chunkKeys[at] ?? 0n, at]));
        if (chunks.length !== given.size || chunks.some(({ chunkKey }) => !given.has(chunkKey))) continue;
        for (const chunk of chunks) {
          const at = given.get(chunk.chunkKey) ?? 0;
          chunk.vectors.set(fingerprint, vectors.slice(at * dimensions, (at + 1) * dimensions));
        }
        added += chunks.length;
      }
      return added;
    });
  }

  swapModel(): Promise<boolean> {
    return this.calls.change("index.swapModel", [], () => {
      const building = this.#building();
      const { live, previous } = this.#models();
      const chunks = [...this.#memories().values()].flat();
      if (chunks.some(({ vectors }) => !vectors.has(building.fingerprint))) return false;
      if (previous !== null) this.#forget(previous);
      this.#setModels({ live: building, building: null, previous: live });
      return true;
    });
  }

  dropBuilding(): Promise<void> {
    return this.calls.change("index.dropBuilding", [], () => {
      const { live, building, previous } = this.#models();
      if (building !== null) this.#forget(building);
      this.#setModels({ live, building: null, previous });
    });
  }

  forgetPrevious(): Promise<void> {
    return this.calls.change("index.forgetPrevious", [], () => {
      const { live, building, previous } = this.#models();
      if (previous !== null) this.#forget(previous);
      this.#setModels({ live, building, previous: null });
    });
  }

  #searchText(text: string, within: AdmissibleSet, limit: number): Promise<readonly Scored[]> {
    return this.calls.read("index.searchText", () => {
      const scored = this.#chunks(within).map((chunk) => ({ chunk, score: textScore(text, chunk) }));
      return best(
        scored.filter(({ score }) => score > 0),
        limit,
      );
    });
  }

  // Passages that mention an entity of the query get score 0.9. Passages that share another entity with one of them, or
  // with a seed, get 0.45. If no passage mentions an entity of the query, nothing is found.
  #searchGraph(
    query: string,
    seeds: Seeds,
    within: AdmissibleSet,
    { limit, certaintyMin }: GraphOptions,
  ): Promise<GraphHits> {
    return this.calls.read("index.searchGraph", (): GraphHits => {
      const chunks = this.#chunks(within);
      const asked = ` ${[...wordsOf(query).keys()].join(" ")} `;
      const inQuery = (entity: string) => asked.includes(` ${[...wordsOf(entity).keys()].join(" ")} `);
      const paths = new Map<StoredChunk, GraphPath & { readonly score: number }>();
      for (const chunk of chunks) {
        const from = [...chunk.entities].find(([key]) => inQuery(key))?.[1].name;
        if (from !== undefined) paths.set(chunk, { from, via: null, through: null, score: 0.9 });
      }
      const seedChunks = chunks.filter(({ chunkKey }) => seeds.chunkKeys.includes(chunkKey));
      const first = [...paths.keys()];
      for (const via of first.length === 0 ? [] : [...first, ...seedChunks]) {
        for (const chunk of chunks) {
          const shared = paths.has(chunk) ? undefined : [...chunk.entities].find(([key]) => via.entities.has(key))?.[1];
          if (shared === undefined) continue;
          paths.set(chunk, {
            from: paths.get(via)?.from ?? null,
            via: via.chunkKey,
            through: shared.name,
            score: 0.45,
          });
        }
      }
      const scored = [...paths].map(([chunk, { score }]) => ({ chunk, score }));
      const hits = toHits(scored, limit);
      if ((hits.scores[0] ?? 0) < certaintyMin) {
        return {
          ...toHits([], limit),
          certainty: 0,
          pathTo: () => ({ from: null, via: null, through: null }),
        };
      }
      const shown = best(scored, limit).map(({ chunk }) => paths.get(chunk));
      return {
        ...hits,
        certainty: hits.scores[0] ?? 0,
        pathTo: (position) => {
          const { from = null, via = null, through = null } = shown[position] ?? {};
          return { from, via, through };
        },
      };
    });
  }

  neighbourhood(memoryKey: MemoryKey, within: AdmissibleSet, limit: number): Promise<Neighbourhood> {
    return this.calls.read("index.neighbourhood", () => {
      const others = this.#chunks(within);
      const own = this.#memories().get(memoryKey) ?? [];
      const memoriesWith = (key: string) =>
        new Set(others.filter(({ entities }) => entities.has(key)).map((chunk) => chunk.memoryKey));
      const keys = [...new Set(own.flatMap(({ entities }) => [...entities.keys()]))];
      const entities = keys
        .map((key): MemoryEntity => {
          const chunks = own.filter((chunk) => chunk.entities.has(key));
          const { name = key, kind = "phrase" } = chunks[0]?.entities.get(key) ?? {};
          const chunkKeys = BigUint64Array.from(chunks, ({ chunkKey }) => chunkKey);
          return { name, kind, mentions: chunks.length, memories: memoriesWith(key).size, chunkKeys };
        })
        .sort((a, b) => a.memories - b.memories);
      const neighbours = Map.groupBy(
        keys.flatMap((key) => [...memoriesWith(key)].map((neighbour) => ({ key, neighbour }))),
        ({ neighbour }) => neighbour,
      );
      neighbours.delete(memoryKey);
      return {
        entities: entities.slice(0, limit),
        neighbours: [...neighbours]
          .map(([neighbour, shared]) => ({
            memoryKey: neighbour,
            weight: shared.reduce((sum, { key }) => sum + 1 / memoriesWith(key).size, 0),
            entities: shared.map(({ key }) => entities.find(({ name }) => name.toLowerCase() === key)?.name ?? key),
          }))
          .sort((a, b) => b.weight - a.weight)
          .slice(0, limit),
      };
    });
  }

  /** The passages of each entity, with merged ones under their target. */
  #explored(within: AdmissibleSet, { merged, named }: EntityCuration) {
    const [into, names] = [new Map(merged), new Map(named)];
    const explored = new Map<EntityHash, { name: string; kind: EntityKind; chunks: StoredChunk[] }>();
    for (const chunk of this.#chunks(within)) {
      for (const [key, { name, kind }] of chunk.entities) {
        const hash = BigInt(Bun.hash.wyhash(key));
        const target = into.get(hash) ?? hash;
        const entity = explored.get(target) ?? { name: names.get(target) ?? name, kind, chunks: [] };
        if (!entity.chunks.includes(chunk)) entity.chunks.push(chunk);
        explored.set(target, entity);
      }
    }
    const node = (hash: EntityHash): EntityNode => {
      const { name = "", kind = "phrase", chunks = [] } = explored.get(hash) ?? {};
      const memories = new Set(chunks.map(({ memoryKey }) => memoryKey)).size;
      const order = (BigInt(2 ** 20 - memories) << 40n) | (hash >> 24n);
      return { hash, name, kind, memories, chunkKey: chunks[0]?.chunkKey ?? (0n as ChunkKey), order };
    };
    return { explored, node, targetOf: (hash: EntityHash) => into.get(hash) ?? hash };
  }

  entities(within: AdmissibleSet, curation: EntityCuration, query: EntityQuery): Promise<readonly EntityNode[]> {
    return this.calls.read("index.entities", () => {
      const { explored, node } = this.#explored(within, curation);
      const { part, kind, after, limit } = query;
      return [...explored.keys()]
        .map(node)
        .filter((each) => part === null || each.name.toLowerCase().includes(part))
        .filter((each) => (kind === null || each.kind === kind) && (after === null || each.order > after))
        .sort((a, b) => (a.order < b.order ? -1 : 1))
        .slice(0, limit);
    });
  }

  entity(...[asked, within, curation, limit]: Parameters<ProjectIndex["entity"]>): Promise<FoundEntity | null> {
    return this.calls.read("index.entity", () => {
      const { explored, node, targetOf } = this.#explored(within, curation);
      const hash = targetOf(asked);
      const own = explored.get(hash)?.chunks ?? [];
      if (own.length === 0) return null;
      const shared = [...explored].map(([other, { chunks }]) => {
        return { entity: node(other), weight: chunks.filter((chunk) => own.includes(chunk)).length };
      });
      const neighbours = shared.filter(({ entity, weight }) => entity.hash !== hash && weight > 0);
      const greatest = Math.max(1, ...neighbours.map(({ weight }) => weight));
      return {
        entity: node(hash),
        neighbours: neighbours
          .sort((a, b) => b.weight - a.weight)
          .slice(0, limit)
          .map(({ entity, weight }) => ({ entity, weight: weight / greatest })),
        passages: own.toReversed().slice(0, 20),
      };
    });
  }

  entityPath(...[from, to, within, curation]: Parameters<ProjectIndex["entityPath"]>): Promise<FoundPath> {
    return this.calls.read("index.entityPath", () => {
      const { explored, node, targetOf } = this.#explored(within, curation);
      const [first, last] = [targetOf(from), targetOf(to)];
      const known = { knowsFirst: explored.has(first), knowsLast: explored.has(last) };
      let paths: { readonly hashes: readonly EntityHash[]; readonly links: readonly StoredChunk[] }[] = [
        { hashes: [first], links: [] },
      ];
      const seen = new Set([first]);
      for (let step = 0; step <= 4 && known.knowsFirst && known.knowsLast; step++) {
        const found = paths.find(({ hashes }) => hashes.at(-1) === last);
        if (found !== undefined) return { ...known, entities: found.hashes.map(node), links: found.links };
        paths = paths.flatMap(({ hashes, links }) =>
          (explored.get(hashes.at(-1) ?? 0n)?.chunks ?? []).flatMap((chunk) =>
            [...explored].flatMap(([other, { chunks }]) => {
              if (seen.has(other) || !chunks.includes(chunk)) return [];
              seen.add(other);
              return [{ hashes: [...hashes, other], links: [...links, chunk] }];
            }),
          ),
        );
      }
      return { ...known, entities: [], links: [] };
    });
  }

  layout(_: readonly PlacedMemory[], others: readonly MemoryKey[]): Promise<readonly PlacedMemory[]> {
    return this.calls.read("index.layout", () => {
      const of = (key: MemoryKey, seed: bigint) => (Number(Bun.hash.wyhash(`${key}`, seed) % 2_000n) - 1_000) / 1_000;
      return others.map((key) => ({ key, x: of(key, 1n), y: of(key, 2n) }));
    });
  }

  passages(chunkKeys: BigUint64Array): Promise<readonly (Passage | null)[]> {
    return this.calls.read("index.passages", () =>
      this.#find(chunkKeys).map((chunk) =>
        chunk === null ? null : { chunkKey: chunk.chunkKey, text: chunk.passage, place: chunk.place },
      ),
    );
  }

  /** See `IndexMaintenance.verify`. Every chunk has all parts here, so only whole memories can be missing. */
  compare(completed: readonly MemoryKey[]): IndexVerification {
    const indexed = this.#memories();
    const texts = completed.flatMap((key) => this.disk.texts.get(key)?.chunks ?? []);
    const lacking = completed.filter((key) => this.disk.texts.has(key) && !indexed.has(key)).sort(ascending);
    const lackingChunks = lacking.flatMap((key) => this.disk.texts.get(key)?.chunks ?? []).length;
    const noTexts = completed.filter((key) => !this.disk.texts.has(key)).sort(ascending);
    const surplus = [...indexed].filter(([key]) => !this.disk.texts.has(key)).flatMap(([, chunks]) => chunks);
    const chunks = [...indexed.values()].flat().length;
    const finding = (kind: IndexFinding["kind"], count: number, memoryKeys: readonly MemoryKey[]) => {
      return { kind, count, memoryKeys, path: null, detail: `${count} × ${kind}.` };
    };
    const findings = [
      finding("missing_texts", noTexts.length, noTexts),
      finding("missing_vectors", lackingChunks, lacking),
      finding("missing_postings", lackingChunks, lacking),
      finding("surplus_chunks", surplus.length, []),
    ];
    return {
      ...{ memories: completed.length, chunks: texts.length, vectors: chunks, postings: chunks },
      ...{ entityRecords: chunks, findings: findings.filter(({ count }) => count > 0) },
    };
  }

  async reconcile(completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation> {
    const rows: VisibleMemory[] = [];
    for await (const page of completed) rows.push(...page);
    await this.delays.next("index.reconcile", "begin");
    return this.calls.change("index.reconcile", [], () => {
      const isWhole = ({ memoryKey }: VisibleMemory) =>
        this.disk.texts.has(memoryKey) && this.#memories().has(memoryKey);
      const known = new Set(rows.map(({ memoryKey }) => memoryKey));
      const foreign = [...this.#memories().keys()].filter((key) => !known.has(key));
      for (const key of foreign) this.#memories().delete(key);
      this.#show(rows.filter(isWhole));
      const incomplete = rows.filter((row) => !isWhole(row)).map(({ memoryKey }) => memoryKey);
      return { incomplete, removed: foreign.length, repairs: [] };
    });
  }

  #models(): IndexModels {
    const models = this.disk.models.get(this.id);
    invariant(models, `the project ${this.id} has a model`);
    return models;
  }

  #setModels(models: IndexModels): void {
    this.disk.models.set(this.id, models);
  }

  #building(): IndexModel {
    const { building } = this.#models();
    if (building === null) throw new Error("no vectors of another model are being built");
    return building;
  }

  /** Removes all vectors of a model. */
  #forget({ fingerprint }: IndexModel): void {
    for (const { vectors } of [...this.#memories().values()].flat()) vectors.delete(fingerprint);
  }

  #show(memories: readonly VisibleMemory[]): void {
    for (const memory of memories) {
      this.#visible.set(memory.memoryKey, { ...memory, filtered: filteredAttributes(memory.attributes) });
    }
  }

  #memories(): Map<MemoryKey, readonly StoredChunk[]> {
    const memories = this.disk.projects.get(this.id) ?? new Map<MemoryKey, readonly StoredChunk[]>();
    this.disk.projects.set(this.id, memories);
    return memories;
  }

  #admitted(userKey: UserKey | null, nowMs: number, isWithin: (filtered: FilteredAttributes) => boolean): Admitted {
    const admitted = [...this.#visible.values()].filter(
      (memory) =>
        (userKey === null || memory.userKey === userKey) &&
        (memory.expiresAt === null || memory.expiresAt > nowMs) &&
        isWithin(memory.filtered),
    );
    return { project: this.id, keys: new Set(admitted.map(({ memoryKey }) => memoryKey)), memories: admitted.length };
  }

  /** The chunks of the admissible memories that are still visible. */
  #chunks(within: AdmissibleSet): StoredChunk[] {
    const { project, keys } = within as Admitted;
    invariant(project === this.id, "an admissible set of another project was used");
    return [...this.#memories()].flatMap(([key, chunks]) => (keys.has(key) && this.#visible.has(key) ? chunks : []));
  }

  #find(chunkKeys: BigUint64Array): (StoredChunk | null)[] {
    const byKey = new Map([...this.#memories().values()].flat().map((chunk) => [chunk.chunkKey as bigint, chunk]));
    return [...chunkKeys].map((key) => byKey.get(key) ?? null);
  }
}

function toChunks(
  { memoryKey, chunks, texts, vectors, entities }: Omit<Publication, "version" | "content">,
  chunkKeys: readonly ChunkKey[],
): readonly StoredChunk[] {
  return chunks.map((chunk, position) => {
    const { ordinal, start, end, headings, turn } = chunk;
    const passage = texts.passage(chunk);
    return {
      chunkKey: chunkKeys[position] ?? (0n as ChunkKey),
      memoryKey,
      vectors: new Map(
        vectors.map((given) => {
          const dimensions = given.vectors.length / chunks.length;
          return [given.fingerprint, given.vectors.slice(position * dimensions, (position + 1) * dimensions)];
        }),
      ),
      words: wordsOf(texts.contextText(chunk) ?? texts.searchText(chunk)),
      passage,
      place: {
        ...{ ordinal, start, end, headings },
        ...Object.fromEntries(PLACE_FIELDS.flatMap((name) => (chunk[name] === undefined ? [] : [[name, chunk[name]]]))),
        ...(turn !== undefined && { turn }),
      },
      entities: entitiesOf(passage, entities),
    };
  });
}

/**
 * The entities of a passage: the title and the phrases of its memory if the passage contains them, and sequences of at
 * least two capitalised words.
 */
function entitiesOf(passage: string, { title, phrases }: Publication["entities"]): ReadonlyMap<string, StoredEntity> {
  const found = new Map<string, StoredEntity>();
  const add = (name: string, kind: EntityKind) => {
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), { name, kind });
  };
  const isContained = (name: string) => passage.toLowerCase().includes(name.toLowerCase());
  if (title !== null && isContained(title)) add(title, "title");
  for (const phrase of phrases) if (isContained(phrase)) add(phrase, "phrase");
  for (const [name] of passage.matchAll(/\p{Lu}[\p{L}\p{N}]+(?: \p{Lu}[\p{L}\p{N}]+)+/gu)) add(name, "name");
  return found;
}

function filteredAttributes(json: string): FilteredAttributes {
  const attributes = parseJson(json) as JsonObject;
  const text = (name: string) => (attributes[name] ?? null) as string | null;
  const mediaType = text("source.media_type");
  return {
    id: text("memory_id") as MemoryId,
    title: text("title"),
    type: text("type"),
    tags: (attributes.tags ?? null) as readonly string[] | null,
    language: text("language"),
    source: mediaType === null ? null : { filename: "", media_type: mediaType, bytes: 0 },
    externalId: text("externalId"),
    createdAt: Number(attributes.created_at),
    updatedAt: Number(attributes.updated_at),
    occurredAt: (attributes.occurred_at ?? null) as number | null,
    supersededBy: (attributes.superseded_by ?? null) as string | null,
    userId: text("userId"),
    agentId: text("agentId"),
    sessionId: text("sessionId"),
    metadata: (attributes.metadata ?? null) as JsonObject | null,
  };
}

function wordsOf(text: string): ReadonlyMap<string, number> {
  const words = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}\p{M}]+/gu)) words.set(word, (words.get(word) ?? 0) + 1);
  return words;
}

/** Share of the query's words that the chunk contains, 0..1. A word that occurs more often counts more. */
function textScore(query: string, { words }: StoredChunk): number {
  const asked = [...wordsOf(query).keys()];
  const counts = asked.map((word) => words.get(word) ?? 0);
  return asked.length === 0 ? 0 : counts.reduce((sum, count) => sum + count / (count + 0.5), 0) / asked.length;
}

/** Refuses vectors of another model. */
function checkModel(model: IndexModel, fingerprint: string): void {
  if (model.fingerprint !== fingerprint) {
    throw new OtherModel(`vectors of ${fingerprint} were given instead of ${model.fingerprint}`);
  }
}

function isOf({ fingerprint }: IndexModel): (vectors: ModelVectors) => boolean {
  return (vectors) => vectors.fingerprint === fingerprint;
}

function similarity(fingerprint: string, vector: Float32Array, { vectors }: StoredChunk): number {
  return cosine(vector, vectors.get(fingerprint) ?? new Float32Array());
}

function cosine(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, component, at) => sum + component * (right[at] ?? 0), 0);
}

function best(scored: readonly Scored[], limit: number): readonly Scored[] {
  return scored.toSorted((a, b) => b.score - a.score).slice(0, limit);
}

function toHits(scored: readonly Scored[], limit: number): Omit<GraphHits, "certainty" | "pathTo"> {
  const hits = best(scored, limit);
  return {
    chunkKeys: BigUint64Array.from(hits, ({ chunk }) => chunk.chunkKey),
    memoryKeys: BigUint64Array.from(hits, ({ chunk }) => chunk.memoryKey),
    scores: Float32Array.from(hits, ({ score }) => score),
  };
}

/** Chunks as candidates with the scores of vectors and, if it takes part, full text. */
function toPool(chunks: readonly StoredChunk[], query: IndexQuery, usesText: boolean): Pool {
  return {
    chunkKeys: BigUint64Array.from(chunks, ({ chunkKey }) => chunkKey),
    memoryKeys: BigUint64Array.from(chunks, ({ memoryKey }) => memoryKey),
    cosines: Float32Array.from(chunks, (chunk) => similarity(query.fingerprint, query.vector, chunk)),
    textScores: usesText ? Float32Array.from(chunks, (chunk) => textScore(query.text, chunk)) : null,
    graph: null,
  };
}

function ascending(one: bigint, other: bigint): number {
  return one < other ? -1 : 1;
}
