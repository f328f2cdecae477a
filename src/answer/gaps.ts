// Gaps: a question names a member of a series, such as cabin 9, and what was found is about other members only.

import type { AnswerState } from "../domain/answer-state.ts";
import { indexedText } from "../domain/chunk.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { Member, Series, SeriesText } from "../retrieval/series.ts";
import { foldLetters } from "../words/word-patterns.ts";
import type { AnswerEvent } from "./events.ts";

/** Things that a question names and no passage is about, although passages are about similar things (neighbours). */
export interface Gap {
  /** The missing things in the words of the question; at least one. */
  readonly missing: readonly string[];
  /** Whether the question also names a similar thing that was found, as in "cabins 4 and 9". */
  readonly isPartial: boolean;
  /** Similar things that were found and that the question does not name, best first. */
  readonly neighbours: readonly Neighbour[];
  /** The passages about those things of the question that were found, best first. */
  readonly found: readonly RankedPassage[];
}

/** A similar thing in the words of a passage, and the passage that is about it. */
export interface Neighbour {
  readonly text: string;
  readonly passage: RankedPassage;
}

// The constants were chosen on bench/fixtures/answers/dev.tsv.

/** Number of best passages among which neighbours are looked for. */
const NEIGHBOUR_PASSAGES = 5;
/** Share of the best passage's score that a neighbour needs. */
const NEIGHBOUR_SCORE_SHARE = 0.2;
/**
 * Minimum share of the best neighbour's score at which a passage may be about the named person, whom it calls by
 * another name.
 */
const RENAMED_SCORE_SHARE = 0.5;
/** Maximum number of neighbours that are named. */
const NEIGHBOURS_MAX = 3;
/**
 * Minimum share of the best neighbour's score at which a passage that mentions a member is about it. It is higher for a
 * number that is somewhere in the passage, because that number may count other things.
 */
const SCORE_SHARE_MIN = { placed: 0.1, somewhere: 0.5 };

/**
 * The gap between a question and what was found for it; null if there is none.
 * @param passages best first
 * @param scoreMin minimum score of a neighbour that is named
 */
export function gapIn(series: readonly Series[], passages: readonly RankedPassage[], scoreMin = 0): Gap | null {
  const gaps = series.map((each) => gapOf(each, passages, scoreMin)).filter((gap) => gap !== null);
  return gaps.find(({ isPartial }) => !isPartial) ?? gaps[0] ?? null;
}

function gapOf(
  { asked, isRenamed, othersIn }: Series,
  passages: readonly RankedPassage[],
  namedMin: number,
): Gap | null {
  const isOfOther = (passage: RankedPassage) =>
    asked.every((member) => member.presence(seriesText(passage)) !== "placed") &&
    othersIn(seriesText(passage)).length > 0;
  const scoreMin = NEIGHBOUR_SCORE_SHARE * (passages[0]?.score ?? 0);
  const others = passages
    .slice(0, NEIGHBOUR_PASSAGES)
    .filter((passage) => passage.score >= scoreMin && isOfOther(passage));
  const otherScore = Math.max(0, ...others.map(({ score }) => score));
  const isAbout = (passage: RankedPassage, member: Member) => {
    const presence = member.presence(seriesText(passage));
    return presence !== "absent" && passage.score >= SCORE_SHARE_MIN[presence] * otherScore;
  };
  const missing = asked.filter((member) => !passages.some((passage) => isAbout(passage, member)));
  const isPartial = missing.length < asked.length;
  if (missing.length === 0 || (others.length === 0 && !isPartial)) return null;
  const isNeither = (passage: RankedPassage) =>
    !others.includes(passage) && passage.score >= RENAMED_SCORE_SHARE * otherScore;
  if (isRenamed && !isPartial && passages.some(isNeither)) return null;
  const named = others
    .filter(({ score }) => score >= namedMin)
    .flatMap((passage) => othersIn(seriesText(passage)).map((text) => ({ text, passage })));
  const neighbours = named.filter(({ text }, at) => named.findIndex((other) => other.text === text) === at);
  const present = asked.filter((member) => !missing.includes(member));
  return {
    missing: missing.map(({ text }) => text),
    isPartial,
    neighbours: neighbours.slice(0, NEIGHBOURS_MAX),
    found: passages.filter((passage) => present.some((member) => isAbout(passage, member))),
  };
}

