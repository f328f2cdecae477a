// ChunkIndex in memory by brute force: exact cosine, naive full text, a graph of shared entities. Every call answers
// after a short random delay (delays.ts); changes take effect in the order of their calls. An index opened on the
// `Disk` of a closed one has the same stored data.

import type { ChunkPlace } from "../../src/domain/chunk.ts";
import { Fault, invariant } from "../../src/domain/fault.ts";
import { type Filter, type FilteredAttributes, matchesFilter } from "../../src/domain/filter.ts";
import type { ChunkKey, MemoryId, MemoryKey, ProjectId, UserKey } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/memory.ts";
import type {
  AdmissibleSet,
  ChunkIndex,
  EntityKind,
  GraphHits,
  GraphPath,
  Hits,
  MemoryEntity,
  Neighbourhood,
  Passage,
  ProjectIndex,
  Publication,
  Reconciliation,
  Seeds,
  VisibleMemory,
} from "../../src/ports/chunk-index.ts";
import { Delays } from "./delays.ts";

interface StoredEntity {
  readonly name: string;
  readonly kind: EntityKind;
}

interface StoredChunk {
  readonly chunkKey: ChunkKey;
  readonly memoryKey: MemoryKey;
  readonly vector: Float32Array;
  readonly words: ReadonlyMap<string, number>;
  readonly passage: string;
  readonly place: ChunkPlace;
  /** Entities that the passage mentions, by their name in lower case. */
  readonly entities: ReadonlyMap<string, StoredEntity>;
}

/** The data of an index that survives when the index is closed. */
export class Disk {
  readonly contents = new Map<MemoryKey, string>();
  readonly projects = new Map<ProjectId, Map<MemoryKey, readonly StoredChunk[]>>();
  nextChunkKey = 1n;
}

/** ChunkIndex in memory. */
export class InMemoryChunkIndex implements ChunkIndex {
  readonly #delays = new Delays();
  readonly #projects = new Map<ProjectId, InMemoryProjectIndex>();
  readonly #dropped = new Set<ProjectId>();
  readonly #calls = new OrderedCalls(this.#delays);

  constructor(private readonly disk = new Disk()) {}

