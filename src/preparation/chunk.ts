// Where a memory is cut: structure first, then sentences, packed to a token budget that the embedder can read.
// Ranges only; the texts that are made of them are the business of assemble.ts.

import type { Turn } from "../domain/chunk.ts";
import { cutBefore, splitsPair } from "../kit/text-cut.ts";
import { type Block, blocksOf, commonHeading, type Form, type Heading, headingTexts } from "./outline.ts";
import { sentencesOf, trimmed } from "./sentences.ts";

/** Tokens of a text by the embedder's tokeniser, without the specials around it. */
export type CountTokens = (text: string) => number;

/** Budget of a chunk in tokens, title, headings and specials included: what the embedder reads of a text. */
export const CHUNK_TOKENS = 256;
/** `[CLS]` and `[SEP]`. */
export const SPECIAL_TOKENS = 2;
/**
 * A chunk holds at most this many UTF-16 units per token of its budget, whatever the tokeniser says: prose has 4 to 5,
 * but a word that the tokeniser does not know counts as one token however long it is.
 */
export const UNITS_PER_TOKEN_MAX = 8;

/** Part of the budget that title and headings may take where a text has more than one chunk. */
const PREFIX_SHARE = 1 / 4;
/** A section below this part of the budget goes together with the next one: alone it says too little to be found. */
const SECTION_SHARE_MIN = 1 / 4;
/** A sentence beyond the budget is cut into parts of this share, so that they pack evenly. */
const PART_SHARE = 1 / 8;
/** How full such a part must be: searching for more costs counts and gains nothing. */
const FILL_MIN = 0.85;
/** Budgets of text looked ahead before a cut is made, so that what is left comes out even. */
const LOOKAHEAD_BUDGETS = 4;

/** What a chunk stands under. */
export interface Place {
  /** Headings of the section, outermost first; one that the passage begins with is among them. */
  readonly headings: readonly string[];
  /** Those of them that the passage does not hold itself, as `A. B. `; empty when there are none. */
  readonly prefix: string;
}

/** A chunk as a range of its content. */
export interface ChunkRange {
  /** `[start, end)` in UTF-16 units, without white space at both ends. */
  readonly start: number;
  readonly end: number;
  /** Of title, headings and passage together, specials included. */
  readonly tokens: number;
  /** Whether the title goes before it. */
  readonly hasTitle: boolean;
  /** The same object for chunks with the same place. */
  readonly place: Place;
  /** Present where it is a turn of a conversation: made by conversation/cut.ts, never here. */
  readonly turn?: Turn;
  /** What is shown of the chunk, where that is not the range itself: a turn that stands in JSON. */
  readonly made?: string;
}

/** All chunks of a text, and how the title reads before them. */
export interface Cut {
  /** As `Title. `. */
  readonly titlePrefix: string;
  readonly ranges: readonly ChunkRange[];
}

/** How to cut. */
export interface CutOptions {
  readonly form: Form;
  /** Goes before every chunk; one that was extracted is left out where the passage begins with it. */
  readonly title: { readonly text: string; readonly isGiven: boolean };
  readonly countTokens: CountTokens;
  /** Budget of a chunk, everything included; `CHUNK_TOKENS` unless something is being measured. */
  readonly tokensMax: number;
}

/**
 * Cuts a text into chunks of at most `tokensMax` tokens. Their ranges are in order and do not overlap; only white space
 * lies outside of them. A text that fits is one chunk; others are cut at sections, blocks, sentences, words, graphemes,
 * the first of these that will do, into chunks of about equal size. No chunk for a text that is only white space.
 * Linear in the text's length.
 */
export function cutChunks(content: string, options: CutOptions): Cut {
  const whole = trimmed(content, 0, content.length);
  if (whole.start === whole.end) return { titlePrefix: "", ranges: [] };
  return cutWhole(content, whole.start, whole.end, options) ?? new Cutter(content, options).cut();
}

