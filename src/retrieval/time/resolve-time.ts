// Finds the time that a query names, and resolves it to a span of time from the time of the query.
// time-phrases.ts reads single phrases; this file combines them ("since", "before", "between … and …") and finds
// events ("before the move"). It calculates in UTC; zoned-time.ts translates from and to other time zones.

import { DAY_MS } from "../../kit/clock.ts";
import { fold } from "../../kit/fold.ts";
import { dayStart, type TimeSpan, unitsBefore } from "./calendar.ts";
import { withoutCodes } from "./codes.ts";
import { type Lexeme, languagesOf, lexemesOf, lexiconOf, type TimeLanguage } from "./lexicon.ts";
import { numericDatesIn } from "./numeric-dates.ts";
import { hasPastForm } from "./tense.ts";
import { readTimePhrase } from "./time-phrases.ts";
import { has, type TimeForm, type TimePhrase, type TimeText } from "./time-text.ts";

/** The time that a query names. */
export type QueryTime =
  /** A span of time. */
  | {
      readonly kind: TimeForm;
      readonly span: TimeSpan;
      /** Whether the query names no more than a year. */
      readonly isYearOnly: boolean;
      /** Whether it is a feast without a year. The span is that of the latest one, which is only probably meant. */
      readonly isAnyFeast: boolean;
      /** The words of the query. */
      readonly expression: string;
    }
  /** A time before or after an event whose day is unknown, such as "before the move". */
  | {
      readonly kind: "event";
      readonly relation: "before" | "after";
      /** The words for the event, such as "move". */
      readonly words: string;
      readonly expression: string;
    };

/** Maximum length of a query that is searched for times, in UTF-16 code units. The rest is ignored. */
const QUERY_UNITS_MAX = 2_000;
/**
 * Minimum length of a Chinese, Japanese or Korean word for "before" or "after" an event, in UTF-16 code units. One
 * character is ambiguous.
 */
const UNSPACED_RELATION_MIN = 2;

/**
 * Where a folded text names a time by its distance from now, such as "last week"; null if it does not. In UTF-16 code
 * units.
 * @param language of the text, BCP 47; `und` if unknown
 */
export function relativeTimeIn(
  text: string,
  language: string,
): { readonly start: number; readonly end: number } | null {
  const time = resolveTime(text, 0, language);
  if (time?.kind !== "relative") return null;
  const start = text.indexOf(time.expression);
  return start === -1 ? null : { start, end: start + time.expression.length };
}

/**
 * The time that a query names; null if it names none. Times are resolved in UTC; weeks begin on Monday, seasons are
 * those of the northern hemisphere, and a day or month without a year is the latest one.
 * @param asOf time of the query, Unix milliseconds
 * @param language of the query, BCP 47; `und` if unknown
 */
export function resolveTime(query: string, asOf: number, language: string): QueryTime | null {
  const sample = query.slice(0, QUERY_UNITS_MAX);
  const text = fold(sample);
  const original = text.length === sample.length ? sample : text;
  const { likely, unlikely } = languagesOf(text, language);
  const inLikely = longest(likely.map((each) => resolveIn(text, original, asOf, each)));
  if (inLikely !== null) return inLikely;
  // The detected language of a short query may be wrong. A phrase of several words is then no coincidence.
  return longest(
    unlikely.map((each) => {
      const time = resolveIn(text, original, asOf, each);
      if (time === null || time.kind === "event" || !time.expression.includes(" ")) return null;
      return likely.some((known) => isReadBy(time.expression, known)) ? null : time;
    }),
  );
}

// If the detected language has all words of the expression, it has read them already, and they name no time in it.
function isReadBy(expression: string, language: TimeLanguage): boolean {
  return lexemesOf(fold(expression), lexiconOf(language)).every(({ meanings, digits }) => {
    return digits !== null || meanings.size > 0;
  });
}

/** Bounds of the spans: the years 1 to 9999. A span beyond them is open. */
const SPAN_MIN = Date.parse("0001-01-01T00:00:00.000Z");
const SPAN_MAX = Date.parse("9999-12-31T23:59:59.999Z");

function bounded({ from, to }: TimeSpan): TimeSpan {
  const isWithin = (time: number | null) => time !== null && time >= SPAN_MIN && time <= SPAN_MAX;
  return { from: isWithin(from) ? from : null, to: isWithin(to) ? to : null };
}

function longest(times: readonly (QueryTime | null)[]): QueryTime | null {
  const score = (time: QueryTime | null) =>
    time === null ? Number.NEGATIVE_INFINITY : time.expression.length - (time.kind === "event" ? QUERY_UNITS_MAX : 0);
  return times.reduce((best, time) => (score(time) > score(best) ? time : best), null);
}

