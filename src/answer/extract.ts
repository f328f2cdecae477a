// Answers a question without a language model: the sentences of the passages that fit it best, quoted with their `[n]`.
// Which passages there are is retrieval's question; here nothing is looked up, and the same input gives the same answer.

import type { RankedPassage } from "../domain/ranking.ts";
import { type AnswerEvent, citedFirst } from "./events.ts";
import { sentencesOf, wordStartBefore } from "./sentences.ts";

/** The whole answer when there is nothing to quote. */
export const NO_EVIDENCE_ANSWER = "Nothing that is stored here answers this question.";

/** An answer of more sentences is no longer one. */
const SENTENCES_MAX = 4;
/** A longer sentence is quoted in part, `…` included. */
const SENTENCE_UNITS_MAX = 400;
/** Parts of a long sentence begin this far apart, so that what one cut tears is whole in the next part. */
const PART_STRIDE_UNITS = 200;
/** Parts of a sentence nearer to each other than this share some of their text. */
const PARTS_OVERLAPPING = 3;
/** Text looked at in one turn of the event loop: about 5 ms (Bun 1.4, 2 cores, November 2026). */
const TURN_UNITS_MAX = 8_192;
/** A shorter sentence costs as much as one of this length. */
const COSTED_UNITS_MIN = 64;

/** What could be quoted: a sentence, or a part of one that is too long. */
interface Quote {
  readonly passage: RankedPassage;
  /** On one line, without markers, nothing in it reads as a citation. */
  readonly sentence: string;
  /** Which part of the sentence, from 0. */
  readonly part: number;
  readonly text: string;
}

/** A quote and what its rank depends on. */
interface Candidate extends Quote {
  readonly words: ReadonlySet<string>;
  /** How well it matches each term of the question, 0..1; terms that it does not have are absent. */
  readonly matches: ReadonlyMap<string, number>;
  /** Words that the question does not have. */
  readonly newWords: number;
  /** Whether it has the kind of thing that the question asks for. */
  readonly hasAsked: boolean;
}

/** What is asked, as sentences are compared with it. */
interface Question {
  readonly folded: string;
  readonly terms: ReadonlySet<string>;
  /** The same terms by their first `STEM_UNITS_MIN` units. */
  readonly termsByStem: ReadonlyMap<string, readonly string[]>;
  readonly asksForNumber: boolean;
  readonly asksForName: boolean;
}

/**
 * Answers with up to four sentences of `passages`, best first, one `text` event each; no token is used. Cites at most
 * `maxSources` (at least 1) passages; `sources` adds passages that were not cited up to that number, in their order.
 * What looks like a citation inside a passage (`[3]`, `[1, 2]`) is quoted with round brackets, `(3)`: it stays readable,
 * and no reader takes it for a reference to a source of this answer.
 * Without passages, or with blank ones only, the answer is `NO_EVIDENCE_ANSWER`, without sources.
 * Cost: about 0.3 ms per 1,000 characters, in turns of a few milliseconds.
 */
export async function* extractiveAnswer(
  question: string,
  passages: readonly RankedPassage[],
  maxSources: number,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const asked = questionOf(question);
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

  const numbers = new Map<RankedPassage, number>();
  for (const { text, passage } of choose(candidates, maxSources)) {
    const lead = numbers.size === 0 ? "" : " ";
    const known = numbers.get(passage);
    const number = known ?? numbers.size + 1;
    numbers.set(passage, number);
    yield { type: "text", content: `${lead}${text} [${number}]`, cites: known === undefined ? [passage] : [] };
  }
  if (numbers.size === 0) yield { type: "text", content: NO_EVIDENCE_ANSWER };
  yield { type: "sources", sources: numbers.size === 0 ? [] : citedFirst([...numbers.keys()], passages, maxSources) };
  yield { type: "usage", tokensUsed: 0 };
}