/** The text as one chunk, with its title in full, or null when that exceeds the budget. */
function cutWhole(content: string, start: number, end: number, options: CutOptions): Cut | null {
  const { form, title, countTokens, tokensMax } = options;
  if (end - start > tokensMax * UNITS_PER_TOKEN_MAX) return null;
  const passage = content.slice(start, end);
  const titlePrefix = asSentence(title.text);
  const hasTitle = standsBefore(title, passage);
  const tokens = countTokens(passage) + (hasTitle ? countTokens(titlePrefix) : 0) + SPECIAL_TOKENS;
  if (tokens > tokensMax) return null;
  let above: Heading | null | undefined;
  for (const block of blocksOf(content, form))
    above = above === undefined ? block.under : commonHeading(above, block.under);
  const place = { headings: headingTexts(above ?? null), prefix: "" };
  return { titlePrefix, ranges: [{ start, end, tokens, hasTitle, place }] };
}

/** How much a cut before a piece costs, in budgets: the better it falls between two thoughts, the less. */
const CUT_COST = { section: 0, block: 0.05, sentence: 0.15, inside: 0.4 } as const;
/** A heading that ends a chunk stands apart from what it is about. */
const HEADING_LAST_COST = 0.5;

/** The smallest part that is packed: `[start, end)` without white space at both ends. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  /** What it takes of the budget: its tokens, more when they are suspiciously few for its length. */
  readonly weight: number;
  /** What begins with it. */
  readonly begins: keyof typeof CUT_COST;
  readonly under: Heading | null;
  readonly isHeading: boolean;
}

class Cutter {
  private readonly labels: Labels;
  private readonly ranges: ChunkRange[] = [];
  /** Pieces that are not yet in a chunk, from `first` on. */
  private run: Piece[] = [];
  private first = 0;
  private runWeight = 0;

  constructor(
    private readonly content: string,
    private readonly options: CutOptions,
  ) {
    this.labels = new Labels(options);
  }

  cut(): Cut {
    for (const piece of this.pieces()) {
      const budget = this.budgetUnder(this.run[this.first]?.under ?? piece.under);
      if (piece.begins === "section" && this.runWeight >= budget * SECTION_SHARE_MIN) this.drain();
      this.run.push(piece);
      this.runWeight += piece.weight;
      while (this.runWeight > budget * LOOKAHEAD_BUDGETS) this.emit();
    }
    this.drain();
    return { titlePrefix: this.labels.titlePrefix, ranges: this.ranges };
  }

  private *pieces(): Generator<Piece> {
    let last: Block["kind"] | null = null;
    for (const block of blocksOf(this.content, this.options.form)) {
      const isNextLine = block.kind === last && (last === "item" || last === "line");
      const begins = block.kind === "heading" ? "section" : isNextLine ? "sentence" : "block";
      let isFirst = true;
      for (const part of this.partsOf(block)) {
        yield isFirst ? { ...part, begins } : part;
        isFirst = false;
      }
      last = block.kind;
    }
  }

  private *partsOf(block: Block): Generator<Piece> {
    const budget = this.budgetUnder(block.under);
    switch (block.kind) {
      case "heading":
      case "line":
        yield* this.fitting(block.start, block.end, block, budget);
        break;
      case "code":
      case "table":
        if (this.mayFit(block.start, block.end, budget)) {
          const whole = this.piece(block.start, block.end, "sentence", block);
          if (whole.weight <= budget) {
            yield whole;
            break;
          }
        }
        for (let at = block.start; at < block.end; ) {
          const feed = this.content.indexOf("\n", at);
          const end = feed === -1 ? block.end : Math.min(feed, block.end);
          yield* this.fitting(at, end, block, budget);
          at = end + 1;
        }
        break;
      case "paragraph":
      case "item":
        for (const { start, end } of sentencesOf(this.content, block.start, block.end)) {
          yield* this.fitting(start, end, block, budget);
        }
    }
  }

  /** One sentence or line: whole where it fits, else in parts. */
  private *fitting(from: number, to: number, block: Block, budget: number): Generator<Piece> {
    const { start, end } = trimmed(this.content, from, to);
    if (start === end) return;
    if (this.mayFit(start, end, budget)) {
      const whole = this.piece(start, end, "sentence", block);
      if (whole.weight <= budget) {
        yield whole;
        return;
      }
    }
    for (let at = start; at < end; ) {
      const cut = fittingEnd(this.content, at, end, Math.max(1, budget * PART_SHARE), this.options.countTokens);
      const part = trimmed(this.content, at, cut);
      if (part.start < part.end) yield this.piece(part.start, part.end, at === start ? "sentence" : "inside", block);
      at = cut;
    }
  }

  private mayFit(start: number, end: number, budget: number): boolean {
    return end - start <= budget * UNITS_PER_TOKEN_MAX;
  }

