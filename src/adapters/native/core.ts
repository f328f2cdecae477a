// TypeScript wrapper of the native core: the indexes of a project (vectors, full text, entities, admissible sets) and
// the directory lock. Callers decide what is indexed, and when.

import { addon, translated, translatedAsync } from "./addon.ts";
import type {
  ChunkText,
  Differences,
  FileCheck,
  GraphHits,
  GraphSearchOptions,
  Hits,
  HybridHits,
  HybridQuery,
  IndexModels,
  KnownEntities,
  MissingVectors,
  NativeAdmissible,
  NativeIndex,
  NativeLock,
  Neighbourhood,
  ProjectFiles,
  ProjectIndexOptions,
  ProjectIndexStats,
  StoredPassage,
  VectorModel,
  VectorsOfModel,
} from "./addon-types.ts";

/** A chunk to publish, with its texts. */
export interface PublishChunk extends ChunkText {
  /**
   * A key that was never used before. Only when the same version of a memory is published again, its chunks have the
   * same keys.
   */
  readonly chunkKey: bigint;
  /** Key of its memory, which must be one of those that the call publishes. */
  readonly memoryKey: bigint;
}

/**
 * The chunks of a publication, which are read slice by slice. This can be an array, or an object that creates the texts
 * of a slice only when `slice` is called.
 */
export interface PublishChunks {
  readonly length: number;
  slice(start: number, end: number): readonly PublishChunk[];
}

const NOTHING_KNOWN: KnownEntities = { title: null, phrases: [] };
/**
 * Maximum number of chunks whose texts are passed to the native core at once. That blocks the JavaScript thread for
 * about 10 ms.
 */
const CROSSING_CHUNKS = 256;

/**
 * The indexes of one project. Keys are from 1 to 2^64-2. Reads run on worker threads of the runtime. Changes run in
 * order on one thread per project. No call blocks the JavaScript thread for long: a slice of `publish` takes about 10
 * ms, `show` of very many memories longer, a vector search that runs at once less than 1 ms, everything else
 * microseconds. Every method throws or rejects with a
 * `NativeError`; after `close`, its code is `closed`.
 */
export class ProjectIndex {
  readonly #native: NativeIndex;
  /**
   * Resolves when the last large change, and all changes that were called after it, are done. Null if there is no such
   * change; then the next change begins at once.
   */
  #queue: Promise<unknown> | null = null;

  private constructor(native: NativeIndex) {
    this.#native = native;
  }

  /**
   * Opens or creates the indexes of a project. No memory is visible until `show` is called for it. `repairs` has one
   * sentence for each damaged file, saying what was dropped. `reconcile` then finds the chunks that must be published
   * again.
   */
  static open(options: ProjectIndexOptions): Promise<{ index: ProjectIndex; repairs: readonly string[] }> {
    return translatedAsync(async () => {
      const native = await addon().openProject(options);
      return { index: new ProjectIndex(native), repairs: native.repairs() };
    });
  }

