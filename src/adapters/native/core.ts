// TypeScript wrapper of the native core's indexes: vectors, full text, entities and admissible sets of one project, and
// the directory lock. Its callers decide what is indexed, and when.

import { addon, translated, translatedAsync } from "./addon.ts";
import type {
  ChunkText,
  Differences,
  GraphHits,
  Hits,
  KnownEntities,
  NativeAdmissible,
  NativeIndex,
  NativeLock,
  Neighbourhood,
  ProjectIndexOptions,
  ProjectIndexStats,
  StoredPassage,
} from "./addon-types.ts";

/** A chunk as it is published. */
export interface PublishChunk extends ChunkText {
  /** Never used before, unless this repeats an earlier publication of the same version. */
  readonly chunkKey: bigint;
  /** One of the memories being published. */
  readonly memoryKey: bigint;
}

/**
 * Chunks to publish, read in slices: an array, or an object that builds the texts of a slice when it is asked for it.
 */
export interface PublishChunks {
  readonly length: number;
  slice(start: number, end: number): readonly PublishChunk[];
}

const NOTHING_KNOWN: KnownEntities = { title: null, phrases: [] };
/** Chunks whose texts cross to the native core at once: about 10 ms of the JavaScript thread. */
const CROSSING_CHUNKS = 256;

/**
 * The indexes of one project. Keys are 1 to 2^64-2. Reads run on the runtime's worker threads, changes in order on one
 * thread per project. Nothing blocks the JavaScript thread for more than microseconds, except `show` of very many
 * memories. Every method throws or rejects with `NativeError`; after `close` with code `closed`.
 */
export class ProjectIndex {
  readonly #native: NativeIndex;
  /** Resolves when a large change, and all changes called after it, are done. Null: the next change begins at once. */
  #queue: Promise<unknown> | null = null;

  private constructor(native: NativeIndex) {
    this.#native = native;
  }

  /**
   * Opens or creates a project's indexes. Nothing is visible until it is shown. `repairs` says what was found damaged
   * and dropped, one sentence each; `reconcile` then tells which chunks to publish again.
   */
  static open(options: ProjectIndexOptions): Promise<{ index: ProjectIndex; repairs: readonly string[] }> {
    return translatedAsync(async () => {
      const native = await addon().openProject(options);
      return { index: new ProjectIndex(native), repairs: native.repairs() };
    });
  }

