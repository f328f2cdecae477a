// The verdict on the results of a search: the probability that one of the first passages answers. If the embedder has a
// reader, it reads them. Without a reader, or if it fails or is late, scores and the specifics of the question decide.

import { indexedText, turnText } from "../domain/chunk.ts";
import { Fault } from "../domain/fault.ts";
import type { AnswerSpan, RankedPassage, Ranking } from "../domain/ranking.ts";
import { codePointsOf } from "../kit/code-points.ts";
import { probabilityOf } from "../kit/logistic.ts";
import { READING, READING_WIDTH, type Reader } from "../ports/models.ts";
import { isLanguageSupported } from "./coverage.ts";
import { EVIDENCE_PASSAGES, evidenceIn, evidenceLogit, evidenceSigns } from "./evidence.ts";
import { windowsOf } from "./reading-windows.ts";
import type { Search } from "./request.ts";
import { specificsOf } from "./specifics.ts";

/** Maximum number of windows that are read for a question: 1,280 tokens, if all of them are long. */
const WINDOWS_MAX = 8;
/** Maximum number of windows of one passage. */
const PASSAGE_WINDOWS_MAX = 2;

/** The parts of a search that a verdict needs, besides its results. */
export type Judged = Pick<Search, "parts" | "request" | "embedder" | "tuning" | "watch" | "language" | "hasVectors">;

/** The results, with the words that answer in passages that were read, and the evidence. */
export type Verdict = Pick<Ranking, "evidence" | "results"> & Partial<Pick<Ranking, "evidenceMin" | "answers">>;

/** Computes the verdict. If the request does not want evidence, there is none and nothing is read. */
export async function verdictOn(judged: Judged, results: readonly RankedPassage[]): Promise<Verdict> {
  const { request, tuning, language } = judged;
  if (request.wantsEvidence !== true) return { evidence: null, results };
  const { query, mode } = request;
  const reader = readerFor(judged);
  const readings = reader === null ? null : await readingsOf(reader, judged, results);
  if (reader === null || readings === null) {
    return { evidence: evidenceIn(query, language, results, tuning.evidence), results };
  }
  const { evidence, evidenceMin } = reader.tuning;
  const answers = readings.map((of) => (of === null ? null : Math.max(...of.map(({ answer }) => answer))));
  const specifics = specificsOf(query, language);
  const spansOf = (result: RankedPassage, read: readonly WindowReading[]) =>
    read
      .flatMap(({ answer, start, end }) => {
        const [signs] = evidenceSigns(specifics, [result], [answer]);
        const score = signs === undefined ? 0 : probabilityOf(evidenceLogit(signs, evidence));
        return score < evidenceMin[mode] ? [] : spanIn(result.text, start, end, score);
      })
      .toSorted((one, other) => one.start - other.start);
  return {
    evidence: evidenceIn(query, language, results, evidence, answers),
    evidenceMin: evidenceMin[mode],
    answers,
    results: results.map((result, position) => {
      const read = readings[position];
      return read ? { ...result, answerSpans: spansOf(result, read) } : result;
    }),
  };
}

/** The reader for the question; null if the request allows none, or if there is none that knows the language. */
function readerFor({ request, embedder, language, hasVectors }: Judged): Reader | null {
  const { reader = null } = embedder;
  if (request.mayRead !== true || !hasVectors || reader === null) return null;
  return isLanguageSupported(request.query, language, reader.languages) ? reader : null;
}

/** The reader's result for a window of a passage. */
interface WindowReading {
  /** Logit for "the window answers the question". */
  readonly answer: number;
  /**
   * Begin and end of the words that answer, in UTF-16 code units of the passage; below 0 if they are in the title
   * before it, equal if there are none.
   */
  readonly start: number;
  readonly end: number;
}

/**
 * The reader's results for the windows of each of the first passages; null for a passage of which no window was read
 * before the deadline.
 * @returns null if nothing was read
 * @throws the abort reason of the request's signal
 */
async function readingsOf(
  reader: Reader,
  { parts, request, watch }: Judged,
  results: readonly RankedPassage[],
): Promise<readonly (readonly WindowReading[] | null)[] | null> {
  const windows = windowsToRead(request.query, results);
  if (windows.length === 0) return null;
  const options = {
    signal: request.signal,
    onBegin: () => watch.lap("queue", 1),
    deadlineMs: parts.rerankDeadlineMs,
  };
  const texts = windows.map(({ text }) => text);
  const values = await reader.read(request.query, texts, options).catch((error: unknown) => {
    request.signal?.throwIfAborted();
    if (error instanceof Fault) return null; // an answer without its verdict is better than none
    throw error;
  });
  const readings = results.slice(0, EVIDENCE_PASSAGES).map((_, position) => {
    const read = [...windows.entries()].flatMap(([row, { passage, start }]) => {
      const reading = values?.subarray(row * READING_WIDTH, (row + 1) * READING_WIDTH);
      if (passage !== position || reading === undefined || Number.isNaN(reading[READING.answer])) return [];
      const [answer = 0, begin = 0, end = 0] = [READING.answer, READING.begin, READING.end].map((at) => reading[at]);
      return [{ answer, start: start + begin, end: start + end }];
    });
    return read.length === 0 ? null : read;
  });
  const read = readings.filter((reading) => reading !== null).length;
  watch.lap("read", read, readings.length - read);
  return read === 0 ? null : readings;
}

/** Converts the place of the answering words to code points of the passage; empty if they are not in the passage. */
function spanIn(passage: string, begin: number, end: number, score: number): readonly AnswerSpan[] {
  if (begin < 0 || end > passage.length || end <= begin) return [];
  const start = codePointsOf(passage.slice(0, begin));
  return [{ start, end: start + codePointsOf(passage.slice(begin, end)), score }];
}

interface WindowToRead {
  /** Position of its passage in the results. */
  readonly passage: number;
  readonly text: string;
  /** Where it begins in the passage, in UTF-16 code units; below 0 if it begins in the title before it. */
  readonly start: number;
}

/** The best window of each passage, then the second ones, those of the first passages first. */
function windowsToRead(question: string, results: readonly RankedPassage[]): readonly WindowToRead[] {
  const windows = results.slice(0, EVIDENCE_PASSAGES).map((result, passage) => {
    const text = textToRead(result);
    const lead = text.length - result.text.length;
    return windowsOf(question, text).map(({ start, end }) => {
      return { passage, text: text.slice(start, end), start: start - lead };
    });
  });
  const ranks = Array.from({ length: PASSAGE_WINDOWS_MAX }, (_, rank) => rank);
  return ranks
    .flatMap((rank) => windows.flatMap((of) => of[rank] ?? []))
    .filter(({ text }) => text.trim() !== "")
    .slice(0, WINDOWS_MAX);
}

/**
 * A passage in the form on which the reader was trained. The passage itself is at the end: a turn after its speaker and
 * day, others after title and headings.
 */
function textToRead({ memory, place, text }: RankedPassage): string {
  if (place.turn !== undefined) return turnText(place.turn, text);
  return indexedText(memory.title, place.headings, text);
}
