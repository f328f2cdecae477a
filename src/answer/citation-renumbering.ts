// Renumbers the citations of a language model while its output is streaming. The new numbers count by first appearance,
// refer to existing sources only, and have the form `[n]`. citation-marks.ts recognises the forms that models write.

import type { RankedPassage } from "../domain/ranking.ts";
import {
  areCoordinates,
  BLANKS,
  BRACKET,
  type CitationMark,
  LIST_CHARACTERS,
  MARK_UNITS_MAX,
  markAt,
  mayBecomeMark,
  type NumberRange,
  OPENINGS,
} from "./citation-marks.ts";
import { withoutInvisible } from "./prompt-markup.ts";

/** Maximum length of inline code, in UTF-16 code units. Inline code must also end on the line where it begins. */
const CODE_UNITS_MAX = 256;
/** Maximum number of blanks before a mark that are removed together with it. */
const BLANKS_MAX = 8;
/** Maximum number of backticks in a row. Longer runs count as several runs. */
const TICKS_MAX = 64;
const PLAIN = `[^${BLANKS}${OPENINGS}\\n\`]+`;
/** Maximum length of a line's beginning that is remembered for recognising code fences, in UTF-16 code units. */
const LINE_UNITS_MAX = 512;

/** Up to 64 words with blanks between them. Such text contains no mark, and no blanks that belong to one. */
const PLAIN_RUN = new RegExp(`${PLAIN}(?:[${BLANKS}]{1,${BLANKS_MAX}}${PLAIN}){0,63}`, "y");
const BLANK_RUN = new RegExp(`[${BLANKS}]+`, "y");
const TICKS = new RegExp(`\`{1,${TICKS_MAX}}`, "y");
const OPENS = new RegExp(`[${OPENINGS}]`, "y");
/**
 * An open bracket at the end of the output. A mark that is removed behind it must be replaced by a character; otherwise
 * the bracket and the text that follows could become a mark.
 */
const OPEN_BRACKET = new RegExp(`${BRACKET}${LIST_CHARACTERS}*$`, "u");
const ONLY_LIST_CHARACTERS = new RegExp(`^${LIST_CHARACTERS}*$`, "u");
/**
 * End of a text that may be followed by an index, as in `m[10]` or `rows[i][10]`. Only for scripts that put spaces
 * between words.
 */
const INDEXED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}_\])]$/u;
/** Replaces a mark that is removed within brackets. */
const REMOVED_MARK = "…";
/** A line that opens or closes a fenced code block, also within a list or a quotation. */
const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?<run>`{3,}(?=[^`]*$)|~{3,})(?<info>.*)$/s;
/** Text that needs no blank before it if the mark before it was removed. */
const CLOSES = /^[\s\p{Pe}\p{Pf}.,;:!?…、。，；：！？]/u;

/** Result of a step: how much input it consumes, and the output for it. */
interface Step {
  readonly read: number;
  readonly written: string;
}

/**
 * Turns a model's output into an answer's text, fragment by fragment. The result does not depend on how the output is
 * split into fragments. Text is passed on at once, except for backticks at its end, a possible beginning of a mark (at
 * most 256 characters) and the blanks before it. Linear in the text.
 *
 * - Marks become `[n]` with one number each, renumbered by first appearance: `[7, 2]` becomes `[1][2]`.
 * - A number without a source is removed with the blanks before it; within brackets, `…` replaces it. A number that
 *   repeats its neighbour is removed too.
 * - Numbers that look like coordinates or an index get round brackets: `[0, 1]` becomes `(0, 1)`. Without a source 10,
 *   `m[10]` becomes `m(10)`.
 * - Other brackets and all code (between backticks or in a fenced block) stay as they are.
 * - Invisible characters are removed (prompt-markup.ts).
 */
