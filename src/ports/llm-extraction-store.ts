// Stores what language models extracted from memories, so that no text has to be paid for twice, and counts the tokens
// that ingestion used. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). An extraction is erased together with its memory.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Extracted } from "../domain/memory.ts";
import type { Job } from "./job-store.ts";
import type { LlmUsage } from "./language-model.ts";

/** An entity that a text mentions. */
export interface Entity {
  readonly name: string;
  readonly type: string;
}

/** A fact between two entities. */
export interface Fact {
  readonly subject: string;
  readonly predicate: string;
  readonly object: string;
}

type ExtractedByLlm = { readonly [Field in keyof Extracted]?: NonNullable<Extracted[Field]> };

/**
 * What a language model extracted from a memory. An attribute is absent if it was not requested, or if the reply had no
 * valid value for it. Entities and facts are always requested, for the knowledge graph.
 */
export interface LlmExtraction extends ExtractedByLlm {
  readonly entities: readonly Entity[];
  readonly facts: readonly Fact[];
}

/** Outcome of an earlier request to a language model about a memory. `extraction` is null if the reply was unusable. */
export interface PreviousExtraction {
  readonly extraction: LlmExtraction | null;
}

/** LLM extractions, and the tokens that ingestion used. */
export interface LlmExtractionStore {
  /**
   * The outcome of an earlier request about the content of this job; null if there was none. An extraction is valid for
   * every version of the memory with the same content. The outcome null is valid only for the version of its job: if a
   * caller sends the memory again or retries it, the model is asked again.
   */
  previous(job: Job): Promise<PreviousExtraction | null>;
  /**
   * Stores the outcome of a request, and replaces an earlier one. Does nothing if the memory no longer exists or has a
   * newer version.
   */
  keep(job: Job, extraction: LlmExtraction | null): Promise<void>;
  /** Facts that were extracted from the current content of a memory. Empty if no model was asked. */
  facts(memoryKey: MemoryKey): Promise<readonly Fact[]>;
  /** Adds tokens to the counts of the job's memory, and of its project for the current day and month (UTC). */
  countTokens(job: Job, usage: LlmUsage): Promise<void>;
  /** Number of tokens, prompts and completions together, that ingestion has used for this project today (UTC). */
  tokensToday(projectId: ProjectId): Promise<number>;
}