/**
 * Whether a question names several members of a series together, and passages with at least the score `scoreMin` name
 * all of them.
 */
export function areAllFound(series: readonly Series[], passages: readonly RankedPassage[], scoreMin: number): boolean {
  const texts = passages.filter(({ score }) => score >= scoreMin).map(seriesText);
  const isFound = (member: Member) => texts.some((text) => member.presence(text) === "placed");
  return series.some(({ asked }) => asked.length > 1 && asked.every(isFound));
}

/** The passages of neighbours that an answer names, at most `count`, best first. */
export function neighboursOf({ neighbours }: Gap, count: number): readonly RankedPassage[] {
  return [...new Set(neighbours.map(({ passage }) => passage))].slice(0, count);
}

/**
 * Passes on the events of an answer that a language model wrote, with the state that follows from its citations.
 * Passages that are only about neighbours of the named things do not answer the question.
 * @param gap the gap that the search found; it decides if the answer cites nothing
 */
export async function* checkedAgainst(
  series: readonly Series[],
  gap: Gap | null,
  events: AsyncIterable<AnswerEvent>,
): AsyncGenerator<AnswerEvent> {
  let lacking: AnswerState | null = null;
  for await (const event of events) {
    if (event.type === "sources") {
      const cited = event.sources.filter(({ isCited }) => isCited);
      const left =
        cited.length === 0
          ? gap
          : gapIn(
              series,
              cited.map(({ passage }) => passage),
            );
      if (left !== null) lacking = left.isPartial ? "partial" : "not_found";
      yield lacking === "not_found" ? { ...event, sources: cited } : event;
    } else {
      const isLacking = event.type === "usage" && event.state === "answered" && lacking !== null;
      yield isLacking ? { ...event, state: lacking ?? event.state } : event;
    }
  }
}

/**
 * Leaves out passages about a neighbour of what the question names, such as cabin 3 for cabin 4, if other passages are
 * about what it names.
 */
export function withoutNeighbours(
  series: readonly Series[],
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  const dropped = new Set<RankedPassage>();
  for (const { asked, othersIn } of series) {
    const isAbout = (text: SeriesText) => asked.some((member) => member.presence(text) !== "absent");
    const own = passages.map(seriesText).filter(isAbout);
    if (own.length === 0) continue;
    // "flat 7 is above flat 4" connects flat 7 with flat 4, so passages about flat 7 are kept
    const related = new Set(own.flatMap(othersIn).map(foldLetters));
    for (const passage of passages) {
      const text = seriesText(passage);
      const others = isAbout(text) ? [] : othersIn(text);
      if (others.length > 0 && !others.some((other) => related.has(foldLetters(other)))) dropped.add(passage);
    }
  }
  return passages.filter((passage) => !dropped.has(passage));
}

const seriesTexts = new WeakMap<RankedPassage, SeriesText>();

function seriesText(passage: RankedPassage): SeriesText {
  const known = seriesTexts.get(passage) ?? readPassage(passage);
  seriesTexts.set(passage, known);
  return known;
}

function readPassage({ text, memory, place }: RankedPassage): SeriesText {
  const said = place.turn?.date == null ? [] : [Date.parse(`${place.turn.date} UTC`)];
  const happened = memory.occurredAt === null ? [] : [memory.occurredAt];
  return {
    text: indexedText(memory.title, place.headings, text),
    happenedAt: [...said, ...happened].filter(Number.isFinite),
    storedAt: memory.createdAt,
  };
}
