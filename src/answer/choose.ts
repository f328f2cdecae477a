// Which sentences answer best, and complement each other? Scores what could be quoted by its passage, its words and
// what a model says of it, and takes the best again and again. Pure: where sentences end and who reads them is
// extract.ts's.

import type { RankedPassage } from "../domain/ranking.ts";
import { type Asked, bringsAsked, fold, foldedWords, matchesOf } from "./question.ts";

/** What could be quoted: a sentence, or a part of one that is too long. */
export interface Quote {
  readonly passage: RankedPassage;
  /** On one line, without markers, nothing in it reads as a citation. */
  readonly sentence: string;
  /** Which part of the sentence, from 0. */
  readonly part: number;
  readonly text: string;
}

/** A quote and what its rank depends on. */
export interface Candidate extends Quote {
  readonly words: ReadonlySet<string>;
  /** How well it matches each term of the question, 0..1; terms that it does not have are absent. */
  readonly matches: ReadonlyMap<string, number>;
  /** Words that the question does not have. */
  readonly newWords: number;
  /** Whether it has the kind of thing that the question asks for. */
  readonly hasAsked: boolean;
}

/** A candidate and what a model says of it. */
export interface ReadCandidate {
  readonly candidate: Candidate;
  /** How well it answers by itself, -1..1; null where nobody read it. */
  readonly relevance: number | null;
}

/** What each term of a question counts, together 1. */
export type TermWeights = ReadonlyMap<string, number>;

// Chosen on the 91 train questions of HotpotQA whose answer is a span of text (22 Nov 2026); in the 8 passages of
// balanced, 66 had theirs. 58 of these are said; half or double of a value costs four at most, and what each part is
// worth stands in ARCHITECTURE.md, "Answers without a model". No test question and nothing of LoCoMo was looked at for
// it.

/** An answer of more sentences is no longer one. */
const SENTENCES_MAX = 4;
/** Parts of a sentence nearer to each other than this share some of their text. */
const PARTS_OVERLAPPING = 3;

/** What a sentence's own words count, beside its passage's score (0..1). */
const OWN_WEIGHT = 1;
/** What the model's word counts (-1..1). */
const MODEL_WEIGHT = 0.75;
/** For the kind of thing that the question asks for. */
const ASKED_BONUS = 0.4;
/**
 * For a sentence under a title of which nothing is quoted yet, where an earlier sentence names it and the question does
 * not (the second of two steps), or where the question names it beside another (what is compared).
 */
const WANTED_BONUS = 0.6;
/** What a term counts that an earlier sentence of the answer has already. */
const REPEATED_TERM_SHARE = 0.3;
/** Sentences that answer bring words the question does not have: headings and echoes bring fewer than this many. */
const NEW_WORDS_MIN = 3;
/** Share of the words of the shorter of two sentences from which one of them is enough. */
const DUPLICATE_SHARE = 0.7;
/** A further sentence must reach this share of the first one's score. */
const FURTHER_SCORE_SHARE = 0.4;
/** What is asked in a passage is seldom the answer. */
const QUESTION_SHARE = 0.5;
/** A further sentence of which a model thinks less is left out, unless it is wanted for its title. */
const RELEVANCE_MIN = -0.25;
/** A shorter title is a word that stands anywhere. */
const TITLE_UNITS_MIN = 3;

const QUESTION_END = /[?？؟\u037e]["'”’»)\]]*$/u;
/** Of scripts whose words have spaces around them. */
const SPACED_LETTER = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]/u;
/** What a title says of its subject's kind: `Agni (2004 film)`. */
const TITLE_KIND = /\([^()]*\)\s*$/u;

/** What a quote's rank depends on. */
export function candidateOf(quote: Quote, asked: Asked): Candidate {
  const words = new Set(foldedWords(quote.text));
  const newWords = [...words].filter((word) => !asked.terms.has(word)).length;
  return { ...quote, words, matches: matchesOf(words, asked), newWords, hasAsked: bringsAsked(quote.text, asked) };
}

/** The best by words and passage, at most `count`, best first: what is worth a model's time. */
export function shortlist(candidates: readonly Candidate[], weights: TermWeights, count: number): readonly Candidate[] {
  const scored = candidates.map((candidate, position) => ({
    candidate,
    position,
    score: wordsScore(candidate, weights, new Set()),
  }));
  scored.sort((left, right) => right.score - left.score || left.position - right.position);
  return scored.slice(0, count).map(({ candidate }) => candidate);
}

