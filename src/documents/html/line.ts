// A run of text between two borders of blocks, with white space as a browser shows it. What the text is part of is flow.ts's question.

/** Takes no room and says nothing: soft hyphens, zero-width spaces, joiners of words, marks of direction. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
/** Pieces of the text that are looked at again: a mark of a footnote has one or two. */
const MARKED_PIECES_MAX = 4;

/** Collects a text: blanks (no-break spaces too) count once, and not at the ends of its lines. */
export class Line {
  #parts: string[] = [];
  #hasBlank = false;
  #atStart = true;

  /** Whether there is anything to see. */
  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** The last character; empty at the start of a line. */
  get last(): string {
    return this.#hasBlank ? " " : this.#atStart ? "" : (this.#parts.at(-1)?.at(-1) ?? "");
  }

  /** @returns whether there was anything to see */
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

  /** What follows stands apart from what is there. */
  blank(): void {
    if (!this.#atStart) this.#hasBlank = true;
  }

  /** What follows begins a line. */
  break(): void {
    if (this.#parts.length > 0) this.#parts.push("\n");
    this.#atStart = true;
    this.#hasBlank = false;
  }

  /** A place to which `cutFrom` goes back. */
  get mark(): number {
    return this.#parts.length;
  }

  /** What was added since a mark, if that is little; null: it is more, or nothing. */
  since(mark: number): string | null {
    const pieces = this.#parts.length - mark;
    return pieces > 0 && pieces <= MARKED_PIECES_MAX ? this.#parts.slice(mark).join("") : null;
  }

  /** Takes away what was added since a mark. */
  cutFrom(mark: number): void {
    this.#parts.length = Math.min(this.#parts.length, mark);
    this.#hasBlank = false;
    this.#atStart = mark === 0 || this.#parts.at(-1) === "\n";
  }

  /** The text, and an empty line from now on. */
  take(): string {
    const text = this.#parts.join("");
    this.#parts = [];
    this.#hasBlank = false;
    this.#atStart = true;
    return text;
  }
}

/** Text as it is laid out: without what is invisible, without blanks at the ends of lines, without empty lines around it. */
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

/** A fenced block of code; its fence is longer than any in it. @param language empty: unknown */
export function fenced(code: string, language: string): string {
  let longest = 2;
  for (const [run] of code.matchAll(/^[ \t]*`{3,}/gm)) longest = Math.max(longest, run.trimStart().length);
  // outline.ts knows fences of up to 16 signs
  const fence = longest < 16 ? "`".repeat(longest + 1) : "~~~";
  return `${fence}${language}\n${code}\n${fence}`;
}
