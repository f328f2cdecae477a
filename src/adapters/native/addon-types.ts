// Types of the native core. Generated from `native/src/bindings/` by `bun native/types.ts`: do not edit.

/** What the native core exports. */
export interface NativeAddon {
  /**
   * The chunks of one call of `publish`. JavaScript passes them in slices (`chunks.ts`), because passing all at once
   * would block the JavaScript thread for seconds. The call that gets them empties this list.
   */
  readonly NativeChunks: {
    /** Creates an empty list. */
    new (): NativeChunks;
  };
  /** A JSON body that arrives in pieces. When it is complete, it is parsed on a thread of low priority. */
  readonly NativeJsonBody: {
    /** Creates an empty body. */
    new (limits: JsonLimits): NativeJsonBody;
  };
  /**
   * Returns a further handle of a project that this process has opened from this folder, for another JavaScript thread;
   * null if it is not open. Closing one handle closes all.
   */
  attachProject(directory: string): NativeIndex | null;
  /**
   * Claims a TCP port of a host name or address; 0 stands for a free one. Returns null if another socket uses it, of
   * this program or another one. Throws `io` or `invalid` if the operating system refuses, or does not know the host.
   */
  claimPort(host: string, port: number): NativePort | null;
  /** Counts a JSON text. Returns the limit that is exceeded; null if there is none. */
  exceededJsonLimit(bytes: Uint8Array, limits: JsonLimits): "depth" | "values" | "partValues" | "partMembers" | null;
  /** Whether `NativeEncoder` is faster than a general runtime on this processor. */
  isEncoderMadeForThisProcessor(): boolean;
  /**
   * Locks a directory for this process by locking the file `lock` in it. Throws `locked` if this or another process
   * already holds the lock.
   */
  lockDirectory(path: string): NativeLock;
  /**
   * Finds the `limit` vectors with the highest dot product for each query, from all components and without an index.
   * `queries` and `vectors` are row-major with `dimensions` components each. Uses all processors. Rejects with `invalid`
   * if the length of either is not a multiple of `dimensions`.
   */
  nearestExactly(
    queries: Float32Array,
    vectors: Float32Array,
    dimensions: number,
    limit: number,
  ): Promise<NearestVectors>;
  /**
   * Reads a model file. `words` is the model file that has the word table; null if `path` has it. Throws `invalid` for a
   * graph that is not supported and on a processor without AVX2.
   */
  openEncoder(path: string, words?: string | undefined | null): NativeEncoder;
  /** Opens or creates a project, on a worker thread. No memory is visible until `show` is called for it. */
  openProject(options: ProjectIndexOptions): Promise<NativeIndex>;
  /** Gives freed memory of the core and of other libraries back to the operating system. */
  releaseFreeMemory(): Promise<void>;
  /**
   * Ends listening on a TCP port of this process; open connections go on. Returns the number of sockets that listened.
   * Throws `io` if the operating system refuses.
   */
  stopListening(port: number): number;
  /** Returns the panics since the last call that no failed call has reported, one sentence each. */
  takePanics(): readonly string[];
}

/** A file with a checksum, by its path in the project's folder. */
export interface CheckedFile {
  /** Path in the project's folder, with `/`. */
  readonly path: string;
  /** Size in bytes; 0 if it is missing. */
  readonly bytes: number;
}

/**
 * Differences between the indexed chunks and those that should be indexed (the expected ones). All lists are in
 * ascending order.
 */
export interface Differences {
  /** Keys of expected chunks without a vector. */
  readonly missingVectors: BigUint64Array;
  /** Keys of expected chunks without postings. */
  readonly missingPostings: BigUint64Array;
  /** Keys of expected chunks with postings, but without entities. */
  readonly missingEntities: BigUint64Array;
  /** Keys of chunks that have a vector but are not expected. */
  readonly extraVectors: BigUint64Array;
  /** Keys of chunks that have postings but are not expected. */
  readonly extraPostings: BigUint64Array;
  /** Keys of the memories of all chunks that are not expected. */
  readonly surplusMemories: BigUint64Array;
}

