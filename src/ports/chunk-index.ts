// What is searched: texts, vectors and postings of published memories. Implemented by adapters/embedded.
//
// Owed by an implementation:
// - `publish` replaces all that a memory had before and is idempotent: after a crash anywhere it can be repeated. When
//   it resolves, texts, vectors and postings are durable. It does not make a memory visible.
// - Visibility follows the memory's row: `show` after the row became completed, `hide` before a caller is told that it is
//   gone. Both act at once, on searches that are under way too.
// - Filters see what `show` said of a memory last, from the return of `show` on, and agree with `matchesFilter` on it.
// - Every leg works inside the admissible set that `admit` or `admitWithin` made: nothing outside it is returned, and nothing inside it is
//   missed because something outside ranked higher. Scores of one leg are comparable only among themselves.
// - Writes take effect in the order of their calls: what is retracted or purged after it was published stays away.
// - A project's data cannot be reached through another project.

import type { Chunk, ChunkPlace } from "../domain/chunk.ts";
import type { Filter } from "../domain/filter.ts";
import type { ChunkKey, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";

/** A memory that is ready to be published: its text, its chunks and one vector per chunk. */
export interface Publication {
  readonly memoryKey: MemoryKey;
  readonly version: number;
  readonly content: string;
  /** BCP 47, `und` when unknown; chooses the stemmer. */
  readonly language: string;
  readonly chunks: readonly Chunk[];
  /** `[chunks.length, dimensions]`, unit length. */
  readonly vectors: Float32Array;
  /** What the memory is known to name; the rest is found in its passages. */
  readonly names: KnownNames;
}

/** Names of a memory that are known without reading its passages. */
export interface KnownNames {
  /** Given or found. */
  readonly title: string | null;
  /** Key phrases and entities, at most 64: they count where they stand in a passage. */
  readonly phrases: readonly string[];
}

/** A memory that searches may see. */
export interface VisibleMemory {
  readonly memoryKey: MemoryKey;
  readonly userKey: UserKey | null;
  /** Unix milliseconds; null: never. */
  readonly expiresAt: number | null;
  /** What filters see of it, see `filteredAttributesJson`. */
  readonly attributes: string;
}

/** The set of memories that one request may see; made once, used by every leg. */
export interface AdmissibleSet {
  /** How many memories it holds. */
  readonly memories: number;
}

/** Hits of one leg, best first; the three arrays run in parallel. */
export interface Hits {
  readonly chunkKeys: BigUint64Array;
  readonly memoryKeys: BigUint64Array;
  readonly scores: Float32Array;
}

/** Where the walk through the graph begins: the best passages by other signals, and how good each is. */
export interface Seeds {
  readonly chunkKeys: BigUint64Array;
  readonly scores: Float32Array;
}

/** What the graph leads to from a question, best first; the arrays run in parallel. */
export interface Related extends Hits {
  /** How sure the graph is of the question's names, 0..1; 0: there are no hits. */
  readonly certainty: number;
  /**
   * The strongest way to each hit: from a name of the question (`from`, 0: none), over a passage (`via`, 0: none) and a name in
   * it (`through`, 0: none). A seed that nothing else leads to has none of the three.
   */
  readonly from: Uint32Array;
  readonly via: BigUint64Array;
  readonly through: Uint32Array;
}

/** Where names come from: titles, capitals (or words of scripts that have none), quotation marks, …, what is known of the memory. */
export type NameKind = "title" | "name" | "quote" | "identifier" | "date" | "phrase";

/** A name in a memory. */
export interface NamedThere {
  readonly name: string;
  readonly kind: NameKind;
  /** How often it stands in the memory's passages. */
  readonly mentions: number;
  /** Memories of the admissible set that name it, this one included. */
  readonly memories: number;
  readonly chunkKeys: BigUint64Array;
}

/** What a memory names, and the memories that name the same. */
export interface Neighbourhood {
  /** Most telling first. */
  readonly names: readonly NamedThere[];
  /** Nearest first; `weight` above 0, comparable within one neighbourhood. */
  readonly neighbours: readonly {
    readonly memoryKey: MemoryKey;
    readonly weight: number;
    readonly names: readonly string[];
  }[];
}

/** What a result shows of a chunk. */
export interface Passage {
  readonly chunkKey: ChunkKey;
  readonly text: string;
  readonly place: ChunkPlace;
}

/** What differed between the truth and the derived indexes of a project. */
export interface Reconciliation {
  /** Memories whose texts, vectors or postings are incomplete: they have to be published again. */
  readonly incomplete: readonly MemoryKey[];
  /** Memories that are not completed and yet had vectors or postings; those are gone now. */
  readonly removed: number;
  /** What an implementation found damaged and set aside, one sentence each. */
  readonly repairs: readonly string[];
}

/** The searchable part of one project. */
export interface ProjectIndex {
  publish(publications: readonly Publication[]): Promise<void>;
  /** Removes vectors and postings durably; the texts stay until `ChunkIndex.purge`. */
  retract(memoryKeys: readonly MemoryKey[]): Promise<void>;
  show(memories: readonly VisibleMemory[]): void;
  hide(memoryKeys: readonly MemoryKey[]): void;

  /** @param userKey null: every user's memories. */
  admit(userKey: UserKey | null, nowMs: number): AdmissibleSet;
  /** Those of them that lie within a filter. @throws Fault `invalid_filter` for one that takes seconds */
  admitWithin(userKey: UserKey | null, nowMs: number, filter: Filter): Promise<AdmissibleSet>;
  /** Nearest chunks by cosine similarity. */
  nearest(vector: Float32Array, within: AdmissibleSet, limit: number): Promise<Hits>;
  /** Best chunks by words; score in 0..1, absolute (see retrieval/modes.ts), only above 0. */
  match(query: string, within: AdmissibleSet, limit: number): Promise<Hits>;
  /**
   * What names lead to: from those of the query and from the seeds, over passages of the admissible set only, two steps far.
   * Scores in 0..1, the best `certainty`; only above 0.
   * @param seeds at most 10
   */
  related(query: string, seeds: Seeds, within: AdmissibleSet, limit: number): Promise<Related>;
  /** Names by the ids in `Related`, as they were first written; null for 0. Ids hold while the project is open. */
  nameTexts(ids: Uint32Array): readonly (string | null)[];
  /** The names of one memory and the memories of the admissible set that share some, at most `limit` of each. */
  neighbourhood(memoryKey: MemoryKey, within: AdmissibleSet, limit: number): Promise<Neighbourhood>;
  /** The cosine similarity of exactly these chunks, NaN for one that is gone. */
  similarities(vector: Float32Array, chunks: Pick<Hits, "chunkKeys" | "memoryKeys">): Promise<Float32Array>;
  /** The words score of exactly these chunks, 0 where nothing matches. */
  lexical(query: string, chunkKeys: BigUint64Array): Promise<Float32Array>;
  /** What to show of these chunks, in their order; null for one that is gone. */
  passages(chunkKeys: BigUint64Array): Promise<readonly (Passage | null)[]>;

  /** Memories and chunks that the index holds, for metrics and `/ready`. */
  stats(): { readonly memories: number; readonly chunks: number };
}

/** All projects' indexes. */
export interface ChunkIndex {
  /**
   * Opens (or makes) a project's index; the same instance for the same project.
   * @throws Fault `project_not_found` for one that was dropped
   */
  project(id: ProjectId): Promise<ProjectIndex>;
  /** Contents of published memories, by key; a key that is not stored is absent from the map. */
  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, string>>;
  /** Removes the texts of memories that were retracted, for good. */
  purge(memoryKeys: readonly MemoryKey[]): Promise<void>;
  /**
   * Compares what should be there with what is, shows what is whole, and names what has to be published again.
   * @param completed memories that the rows call completed, deleted ones not among them, in pages: other work goes on between
   *   two of them.
   */
  reconcile(id: ProjectId, completed: Iterable<readonly VisibleMemory[]>): Promise<Reconciliation>;
  /** Removes a project's vectors and postings for good, and opens it no more; its texts go with `purge`. Idempotent. */
  drop(id: ProjectId): Promise<void>;
  /** Closes every project; afterwards every call fails. */
  close(): Promise<void>;
}