function resolveIn(text: string, original: string, asOf: number, language: TimeLanguage): QueryTime | null {
  const lexicon = lexiconOf(language);
  const inDigits = numericDatesIn(text, language === "en" ? "month" : "day");
  const { lexemes, dates } = withoutCodes(text, lexemesOf(text, lexicon), inDigits);
  const parsed: TimeText = { text, lexemes, dates, lexicon, asOf };
  const expressionOf = (from: number, next: number) =>
    original.slice(lexemes[from]?.start ?? 0, lexemes[next - 1]?.end ?? original.length).trim();
  let weak: QueryTime | null = null;
  for (const [at, lexeme] of lexemes.entries()) {
    if (!canBeginTime(lexeme, dates)) continue;
    const read = readRange(parsed, at) ?? readRelation(parsed, at) ?? readAlone(parsed, at);
    if (read === null) continue;
    const { form, span, isYearOnly, isAnyFeast = false, next } = read;
    const time: QueryTime = {
      kind: form,
      span: bounded(span),
      isYearOnly,
      isAnyFeast,
      expression: expressionOf(at, next),
    };
    // Dates and counted times are surer than a weekday or a season: "on Monday" may be every Monday.
    if (!isRecurring(lexemes, at, next)) return time;
    weak ??= time;
  }
  return weak ?? eventIn(parsed, original);
}

/** Whether a phrase for a time may begin with a lexeme. Most words of a query mean nothing in the lexicon. */
function canBeginTime({ start, meanings, digits }: Lexeme, dates: TimeText["dates"]): boolean {
  return meanings.size > 0 || digits !== null || dates.some((date) => date.start <= start && start < date.end);
}

function isRecurring(lexemes: readonly Lexeme[], from: number, next: number): boolean {
  return lexemes.slice(from, next).every(({ meanings, digits }) => {
    if (digits !== null) return false;
    const names = [...meanings];
    return names.length === 0 || names.some((name) => /^(weekday|weekend$|in$|skip$|of$)/.test(name));
  });
}

type ReadTime = Omit<TimePhrase, "span"> & { readonly span: TimeSpan };

function afterSkipped(text: TimeText, at: number): number {
  let next = at;
  while (has(text, next, "skip")) next += 1;
  return next;
}

// "between March and May", "from 2019 to 2021", "从2019年到2021年", "2019年から2021年まで"
function readRange(text: TimeText, at: number): ReadTime | null {
  const isBetween = has(text, at, "between");
  const isFrom = has(text, at, "from");
  if (isBetween || isFrom) {
    const first = readTimePhrase(text, afterSkipped(text, at + 1)) ?? bareYear(text, at + 1);
    if (first !== null && has(text, first.next, isBetween ? "and" : "to")) {
      return rangeTo(text, first, first.next + 1);
    }
  }
  if (text.lexicon.isSpaced) return null;
  const first = readTimePhrase(text, at);
  if (first === null || !has(text, first.next, "to")) return null;
  const range = rangeTo(text, first, first.next + 1);
  return range === null ? null : { ...range, next: range.next + (has(text, range.next, "until-after") ? 1 : 0) };
}

function rangeTo(text: TimeText, first: TimePhrase, at: number): ReadTime | null {
  const second = readTimePhrase(text, afterSkipped(text, at)) ?? bareYear(text, at);
  if (second === null) return null;
  // "between March and May 2022": the year belongs to both
  const years = Math.max(0, Math.ceil((first.span.from - second.span.to) / (365 * DAY_MS)));
  const span = { from: yearsEarlier(first.span.from, years), to: second.span.to };
  if (span.to <= span.from) return null;
  return { span, form: first.form, isYearOnly: false, next: second.next };
}

function yearsEarlier(time: number, years: number): number {
  return years === 0 ? time : unitsBefore("year", time, years);
}

function bareYear(text: TimeText, at: number): TimePhrase | null {
  const year = text.lexemes[at]?.digits ?? null;
  return year === null ? null : readTimePhrase({ ...text, lexemes: text.lexemes.slice(0, at + 1) }, at);
}

// "since 2021", "before May", "after the 3rd of June", "until last week", "2020年以前"
function readRelation(text: TimeText, at: number): ReadTime | null {
  for (const relation of ["since", "before", "after", "until"] as const) {
    if (has(text, at, relation)) {
      const phrase = readTimePhrase(text, afterSkipped(text, at + 1));
      if (phrase !== null) return related(text, relation, phrase, phrase.next);
    }
  }
  const phrase = readTimePhrase(text, at);
  if (phrase === null) return null;
  for (const relation of ["since", "before", "after", "until"] as const) {
    if (has(text, phrase.next, `${relation}-after`)) return related(text, relation, phrase, phrase.next + 1);
  }
  return null;
}

