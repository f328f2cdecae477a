// Sentence selection for extractive answers: scores candidate sentences by their passage, their words and the relevance
// that a model computed, and picks the best ones greedily. These are pure functions; extractive-answer.ts splits
// passages into sentences and calls the model.

import type { RankedPassage } from "../domain/ranking.ts";
import { fold } from "../kit/fold.ts";
import { type PlacedWord, placedWords, substitutesIn } from "../retrieval/substitutes.ts";
import { foldedWords, hasExpectedAnswer, type QuestionFeatures, termMatches } from "./question-features.ts";

/** A text that can be quoted: a sentence, or a part of a long one. */
export interface Quote {
  readonly passage: RankedPassage;
  /** The whole sentence on one line, without Markdown, with lookalikes of citations in round brackets. */
  readonly sentence: string;
  /** Index of the part within the sentence, from 0. */
  readonly part: number;
  readonly text: string;
}

/** A text that can be quoted, with its features for scoring. */
export interface Candidate extends Quote {
  readonly words: ReadonlySet<string>;
  /** How well the text matches each term of the question, 0..1. Terms without a match are absent. */
  readonly matches: ReadonlyMap<string, number>;
  /** Number of words that are not in the question. */
  readonly newWords: number;
  /** Whether the text contains the kind of thing that the question asks for, such as a date. */
  readonly hasExpectedAnswer: boolean;
}

/** A candidate with the relevance that models gave it. */
export interface ScoredCandidate {
  readonly candidate: Candidate;
  /** How well the sentence alone answers the question, -1..1; null if no model read it. */
  readonly relevance: number | null;
}

/** Weight of each term of a question; the sum is 1. */
export type TermWeights = ReadonlyMap<string, number>;

// The constants were chosen on the 91 train questions of HotpotQA whose answer is a span of text (22 Nov 2026). With
// mneme-e5-small, the 8 passages of `balanced` contain the answer to 68 of them, and 61 of these answers are quoted;
// with all-minilm-l6-v2, with which the constants were chosen, 66 and 58. Halving or doubling one constant loses four
// answers at most. docs/measurements.md lists what each part contributes. FIRST_PASSAGE_SHARE and FURTHER_SCORE_SHARE
// were chosen on the personal notes p01 to p06 (23 Nov 2026), MODEL_WEIGHT and RELEVANCE_MIN on those of
// data/judged/personal, four in a memory (29 Nov 2026). No test question and no data of LoCoMo was used.

/** Maximum number of sentences of an answer. */
const SENTENCES_MAX = 4;
/** Parts of a sentence overlap if their indices differ by less than this. */
const PARTS_OVERLAPPING = 3;

/** Weight of the score of the sentence's own words, which is added to the passage's score (0..1). */
const OWN_WEIGHT = 1;
/** Weight of the relevance (-1..1) by models. */
const MODEL_WEIGHT = 0.5;
/** Relevance of the best sentence, see `ScoreSentences`. */
const RELEVANCE_BEST = 1;
/** Bonus for a sentence with the kind of thing that the question asks for. */
const EXPECTED_ANSWER_BONUS = 0.4;
/**
 * Bonus for a sentence about the other one of two things that the question lists, and for one under a title that is not
 * quoted yet, in two cases. Second step: a selected sentence contains the title and the question does not. Comparison:
 * the question contains this title and another one.
 */
const WANTED_BONUS = 0.6;
/** Factor for the weight of a term that a selected sentence already has. */
const REPEATED_TERM_SHARE = 0.3;
/**
 * A sentence that answers a question has at least this many words that the question lacks. Headings and repetitions of
 * the question have fewer.
 */
const NEW_WORDS_MIN = 3;
/** Two sentences are duplicates if the longer one contains at least this share of the shorter one's words. */
const DUPLICATE_SHARE = 0.7;
/** A further sentence needs at least this share of the first sentence's score. */
const FURTHER_SCORE_SHARE = 0.35;
/**
 * The first sentence comes from a passage with at least this share of the best passage's score. Otherwise common words
 * of the question, or an expected kind of answer, would outweigh a passage that is far more relevant.
 */
const FIRST_PASSAGE_SHARE = 0.5;
/**
 * A further sentence comes from a passage with at least this share of the best passage's score, unless it gets
 * `WANTED_BONUS` for its title. One that gets the bonus for a listed term needs `LISTED_PASSAGE_SHARE`, or
 * `LISTED_TERMS_SHARE` of the question's content terms. Chosen on bench/fixtures/answers/dev.tsv.
 */