  async project(id: ProjectId): Promise<InMemoryProjectIndex> {
    await this.#delays.next();
    this.#calls.checkOpen();
    if (this.#dropped.has(id)) throw new Fault("project_not_found", `There is no project '${id}' any more.`);
    const opened = this.#projects.get(id) ?? new InMemoryProjectIndex(id, this.disk, this.#calls, this.#delays);
    this.#projects.set(id, opened);
    return opened;
  }

  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, string>> {
    return this.#calls.read(
      () => new Map(memoryKeys.flatMap((key) => (this.disk.contents.has(key) ? [[key, this.#content(key)]] : []))),
    );
  }

  purge(memoryKeys: readonly MemoryKey[]): Promise<void> {
    return this.#calls.change(() => {
      for (const key of memoryKeys) this.disk.contents.delete(key);
    });
  }

  async reconcile(id: ProjectId, completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation> {
    return (await this.project(id)).reconcile(completed);
  }

  /** Does nothing: removed chunks take no space. */
  compact(): Promise<void> {
    return this.#calls.change(() => undefined);
  }

  drop(id: ProjectId): Promise<void> {
    this.#dropped.add(id);
    return this.#calls.change(() => {
      this.#projects.delete(id);
      this.disk.projects.delete(id);
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
  }

  #content(key: MemoryKey): string {
    return this.disk.contents.get(key) ?? "";
  }
}

/** Runs changes in the order of their calls. Reads do not wait for changes. Both are delayed at random. */
class OrderedCalls {
  #lastChange: Promise<unknown> = Promise.resolve();
  #isOpen = true;

  constructor(private readonly delays: Delays) {}

  checkOpen(): void {
    invariant(this.#isOpen, "an index was used after it was closed");
  }

  change<T>(work: () => T): Promise<T> {
    const isOpen = this.#isOpen;
    const change = async (): Promise<T> => {
      invariant(isOpen, "an index was used after it was closed");
      await this.delays.next();
      return work();
    };
    const result = this.#lastChange.then(change, change);
    this.#lastChange = result;
    return result;
  }

  async read<T>(work: () => T): Promise<T> {
    this.checkOpen();
    await this.delays.next();
    const result = work();
    await this.delays.next();
    return result;
  }

  async close(): Promise<void> {
    await this.change(() => undefined);
    this.#isOpen = false;
  }
}

interface Admitted extends AdmissibleSet {
  readonly project: ProjectId;
  readonly keys: ReadonlySet<MemoryKey>;
}

type Scored = { readonly chunk: StoredChunk; readonly score: number };

/** The index of one project in memory. */
export class InMemoryProjectIndex implements ProjectIndex {
  readonly #visible = new Map<MemoryKey, VisibleMemory & { readonly filtered: FilteredAttributes }>();

  constructor(
    private readonly id: ProjectId,
    private readonly disk: Disk,
    private readonly calls: OrderedCalls,
    private readonly delays: Delays,
  ) {}

  publish(publications: readonly Publication[]): Promise<void> {
    // copies everything now: a publication computes its texts on access, and the caller may change its arrays after the
    // call
    const stored = publications.map((publication) => ({ publication, chunks: toChunks(publication, this.disk) }));
    return this.calls.change(() => {
      for (const { publication, chunks } of stored) {
        this.disk.contents.set(publication.memoryKey, publication.content);
        this.#memories().set(publication.memoryKey, chunks);
      }
    });
  }

  retract(memoryKeys: readonly MemoryKey[]): Promise<void> {
    return this.calls.change(() => {
      for (const key of memoryKeys) this.#memories().delete(key);
    });
  }

  show(memories: readonly VisibleMemory[]): Promise<void> {
    return this.calls.change(() => this.#show(memories));
  }

  hide(memoryKeys: readonly MemoryKey[]): Promise<void> {
    return this.calls.change(() => {
      for (const key of memoryKeys) this.#visible.delete(key);
    });
  }

  admit(userKey: UserKey | null, nowMs: number): Promise<AdmissibleSet> {
    return this.calls.read(() => this.#admitted(userKey, nowMs, () => true));
  }

  admitWithin(userKey: UserKey | null, nowMs: number, filter: Filter): Promise<AdmissibleSet> {
    return this.calls.read(() => this.#admitted(userKey, nowMs, (filtered) => matchesFilter(filter, filtered)));
  }

  searchVectors(vector: Float32Array, within: AdmissibleSet, limit: number): Promise<Hits> {
    return this.calls.read(() =>
      toHits(
        this.#chunks(within).map((chunk) => ({ chunk, score: cosine(vector, chunk.vector) })),
        limit,
      ),
    );
  }

  scoreVectors(vector: Float32Array, { chunkKeys }: Pick<Hits, "chunkKeys" | "memoryKeys">): Promise<Float32Array> {
    return this.calls.read(() => {
      const scores = this.#find(chunkKeys).map((chunk) => (chunk === null ? Number.NaN : cosine(vector, chunk.vector)));
      return Float32Array.from(scores);
    });
  }

  searchText(query: string, within: AdmissibleSet, limit: number): Promise<Hits> {
    return this.calls.read(() =>
      toHits(
        this.#chunks(within)
          .map((chunk) => ({ chunk, score: textScore(query, chunk) }))
          .filter(({ score }) => score > 0),
        limit,
      ),
    );
  }

  scoreText(query: string, chunkKeys: BigUint64Array): Promise<Float32Array> {
    return this.calls.read(() =>
      Float32Array.from(this.#find(chunkKeys).map((chunk) => (chunk === null ? 0 : textScore(query, chunk)))),
    );
  }

  // Passages that mention an entity of the query get score 0.9. Passages that share another entity with one of them, or
  // with a seed, get 0.45. If no passage mentions an entity of the query, nothing is found.
  searchGraph(query: string, seeds: Seeds, within: AdmissibleSet, limit: number): Promise<GraphHits> {
    return this.calls.read(() => {
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
    return this.calls.read(() => {
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

  passages(chunkKeys: BigUint64Array): Promise<readonly (Passage | null)[]> {
    return this.calls.read(() =>
      this.#find(chunkKeys).map((chunk) =>
        chunk === null ? null : { chunkKey: chunk.chunkKey, text: chunk.passage, place: chunk.place },
      ),
    );
  }

  async reconcile(completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation> {
    const rows: VisibleMemory[] = [];
    for await (const page of completed) rows.push(...page);
    await this.delays.next();
    return this.calls.change(() => {
      const isWhole = ({ memoryKey }: VisibleMemory) =>
        this.disk.contents.has(memoryKey) && this.#memories().has(memoryKey);
      const known = new Set(rows.map(({ memoryKey }) => memoryKey));
      const foreign = [...this.#memories().keys()].filter((key) => !known.has(key));
      for (const key of foreign) this.#memories().delete(key);
      this.#show(rows.filter(isWhole));
      const incomplete = rows.filter((row) => !isWhole(row)).map(({ memoryKey }) => memoryKey);
      return { incomplete, removed: foreign.length, repairs: [] };
    });
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

function toChunks({ memoryKey, chunks, texts, vectors, entities }: Publication, disk: Disk): readonly StoredChunk[] {
  const dimensions = chunks.length === 0 ? 0 : vectors.length / chunks.length;
  return chunks.map((chunk, position) => {
    const { ordinal, start, end, headings, page, slide, sheet, turn } = chunk;
    const passage = texts.passage(chunk);
    const chunkKey = disk.nextChunkKey as ChunkKey;
    disk.nextChunkKey += 1n;
    return {
      chunkKey,
      memoryKey,
      vector: vectors.slice(position * dimensions, (position + 1) * dimensions),
      words: wordsOf(texts.contextText(chunk) ?? texts.searchText(chunk)),
      passage,
      place: {
        ...{ ordinal, start, end, headings },
        ...(page !== undefined && { page }),
        ...(slide !== undefined && { slide }),
        ...(sheet !== undefined && { sheet }),
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
  const attributes = JSON.parse(json) as JsonObject;
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
    userId: text("userId"),
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

function cosine(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, component, at) => sum + component * (right[at] ?? 0), 0);
}

function best(scored: readonly Scored[], limit: number): readonly Scored[] {
  return scored.toSorted((a, b) => b.score - a.score).slice(0, limit);
}

function toHits(scored: readonly Scored[], limit: number): Hits {
  const hits = best(scored, limit);
  return {
    chunkKeys: BigUint64Array.from(hits, ({ chunk }) => chunk.chunkKey),
    memoryKeys: BigUint64Array.from(hits, ({ chunk }) => chunk.memoryKey),
    scores: Float32Array.from(hits, ({ score }) => score),
  };
}
