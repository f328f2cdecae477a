// The index that searches read: texts, vectors, postings and entities of published memories. Implemented by
// adapters/embedded. Each of its five jobs has an interface, so that callers depend on what they use: of one project
// `SearchIndex`, `PublishIndex` and `ModelIndex`; of all projects `PublishedMemories` and `IndexMaintenance`.
//
// Obligations of an implementation:
// - `publish` replaces everything that a memory had in the index before. When it resolves, texts, vectors and postings
//   are durable. After a crash at any point, `publish` can be repeated. It does not make a memory visible.
// - Whether a memory is visible depends on `show` and `hide`, not on `publish`. A search that begins after `show`
//   has resolved can find the memory, and filters see the attributes that `show` received. A search that begins after
//   `hide` has resolved does not find it. If `show` and `hide` are called several times for one memory, the last call
//   counts.
// - A memory can be visible shortly before its row is committed as completed, and shortly after its row was deleted.
//   So the rows are authoritative: callers read them again before they show a result.
// - A search returns only chunks of the admissible set. Chunks outside of the set do not take up places in the result,
//   even if they would rank higher. Scores are comparable only with scores of the same search leg.
// - `publish`, `retract` and `purge` take effect in the order of their calls, even if a caller does not wait for the
//   earlier call. So a memory that is retracted or purged after it was published does not come back.
// - The vectors of a project are of one embedding model, its live model. Vectors of another model can be built beside
//   them and swapped in. A publication is part of both; whatever happens to the vectors that are being built, the live
//   ones do not change. What was added to them is durable. A crash during the swap leaves one of the two models live,
//   never a mixture.
// - The data of one project cannot be reached through another project.