const FURTHER_PASSAGE_SHARE = 0.1;
const LISTED_TERMS_SHARE = 0.5;
const LISTED_PASSAGE_SHARE = 0.01;
/** Factor for the score of sentences that are questions, because they are rarely the answer. */
const QUESTION_SHARE = 0.5;
/** Minimum relevance of a further sentence, unless it gets `WANTED_BONUS`. */
const RELEVANCE_MIN = -0.6;
/** Minimum relevance at which a further sentence needs no word of the question. */
const RELEVANCE_SURE = 0;
/**
 * Minimum length of a title, in UTF-16 code units. Shorter titles are ignored, because they occur by chance in many
 * sentences.
 */
const TITLE_UNITS_MIN = 3;

const QUESTION_END = /[?？؟\u037e]["'”’»)\]]*$/u;
/** A letter of a script that puts spaces between words, or a digit. */
const SPACED_LETTER = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]/u;
/** The qualifier of a title, such as `(2004 film)` in `Agni (2004 film)`. */
const TITLE_KIND = /\([^()]*\)\s*$/u;

/** Computes the features of a quote. */
export function candidateOf(quote: Quote, question: QuestionFeatures): Candidate {
  const words = new Set(foldedWords(quote.text));
  const newWords = [...words].filter((word) => !question.terms.has(word)).length;
  return {
    ...quote,
    words,
    matches: termMatches(words, question),
    newWords,
    hasExpectedAnswer: hasExpectedAnswer(quote.text, question),
  };
}

/** The best candidates by words and passage score, at most `count`, best first. A model reads only these. */
export function shortlist(candidates: readonly Candidate[], weights: TermWeights, count: number): readonly Candidate[] {
  const scored = candidates.map((candidate, position) => ({
    candidate,
    position,
    score: scoreByWords(candidate, weights, new Set()),
  }));
  scored.sort((left, right) => right.score - left.score || left.position - right.position);
  return scored.slice(0, count).map(({ candidate }) => candidate);
}

/**
 * Selects up to four sentences, one after the other: always the one with the highest score. Terms that the answer
 * already covers count less for the next sentences.
 */
export function selectSentences(
  scored: readonly ScoredCandidate[],
  weights: TermWeights,
  question: QuestionFeatures,
  maxSources: number,
): readonly Candidate[] {
  const selection = new Selection(scored, weights, question, maxSources);
  while (selection.sentences.length < SENTENCES_MAX && selection.addBest());
  return selection.sentences;
}

/** The sentences selected so far, with the state that the choice of the next one depends on. */
class Selection {
  readonly sentences: Candidate[] = [];
  readonly #bestRelevances: ReadonlyMap<RankedPassage, number>;
  readonly #titles: ReadonlyMap<RankedPassage, string>;
  /** Titles that occur in the question. */
  readonly #questionTitles: ReadonlySet<string>;
  readonly #cited = new Set<RankedPassage>();
  readonly #citedTitles = new Set<string>();
  readonly #coveredTerms = new Set<string>();
  /**
   * Titles that occur in a selected sentence and not in the question. They may lead to the second step of a two-step
   * question.
   */
  readonly #bridgedTitles = new Set<string>();
  readonly #passageScoreMax: number;
  /** Minimum score of a further sentence. */
  #scoreMin = 0;

  constructor(
    private readonly scored: readonly ScoredCandidate[],
    private readonly weights: TermWeights,
    private readonly question: QuestionFeatures,
    private readonly maxSources: number,
  ) {
    this.#passageScoreMax = Math.max(...scored.map(({ candidate }) => candidate.passage.score));
    this.#bestRelevances = bestByPassage(scored);
    this.#titles = titlesOf(scored);
    this.#questionTitles = titlesIn(question.folded, this.#titles);
  }

