// The typed face of the native core's indexes: vectors, full text and candidate sets of one project, and the directory lock.
// What is indexed, and when, is decided by its callers.

import { loadAddon, translated, translatedAsync } from "./addon.ts";

/** What a project is opened with. */
export interface ProjectIndexOptions {
  /** The project's folder; created if need be. */
  directory: string;
  /** Components of a vector, 1 to 4,096. */
  dimensions: number;
  /**
   * Hash of the embedding model, 1 to 480 bytes. A store written with another one, or with other dimensions, refuses
   * to open (`invalid`, naming both).
   */
  fingerprint: string;
  /** Up to this many admissible chunks the nearest are found by a scan, beyond it by HNSW. */
  hnswMinChunks: number;
}

/** What a search found: parallel arrays, best first. */
export interface Hits {
  chunkKeys: BigUint64Array;
  memoryKeys: BigUint64Array;
  scores: Float32Array;
}

/** A chunk as it is published. */
export interface PublishChunk {
  /** Never used before, unless this repeats an earlier publishing of the same version. */
  chunkKey: bigint;
  /** One of the memories being published. */
  memoryKey: bigint;
  /** The chunk's own words. */
  own: string;
  /** Its words together with those around it; `null` when nothing is around it. */
  context: string | null;
  /** BCP 47 tag that chooses the stemmer; "und" for none. */
  language: string;
  /** What `passages` returns, and what the names of the chunk are taken from. */
  passage: string;
  /** Where it stands in its memory; `passages` returns it as it is. */
  place: string;
}

/** What is known of a memory's names beside its text. */
export interface MemoryNames {
  /** Given or found; that of the memory's first chunk. */
  readonly title: string | null;
  /** Key phrases or entities, of which the first 64 count where a chunk says them. */
  readonly phrases: readonly string[];
}

/** What is stored of a chunk to be shown. */
export interface StoredPassage {
  text: string;
  place: string;
}

/**
 * What the names of a query lead to: parallel arrays, best first. Each hit has the strongest single way to it: the query's
 * name `from`, the chunk `via` and the name `through` that leads on from there; 0 for what the way does not have.
 */
export interface Related extends Hits {
  /** κ in 0..1: how sure the graph is of this query. */
  certainty: number;
  from: Uint32Array;
  via: BigUint64Array;
  through: Uint32Array;
}

/** A name that a memory mentions. */
export interface MentionedName {
  /** For `nameTexts`; 0 while it links nothing. */
  id: number;
  name: string;
  /** Title, capitalised, quoted, identifier, date, key phrase. */
  kind: "t" | "c" | "q" | "i" | "d" | "k";
  /** How often the memory mentions it. */
  mentions: number;
  /** Admissible memories that mention it, this one among them. */
  memories: number;
  /** The memory's chunks that mention it, ascending. */
  chunkKeys: BigUint64Array;
}

/** A memory that shares names with another. */
export interface Neighbour {
  memoryKey: bigint;
  /** The shared names' idf, added up. */
  weight: number;
  /** The most telling of the shared names, 8 at most. */
  names: string[];
}

/** The graph around a memory, most telling first. */
export interface Neighbourhood {
  names: MentionedName[];
  neighbours: Neighbour[];
}

/** What should be indexed and is not, and the reverse; chunk keys, ascending, and the memories of those in excess. */
export interface Differences {
  missingVectors: BigUint64Array;
  missingPostings: BigUint64Array;
  extraVectors: BigUint64Array;
  extraPostings: BigUint64Array;
  surplusMemories: BigUint64Array;
}

/** Figures about an open project. */
export interface ProjectIndexStats {
  /** Memories that the index has heard of since it was opened. */
  memories: number;
  /** Those that are shown. */
  visible: number;
  /** Chunks with a vector. */
  chunks: number;
  /** Records of the vector log that count for nothing any more. */
  deadChunks: number;
  logBytes: number;
  textBytes: number;
  /** Chunks in the HNSW graph; 0 while there is none. */
  hnswChunks: number;
  /** Whether a graph stands ready for large sets. */
  hnswReady: boolean;
}

/** The memories that one question may see: a handle on a native bit set, for the index that made it only. */
export interface Admissible {
  /** How many they are. */
  readonly memories: number;
}