import type { Chunk, ChunkPlace, ChunkTexts } from "../domain/chunk.ts";
import type { EntityHash } from "../domain/entity.ts";
import type { Filter } from "../domain/filter.ts";
import type { ChunkKey, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";
import type { VectorIndexName } from "../domain/project.ts";
import type { SearchLeg } from "../domain/signals.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { AnyText } from "../kit/pieced-text.ts";
import type { PlacedMemory } from "./map-store.ts";

/** An embedding model, as an index knows it. */
export interface IndexModel {
  /** Identifies everything that determines a vector. */
  readonly fingerprint: string;
  readonly dimensions: number;
}

/** The embedding models of a project. */
export interface IndexModels {
  /** The model that searches use. */
  readonly live: IndexModel;
  /** The model whose vectors are being built. */
  readonly building: IndexModel | null;
  /** The model that was live before the last swap, if its vectors are still stored. */
  readonly previous: IndexModel | null;
}

/** Unit vectors of one model, row-major `[chunks, dimensions]`. */
export interface ModelVectors {
  readonly fingerprint: string;
  readonly vectors: Float32Array;
}

/** What the vectors that are being built still lack. */
export interface MissingVectors {
  /** Memories of which at least one chunk has no vector, in ascending order. */
  readonly memoryKeys: readonly MemoryKey[];
  /** Number of chunks of these memories. */
  readonly missingChunks: number;
  /** Number of all chunks of the project. */
  readonly chunks: number;
}

/** The text of a published memory. */
export interface StoredText {
  /** Version of the memory that was published with this text. */
  readonly version: number;
  readonly content: string;
}

/** The text of a published memory, and its chunks in the order of their ordinals. */
export interface StoredMemory extends StoredText {
  readonly chunks: readonly StoredChunk[];
}

/** A published chunk: its key and its place in the content, in Unicode code points, end exclusive. */
export interface StoredChunk {
  readonly chunkKey: ChunkKey;
  readonly ordinal: number;
  readonly start: number;
  readonly end: number;
}

/** Vectors are of another model than the one that is live by now. The caller computes them with the live model. */
export class OtherModel extends Error {
  override readonly name = "OtherModel";
}

/** A memory to publish: its text, its chunks and their vectors. */
export interface Publication {
  readonly memoryKey: MemoryKey;
  readonly version: number;
  /**
   * Fencing token of the job that publishes. An index of several nodes ignores a publication whose job is no longer
   * held. Absent if no other process can publish the memory.
   */
  readonly lease?: number;
  readonly content: AnyText;
  /** BCP 47 tag, `und` if unknown. It determines the stemmer. */
  readonly language: string;
  readonly chunks: readonly Chunk[];
  readonly texts: ChunkTexts;
  /**
   * One vector per chunk and model: of the live model and, if vectors of another model are being built, of that model.
   * Without the latter, `missingVectors` lists the memory. Vectors of other models are ignored.
   */
  readonly vectors: readonly ModelVectors[];
  /** Title and key phrases, which count as entities. The index extracts more entities from the passages. */
  readonly entities: KnownEntities;
}

/** A published memory whose vectors, postings and entities are written again. */
export interface Rebuild extends Omit<Publication, "version" | "lease" | "content"> {
  /** Keys of the chunks, as `PublishedMemories.stored` gave them; parallel to `chunks`. */
  readonly chunkKeys: readonly ChunkKey[];
}

/** Entities of a memory that are known before its passages are read. */
export interface KnownEntities {
  /** The memory's title, given by the caller or extracted. */
  readonly title: string | null;
  /** Key phrases and entities, at most 64. Each counts as a mention in the passages that contain it. */
  readonly phrases: readonly string[];
}

/** A memory that searches may see. */
export interface VisibleMemory {
  readonly memoryKey: MemoryKey;
  readonly userKey: UserKey | null;
  /** Unix milliseconds; null if it never expires. */
  readonly expiresAt: number | null;
  /**
   * Attributes that filters see, as JSON text in the form of `filteredAttributesJson` (domain/filter.ts). It is text
   * and not an object to save time when a project is opened and all of its memories are shown: the row store builds the
   * text inside its query, and the native core parses it.
   */
  readonly attributes: string;
}

/** The set of memories that one request may see. Created once and used by every search of the request. */
export interface AdmissibleSet {
  /** Number of memories in the set. */
  readonly memories: number;
}

/** Chunks and their memories. Element `i` of each array belongs to chunk `i`. */
export interface ChunkKeys {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
}

/** A query as the search legs read it. */
export interface IndexQuery {
  /** What full text and graph search read. */
  readonly text: string;
  /** Fingerprint of the model of `vector`. */
  readonly fingerprint: string;
  /** Unit vector of the query, `[dimensions]`. */
  readonly vector: Float32Array;
}

/** Input of `recall`: the query, and options of the search legs that take part. */
export interface Recall extends Omit<IndexQuery, "vector"> {
  /** The other legs run while the query is being embedded. */
  readonly vector: Promise<Float32Array>;
  /** Maximum number of hits of vector search, 1 to 2,000. */
  readonly vectorLimit: number;
  /** Maximum number of hits of full text; 0: it only scores the hits of the other legs; null: it does not take part. */
  readonly textLimit: number | null;
  /** A graph search without seeds; null: it does not take part. */
  readonly graph: GraphOptions | null;
  /** Called when the search has the result of a leg, with the number of hits. */
  readonly onLeg?: (leg: SearchLeg, hits: number) => void;
}

/** Candidates of all legs, each with every score. */
export interface Pool extends ChunkKeys {
  /** Cosine similarity to the query; NaN for a chunk that no longer exists or whose vector is damaged. */
  readonly cosines: Float32Array;
  /** BM25 score, 0..1; 0 if no word matches. Null if full text does not take part. */
  readonly textScores: Float32Array | null;
  /** Null if graph search does not take part, or was not sure enough. */
  readonly graph: GraphHits | null;
}

/** Start points of a graph search, at most 10: the best passages by other signals, with their scores. */
export interface Seeds {
  readonly chunkKeys: BigUint64Array;
  readonly scores: Float32Array;
}

/** Options of a graph search. */
export interface GraphOptions {
  /** Maximum number of hits, 1 to 2,000. */
  readonly limit: number;
  /**
   * Whether the walk also begins at names of several words that a single passage contains. Otherwise only at titles,
   * and at entities that at least two passages contain.
   */
  readonly usesSingleNames: boolean;
  /** Minimum certainty, 0..1. Below it there is no walk. */
  readonly certaintyMin: number;
}

/** Hits of a graph search, best first. They are among the candidates of their pool. */
export interface GraphHits extends ChunkKeys {
  /** Above 0 and at most 1; the best one equals `certainty`. */
  readonly scores: Float32Array;
  /** How sure the graph is of the query's entities, 0..1. 0 if there are no hits. */
  readonly certainty: number;
  /** The strongest path to the hit at this position. */
  pathTo(position: number): GraphPath;
}

/** How a graph search reached a passage. All fields are null for a seed to which no path leads. */
export interface GraphPath {
  /** Entity of the query at which the path begins. */
  readonly from: string | null;
  /** Intermediate passage of a path with two steps. */
  readonly via: ChunkKey | null;
  /** Entity that connects the intermediate passage with the hit. */
  readonly through: string | null;
}

/**
 * The surface forms by which entities are recognised: a title, capitalised words or words of scripts without capitals
 * (`name`), a text in quotation marks, an identifier, a date, or a key phrase.
 */
export const ENTITY_KIND_NAMES = ["title", "name", "quote", "identifier", "date", "phrase"] as const;
/** One of `ENTITY_KIND_NAMES`. */
export type EntityKind = (typeof ENTITY_KIND_NAMES)[number];

/** What people said of entities, as far as a viewer may see it. */
export interface EntityCuration {
  /** Pairs: a merged entity, and the one that it counts as. The second is never merged itself. */
  readonly merged: readonly (readonly [EntityHash, EntityHash])[];
  readonly named: readonly (readonly [EntityHash, string])[];
}

/** Selects entities of a list. */
export interface EntityQuery {
  /** A part of the name, in lower case. */
  readonly part: string | null;
  readonly kind: EntityKind | null;
  /** `EntityNode.order` of the last entity of the page before. */
  readonly after: bigint | null;
  readonly limit: number;
}

/** An entity that memories of an admissible set mention. */
export interface EntityNode {
  readonly hash: EntityHash;
  readonly name: string;
  readonly kind: EntityKind;
  readonly memories: number;
  /** A chunk that mentions it. */
  readonly chunkKey: ChunkKey;
  /** Place in the list: entities that more memories mention have smaller ones. */
  readonly order: bigint;
}

/** A passage that mentions entities. */
export interface EntityPassage {
  readonly chunkKey: ChunkKey;
  readonly memoryKey: MemoryKey;
}

/** An entity with its neighbours and passages. */
export interface FoundEntity {
  readonly entity: EntityNode;
  /** Entities of the same passages, the greatest weight first; weights are in 0..1. */
  readonly neighbours: readonly { readonly entity: EntityNode; readonly weight: number }[];
  /** Newest first, at most 20. */
  readonly passages: readonly EntityPassage[];
}

/** A shortest path of at most four links between two entities. */
export interface FoundPath {
  readonly knowsFirst: boolean;
  readonly knowsLast: boolean;
  /** Empty if there is no path. */
  readonly entities: readonly EntityNode[];
  readonly links: readonly EntityPassage[];
}

/** An entity of one memory. */
export interface MemoryEntity {
  readonly name: string;
  readonly kind: EntityKind;
  /** Number of mentions in the memory's passages. */
  readonly mentions: number;
  /** Number of memories in the admissible set that mention it, including this one. */
  readonly memories: number;
  readonly chunkKeys: BigUint64Array;
}

/** Entities of a memory, and memories that share some of them. */
export interface Neighbourhood {
  /** Rarest first. */
  readonly entities: readonly MemoryEntity[];
  /** Highest weight first. `weight` is above 0 and comparable only within one neighbourhood. */
  readonly neighbours: readonly {
    readonly memoryKey: MemoryKey;
    readonly weight: number;
    readonly entities: readonly string[];
  }[];
}

/** The text and place of a chunk, as a result shows them. */
export interface Passage {
  readonly chunkKey: ChunkKey;
  readonly text: string;
  readonly place: ChunkPlace;
}

/** Differences between the index of a project and the rows of its memories. */
export interface Reconciliation {
  /** Memories whose texts, vectors or postings are incomplete. They are not visible and have to be published again. */
  readonly incomplete: readonly MemoryKey[];
  /**
   * Number of memories that had vectors or postings although their status is not `completed`. These entries were
   * removed.
   */
  readonly removed: number;
  /** One sentence for each damaged part of the index that was found and moved aside. */
  readonly repairs: readonly string[];
}

/**
 * A defect of a project's index:
 * - `missing_texts`: completed memories without a stored text
 * - `missing_vectors`, `missing_postings`, `missing_entities`: chunks of completed memories that lack this part
 * - `surplus_chunks`: chunks with vectors or postings that have no stored text, not even one of a deleted memory
 * - `damaged_file`: a file that is missing or whose checksum is wrong
 * - `orphaned_file`: a file that nothing refers to
 */
type IndexFindingKind =
  | "missing_texts"
  | "missing_vectors"
  | "missing_postings"
  | "missing_entities"
  | "surplus_chunks"
  | "damaged_file"
  | "orphaned_file";

/** A finding of `IndexMaintenance.verify`. */
export interface IndexFinding {
  readonly kind: IndexFindingKind;
  /** Number of memories, chunks or files that it concerns; at least 1. */
  readonly count: number;
  /** The memories to publish again to repair it, in ascending order; empty if that does not help. */
  readonly memoryKeys: readonly MemoryKey[];
  /** Path of the file in the project's part of the index; null if the finding is not about a file. */
  readonly path: string | null;
  /** One sentence for the operator. */
  readonly detail: string;
}

/** Result of `IndexMaintenance.verify`. */
export interface IndexVerification {
  /** Number of completed memories. */
  readonly memories: number;
  /** Number of chunks that their stored texts have. */
  readonly chunks: number;
  /** Number of chunks with a vector, with postings, and with an entity record, whatever their memories' status. */
  readonly vectors: number;
  readonly postings: number;
  readonly entityRecords: number;
  /** Empty if the index is sound. */
  readonly findings: readonly IndexFinding[];
}

/** How the vectors of a project are searched at the moment. */
export interface VectorIndexState {
  /** Whether searches use the graph. Otherwise they scan. */
  readonly isGraphActive: boolean;
  /** The graph that is being built, or whose build failed; null if there is none. */
  readonly build: {
    readonly vectorsDone: number;
    readonly vectorsTotal: number;
    /** Why it has failed; null while it is being built. */
    readonly error: string | null;
    /** Unix milliseconds. */
    readonly startedAt: number;
  } | null;
  /** Numbers of vectors that are in the graph, and that are not yet in it. Searches scan the latter. */
  readonly graphChunks: number;
  readonly vectorsMissing: number;
  /** Number of searches that the graph has answered since the project was opened. */
  readonly graphSearches: number;
  /** Why the graph could not be saved the last time, or why a saved one was not used; null if neither happened. */
  readonly note: string | null;
}

/** Searches of one project. */
export interface SearchIndex {
  /** The visible memories of a user that have not expired at `nowMs`. If `userKey` is null, those of all users. */
  admit(userKey: UserKey | null, nowMs: number): Eventually<AdmissibleSet>;
  /**
   * The memories of `admit` that match a filter.
   * @throws Fault `invalid_filter` if evaluating the filter would take seconds
   */
  admitWithin(userKey: UserKey | null, nowMs: number, filter: Filter): Promise<AdmissibleSet>;
  /**
   * Finds candidates by the search legs that are given. First those of vector search: the chunks with the highest
   * cosine similarity, best first. Then those of full text that are not among them: the chunks with the highest BM25
   * scores above 0, which are comparable between queries. Then those of a graph search without seeds, if its
   * certainty is at least `certaintyMin`.
   * @throws OtherModel if another model is live; the error of `vector`
   */
  recall(recall: Recall, within: AdmissibleSet): Promise<Pool>;
  /**
   * Graph search: a walk of at most two steps from the query's entities and from the seeds, over passages of the
   * admissible set. Returns the pool with the new hits, which get every kind of score that its candidates have.
   * @throws OtherModel if another model is live
   */
  walk(query: IndexQuery, seeds: Seeds, pool: Pool, within: AdmissibleSet, options: GraphOptions): Promise<Pool>;
  /**
   * Cosine similarities of these chunks, at most 256, to each other by the live model; row-major `[chunks, chunks]`, 1
   * on the diagonal, NaN for a chunk that no longer exists.
   */
  compareVectors(chunks: ChunkKeys): Promise<Float32Array>;
  /**
   * The vectors that are stored for these chunks; row-major `[chunks, dimensions]`, NaN for a chunk that no longer
   * exists. Publishing them elsewhere gives the same scores.
   * @throws OtherModel unless the model is live or being built
   */
  storedVectors(fingerprint: string, chunks: ChunkKeys): Promise<Float32Array>;
  /**
   * Text and place of these chunks, in their order; null for a chunk that no longer exists, or whose stored text is
   * damaged.
   */
  passages(chunkKeys: BigUint64Array): Promise<readonly (Passage | null)[]>;
  /** Entities of one memory, and memories of the admissible set that share some of them; at most `limit` of each. */
  neighbourhood(memoryKey: MemoryKey, within: AdmissibleSet, limit: number): Promise<Neighbourhood>;
  /** Lists entities, those that most memories mention first. A merged one counts as its target. */
  entities(within: AdmissibleSet, curation: EntityCuration, query: EntityQuery): Promise<readonly EntityNode[]>;
  /** An entity, or the one that it is merged into, with at most `limit` neighbours; null if nothing mentions it. */
  entity(hash: EntityHash, within: AdmissibleSet, curation: EntityCuration, limit: number): Promise<FoundEntity | null>;
  /** A path between two entities, over passages that mention both ends of a link. */
  entityPath(from: EntityHash, to: EntityHash, within: AdmissibleSet, curation: EntityCuration): Promise<FoundPath>;
  /** The embedding models of the project. */
  models(): Eventually<IndexModels>;
  /**
   * Sets how vectors are searched; does nothing if it is set already. A graph is built in the background, and searches
   * scan until it is complete.
   */
  chooseVectorIndex(name: VectorIndexName): Promise<void>;
  /** How vectors are searched at the moment. */
  vectorIndex(): Eventually<VectorIndexState>;
}

/** Publishes memories of one project. */
export interface PublishIndex {
  /**
   * @throws OtherModel if a publication has no vectors of the live model; vectors and postings have not changed then,
   *   and the caller publishes again with such vectors
   */
  publish(publications: readonly Publication[]): Promise<void>;
  /**
   * Like `publish` for one large memory, but in parts: each step of the iteration publishes a part, and other changes
   * can run between two steps. The memory must not be shown before the iteration has ended. A caller that stops
   * earlier retracts the memory, or publishes it again. Until then, no other call may publish this memory.
   * @throws OtherModel like `publish`, in the first step
   */
  publishInParts(publication: Publication): AsyncIterable<void>;
  /** Removes vectors and postings. When it resolves, the removal is durable. The texts stay until they are purged. */
  retract(memoryKeys: readonly MemoryKey[]): Promise<void>;
  /** Makes memories visible, or changes the attributes of visible ones. */
  show(memories: readonly VisibleMemory[]): Eventually<void>;
  hide(memoryKeys: readonly MemoryKey[]): Eventually<void>;
}

/** Computes the parts of published memories of one project again, and changes its embedding model. */
export interface ModelIndex extends Pick<SearchIndex, "models" | "passages" | "storedVectors"> {
  /**
   * Replaces vectors of the live model, postings and entities of published memories, durably. Their texts and the keys
   * of their chunks stay the same. Searches go on: at every moment, they find a memory with its old parts or its new
   * ones. A memory that does not have exactly these chunks in the index is skipped, because it was changed or retracted
   * meanwhile, or lacks a vector. Returns the skipped memories.
   * @throws OtherModel if a memory has no vectors of the live model; nothing has changed then
   */
  rebuild(memories: readonly Rebuild[]): Promise<readonly MemoryKey[]>;
  /**
   * Places of memories on a plane in −1..1, where memories with similar vectors lie close together, by the live model.
   * Those of `known` stay. Returns places of `others`, except for memories without vectors. Takes up to some seconds,
   * on a thread of low priority.
   */
  layout(known: readonly PlacedMemory[], others: readonly MemoryKey[]): Promise<readonly PlacedMemory[]>;
  /**
   * Begins to build vectors of another model beside the live ones, or goes on with that. If vectors of this model are
   * kept for a rollback, only what they lack has to be added. Fails if the model is live, or if vectors of another
   * model are being built.
   */
  beginModel(model: IndexModel): Promise<void>;
  /** Compares the vectors that are being built with the published chunks. Fails if none are being built. */
  missingVectors(): Promise<MissingVectors>;
  /**
   * Adds vectors to those that are being built. `chunks` has all chunks of each of its memories; a memory that was
   * changed or retracted meanwhile is skipped. Returns the number of chunks that were added.
   * @throws OtherModel if vectors of another model are being built
   */
  addVectors(chunks: ChunkKeys, vectors: ModelVectors): Promise<number>;
  /**
   * Makes the vectors that are being built live if no chunk lacks one; returns whether it did. The vectors that were
   * live are kept for a rollback, in place of any that were kept before.
   */
  swapModel(): Promise<boolean>;
  /** Deletes the vectors that are being built, if there are any. */
  dropBuilding(): Promise<void>;
  /** Deletes the vectors that are kept for a rollback, if there are any. */
  forgetPrevious(): Promise<void>;
}

/** The index of one project. */
export type ProjectIndex = SearchIndex & PublishIndex & ModelIndex & Disposable;

/** Opens indexes of projects for one job, an interface above. The caller disposes of each opened index once. */
export interface IndexOf<Job> {
  /**
   * Opens or creates the index of a project. It stays open until the caller gives it back: `using project = await …`.
   * While it is open, every call returns the same instance.
   * @throws Fault `project_not_found` if the project was dropped; another error if its live model is not installed
   */
  project(id: ProjectId): Promise<Job & Disposable>;
  /**
   * Like `project`, for a request: the index includes every change that any node committed before this call.
   * @throws Fault `overloaded` if this node cannot catch up soon enough
   */
  current(id: ProjectId): Promise<Job & Disposable>;
}

/** Shows, hides, reads and removes published memories of any project. */
export interface PublishedMemories {
  /**
   * Makes memories visible or changes their attributes after the commit that did so, like `PublishIndex.show`. If the
   * index follows the commits of several nodes, the call only wakes it.
   */
  show(id: ProjectId, memories: readonly VisibleMemory[]): Promise<void>;
  /** Hides memories after the commit that deleted or rewrote them, like `PublishIndex.hide`. */
  hide(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void>;
  /**
   * Hides memories that were deleted, and removes their vectors and postings. When it resolves, that is durable on this
   * node; other nodes do the same when they see the deletion. The texts stay until `purge`.
   */
  retract(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void>;
  /** Texts of published memories, by key. Keys without a stored text are left out. */
  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredText>>;
  /** Texts and chunks of published memories, by key. Keys without a stored text are left out. */
  stored(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredMemory>>;
  /** Removes the texts of retracted memories for good. */
  purge(memoryKeys: readonly MemoryKey[]): Promise<void>;
  /** Makes the next compaction also erase what earlier publications replaced, as it does after `purge`. */
  eraseReplaced(): Promise<void>;
}

/** Keeps the indexes of projects sound and small. */
export interface IndexMaintenance {
  /**
   * Compares the index of a project with its rows when the server starts. Shows memories that are complete in the
   * index, and returns those that have to be published again.
   * @param completed pages with all completed memories of the project; other work can run between two pages
   */
  reconcile(id: ProjectId, completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation>;
  /**
   * Checks the index of a project: compares rows, texts, vectors, postings and entities, and reads all files. Changes
   * nothing. Publications wait while the parts are compared (about a second per 100,000 chunks), but not while files
   * are read. Searches continue.
   * @param completed pages with all completed memories of the project; read while publications wait
   * @param onProgress is called with the bytes of files that were read, and that are to be read
   */
  verify(
    id: ProjectId,
    completed: AsyncIterable<readonly Pick<VisibleMemory, "memoryKey">[]>,
    onProgress?: (done: number, total: number) => void,
  ): Promise<IndexVerification>;
  /**
   * Removes the vectors and postings of a project for good. Its texts are removed by `purge`. The project cannot be
   * opened again. The call can be repeated.
   */
  drop(id: ProjectId): Promise<void>;
  /**
   * Frees the disk space of removed and replaced chunks in every open project where there is enough to free; for other
   * projects the call is cheap. After `purge`, and once per process, it erases all of them: when it resolves, no file
   * of an index has their texts, words or vectors. It does not change what searches find, and searches continue
   * meanwhile. Erasing texts rewrites all of them, so it is put off for a while after an erasure that took long.
   * @param erasesNow do not put it off
   * @returns true if no file has anything of purged memories any more; false if something may be left
   */
  compact(erasesNow?: boolean): Promise<boolean>;
  /** How the vectors of each open project are searched at the moment. */
  vectorIndexes(): Promise<ReadonlyMap<ProjectId, VectorIndexState>>;
  /** Closes every project. All later calls fail. */
  close(): Promise<void>;
}

/** The indexes of all projects. */
export type ChunkIndex = IndexOf<ProjectIndex> & PublishedMemories & IndexMaintenance;
