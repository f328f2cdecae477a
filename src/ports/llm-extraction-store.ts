// What language models extracted from memories, stored so that no text is paid for twice, and the tokens that ingestion
// took. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). An extraction is erased together with its memory.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Extracted } from "../domain/memory.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Job } from "./job-store.ts";
import type { LlmUsage } from "./language-model.ts";

/** An entity that a text mentions. */
export interface Entity {
  readonly name: string;
  readonly type: string;
}

/** A fact between two entities. */
export interface Relation {
  readonly subject: string;
  readonly predicate: string;
  readonly object: string;
}

/**
 * What a language model extracted from a memory. An attribute is absent if it was not requested, or if the reply had no
 * valid value for it. Entities and relations are always requested, for the knowledge graph.
 */
export interface LlmExtraction extends Partial<Extracted> {
  readonly entities: readonly Entity[];
  readonly relations: readonly Relation[];
}

/** The outcome of an earlier request about a memory. `extraction` is null if the reply had nothing usable. */
export interface PreviousExtraction {
  readonly extraction: LlmExtraction | null;
}

/** What language models extracted, and the tokens that ingestion took. */
export interface LlmExtractionStore {
  /**
   * The outcome of an earlier request about the content of this job; null if there was none. An extraction is valid for
   * every version of the memory with the same content. The outcome "nothing usable" is valid only for the version of
   * its job: if a caller sends the memory again or retries it, the model is asked again.
   */
  previous(job: Job): Eventually<PreviousExtraction | null>;
  /**
   * Stores the outcome of a request, in place of an earlier one. Does nothing if the memory is gone or has a newer
   * version.
   */
  keep(job: Job, extraction: LlmExtraction | null): Eventually<void>;
  /** Relations that were extracted from the current content of a memory. Empty if no model was asked. */
  relations(memoryKey: MemoryKey): Eventually<readonly Relation[]>;
  /** Adds tokens to the job's memory, and to the current day and month (UTC) of its project. */
  countTokens(job: Job, usage: LlmUsage): Eventually<void>;
  /** Tokens of prompts and completions together that ingestion has taken today (UTC) for this project. */
  tokensToday(projectId: ProjectId): Eventually<number>;
}