// ---- choosing
//
// Chosen so that the quotes hold the expected answer most often, where it stands in the 8 passages given (retrieved by words,
// 21 Nov 2026): HotpotQA .69 of 150 questions, LoCoMo .76 of 113. Halving questions: LoCoMo .74 to .76. Words of title and
// neighbours gained nothing, the passage's score has them. Other forms of a word: no difference in English beyond chance,
// kept for languages that inflect.

/** What a sentence's own words count, beside its passage's score (0..1). */
const OWN_WEIGHT = 1;
/** For a number where the question asks when or how many, a name where it asks who or where. */
const ASKED_BONUS = 0.4;
/** What a term counts that an earlier sentence of the answer has already. */
const REPEATED_TERM_SHARE = 0.3;
/** Sentences that answer bring words the question does not have: headings and echoes bring fewer than this many. */
const NEW_WORDS_MIN = 3;
/** Share of the words of the shorter of two sentences from which one of them is enough. */
const DUPLICATE_SHARE = 0.7;
/** A further sentence must reach this share of the first one's score. */
const FURTHER_SCORE_SHARE = 0.6;
/** What is asked in a passage is seldom the answer. */
const QUESTION_SHARE = 0.5;

/** Takes the best sentence again and again, what it covers counting less for the next. */
function choose(candidates: readonly Candidate[], maxSources: number): readonly Candidate[] {
  const weights = rarities(candidates);
  const chosen: Candidate[] = [];
  const cited = new Set<RankedPassage>();
  const covered = new Set<string>();
  let scoreMin = 0;
  while (chosen.length < SENTENCES_MAX) {
    let best: Candidate | null = null;
    let bestScore = -1;
    for (const candidate of candidates) {
      if (!cited.has(candidate.passage) && cited.size >= maxSources) continue;
      const score = scoreOf(candidate, weights, covered);
      if (score <= bestScore || chosen.some((earlier) => areDuplicates(earlier, candidate))) continue;
      best = candidate;
      bestScore = score;
    }
    if (best === null || bestScore < scoreMin) break;
    if (chosen.length === 0) scoreMin = bestScore * FURTHER_SCORE_SHARE;
    chosen.push(best);
    cited.add(best.passage);
    for (const term of best.matches.keys()) covered.add(term);
  }
  return chosen;
}

function scoreOf(candidate: Candidate, weights: ReadonlyMap<string, number>, covered: ReadonlySet<string>): number {
  const novelty = Math.min(1, (1 + candidate.newWords) / (1 + NEW_WORDS_MIN));
  const score =
    candidate.passage.score +
    OWN_WEIGHT * coverage(candidate.matches, weights, covered) * novelty +
    (candidate.hasAsked ? ASKED_BONUS : 0);
  return QUESTION_END.test(candidate.text) ? score * QUESTION_SHARE : score;
}

/** Share of the question's terms, by weight, that `matches` has: 0..1. */
function coverage(
  matches: ReadonlyMap<string, number>,
  weights: ReadonlyMap<string, number>,
  covered: ReadonlySet<string>,
): number {
  let share = 0;
  for (const [term, strength] of matches) {
    share += (weights.get(term) ?? 0) * strength * (covered.has(term) ? REPEATED_TERM_SHARE : 1);
  }
  return share;
}

/** What each term of the question counts: the rarer among the sentences, the more. Together 1; unknown terms nothing. */
function rarities(candidates: readonly Candidate[]): ReadonlyMap<string, number> {
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

function areDuplicates(left: Candidate, right: Candidate): boolean {
  if (left.text === right.text) return true;
  if (left.passage === right.passage && left.sentence === right.sentence) {
    return Math.abs(left.part - right.part) < PARTS_OVERLAPPING;
  }
  const [fewer, more] = left.words.size < right.words.size ? [left.words, right.words] : [right.words, left.words];
  return fewer.size > 0 && fewer.intersection(more).size >= DUPLICATE_SHARE * fewer.size;
}

// ---- comparing

/** Words that share this much of their beginning may be forms of one word: paint, painted, painting. */
const STEM_UNITS_MIN = 4;
/** Share of the longer word that both must have in common for it. */
const STEM_SHARE_MIN = 0.57;
/** What another form of a word counts. */
const STEM_MATCH = 0.7;

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });

const QUESTION_END = /[?？؟\u037e]["'”’»)\]]*$/u;
const NUMBER = /\p{N}+|[〇一二三四五六七八九十百千万億亿兆]+[年月日号號時时点點歳岁回次]/gu;
/** The first word of a sentence has its capital letter for another reason. */
const NAME = /(?<=[\p{L}\p{N},)] )\p{Lu}[\p{L}\p{M}]+/gu;

/** When, how many: in the languages of the largest shares of the web. Others get no bonus, and lose nothing else. */
const NUMBER_ASKED = askedPattern(
  `when how\\s(?:many|much|long|old|often|far|tall|big|large|high) (?:what|which)\\s(?:year|date|day|month|time|age|number)
   wann wie\\s(?:viel|viele|lange|alt|oft|weit|hoch|groß) quand combien cuándo cuánt[oa]s? quando quant[oaie]s?
   wanneer hoeveel kiedy ile когда сколько متى كم कब कितने कितना 언제 얼마 ne\\szaman kaç kapan berapa`,
  "什么时候|什麼時候|何时|何時|几时|多少|多久|几[个年月岁天次]|いつ|いくつ|いくら|何[年月日人回歳個本枚時]|몇|เมื่อไหร่|เมื่อไร|เท่าไหร่|เท่าไร|กี่",
);
/** Who, where: where names begin with a capital letter. */
const NAME_ASKED = askedPattern(
  `who whom whose where (?:what|which)\\s(?:city|country|town|place|person|name)
   wer wem wen wessen wo woher wohin qui où quién quiénes dónde quem onde chi dove waar kto gdzie
   кто кого где куда откуда kim nerede siapa`,
  "(?!)",
);

// Words of spaced scripts stand alone; the others are found anywhere.
function askedPattern(spaced: string, unspaced: string): RegExp {
  return new RegExp(
    `(?<![\\p{L}\\p{M}])(?:${spaced.trim().split(/\s+/).join("|")})(?![\\p{L}\\p{M}])|${unspaced}`,
    "iu",
  );
}

function questionOf(text: string): Question {
  const terms = new Set(wordsOf(text));
  const termsByStem = Map.groupBy(
    [...terms].filter((term) => term.length >= STEM_UNITS_MIN),
    (term) => term.slice(0, STEM_UNITS_MIN),
  );
  const folded = fold(text);
  return { folded, terms, termsByStem, asksForNumber: NUMBER_ASKED.test(folded), asksForName: NAME_ASKED.test(folded) };
}

function candidateOf(quote: Quote, question: Question): Candidate {
  const words = new Set(wordsOf(quote.text));
  const news = [...words].filter((word) => !question.terms.has(word));
  return {
    ...quote,
    words,
    matches: matchesOf(words, question),
    newWords: news.length,
    hasAsked:
      (question.asksForNumber && bringsNew(NUMBER, quote.text, question)) ||
      (question.asksForName && bringsNew(NAME, quote.text, question)),
  };
}

function bringsNew(kind: RegExp, text: string, { folded }: Question): boolean {
  return (text.match(kind) ?? []).some((found) => !folded.includes(fold(found)));
}

function matchesOf(words: ReadonlySet<string>, question: Question): ReadonlyMap<string, number> {
  const matches = new Map<string, number>();
  for (const word of words) {
    if (question.terms.has(word)) {
      matches.set(word, 1);
      continue;
    }
    for (const term of question.termsByStem.get(word.slice(0, STEM_UNITS_MIN)) ?? []) {
      if (!matches.has(term) && areForms(word, term)) matches.set(term, STEM_MATCH);
    }
  }
  return matches;
}

function areForms(left: string, right: string): boolean {
  const longer = Math.max(left.length, right.length);
  let same = STEM_UNITS_MIN;
  while (same < longer && left[same] === right[same]) same++;
  return same >= STEM_SHARE_MIN * longer;
}

function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of wordSegmenter.segment(fold(text))) if (isWordLike) words.push(segment);
  return words;
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

// ---- parts of what is too long

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
