// Answers a question without a language model: the sentences of the passages that fit it best, quoted with their `[n]`.
// Which passages there are is retrieval's question; here nothing is looked up, and the same input gives the same
// answer.

import { indexedText, turnText } from "../domain/chunk.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import { type Candidate, candidateOf, choose, shortlist, termWeights } from "./choose.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";
import { leadOf } from "./lead.ts";
import { NO_EVIDENCE_ANSWER } from "./no-evidence.ts";
import { type Asked, askedOf } from "./question.ts";
import type { ScoreSentences } from "./relevance.ts";
import { sentencesOf, wordStartBefore } from "./sentences.ts";

/** A longer sentence is quoted in part, `…` included. */
const SENTENCE_UNITS_MAX = 400;
/** Parts of a long sentence begin this far apart, so that what one cut tears is whole in the next part. */
const PART_STRIDE_UNITS = 200;
/** Text looked at in one turn of the event loop: about 5 ms (Bun 1.4, 2 cores, November 2026). */
const TURN_UNITS_MAX = 8_192;
/** A shorter sentence costs as much as one of this length. */
const COSTED_UNITS_MIN = 64;

/** Sentences that a model reads for an answer, at most: fewer tokens than a search's reranking reads. */
const READ_SENTENCES_MAX = 24;

/** What an extractive answer may be made with. */
export interface ExtractiveOptions {
  /** Passages that may be cited and given as sources, at least 1. */
  readonly maxSources: number;
  /** Who reads sentences beside counting their words; absent: nobody. */
  readonly scoreSentences?: ScoreSentences;
  /** What is said where nothing can be quoted; absent: `NO_EVIDENCE_ANSWER`. */
  readonly otherwise?: string;
  readonly signal: AbortSignal;
}

/**
 * Answers with up to four sentences of `passages`, best first, one `text` event each; no token is used. Cites at most
 * `maxSources` passages; `sources` adds passages that were not cited up to that number, in their order. What looks like
 * a citation inside a passage (`[3]`, `[1, 2]`) is quoted with round brackets, `(3)`: it stays readable, and no reader
 * takes it for a reference to a source of this answer.
 * Without passages, or with blank ones only, the answer is `otherwise`, without sources.
 * Cost: about 0.3 ms per 1,000 characters, in turns of a few milliseconds; with `scoreSentences` one call for the best
 * 24.
 * @throws what `signal` was aborted with, while sentences are read.
 */
export async function* extractiveAnswer(
  question: string,
  passages: readonly RankedPassage[],
  { maxSources, scoreSentences, otherwise = NO_EVIDENCE_ANSWER, signal }: ExtractiveOptions,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const asked = askedOf(question);
  const candidates = await candidatesOf(passages, asked);
  const weights = termWeights(candidates);
  const best = shortlist(candidates, weights, READ_SENTENCES_MAX);
  const relevances =
    best.length === 0 ? null : ((await scoreSentences?.(question, best.map(readText), signal)) ?? null);
  const scored =
    relevances === null
      ? candidates.map((candidate) => ({ candidate, relevance: null }))
      : best.map((candidate, position) => ({ candidate, relevance: relevances[position] ?? null }));

  const numbers = new Map<RankedPassage, number>();
  let before: RankedPassage | null = null;
  for (const { text, passage } of choose(scored, weights, asked, maxSources)) {
    const lead = `${before === null ? "" : " "}${passage === before ? "" : leadOf(text, passage, asked.asksWhen)}`;
    before = passage;
    const known = numbers.get(passage);
    const number = known ?? numbers.size + 1;
    numbers.set(passage, number);
    yield { type: "text", content: `${lead}${text} [${number}]`, cites: known === undefined ? [passage] : [] };
  }
  if (numbers.size === 0) yield { type: "text", content: otherwise };
  yield { type: "sources", sources: numbers.size === 0 ? [] : citedFirst([...numbers.keys()], passages, maxSources) };
  yield { type: "usage", tokensUsed: 0 };
}

// Everything that could be quoted; other work goes on meanwhile.
async function candidatesOf(passages: readonly RankedPassage[], asked: Asked): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  let units = 0;
  for (const passage of passages) {
    for (const sentence of sentencesOf(passage.text)) {
      let part = 0;
      for (const text of partsOf(sentence)) {
        candidates.push(candidateOf({ passage, sentence, part: part++, text }, asked));
        units += Math.max(COSTED_UNITS_MIN, text.length);
        if (units < TURN_UNITS_MAX) continue;
        units = 0;
        await new Promise(setImmediate);
      }
    }
  }
  return candidates;
}

// As the reranker was taught to read passages: under its title, or with its speaker and day.
function readText({ text, passage }: Candidate): string {
  const { turn, headings } = passage.place;
  if (turn === undefined) return indexedText(passage.memory.title, headings, text);
  const isLabelled = text.startsWith(passage.text.slice(0, turn.labelUnits));
  return turnText(isLabelled ? turn : { ...turn, labelUnits: 0 }, text);
}

// The sentence whole, or its parts.
function* partsOf(text: string): Generator<string, void, undefined> {
  if (text.length <= SENTENCE_UNITS_MAX) return yield text;
  for (let start = 0; ; start = wordStartBefore(text, start + PART_STRIDE_UNITS)) {
    const lead = start === 0 ? "" : "…";
    if (text.length - start <= SENTENCE_UNITS_MAX - lead.length) return yield lead + text.slice(start).trim();
    const end = wordStartBefore(text, start + SENTENCE_UNITS_MAX - 2);
    yield `${lead}${text.slice(start, end).trim()}…`;
  }
}
