// Judges what a newer sentence says of an older one, by aligning their words: the same subject and attribute with
// another value supersedes, unless a sign says that they are two subjects, two events, or an exception. Pure, about 50
// µs a pair.

import type { FoundKind } from "../domain/relation.ts";
import { type Statement, type StatementWord, statementOf, type WordKind } from "./statement.ts";

/** A sentence to judge. */
export interface JudgedSentence {
  readonly text: string;
  /** BCP 47; `und` if unknown. */
  readonly language: string;
}

/** What was found, and how sure it is, 0..1. */
export interface Verdict {
  readonly kind: FoundKind;
  readonly confidence: number;
  /** Whether the newer sentence says that something has changed. */
  readonly saysChange?: boolean;
}

/** Judges pairs of sentences; null if the newer one changes nothing about the older one. */
export type Judge = (older: JudgedSentence, newer: JudgedSentence) => Verdict | null;

/** Maximum number of content words of a sentence. Longer ones are about several things. */
const WORDS_MAX = 30;
/** Maximum number of words of a value that differs. */
const VALUE_WORDS_MAX = 4;
/** Minimum share of the words of the shorter sentence, except figures and times, that the other one has. */
const SHARE_MIN = 0.5;
/** The same if the newer sentence has another number or time in the place of an older one. */
const REPLACED_SHARE_MIN = 0.34;

/** The judge of sentences by rules. */
export const judgeByRules: Judge = (older, newer) => {
  if (older.text === newer.text) return { kind: "duplicates", confidence: 1 };
  const [before, after] = [readAgain(older), readAgain(newer)];
  if (before.isQuestion || after.isQuestion) return null;
  if (before.words.length === 0 || after.words.length === 0) return null;
  if (Math.max(before.words.length, after.words.length) > WORDS_MAX) return null;
  if (before.isPast) return null; // a statement about the past stays true
  // an exception from a habit, or what happened on a day
  if (after.isOccasion && !before.isOccasion) return null;
  if (after.namesDay && !before.namesDay && !hasChanged(before, after)) return null;
  const aligned = align(before.words, after.words);
  if (aligned.changes.length === 0) {
    return aligned.shared >= 2 && !hasChanged(before, after) ? { kind: "duplicates", confidence: 0.9 } : null;
  }
  const saysChange = hasChanged(before, after);
  if (supersedes(before, after, aligned))
    return { kind: "supersedes", confidence: saysChange ? 0.9 : 0.85, saysChange };
  return saysChange && tellsOfChange(before, after, aligned)
    ? { kind: "supersedes", confidence: 0.8, saysChange }
    : null;
};

/**
 * Whether a sentence that says that something has changed is about the subject and the attribute of the older one, in
 * other words or another order.
 */
function tellsOfChange(before: Statement, after: Statement, { changes }: Alignment): boolean {
  const [older, newer] = [before.words, after.words].map((words) => new Map(words.map((word) => [word.stem, word])));
  if (older === undefined || newer === undefined) return false;
  const shared = [...older.values()].filter(({ stem }) => newer.has(stem));
  const gone = [...older.values()].filter(({ stem }) => !newer.has(stem));
  const come = [...newer.values()].filter(({ stem }) => !older.has(stem));
  const isReplaced =
    (["number", "time"] as const).some((kind) => hasKind(gone, kind) && hasKind(come, kind)) &&
    gone.some(isYear) === come.some(isYear);
  // what is named first is what the sentence is about
  const isSameSubject = newer.has(before.words[0]?.stem ?? "") || older.has(after.words[0]?.stem ?? "");
  const places = changes.filter(({ older, newer }) => older.length > 0 && newer.length > 0);
  const sharesTime = hasKind(shared, "time");
  if (places.some((place) => areApart(place.older, place.newer)) || areNamedApart(gone, come, sharesTime)) return false;
  // "the small box … 12" and "the large box … 18"
  const isTellingApart = (place: Change) => place.sharedAfter > 0 && !isValue(place);
  if ((isReplaced || !after.isUnspaced) && places.some(isTellingApart)) return false;
  if (isOtherAttribute(gone, come)) return false;
  // "40 euros for water" and "62 euros for electricity"
  if (isReplaced && hasKind(gone, "word") && hasKind(come, "word")) return false;
  if (!isReplaced && gone.length > 1 && come.length > 1) return false;
  if (come.length === 0 && !after.isEnd) return false; // what was planned has happened
  if (!isSameSubject || !hasKind(shared, "word")) return false;
  // words that are no values, as "dentist" in "the dentist is on Tuesday at 3" and "the dentist was moved to Thursday"
  const named = shared.filter((word) => !isFigureOrTime(word));
  const count = (words: Iterable<StatementWord>) => [...words].filter((word) => !isFigureOrTime(word)).length;
  const share = named.length / Math.max(1, Math.min(count(older.values()), count(newer.values())));
  if (named.length === 1) {
    const areNameless = ![...gone, ...come].some(isNamed);
    return isReplaced && share >= SHARE_MIN && before.words.length <= 3 && areNameless;
  }
  return share >= (isReplaced ? REPLACED_SHARE_MIN : SHARE_MIN);
}