function related(
  { asOf }: TimeText,
  relation: "since" | "until" | "before" | "after",
  { span, form }: TimePhrase,
  next: number,
): ReadTime {
  const spans: Record<typeof relation, TimeSpan> = {
    since: { from: span.from, to: Math.max(dayStart(asOf, 1), span.to) },
    until: { from: null, to: span.to },
    before: { from: null, to: span.from },
    after: { from: span.to, to: null },
  };
  return { span: spans[relation], form, isYearOnly: false, next };
}

function readAlone(text: TimeText, at: number): ReadTime | null {
  return readTimePhrase(text, at);
}

/** Maximum length of the words of an event, in UTF-16 code units. */
const EVENT_UNITS_MAX = 80;
/** Where the words of an event end. */
const EVENT_END = /[?!.,;:，。？！、；]/u;
/** Words for "before" and "after" that are also used for other things than time, so they begin no event. */
const NO_EVENT_WORDS: ReadonlySet<string> = new Set(["by", "following", "以前", "以後", "以后", "이전", "이후"]);
/** Chinese, Japanese and Korean words for "which" and "when". "After which year" asks for a time and names no event. */
const ASKED_TIME = /哪|[几幾]|什[么麼]时候|什[么麼]時候|何[年月日时時]|いつ|どの|언제|어느|몇/u;
/** German and Dutch words that mean "before" or "after" an event only in front of an article. */
const ARTICLE_NEEDED: ReadonlySet<string> = new Set(["vor", "nach", "na"]);
/** German words that mean "before" in front of a name, too. */
const NAME_SUFFICES: ReadonlySet<string> = new Set(["vor"]);

// "before the move", "nach der Hochzeit", "搬家之前"
function eventIn(text: TimeText, original: string): QueryTime | null {
  const { lexemes, lexicon } = text;
  for (const [at, lexeme] of lexemes.entries()) {
    const relation = lexicon.isSpaced ? relationOf(lexeme, "") : relationOf(lexeme, "-after");
    if (relation === null) continue;
    const event = lexicon.isSpaced ? eventBehind(text, original, at) : eventAhead(text, original, at);
    if (event === null) continue;
    return { kind: "event", relation, ...event };
  }
  return null;
}

function relationOf({ meanings }: Lexeme, suffix: string): "before" | "after" | null {
  if (meanings.has(`before${suffix}`)) return "before";
  return meanings.has(`after${suffix}`) ? "after" : null;
}

function eventBehind(text: TimeText, original: string, at: number): { words: string; expression: string } | null {
  const { lexemes } = text;
  const word = lexemes[at];
  if (word === undefined || NO_EVENT_WORDS.has(word.text) || !isAboutPast(text, original, at)) return null;
  let first = at + 1;
  const isNamed = NAME_SUFFICES.has(word.text) && /^\p{Lu}/u.test(original.slice(lexemes[first]?.start));
  if (ARTICLE_NEEDED.has(word.text) && !isNamed && !has(text, first, "event-skip")) return null;
  if (word.text === "voor") return null; // mostly "for"
  while (has(text, first, "event-skip")) first += 1;
  const start = lexemes[first]?.start;
  if (start === undefined) return null;
  const end = start + lengthToEnd(original.slice(start, start + EVENT_UNITS_MAX));
  const words = original.slice(start, end).trim();
  return words === "" ? null : { words, expression: original.slice(word.start, end).trim() };
}

// "before training" may be every time. Only a query about the past asks for a time before or after one event.
function isAboutPast({ lexemes, lexicon }: TimeText, original: string, at: number): boolean {
  const isMarked = lexemes.some(({ meanings }, position) => position !== at && meanings.has("past"));
  return isMarked || hasPastForm(fold(original), lexicon.language);
}

function eventAhead(text: TimeText, original: string, at: number): { words: string; expression: string } | null {
  const word = text.lexemes[at];
  if (word === undefined || word.text.length < UNSPACED_RELATION_MIN || NO_EVENT_WORDS.has(word.text)) return null;
  const lead = original.slice(0, word.start);
  const cut = (lead.split(EVENT_END).at(-1) ?? "").slice(-EVENT_UNITS_MAX);
  if (ASKED_TIME.test(cut)) return null;
  let words = cut.trim();
  for (const { text: skipped } of text.lexemes.filter(({ meanings }) => meanings.has("event-skip"))) {
    if (words.startsWith(skipped)) words = words.slice(skipped.length).trim();
  }
  return words === "" ? null : { words, expression: `${cut.trim()}${original.slice(word.start, word.end)}` };
}

function lengthToEnd(text: string): number {
  const end = text.search(EVENT_END);
  return end === -1 ? text.length : end;
}