  private piece(from: number, to: number, begins: Piece["begins"], block: Block): Piece {
    const { start, end } = trimmed(this.content, from, to);
    const tokens = this.options.countTokens(this.content.slice(start, end));
    const weight = weightOf(tokens, end - start);
    return { start, end, tokens, weight, begins, under: block.under, isHeading: block.kind === "heading" };
  }

  private budgetUnder(heading: Heading | null): number {
    return Math.max(1, this.options.tokensMax - SPECIAL_TOKENS - this.labels.reserve(heading));
  }

  private drain(): void {
    while (this.first < this.run.length) this.emit();
    this.run = [];
    this.first = 0;
  }

  /** Makes a chunk of the first pieces of the run: as many as leave what remains in chunks of about equal size. */
  private emit(): void {
    const head = this.run[this.first];
    if (head === undefined) return;
    const budget = this.budgetUnder(head.under);
    const target = this.runWeight / Math.ceil(this.runWeight / budget);
    let best = this.first + 1;
    let bestCost = Number.POSITIVE_INFINITY;
    let tokens = 0;
    for (let next = this.first + 1; next <= this.run.length; next++) {
      const piece = this.run[next - 1];
      if (piece === undefined) break;
      tokens += piece.tokens;
      const weight = weightOf(tokens, piece.end - head.start);
      if (weight > budget) break;
      const following = this.run[next];
      const cost =
        Math.abs(weight - target) / budget +
        (following === undefined ? 0 : CUT_COST[following.begins]) +
        (piece.isHeading && following !== undefined ? HEADING_LAST_COST : 0);
      if (cost <= bestCost) {
        best = next;
        bestCost = cost;
      }
    }
    this.ranges.push(this.chunkOf(this.run.slice(this.first, best)));
    for (; this.first < best; this.first++) this.runWeight -= this.run[this.first]?.weight ?? 0;
    // The pieces before `first` are done with; dropping them now and then keeps this linear.
    if (this.first > 1024 && this.first * 2 > this.run.length) {
      this.run = this.run.slice(this.first);
      this.first = 0;
    }
  }

  private chunkOf(pieces: readonly Piece[]): ChunkRange {
    const start = pieces[0]?.start ?? 0;
    const end = pieces.at(-1)?.end ?? start;
    let under = pieces[0]?.under ?? null;
    let tokens = 0;
    let lastEnd = -1;
    let isSum = true;
    for (const piece of pieces) {
      under = commonHeading(under, piece.under);
      tokens += piece.tokens;
      // Without white space between them, the tokeniser may read two pieces as one word.
      if (piece.start === lastEnd) isSum = false;
      lastEnd = piece.end;
    }
    if (!isSum) tokens = this.options.countTokens(this.content.slice(start, end));
    const { place, prefixTokens } = this.labels.placeOf(under, start);
    // The longest title is 1,024 characters; its beginning decides.
    const hasTitle = standsBefore(this.options.title, this.content.slice(start, Math.min(end, start + 2048)));
    const titleTokens = hasTitle ? this.labels.titleTokens : 0;
    return { start, end, tokens: tokens + prefixTokens + titleTokens + SPECIAL_TOKENS, hasTitle, place };
  }
}

/** Title and headings as they go before the passages, within their share of the budget. */
class Labels {
  readonly titlePrefix: string;
  readonly titleTokens: number;
  private readonly countTokens: CountTokens;
  private readonly tokensMax: number;
  private readonly title: string;
  /** By heading: tokens kept free in every chunk that begins under it. */
  private readonly reserves = new Map<Heading | null, number>();
  /** By innermost heading that goes before the passage, then by the heading that it stands under. */
  private readonly places = new Map<Heading | null, Map<Heading | null, { place: Place; prefixTokens: number }>>();

  constructor({ title, countTokens, tokensMax }: CutOptions) {
    this.countTokens = countTokens;
    this.tokensMax = Math.floor(tokensMax * PREFIX_SHARE);
    this.title = title.text.toLowerCase();
    this.titlePrefix = asSentence(shortened(title.text, this.tokensMax, countTokens));
    this.titleTokens = countTokens(this.titlePrefix);
  }