/** Whether names and values of two sentences differ: "machine A … 40 bar" and "machine B … 60 bar". */
function areNamedApart(gone: readonly StatementWord[], come: readonly StatementWord[], sharesTime = false): boolean {
  const both = (kind: WordKind) => hasKind(gone, kind) && hasKind(come, kind);
  if (both("mark")) return true;
  const [before, after] = [gone, come].map((words) => words.filter(isFigure));
  if (before === undefined || after === undefined) return false;
  const haveFigures = before.length > 0 && after.length > 0;
  // figures beside a time are its days and hours; otherwise they are amounts, such as of a month
  if (both("time") || sharesTime) return both("name") || (haveFigures && ![...before, ...after].every(isDayOrHour));
  return (both("name") && haveFigures) || (before.length > 1 && after.length > 1);
}

/** Whether each of two sentences has an ordinary word (kind `word`) that the other one lacks. */
function haveOtherSubjects(before: readonly StatementWord[], after: readonly StatementWord[]): boolean {
  const [older, newer] = [before, after].map((words) => new Set(words.map(({ stem }) => stem)));
  const lacks = (words: readonly StatementWord[], stems: ReadonlySet<string> | undefined) =>
    words.some(({ kind, stem }) => kind === "word" && stems?.has(stem) === false);
  return lacks(before, newer) && lacks(after, older);
}

/** Whether two sentences differ at one place in a value and in what has it: "printer kiwi44" and "scanner mango81". */
function areApart(gone: readonly StatementWord[], come: readonly StatementWord[]): boolean {
  const bothName = [gone, come].every((words) => hasKind(words, "word"));
  const haveValues = [gone, come].every((words) => words.some(({ kind }) => kind !== "word"));
  return (bothName && haveValues) || areNamedApart(gone, come);
}

function isDayOrHour({ word }: StatementWord): boolean {
  return /^(?:[0-2]?\d|3[01])(?:[.:h]\d{0,2})?$/.test(word);
}

/** Whether it is a year, which replaces no size: "is 41 metres tall" and "since 1988". */
function isYear({ word }: StatementWord): boolean {
  return /^(?:1[5-9]|20)\d\d$/.test(word);
}

function isFigure({ kind }: StatementWord): boolean {
  return kind === "number" || kind === "code";
}

function isFigureOrTime(word: StatementWord): boolean {
  return isFigure(word) || word.kind === "time";
}

function hasKind(words: readonly StatementWord[], kind: WordKind): boolean {
  return words.some((word) => word.kind === kind);
}

/** Statements that were read last: a sentence is compared with many others. */
const read = new Map<string, Statement>();
const READ_MAX = 4_096;

function readAgain({ text, language }: JudgedSentence): Statement {
  const key = `${language} ${text}`;
  const known = read.get(key);
  if (known !== undefined) return known;
  if (read.size >= READ_MAX) read.clear();
  const statement = statementOf(text, language);
  read.set(key, statement);
  return statement;
}

/** Whether the newer sentence says that something has changed, and not in the words of the older one. */
function hasChanged(before: Statement, after: Statement): boolean {
  return [...after.changeWords].some((word) => !before.changeWords.has(word));
}

/** A place where the words of two sentences differ. */
interface Change {
  readonly older: readonly StatementWord[];
  readonly newer: readonly StatementWord[];
  /** Number of shared words before it, and after it. */
  readonly sharedBefore: number;
  readonly sharedAfter: number;
}

interface Alignment {
  /** Number of shared words. */
  readonly shared: number;
  /** Whether the shared words have the same form in both sentences. */
  readonly isExact: boolean;
  readonly changes: readonly Change[];
}

