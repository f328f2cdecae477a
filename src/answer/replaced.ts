// Leaves passages out of an extractive answer that a newer one above them has probably replaced, such as the room of
// before behind the room of now, or that are of another time than the question names. Stored relations tell it of
// corrections in the same words (retrieval/current-first.ts); here the question helps to recognise others, because both
// passages answer it.

import type { NamedTime, RankedPassage } from "../domain/ranking.ts";
import { logisticProbability } from "../kit/logistic.ts";
import type { AskedQuestion } from "../retrieval/current-first.ts";
import { logitOf } from "../retrieval/evidence.ts";
import { lackingSpecifics, type Specifics, specificsOf } from "../retrieval/specifics.ts";
import { asksNow, changesIn } from "../retrieval/time/contradictions.ts";
import { isStatement } from "../retrieval/time/newest-first.ts";
import { askedTense, asksEarlierState } from "../retrieval/time/tense.ts";
import { happenedAt } from "../retrieval/time/time-preference.ts";
import { wordsIn } from "../retrieval/time/words.ts";
import { type AnswerKind, askedKind } from "./asked-kind.ts";
import { holdsKind } from "./kind-evidence.ts";
import { foldedWords, type QuestionFeatures, questionFeatures, termMatches } from "./question-features.ts";

/** Number of best passages that are compared: what follows is rarely cited. */
const COMPARED_MAX = 6;
/** A word that stands in at most this many passages is rare among them. */
const RARE_MAX = 3;
/** Minimum probability of being replaced. */
const REPLACED_MIN = 0.45;

/**
 * Weights of a logistic regression: the probability that the older passage is replaced by the newer one, rather than a
 * second part of the answer. Fitted on the questions of 41 invented persons in 24 languages, 127 replaced notes and 181
 * others that answer (docs/decisions/081-relations-at-write-time.md).
 */
const WEIGHTS = {
  bias: -3.14,
  /** Number of shared words that are rare among the passages, at most 3. */
  rareShared: 0.48,
  /** Number of words such as "moved" and "no longer", at most 2. */
  changesInNewer: 1.07,
  changesInOlder: -0.87,
  /** Logit of the score of the newer passage. */
  score: 0.32,
  /** 1 if the newer passage is the best one; 1 if the older one follows it. */
  isFirst: 1.31,
  isNext: 1.05,
  /** Words of the question in both, only in the newer and only in the older one, as a share of all. */
  askedInBoth: 2.86,
  askedInNewer: -2.07,
  askedInOlder: -1.64,
  /** 1 if the question has a word such as "now". */
  asksNow: 1.48,
  /** 1 if both hold a value of the kind that the question asks for. */
  bothHoldKind: 0.78,
} as const;

/** What is compared of two passages. */
export type ReplacedSigns = Readonly<Record<Exclude<keyof typeof WEIGHTS, "bias">, number>>;

/** What is read of a passage once. */
interface Statement {
  readonly passage: RankedPassage;
  readonly words: ReadonlySet<string>;
  readonly changes: number;
  readonly lacks: Readonly<{ codes: number; names: number }>;
  /** Words of the question beside an "and" that the passage has. */
  readonly listed: ReadonlySet<string>;
  readonly holdsKind: boolean;
}

/**
 * The passages without those that a newer one above them has probably replaced. A question for an earlier state gets
 * all of them, the replaced ones first. Only short memories of the same user and agent replace each other.
 * @param passages best first
 */
export function withoutReplaced(question: AskedQuestion, passages: readonly RankedPassage[]): readonly RankedPassage[] {
  if (passages.length < 2) return passages;
  if (askedTense(question.text, question.language) === "past") {
    return asksEarlierState(question.text, question.language) ? replacedFirst(question, passages) : passages;
  }
  const replaced = new Set<RankedPassage>();
  for (const { newer, older, signs } of replacingPairs(question, passages)) {
    if (!replaced.has(newer) && logisticProbability(WEIGHTS, signs) >= REPLACED_MIN) replaced.add(older);
  }
  return replaced.size === 0 ? passages : passages.filter((passage) => !replaced.has(passage));
}

/** The passages, each that a newer one has probably replaced directly before that. */
function replacedFirst(question: AskedQuestion, passages: readonly RankedPassage[]): readonly RankedPassage[] {
  const ordered = [...passages];
  for (const { newer, older, signs } of replacingPairs(question, passages)) {
    const [at, place] = [ordered.indexOf(older), ordered.indexOf(newer)];
    if (at < place || logisticProbability(WEIGHTS, signs) < REPLACED_MIN) continue;
    ordered.splice(at, 1);
    ordered.splice(place, 0, older);
  }
  return ordered;
}

