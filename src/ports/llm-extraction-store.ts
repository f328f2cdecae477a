// What language models found about memories, kept so that no text is paid for twice, and the tokens that this took.
// Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). What was found goes for good with its memory.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Extracted } from "../domain/memory.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Job } from "./job-store.ts";
import type { LlmUsage } from "./language-model.ts";

/** An entity that a text names. */
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
 * What a language model found. Attributes that are absent it was not asked for, or gave nothing that holds. Entities
 * and relations are kept for the knowledge graph: a text is paid for once.
 */
export interface LlmExtraction extends Partial<Extracted> {
  readonly entities: readonly Entity[];
  readonly relations: readonly Relation[];
}

/** How a language model was asked about a memory before; an `extraction` of null: it gave nothing that is of use. */
export interface PreviousExtraction {
  readonly extraction: LlmExtraction | null;
}

/** What language models extracted, and the tokens that ingestion took. */
export interface LlmExtractionStore {
  /**
   * What was found about the content that this job is about, in an earlier try or before it was to be indexed again.
   * That nothing was found holds for the job's version only: whoever sends a memory again, or has it tried again, has
   * the model asked again. null: it was not asked.
   */
  previous(job: Job): Eventually<PreviousExtraction | null>;
  /** Keeps what was found; nothing for a job whose memory is gone or newer. */
  keep(job: Job, extraction: LlmExtraction | null): Eventually<void>;
  /** The relations that were found in the content that a memory has now; none where no model was asked. */
  relations(memoryKey: MemoryKey): Eventually<readonly Relation[]>;
  /** Counts tokens for the job's memory, and for its project's day and month (UTC). */
  countTokens(job: Job, usage: LlmUsage): Eventually<void>;
  /** Tokens, of prompts and completions together, that ingestion took since the project's day (UTC) began. */
  tokensToday(projectId: ProjectId): Eventually<number>;
}