/**
 * Merges and names that a person gave to entities. Entities are given by their hashes: `merged[i]` counts as
 * `into[i]`, which is not merged itself, and `named[i]` has the name `names[i]`.
 */
export interface EntityCuration {
  readonly merged: BigUint64Array;
  readonly into: BigUint64Array;
  readonly named: BigUint64Array;
  readonly names: readonly string[];
}

/** Which entities a list contains. */
export interface EntityListOptions {
  /** Only entities whose name contains this text, which is in lower case. */
  readonly part?: string;
  readonly kind?: "t" | "c" | "q" | "i" | "d" | "k";
  /** `order` of the last entity of the previous page; absent for the first page. */
  readonly after?: bigint;
  /** Maximum number of entities, 1 to 2,000. */
  readonly limit: number;
}

/** An entity of an admissible set. */
export interface EntityNode {
  /** Hash of its words. It never changes. */
  readonly hash: bigint;
  readonly name: string;
  /** First letter of title, capitalised, quoted, identifier, date or key phrase. */
  readonly kind: "t" | "c" | "q" | "i" | "d" | "k";
  /** Number of admissible memories that mention it. */
  readonly memories: number;
  /** A chunk that mentions it. */
  readonly chunkKey: bigint;
  /** Sort key in the list, ascending and below 2^63: the more memories, the smaller. */
  readonly order: bigint;
}

/**
 * A path between two entities. Passage `i` mentions both `entities[i]` and `entities[i + 1]`. `knowsFirst` and
 * `knowsLast` say whether the admissible set mentions the two ends.
 */
export interface EntityPath {
  readonly knowsFirst: boolean;
  readonly knowsLast: boolean;
  /** Empty if there is no path. */
  readonly entities: readonly EntityNode[];
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
}

/** An entity, its neighbours (the entities of the same passages), and the passages that mention it, the newest first. */
export interface EntitySurroundings {
  readonly entity: EntityNode;
  readonly neighbours: readonly EntityNode[];
  /** Weight of each neighbour in 0..1, the greatest first. */
  readonly weights: readonly number[];
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
}

/** The result of a check. */
export interface FileCheck {
  /** What is wrong with the file; absent if nothing is, or if the file was replaced since it was listed. */
  readonly damage?: string;
}

/**
 * Hits of a graph search as parallel arrays, best first. Each hit has the strongest path to its chunk: query entity
 * (`from`) → another chunk (`via`) → an entity that links both chunks (`through`). If the path lacks one of these
 * parts, the part is 0.
 */
export interface GraphHits {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  readonly scores: Float32Array;
  /** Graph certainty in 0..1: how sure the graph is that the query names an entity, and that it is a rare one. */
  readonly certainty: number;
  /** Entity ids, see `entityNames`. */
  readonly from: Uint32Array;
  /** Chunk keys. */
  readonly via: BigUint64Array;
  /** Entity ids, see `entityNames`. */
  readonly through: Uint32Array;
}

/** Options of a graph search. */
export interface GraphSearchOptions {
  /** Maximum number of hits, 1 to 2,000. */
  readonly limit: number;
  /** Whether a name in the query that only one chunk contains counts as an entity of the query, too. */
  readonly usesSingleNames: boolean;
  /** Minimum certainty. Below it there is no search, and the result is that of a query without entities. */
  readonly certaintyMin: number;
}

/** Hits of a search as parallel arrays, best first. */
export interface Hits {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  readonly scores: Float32Array;
}

/** Hits of a hybrid search as parallel arrays. */
export interface HybridHits {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  /** Cosine similarities to the query; NaN for a chunk that does not exist or whose vector is damaged. */
  readonly cosines: Float32Array;
  /** BM25 scores; 0 if no word matches. */
  readonly textScores: Float32Array;
}

