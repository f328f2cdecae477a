// Answers a question that asks only what happened at a time, such as "What did I do last week?", with the notes and
// turns of that time in order of time. Such a question has no subject for which a search could look.

import timeAloneList from "../../data/words/time-alone.txt" with { type: "text" };
import { type Filter, parseFilter } from "../domain/filter.ts";
import type { NamedTime, RankedPassage } from "../domain/ranking.ts";
import { isoTime } from "../kit/clock.ts";
import { isStatement } from "../retrieval/mark-replaced.ts";
import { happenedAt } from "../retrieval/time/time-preference.ts";
import { parseWordList } from "../words/word-lists.ts";
import { foldLetters } from "../words/word-patterns.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";
import { quotePrefix } from "./quote-prefix.ts";
import { sentencesOf, wordStartBefore } from "./sentences.ts";

/** Half a year in milliseconds. If the last occurrence of a day was longer ago, the next one is nearer. */
const LONG_AGO_MS = 183 * 24 * 3_600_000;
/** Maximum length of a quote, without `…`, in UTF-16 code units. */
const QUOTE_UNITS_MAX = 300;
const WORDS = new Set(parseWordList(timeAloneList).get("words")?.map(foldLetters));
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** A time with a beginning and an end, Unix milliseconds; the end is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The time that a question asks for, if it asks for nothing else; otherwise null. */
export function timeAlone(question: string, time: NamedTime | null): Span | null {
  if (time === null || time.from === null || time.to === null) return null;
  const rest = foldLetters(question).replace(foldLetters(time.expression), " ");
  const segments = [...segmenter.segment(rest)].filter(({ isWordLike }) => isWordLike);
  const words = segments.flatMap(({ segment }) => segment.split(/['’]/));
  return words.every((word) => WORDS.has(word)) ? { from: time.from, to: time.to } : null;
}

/**
 * The spans that may be meant: the given one and, for a day without a year that was long ago, the same day a year
 * later. In November, "What do I have on 4 December?" means the coming day.
 */
export function spansMeant(span: Span, { expression }: NamedTime, asOf: number): readonly Span[] {
  const isDayWithoutYear = /\p{Nd}/u.test(expression) && !/\p{Nd}{4}/u.test(expression);
  if (!isDayWithoutYear || asOf - span.from < LONG_AGO_MS) return [span];
  return [span, { from: yearAfter(span.from), to: yearAfter(span.to) }];
}

function yearAfter(at: number): number {
  const date = new Date(at);
  return date.setUTCFullYear(date.getUTCFullYear() + 1);
}

/** A filter for memories that have an `occurred_at` in the span. */
export function happenedWithin(span: Span): Filter {
  return parseFilter({ occurred_at: within(span) });
}

/** A filter for memories without `occurred_at` that were stored in the span. */
export function storedWithin(span: Span): Filter {
  return parseFilter({ $and: [{ occurred_at: null }, { created_at: within(span) }] });
}

function within({ from, to }: Span) {
  return { $gte: isoTime(from), $lt: isoTime(to) };
}

/** The first `count` notes and turns among the passages, without duplicates, in the order in which they happened. */
export function timelineOf(passages: readonly RankedPassage[], count: number): readonly RankedPassage[] {
  const known = new Set<string>();
  return passages
    .filter((passage) => passage.place.turn !== undefined || isStatement(passage))
    .filter(({ chunkId }) => !known.has(chunkId) && known.add(chunkId))
    .slice(0, count)
    .sort((left, right) => happenedAt(left.memory) - happenedAt(right.memory) || left.place.start - right.place.start);
}

/**
 * The passages of a search that belong to the span by the dates in their text or by their `occurred_at`, and not only
 * because they were stored in it.
 */
export function tellingOf(span: Span, passages: readonly RankedPassage[]): readonly RankedPassage[] {
  return passages.filter(({ memory: { occurredAt, createdAt }, signals }) => {
    const isOnlyStoredThen = occurredAt === null && createdAt >= span.from && createdAt < span.to;
    return signals.time?.score === 1 && !isOnlyStoredThen;
  });
}

/** The events of an answer that quotes each passage of a timeline with its day. */
export function* timelineAnswer(timeline: readonly RankedPassage[]): Generator<AnswerEvent, void, undefined> {
  for (const [at, passage] of timeline.entries()) {
    const text = beginningOf([...sentencesOf(passage.text)].map((sentence) => sentence.text).join(" "));
    const day = passage.memory.occurredAtGiven?.slice(0, "YYYY-MM-DD".length);
    const isTurn = passage.place.turn !== undefined;
    const prefix = isTurn || day === undefined ? quotePrefix(text, passage, true) : `(${day}) `;
    yield { type: "text", content: `${at === 0 ? "" : " "}${prefix}${text} [${at + 1}]`, cites: [passage] };
  }
  yield { type: "sources", sources: citedFirst(timeline, [], timeline.length) };
  yield { type: "usage", tokensUsed: 0, state: "answered" };
}

function beginningOf(text: string): string {
  if (text.length <= QUOTE_UNITS_MAX) return text;
  return `${text.slice(0, wordStartBefore(text, QUOTE_UNITS_MAX)).trim()}…`;
}
