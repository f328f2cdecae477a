// Turns memories and results of searches into the answers of the API; other resources have their views in their own
// files. Each view returns the type of its schema (schema/), so that a view that drifts from the contract does not
// compile.

import type { Static, TSchema } from "@sinclair/typebox";
import type { CitedPassage, Answer as WholeAnswer } from "../answer/events.ts";
import type { Memory, Progress } from "../domain/memory.ts";
import {
  type ApiName,
  ATTRIBUTES,
  type AttributeName,
  type AttributesWith,
  EXTRACTED_FIELDS,
} from "../domain/memory-attributes.ts";
import type { Page } from "../domain/page.ts";
import type { NamedTime, RankedPassage, Ranking } from "../domain/ranking.ts";
import { isoTime } from "../kit/clock.ts";
import type { MemoryWithContent } from "../services/memories.ts";
import type { ShownValue } from "./schema/attributes.ts";
import type * as memories from "./schema/memories.ts";

/** The value that a schema describes, with all fields readonly. Maps such as `metadata` are already readonly. */
export type View<Schema extends TSchema> = Unchangeable<Static<Schema>>;
type Unchangeable<T> = T extends (infer Item)[]
  ? readonly Unchangeable<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [Name in keyof T]: Unchangeable<T[Name]> }
    : T;

/** One page of a list, in the form that all lists of the API have. */
export interface ListView<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}

/** Converts one page of a list. */
export function listView<Item, Shown>(page: Page<Item>, view: (item: Item) => Shown): ListView<Shown> {
  return { data: page.items.map(view), has_more: page.cursor !== null, cursor: page.cursor };
}

/** Converts a memory to the schema `Memory`. `progressOf` is called only while the memory is being processed. */
export function memoryView(
  { memory, content, parts }: MemoryWithContent,
  progressOf: (memory: Memory) => Progress,
): View<typeof memories.Memory> {
  const attributes = Object.assign(memoryAttributes(memory), { content }, parts === undefined ? {} : { parts });
  if (memory.state.status !== "processing") return attributes;
  return Object.assign(attributes, { progress: progressView(progressOf(memory)) });
}

/** Converts a memory to the schema `MemoryWithoutContent`, which webhooks send. */
export function memoryAttributes(memory: Memory): View<typeof memories.MemoryWithoutContent> {
  const { state } = memory;
  return {
    id: memory.id,
    status: state.status,
    ...(shownAttributes(ATTRIBUTES, memory) as ShownAttributes<AttributeName>),
    source: memory.source === null ? null : { ...memory.source, is_kept: memory.originalFile !== null },
    ...(state.status === "completed"
      ? {
          chunk_count: state.chunkCount,
          // A caller who has provided every extractable field has replaced everything that was extracted before.
          extraction: memory.given.length === EXTRACTED_FIELDS.length ? "caller" : state.extraction,
        }
      : {}),
    ...(state.status === "failed" ? { error: { ...state.error } } : {}),
  };
}

/** Attributes as the API shows them. */
type ShownAttributes<Names extends AttributeName> = {
  readonly [Name in Names as ApiName<Name>]: ShownValue<Name>;
};
type ResultAttribute = AttributesWith<{ readonly inResults: "always" | "since later" }>;
const RESULT_ATTRIBUTES = ATTRIBUTES.filter(({ inResults }) => inResults !== "never");

function shownAttributes(attributes: typeof ATTRIBUTES, memory: Memory): object {
  const shown: Record<string, unknown> = {};
  for (const { name, property, type } of attributes) {
    const value = memory[property] ?? (type === "object" ? {} : null);
    shown[name] = typeof value === "number" ? isoTime(value) : value;
  }
  return shown;
}

function progressView(progress: Progress): NonNullable<View<typeof memories.Memory>["progress"]> {
  const { stage, chunksDone, chunksTotal, pages, note } = progress;
  return {
    ...{ stage, chunks_done: chunksDone, chunks_total: chunksTotal },
    ...(pages === null ? {} : { pages_done: pages.done, pages_total: pages.total }),
    ...(note === null ? {} : { note }),
  };
}

