// Answers a question without a language model: quotes the sentences of the given passages that fit best, with
// citations `[n]`. Retrieval finds the passages; sentence-selection.ts chooses the sentences. The same input gives the
// same answer.

import { indexedText, turnText } from "../domain/chunk.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";
import { NO_EVIDENCE_ANSWER } from "./no-evidence.ts";
import { type QuestionFeatures, questionFeatures } from "./question-features.ts";
import { quotePrefix } from "./quote-prefix.ts";
import type { ScoreSentences, SentenceToScore } from "./sentence-relevance.ts";
import { type Candidate, candidateOf, selectSentences, shortlist, termWeights } from "./sentence-selection.ts";
import { sentencesOf, wordStartBefore } from "./sentences.ts";

/** Maximum length of a quoted sentence, including `…`, in UTF-16 code units. Longer sentences are quoted in part. */
const SENTENCE_UNITS_MAX = 400;
/**
 * Distance between the starts of two parts of a long sentence. Parts overlap, so that a phrase cut in one part is whole
 * in the next.
 */
const PART_STRIDE_UNITS = 200;
/** Length of the text that is processed in one turn of the event loop: about 5 ms (Bun 1.4, 2 cores, November 2026). */
const TURN_UNITS_MAX = 8_192;
/** Minimum length with which a sentence counts, because shorter ones take as long as sentences of this length. */
const COST_UNITS_MIN = 64;

/** Maximum number of sentences that models score for an answer. */
const SCORED_SENTENCES_MAX = 16;

/** Options of an extractive answer. */
export interface ExtractiveOptions {
  /** Maximum number of passages that are cited or listed as sources, at least 1. */
  readonly maxSources: number;
  /** Scores sentences with a model. If it is absent, words alone decide. */
  readonly scoreSentences?: ScoreSentences;
  /** Language of the question, BCP 47; default: `und`. */
  readonly language?: string;
  /** The answer if nothing can be quoted. Default: `NO_EVIDENCE_ANSWER`. */
  readonly noEvidenceAnswer?: string;
  readonly signal: AbortSignal;
}

/**
 * Answers with up to four sentences of `passages`, best first, one `text` event each; no token is used. Cites at most
 * `maxSources` passages; `sources` adds further passages up to that number, in their order. Text in a passage that
 * looks like a citation (`[3]`, `[1, 2]`) is quoted with round brackets, `(3)`, so that it does not refer to a source
 * of this answer.
 *
 * Without passages, or with blank ones only, the answer is `noEvidenceAnswer`, without sources.
 *
 * Cost: about 0.3 ms per 1,000 characters, in turns of a few milliseconds; with `scoreSentences` one call for the best
 * 16 sentences.
 * @throws the abort reason of `signal`, while a model scores sentences
 */
export async function* extractiveAnswer(
  question: string,
  passages: readonly RankedPassage[],
  { maxSources, scoreSentences, language, noEvidenceAnswer = NO_EVIDENCE_ANSWER, signal }: ExtractiveOptions,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const features = questionFeatures(question, language);
  const candidates = await candidatesOf(passages, features);
  const weights = termWeights(candidates);
  const best = shortlist(candidates, weights, SCORED_SENTENCES_MAX);
  const relevances =
    best.length === 0 ? null : ((await scoreSentences?.(question, best.map(sentenceToScore), signal)) ?? null);
  const scored =
    relevances === null
      ? candidates.map((candidate) => ({ candidate, relevance: null }))
      : best.map((candidate, position) => ({ candidate, relevance: relevances[position] ?? null }));

  const numbers = new Map<RankedPassage, number>();
  let previous: RankedPassage | null = null;
  for (const { text, passage } of selectSentences(scored, weights, features, maxSources)) {
    const separator = previous === null ? "" : " ";
    const prefix = passage === previous ? "" : quotePrefix(text, passage, features.asksWhen);
    previous = passage;
    const known = numbers.get(passage);
    const number = known ?? numbers.size + 1;
    numbers.set(passage, number);
    yield {
      type: "text",
      content: `${separator}${prefix}${text} [${number}]`,
      cites: known === undefined ? [passage] : [],
    };
  }
  if (numbers.size === 0) yield { type: "text", content: noEvidenceAnswer };
  yield { type: "sources", sources: numbers.size === 0 ? [] : citedFirst([...numbers.keys()], passages, maxSources) };
  yield { type: "usage", tokensUsed: 0, state: numbers.size === 0 ? "not_found" : "answered" };
}

// Collects all candidates for quoting. It returns to the event loop several times, so that other requests are served.
async function candidatesOf(
  passages: readonly RankedPassage[],
  question: QuestionFeatures,
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  let units = 0;
  for (const passage of passages) {
    for (const { text: sentence } of sentencesOf(passage.text)) {
      let part = 0;
      for (const text of partsOf(sentence)) {
        candidates.push(candidateOf({ passage, sentence, part: part++, text }, question));
        units += Math.max(COST_UNITS_MIN, text.length);
        if (units < TURN_UNITS_MAX) continue;
        units = 0;
        await new Promise(setImmediate);
      }
    }
  }
  return candidates;
}

function sentenceToScore(candidate: Candidate): SentenceToScore {
  const { passage, sentence, text } = candidate;
  // The cosine of a turn's passage also fits its only sentence: its vector includes the neighbouring turns, which may
  // be needed to understand it.
  const isWhole = passage.text.trim() === sentence && text === sentence;
  return { text: textToScore(candidate), cosine: isWhole ? (passage.signals.vector?.score ?? null) : null };
}

// The text in the form in which models were trained to read passages: with the title, or with speaker and day. A title
// that was made from the text is left out: it resembles the first sentence, and would make all sentences look like it.
function textToScore({ text, passage }: Candidate): string {
  const { turn, headings } = passage.place;
  const { title, given } = passage.memory;
  if (turn === undefined) return indexedText(given.includes("title") ? title : null, headings, text);
  const isLabelled = text.startsWith(passage.text.slice(0, turn.labelUnits));
  return turnText(isLabelled ? turn : { ...turn, labelUnits: 0 }, text);
}

// The whole sentence, or its parts if it is too long.
function* partsOf(text: string): Generator<string, void, undefined> {
  if (text.length <= SENTENCE_UNITS_MAX) return yield text;
  for (let start = 0; ; start = wordStartBefore(text, start + PART_STRIDE_UNITS)) {
    const lead = start === 0 ? "" : "…";
    if (text.length - start <= SENTENCE_UNITS_MAX - lead.length) return yield lead + text.slice(start).trim();
    const end = wordStartBefore(text, start + SENTENCE_UNITS_MAX - 2);
    yield `${lead}${text.slice(start, end).trim()}…`;
  }
}
