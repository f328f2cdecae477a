// How the citations of a language model become those of an answer, while it is still being written: numbered by first
// appearance, leading to a source, in one form. The forms that are read stand in citation-marks.ts.

import type { RankedPassage } from "../domain/ranking.ts";
import {
  areCoordinates,
  BLANKS,
  BRACKET,
  type CitationMark,
  MARK_UNITS_MAX,
  markAt,
  mayBecomeMark,
  type NumberRange,
  OPENINGS,
  SIGNS,
} from "./citation-marks.ts";
import { withoutUnseen } from "./marks.ts";

/** Code between backticks that is longer is none, nor is what does not end on its line. */
const CODE_UNITS_MAX = 256;
/** Blanks that are looked at before a mark. */
const LEAD_UNITS_MAX = 8;
/** A longer run of backticks counts as several. */
const TICKS_MAX = 64;
const PLAIN = `[^${BLANKS}${OPENINGS}\\n\`]+`;
/** Of a line, what tells whether code begins or ends at it. */
const LINE_UNITS_MAX = 512;

/** Words with the blanks between them, so many at once: none of it can be a mark, or what stands before one. */
const PLAIN_RUN = new RegExp(`${PLAIN}(?:[${BLANKS}]{1,${LEAD_UNITS_MAX}}${PLAIN}){0,63}`, "y");
const BLANK_RUN = new RegExp(`[${BLANKS}]+`, "y");
const TICKS = new RegExp(`\`{1,${TICKS_MAX}}`, "y");
const OPENS = new RegExp(`[${OPENINGS}]`, "y");
/**
 * A bracket that is open: what is taken out behind it must leave something, or what stands around it becomes a mark.
 */
const OPEN_BRACKET = new RegExp(`${BRACKET}${SIGNS}*$`, "u");
const ONLY_SIGNS = new RegExp(`^${SIGNS}*$`, "u");
/**
 * Directly behind these a number in brackets is an index: `m[10]`, `rows[i][10]`. Scripts without spaces are others.
 */
const INDEXED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}_\])]$/u;
const TAKEN_OUT = "…";
/** A line that opens a block of code, or closes it, also within a list or a quotation. */
const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?<run>`{3,}(?=[^`]*$)|~{3,})(?<info>.*)$/s;
/** Before these no blank is needed when what stood before them is gone. */
const CLOSES = /^[\s\p{Pe}\p{Pf}.,;:!?…、。，；：！？]/u;

/** What a step reads of what is there, and what it writes for it. */
interface Step {
  readonly read: number;
  readonly written: string;
}

/**
 * Turns a model's text into an answer's, fragment by fragment; how it is cut into fragments makes no difference. Text
 * goes out at once, but for what may be the beginning of a mark (256 characters at most) and the blanks before it.
 * Linear in the text. Marks are written `[n]`, one number each, renumbered by first appearance: `[7, 2]` becomes
 * `[1][2]`. A number without a source goes, and the blank before it (within brackets `…` takes its place); so does one
 * that stands next to itself. Numbers that look like coordinates or an index stay in round brackets: `[0, 1]` becomes
 * `(0, 1)`, and `m[10]` without a source 10 `m(10)`. Brackets that hold no mark stay as they are, and so does all code,
 * between backticks or in a fenced block. What cannot be seen goes too (marks.ts).
 */
export class CitationStream {
  readonly #sources: readonly RankedPassage[];
  readonly #numbers = new Map<RankedPassage, number>();
  #held = "";
  /** First half of a character whose second half is still to come. */
  #half = "";
  /** The line so far, as it came. */
  #line = "";
  /** Whether nothing but blanks was written on this line. */
  #isLineBlank = true;
  /** The last character that was written. */
  #before = "";
  /** Units written since the last bracket that is open, with it; null: none is, or too far back to be one of a mark. */
  #sinceOpen: number | null = null;
  /** What opened the block of code that this is in. */
  #fence: string | null = null;
  /** Backticks that opened the code that this may be in; 0: none. */
  #ticks = 0;
  /** Numbers written since the last other text. */
  #neighbours = new Set<number>();
  /** Blanks before a mark that is gone; null: none is. */
  #gone: string | null = null;

