// Evaluates searches and answers for the personal set: ranks of the right notes, how well scores separate answerable
// questions from others, calibration, and abstention. Pure; bench/personal.ts asks the questions.

import { contains, withoutCitations } from "./gold-text.ts";
import { type Interval, meanInterval, resampledInterval } from "./intervals.ts";
import { mean, percentile } from "./metrics.ts";
import { ANSWERABLE_KINDS, LANGUAGE_PAIRS, languagePair, type PersonalQuestion } from "./personal.ts";
import type { Row } from "./record.ts";
import { areaUnderRoc, calibrationError, type Prediction } from "./score-metrics.ts";
import { rounded } from "./scores.ts";

/** A result of a search. */
export interface Found {
  /** `externalId` of the memory. */
  readonly note: string;
  readonly text: string;
  readonly score: number;
  /** Score of each signal, by name. */
  readonly signals: Readonly<Record<string, number>>;
}

/** A question with its search results and its answer. */
export interface AskedQuestion {
  readonly question: PersonalQuestion;
  /** At most `RESULTS`, best first. */
  readonly found: readonly Found[];
  /** Text of the answer without a language model. */
  readonly answer: string;
  /** Whether the answer cites nothing. */
  readonly isAbstention: boolean;
}

/** Number of results per search. */
export const RESULTS = 10;
const CALIBRATION_BINS = 15;

/** A figure with its interval, over `questions` questions. */
export interface Figure extends Interval {
  readonly measure: string;
  /** Which questions the figure is of. */
  readonly group: string;
  readonly questions: number;
  readonly value: number;
}

/** Rank, from 1, of the first right note; null if none is among the results. */
export function rankOfRight({ question, found }: AskedQuestion): number | null {
  const at = found.findIndex(({ note }) => isRight(question, note));
  return at === -1 ? null : at + 1;
}

/**
 * Whether a note is a right result. For a question that needs two notes, each of them is. Of contradicting notes, only
 * the one that was valid at the time in question is.
 */
export function isRight({ kind, notes }: PersonalQuestion, note: string): boolean {
  return kind === "twostep" ? notes.some(({ id }) => id === note) : notes[0]?.id === note;
}

// Rank of the note that has the answer, also if a question needs another note besides.
function rankOfAnswer({ question, found }: AskedQuestion): number | null {
  const at = found.findIndex(({ note }) => note === question.notes[0]?.id);
  return at === -1 ? null : at + 1;
}

/** All figures of one mode. Groups without questions are left out. */
export function figuresOf(asked: readonly AskedQuestion[]): readonly Figure[] {
  const ofKind = (...kinds: readonly string[]) => asked.filter(({ question }) => kinds.includes(question.kind));
  const answerable = ofKind(...ANSWERABLE_KINDS);
  const lasting = ofKind("direct", "paraphrase", "keyword", "twostep");
  const [off, near] = [ofKind("off"), ofKind("near")];
  const groups: readonly (readonly [group: string, of: readonly AskedQuestion[]])[] = [
    ...LANGUAGE_PAIRS.map((pair) => [pair, lasting.filter(({ question }) => languagePair(question) === pair)] as const),
    ["all languages", lasting],
    ...ANSWERABLE_KINDS.map((kind) => [kind, ofKind(kind)] as const),
  ];
  const figures = [
    ...groups.map(([group, of]) => share("right first", group, of, (each) => rankOfRight(each) === 1)),
    share("right first", "twostep: answer", ofKind("twostep"), (each) => rankOfAnswer(each) === 1),
    ...groups.map(([group, of]) => share("right in top 5", group, of, (each) => isWithin(5, rankOfRight(each)))),
    share("right in top 5", "twostep: answer", ofKind("twostep"), (each) => isWithin(5, rankOfAnswer(each))),
    separation("answerable against off", answerable, off),
    separation("answerable against near", answerable, near),
    medianOfRight(answerable),
    medianOfTop("off", off),
    medianOfTop("near", near),
    calibration("top 10, all questions", asked, RESULTS),
    calibration("top 10, answerable", answerable, RESULTS),
    calibration("top 1, all questions", asked, 1),
    share("answered", "answerable", answerable, ({ isAbstention }) => !isAbstention),
    ...ANSWERABLE_KINDS.map((kind) => share("answered", kind, ofKind(kind), ({ isAbstention }) => !isAbstention)),
    share("answer contains gold", "answerable", answerable, saysGold),
    share("refused", "off", off, ({ isAbstention }) => isAbstention),
    share("refused", "near", near, ({ isAbstention }) => isAbstention),
    share("says the neighbour's value", "near", near, saysTempting),
  ];
  return figures.filter(({ questions }) => questions > 0);
}

/** A row for the record. */
export function rowOf(mode: string, { measure, group, questions, value, low, high }: Figure): Row {
  return {
    mode,
    measure,
    group,
    questions,
    value: rounded(value, 4),
    low: rounded(low, 4),
    high: rounded(high, 4),
  };
}

/** The best score of a question's results; 0 without results. */
export function topScore({ found }: AskedQuestion): number {
  return found[0]?.score ?? 0;
}

function isWithin(depth: number, rank: number | null): boolean {
  return rank !== null && rank <= depth;
}

function saysGold({ question, answer }: AskedQuestion): boolean {
  return question.gold !== null && contains(withoutCitations(answer), question.gold);
}

function saysTempting({ question, answer }: AskedQuestion): boolean {
  return question.tempting !== null && contains(withoutCitations(answer), question.tempting);
}

function share(
  measure: string,
  group: string,
  asked: readonly AskedQuestion[],
  is: (asked: AskedQuestion) => boolean,
): Figure {
  const values = asked.map((each) => Number(is(each)));
  return { measure, group, questions: values.length, value: mean(values), ...meanInterval(values) };
}

function separation(group: string, answerable: readonly AskedQuestion[], others: readonly AskedQuestion[]): Figure {
  const scores = [answerable.map(topScore), others.map(topScore)] as const;
  const interval = resampledInterval(scores, ([first = [], second = []]) => areaUnderRoc(first, second));
  const questions = Math.min(answerable.length, others.length) === 0 ? 0 : answerable.length + others.length;
  return { measure: "AUC of top score", group, questions, value: areaUnderRoc(...scores), ...interval };
}

function medianOfRight(answerable: readonly AskedQuestion[]): Figure {
  return medianOfTop(
    "right first",
    answerable.filter((each) => rankOfRight(each) === 1),
  );
}

function medianOfTop(group: string, asked: readonly AskedQuestion[]): Figure {
  const scores = asked.map(topScore);
  const interval = resampledInterval([scores], ([drawn = []]) => percentile(0.5, drawn));
  return { measure: "median top score", group, questions: scores.length, value: percentile(0.5, scores), ...interval };
}

// Questions are resampled, not results, because the results of one question depend on each other.
function calibration(group: string, asked: readonly AskedQuestion[], depth: number): Figure {
  const predictions = asked.map(({ question, found }) =>
    found.slice(0, depth).map(({ note, score }): Prediction => ({ score, isRelevant: isRight(question, note) })),
  );
  const error = (drawn: readonly (readonly Prediction[])[]) => calibrationError(drawn.flat(), CALIBRATION_BINS);
  const interval = resampledInterval([predictions], ([drawn = []]) => error(drawn));
  return { measure: "calibration error", group, questions: asked.length, value: error(predictions), ...interval };
}
