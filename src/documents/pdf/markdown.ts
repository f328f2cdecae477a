// Writes the blocks of a PDF as Markdown, and rejoins paragraphs and words that pages, columns and lines have split.

import type { PlaceMark } from "../document.ts";
import { type Block, endsSentence, isContentsEntry, type Line, type TextBlock } from "./blocks.ts";
import type { LevelOf } from "./headings.ts";

/** The text, and the positions where its pages begin. */
export interface MarkdownText {
  readonly pieces: readonly string[];
  readonly marks: readonly PlaceMark[];
}

/** Approximate length of a piece in UTF-16 code units. */
const PIECE_UNITS = 65_536;
/** Maximum number of blocks, such as footnotes, figures and tables, between two parts of the same paragraph. */
const BETWEEN_MAX = 16;
/** Maximum length of a label in a figure, in characters. */
const LABEL_CHARACTERS_MAX = 40;
/** Maximum font size of footnotes and captions, relative to the text. */
const SMALLER = 0.95;
/** Maximum number of words that are kept to decide whether a hyphen belongs to a word or to a line break. */
const WORDS_MAX = 200_000;
const CAPTION = /^(?:fig(?:ure|\.)?|table|tab\.|abb(?:ildung|\.)?|tabelle|listing|algorithm)\s*\d/i;

/** Writes the blocks of a document, in reading order. */
export function writeMarkdown(blocks: readonly Block[], levelOf: LevelOf): MarkdownText {
  const writer = new Writer(wordsOf(blocks));
  for (const block of joined(blocks, levelOf)) {
    if (block.kind === "table") writer.table(block.lines, block.page);
    else writer.text(block, levelOf(block));
  }
  return writer.written();
}

/**
 * Joins the parts of paragraphs that continue in another column or on the next page, even if other blocks are between
 * the parts.
 */
function joined(blocks: readonly Block[], levelOf: LevelOf): readonly Block[] {
  const result: Block[] = [];
  const taken = new Set<Block>();
  for (const [at, block] of blocks.entries()) {
    if (taken.has(block)) continue;
    if (block.kind === "table" || levelOf(block) !== null) {
      result.push(block);
      continue;
    }
    let whole = block;
    let from = at;
    for (let next = continuationOf(whole, blocks, from, levelOf); next !== null; ) {
      const part = blocks[next];
      if (part?.kind !== "text" || taken.has(part)) break;
      taken.add(part);
      whole = { ...part, marker: whole.marker, lines: [...whole.lines, ...part.lines], isIndented: whole.isIndented };
      from = next;
      next = continuationOf(whole, blocks, from, levelOf);
    }
    result.push(whole);
  }
  return result;
}

