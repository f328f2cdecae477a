// The index of one project: publishes to the archive and the native core, searches in the core, and compares the two.
// chunk-index.ts opens the projects.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { VectorIndexName } from "../../domain/project.ts";
import type { Eventually } from "../../kit/eventually.ts";
import type { Log } from "../../kit/log.ts";
import { overlapped } from "../../kit/pipelined.ts";
import type {
  ChunkKeys,
  IndexModel,
  IndexVerification,
  MissingVectors,
  ModelVectors,
  ProjectIndex,
  Publication,
  Rebuild,
  Reconciliation,
  VisibleMemory,
} from "../../ports/chunk-index.ts";
import type { PlacedMemory } from "../../ports/map-store.ts";
import { type LoadedPublication, PART_CHUNKS, type SharedIndex } from "../../ports/shared-index.ts";
import type { ArchivedChunkKeys, TextArchive } from "../../ports/text-archive.ts";
import type { NativeIndex } from "../native/addon-types.ts";
import { nativeChunks } from "../native/chunks.ts";
import { HeldPublications } from "./held-publications.ts";
import { checkFiles, compare, findingsOf, removeSurplus } from "./index-check.ts";
import { memoryOfIndex } from "./index-memory.ts";
import { withOtherModel } from "./model-vectors.ts";
import {
  archivedMemory,
  chunkKeysOf,
  forNative,
  type KeyedPublication,
  knownOfPart,
  loadedForNative,
  nameOf,
  publishChunk,
  sharedMemory,
  spansForNative,
  withKeys,
  withOwnKeys,
} from "./publication.ts";
import type { Quarantine } from "./quarantine.ts";
import type { RecentPassages } from "./recent-passages.ts";
import { EmbeddedSearchIndex } from "./search-index.ts";
import { describable, type ShownColumns, showable, withoutMemories } from "./showable.ts";
import { SortedKeys } from "./sorted-keys.ts";

/** Options of `EmbeddedChunkIndex`. */
export interface IndexDependencies {
  /** Folder with one folder per project. */
  readonly directory: string;
  readonly archive: TextArchive;
  /** Keeps damaged files. */
  readonly quarantine: Quarantine;
  readonly log: Log;
  /**
   * Returns the installed embedding models; the first is the one of new projects. A project whose live model is not
   * among them is refused.
   */
  readonly models: () => readonly [IndexModel, ...IndexModel[]];
  /** The model that a project used before its index was lost; null if that is not known. */
  readonly earlierModelOf?: (id: ProjectId) => Eventually<IndexModel | null>;
  /** How vectors of a project are to be searched; absent: as by default. It may change while the project is open. */
  readonly vectorIndexOf?: (id: ProjectId) => Eventually<VectorIndexName>;
  /** Called with the number of passages that were not returned because they are damaged. */
  readonly countDamaged?: (passages: number) => void;
  /** Reserves consecutive chunk keys that were never used. Returns the first. */
  readonly reserveChunkKeys: (count: number) => Eventually<bigint>;
  /** Where publications are stored for other nodes, in place of the archive; absent if there are none. */
  readonly shared?: Pick<SharedIndex, "announce" | "publish">;
}

/** What an open project needs. */
export type ProjectIndexDependencies = IndexDependencies & { readonly recentPassages: RecentPassages };

/**
 * Number of parts of a publication of another node that are added to the index at once. Fewer cost more, because each
 * addition is a commit of the text index; with more, other changes wait longer.
 */
const SPAN_PARTS = 8;

const OVERTAKEN = "another node has taken over the job of this memory";

/** One project's index. */
export class EmbeddedProjectIndex extends EmbeddedSearchIndex implements ProjectIndex {
  readonly #parts: ProjectIndexDependencies;
  readonly #repairs: readonly string[];
  #started: Promise<void> = Promise.resolve();
  /** Changes in progress. */
  readonly #changing = new Set<Promise<unknown>>();
  /** Empty if nothing is shared. */
  protected readonly held = new HeldPublications();

  constructor(id: ProjectId, native: NativeIndex, parts: ProjectIndexDependencies, repairs: readonly string[]) {
    super(id, native, parts);
    this.#parts = parts;
    this.#repairs = repairs;
  }

  /** Keeps the index open until it is disposed of. Returns false if it is being closed to save memory. */
  hold(): boolean {
    return true;
  }

  /** Estimate of the index's memory in bytes. */
  get memoryBytes(): number {
    return memoryOfIndex(this.native);
  }