export class CitationRenumberer {
  readonly #sources: readonly RankedPassage[];
  /** Numbers in the answer, by the source that they cite. */
  readonly #numbers = new Map<RankedPassage, number>();
  /** Input that is not processed yet. */
  #pending = "";
  /** High surrogate at the end of the last fragment. */
  #half = "";
  /** Beginning of the current input line. */
  #line = "";
  /** Whether the current output line consists of blanks only. */
  #isLineBlank = true;
  /** Last characters of the output. */
  #outputEnd = "";
  /**
   * Length of the output since the last open bracket; null if no bracket is open, or if it is too far back to begin a
   * mark.
   */
  #openBracketUnits: number | null = null;
  /** Fence that opened the current code block; null if no block is open. */
  #fence: string | null = null;
  /** Number of backticks that opened what may be inline code; 0 if there are none. */
  #ticks = 0;
  /** Numbers of the marks that were written since the last other text. */
  #neighbours = new Set<number>();
  /** Blanks before the mark that was removed directly before the current position; null if there is no such mark. */
  #removedBlanks: string | null = null;

  /** @param sources the model's `[n]` is the n-th, from 1 */
  constructor(sources: readonly RankedPassage[]) {
    this.#sources = sources;
  }

  /** Sources cited so far: the answer's `[n]` is the n-th. */
  get cited(): readonly RankedPassage[] {
    return [...this.#numbers.keys()];
  }

  /** Processes a fragment. Returns the output that later fragments cannot change. */
  take(fragment: string): string {
    const text = this.#half + fragment;
    this.#half = /^[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(-1) : "";
    this.#pending += withoutInvisible(text.slice(0, text.length - this.#half.length).toWellFormed());
    return this.#advance(false);
  }

  /** Ends the input; returns the rest of the output. */
  end(): string {
    this.#pending += this.#half.toWellFormed();
    this.#half = "";
    return this.#advance(true);
  }

  #advance(isEnd: boolean): string {
    const text = this.#pending;
    const written: string[] = [];
    let at = 0;
    while (at < text.length) {
      const step = this.#fence === null ? this.#step(text, at, isEnd) : { read: lineEnd(text, at) - at, written: null };
      if (step === null) break;
      const read = text.slice(at, at + step.read);
      const output = step.written ?? read;
      written.push(output);
      this.#trackOpenBracket(output);
      this.#trackLine(read);
      at += step.read;
    }
    this.#pending = text.slice(at);
    return written.join("");
  }