  /**
   * Sets the attributes that filters see of memories, one JSON object each (`filteredAttributesJson`). They replace
   * earlier ones and stay until the memories are hidden. For many memories before `show`: it runs on a worker thread.
   */
  describe(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void> {
    return translatedAsync(() => this.#native.describe(memoryKeys, attributes));
  }

  /**
   * Makes memories searchable at once, or changes their user and expiry. The arrays have equal length. User key 0 is no
   * user; expiry 0 is never, else the time in ms since 1970 from which the memory is expired. Without `attributes` (see
   * `describe`) the attributes stay as they are.
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
   * Makes memories unsearchable at once, also for searches that hold an older admissible set or are in progress. Their
   * attributes are forgotten.
   */
  hide(memoryKeys: BigUint64Array): void {
    translated(() => this.#native.hide(memoryKeys));
  }

  /** The visible memories, not expired at `nowMs`, of one user or (`null`) of the whole project. Microseconds. */
  admit(userKey: bigint | null, nowMs: number): NativeAdmissible {
    return translated(() => this.#native.admit(userKey, nowMs));
  }

  /** Like `admit`, restricted to memories that match a filter (`filterJson`). Milliseconds, on a worker thread. */
  admitWithin(userKey: bigint | null, nowMs: number, filter: string): Promise<NativeAdmissible> {
    return translatedAsync(() => this.#native.admitWithin(userKey, nowMs, filter));
  }

  /**
   * Replaces everything that the given memories had by `chunks` and their unit vectors, `[chunks, dimensions]`. When it
   * resolves, it is durable and, as far as the memories are shown, searchable. It shows nothing itself. Idempotent.
   * @param known one element per memory; left out where nothing is known
   * @throws NativeError `invalid` (nothing changed) for a vector that is NaN, zero, of another length or off unit
   * length by over .01, for reserved or repeated keys, and for a chunk of a memory that is not given. After any other
   * error, repeat the call.
   */
  publish(
    memoryKeys: BigUint64Array,
    chunks: PublishChunks,
    vectors: Float32Array,
    known: readonly KnownEntities[] = Array.from(memoryKeys, () => NOTHING_KNOWN),
  ): Promise<void> {
    return this.#change(chunks.length > CROSSING_CHUNKS, async () => {
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
      return this.#native.publish({ memoryKeys, entities: known }, chunkKeys, chunkMemoryKeys, texts, vectors);
    });
  }

  /** Removes everything that the given memories had, durably. Unknown keys are ignored. Hide the memories first. */
  remove(memoryKeys: BigUint64Array): Promise<void> {
    return this.#change(false, () => this.#native.remove(memoryKeys));
  }

  /** Vector search with a unit vector `[dimensions]`; scores are cosine similarities. `limit` is 1 to 2,000. */
  searchVectors(vector: Float32Array, within: NativeAdmissible, limit: number): Promise<Hits> {
    return translatedAsync(() => this.#native.searchVectors(vector, within, limit));
  }

  /** Full-text search; scores are BM25 scores in 0..1, only above 0. `limit` is 1 to 2,000. */
  searchText(query: string, within: NativeAdmissible, limit: number): Promise<Hits> {
    return translatedAsync(() => this.#native.searchText(query, within, limit));
  }

  /**
   * Cosine similarities of exactly the given chunks, each with its memory, to a unit vector `[dimensions]`; NaN where
   * there is no such chunk.
   */
  scoreVectors(vector: Float32Array, chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Promise<Float32Array> {
    return translatedAsync(() => this.#native.scoreVectors(vector, chunkKeys, memoryKeys));
  }

  /** BM25 scores of exactly the given chunks; 0 where no word matches or there is no such chunk. */
  scoreText(query: string, chunkKeys: BigUint64Array): Promise<Float32Array> {
    return translatedAsync(() => this.#native.scoreText(query, chunkKeys));
  }

  /**
   * Graph search: the admissible chunks that the query's entities and the seeds lead to, over at most one other
   * chunk. Scores are in 0..1, only above 0. No hits (`certainty` 0) where the query has no entity that links.
   * `limit` is 1 to 2,000.
   * @param seeds at most 10 chunks that other searches found, with scores comparable among them
   * @throws NativeError `invalid` for more seeds
   */
  searchGraph(
    query: string,
    seeds: Pick<Hits, "chunkKeys" | "scores">,
    within: NativeAdmissible,
    limit: number,
  ): Promise<GraphHits> {
    return translatedAsync(() => this.#native.searchGraph(query, seeds.chunkKeys, seeds.scores, within, limit));
  }

  /** The names of entities by id, as they were first written; `null` for unknown ids. Ids are valid until `close`. */
  entityNames(ids: Uint32Array): readonly (string | null)[] {
    return translated(() => this.#native.entityNames(ids));
  }

  /**
   * The entities of a memory and the admissible memories that share some of them, at most `limit` (1 to 2,000) of each.
   * Empty for a memory that is not admissible.
   */
  neighbourhood(memoryKey: bigint, within: NativeAdmissible, limit: number): Promise<Neighbourhood> {
    return translatedAsync(() => this.#native.neighbourhood(memoryKey, within, limit));
  }

  /** The stored passages of chunks, in their order; `null` where there is no such chunk. */
  passages(chunkKeys: BigUint64Array): Promise<readonly (StoredPassage | null)[]> {
    return translatedAsync(() => this.#native.passages(chunkKeys));
  }

  /** Compares the chunk keys that should be indexed with those that are. About 50 ms per 100,000. */
  reconcile(expected: BigUint64Array): Promise<Differences> {
    return translatedAsync(() => this.#native.reconcile(expected));
  }

  /** Current statistics. */
  stats(): ProjectIndexStats {
    return translated(() => this.#native.stats());
  }

  /**
   * Rewrites the vector log if a quarter of it is dead or a record is damaged. Resolves to whether it did. Searches go
   * on.
   */
  compactIfNeeded(): Promise<boolean> {
    return translatedAsync(() => this.#native.compactIfNeeded());
  }

  /** Waits for the changes in progress, then releases threads and files. */
  close(): Promise<void> {
    return translatedAsync(() => this.#native.close());
  }

  // A change that is called while the texts of a large change cross has to run after it.
  #change(isLarge: boolean, change: () => Promise<void>): Promise<void> {
    if (!isLarge && this.#queue === null) return translatedAsync(change);
    const done = (this.#queue ?? Promise.resolve()).then(() => translatedAsync(change));
    const settled = done
      .catch((error: unknown) => error) // its caller gets the error; the next change runs all the same
      .then(() => {
        if (this.#queue === settled) this.#queue = null;
      });
    this.#queue = settled;
    return done;
  }
}

/**
 * Locks a directory for this process, by a lock on `<path>/lock` that the system releases when the process ends.
 * @throws NativeError `locked` when another holder has it
 */
export function lockDirectory(path: string): NativeLock {
  return translated(() => addon().lockDirectory(path));
}