  /** @param sources `[n]` of the model is the n-th, from 1 */
  constructor(sources: readonly RankedPassage[]) {
    this.#sources = sources;
  }

  /** What has been cited so far: `[n]` of the answer is the n-th. */
  get cited(): readonly RankedPassage[] {
    return [...this.#numbers.keys()];
  }

  /** Takes a fragment; returns what can be said for sure. */
  take(fragment: string): string {
    const text = this.#half + fragment;
    this.#half = /^[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(-1) : "";
    this.#held += withoutUnseen(text.slice(0, text.length - this.#half.length).toWellFormed());
    return this.#advance(false);
  }

  /** No more comes; returns the rest. */
  end(): string {
    this.#held += this.#half.toWellFormed();
    this.#half = "";
    return this.#advance(true);
  }

  #advance(isEnd: boolean): string {
    const text = this.#held;
    const written: string[] = [];
    let at = 0;
    while (at < text.length) {
      const step = this.#fence === null ? this.#step(text, at, isEnd) : { read: lineEnd(text, at) - at, written: null };
      if (step === null) break;
      const read = text.slice(at, at + step.read);
      const said = step.written ?? read;
      written.push(said);
      this.#keepOpen(said);
      this.#pass(read);
      at += step.read;
    }
    this.#held = text.slice(at);
    return written.join("");
  }

