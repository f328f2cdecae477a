// Collects a run of inline text and collapses white space as a browser does. flow.ts decides which block the text
// belongs to.

/** Invisible characters: soft hyphens, zero-width spaces, word joiners, direction marks. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
/**
 * Maximum number of parts of a text that `since` returns. It is used for footnote marks, which consist of one or two
 * parts.
 */
const MARKED_PIECES_MAX = 4;
/** Number of parts that `before` returns. */
const BEFORE_PIECES_MAX = 4;

/** Collects text. Collapses white space, including no-break spaces, and removes it at the ends of lines. */
export class Line {
  #parts: string[] = [];
  #hasBlank = false;
  #atStart = true;

  /** Whether the line has no visible text. */
  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** The last character; empty at the start of a line. */
  get last(): string {
    return this.#hasBlank ? " " : this.#atStart ? "" : (this.#parts.at(-1)?.at(-1) ?? "");
  }

  /** @returns whether the text has visible characters */
  add(text: string): boolean {
    const shown = text.replace(INVISIBLE, "").replace(/\s+/g, " ");
    const from = shown.startsWith(" ") ? 1 : 0;
    if (from === 1) this.blank();
    if (shown.length === from) return false;
    const isBlankBehind = shown.endsWith(" ");
    const words = shown.slice(from, isBlankBehind ? -1 : undefined);
    this.#parts.push(this.#hasBlank ? ` ${words}` : words);
    this.#hasBlank = isBlankBehind;
    this.#atStart = false;
    return true;
  }

  /** Puts a space before the text that follows. */
  blank(): void {
    if (!this.#atStart) this.#hasBlank = true;
  }

  /** Begins a new line. */
  break(): void {
    if (this.#parts.length > 0) this.#parts.push("\n");
    this.#atStart = true;
    this.#hasBlank = false;
  }

  /** The current position, for `since` and `cutFrom`. */
  get mark(): number {
    return this.#parts.length;
  }

  /** The text since a mark; null if there is none, or if it was added in more than `MARKED_PIECES_MAX` parts. */
  since(mark: number): string | null {
    const pieces = this.#parts.length - mark;
    return pieces > 0 && pieces <= MARKED_PIECES_MAX ? this.#parts.slice(mark).join("") : null;
  }

  /** The last `BEFORE_PIECES_MAX` parts of the text before a mark. */
  before(mark: number): string {
    return this.#parts.slice(Math.max(0, mark - BEFORE_PIECES_MAX), mark).join("");
  }

  /** Removes the text since a mark. */
  cutFrom(mark: number): void {
    this.#parts.length = Math.min(this.#parts.length, mark);
    this.#hasBlank = false;
    this.#atStart = mark === 0 || this.#parts.at(-1) === "\n";
  }

  /** Returns the text and clears the line. */
  take(): string {
    const text = this.#parts.join("");
    this.#parts = [];
    this.#hasBlank = false;
    this.#atStart = true;
    return text;
  }
}

/**
 * Cleans preformatted text: removes invisible characters, white space at the ends of lines, and empty lines at the
 * beginning and end.
 */
export function preformatted(text: string): string {
  const lines = text
    .toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replace(INVISIBLE, "")
    .replaceAll("\u00a0", " ")
    .replace(/(?![\t\n])\p{Cc}|[\ufffe\uffff]/gu, "")
    .split("\n")
    .map((line) => line.trimEnd());
  const first = lines.findIndex((line) => line !== "");
  if (first === -1) return "";
  return lines.slice(first, lines.findLastIndex((line) => line !== "") + 1).join("\n");
}

/** A fenced code block. Its fence is longer than every fence inside the code. @param language empty if unknown */
export function fenced(code: string, language: string): string {
  let longest = 2;
  for (const [run] of code.matchAll(/^[ \t]*`{3,}/gm)) longest = Math.max(longest, run.trimStart().length);
  // preparation/outline.ts recognises fences of up to 16 characters
  const fence = longest < 16 ? "`".repeat(longest + 1) : "~~~";
  return `${fence}${language}\n${code}\n${fence}`;
}