  // Processes what begins at `at`: words, backticks, blanks or a mark. Returns null if more input is needed.
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
    const blanks = matchAt(BLANK_RUN, text, at);
    const mark = at + blanks.length;
    if (blanks.length > BLANKS_MAX) {
      const excess = blanks.slice(BLANKS_MAX);
      return { read: excess.length, written: this.#write(excess) };
    }
    if (mark === text.length && !isEnd) return null;
    if (matchAt(OPENS, text, mark) === "") return { read: blanks.length, written: this.#write(blanks) };
    const code = this.#codeUnits(text, blanks, mark, isEnd);
    if (code === null) return null;
    return code > 0
      ? { read: blanks.length + code, written: this.#write(blanks + text.slice(mark, mark + code)) }
      : this.#mark(text, blanks, mark, isEnd);
  }

  // Processes a character that may begin a mark. Returns null if more input is needed.
  #mark(text: string, blanks: string, at: number, isEnd: boolean): Step | null {
    const rest = text.slice(at, at + MARK_UNITS_MAX);
    const found = markAt(rest);
    if (found !== null) return { read: blanks.length + found.length, written: this.#cite(blanks, found) };
    const mayBegin = mayBecomeMark(rest);
    if (mayBegin && rest.length < MARK_UNITS_MAX && !isEnd) return null;
    const isTooLong = mayBegin && rest.length === MARK_UNITS_MAX;
    const [first = ""] = rest;
    return {
      read: blanks.length + 1,
      written: this.#write(blanks + (isTooLong && /[[［【]/.test(first) ? "(" : first)),
    };
  }

  // Returns the length of the inline code at `at`, which must end on this line and within `CODE_UNITS_MAX`; 0 if there
  // is no code, and null if more input is needed.
  #codeUnits(text: string, blanks: string, at: number, isEnd: boolean): number | null {
    if (this.#ticks === 0) return 0;
    const window = text.slice(at, at + CODE_UNITS_MAX);
    const line = window.slice(0, lineEnd(window, 0));
    const isWholeLine = line.endsWith("\n") || (isEnd && at + line.length === text.length);
    for (const { 0: run, index } of line.matchAll(/`+/g)) {
      const isWholeRun = index + run.length < line.length || isWholeLine;
      if (run.length === this.#ticks && isWholeRun) return index;
    }
    if (!isWholeLine && window.length < CODE_UNITS_MAX) return null;
    if (isWholeLine && fenceOf(this.#line + blanks + line) !== null) return line.trimEnd().length;
    this.#ticks = 0;
    return 0;
  }

  // Returns the output for a mark.
  #cite(blanks: string, { numbers: ranges, list }: CitationMark): string {
    if (areCoordinates(ranges)) return this.#inRoundBrackets(blanks, list);
    const before = this.#removedBlanks !== null && (blanks === "" || this.#isLineBlank) ? this.#removedBlanks : blanks;
    const passages = this.#passagesOf(ranges);
    if (passages.size === 0) {
      if (this.#openBracketUnits !== null) return this.#write(REMOVED_MARK);
      const isBehindText = blanks === "" && this.#removedBlanks === null && this.#neighbours.size === 0;
      if (isBehindText && INDEXED.test(this.#outputEnd)) return this.#inRoundBrackets(blanks, list);
      this.#removedBlanks = before;
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
      this.#removedBlanks = before;
      return "";
    }
    this.#removedBlanks = null;
    this.#isLineBlank = false;
    this.#outputEnd = "]";
    return before + numbers.join("");
  }

  // Writes numbers that are not sources in round brackets. A blank is added if the output ends with `]`, because
  // `[a](1)` would be a link.
  #inRoundBrackets(blanks: string, list: string): string {
    return this.#write(`${blanks === "" && this.#outputEnd.endsWith("]") ? " " : blanks}(${list})`);
  }

  #passagesOf(ranges: readonly NumberRange[]): ReadonlySet<RankedPassage> {
    const passages = new Set<RankedPassage>();
    for (const [first, last] of ranges) {
      // Math.max, because slice() counts negative numbers from the end.
      const range = this.#sources.slice(Math.max(0, first - 1), last);
      for (const passage of range) passages.add(passage);
    }
    return passages;
  }

  // Returns the output for text that is not a mark.
  #write(text: string): string {
    this.#outputEnd = text.slice(-2);
    const removedBlanks = this.#removedBlanks;
    const isBlank = text.trim() === "" && text !== "\n";
    this.#neighbours.clear();
    // If the mark at the beginning of a line was removed, the blanks behind it are removed too.
    if (removedBlanks !== null && isBlank && this.#isLineBlank) return "";
    this.#removedBlanks = null;
    if (!isBlank) this.#isLineBlank = text === "\n";
    return removedBlanks === null || CLOSES.test(text) ? text : removedBlanks + text;
  }

  #trackOpenBracket(output: string): void {
    const units = output.length - (OPEN_BRACKET.exec(output)?.index ?? output.length);
    if (units > 0) this.#openBracketUnits = units;
    else if (this.#openBracketUnits !== null)
      this.#openBracketUnits = ONLY_LIST_CHARACTERS.test(output) ? this.#openBracketUnits + output.length : null;
    if ((this.#openBracketUnits ?? 0) > MARK_UNITS_MAX) this.#openBracketUnits = null;
  }

  // Updates the current line, and the code block that it opens or closes.
  #trackLine(read: string): void {
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

/** End of the line at `at`, line break included. */
function lineEnd(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found === -1 ? text.length : found + 1;
}

function fenceOf(line: string): { readonly run: string; readonly info: string } | null {
  const groups = FENCE.exec(line.trimEnd())?.groups;
  return groups === undefined ? null : { run: groups.run ?? "", info: (groups.info ?? "").trim() };
}