  /** Adds the best remaining candidate. Returns false if no candidate is good enough. */
  addBest(): boolean {
    let best: Candidate | null = null;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const { candidate, relevance } of this.scored) {
      if (!this.#cited.has(candidate.passage) && this.#cited.size >= this.maxSources) continue;
      const share = candidate.passage.score / this.#passageScoreMax;
      const hasWantedTitle = this.#hasWantedTitle(candidate.passage);
      const isListed = this.#isListed(candidate, share);
      const isWanted = hasWantedTitle || isListed;
      if (share < this.#shareMin(candidate.passage, hasWantedTitle, isListed)) continue;
      if (this.sentences.length > 0 && !isWanted && !this.#isOnTopic(candidate, relevance)) continue;
      const score = this.#score(candidate, relevance, isWanted);
      if (score <= bestScore || this.#isRepeated(candidate, isListed)) continue;
      best = candidate;
      bestScore = score;
    }
    if (best === null || bestScore < this.#scoreMin) return false;
    if (this.sentences.length === 0) this.#scoreMin = bestScore * FURTHER_SCORE_SHARE;
    this.#add(best);
    return true;
  }

  /**
   * Whether a further sentence is about what is asked for: its relevance is high; or it has a word of the question, and
   * its relevance is not far below that of the best one. Without a model, the expected kind of answer is also enough.
   */
  #isOnTopic({ matches, hasExpectedAnswer }: Candidate, relevance: number | null): boolean {
    if (relevance !== null && relevance < RELEVANCE_MIN) return false;
    if (relevance === null ? hasExpectedAnswer : relevance >= RELEVANCE_SURE) return true;
    const { contentTerms } = this.question;
    return contentTerms.size === 0 || [...matches.keys()].some((term) => contentTerms.has(term));
  }

  /**
   * Whether the answer already contains the statement. For one of two listed things, only an equal text counts, because
   * the statements about both may differ in a single word.
   */
  #isRepeated(candidate: Candidate, isListed: boolean): boolean {
    if (isListed) return this.sentences.some(({ text }) => text === candidate.text);
    return this.sentences.some(
      (earlier) => areDuplicates(earlier, candidate) && !this.#namesAnother(earlier, candidate),
    );
  }

  /**
   * Whether two sentences say the same about different things: "allergic to hazelnuts", "allergic to cats". They do not
   * if only numbers differ, or if a word replaces a word of the question.
   */
  #namesAnother(earlier: Candidate, candidate: Candidate): boolean {
    if (earlier.passage === candidate.passage) return false;
    const [own, other] = [candidate, earlier].map(({ text }) =>
      placedWords({ text, language: this.question.language }),
    );
    if (own === undefined || other === undefined) return false;
    const isOwn = hasOtherWords(own, other) && hasOtherWords(other, own);
    return isOwn && substitutesIn(this.question.placed, other, own).length === 0;
  }

  /** Minimum share of the best passage's score that the passage of the next sentence needs. */
  #shareMin(passage: RankedPassage, hasWantedTitle: boolean, isListed: boolean): number {
    if (this.sentences.length === 0) return FIRST_PASSAGE_SHARE;
    if (hasWantedTitle || this.#cited.has(passage)) return 0;
    return isListed ? 0 : FURTHER_PASSAGE_SHARE;
  }

  /** Whether a sentence is about the other one of two things that the question lists. @param share see `#shareMin` */
  #isListed({ matches }: Candidate, share: number): boolean {
    const { listedTerms, contentTerms } = this.question;
    if (this.sentences.length === 0 || listedTerms.isDisjointFrom(this.#coveredTerms)) return false;
    const matched = [...matches.keys()];
    if (!matched.some((term) => listedTerms.has(term) && !this.#coveredTerms.has(term))) return false;
    // retrieval prefers one of two days, so the passage of the other one may have a low score
    const own = matched.filter((term) => contentTerms.has(term)).length;
    return share >= LISTED_PASSAGE_SHARE || own >= LISTED_TERMS_SHARE * contentTerms.size;
  }

  /** Whether a passage gets `WANTED_BONUS` for its title. */
  #hasWantedTitle(passage: RankedPassage): boolean {
    const title = this.#titles.get(passage);
    if (title === undefined || this.#citedTitles.has(title)) return false;
    return this.#bridgedTitles.has(title) || (this.#questionTitles.size > 1 && this.#questionTitles.has(title));
  }

  #score(candidate: Candidate, relevance: number | null, isWanted: boolean): number {
    return (
      scoreByWords(candidate, this.weights, this.#coveredTerms) +
      (relevance === null ? 0 : MODEL_WEIGHT * (relevance - this.#bestRelevance(candidate.passage))) +
      (isWanted ? WANTED_BONUS : 0)
    );
  }

  /**
   * The relevance at which a sentence loses no score. For a further sentence, it is that of the best sentence of its
   * passage, because a sentence about one of two things, or about the second step of a question, is less relevant to
   * the whole question.
   */
  #bestRelevance(passage: RankedPassage): number {
    if (this.sentences.length === 0) return RELEVANCE_BEST;
    return this.#bestRelevances.get(passage) ?? RELEVANCE_BEST;
  }

  #add(candidate: Candidate): void {
    const title = this.#titles.get(candidate.passage);
    const isSecondStep =
      this.sentences.length === 1 &&
      title !== undefined &&
      this.#bridgedTitles.has(title) &&
      !this.#citedTitles.has(title);
    // The second step is the answer itself, so it goes first.
    if (isSecondStep) this.sentences.unshift(candidate);
    else this.sentences.push(candidate);
    this.#cited.add(candidate.passage);
    if (title !== undefined) this.#citedTitles.add(title);
    for (const term of candidate.matches.keys()) this.#coveredTerms.add(term);
    const text = fold(candidate.text);
    for (const other of this.#titles.values()) {
      if (!this.#questionTitles.has(other) && containsTitle(text, other)) this.#bridgedTitles.add(other);
    }
  }
}

/** The highest relevance among each passage's sentences. */
function bestByPassage(scored: readonly ScoredCandidate[]): ReadonlyMap<RankedPassage, number> {
  const best = new Map<RankedPassage, number>();
  for (const { candidate, relevance } of scored) {
    if (relevance === null) continue;
    best.set(candidate.passage, Math.max(relevance, best.get(candidate.passage) ?? relevance));
  }
  return best;
}

function scoreByWords(candidate: Candidate, weights: TermWeights, covered: ReadonlySet<string>): number {
  const novelty = Math.min(1, (1 + candidate.newWords) / (1 + NEW_WORDS_MIN));
  const score =
    candidate.passage.score +
    OWN_WEIGHT * coverage(candidate.matches, weights, covered) * novelty +
    (candidate.hasExpectedAnswer ? EXPECTED_ANSWER_BONUS : 0);
  return QUESTION_END.test(candidate.text) ? score * QUESTION_SHARE : score;
}

/** Weighted share of the question's terms that a candidate matches, 0..1. */
function coverage(matches: ReadonlyMap<string, number>, weights: TermWeights, covered: ReadonlySet<string>): number {
  let share = 0;
  for (const [term, strength] of matches) {
    share += (weights.get(term) ?? 0) * strength * (covered.has(term) ? REPEATED_TERM_SHARE : 1);
  }
  return share;
}

/**
 * Computes the weights of the question's terms. Terms that occur in fewer candidates get a higher weight; terms that no
 * candidate has get none.
 */
export function termWeights(candidates: readonly Candidate[]): TermWeights {
  const sentences = new Map<string, number>();
  for (const { matches } of candidates) {
    for (const [term, strength] of matches) sentences.set(term, (sentences.get(term) ?? 0) + strength);
  }
  // Inverse document frequency of BM25 (Robertson and Zaragoza, 2009), with sentences instead of documents.
  const raw = [...sentences].map(
    ([term, count]) => [term, Math.log(1 + (candidates.length - count + 0.5) / (count + 0.5))] as const,
  );
  const total = raw.reduce((sum, [, weight]) => sum + weight, 0);
  return new Map(raw.map(([term, weight]) => [term, weight / total]));
}

/** The passages' titles, folded and without a qualifier (see `TITLE_KIND`). Very short titles are left out. */
function titlesOf(scored: readonly ScoredCandidate[]): ReadonlyMap<RankedPassage, string> {
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

/** The titles that occur in a folded question. If one title contains another, only the longer one is returned. */
function titlesIn(question: string, titles: ReadonlyMap<RankedPassage, string>): ReadonlySet<string> {
  const found = [...new Set(titles.values())].filter((title) => containsTitle(question, title));
  return new Set(found.filter((title) => !found.some((other) => other !== title && other.includes(title))));
}

/** Whether a folded text contains a folded title at word boundaries. */
function containsTitle(text: string, title: string): boolean {
  const at = text.indexOf(title);
  if (at < 0) return false;
  const around = `${text.charAt(at - 1)} ${text.charAt(at + title.length)}`;
  return !SPACED_LETTER.test(around) || !SPACED_LETTER.test(title);
}

/** Whether a text has words with a meaning that the other text lacks, and no number is among them. */
function hasOtherWords(words: readonly PlacedWord[], others: readonly PlacedWord[]): boolean {
  const known = new Set(others.map(({ stem }) => stem));
  const own = words.filter(({ stem, hasMeaning }) => hasMeaning && !known.has(stem));
  return own.length > 0 && !own.some(({ word }) => /\p{N}/u.test(word));
}

function areDuplicates(left: Candidate, right: Candidate): boolean {
  if (left.text === right.text) return true;
  if (left.passage === right.passage && left.sentence === right.sentence) {
    return Math.abs(left.part - right.part) < PARTS_OVERLAPPING;
  }
  const [fewer, more] = left.words.size < right.words.size ? [left.words, right.words] : [right.words, left.words];
  return fewer.size > 0 && fewer.intersection(more).size >= DUPLICATE_SHARE * fewer.size;
}