function supersedes(before: Statement, after: Statement, { shared, changes, isExact }: Alignment): boolean {
  const replaced = changes.filter(({ older, newer }) => older.length > 0 && newer.length > 0);
  const [first] = replaced;
  // another subject: the sentences differ before anything that they share, or in what tells two things apart
  if (first === undefined || first.sharedBefore === 0) return false;
  if (replaced.length > 1 || areApart(first.older, first.newer)) return false;
  // "the maths exam" and "the physics exam"; in languages with the verb at the end, it follows the value
  if (!after.isUnspaced && first.sharedAfter > 0 && !isValue(first)) return false;
  if (Math.max(first.older.length, first.newer.length) > VALUE_WORDS_MAX) return false;
  // "the wifi upstairs … heron" and "the wifi downstairs … gull": what has the value differs, too
  if (first.older.length > 1 && first.newer.length > 1) return false;
  // "the fee of swimming is 35" and "judo raised the fee to 42"
  if (first.older.length !== first.newer.length && haveOtherSubjects(before.words, after.words)) return false;
  const isSameKind = kindsOf(first.older).some((kind) => kindsOf(first.newer).includes(kind));
  if (!isSameKind || isOtherAttribute(first.older, first.newer)) return false;
  const added = changes.filter((change) => change !== first).flatMap(({ older, newer }) => [...older, ...newer]);
  if (hasChanged(before, after)) {
    const isShort = before.words.length === 2 && isExact && !isNamed(before.words[0]);
    return (shared >= 2 || isValue(first) || isShort) && added.every(({ kind }) => kind === "word" || kind === "time");
  }
  const isNumber = [first.older, first.newer].every((words) =>
    ["number", "code", "time"].some((kind) => hasKind(words, kind as WordKind)),
  );
  return (
    !hasKind(first.older, "word") &&
    !after.isPast &&
    !before.isIndefinite &&
    isExact &&
    first.sharedBefore >= 2 &&
    first.sharedAfter <= 1 &&
    added.length === 0 &&
    isNumber
  );
}

/** Whether one sentence names a figure or a time where the other one names neither. */
function isOtherAttribute(gone: readonly StatementWord[], come: readonly StatementWord[]): boolean {
  const hasAmount = (words: readonly StatementWord[]) => words.some(isFigureOrTime);
  return hasAmount(gone) !== hasAmount(come);
}

function isNamed(word: StatementWord | undefined): boolean {
  return word?.kind === "name" || word?.kind === "mark";
}

/** Whether both sides have a value: a number, code, time, name or mark. */
function isValue({ older, newer }: Change): boolean {
  const isOne = (words: readonly StatementWord[]) => words.some(({ kind }) => kind !== "word");
  return isOne(older) && isOne(newer);
}

function kindsOf(words: readonly StatementWord[]) {
  return words.map(({ kind }) => kind);
}

/** Endings of words for a man and a woman that begin alike, such as grandpa and grandma. */
const RELATIVES = [
  ["pa", "ma"],
  ["father", "mother"],
  ["vater", "mutter"],
  ["père", "mère"],
  ["son", "daughter"],
  ["sohn", "tochter"],
] as const;

/** Whether two words are forms of the same word, but not for a man and a woman, as "hermano" and "hermana". */
function isSame(left: StatementWord | undefined, right: StatementWord | undefined): boolean {
  if (left === undefined || right === undefined || left.stem !== right.stem) return false;
  if (left.word === right.word) return true;
  const isPair = (one: string, other: string) =>
    one === `${other}o` ||
    (one.endsWith("o") && other === `${one.slice(0, -1)}a`) ||
    RELATIVES.some(([man, woman]) => one.endsWith(man) && other === one.slice(0, -man.length) + woman);
  return !isPair(left.word, right.word) && !isPair(right.word, left.word);
}

/** The longest common subsequence of the words, and the places between. */
function align(older: readonly StatementWord[], newer: readonly StatementWord[]): Alignment {
  const [rows, columns] = [older.length + 1, newer.length + 1];
  const lengths = new Uint16Array(rows * columns);
  for (let row = older.length - 1; row >= 0; row--) {
    for (let column = newer.length - 1; column >= 0; column--) {
      lengths[row * columns + column] = isSame(older[row], newer[column])
        ? (lengths[(row + 1) * columns + column + 1] ?? 0) + 1
        : Math.max(lengths[(row + 1) * columns + column] ?? 0, lengths[row * columns + column + 1] ?? 0);
    }
  }
  const total = lengths[0] ?? 0;
  const changes: Change[] = [];
  let [row, column, passed] = [0, 0, 0];
  let isExact = true;
  let open: { older: StatementWord[]; newer: StatementWord[] } = { older: [], newer: [] };
  const close = () => {
    if (open.older.length + open.newer.length === 0) return;
    changes.push({ ...open, sharedBefore: passed, sharedAfter: total - passed });
    open = { older: [], newer: [] };
  };
  while (row < older.length || column < newer.length) {
    const [left, right] = [older[row], newer[column]];
    if (left !== undefined && right !== undefined && isSame(left, right)) {
      close();
      isExact &&= left.word === right.word;
      passed += 1;
      row += 1;
      column += 1;
    } else if (
      right === undefined ||
      (left !== undefined && (lengths[(row + 1) * columns + column] ?? 0) >= (lengths[row * columns + column + 1] ?? 0))
    ) {
      if (left !== undefined) open.older.push(left);
      row += 1;
    } else {
      open.newer.push(right);
      column += 1;
    }
  }
  close();
  return { shared: total, isExact, changes };
}
