// Types of the native core. Generated from `native/src/bindings/` by `bun native/types.ts`: do not edit.

/** What the native core exports. */
export interface NativeAddon {
  /** The texts of a publication. They cross slice by slice: all at once would block the JavaScript thread for seconds. */
  readonly NativeChunkTexts: {
    /** Contains no texts yet. */
    new (): NativeChunkTexts;
  };
  /** A model that the native core computes. */
  readonly NativeEncoder: {
    /** Reads a model file. Throws `invalid` for files of another exporter and on processors without AVX2. */
    open(path: string): NativeEncoder;
  };
  /** Whether `NativeEncoder` is faster than a general runtime on this processor. */
  isEncoderMadeForThisProcessor(): boolean;
  /** Locks a directory for this process, by its file `lock`. Throws `locked` when another holder has it. */
  lockDirectory(path: string): NativeLock;
  /** Opens or creates a project, on a worker thread. Nothing is visible until it is shown. */
  openProject(options: ProjectIndexOptions): Promise<NativeIndex>;
}

/** The texts of a chunk. */
export interface ChunkText {
  /** The chunk's own text, for full-text search. */
  readonly own: string;
  /** Its text together with the text around it; `null` where nothing is around it. */
  readonly context: string | null;
  /** BCP 47 tag that chooses the stemmer; "und" for none. */
  readonly language: string;
  /** What `passages` returns, and where the chunk's entities are found. */
  readonly passage: string;
  /** Where the chunk stands in its memory; `passages` returns it unchanged. */
  readonly place: string;
}

/** How the indexed chunks differ from those that should be indexed. All keys ascend. */
export interface Differences {
  /** Expected chunks without a vector. */
  readonly missingVectors: BigUint64Array;
  /** Expected chunks without postings. */
  readonly missingPostings: BigUint64Array;
  /** Chunks that have a vector but are not expected. */
  readonly extraVectors: BigUint64Array;
  /** Chunks that have postings but are not expected. */
  readonly extraPostings: BigUint64Array;
  /** The memories of the chunks that are not expected. */
  readonly surplusMemories: BigUint64Array;
}

/**
 * Hits of a graph search: parallel arrays, best first. Each hit has its strongest path, which begins at the query's
 * entity `from`, passes the chunk `via`, and goes on through that chunk's entity `through`. A part that a path lacks
 * is 0.
 */
export interface GraphHits {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  readonly scores: Float32Array;
  /** Graph certainty in 0..1: how sure the graph is of the query's entities. */
  readonly certainty: number;
  /** Entity ids, see `entityNames`. */
  readonly from: Uint32Array;
  /** Chunk keys. */
  readonly via: BigUint64Array;
  /** Entity ids, see `entityNames`. */
  readonly through: Uint32Array;
}

/** Hits of a search: parallel arrays, best first. */
export interface Hits {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  readonly scores: Float32Array;
}

/** Entities of a memory that are known beside its text. */
export interface KnownEntities {
  /** The title, given or extracted; it counts for the memory's first chunk. */
  readonly title: string | null;
  /** Key phrases or entities. The first 64 count, in the chunks that contain them. */
  readonly phrases: readonly string[];
}

/** An entity that a memory mentions. */
export interface MentionedEntity {
  /** For `entityNames`; 0 while it links nothing. */
  readonly id: number;
  /** The name as it is written. */
  readonly name: string;
  /** Title, capitalised, quoted, identifier, date, key phrase. */
  readonly kind: "t" | "c" | "q" | "i" | "d" | "k";
  /** Number of mentions in the memory. */
  readonly mentions: number;
  /** Number of admissible memories that mention it, this one included. */
  readonly memories: number;
  /** The memory's chunks that mention it, ascending; at most 100. */
  readonly chunkKeys: BigUint64Array;
}

/** The memories that one request may see. Valid only for the index that made it. */
export interface NativeAdmissible {
  /** Number of memories in the set. */
  readonly memories: number;
}