/** Index of the block that continues a paragraph; null if the paragraph is complete. */
function continuationOf(block: TextBlock, blocks: readonly Block[], at: number, levelOf: LevelOf): number | null {
  if (block.isBoxed === true) return null;
  const end = block.lines.at(-1)?.text ?? "";
  const isHyphenated = /\p{L}[-\u00ad]$/u.test(end);
  if (endsSentence(end) || isContentsEntry(end) || !(block.isFull || isHyphenated || /[\p{Ll},;]$/u.test(end)))
    return null;
  for (let next = at + 1; next <= Math.min(at + BETWEEN_MAX, blocks.length - 1); next++) {
    const candidate = blocks[next];
    if (candidate === undefined || candidate.page > block.page + 1) return null;
    if (candidate.kind === "table" || candidate.isAside || candidate.isBoxed === true) continue;
    const start = candidate.lines[0]?.text ?? "";
    if (candidate.size < SMALLER * block.size || CAPTION.test(start)) continue;
    const isLike = candidate.size * SMALLER <= block.size && candidate.marker === null && levelOf(candidate) === null;
    if (!isLike || candidate.region === block.region) return null;
    if (/^["'“(]?\p{Ll}/u.test(start)) return next;
    const isLabel = candidate.lines.length === 1 && start.length < LABEL_CHARACTERS_MAX;
    if (isHyphenated || isLabel) continue;
    return block.isFull && !candidate.isIndented && /^["'“(]?[\p{L}\p{N}]/u.test(start) ? next : null;
  }
  return null;
}

class Writer {
  private readonly pieces: string[] = [];
  private readonly marks: PlaceMark[] = [];
  private buffer = "";
  private length = 0;
  private page = 0;
  private isAfterItem = false;

  constructor(private readonly words: ReadonlySet<string>) {}

  text(block: TextBlock, level: number | null): void {
    const lines = block.lines.filter(({ text }) => text !== "");
    if (lines.length === 0) return;
    const isItem = level === null && block.marker !== null;
    this.begin(isItem);
    this.turnTo(lines[0]?.page ?? block.page);
    if (level !== null) this.put(`${"#".repeat(level)} ${numbered(block.marker)}`);
    else if (block.marker !== null) this.put(`${block.marker} `);
    let isLineStart = level === null && !isItem;
    for (const [at, line] of lines.entries()) {
      this.turnTo(line.page);
      const below = lines[at + 1];
      // a heading is written on one line
      const { text, space } = this.endOf(line, below, level !== null);
      this.put((isLineStart ? escaped(text) : text) + space);
      isLineStart = space === "\n";
    }
  }

  table(lines: readonly string[], page: number): void {
    this.begin(false);
    this.turnTo(page);
    this.put(lines.map(escaped).join("\n"));
  }

  written(): MarkdownText {
    if (this.buffer !== "") this.pieces.push(this.buffer);
    this.buffer = "";
    return { pieces: this.pieces, marks: this.marks };
  }

  private begin(isItem: boolean): void {
    if (this.length > 0) this.put(isItem && this.isAfterItem ? "\n" : "\n\n");
    this.isAfterItem = isItem;
  }

  private turnTo(page: number): void {
    if (page === this.page) return;
    this.page = page;
    this.marks.push({ at: this.length, page });
  }

  private put(text: string): void {
    this.buffer += text;
    this.length += text.length;
    if (this.buffer.length < PIECE_UNITS) return;
    this.pieces.push(this.buffer);
    this.buffer = "";
  }

  /** The text of a line, and the separator before the next one. */
  private endOf(line: Line, below: Line | undefined, isHeading: boolean): { text: string; space: string } {
    const text = line.text.replace(/\u00ad(?!$)/g, "");
    if (below === undefined) return { text: text.replace(/\u00ad$/, ""), space: "" };
    if (text.endsWith("\u00ad")) return { text: text.slice(0, -1), space: "" };
    const head = /[\p{L}\p{M}\p{N}-]*[\p{L}\p{N}](?=-$)/u.exec(text)?.[0];
    const tail = /^[\p{L}\p{N}][\p{L}\p{M}]*/u.exec(below.text)?.[0];
    if (head !== undefined && tail !== undefined && !SUSPENDED_BEFORE.test(tail)) {
      return { text: this.isWordHyphen(head, tail) ? text : text.slice(0, -1), space: "" };
    }
    if (line.isBroken && !isHeading) return { text, space: "\n" };
    const isUnspaced = UNSPACED_END.test(text) && UNSPACED_START.test(below.text);
    return { text, space: isUnspaced ? "" : " " };
  }

  /**
   * Whether a hyphen belongs to the word. A hyphen that was added by a line break precedes a lower-case letter. It is
   * removed if the word occurs elsewhere without it, or if its parts do not occur as words.
   */
  private isWordHyphen(head: string, tail: string): boolean {
    if (this.has(`${head}-${tail}`)) return true;
    if (this.has(head + tail)) return false;
    return (
      !/^\p{Ll}/u.test(tail) ||
      /\p{N}$/u.test(head) ||
      (Math.min(head.length, tail.length) > 2 && this.has(head) && this.has(tail))
    );
  }

  private has(word: string): boolean {
    return this.words.has(word.toLowerCase());
  }
}

/** Chinese and Japanese are written without spaces. */
const UNSPACED_END = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}、。，．・：；！？」』）】]$/u;
const UNSPACED_START = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}、。，．・「『（【]/u;

/** Matches words that follow a suspended hyphen, as in "pre- and post-war". */
const SUSPENDED_BEFORE = /^(?:and|or|to|und|oder|bis|et|ou|y|o|e|en|of)$/;

function numbered(marker: string | null): string {
  return marker === null || marker === "-" ? "" : `${marker} `;
}

/** Escapes a line that Markdown would read as a heading, code fence or table. */
function escaped(text: string): string {
  return text.replace(/^(?=#{1,6}(?:\s|$)|```|~~~|\|)/, "\\");
}

/**
 * The words of the text, and the parts of words with hyphens, in lower case. Words that a line break splits are left
 * out.
 */
function wordsOf(blocks: readonly Block[]): ReadonlySet<string> {
  const words = new Set<string>();
  for (const block of blocks) {
    if (block.kind === "table") continue;
    for (const { text } of block.lines) {
      if (words.size >= WORDS_MAX) return words;
      for (const compound of text.toLowerCase().match(/[\p{L}\p{M}-]+/gu) ?? []) {
        const parts = compound.split("-");
        if (parts.length > 1 && !compound.endsWith("-")) words.add(compound);
        for (const part of parts.slice(0, compound.endsWith("-") ? -2 : undefined)) words.add(part);
      }
    }
  }
  return words;
}