  /** Resolves when all changes requested so far have been passed to archive and native core, which keep their order. */
  get changesStarted(): Promise<void> {
    return this.#started;
  }

  // Texts and derived indexes are written in parallel. A memory becomes completed after both. If a crash leaves only
  // one of the two, it is replaced when the memory is published again, or found by `reconcile`.
  async publish(publications: readonly Publication[]): Promise<void> {
    const isShared = this.#parts.shared !== undefined;
    const keyed = await this.#startInOrder(
      async () => {
        const withChunkKeys = await this.#keyed(publications);
        if (isShared) for (const each of withChunkKeys) this.held.begin(nameOf(each));
        const archived = withChunkKeys.map((each) => archivedMemory(this.id, each));
        const archiving = isShared ? null : this.#parts.archive.replace(archived);
        void Promise.allSettled([archiving]); // its failure is thrown below
        // While a change of the model begins or ends, publications may have vectors of different models.
        const byModels = Map.groupBy(withChunkKeys, ({ publication: { vectors } }) =>
          vectors.map(({ fingerprint }) => fingerprint).join("\n"),
        );
        const groups = [];
        for (const group of byModels.values()) {
          const { memories, chunks, vectors } = forNative(group);
          groups.push([memories, await nativeChunks(chunks), vectors] as const);
        }
        return { withChunkKeys, archiving, groups };
      },
      async ({ withChunkKeys, archiving, groups }) => {
        const indexing = groups.map((group) => withOtherModel(() => this.native.publish(...group)));
        await Promise.all([archiving, ...indexing]);
        return withChunkKeys;
      },
    );
    if (isShared) for (const each of keyed) this.held.finish(nameOf(each));
  }

  /**
   * Gives chunks their keys. If publications are shared, stores them first, and leaves out those whose jobs are no
   * longer held: what another node has published must not be replaced.
   */
  async #keyed(publications: readonly Publication[]): Promise<readonly KeyedPublication<Publication>[]> {
    const chunkCount = publications.reduce((sum, publication) => sum + publication.chunks.length, 0);
    let nextKey = await this.#parts.reserveChunkKeys(chunkCount);
    const keyed = publications.map((publication) => {
      const first = nextKey;
      nextKey += BigInt(publication.chunks.length);
      return withKeys(publication, first);
    });
    const { shared } = this.#parts;
    if (shared === undefined) return keyed;
    const stored = await shared.publish(keyed.map((each) => sharedMemory(this.id, each)));
    return keyed.filter((each) => stored.has(each.publication.memoryKey) && !this.held.isOvertaken(nameOf(each)));
  }

  // The first part has all vectors, because the vectors of a memory must be consecutive, and the whole text, because
  // the archive replaces a memory as a whole. Both take little time compared with postings and entities.
  async *publishInParts(publication: Publication): AsyncGenerator<void> {
    const { memoryKey, chunks, vectors, entities } = publication;
    const { shared } = this.#parts;
    const keyed = await this.#startInOrder(
      () => this.#keyed([publication]),
      async ([withChunkKeys]) => {
        if (withChunkKeys === undefined) throw new Error(OVERTAKEN);
        const chunkKeys = BigUint64Array.from(withChunkKeys.chunks, ({ chunkKey }) => chunkKey);
        if (shared !== undefined) this.held.begin(nameOf(withChunkKeys));
        await Promise.all([
          shared?.announce(this.id, memoryKey) ?? this.#parts.archive.replace([archivedMemory(this.id, withChunkKeys)]),
          withOtherModel(() => this.native.publishVectors(memoryKey, chunkKeys, vectors)),
        ]);
        return withChunkKeys;
      },
    );
    for (let first = 0; first < chunks.length; first += PART_CHUNKS) {
      yield;
      const part = keyed.chunks.slice(first, first + PART_CHUNKS);
      await this.#startInOrder(
        () => nativeChunks(part.map((each) => publishChunk({ ...each, publication }))),
        async (passed) => {
          if (shared !== undefined && !this.held.isBegun(nameOf(keyed))) throw new Error(OVERTAKEN);
          return this.native.addTexts(memoryKey, knownOfPart(entities, first), passed);
        },
      );
    }
    if (shared !== undefined) this.held.finish(nameOf(keyed));
  }

  /** Writes publications of other nodes, all with vectors of the same models, to the native core. */
  protected load(loaded: readonly LoadedPublication[]): Promise<void> {
    const { memories, chunks, vectors } = loadedForNative(loaded);
    return this.#startInOrder(
      () => {
        for (const each of loaded) this.held.begin(each);
        return nativeChunks(chunks);
      },
      async (passed) => {
        await withOtherModel(() => this.native.publish(memories, passed, vectors));
        for (const each of loaded) this.held.finish(each);
      },
    );
  }

  /**
   * Like `load` for one large publication, but in parts, between which other changes can run. Ends early if it is not
   * wanted any more, or if something else is written of the memory. Then, and after a failure, the memory has to be
   * loaded, published or retracted.
   */
  protected async loadInParts(loaded: LoadedPublication, isWanted: () => boolean): Promise<void> {
    const { memoryKey, vectors, entities } = loaded;
    await this.#inOrder(async () => {
      if (!isWanted() || this.held.isOvertaken(loaded)) return;
      this.held.begin(loaded);
      await withOtherModel(() => this.native.publishVectors(memoryKey, chunkKeysOf(loaded).chunkKeys, vectors));
    });
    const goesOn = () => isWanted() && this.held.isBegun(loaded);
    for (const [at, texts] of spansForNative(loaded, SPAN_PARTS).entries()) {
      if (!goesOn()) return;
      await this.#startInOrder(
        () => nativeChunks(texts),
        async (passed) => {
          if (goesOn()) await this.native.addTexts(memoryKey, knownOfPart(entities, at), passed);
        },
      );
    }
    if (goesOn()) this.held.finish(loaded);
  }

  async rebuild(memories: readonly Rebuild[]): Promise<readonly MemoryKey[]> {
    if (memories.length === 0) return [];
    const rebuilt = forNative(memories.map(withOwnKeys));
    const skipped = await this.#startInOrder(
      () => nativeChunks(rebuilt.chunks),
      (passed) => withOtherModel(() => this.native.rebuild(rebuilt.memories, passed, rebuilt.vectors)),
    );
    return skipped.flatMap((at) => memories[at]?.memoryKey ?? []);
  }

  retract(memoryKeys: readonly MemoryKey[]): Promise<void> {
    return this.#inOrder(() => {
      for (const key of memoryKeys) this.held.delete(key);
      return this.native.remove(BigUint64Array.from(memoryKeys));
    });
  }

  #inOrder<Result>(change: () => Promise<Result>): Promise<Result> {
    return this.#startInOrder(() => undefined, change);
  }

  /**
   * Starts changes in the order of their calls, even if some of them have to prepare something first. A change does not
   * wait until the one before it has ended.
   */
  async #startInOrder<Prepared, Result>(
    prepare: () => Eventually<Prepared>,
    change: (prepared: Prepared) => Promise<Result>,
  ): Promise<Result> {
    const before = this.#started;
    const { promise, resolve: markStarted } = Promise.withResolvers<void>();
    this.#started = promise;
    await before;
    let changing: Promise<Result>;
    try {
      changing = change(await prepare());
      this.#changing.add(changing);
      const end = () => void this.#changing.delete(changing);
      changing.then(end, end);
    } finally {
      markStarted();
    }
    return changing;
  }

  show(memories: readonly VisibleMemory[]): void {
    if (memories.length > 0) this.native.show(...showable(memories), describable(memories)[1]);
  }

  hide(memoryKeys: readonly MemoryKey[]): void {
    this.native.hide(BigUint64Array.from(memoryKeys));
  }

  async layout(known: readonly PlacedMemory[], others: readonly MemoryKey[]): Promise<readonly PlacedMemory[]> {
    const keys = BigUint64Array.from([...known.map(({ key }) => key), ...others]);
    const places = new Float32Array(2 * keys.length).fill(Number.NaN);
    for (const [at, { x, y }] of known.entries()) places.set([x, y], 2 * at);
    const found = (await this.native.layout(keys, places)).subarray(2 * known.length);
    return others.flatMap((key, at) => {
      const [x = Number.NaN, y = Number.NaN] = found.subarray(2 * at, 2 * at + 2);
      return Number.isNaN(x) ? [] : [{ key, x, y }];
    });
  }

  beginModel({ fingerprint, dimensions }: IndexModel): Promise<void> {
    return this.#inOrder(() => this.native.beginModel({ fingerprint, dimensions }));
  }

  async missingVectors(): Promise<MissingVectors> {
    const { memoryKeys, missingChunks, chunks } = await this.#inOrder(() => this.native.missingVectors());
    return { memoryKeys: [...memoryKeys] as MemoryKey[], missingChunks, chunks };
  }

  addVectors({ chunkKeys, memoryKeys }: ChunkKeys, vectors: ModelVectors): Promise<number> {
    return this.#inOrder(() => withOtherModel(() => this.native.addVectors(chunkKeys, memoryKeys, vectors)));
  }

  swapModel(): Promise<boolean> {
    return this.#inOrder(() => this.native.swapModel());
  }

  dropBuilding(): Promise<void> {
    return this.#inOrder(() => this.native.dropBuilding());
  }

  forgetPrevious(): Promise<void> {
    return this.#inOrder(() => this.native.forgetPrevious());
  }

  // Attributes of all memories are passed to the native core before any memory is shown, so that filters see every
  // memory that is searchable. An empty index has nothing to show: all memories are incomplete, and whoever publishes
  // them passes on their attributes.
  async reconcile(completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation> {
    const found = await this.reconcileWith(completed, this.#parts.archive.chunkKeys(this.id));
    await this.native.sortAttributes(); // until then, `show` with attributes blocks the JavaScript thread
    return found;
  }

  /** Like `reconcile`, with the keys of all chunks in the archive. */
  protected async reconcileWith(
    completed: AsyncIterable<readonly VisibleMemory[]>,
    chunkKeys: Promise<ArchivedChunkKeys>,
  ): Promise<Reconciliation> {
    void Promise.allSettled([chunkKeys]); // its failure is thrown below
    const isEmpty = this.native.stats().textChunks === 0;
    const described: ShownColumns[] = [];
    await overlapped(completed, async (memories) => {
      described.push(showable(memories));
      if (!isEmpty) await this.native.describeUnsorted(...describable(memories));
    });
    // searches without a filter need not wait for this; the first filter sorts what is not sorted yet
    void Promise.allSettled([this.native.sortAttributes()]);
    const archived = await chunkKeys;
    const visible = new SortedKeys(described.map(([keys]) => keys));
    const { incomplete, removed } = await removeSurplus(this.native, visible, archived);
    const isComplete = (key: bigint) => visible.has(key) && !incomplete.has(key);
    if (this.#parts.shared !== undefined) this.held.setCompared(archived, isComplete);
    for (const page of described) {
      this.native.show(...withoutMemories(page, incomplete));
      await nextTurn();
    }
    return { incomplete: [...incomplete] as MemoryKey[], removed, repairs: this.#repairs };
  }

  async verify(
    completed: AsyncIterable<readonly Pick<VisibleMemory, "memoryKey">[]>,
    onProgress: (done: number, total: number) => void,
  ): Promise<IndexVerification> {
    const compared = await this.#whileUnchanged(async () => {
      const pages: BigUint64Array[] = [];
      for await (const page of completed) pages.push(BigUint64Array.from(page, ({ memoryKey }) => memoryKey));
      const keys = new SortedKeys(pages);
      const archived = await this.#parts.archive.chunkKeys(this.id);
      const found = await compare(this.native, archived, keys);
      const { chunks: vectors, textChunks: postings, entityRecords } = this.native.stats();
      const counts = { memories: keys.size, chunks: found.chunks, vectors, postings, entityRecords };
      return { ...counts, findings: findingsOf(found, archived) };
    });
    const { findings } = await checkFiles(this.native, onProgress);
    return { ...compared, findings: [...compared.findings, ...findings] };
  }

  /** Runs `work` while no change is in progress. Changes that are requested meanwhile begin after it. */
  async #whileUnchanged<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#started;
    const { promise, resolve: markStarted } = Promise.withResolvers<void>();
    this.#started = promise;
    try {
      await before;
      await Promise.allSettled([...this.#changing]);
      return await work();
    } finally {
      markStarted();
    }
  }

  async compact(): Promise<void> {
    await this.native.compactIfNeeded();
  }

  /**
   * Erases the vectors, texts and postings of removed chunks from the files, durably. Searches can run meanwhile.
   * Changes wait while vectors are erased, but not while texts are erased, which takes seconds. Resolves to false if
   * old files could not be removed; call it again later then, but never before it has resolved.
   */
  async eraseRemoved(): Promise<boolean> {
    await this.#inOrder(() => this.native.eraseVectors());
    return this.native.eraseTexts();
  }

  async close(): Promise<void> {
    await this.#started; // changes that were requested earlier must reach the archive first
    this.forgetPassages();
    await this.native.close();
  }
}