/** Takes the best sentence again and again, what it covers counting less for the next. */
export function choose(
  scored: readonly ReadCandidate[],
  weights: TermWeights,
  asked: Asked,
  maxSources: number,
): readonly Candidate[] {
  const bestRelevances = bestByPassage(scored);
  const titles = titlesOf(scored);
  const named = namedIn(asked.folded, titles);
  const chosen: Candidate[] = [];
  const cited = new Set<RankedPassage>();
  const citedTitles = new Set<string>();
  const covered = new Set<string>();
  const bridged = new Set<string>();
  let scoreMin = 0;
  while (chosen.length < SENTENCES_MAX) {
    let best: Candidate | null = null;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const { candidate, relevance } of scored) {
      const { passage } = candidate;
      if (!cited.has(passage) && cited.size >= maxSources) continue;
      const title = titles.get(passage);
      const isNew = title !== undefined && !citedTitles.has(title);
      const isWanted = isNew && (bridged.has(title) || (named.size > 1 && named.has(title)));
      if (chosen.length > 0 && !isWanted && relevance !== null && relevance < RELEVANCE_MIN) continue;
      const score =
        wordsScore(candidate, weights, covered) +
        (relevance === null ? 0 : MODEL_WEIGHT * (relevance - (bestRelevances.get(passage) ?? 0))) +
        (isWanted ? WANTED_BONUS : 0);
      if (score <= bestScore || chosen.some((earlier) => areDuplicates(earlier, candidate))) continue;
      best = candidate;
      bestScore = score;
    }
    if (best === null || bestScore < scoreMin) break;
    if (chosen.length === 0) scoreMin = bestScore * FURTHER_SCORE_SHARE;
    const title = titles.get(best.passage);
    const isSecondStep = chosen.length === 1 && title !== undefined && bridged.has(title) && !citedTitles.has(title);
    if (isSecondStep) chosen.unshift(best);
    else chosen.push(best);
    cited.add(best.passage);
    if (title !== undefined) citedTitles.add(title);
    for (const term of best.matches.keys()) covered.add(term);
    const said = fold(best.text);
    for (const other of titles.values()) if (!named.has(other) && names(said, other)) bridged.add(other);
  }
  return chosen;
}

/** The best relevance of each passage's sentences: between passages, their scores have the model's word already. */
function bestByPassage(scored: readonly ReadCandidate[]): ReadonlyMap<RankedPassage, number> {
  const best = new Map<RankedPassage, number>();
  for (const { candidate, relevance } of scored) {
    if (relevance === null) continue;
    best.set(candidate.passage, Math.max(relevance, best.get(candidate.passage) ?? relevance));
  }
  return best;
}

function wordsScore(candidate: Candidate, weights: TermWeights, covered: ReadonlySet<string>): number {
  const novelty = Math.min(1, (1 + candidate.newWords) / (1 + NEW_WORDS_MIN));
  const score =
    candidate.passage.score +
    OWN_WEIGHT * coverage(candidate.matches, weights, covered) * novelty +
    (candidate.hasAsked ? ASKED_BONUS : 0);
  return QUESTION_END.test(candidate.text) ? score * QUESTION_SHARE : score;
}

/** Share of the question's terms, by weight, that `matches` has: 0..1. */
function coverage(matches: ReadonlyMap<string, number>, weights: TermWeights, covered: ReadonlySet<string>): number {
  let share = 0;
  for (const [term, strength] of matches) {
    share += (weights.get(term) ?? 0) * strength * (covered.has(term) ? REPEATED_TERM_SHARE : 1);
  }
  return share;
}

/**
 * What each term of the question counts: the rarer among the sentences, the more. Together 1; unknown terms nothing.
 */
export function termWeights(candidates: readonly Candidate[]): TermWeights {
  const sentences = new Map<string, number>();
  for (const { matches } of candidates) {
    for (const [term, strength] of matches) sentences.set(term, (sentences.get(term) ?? 0) + strength);
  }
  // BM25's inverse document frequency (Robertson and Zaragoza, 2009), with a sentence for a document
  const raw = [...sentences].map(
    ([term, count]) => [term, Math.log(1 + (candidates.length - count + 0.5) / (count + 0.5))] as const,
  );
  const total = raw.reduce((sum, [, weight]) => sum + weight, 0);
  return new Map(raw.map(([term, weight]) => [term, weight / total]));
}

/** The passages' titles as they are looked for in sentences; those that could stand anywhere are left out. */
function titlesOf(scored: readonly ReadCandidate[]): ReadonlyMap<RankedPassage, string> {
  const passages = new Set(scored.map(({ candidate }) => candidate.passage));
  const titles = new Map<RankedPassage, string>();
  for (const passage of passages) {
    const title = fold(passage.memory.title ?? "")
      .replace(TITLE_KIND, "")
      .trim();
    if (title.length >= TITLE_UNITS_MIN) titles.set(passage, title);
  }
  return titles;
}

/** The titles that a folded question names; of those that contain each other the longest. */
function namedIn(question: string, titles: ReadonlyMap<RankedPassage, string>): ReadonlySet<string> {
  const found = [...new Set(titles.values())].filter((title) => names(question, title));
  return new Set(found.filter((title) => !found.some((other) => other !== title && other.includes(title))));
}

/** Whether a folded text has a folded title in it, not inside a word. */
function names(text: string, title: string): boolean {
  const at = text.indexOf(title);
  if (at < 0) return false;
  const around = `${text.charAt(at - 1)} ${text.charAt(at + title.length)}`;
  return !SPACED_LETTER.test(around) || !SPACED_LETTER.test(title);
}

function areDuplicates(left: Candidate, right: Candidate): boolean {
  if (left.text === right.text) return true;
  if (left.passage === right.passage && left.sentence === right.sentence) {
    return Math.abs(left.part - right.part) < PARTS_OVERLAPPING;
  }
  const [fewer, more] = left.words.size < right.words.size ? [left.words, right.words] : [right.words, left.words];
  return fewer.size > 0 && fewer.intersection(more).size >= DUPLICATE_SHARE * fewer.size;
}