/** `native/src/bindings/`, as napi presents it. */
interface NativeIndex {
  repairs(): string[];
  describe(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void>;
  show(
    memoryKeys: BigUint64Array,
    userKeys: BigUint64Array,
    expiresAtMs: Float64Array,
    attributes?: readonly string[],
  ): void;
  hide(memoryKeys: BigUint64Array): void;
  admit(userKey: bigint | null, nowMs: number): Admissible;
  admitWithin(userKey: bigint | null, nowMs: number, filter: string): Promise<Admissible>;
  publish(
    memories: { memoryKeys: BigUint64Array; names: readonly MemoryNames[] },
    chunkKeys: BigUint64Array,
    chunkMemoryKeys: BigUint64Array,
    texts: NativeChunkTexts,
    vectors: Float32Array,
  ): Promise<void>;
  remove(memoryKeys: BigUint64Array): Promise<void>;
  compactIfNeeded(): Promise<boolean>;
  nearest(vector: Float32Array, within: Admissible, limit: number): Promise<Hits>;
  matching(query: string, within: Admissible, limit: number): Promise<Hits>;
  similarities(vector: Float32Array, chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Promise<Float32Array>;
  lexical(query: string, chunkKeys: BigUint64Array): Promise<Float32Array>;
  related(
    query: string,
    seedKeys: BigUint64Array,
    seedScores: Float32Array,
    within: Admissible,
    limit: number,
  ): Promise<Related>;
  nameTexts(ids: Uint32Array): (string | null)[];
  neighbourhood(memoryKey: bigint, within: Admissible, limit: number): Promise<Neighbourhood>;
  passages(chunkKeys: BigUint64Array): Promise<(StoredPassage | null)[]>;
  reconcile(expected: BigUint64Array): Promise<Differences>;
  stats(): ProjectIndexStats;
  close(): Promise<void>;
}

/** The texts of a publication, slice by slice. */
interface NativeChunkTexts {
  add(texts: readonly PublishChunk[]): void;
}

/** What this file uses of the addon. */
interface IndexAddon {
  NativeChunkTexts: new () => NativeChunkTexts;
  openProject(options: ProjectIndexOptions): Promise<NativeIndex>;
  lockDirectory(path: string): { release(): void };
}

const addon = () => loadAddon<IndexAddon>();

const NO_NAMES: MemoryNames = { title: null, phrases: [] };
/** Chunks whose texts cross to the native core in one go: about 10 ms of the JavaScript thread. */
const CROSSING_CHUNKS = 256;

/**
 * The derived indexes of one project. Keys are 1 to 2^64-2. Reads run on the runtime's worker threads, changes in order
 * on one thread per project; nothing here blocks the JavaScript thread for more than microseconds, but the `show` of
 * very many memories. Every method throws or rejects with `NativeError`; after `close` with code `closed`.
 */
export class ProjectIndex {
  readonly #native: NativeIndex;
  /** Ends when all changes did that were called since a large one; null: there is none, and a change begins at once. */
  #queue: Promise<unknown> | null = null;

  private constructor(native: NativeIndex) {
    this.#native = native;
  }

  /**
   * Opens or creates a project's indexes; nothing is visible until it is shown. `repairs` are sentences on what was
   * found damaged and dropped: `reconcile` then names the chunks to publish again.
   */
  static open(options: ProjectIndexOptions): Promise<{ index: ProjectIndex; repairs: string[] }> {
    return translatedAsync(async () => {
      const native = await addon().openProject(options);
      return { index: new ProjectIndex(native), repairs: native.repairs() };
    });
  }

  /**
   * Says what filters see of memories, one JSON object each (`filteredAttributesJson`), in place of what was said before.
   * It stays until they are hidden. For many memories that are to be shown: JavaScript goes on meanwhile.
   */
  describe(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void> {
    return translatedAsync(() => this.#native.describe(memoryKeys, attributes));
  }

  /**
   * Makes memories searchable at once, or changes the user and expiry of those that are. Arrays of one length; user key 0
   * is none, expiry 0 is never, else ms since 1970 from which the memory is expired. Without `attributes` (see `describe`)
   * filters see of them what they saw.
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
   * Makes memories unsearchable at once, also for searches that hold an older `Admissible` or are under way. What was said
   * of them is forgotten.
   */
  hide(memoryKeys: BigUint64Array): void {
    translated(() => this.#native.hide(memoryKeys));
  }

  /** The visible memories, not expired at `nowMs`, of one user or (`null`) of the whole project. Microseconds. */
  admit(userKey: bigint | null, nowMs: number): Admissible {
    return translated(() => this.#native.admit(userKey, nowMs));
  }

  /** Those of them that lie within a filter, as `filterJson` writes one. Milliseconds, on a worker thread. */
  admitWithin(userKey: bigint | null, nowMs: number, filter: string): Promise<Admissible> {
    return translatedAsync(() => this.#native.admitWithin(userKey, nowMs, filter));
  }

  /**
   * Replaces everything that the given memories had by `chunks` and their unit vectors, `[chunks, dimensions]` in a row.
   * On resolve it is durable and, as far as the memories are shown, searchable; it shows nothing itself. Idempotent.
   * `invalid` (nothing changed) for a vector that is NaN, zero, of another length or off unit length by over .01, for
   * reserved or repeated keys and for a chunk of a memory not given. After any other error call it again.
   * @param names an element per memory, or none at all where nothing is known
   */
  publish(
    memoryKeys: BigUint64Array,
    chunks: readonly PublishChunk[],
    vectors: Float32Array,
    names: readonly MemoryNames[] = Array.from(memoryKeys, () => NO_NAMES),
  ): Promise<void> {
    return this.#change(chunks.length > CROSSING_CHUNKS, async () => {
      const chunkKeys = BigUint64Array.from(chunks, (chunk) => chunk.chunkKey);
      const chunkMemoryKeys = BigUint64Array.from(chunks, (chunk) => chunk.memoryKey);
      const texts = new (addon().NativeChunkTexts)();
      for (let first = 0; first < chunks.length; first += CROSSING_CHUNKS) {
        if (first > 0) await new Promise(setImmediate);
        texts.add(chunks.slice(first, first + CROSSING_CHUNKS));
      }
      return this.#native.publish({ memoryKeys, names }, chunkKeys, chunkMemoryKeys, texts, vectors);
    });
  }

  /** Removes everything that the given memories had, durably; unknown keys are fine. Hide them first. */
  remove(memoryKeys: BigUint64Array): Promise<void> {
    return this.#change(false, () => this.#native.remove(memoryKeys));
  }

  /** The admissible chunks nearest to a unit vector `[dimensions]`; scores are cosines. `limit` 1 to 2,000. */
  nearest(vector: Float32Array, within: Admissible, limit: number): Promise<Hits> {
    return translatedAsync(() => this.#native.nearest(vector, within, limit));
  }

  /** The admissible chunks that match a query's words best; scores are b in 0..1, above 0. `limit` 1 to 2,000. */
  match(query: string, within: Admissible, limit: number): Promise<Hits> {
    return translatedAsync(() => this.#native.matching(query, within, limit));
  }

  /**
   * Cosines of exactly the given chunks, each with its memory, to a unit vector `[dimensions]`, in their order; NaN where
   * there is no such chunk.
   */
  similarities(vector: Float32Array, chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Promise<Float32Array> {
    return translatedAsync(() => this.#native.similarities(vector, chunkKeys, memoryKeys));
  }

  /** b of exactly the given chunks, in their order; 0 where nothing matches or there is no such chunk. */
  lexical(query: string, chunkKeys: BigUint64Array): Promise<Float32Array> {
    return translatedAsync(() => this.#native.lexical(query, chunkKeys));
  }

  /**
   * The admissible chunks that the names of a query lead to, at most over one other chunk; scores are G in 0..1, above 0.
   * Nothing where the query names nothing that links (`certainty` 0). `limit` 1 to 2,000.
   * @param seeds at most 10 chunks by which other legs answer the query, scores comparable among them; `invalid` for more
   */
  related(
    query: string,
    seeds: Pick<Hits, "chunkKeys" | "scores">,
    within: Admissible,
    limit: number,
  ): Promise<Related> {
    return translatedAsync(() => this.#native.related(query, seeds.chunkKeys, seeds.scores, within, limit));
  }

  /** The names behind ids, as they were first written; `null` for none. Ids hold until the index is closed. */
  nameTexts(ids: Uint32Array): (string | null)[] {
    return translated(() => this.#native.nameTexts(ids));
  }

  /**
   * The names of a memory and the admissible memories that share some, at most `limit` of each, 1 to 2,000. Nothing for a
   * memory that is not admissible.
   */
  neighbourhood(memoryKey: bigint, within: Admissible, limit: number): Promise<Neighbourhood> {
    return translatedAsync(() => this.#native.neighbourhood(memoryKey, within, limit));
  }

  /** The stored passages of chunks with their places, in their order; `null` where there is no such chunk. */
  passages(chunkKeys: BigUint64Array): Promise<(StoredPassage | null)[]> {
    return translatedAsync(() => this.#native.passages(chunkKeys));
  }

  /** Compares the chunk keys that should be indexed with those that are. About 50 ms per 100,000. */
  reconcile(expected: BigUint64Array): Promise<Differences> {
    return translatedAsync(() => this.#native.reconcile(expected));
  }

  /** Figures as of now. */
  stats(): ProjectIndexStats {
    return translated(() => this.#native.stats());
  }

  /** Rewrites the vector log if a quarter of it is dead or a record damaged; whether it did. Searches go on. */
  compactIfNeeded(): Promise<boolean> {
    return translatedAsync(() => this.#native.compactIfNeeded());
  }

  /** Waits for the changes under way and lets go of threads and files. */
  close(): Promise<void> {
    return translatedAsync(() => this.#native.close());
  }

  // What is called while the texts of a large change cross comes after it.
  #change(isLarge: boolean, change: () => Promise<void>): Promise<void> {
    if (!isLarge && this.#queue === null) return translatedAsync(change);
    const done = (this.#queue ?? Promise.resolve()).then(() => translatedAsync(change));
    const settled = done
      .catch((error: unknown) => error) // its caller is told; the next one has its turn all the same
      .then(() => {
        if (this.#queue === settled) this.#queue = null;
      });
    this.#queue = settled;
    return done;
  }
}

/**
 * Holds a directory for this process, by a lock on `<path>/lock` that the system drops when the process ends. Throws
 * `NativeError` with code `locked` when another holder has it.
 */
export function lockDirectory(path: string): { release(): void } {
  return translated(() => addon().lockDirectory(path));
}