  // null: what comes next decides.
  #step(text: string, at: number, isEnd: boolean): Step | null {
    const plain = matchAt(PLAIN_RUN, text, at) || (text[at] === "\n" ? "\n" : "");
    if (plain !== "") return { read: plain.length, written: this.#write(plain) };
    const ticks = matchAt(TICKS, text, at);
    if (ticks !== "") {
      if (at + ticks.length === text.length && ticks.length < TICKS_MAX && !isEnd) return null;
      if (this.#ticks === 0) this.#ticks = ticks.length;
      else if (this.#ticks === ticks.length) this.#ticks = 0;
      return { read: ticks.length, written: this.#write(ticks) };
    }
    const lead = matchAt(BLANK_RUN, text, at);
    const mark = at + lead.length;
    if (lead.length > LEAD_UNITS_MAX) {
      const excess = lead.slice(LEAD_UNITS_MAX);
      return { read: excess.length, written: this.#write(excess) };
    }
    if (mark === text.length && !isEnd) return null;
    if (matchAt(OPENS, text, mark) === "") return { read: lead.length, written: this.#write(lead) };
    const code = this.#codeUnits(text, lead, mark, isEnd);
    if (code === null) return null;
    return code > 0
      ? { read: lead.length + code, written: this.#write(lead + text.slice(mark, mark + code)) }
      : this.#mark(text, lead, mark, isEnd);
  }

  // Reads what may be a mark.
  #mark(text: string, lead: string, at: number, isEnd: boolean): Step | null {
    const rest = text.slice(at, at + MARK_UNITS_MAX);
    const found = markAt(rest);
    if (found !== null) return { read: lead.length + found.length, written: this.#cite(lead, found) };
    const mayBegin = mayBecomeMark(rest);
    if (mayBegin && rest.length < MARK_UNITS_MAX && !isEnd) return null;
    const isTooLong = mayBegin && rest.length === MARK_UNITS_MAX;
    const [sign = ""] = rest;
    return { read: lead.length + 1, written: this.#write(lead + (isTooLong && /[[［【]/.test(sign) ? "(" : sign)) };
  }

  // How much of what begins at `at` is code: as far as that ends on this line, and not too far away. 0: none.
  #codeUnits(text: string, lead: string, at: number, isEnd: boolean): number | null {
    if (this.#ticks === 0) return 0;
    const window = text.slice(at, at + CODE_UNITS_MAX);
    const line = window.slice(0, lineEnd(window, 0));
    const isWholeLine = line.endsWith("\n") || (isEnd && at + line.length === text.length);
    for (const { 0: run, index } of line.matchAll(/`+/g)) {
      const isWholeRun = index + run.length < line.length || isWholeLine;
      if (run.length === this.#ticks && isWholeRun) return index;
    }
    if (!isWholeLine && window.length < CODE_UNITS_MAX) return null;
    if (isWholeLine && fenceOf(this.#line + lead + line) !== null) return line.trimEnd().length;
    this.#ticks = 0;
    return 0;
  }

  #cite(lead: string, { numbers: list, list: inner }: CitationMark): string {
    if (areCoordinates(list)) return this.#aside(lead, inner);
    const before = this.#gone !== null && (lead === "" || this.#isLineBlank) ? this.#gone : lead;
    const passages = this.#passagesOf(list);
    if (passages.size === 0) {
      if (this.#sinceOpen !== null) return this.#write(TAKEN_OUT);
      const isBehindText = lead === "" && this.#gone === null && this.#neighbours.size === 0;
      if (isBehindText && INDEXED.test(this.#before)) return this.#aside(lead, inner);
      this.#gone = before;
      return "";
    }
    const numbers: string[] = [];
    for (const passage of passages) {
      const number = this.#numbers.get(passage) ?? this.#numbers.size + 1;
      this.#numbers.set(passage, number);
      if (!this.#neighbours.has(number)) numbers.push(`[${number}]`);
      this.#neighbours.add(number);
    }
    if (numbers.length === 0) {
      this.#gone = before;
      return "";
    }
    this.#gone = null;
    this.#isLineBlank = false;
    this.#before = "]";
    return before + numbers.join("");
  }

  // Numbers that are no sources; `[a](1)` would be a link.
  #aside(lead: string, inner: string): string {
    return this.#write(`${lead === "" && this.#before.endsWith("]") ? " " : lead}(${inner})`);
  }

  #passagesOf(list: readonly NumberRange[]): ReadonlySet<RankedPassage> {
    const passages = new Set<RankedPassage>();
    for (const [first, last] of list) {
      // slice() counts negative numbers from the end
      const range = this.#sources.slice(Math.max(0, first - 1), last);
      for (const passage of range) passages.add(passage);
    }
    return passages;
  }

  // What is written of text that is no mark.
  #write(text: string): string {
    this.#before = text.slice(-2);
    const gone = this.#gone;
    const isBlank = text.trim() === "" && text !== "\n";
    this.#neighbours.clear();
    // a line that began with a mark that is gone begins with what was behind it
    if (gone !== null && isBlank && this.#isLineBlank) return "";
    this.#gone = null;
    if (!isBlank) this.#isLineBlank = text === "\n";
    return gone === null || CLOSES.test(text) ? text : gone + text;
  }

  #keepOpen(said: string): void {
    const opened = said.length - (OPEN_BRACKET.exec(said)?.index ?? said.length);
    if (opened > 0) this.#sinceOpen = opened;
    else if (this.#sinceOpen !== null) this.#sinceOpen = ONLY_SIGNS.test(said) ? this.#sinceOpen + said.length : null;
    if ((this.#sinceOpen ?? 0) > MARK_UNITS_MAX) this.#sinceOpen = null;
  }

  // Keeps account of the line, and of the block of code that it opens or closes.
  #pass(read: string): void {
    if (this.#line.length < LINE_UNITS_MAX) this.#line += read.slice(0, LINE_UNITS_MAX - this.#line.length);
    if (!read.endsWith("\n")) return;
    const fence = fenceOf(this.#line);
    if (this.#fence === null) this.#fence = fence?.run ?? null;
    else if (fence?.info === "" && fence.run.startsWith(this.#fence)) this.#fence = null;
    this.#line = "";
    this.#ticks = 0;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

/** Behind the line that `at` is in. */
function lineEnd(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found === -1 ? text.length : found + 1;
}

function fenceOf(line: string): { readonly run: string; readonly info: string } | null {
  const groups = FENCE.exec(line.trimEnd())?.groups;
  return groups === undefined ? null : { run: groups.run ?? "", info: (groups.info ?? "").trim() };
}