/**
 * Converts what a search found to the schema `SearchResults`.
 * @param isExplained adds the signals of each result and the stages of the search
 */
export function searchView(ranking: Ranking, isExplained: boolean): View<typeof memories.SearchResults> {
  return {
    results: ranking.results.map((result) => ({
      ...resultView(result),
      ...(isExplained ? { explain: explainedResult(result) } : {}),
    })),
    total_results: ranking.results.length,
    ...(isExplained
      ? {
          explain: {
            mode: ranking.mode,
            stages: ranking.stages,
            admissible: ranking.admissible,
            asOf: isoTime(ranking.asOf),
            evidence: ranking.evidence,
            calibration: ranking.calibration,
            ...(ranking.calibration === "none" ? { uncalibrated: true } : {}),
            ...(ranking.degraded === null ? {} : { degraded: ranking.degraded }),
            ...(ranking.time === null ? {} : { time: namedTimeView(ranking.time) }),
          },
        }
      : {}),
  };
}

function explainedResult({ signals, fusedRank, supersededBy }: RankedPassage) {
  return { signals, fused_rank: fusedRank, ...(supersededBy === null ? {} : { superseded_by: supersededBy }) };
}

function namedTimeView({ from, to, expression }: NamedTime) {
  return { from: isoTimeOrNull(from), to: isoTimeOrNull(to), expression };
}

/**
 * Converts a source of an answer to the schema `SearchResult`, which then says whether the answer cites it, and by
 * which number. @param at its place among the sources, from 0: the cited ones come first
 */
export function sourceView({ passage, isCited }: CitedPassage, at: number): View<typeof memories.SearchResult> {
  return { ...resultView(passage), cited: isCited, ...(isCited ? { citation: at + 1 } : {}) };
}

/** Converts an answer to the schema `QueryResult`. */
export function queryView({
  answer,
  sources,
  tokensUsed,
  state,
  evidence = null,
}: WholeAnswer): View<typeof memories.QueryResult> {
  return {
    answer,
    answer_state: state,
    evidence,
    sources: sources.map(sourceView),
    usage: { tokens_used: tokensUsed },
  };
}

function resultView(result: RankedPassage): View<typeof memories.SearchResult> {
  const { memory, place } = result;
  const metadata: memories.ResultMetadata = {
    ...memory.metadata,
    _memory: shownAttributes(RESULT_ATTRIBUTES, memory) as ShownAttributes<ResultAttribute>,
    _chunk: {
      ordinal: place.ordinal,
      start: place.start,
      end: place.end,
      ...(place.headings.length === 0 ? {} : { headings: place.headings }),
      ...(place.page === undefined ? {} : { page: place.page }),
      ...(place.slide === undefined ? {} : { slide: place.slide }),
      ...(place.sheet === undefined ? {} : { sheet: place.sheet }),
      ...(place.cells === undefined ? {} : { cells: place.cells }),
      ...(place.line === undefined ? {} : { line: place.line, line_end: place.lineEnd ?? place.line }),
      ...(place.fromSeconds === undefined ? {} : { from_seconds: place.fromSeconds }),
      ...(place.toSeconds === undefined ? {} : { to_seconds: place.toSeconds }),
      ...(place.symbol === undefined ? {} : { symbol: place.symbol }),
      ...(place.ocrConfidence === undefined ? {} : { ocr_confidence: place.ocrConfidence }),
      ...(place.turn === undefined ? {} : { speaker: place.turn.speaker, date: place.turn.date }),
      ...(isOneOfSeveral(memory) && result.supersededBy !== null && { superseded_by: result.supersededBy }),
      ...(result.standing === null ? {} : { standing: result.standing }),
    },
  };
  return {
    id: result.chunkId,
    content: result.text,
    score: result.score,
    memory_id: memory.id,
    metadata,
    ...(result.answerSpans === undefined ? {} : { answer_spans: result.answerSpans }),
  };
}

function isOneOfSeveral({ state }: Memory): boolean {
  return state.status === "completed" && state.chunkCount > 1;
}

/** A time as ISO 8601 in UTC, from Unix milliseconds; null stays null. */
export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
