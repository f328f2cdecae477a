// The steps of one memory between claim and publishing, each a small function; worker.ts decides when they run.

import type { Extracted, Memory } from "../domain/memory.ts";
import type { KnownEntities } from "../ports/chunk-index.ts";
import type { TextMark } from "../ports/document-reader.ts";
import type { Job } from "../ports/job-store.ts";
import type { LlmExtraction } from "../ports/llm-extraction-store.ts";
import type { Embedder } from "../ports/models.ts";
import type { Prepared, PrepareInput } from "../ports/preparer.ts";
import type { ReadyMemory } from "./publisher.ts";
import { SessionSmoother } from "./smoothing.ts";

/**
 * Chunks of one memory that are embedded before others have their turn: about a second of two lanes, which it fills.
 */
const EMBED_SLICE_CHUNKS = 64;
/** A language model finds some dozens of entities, and a caller may give 50 tags. */
const KNOWN_ENTITIES_MAX = 64;

/** A job whose text is there. */
export interface ReadJob {
  readonly job: Job;
  readonly content: string;
  /** The title that a file has beside its text; null: none. */
  readonly title: string | null;
  /** Where its pages, slides or sheets begin; empty where it has none. */
  readonly marks: readonly TextMark[];
}

/** A job about which a language model was asked, or was not to be. */
export interface ExtractedJob extends ReadJob {
  /** null: nothing was found, and everything is extracted locally. */
  readonly extraction: LlmExtraction | null;
}

/** A text's length as rows count it: in UTF-8 bytes. */
export function textBytesOf(content: string): number {
  return Buffer.byteLength(content, "utf8");
}

/** What preparation is told: the caller's values, what a file says, and null where it shall find one. */
export function prepareInputOf({ job: { memory }, content, title }: ReadJob): PrepareInput {
  const given = new Set(memory.given);
  return {
    content,
    title: given.has("title") ? memory.title : title,
    type: given.has("type") ? memory.type : null,
    tags: given.has("tags") ? memory.tags : null,
    language: given.has("language") ? memory.language : null,
    date: dateOf(memory),
    createdAt: memory.createdAt,
  };
}

/**
 * The same, with what a language model found where nothing was known: it counts as known from then on. Not so its type:
 * that of preparation decides how the text is cut.
 */
export function withExtraction(input: PrepareInput, extraction: LlmExtraction | null): PrepareInput {
  if (extraction === null) return input;
  return {
    ...input,
    title: input.title ?? extraction.title ?? null,
    tags: input.tags ?? extraction.tags ?? null,
    language: input.language ?? extraction.language ?? null,
  };
}

// A number in digits: what it means, seconds or milliseconds, is preparation's business as it is for a text.
function dateOf({ metadata }: Memory): string | null {
  const date = metadata?.date;
  return typeof date === "string" || typeof date === "number" ? String(date) : null;
}

/**
 * Vectors of chunks, `[n, dimensions]`, at low priority, a slice at a time, so that what else is in work comes in
 * between. Those of a conversation's turns lean towards their neighbours (smoothing.ts).
 * @param goesOn asked between two slices, with the number of chunks done; false ends the work, and there are no
 *   vectors.
 */
export async function embedChunks(
  embedder: Embedder,
  { chunks, texts }: Pick<Prepared, "chunks" | "texts">,
  signal: AbortSignal,
  goesOn: (chunksDone: number) => Promise<boolean>,
): Promise<Float32Array | null> {
  const vectors = new Float32Array(chunks.length * embedder.dimensions);
  const smoother = new SessionSmoother(vectors, chunks, embedder.dimensions);
  for (let first = 0; first < chunks.length; first += EMBED_SLICE_CHUNKS) {
    const slice = chunks.slice(first, first + EMBED_SLICE_CHUNKS).map((chunk) => texts.embeddedText(chunk));
    vectors.set(await embedder.embed(slice, "ingest", signal), first * embedder.dimensions);
    const chunksDone = first + slice.length;
    smoother.advance(chunksDone);
    if (chunksDone < chunks.length && !(await goesOn(chunksDone))) return null;
  }
  return vectors;
}

/**
 * What a memory is known to name: its title, its tags (given, or key phrases of its text), and what a language model
 * found in it; names that the text itself shows are the index's to find.
 */
function knownEntities({ title, tags }: Extracted, extraction: LlmExtraction | null): KnownEntities {
  const entities = extraction?.entities.map(({ name }) => name) ?? [];
  const related = extraction?.relations.flatMap(({ subject, object }) => [subject, object]) ?? [];
  const phrases = [...new Set([...entities, ...related, ...tags])];
  return { title, phrases: phrases.slice(0, KNOWN_ENTITIES_MAX) };
}

/** Puts together what publishing needs. */
export function readyMemory(read: ExtractedJob, prepared: Prepared, vectors: Float32Array): ReadyMemory {
  const { job, content, title, marks, extraction } = read;
  return {
    completion: {
      job,
      extracted: extraction?.type === undefined ? prepared.extracted : { ...prepared.extracted, type: extraction.type },
      extractedBy: extraction === null ? "local" : "llm",
      chunkCount: prepared.chunks.length,
      ...(job.upload !== null && { read: { title, marks, contentBytes: textBytesOf(content) } }),
    },
    publication: {
      memoryKey: job.memory.key,
      version: job.memory.version,
      content,
      language: prepared.extracted.language,
      chunks: prepared.chunks,
      texts: prepared.texts,
      vectors,
      entities: knownEntities(prepared.extracted, extraction),
    },
  };
}