  /**
   * Sets the attributes of memories that filters compare: one JSON object per memory (`filteredAttributesJson`). They
   * replace earlier ones and stay until the memories are hidden. It runs on a worker thread. For many memories, call it
   * before `show` instead of passing the attributes to `show`.
   */
  describe(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void> {
    return translatedAsync(() => this.#native.describe(memoryKeys, attributes));
  }

  /**
   * Like `describe`, but does not sort the attributes, for loading many memories in less than half the time. Call
   * `sortAttributes` after the last of them. A filter that is evaluated before that sorts first.
   */
  describeUnsorted(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void> {
    return translatedAsync(() => this.#native.describeUnsorted(memoryKeys, attributes));
  }

  /** Sorts the attributes that `describeUnsorted` has set, on a worker thread. */
  sortAttributes(): Promise<void> {
    return translatedAsync(() => this.#native.sortAttributes());
  }

  /**
   * Makes memories searchable at once, or changes their user and expiry. The arrays have equal length. User key 0 means
   * no user. `expiresAtMs` is in ms since 1970; a memory is expired from that time on, and never if it is 0. If
   * `attributes` (see `describe`) is absent, the attributes do not change.
   */
  show(
    memoryKeys: BigUint64Array,
    userKeys: BigUint64Array,
    expiresAtMs: Float64Array,
    attributes?: readonly string[],
  ): void {
    translated(() => this.#native.show(memoryKeys, userKeys, expiresAtMs, attributes));
  }

  /**
   * Removes memories from searches at once, also from searches that are in progress or use an older admissible set.
   * Drops the attributes of the memories.
   */
  hide(memoryKeys: BigUint64Array): void {
    translated(() => this.#native.hide(memoryKeys));
  }

  /**
   * The set of visible memories that are not expired at `nowMs`: those of one user, or of the whole project if
   * `userKey` is null. Takes microseconds.
   */
  admit(userKey: bigint | null, nowMs: number): NativeAdmissible {
    return translated(() => this.#native.admit(userKey, nowMs));
  }

  /** Like `admit`, but only memories that match a filter (`filterJson`). Takes milliseconds, on a worker thread. */
  admitWithin(userKey: bigint | null, nowMs: number, filter: string): Promise<NativeAdmissible> {
    return translatedAsync(() => this.#native.admitWithin(userKey, nowMs, filter));
  }

  /**
   * Replaces everything that the indexes contain of the given memories by `chunks` and their unit vectors, `[chunks,
   * dimensions]`: those of the live model, and those of the model whose vectors are being built, if they are known.
   * Without the second, the memories are missing among the vectors that are being built. When the promise resolves, the
   * change is durable, and the chunks of visible memories are searchable. It makes no memory visible. Repeating the
   * call changes nothing more.
   * @param known the known entities, one element per memory. By default, nothing is known.
   * @throws NativeError with code `invalid` for a vector that has NaN, a wrong number of components, or a length that
   * differs from 1 by more than .01; for reserved or repeated keys; and for a chunk whose memory is not in
   * `memoryKeys`; with code `other_model` if there are no vectors of the live model. Nothing has changed then. After
   * any other error, repeat the call.
   */
  publish(
    memoryKeys: BigUint64Array,
    chunks: PublishChunks,
    vectors: readonly VectorsOfModel[],
    known: readonly KnownEntities[] = Array.from(memoryKeys, () => NOTHING_KNOWN),
  ): Promise<void> {
    return this.#change(chunks.length > CROSSING_CHUNKS, async () => {
      const { chunkKeys, chunkMemoryKeys, texts } = await toNative(chunks);
      return this.#native.publish({ memoryKeys, entities: known }, chunkKeys, chunkMemoryKeys, texts, [...vectors]);
    });
  }

  /**
   * Begins to publish a large memory in parts, so that other changes can run between them: replaces its vectors, as
   * `publish` does, and removes its texts. `addTexts` adds new ones, part by part. The memory must not be shown before
   * it has all of them.
   * @throws NativeError as `publish` does
   */
  publishVectors(memoryKey: bigint, chunkKeys: BigUint64Array, vectors: readonly VectorsOfModel[]): Promise<void> {
    return this.#change(false, () => this.#native.publishVectors(memoryKey, chunkKeys, [...vectors]));
  }

  /**
   * Adds the texts of the next chunks of a large memory after `publishVectors`. A title in `known` becomes an entity of
   * the first of them.
   */
  addTexts(memoryKey: bigint, chunks: PublishChunks, known: KnownEntities): Promise<void> {
    return this.#change(chunks.length > CROSSING_CHUNKS, async () => {
      const { chunkKeys, texts } = await toNative(chunks);
      return this.#native.addTexts(memoryKey, known, chunkKeys, texts);
    });
  }

  /**
   * Replaces vectors of the live model, postings and entities of memories that still have exactly these chunks, while
   * searches find them. The arguments are those of `publish`. Resolves to the positions of the other memories, which
   * were skipped, in `memoryKeys`.
   */
  rebuild(
    memoryKeys: BigUint64Array,
    chunks: PublishChunks,
    vectors: readonly VectorsOfModel[],
    known: readonly KnownEntities[],
  ): Promise<readonly number[]> {
    return this.#change(chunks.length > CROSSING_CHUNKS, async () => {
      const { chunkKeys, chunkMemoryKeys, texts } = await toNative(chunks);
      return this.#native.rebuild({ memoryKeys, entities: known }, chunkKeys, chunkMemoryKeys, texts, [...vectors]);
    });
  }

  /**
   * Removes everything that the indexes contain of the given memories, durably. Unknown keys are ignored. Call `hide`
   * for the memories first.
   */
  remove(memoryKeys: BigUint64Array): Promise<void> {
    return this.#change(false, () => this.#native.remove(memoryKeys));
  }

  /**
   * Vector search with a unit vector `[dimensions]` of the model with this fingerprint; scores are cosine similarities.
   * `limit` is 1 to 2,000.
   * @throws NativeError with code `other_model` if another model is live
   */
  searchVectors(fingerprint: string, vector: Float32Array, within: NativeAdmissible, limit: number): Promise<Hits> {
    return translatedAsync(() => this.#native.searchVectors(fingerprint, vector, within, limit));
  }

  /** Full-text search; scores are BM25 scores in 0..1, only above 0. `limit` is 1 to 2,000. */
  searchText(query: string, within: NativeAdmissible, limit: number): Promise<Hits> {
    return translatedAsync(() => this.#native.searchText(query, within, limit));
  }

  /**
   * Hybrid search: searches vectors like `searchVectors`, and adds the hits of a full-text search for the same query
   * and set. The hits of `searchVectors` come first, then the hits of `textHits` that are not among them, in their
   * order. Every hit has both scores; text hits keep the score that they were given.
   * @param nearHits the hits of `searchVectors` for the same query, set and limit, if they are known
   * @throws NativeError with code `other_model` if another model is live
   */
  searchHybrid(
    query: HybridQuery,
    textHits: Hits,
    within: NativeAdmissible,
    limit: number,
    nearHits?: Hits,
  ): Promise<HybridHits> {
    return translatedAsync(() => this.#native.searchHybrid(query, textHits, within, limit, nearHits));
  }

  /**
   * Cosine similarities of exactly the given chunks, each with its memory, to a unit vector `[dimensions]`; NaN for a
   * chunk that does not exist.
   * @throws NativeError with code `other_model` if the vector's model, given by its fingerprint, is not live
   */
  scoreVectors(
    fingerprint: string,
    vector: Float32Array,
    chunkKeys: BigUint64Array,
    memoryKeys: BigUint64Array,
  ): Promise<Float32Array> {
    return translatedAsync(() => this.#native.scoreVectors(fingerprint, vector, chunkKeys, memoryKeys));
  }

  /**
   * Cosine similarities between exactly the given chunks, each with its memory; row-major `[chunks, chunks]`, NaN for a
   * chunk that does not exist.
   * @throws NativeError with code `invalid` for more than 256 chunks
   */
  compareVectors(chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Promise<Float32Array> {
    return translatedAsync(() => this.#native.compareVectors(chunkKeys, memoryKeys));
  }

  /**
   * The stored vectors of exactly the given chunks, each with its memory; row-major `[chunks, dimensions]`, NaN for a
   * chunk that does not exist.
   * @throws NativeError with code `other_model` unless the model with this fingerprint is live or being built
   */
  storedVectors(fingerprint: string, chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Promise<Float32Array> {
    return translatedAsync(() => this.#native.storedVectors(fingerprint, chunkKeys, memoryKeys));
  }

  /** BM25 scores of exactly the given chunks; 0 for a chunk that contains no word of the query, or does not exist. */
  scoreText(query: string, chunkKeys: BigUint64Array): Promise<Float32Array> {
    return translatedAsync(() => this.#native.scoreText(query, chunkKeys));
  }

  /**
   * Graph search: the admissible chunks that are connected to the query's entities and to the seeds, directly or via
   * one other chunk. Scores are above 0 and at most 1. There are no hits, and `certainty` is 0, if no entity of the
   * query is a link (see the glossary). `limit` is 1 to 2,000.
   * @param seeds at most 10 chunks that other searches found. Their scores must be comparable with each other.
   * @param options.usesSingleNames whether names of the query that a single chunk contains are entities of it, too
   * @param options.certaintyMin below this certainty there is no walk: the result is that of a query without entities
   * @throws NativeError with code `invalid` for more seeds
   */
  searchGraph(
    query: string,
    seeds: Pick<Hits, "chunkKeys" | "scores">,
    within: NativeAdmissible,
    limit: number,
    { usesSingleNames = false, certaintyMin = 0 }: Partial<Omit<GraphSearchOptions, "limit">> = {},
  ): Promise<GraphHits> {
    const { chunkKeys, scores } = seeds;
    return translatedAsync(() =>
      this.#native.searchGraph(query, chunkKeys, scores, within, { limit, usesSingleNames, certaintyMin }),
    );
  }

  /**
   * The names of the entities with these ids, as they were first written in a text; null for an unknown id. Ids are
   * valid until `close`.
   */
  entityNames(ids: Uint32Array): readonly (string | null)[] {
    return translated(() => this.#native.entityNames(ids));
  }

  /**
   * The entities of a memory, and the admissible memories that share some of them: at most `limit` (1 to 2,000)
   * entities and as many memories. Both are empty if the memory itself is not admissible.
   */
  neighbourhood(memoryKey: bigint, within: NativeAdmissible, limit: number): Promise<Neighbourhood> {
    return translatedAsync(() => this.#native.neighbourhood(memoryKey, within, limit));
  }

  /** The stored passages of chunks, in the order of the keys; null for a chunk that does not exist. */
  passages(chunkKeys: BigUint64Array): Promise<readonly (StoredPassage | null)[]> {
    return translatedAsync(() => this.#native.passages(chunkKeys));
  }

  /**
   * Compares the keys of the chunks that should be indexed with the keys of those that are. Takes about 50 ms per
   * 100,000 chunks.
   */
  reconcile(expected: BigUint64Array): Promise<Differences> {
    return translatedAsync(() => this.#native.reconcile(expected));
  }

  /** The embedding models of the project. */
  models(): IndexModels {
    return translated(() => this.#native.models());
  }

  /**
   * Begins to build vectors of another model beside the live ones, or goes on with that. Vectors that are kept for a
   * rollback are used if they are of this model.
   * @throws NativeError with code `invalid` if the model is live or not possible, or if vectors of another model are
   * being built
   */
  beginModel(model: VectorModel): Promise<void> {
    return this.#change(false, () => this.#native.beginModel(model));
  }

  /**
   * What the vectors that are being built still lack. Removes those of chunks that no longer exist.
   * @throws NativeError with code `invalid` if none are being built
   */
  missingVectors(): Promise<MissingVectors> {
    return this.#change(false, () => this.#native.missingVectors());
  }

  /**
   * Adds vectors to those that are being built, durably. The keys are parallel. A memory must be given with all of its
   * chunks; a memory that has other chunks by now is skipped. Resolves to the number of chunks that were added.
   * @throws NativeError with code `other_model` if vectors of another model are being built
   */
  addVectors(chunkKeys: BigUint64Array, memoryKeys: BigUint64Array, vectors: VectorsOfModel): Promise<number> {
    return this.#change(false, () => this.#native.addVectors(chunkKeys, memoryKeys, vectors));
  }

  /**
   * Makes the vectors that are being built live if no chunk lacks one; resolves to whether it did. The vectors that
   * were live are kept for a rollback.
   */
  swapModel(): Promise<boolean> {
    return this.#change(false, () => this.#native.swapModel());
  }

  /** Deletes the vectors that are being built, if there are any. */
  dropBuilding(): Promise<void> {
    return this.#change(false, () => this.#native.dropBuilding());
  }

  /** Deletes the vectors that are kept for a rollback, if there are any. */
  forgetPrevious(): Promise<void> {
    return this.#change(false, () => this.#native.forgetPrevious());
  }

  /** Lists the files of the project: those that `checkFile` can check, and those that nothing refers to. */
  files(): Promise<ProjectFiles> {
    return translatedAsync(() => this.#native.files());
  }

  /** Reads a file that `files` listed; `damage` says what is wrong with it. Changes can run meanwhile. */
  checkFile(path: string): Promise<FileCheck> {
    return translatedAsync(() => this.#native.checkFile(path));
  }

  /** Current statistics. */
  stats(): ProjectIndexStats {
    return translated(() => this.#native.stats());
  }

  /**
   * Rewrites a vector log if at least a fifth of its records are dead or any record is damaged. Resolves to true if
   * one was rewritten. Searches can run meanwhile.
   */
  compactIfNeeded(): Promise<boolean> {
    return translatedAsync(() => this.#native.compactIfNeeded());
  }

  /**
   * Removes the vectors, texts and postings of removed chunks from the files, durably. Resolves to false if old files
   * could not be removed; then call it again later. Searches can run meanwhile, and changes while texts are erased,
   * which takes seconds. Do not call it again before it has resolved.
   */
  async eraseRemoved(): Promise<boolean> {
    await this.#change(false, () => this.#native.eraseVectors());
    return translatedAsync(() => this.#native.eraseTexts());
  }

  /** Waits for the changes in progress, then stops the threads and closes the files. */
  close(): Promise<void> {
    return translatedAsync(() => this.#native.close());
  }

  // A large change passes its texts to the native core in several steps. A change that is called in between must run
  // after it.
  #change<T>(isLarge: boolean, change: () => Promise<T>): Promise<T> {
    if (!isLarge && this.#queue === null) return translatedAsync(change);
    const done = (this.#queue ?? Promise.resolve()).then(() => translatedAsync(change));
    const settled = done
      .catch((error: unknown) => error) // the caller of this change gets the error; the next one runs nevertheless
      .then(() => {
        if (this.#queue === settled) this.#queue = null;
      });
    this.#queue = settled;
    return done;
  }
}

/**
 * Locks a directory for this process, by locking the file `<path>/lock`. The system releases the lock when the process
 * ends.
 * @throws NativeError with code `locked` if this or another process already holds the lock
 */
export function lockDirectory(path: string): NativeLock {
  return translated(() => addon().lockDirectory(path));
}

/**
 * Ends listening on a TCP port of this process: new connections are refused, and open ones go on.
 * @throws NativeError with code `io` if the operating system refuses
 */
export function stopListening(port: number): void {
  translated(() => addon().stopListening(port));
}

/** Returns the panics of the core's threads since the last call that no call reported, one sentence each. */
export function takePanics(): readonly string[] {
  return translated(() => addon().takePanics());
}

/**
 * Gives memory that the native core and DuckDB have freed back to the operating system. Takes milliseconds, on another
 * thread.
 */
export function releaseFreeMemory(): Promise<void> {
  return translatedAsync(() => addon().releaseFreeMemory());
}

/** Passes the texts of chunks to the native core, slice by slice. */
async function toNative(chunks: PublishChunks) {
  const chunkKeys = new BigUint64Array(chunks.length);
  const chunkMemoryKeys = new BigUint64Array(chunks.length);
  const texts = new (addon().NativeChunkTexts)();
  for (let first = 0; first < chunks.length; first += CROSSING_CHUNKS) {
    if (first > 0) await new Promise(setImmediate);
    const slice = chunks.slice(first, first + CROSSING_CHUNKS);
    for (const [at, { chunkKey, memoryKey }] of slice.entries()) {
      chunkKeys[first + at] = chunkKey;
      chunkMemoryKeys[first + at] = memoryKey;
    }
    texts.add(slice);
  }
  return { chunkKeys, chunkMemoryKeys, texts };
}