/** The texts of a publication. They cross slice by slice: all at once would block the JavaScript thread for seconds. */
export interface NativeChunkTexts {
  /** Adds the texts of the next chunks. */
  add(texts: readonly ChunkText[]): void;
}

/** A model that the native core computes. */
export interface NativeEncoder {
  /**
   * Computes sequences that follow each other in `ids`. Each has `lengths` tokens, the first `firstLengths` of
   * which belong to its first text. Returns one row per sequence: a unit vector or a logit. Blocks the calling
   * thread. A single urgent sequence is computed by two threads where that is faster.
   */
  encode(ids: Uint32Array, lengths: Uint32Array, firstLengths: Uint32Array, isUrgent: boolean): Float32Array;
  /**
   * Computes the logits of the pairs of one list with early exit. Sequences cross as in `encode`. `probe` holds
   * the probe's weights, then its bias; it predicts logits after `probeLayers` layers. Pairs are ordered by
   * predicted logit plus prior score; the best ones pass through all layers, up to `fullTokensMax` tokens in all
   * but at least one pair. Blocks the calling thread.
   */
  scoreWithEarlyExit(
    ids: Uint32Array,
    lengths: Uint32Array,
    firstLengths: Uint32Array,
    priorScores: Float32Array,
    fullTokensMax: number,
    probeLayers: number,
    probe: Float32Array,
  ): Float32Array;
}