  /** The most that title and headings can take before a chunk that begins under `heading`. */
  reserve(heading: Heading | null): number {
    const known = this.reserves.get(heading);
    if (known !== undefined) return known;
    const own = this.titleTokens + this.countTokens(this.prefixOf(heading));
    const reserve = heading === null ? own : Math.max(own, this.reserve(heading.parent));
    this.reserves.set(heading, reserve);
    return reserve;
  }

  /** Where a chunk stands that lies wholly under `heading` and begins at `start`. */
  placeOf(heading: Heading | null, start: number): { place: Place; prefixTokens: number } {
    let shown = heading;
    while (shown !== null && shown.start >= start) shown = shown.parent;
    let byHeading = this.places.get(shown);
    if (byHeading === undefined) {
      byHeading = new Map();
      this.places.set(shown, byHeading);
    }
    let found = byHeading.get(heading);
    if (found === undefined) {
      const prefix = this.prefixOf(shown);
      found = { place: { headings: headingTexts(heading), prefix }, prefixTokens: this.countTokens(prefix) };
      byHeading.set(heading, found);
    }
    return found;
  }

  /** The innermost headings that fit beside the title; the last one is cut when it does not fit alone. */
  private prefixOf(heading: Heading | null): string {
    let left = this.tokensMax - this.titleTokens;
    let prefix = "";
    for (let node = heading; node !== null && left > 0; node = node.parent) {
      if (node.text === "" || node.text.toLowerCase() === this.title) continue;
      const text = asSentence(prefix === "" ? shortened(node.text, left, this.countTokens) : node.text);
      const tokens = this.countTokens(text);
      if (tokens > left) break;
      left -= tokens;
      prefix = text + prefix;
    }
    return prefix;
  }
}

/** Tokens or, for text that the tokeniser hardly counts, units by `UNITS_PER_TOKEN_MAX`. */
function weightOf(tokens: number, units: number): number {
  return Math.max(tokens, Math.ceil(units / UNITS_PER_TOKEN_MAX));
}

/**
 * An end in `(start, end]` so that the text before it weighs at most `weightMax`, at a good place to cut; one code point
 * where even that weighs more. Cost: about three counts of at most `weightMax * UNITS_PER_TOKEN_MAX` units, never more
 * than a dozen.
 */
function fittingEnd(content: string, start: number, end: number, weightMax: number, countTokens: CountTokens): number {
  let high = Math.min(end, start + Math.max(1, Math.floor(weightMax * UNITS_PER_TOKEN_MAX)));
  let tokens = countTokens(content.slice(start, high));
  if (tokens > weightMax) {
    // Tokens are about evenly spread, so the first guess is nearly right; halving is for texts that are made otherwise.
    let low = start;
    let lowTokens = 0;
    let guess = start + Math.floor(((high - start) * weightMax) / tokens);
    while (high - low > 1 && lowTokens < weightMax * FILL_MIN) {
      const middle = Math.min(high - 1, Math.max(low + 1, guess));
      tokens = countTokens(content.slice(start, middle));
      if (tokens <= weightMax) [low, lowTokens] = [middle, tokens];
      else high = middle;
      guess = (low + high) >> 1;
    }
    high = Math.max(low, start + 1);
  }
  if (high === end) return end;
  if (splitsPair(content, high)) high = high - 1 > start ? high - 1 : high + 1;
  return cutBefore(content, start, high);
}

/** A text cut to `tokensMax` tokens at a word, with `…` behind it; unchanged where it fits. */
function shortened(text: string, tokensMax: number, countTokens: CountTokens): string {
  // What asSentence adds is one token.
  if (countTokens(text) < tokensMax) return text;
  const end = fittingEnd(text, 0, text.length, Math.max(1, tokensMax - 1), countTokens);
  return end === text.length ? text : `${text.slice(0, end).trimEnd()}…`;
}

/** A label as a sentence of its own, a space behind it; empty for a blank one. */
function asSentence(label: string): string {
  const text = label.trim();
  if (text === "") return "";
  return /[.!?…:;。！？।]$/u.test(text) ? `${text} ` : `${text}. `;
}

/** Whether the title says something that the passage does not begin with. */
function standsBefore(title: CutOptions["title"], passage: string): boolean {
  if (title.text.trim() === "") return false;
  if (title.isGiven) return true;
  return !lettersOf(passage.slice(0, 512)).startsWith(lettersOf(title.text).slice(0, 64));
}

/** Letters and digits alone, in lower case: what is left when markup, quotes and line breaks are not looked at. */
function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
}