/** A query as text and as vector. */
export interface HybridQuery {
  readonly text: string;
  /** Fingerprint of the vector's model. */
  readonly fingerprint: string;
  /** Unit vector, `[dimensions]`. */
  readonly vector: Float32Array;
}

/** The embedding models of a project. */
export interface IndexModels {
  /** Model that searches use. */
  readonly live: VectorModel;
  /** Model whose vectors are being built. */
  readonly building: VectorModel | null;
  /** Model that was live before the last swap, if its vectors are still stored. */
  readonly previous: VectorModel | null;
}

/** An array in the outermost object that is taken out in groups of items. */
export interface JsonGroupedArray {
  /** Path of the array as a JSON array with one name. */
  readonly path: string;
  /** Number of groups. */
  readonly groups: number;
}

/** Limits of a JSON text. */
export interface JsonLimits {
  /** Maximum nesting depth of objects and arrays. */
  readonly depth: number;
  /** Maximum number of values, containers included. */
  readonly values: number;
  /** Maximum number of values of a part. */
  readonly partValues: number;
  /** Maximum number of members of all objects of a part. */
  readonly partMembers: number;
  /**
   * If true, each item of an array in the outermost object is a part, such as each memory of a batch. If false, the
   * whole text is the only part.
   */
  readonly areItemsParts: boolean;
}

/** The parts of a body; or why it is refused. */
export interface JsonParts {
  /**
   * The body without its long texts and grouped arrays. `"\u0000text N"` stands for long text `N` of `texts`,
   * `"\u0000array N"` for array `N` of `arrays`. No other text contains NUL.
   */
  readonly skeleton: string;
  /** Paths of the long texts, each as a JSON array of names and positions. */
  readonly texts: readonly string[];
  readonly arrays: readonly JsonGroupedArray[];
  /** null if the body is valid. */
  readonly refusal: "syntax" | "nul" | "surrogate" | "number" | "longPart" | "longName" | null;
  /**
   * For the refusal `syntax`: what was expected, and at which byte. For any other: the path of the value, as a JSON
   * array.
   */
  readonly detail: string;
}

/** A piece of a long text that was written to a buffer. */
export interface JsonTextPiece {
  /** Number of bytes written; 0 at the end of the text. */
  readonly bytes: number;
  /** Where the next piece starts. */
  readonly next: number;
}

/** Title and phrases of a memory, which give entities besides those that its text names. */
export interface KnownEntities {
  /** Title of the memory, given or extracted. It becomes an entity of the memory's first chunk. */
  readonly title: string | null;
  /** Key phrases or entities. The first 64 become entities of those chunks that contain them. */
  readonly phrases: readonly string[];
}

/** An entity that a memory mentions. */
export interface MentionedEntity {
  /** Entity id for `entityNames`; 0 if the entity links no chunks. */
  readonly id: number;
  /** Surface form of the entity. */
  readonly name: string;
  /** First letter of title, capitalised, quoted, identifier, date or key phrase. */
  readonly kind: "t" | "c" | "q" | "i" | "d" | "k";
  /** Number of mentions in the memory. */
  readonly mentions: number;
  /** Number of admissible memories that mention the entity, including this memory. */
  readonly memories: number;
  /** Keys of the memory's chunks that mention the entity, ascending; at most 100. */
  readonly chunkKeys: BigUint64Array;
}

/** What the vectors that are being built still lack. */
export interface MissingVectors {
  /** Memories of which at least one chunk has no vector, in ascending order. */
  readonly memoryKeys: BigUint64Array;
  /** Number of chunks of these memories. */
  readonly missingChunks: number;
  /** Number of all chunks of the project. */
  readonly chunks: number;
}

/** Admissible set: the memories that one request may see. Valid only for the index that made it. */
export interface NativeAdmissible {
  /** Number of memories in the set. */
  readonly memories: number;
}

/**
 * The chunks of one call of `publish`. JavaScript passes them in slices (`chunks.ts`), because passing all at once
 * would block the JavaScript thread for seconds. The call that gets them empties this list.
 */
