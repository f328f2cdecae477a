// Builds the inputs of a job's steps from the results of the steps before. Pure functions; job-runner.ts runs the
// steps.

import type { Extracted, Memory } from "../domain/memory.ts";
import type { ExtractedField } from "../domain/memory-attributes.ts";
import { codeLanguageOf } from "../domain/source-code.ts";
import { isoTime } from "../kit/clock.ts";
import { type AnyText, utf8BytesOf } from "../kit/pieced-text.ts";
import type { KnownEntities, ModelVectors } from "../ports/chunk-index.ts";
import type { TextMark } from "../ports/document-reader.ts";
import type { Job } from "../ports/job-store.ts";
import type { LlmExtraction } from "../ports/llm-extraction-store.ts";
import type { Prepared, PrepareInput } from "../ports/preparer.ts";
import type { ReadyMemory } from "./publisher.ts";

/** Length of the day in an ISO 8601 time. */
const DAY_UNITS = "2026-11-21".length;
/** Maximum number of known entities besides the title. A language model finds a few dozen; callers may give 50 tags. */
const KNOWN_ENTITIES_MAX = 64;

/** A job and its text. */
export interface ReadJob {
  readonly job: Job;
  readonly content: AnyText;
  /** Title from the metadata of a file; null: none. */
  readonly title: string | null;
  /** Where pages, slides, sheets or other places begin; empty if there are none. */
  readonly marks: readonly TextMark[];
  /** Sentences about parts of the file that could not be read; absent if no file was read in this attempt. */
  readonly warnings?: readonly string[];
}

/** A job with its text, whose title and marks are those that were stored when its file was read. */
export function readJobOf(job: Job, content: AnyText): ReadJob {
  const { title = null, marks = [] } = job.facts ?? {};
  return { job, content, title, marks };
}

/** A job after LLM extraction, which may have been skipped. */
export interface ExtractedJob extends ReadJob {
  /** Whether preparation extracts the attributes that are still missing. */
  readonly isSmart: boolean;
  /** null: everything is extracted locally. */
  readonly extraction: LlmExtraction | null;
}

/**
 * Input of preparation without LLM extraction: values from the caller and the file, or those that the memory had when
 * it was completed before; null where preparation must extract one.
 * @param isSmart whether the project's smart ingestion is on; if not, the title in a file's metadata is not used
 */
export function prepareInputOf(
  { job: { memory, isReindexed }, content, title }: ReadJob,
  isSmart: boolean,
): PrepareInput {
  // `type` is not kept, unless the caller gave it. It is extracted again, because it decides how the text is cut into
  // chunks, and the stored type may be that of a language model.
  const kept = new Set<ExtractedField>(isReindexed ? ["title", "tags", "language", ...memory.given] : memory.given);
  const isTitleExtracted = isReindexed && !memory.given.includes("title") && memory.title !== title;
  return {
    content,
    isSmart,
    title: kept.has("title") ? memory.title : isSmart ? title : null,
    isTitleExtracted,
    type: kept.has("type") ? memory.type : null,
    tags: kept.has("tags") ? memory.tags : null,
    language: kept.has("language") ? memory.language : null,
    date: dateOf(memory),
    createdAt: memory.createdAt,
    isCode: memory.source !== null && codeLanguageOf(memory.source.filename) !== null,
  };
}

/**
 * Input of preparation with missing values replaced by those that a language model extracted. The type is not replaced,
 * because preparation's own type decides how the text is cut into chunks.
 */
export function withExtraction(input: PrepareInput, extraction: LlmExtraction | null): PrepareInput {
  if (extraction === null) return input;
  return {
    ...input,
    title: input.title ?? extraction.title ?? null,
    isTitleExtracted: input.isTitleExtracted === true && input.title !== extraction.title,
    tags: input.tags ?? extraction.tags ?? null,
    language: input.language ?? extraction.language ?? null,
  };
}

// The day that a caller gave. `occurred_at` takes precedence over `metadata.date`. A number in the metadata becomes
// digits: preparation decides whether they are seconds or milliseconds, as it does for a text.
function dateOf({ metadata, occurredAt, occurredAtGiven }: Memory): string | null {
  if (occurredAt !== null) return occurredAtGiven?.slice(0, DAY_UNITS) ?? isoTime(occurredAt);
  const date = metadata?.date;
  return typeof date === "string" || typeof date === "number" ? String(date) : null;
}

/**
 * Entities that are known besides those that the index finds in the text itself: the title, the tags (given, or key
 * phrases of the text), the entities that a language model extracted, the subjects and objects of the facts that it
 * extracted, and the definitions of source code.
 */
function knownEntities(
  { title, tags }: Extracted,
  extraction: LlmExtraction | null,
  marks: readonly TextMark[],
): KnownEntities {
  const entities = extraction?.entities.map(({ name }) => name) ?? [];
  const related = extraction?.facts.flatMap(({ subject, object }) => [subject, object]) ?? [];
  const symbols = marks.flatMap(({ place }) => place.symbol ?? []);
  const phrases = [...new Set([...entities, ...related, ...tags, ...symbols])];
  return { title, phrases: phrases.slice(0, KNOWN_ENTITIES_MAX) };
}

/** Input of publishing. */
export function readyMemory(
  extracted: ExtractedJob,
  prepared: Prepared,
  vectors: readonly ModelVectors[],
): ReadyMemory {
  const { job, content, title, marks, warnings = [], extraction } = extracted;
  return {
    completion: {
      job,
      extracted: extraction?.type === undefined ? prepared.extracted : { ...prepared.extracted, type: extraction.type },
      extractedBy: extraction === null ? "local" : "llm",
      chunkCount: prepared.chunks.length,
      ...(job.upload !== null && { read: { title, marks, contentBytes: utf8BytesOf(content), warnings } }),
    },
    publication: {
      memoryKey: job.memory.key,
      version: job.memory.version,
      lease: job.lease,
      content,
      language: prepared.extracted.language,
      chunks: prepared.chunks,
      texts: prepared.texts,
      vectors,
      entities: knownEntities(prepared.extracted, extraction, marks),
    },
  };
}