/** An open project. */
export interface NativeIndex {
  /**
   * Graph search: the `limit` (1 to 2,000) admissible chunks that the query's entities and the seeds (at most 10)
   * lead to, over at most one other chunk. Scores are 0..1, only above 0. The seeds' keys and scores are parallel.
   */
  searchGraph(
    query: string,
    seedKeys: BigUint64Array,
    seedScores: Float32Array,
    within: NativeAdmissible,
    limit: number,
  ): Promise<GraphHits>;
  /**
   * The names of entities by the ids of `searchGraph` and `neighbourhood`, as they were first written; `null` for
   * others. Ids are valid until the index is closed.
   */
  entityNames(ids: Uint32Array): readonly (string | null)[];
  /**
   * The entities of a memory and the admissible memories that share some of them, at most `limit` (1 to 2,000) of
   * each. Empty for a memory that is not admissible.
   */
  neighbourhood(memoryKey: bigint, within: NativeAdmissible, limit: number): Promise<Neighbourhood>;
  /** What was found damaged and dropped when the project was opened, one sentence each. */
  repairs(): readonly string[];
  /**
   * Sets the attributes of memories for filters, one JSON object each, on a worker thread. They stay until the
   * memories are hidden.
   */
  describe(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void>;
  /**
   * Makes memories searchable, or changes their user and expiry. Three arrays of equal length; user key 0 is no
   * user, expiry 0 is never. With `attributes`, of the same length, `describe` runs first.
   */
  show(
    memoryKeys: BigUint64Array,
    userKeys: BigUint64Array,
    expiresAtMs: Float64Array,
    attributes?: readonly string[] | undefined | null,
  ): void;
  /** Makes memories unsearchable at once, also for searches in progress. Their attributes are forgotten. */
  hide(memoryKeys: BigUint64Array): void;
  /** The visible memories of one user, or of the whole project without `userKey`, that have not expired at `nowMs`. */
  admit(userKey: bigint | undefined | null, nowMs: number): NativeAdmissible;
  /** Like `admit`, restricted to memories that match a filter (JSON text), on a worker thread. */
  admitWithin(userKey: bigint | undefined | null, nowMs: number, filter: string): Promise<NativeAdmissible>;
  /** Compares the chunks that should be indexed with those that are. About 50 ms per 100,000. */
  reconcile(expected: BigUint64Array): Promise<Differences>;
  /** Current statistics. */
  stats(): ProjectIndexStats;
  /** Waits for the changes in progress, then releases threads and files. Later calls are refused (`closed`). */
  close(): Promise<void>;
  /**
   * Replaces everything that the given memories had by these chunks and their unit vectors, `[chunks,
   * dimensions]`. The chunks' keys, memory keys and texts are parallel. Takes the texts: `texts` is empty
   * afterwards. Durable when it resolves; it shows nothing itself. Idempotent.
   */
  publish(
    memories: PublishedMemories,
    chunkKeys: BigUint64Array,
    chunkMemoryKeys: BigUint64Array,
    texts: NativeChunkTexts,
    vectors: Float32Array,
  ): Promise<void>;
  /** Removes everything that the given memories had, durably. Unknown keys are ignored. */
  remove(memoryKeys: BigUint64Array): Promise<void>;
  /**
   * Rewrites the vector log if a quarter of it is dead or a record is damaged. Resolves to whether it did.
   * Searches go on meanwhile.
   */
  compactIfNeeded(): Promise<boolean>;
  /**
   * Vector search: the `limit` (1 to 2,000) admissible chunks with the highest cosine similarity to a unit vector
   * `[dimensions]`.
   */
  searchVectors(vector: Float32Array, within: NativeAdmissible, limit: number): Promise<Hits>;
  /**
   * Full-text search: the `limit` (1 to 2,000) admissible chunks with the highest BM25 score (0..1); only scores
   * above 0.
   */
  searchText(query: string, within: NativeAdmissible, limit: number): Promise<Hits>;
  /**
   * The cosine similarity of exactly these chunks, each with its memory, to a unit vector `[dimensions]`; NaN where
   * there is no such chunk.
   */
  scoreVectors(vector: Float32Array, chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Promise<Float32Array>;
  /** The BM25 score of exactly these chunks; 0 where no word matches or there is no such chunk. */
  scoreText(query: string, chunkKeys: BigUint64Array): Promise<Float32Array>;
  /** The stored passages of chunks, in their order; `null` where there is no such chunk. */
  passages(chunkKeys: BigUint64Array): Promise<readonly (StoredPassage | null)[]>;
}

/** A lock on a directory, held until `release` or the end of the process. */
export interface NativeLock {
  /** Releases the lock. Does nothing the second time. */
  release(): void;
}

/** A memory that shares entities with another. */
export interface Neighbour {
  readonly memoryKey: bigint;
  /** The sum of the shared entities' idf. */
  readonly weight: number;
  /** The names of the rarest shared entities, 8 at most. */
  readonly entities: readonly string[];
}

/** The graph around a memory; entities and neighbours of the greatest weight first. */
export interface Neighbourhood {
  readonly entities: readonly MentionedEntity[];
  readonly neighbours: readonly Neighbour[];
}

/** How a project is opened. */
export interface ProjectIndexOptions {
  /** The project's folder; created if it does not exist. */
  readonly directory: string;
  /** Components of a vector, 1 to 4,096. */
  readonly dimensions: number;
  /**
   * Hash of the embedding model, 1 to 480 bytes. A project written with another model or other dimensions refuses to
   * open (`invalid`; the error names both).
   */
  readonly fingerprint: string;
  /** Up to this many admissible chunks a vector search scans all of them; beyond it uses HNSW. */
  readonly hnswMinChunks: number;
}

/** Statistics of an open project. */
export interface ProjectIndexStats {
  /** Memories that the index has seen since it was opened. */
  readonly memories: number;
  /** Chunks with a vector. */
  readonly chunks: number;
  /** Records of the vector log that no longer count. */
  readonly deadChunks: number;
  /** Size of the vector log. */
  readonly logBytes: number;
  /** Chunks in the HNSW graph; 0 while there is none. */
  readonly hnswChunks: number;
  /** Whether a graph is ready for large sets. */
  readonly hnswReady: boolean;
}

/** The memories of a publication; the arrays are parallel. */
export interface PublishedMemories {
  readonly memoryKeys: BigUint64Array;
  readonly entities: readonly KnownEntities[];
}

/** What is stored of a chunk to be shown. */
export interface StoredPassage {
  /** The text. */
  readonly text: string;
  /** Where it stands in its memory, as it was published. */
  readonly place: string;
}
