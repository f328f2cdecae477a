// What is searched: texts, vectors, postings and entities of published memories. Implemented by adapters/embedded.
//
// What an implementation owes:
// - `publish` replaces everything that a memory had before. It can be repeated after a crash at any point. When it
//   resolves, texts, vectors and postings are durable. It does not make a memory visible.
// - Visibility follows the memory's row and is separate from content. A search that begins after `show` has resolved
//   can find the memory, and filters see the attributes that `show` gave. A search that begins after `hide` has
//   resolved does not find it. Of several calls for one memory the last one counts.
// - A memory can be shown a moment before its row is committed as completed, and hidden a moment after its row was
//   deleted. So the rows have the last word: callers read them again before they show a result.
// - Every search stays inside the admissible set that it is given. It returns nothing from outside, and it misses
//   nothing inside because something outside ranked higher. Scores of one kind of search are comparable only among
//   themselves.
// - Changes take effect in the order of their calls: what is retracted or purged after it was published stays away.
// - The data of a project cannot be reached through another project.

import type { Chunk, ChunkPlace, ChunkTexts } from "../domain/chunk.ts";
import type { Filter } from "../domain/filter.ts";
import type { ChunkKey, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";
import type { Eventually } from "../kit/eventually.ts";

/** A memory that is ready to be published: its text, its chunks and one vector per chunk. */
export interface Publication {
  readonly memoryKey: MemoryKey;
  readonly version: number;
  readonly content: string;
  /** BCP 47, `und` when unknown; chooses the stemmer. */
  readonly language: string;
  readonly chunks: readonly Chunk[];
  readonly texts: ChunkTexts;
  /** `[chunks.length, dimensions]`, unit length. */
  readonly vectors: Float32Array;
  /** Entities that are known beside the text; further ones are extracted from the passages. */
  readonly entities: KnownEntities;
}

/** Entities of a memory that are known without reading its passages. */
export interface KnownEntities {
  /** Given by the caller or extracted. */
  readonly title: string | null;
  /** Key phrases and entities, at most 64. They count in the passages that contain them. */
  readonly phrases: readonly string[];
}

/** A memory that searches may see. */
export interface VisibleMemory {
  readonly memoryKey: MemoryKey;
  readonly userKey: UserKey | null;
  /** Unix milliseconds; null: never. */
  readonly expiresAt: number | null;
  /**
   * What filters see: JSON text as `filteredAttributesJson` (domain/filter.ts) makes it. It stays text because opening
   * a project shows all of its memories: the row store builds this text inside its query and the index parses it
   * natively, so that no JavaScript object per memory is made in between.
   */
  readonly attributes: string;
}

/** The set of memories that one request may see. Made once and used by every search of the request. */
export interface AdmissibleSet {
  /** Number of memories in it. */
  readonly memories: number;
}

/** Hits of one search, best first; the arrays run in parallel. */
export interface Hits {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  readonly scores: Float32Array;
}

/** Where a graph search begins: the best passages by other signals, with their scores. The arrays run in parallel. */
export interface Seeds {
  readonly chunkKeys: BigUint64Array;
  readonly scores: Float32Array;
}

/** Hits of a graph search, best first. */
export interface GraphHits extends Hits {
  /** How sure the graph is of the query's entities, 0..1; 0: there are no hits. */
  readonly certainty: number;
  /** The strongest path to the hit at this position. */
  pathTo(position: number): GraphPath;
}

/** How a graph search reached a passage. A seed that nothing else leads to has none of the three. */
export interface GraphPath {
  /** The query's entity where the path begins. */
  readonly from: string | null;
  /** The passage in between, where the path has two steps. */
  readonly via: ChunkKey | null;
  /** The entity of that passage that leads on. */
  readonly through: string | null;
}

/**
 * Where an entity was found: a title, capitalised words (or words of scripts without capitals), quotation marks and so
 * on.
 */
export type EntityKind = "title" | "name" | "quote" | "identifier" | "date" | "phrase";

/** An entity of one memory. */
export interface MemoryEntity {
  readonly name: string;
  readonly kind: EntityKind;
  /** Number of mentions in the memory's passages. */
  readonly mentions: number;
  /** Number of memories in the admissible set that mention it, this one included. */
  readonly memories: number;
  readonly chunkKeys: BigUint64Array;
}

/** The entities of a memory, and the memories that share some of them. */
export interface Neighbourhood {
  /** Rarest first. */
  readonly entities: readonly MemoryEntity[];
  /** Nearest first; `weight` is above 0 and comparable within one neighbourhood. */
  readonly neighbours: readonly {
    readonly memoryKey: MemoryKey;
    readonly weight: number;
    readonly entities: readonly string[];
  }[];
}

/** What a result shows of a chunk. */
export interface Passage {
  readonly chunkKey: ChunkKey;
  readonly text: string;
  readonly place: ChunkPlace;
}

/** How the index of a project differed from the rows. */
export interface Reconciliation {
  /** Memories whose texts, vectors or postings are incomplete. They have to be published again. */
  readonly incomplete: readonly MemoryKey[];
  /** Number of memories that had vectors or postings without being completed. Those entries were removed. */
  readonly removed: number;
  /** What was found damaged and set aside, one sentence each. */
  readonly repairs: readonly string[];
}

/** The index of one project. */
export interface ProjectIndex {
  publish(publications: readonly Publication[]): Promise<void>;
  /** Removes vectors and postings durably. The texts stay until `ChunkIndex.purge`. */
  retract(memoryKeys: readonly MemoryKey[]): Promise<void>;
  /** Makes memories visible, or changes the attributes of visible ones. */
  show(memories: readonly VisibleMemory[]): Eventually<void>;
  hide(memoryKeys: readonly MemoryKey[]): Eventually<void>;

  /** The visible memories of a user, or of all users (`userKey` null), that have not expired at `nowMs`. */
  admit(userKey: UserKey | null, nowMs: number): Eventually<AdmissibleSet>;
  /**
   * The same, restricted to those that match a filter.
   * @throws Fault `invalid_filter` for a filter that would take seconds
   */
  admitWithin(userKey: UserKey | null, nowMs: number, filter: Filter): Promise<AdmissibleSet>;
  /** Vector search: the chunks with the highest cosine similarity. */
  searchVectors(vector: Float32Array, within: AdmissibleSet, limit: number): Promise<Hits>;
  /** The cosine similarity of exactly these chunks; NaN for one that no longer exists. */
  scoreVectors(vector: Float32Array, chunks: Pick<Hits, "chunkKeys" | "memoryKeys">): Promise<Float32Array>;
  /**
   * Full-text search: the chunks with the highest BM25 score (0..1, absolute, see retrieval/modes.ts); only scores
   * above 0.
   */
  searchText(query: string, within: AdmissibleSet, limit: number): Promise<Hits>;
  /** The BM25 score of exactly these chunks; 0 where no word matches. */
  scoreText(query: string, chunkKeys: BigUint64Array): Promise<Float32Array>;
  /**
   * Graph search: two steps from the query's entities and from the seeds, over passages of the admissible set. Scores
   * are 0..1, the best equals `certainty`; only scores above 0.
   * @param seeds at most 10
   */
  searchGraph(query: string, seeds: Seeds, within: AdmissibleSet, limit: number): Promise<GraphHits>;
  /** The entities of one memory and the memories of the admissible set that share some; at most `limit` of each. */
  neighbourhood(memoryKey: MemoryKey, within: AdmissibleSet, limit: number): Promise<Neighbourhood>;
  /** What to show of these chunks, in their order; null for one that no longer exists. */
  passages(chunkKeys: BigUint64Array): Promise<readonly (Passage | null)[]>;
}

/** The indexes of all projects. */
export interface ChunkIndex {
  /**
   * Opens a project's index, or creates it. Returns the same instance for the same project.
   * @throws Fault `project_not_found` for a project that was dropped
   */
  project(id: ProjectId): Promise<ProjectIndex>;
  /** Texts of published memories, by key. Keys without a stored text are left out. */
  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, string>>;
  /** Removes the texts of retracted memories for good. */
  purge(memoryKeys: readonly MemoryKey[]): Promise<void>;
  /**
   * Compares the index of a project with its rows at a start. Shows memories that are whole and returns those that have
   * to be published again.
   * @param completed the project's completed memories in pages; other work goes on between two pages.
   */
  reconcile(id: ProjectId, completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation>;
  /**
   * Removes a project's vectors and postings for good; its texts go with `purge`. The project cannot be opened again.
   * Idempotent.
   */
  drop(id: ProjectId): Promise<void>;
  /**
   * Gives disk space back that removed and replaced chunks take up, in every open project where there is enough of it.
   * Cheap where there is not. Searches go on meanwhile.
   */
  compact(): Promise<void>;
  /** Closes every project. Afterwards every call fails. */
  close(): Promise<void>;
}
