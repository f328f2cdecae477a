// What is searched: texts, vectors and postings of published memories. Implemented by adapters/embedded.
//
// Owed by an implementation:
// - `publish` replaces all that a memory had before and is idempotent: after a crash anywhere it can be repeated. When
//   it resolves, texts, vectors and postings are durable. It does not make a memory visible.
// - Visibility follows the memory's row: `show` after the row became completed, `hide` before a caller is told that it is
//   gone. Both act at once, on searches that are under way too.
// - Every leg works inside the admissible set that `admit` made: nothing outside it is returned, and nothing inside it is
//   missed because something outside ranked higher. Scores of one leg are comparable only among themselves.
// - Writes take effect in the order of their calls: what is retracted or purged after it was published stays away.
// - A project's data cannot be reached through another project.

import type { Chunk, ChunkPlace } from "../domain/chunk.ts";
import type { ChunkKey, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";

/** A memory that is ready to be published: its text, its chunks and one vector per chunk. */
export interface Publication {
  readonly memoryKey: MemoryKey;
  readonly version: number;
  readonly content: string;
  /** BCP 47, `und` when unknown; chooses the stemmer. */
  readonly language: string;
  /** What is known of its names beside the text: its title, given or found, and up to 64 key phrases or entities. */
  readonly names: { readonly title: string | null; readonly phrases: readonly string[] };
  readonly chunks: readonly Chunk[];
  /** `[chunks.length, dimensions]`, unit length. */
  readonly vectors: Float32Array;
}

/** A memory that searches may see. */
export interface VisibleMemory {
  readonly memoryKey: MemoryKey;
  readonly userKey: UserKey | null;
  /** Unix milliseconds; null: never. */
  readonly expiresAt: number | null;
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

/**
 * What the names of a query lead to, best first; all arrays run in parallel. Each hit has the strongest single way to it: from a
 * name of the query, by way of a chunk that mentions it, through another name of that chunk. 0 stands for what a way does not
 * have: `from` → hit; the seed itself, all 0; `via`, a seed, → `through` → hit; `from` → `via` → `through` → hit.
 */
export interface Related extends Hits {
  /** How sure the graph is of this query, 0..1. */
  readonly certainty: number;
  /** Name ids, for `ProjectIndex.nameTexts`. */
  readonly from: Uint32Array;
  /** Chunk keys. */
  readonly via: BigUint64Array;
  /** Name ids. */
  readonly through: Uint32Array;
}

/** How a name was found: title, capitalised words, quotation, identifier, date, key phrase. */
export type NameKind = "t" | "c" | "q" | "i" | "d" | "k";

/** A name that a memory mentions. */
export interface MentionedName {
  /** Absent while it links nothing: only one chunk declares it, or very many mention it. */
  readonly id?: number;
  readonly name: string;
  readonly kind: NameKind;
  /** How often the memory mentions it. */
  readonly mentions: number;
  /** Admissible memories that mention it, this one among them. */
  readonly memories: number;
  /** The memory's chunks that mention it. */
  readonly chunkKeys: BigUint64Array;
}

/** The graph around a memory, most telling first. */
export interface Neighbourhood {
  readonly names: readonly MentionedName[];
  /** Memories that share names with it; `weight` adds up how telling those are, `names` are the first of them. */
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

  /**
   * @param userKey null: every user's memories.
   * @param only null: all of these; else those of them that it names. A key that is not known names nothing.
   */
  admit(userKey: UserKey | null, nowMs: number, only: readonly MemoryKey[] | null): AdmissibleSet;
  /** Nearest chunks by cosine similarity. */
  nearest(vector: Float32Array, within: AdmissibleSet, limit: number): Promise<Hits>;
  /** Best chunks by words; score in 0..1, absolute (see retrieval/modes.ts), only above 0. */
  match(query: string, within: AdmissibleSet, limit: number): Promise<Hits>;
  /** The cosine similarity of exactly these chunks, NaN for one that is gone. */
  similarities(vector: Float32Array, chunks: Pick<Hits, "chunkKeys" | "memoryKeys">): Promise<Float32Array>;
  /** The words score of exactly these chunks, 0 where nothing matches. */
  lexical(query: string, chunkKeys: BigUint64Array): Promise<Float32Array>;
  /**
   * The chunks that the names of a query lead to, directly or over one other chunk; score G in 0..1, only above 0.
   * @param seeds the best chunks by other legs, at most 10
   * @param limit up to 2,000
   */
  related(
    query: string,
    seeds: Pick<Hits, "chunkKeys" | "scores">,
    within: AdmissibleSet,
    limit: number,
  ): Promise<Related>;
  /** Names by their ids, as they were first written; null for none. Ids hold while the project is open. */
  nameTexts(ids: Uint32Array): readonly (string | null)[];
  /** The names of a memory and the admissible memories that share some, at most `limit` of each (up to 2,000). */
  neighbourhood(memoryKey: MemoryKey, within: AdmissibleSet, limit: number): Promise<Neighbourhood>;
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
   * @param completed memories that the rows call completed, deleted ones not among them.
   */
  reconcile(id: ProjectId, completed: readonly VisibleMemory[]): Promise<Reconciliation>;
  /** Removes a project's vectors and postings for good, and opens it no more; its texts go with `purge`. Idempotent. */
  drop(id: ProjectId): Promise<void>;
  /** Closes every project; afterwards every call fails. */
  close(): Promise<void>;
}