/** Minimum share of the words of the shorter passage that passages alike but for their time have in common. */
const ALIKE_MIN = 0.4;

/**
 * The passages without those that are like one of the named time, but of another time: the other lunches with Ben, for
 * "last month". A question that also asks for the present, or what has changed, gets all of them.
 * @param time of the question; its end is exclusive
 */
export function withoutOtherTimes(
  question: AskedQuestion,
  time: Pick<NamedTime, "from" | "to">,
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  if (asksNow(question) || changesIn(question) > 0) return passages;
  const isWithin = ({ memory }: RankedPassage) => {
    const at = happenedAt(memory);
    return at >= (time.from ?? -Infinity) && at < (time.to ?? Infinity);
  };
  const wordsOf = ({ text, memory }: RankedPassage) => wordsIn(text, memory.language ?? "und");
  const within = passages.filter((passage) => isStatement(passage) && isWithin(passage)).map(wordsOf);
  if (within.length === 0) return passages;
  return passages.filter((passage) => {
    if (!isStatement(passage) || isWithin(passage)) return true;
    const words = wordsOf(passage);
    return !within.some((other) => {
      const shared = [...words].filter((word) => other.has(word)).length;
      return shared >= ALIKE_MIN * Math.max(1, Math.min(words.size, other.size));
    });
  });
}

/** Pairs of passages of which the upper one is newer and can answer the question instead of the lower one. */
export function* replacingPairs(
  { text, language }: AskedQuestion,
  passages: readonly RankedPassage[],
): Generator<{ readonly newer: RankedPassage; readonly older: RankedPassage; readonly signs: ReplacedSigns }> {
  const kind = askedKind(text);
  const specifics = specificsOf(text, language);
  const features = questionFeatures(text, language);
  const asked = { words: wordsIn(text, language), asksNow: Number(asksNow({ text, language })) };
  const frequencies = new Map<string, number>();
  const statements = passages.map((passage) => statementOf(passage, specifics, features, kind, text));
  for (const { words } of statements) for (const word of words) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
  const compared = statements.slice(0, COMPARED_MAX);
  for (const [place, newer] of compared.entries()) {
    if (!newer.holdsKind || !isStatement(newer.passage)) continue;
    for (const [distance, older] of compared.slice(place + 1).entries()) {
      if (!isStatement(older.passage) || !isNewer(newer.passage, older.passage) || lacksMore(newer, older)) continue;
      const shared = [...newer.words].filter((word) => older.words.has(word));
      const inNewer = [...asked.words].filter((word) => newer.words.has(word));
      const inBoth = inNewer.filter((word) => older.words.has(word)).length;
      const inOlder = [...asked.words].filter((word) => older.words.has(word)).length;
      const share = (count: number) => count / Math.max(1, asked.words.size);
      const signs = {
        rareShared: Math.min(3, shared.filter((word) => (frequencies.get(word) ?? 0) <= RARE_MAX).length),
        changesInNewer: Math.min(2, newer.changes),
        changesInOlder: Math.min(2, older.changes),
        score: logitOf(newer.passage.score),
        isFirst: Number(place === 0),
        isNext: Number(distance === 0),
        askedInBoth: share(inBoth),
        askedInNewer: share(inNewer.length - inBoth),
        askedInOlder: share(inOlder - inBoth),
        asksNow: asked.asksNow,
        bothHoldKind: Number(kind !== null && older.holdsKind),
      };
      yield { newer: newer.passage, older: older.passage, signs };
    }
  }
}

function statementOf(
  passage: RankedPassage,
  specifics: Specifics,
  features: QuestionFeatures,
  kind: AnswerKind | null,
  question: string,
): Statement {
  const { text, memory } = passage;
  const language = memory.language ?? "und";
  return {
    passage,
    words: wordsIn(text, language),
    changes: changesIn({ text, language }),
    lacks: lackingSpecifics(specifics, text),
    listed: new Set(termMatches(new Set(foldedWords(text)), features).keys()).intersection(features.listedTerms),
    holdsKind: kind === null || holdsKind(text, kind, question),
  };
}

function isNewer({ memory: newer }: RankedPassage, { memory: older }: RankedPassage): boolean {
  return newer.userKey === older.userKey && newer.agentId === older.agentId && happenedAt(newer) > happenedAt(older);
}

/** Whether the older passage has more of what the question names: the newer one is about something else. */
function lacksMore(newer: Statement, older: Statement): boolean {
  if (newer.lacks.codes > older.lacks.codes || newer.lacks.names > older.lacks.names) return true;
  return !older.listed.isSubsetOf(newer.listed);
}