export interface NativeChunks {
  /** Adds the next chunks. */
  add(chunks: readonly PublishChunk[]): void;
}

/** A model that the native core computes. */
export interface NativeEncoder {
  /**
   * Computes the model's output for sequences. `ids` has the token ids of all sequences one after another, `lengths`
   * the number of tokens of each sequence, and `firstLengths` how many of them belong to its first text. Returns one
   * row per sequence: a unit vector, a logit, or a reader's two logits. Blocks the calling thread. If `isUrgent` is
   * true and there is only one sequence, two threads compute it where that is faster.
   */
  encode(ids: Uint32Array, lengths: Uint32Array, firstLengths: Uint32Array, isUrgent: boolean): Float32Array;
  /**
   * Whether the model computes spans: for each token, logits that an answer begins or ends there. Only then can
   * `read` be called.
   */
  hasSpans(): boolean;
  /**
   * Computes logits and spans of pairs, which are passed like the sequences of `encode`. Returns for each pair its
   * logits, then the logits of begin and end of each token. Throws `invalid` for a model without spans. Blocks the
   * calling thread.
   */
  read(ids: Uint32Array, lengths: Uint32Array, firstLengths: Uint32Array): Float32Array;
  /**
   * Computes the logits of the pairs of one list with early exit. Pairs are passed like the sequences of `encode`.
   * `probe` has the weights of the early-exit probe, then its bias. The probe predicts logits after `probeLayers`
   * layers. Pairs are ordered by predicted logit plus prior score. The best pairs pass through all layers: at least
   * one pair, and further ones as long as the total number of tokens stays within `fullTokensMax`. Blocks the
   * calling thread.
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

/** An open project. Several JavaScript threads can have one each for the same project; see `attach_project`. */
export interface NativeIndex {
  /** See `Project::entities`. */
  entities(
    within: NativeAdmissible,
    curation: EntityCuration,
    options: EntityListOptions,
  ): Promise<readonly EntityNode[]>;
  /** See `Project::entity`. */
  entity(
    hash: bigint,
    within: NativeAdmissible,
    curation: EntityCuration,
    limit: number,
  ): Promise<EntitySurroundings | null>;
  /** See `Project::entity_path`. */
  entityPath(from: bigint, to: bigint, within: NativeAdmissible, curation: EntityCuration): Promise<EntityPath>;
  /** See `Project::search_graph`. `seedKeys` and `seedScores` are parallel; at most 10 seeds are allowed. */
  searchGraph(
    query: string,
    seedKeys: BigUint64Array,
    seedScores: Float32Array,
    within: NativeAdmissible,
    options: GraphSearchOptions,
  ): Promise<GraphHits>;
  /**
   * Returns the names of entities by the ids of `searchGraph` and `neighbourhood`, in their first surface form;
   * `null` for other ids. Ids are valid until the index is closed.
   */
  entityNames(ids: Uint32Array): readonly (string | null)[];
  /** See `Project::neighbourhood`. */
  neighbourhood(memoryKey: bigint, within: NativeAdmissible, limit: number): Promise<Neighbourhood>;
  /** Describes the damaged data that was dropped when the project was opened, one sentence per damage. */
  repairs(): readonly string[];
  /** See `Project::describe`. Runs on a worker thread. */
  describe(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void>;
  /** See `Project::describe_unsorted`. Runs on a worker thread. */
  describeUnsorted(memoryKeys: BigUint64Array, attributes: readonly string[]): Promise<void>;
  /** See `Project::sort_attributes`. Runs on a worker thread. */
  sortAttributes(): Promise<void>;
  /**
   * Makes memories searchable, or changes their user and expiry. All arrays have the same length. User key 0 means
   * no user; expiry 0 means never. If `attributes` is given, the attributes are set first, as in `describe`.
   */
  show(
    memoryKeys: BigUint64Array,
    userKeys: BigUint64Array,
    expiresAtMs: Float64Array,
    attributes?: readonly string[] | undefined | null,
  ): void;
  /** See `Project::hide`. */
  hide(memoryKeys: BigUint64Array): void;
  /**
   * Returns the visible memories that are not expired at `nowMs`: those of one user, or of the whole project if
   * there is no `userKey`.
   */
  admit(userKey: bigint | undefined | null, nowMs: number): NativeAdmissible;
  /** See `Project::admit_within`. The filter is JSON text. Runs on a worker thread. */
  admitWithin(userKey: bigint | undefined | null, nowMs: number, filter: string): Promise<NativeAdmissible>;
  /** See `Project::reconcile`. */
  reconcile(expected: BigUint64Array): Promise<Differences>;
  /** See `Project::files`. */
  files(): Promise<ProjectFiles>;
  /** Reads a file that `files` listed, on a worker thread, and resolves to what is wrong with it. */
  checkFile(path: string): Promise<FileCheck>;
  /** Returns the current statistics. */
  stats(): ProjectIndexStats;
  /** Whether the project is open. Another handle may have closed it. */
  readonly isOpen: boolean;
  /**
   * Number of changes of the project that have ended, on whichever JavaScript thread they were requested. It grows
   * before the promise of a change settles.
   */
  readonly changesEnded: number;
  /** Waits for the changes in progress, then releases threads and files. Later calls fail with `closed`. */
  close(): Promise<void>;
  /**
   * See `Project::layout`. `known` has x and y of each memory, NaN for those without a place; so does the result.
   * Runs on a thread of low priority.
   */
  layout(memoryKeys: BigUint64Array, known: Float32Array): Promise<Float32Array>;
  /** Returns the embedding models of the project. */
  models(): IndexModels;
  /** See `Project::begin_model`. */
  beginModel(model: VectorModel): Promise<void>;
  /** See `Project::missing_vectors`. */
  missingVectors(): Promise<MissingVectors>;
  /** See `Project::add_vectors`. */
  addVectors(chunkKeys: BigUint64Array, chunkMemoryKeys: BigUint64Array, vectors: VectorsOfModel): Promise<number>;
  /** See `Project::swap_model`. */
  swapModel(): Promise<boolean>;
  /** See `Project::drop_building`. */
  dropBuilding(): Promise<void>;
  /** See `Project::forget_previous`. */
  forgetPrevious(): Promise<void>;
  /** See `Project::publish`. */
  publish(memories: PublishedMemories, chunks: NativeChunks, vectors: readonly VectorsOfModel[]): Promise<void>;
  /** See `Project::publish_vectors`. */
  publishVectors(memoryKey: bigint, chunkKeys: BigUint64Array, vectors: readonly VectorsOfModel[]): Promise<void>;
  /** See `Project::add_texts`. */
  addTexts(memoryKey: bigint, known: KnownEntities, chunks: NativeChunks): Promise<void>;
  /** See `Project::rebuild`. Resolves to the positions of the skipped memories in `memories`, in ascending order. */
  rebuild(
    memories: PublishedMemories,
    chunks: NativeChunks,
    vectors: readonly VectorsOfModel[],
  ): Promise<readonly number[]>;
  /** See `Project::remove`. */
  remove(memoryKeys: BigUint64Array): Promise<void>;
  /** See `Project::compact_if_needed`. */
  compactIfNeeded(): Promise<boolean>;
  /** See `Project::erase_vectors`. */
  eraseVectors(): Promise<void>;
  /** See `Project::erase_texts`. */
  eraseTexts(): Promise<boolean>;
  /** See `Project::search_vectors`. Runs at once if that is short (`short_reads.rs`). */
  searchVectors(
    fingerprint: string,
    vector: Float32Array,
    within: NativeAdmissible,
    limit: number,
  ): Hits | Promise<Hits>;
  /** See `Project::search_text`. */
  searchText(query: string, within: NativeAdmissible, limit: number): Promise<Hits>;
  /**
   * See `Project::search_hybrid`. If the hits of `searchVectors` are given as `nearHits`, vectors are not
   * searched again.
   */
  searchHybrid(
    query: HybridQuery,
    textHits: Hits,
    within: NativeAdmissible,
    limit: number,
    nearHits?: Hits | undefined | null,
  ): Promise<HybridHits>;
  /** See `Project::score_vectors`. */
  scoreVectors(
    fingerprint: string,
    vector: Float32Array,
    chunkKeys: BigUint64Array,
    memoryKeys: BigUint64Array,
  ): Float32Array | Promise<Float32Array>;
  /** See `Project::compare_vectors`. */
  compareVectors(chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Float32Array | Promise<Float32Array>;
  /** See `Project::stored_vectors`. */
  storedVectors(fingerprint: string, chunkKeys: BigUint64Array, memoryKeys: BigUint64Array): Promise<Float32Array>;
  /** See `Project::score_text`. */
  scoreText(query: string, chunkKeys: BigUint64Array): Promise<Float32Array>;
  /** See `Project::passages`. Gives `null` for a chunk that does not exist. */
  passages(chunkKeys: BigUint64Array): Promise<readonly (StoredPassage | null)[]>;
  /** Sets how vectors are searched: `auto`, `scan` or `hnsw` (see `VectorIndexKind`). */
  chooseVectorIndex(kind: string): Promise<void>;
  /** The state of the index of the vectors. */
  vectorIndexStatus(): VectorIndexStatus;
}

/** A JSON body that arrives in pieces. When it is complete, it is parsed on a thread of low priority. */
export interface NativeJsonBody {
  /** Adds the next bytes. Returns the limit that is exceeded; null if there is none. */
  add(bytes: Uint8Array): "depth" | "values" | "partValues" | "partMembers" | null;
  /** Parses the complete body on a thread of low priority. Call it once. */
  split(): Promise<JsonParts>;
  /** Returns the items of a group of a grouped array, as JSON text. Throws `invalid` if there is no such group. */
  group(array: number, group: number): string;
  /**
   * Writes the piece of a long text that begins at `start` to `out`: as UTF-8; if `isJson`, as the bytes of the
   * body, with escape sequences and without the quotes. `out` has more than 12 bytes, and nobody else uses it during
   * the call.
   */
  textPiece(text: number, start: number, isJson: boolean, out: Uint8Array): JsonTextPiece;
  /** Frees the body. The garbage collector does not know how large it is. */
  release(): void;
  /** Returns a long text. It is decoded on a thread of low priority. */
  text(text: number): Promise<string>;
}

/** A lock on a directory, held until `release` or the end of the process. */
export interface NativeLock {
  /** Releases the lock. A second call does nothing. */
  release(): void;
}

/** A port on which the threads of this process can listen. It is claimed until this object is collected as garbage. */
export interface NativePort {
  /** The number of the port. */
  readonly port: number;
  /** The IP address on which the threads must listen. */
  readonly address: string;
}

/**
 * The nearest vectors of several queries: those of the first query, then those of the second, and so on. Each query
 * has as many as were asked for, or all if there are fewer.
 */
export interface NearestVectors {
  /** Numbers of the vectors, the nearest of a query first. */
  readonly rows: Uint32Array;
  /** Dot products with the query. */
  readonly scores: Float32Array;
}

/** A memory that shares entities with another. */
export interface Neighbour {
  readonly memoryKey: bigint;
  /** Sum of the idf of the shared entities. */
  readonly weight: number;
  /** Surface forms of the rarest shared entities, at most 8. */
  readonly entities: readonly string[];
}

/** The graph around a memory. Entities and neighbours are sorted by weight, the greatest first. */
export interface Neighbourhood {
  readonly entities: readonly MentionedEntity[];
  readonly neighbours: readonly Neighbour[];
}

/** The files of a project. */
export interface ProjectFiles {
  /** Files that `checkFile` checks, also missing ones. */
  readonly checked: readonly CheckedFile[];
  /** Paths of files and folders that no part of the project uses. */
  readonly orphaned: readonly string[];
}

/** Options for opening a project. */
export interface ProjectIndexOptions {
  /** The project's folder. It is created if it does not exist. */
  readonly directory: string;
  /** Embedding model of a new project. A project that exists keeps its own (`models`). */
  readonly newModel: VectorModel;
}

/** Statistics of an open project. */
export interface ProjectIndexStats {
  /** Number of memories that the index has seen since it was opened. */
  readonly memories: number;
  /** Number of chunks with a vector. */
  readonly chunks: number;
  /** Number of chunks with postings. */
  readonly textChunks: number;
  /** Number of chunks in the entity graph. */
  readonly entityRecords: number;
  /** Number of records of the vector log that are no longer valid. */
  readonly deadChunks: number;
  /** Size of the vector log, in bytes. */
  readonly logBytes: number;
}

/** A chunk to publish, with its texts. */
export interface PublishChunk {
  /**
   * A key that was never used before. Only when the same version of a memory is published again, its chunks have the
   * same keys.
   */
  readonly chunkKey: bigint;
  /** Key of its memory, which must be one of those that the call publishes. */
  readonly memoryKey: bigint;
  /** Search text of the chunk. */
  readonly own: string;
  /** Context text: search text of the chunk together with its neighbours; `null` if it has no neighbours. */
  readonly context: string | null;
  /** BCP 47 language tag, which chooses the stemmer; "und" for no stemmer. */
  readonly language: string;
  /** Text that `passages` returns. The chunk's entities are extracted from this text. */
  readonly passage: string;
  /** Position of the chunk in its memory. `passages` returns this string unchanged; the core does not read it. */
  readonly place: string;
}

/** The memories of one call of `publish`. The arrays are parallel. */
export interface PublishedMemories {
  readonly memoryKeys: BigUint64Array;
  readonly entities: readonly KnownEntities[];
}

/** The part of a chunk that is stored for display. */
export interface StoredPassage {
  /** Text of the passage. */
  readonly text: string;
  /** Position of the chunk in its memory, as the string that was published. The core does not read this string. */
  readonly place: string;
}

/** A graph that is being built, or could not be built. */
export interface VectorIndexBuild {
  /** Number of vectors that the graph has. */
  readonly vectorsDone: number;
  /** Number of all vectors. */
  readonly vectorsTotal: number;
  /** Why building has failed; null while it goes on. */
  readonly error: string | null;
  /** Time at which building was started, in ms since 1970. */
  readonly startedAtMs: number;
}

/** The state of the index of a project's vectors. */
export interface VectorIndexStatus {
  /** Whether searches use the graph. Otherwise they scan. */
  readonly isGraphActive: boolean;
  /** The graph that is being built; null if none is, and none has failed. */
  readonly build: VectorIndexBuild | null;
  /** Number of vectors that the graph has, including those of removed chunks. */
  readonly graphChunks: number;
  /** Number of vectors that the graph does not have yet. Searches scan them. */
  readonly vectorsMissing: number;
  /** Number of searches that the graph has answered since the project was opened. */
  readonly graphSearches: number;
  /** Why the last attempt to save the graph failed, or why the saved graph was not used; null if neither happened. */
  readonly note: string | null;
}

/** An embedding model, as the index knows it. */
export interface VectorModel {
  /** Identifies everything that determines a vector, 1 to 480 bytes without line breaks. */
  readonly fingerprint: string;
  /** Number of components of a vector, 1 to 4,096. */
  readonly dimensions: number;
}

/** Vectors of one model, `[chunks, dimensions]`. */
export interface VectorsOfModel {
  /** Fingerprint of the model. */
  readonly fingerprint: string;
  /** One unit vector per chunk. */
  readonly vectors: Float32Array;
}
