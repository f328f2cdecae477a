// Cuts a text into chunk ranges: first at its structure, then at sentences, packed to a token budget that the embedder
// can read. Only ranges are computed here; assemble.ts turns them into chunks and texts.

import { needsTitle, type Turn } from "../domain/chunk.ts";
import { splitsPair } from "../kit/surrogates.ts";
import { cutBefore } from "../kit/text-cut.ts";
import { type Block, blocksOf, commonHeading, type Form, type Heading, headingTexts } from "./outline.ts";
import { sentencesOf, trimmed } from "./sentences.ts";

/** Counts the tokens of a text with the embedder's tokeniser, without the special tokens around it. */
export type CountTokens = (text: string) => number;

/** Number of special tokens that the model adds to each text: `[CLS]` and `[SEP]`. */
export const SPECIAL_TOKENS = 2;
/**
 * Maximum number of UTF-16 code units of text per token of the budget, whatever the tokeniser counts. Prose has 4 to 5
 * code units per token, but a word that the tokeniser does not know counts as one token however long it is.
 */
export const UNITS_PER_TOKEN_MAX = 8;

/** Maximum share of the budget that title and headings may use if a text has more than one chunk. */
const PREFIX_SHARE = 1 / 4;
/**
 * A section smaller than this share of the budget shares a chunk with the next one: alone it has too few words to be
 * found.
 */
const SECTION_SHARE_MIN = 1 / 4;
/** A sentence larger than the budget is cut into parts of this share of the budget, so that they pack evenly. */
const PART_SHARE = 1 / 8;
/**
 * Minimum size of such a part, as a share of its maximum size. Finding a larger part would need more token counts and
 * gain nothing.
 */
const FILL_MIN = 0.85;
/**
 * Amount of text, in chunk budgets, that is read ahead before a cut is chosen, so that the remaining text divides
 * evenly.
 */
const LOOKAHEAD_BUDGETS = 4;

/** The section that a chunk belongs to. */
export interface ChunkSection {
  /**
   * Headings above the section, outermost first. If the passage itself begins with a heading, that heading is included.
   */
  readonly headings: readonly string[];
  /** The headings that the passage itself does not contain, written as `A. B. `; empty if there are none. */
  readonly prefix: string;
}

/** A chunk as a range of the content. */
export interface ChunkRange {
  /** `[start, end)` in UTF-16 code units, without white space at both ends. */
  readonly start: number;
  readonly end: number;
  /** Number of tokens of title, headings and passage together, including special tokens. */
  readonly tokens: number;
  /** Whether the title is put before the passage. */
  readonly hasTitle: boolean;
  /** Chunks of the same section share one object. */
  readonly section: ChunkSection;
  /** Present for a turn of a conversation. Only conversation/cut.ts sets it. */
  readonly turn?: Turn;
  /** The passage, if it differs from the text of the range: for example for a turn that is written as JSON. */
  readonly passage?: string;
}

/** The chunk ranges of a text, and the title in the form that is put before the passages. */
export interface Cut {
  /** The title as `Title. `. */
  readonly titlePrefix: string;
  readonly ranges: readonly ChunkRange[];
}

/** Options of `cutChunks`. */
export interface CutOptions {
  readonly form: Form;
  /** Title that is put before every chunk. An extracted title is left out where the passage begins with it. */
  readonly title: { readonly text: string; readonly isGiven: boolean };
  readonly countTokens: CountTokens;
  /** Token budget of a chunk, including title, headings and special tokens. */
  readonly tokensMax: number;
}

/**
 * Cuts a text into chunks of at most `tokensMax` tokens. The ranges are in order and do not overlap; only white space
 * lies outside them. A text that fits is one chunk. Other texts are cut into chunks of about equal size: between
 * sections if possible, else between blocks, sentences, words or graphemes. A text of white space has no chunk. Takes
 * time linear in the length of the text.
 */
export function cutChunks(content: string, options: CutOptions): Cut {
  const whole = trimmed(content, 0, content.length);
  if (whole.start === whole.end) return { titlePrefix: "", ranges: [] };
  return cutWhole(content, whole.start, whole.end, options) ?? new Cutter(content, options).cut();
}

/** The whole text as one chunk with the full title; null if they exceed the budget together. */
function cutWhole(content: string, start: number, end: number, options: CutOptions): Cut | null {
  const { form, title, countTokens, tokensMax } = options;
  if (end - start > tokensMax * UNITS_PER_TOKEN_MAX) return null;
  const passage = content.slice(start, end);
  const titlePrefix = asSentence(title.text);
  const hasTitle = needsTitle(title, passage);
  const tokens = countTokens(passage) + (hasTitle ? countTokens(titlePrefix) : 0) + SPECIAL_TOKENS;
  if (tokens > tokensMax) return null;
  let shared: Heading | null | undefined;
  for (const block of blocksOf(content, form))
    shared = shared === undefined ? block.under : commonHeading(shared, block.under);
  const section = { headings: headingTexts(shared ?? null), prefix: "" };
  return { titlePrefix, ranges: [{ start, end, tokens, hasTitle, section }] };
}

/**
 * Cost of a cut before a piece, as a multiple of the chunk budget. A cut between two sections costs nothing; a cut
 * inside a sentence costs the most.
 */
const CUT_COST = { section: 0, block: 0.05, sentence: 0.15, inside: 0.4 } as const;
/**
 * Cost of a chunk that ends with a heading, as a multiple of the chunk budget: the heading would be separated from its
 * section.
 */
const HEADING_LAST_COST = 0.5;

/** A piece of text that is not divided when chunks are packed: `[start, end)`, without white space at both ends. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  /**
   * Number of tokens that the piece uses of the budget: its token count, or more if the count is implausibly low for
   * its length.
   */
  readonly weight: number;
  /**
   * The largest unit of text (section, block or sentence) that begins with this piece; `inside` if the piece begins
   * inside a sentence.
   */
  readonly begins: keyof typeof CUT_COST;
  readonly under: Heading | null;
  readonly isHeading: boolean;
}

class Cutter {
  private readonly prefixes: Prefixes;
  private readonly ranges: ChunkRange[] = [];
  /** From index `first` on, the pieces that are not in a chunk yet. */
  private pending: Piece[] = [];
  private first = 0;
  private pendingWeight = 0;

  constructor(
    private readonly content: string,
    private readonly options: CutOptions,
  ) {
    this.prefixes = new Prefixes(options);
  }

  cut(): Cut {
    for (const piece of this.pieces()) {
      const budget = this.budgetUnder(this.pending[this.first]?.under ?? piece.under);
      if (piece.begins === "section" && this.pendingWeight >= budget * SECTION_SHARE_MIN) this.emitAll();
      this.pending.push(piece);
      this.pendingWeight += piece.weight;
      while (this.pendingWeight > budget * LOOKAHEAD_BUDGETS) this.emitChunk();
    }
    this.emitAll();
    return { titlePrefix: this.prefixes.titlePrefix, ranges: this.ranges };
  }

  private *pieces(): Generator<Piece> {
    let last: Block["kind"] | null = null;
    for (const block of blocksOf(this.content, this.options.form)) {
      const isNextLine = block.kind === last && (last === "item" || last === "line");
      const isSection = block.kind === "heading" || block.isTopLevel === true;
      const begins = isSection ? "section" : isNextLine ? "sentence" : "block";
      let isFirst = true;
      for (const part of this.piecesOf(block)) {
        yield isFirst ? { ...part, begins } : part;
        isFirst = false;
      }
      last = block.kind;
    }
  }

  private *piecesOf(block: Block): Generator<Piece> {
    const budget = this.budgetUnder(block.under);
    switch (block.kind) {
      case "heading":
      case "line":
        yield* this.fittingPieces(block.start, block.end, block, budget);
        break;
      case "code":
      case "table": {
        const whole = this.wholePiece(block.start, block.end, block, budget);
        if (whole !== null) {
          yield whole;
          break;
        }
        for (let at = block.start; at < block.end; ) {
          const feed = this.content.indexOf("\n", at);
          const end = feed === -1 ? block.end : Math.min(feed, block.end);
          yield* this.fittingPieces(at, end, block, budget);
          at = end + 1;
        }
        break;
      }
      case "paragraph":
      case "item":
        for (const { start, end } of sentencesOf(this.content, block.start, block.end)) {
          yield* this.fittingPieces(start, end, block, budget);
        }
    }
  }

  /** Yields one sentence or line: as one piece if it fits the budget, else in parts. */
  private *fittingPieces(from: number, to: number, block: Block, budget: number): Generator<Piece> {
    const { start, end } = trimmed(this.content, from, to);
    if (start === end) return;
    const whole = this.wholePiece(start, end, block, budget);
    if (whole !== null) {
      yield whole;
      return;
    }
    for (let at = start; at < end; ) {
      const cut = fittingEnd(this.content, at, end, Math.max(1, budget * PART_SHARE), this.options.countTokens);
      const part = trimmed(this.content, at, cut);
      if (part.start < part.end) yield this.piece(part.start, part.end, at === start ? "sentence" : "inside", block);
      at = cut;
    }
  }

  /** A range as one piece; null if it exceeds the budget. */
  private wholePiece(start: number, end: number, block: Block, budget: number): Piece | null {
    if (end - start > budget * UNITS_PER_TOKEN_MAX) return null;
    const piece = this.piece(start, end, "sentence", block);
    return piece.weight <= budget ? piece : null;
  }

  private piece(from: number, to: number, begins: Piece["begins"], block: Block): Piece {
    const { start, end } = trimmed(this.content, from, to);
    const tokens = this.options.countTokens(this.content.slice(start, end));
    const weight = weightOf(tokens, end - start);
    return { start, end, tokens, weight, begins, under: block.under, isHeading: block.kind === "heading" };
  }

  private budgetUnder(heading: Heading | null): number {
    return Math.max(1, this.options.tokensMax - SPECIAL_TOKENS - this.prefixes.tokensMaxUnder(heading));
  }

  private emitAll(): void {
    while (this.first < this.pending.length) this.emitChunk();
    this.pending = [];
    this.first = 0;
  }

  /**
   * Makes a chunk of the first pending pieces. Their number is chosen so that the rest divides into chunks of about
   * equal size.
   */
  private emitChunk(): void {
    const head = this.pending[this.first];
    if (head === undefined) return;
    const next = this.bestEnd(head);
    this.ranges.push(this.chunkOf(this.pending.slice(this.first, next)));
    for (; this.first < next; this.first++) this.pendingWeight -= this.pending[this.first]?.weight ?? 0;
    // Pieces before `first` are no longer needed. Dropping them only now and then keeps the cost linear.
    if (this.first > 1024 && this.first * 2 > this.pending.length) {
      this.pending = this.pending.slice(this.first);
      this.first = 0;
    }
  }

  /**
   * Index after the last piece of the next chunk, which begins with `head`. Chosen so that the cut there has the lowest
   * cost.
   */
  private bestEnd(head: Piece): number {
    const budget = this.budgetUnder(head.under);
    const target = this.pendingWeight / Math.ceil(this.pendingWeight / budget);
    let best = this.first + 1;
    let bestCost = Number.POSITIVE_INFINITY;
    let tokens = 0;
    for (let next = this.first + 1; next <= this.pending.length; next++) {
      const piece = this.pending[next - 1];
      if (piece === undefined) break;
      tokens += piece.tokens;
      const weight = weightOf(tokens, piece.end - head.start);
      if (weight > budget) break;
      const following = this.pending[next];
      const cost =
        Math.abs(weight - target) / budget +
        (following === undefined ? 0 : CUT_COST[following.begins]) +
        (piece.isHeading && following !== undefined ? HEADING_LAST_COST : 0);
      if (cost <= bestCost) {
        best = next;
        bestCost = cost;
      }
    }
    return best;
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
      // Two pieces without white space between them may be one word for the tokeniser.
      if (piece.start === lastEnd) isSum = false;
      lastEnd = piece.end;
    }
    if (!isSum) tokens = this.options.countTokens(this.content.slice(start, end));
    const { section, prefixTokens } = this.prefixes.sectionOf(under, start);
    // `needsTitle` reads only the beginning of the passage. The longest title has 1,024 characters.
    const hasTitle = needsTitle(this.options.title, this.content.slice(start, Math.min(end, start + 2048)));
    const titleTokens = hasTitle ? this.prefixes.titleTokens : 0;
    return { start, end, tokens: tokens + prefixTokens + titleTokens + SPECIAL_TOKENS, hasTitle, section };
  }
}

/** Writes title and headings as they are put before passages, within their share of the budget. */
class Prefixes {
  readonly titlePrefix: string;
  readonly titleTokens: number;
  private readonly countTokens: CountTokens;
  private readonly tokensMax: number;
  private readonly title: string;
  /** Key: heading. Value: number of tokens reserved for the prefix of every chunk that begins under the heading. */
  private readonly reserved = new Map<Heading | null, number>();
  /** Key: innermost heading of the prefix. Value: the sections by the innermost heading of the chunk. */
  private readonly sections = new Map<Heading | null, Map<Heading | null, PrefixedSection>>();

  constructor({ title, countTokens, tokensMax }: CutOptions) {
    this.countTokens = countTokens;
    this.tokensMax = Math.floor(tokensMax * PREFIX_SHARE);
    this.title = title.text.toLowerCase();
    this.titlePrefix = asSentence(shortened(title.text, this.tokensMax, countTokens));
    this.titleTokens = countTokens(this.titlePrefix);
  }

  /** Maximum number of tokens of title and headings before a chunk that begins under `heading`. */
  tokensMaxUnder(heading: Heading | null): number {
    const known = this.reserved.get(heading);
    if (known !== undefined) return known;
    const own = this.titleTokens + this.countTokens(this.prefixOf(heading));
    const tokensMax = heading === null ? own : Math.max(own, this.tokensMaxUnder(heading.parent));
    this.reserved.set(heading, tokensMax);
    return tokensMax;
  }

  /** The section of a chunk that begins at `start` and lies completely under `heading`. */
  sectionOf(heading: Heading | null, start: number): PrefixedSection {
    let before = heading;
    while (before !== null && before.start >= start) before = before.parent;
    let byHeading = this.sections.get(before);
    if (byHeading === undefined) {
      byHeading = new Map();
      this.sections.set(before, byHeading);
    }
    let found = byHeading.get(heading);
    if (found === undefined) {
      const prefix = this.prefixOf(before);
      found = { section: { headings: headingTexts(heading), prefix }, prefixTokens: this.countTokens(prefix) };
      byHeading.set(heading, found);
    }
    return found;
  }

  /**
   * The innermost headings that fit into the budget of the prefix together with the title. The innermost heading is
   * shortened if it alone does not fit.
   */
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

interface PrefixedSection {
  readonly section: ChunkSection;
  readonly prefixTokens: number;
}

/** The token count, but at least one token per `UNITS_PER_TOKEN_MAX` UTF-16 code units. */
function weightOf(tokens: number, units: number): number {
  return Math.max(tokens, Math.ceil(units / UNITS_PER_TOKEN_MAX));
}

/**
 * A good position for a cut in `(start, end]`, such that the weight of the text from `start` to it is at most
 * `weightMax`. If the first code point alone exceeds this weight, the position after it. Usually calls the tokeniser
 * about three times, never more than twelve times, each time with at most `weightMax * UNITS_PER_TOKEN_MAX` code units.
 */
function fittingEnd(content: string, start: number, end: number, weightMax: number, countTokens: CountTokens): number {
  let high = Math.min(end, start + Math.max(1, Math.floor(weightMax * UNITS_PER_TOKEN_MAX)));
  let tokens = countTokens(content.slice(start, high));
  if (tokens > weightMax) {
    // Tokens are usually spread evenly, so the first guess is close. Bisection handles texts where they are not.
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

/** A text shortened to `tokensMax` tokens at a word boundary, with `…` at its end; unchanged if it fits. */
function shortened(text: string, tokensMax: number, countTokens: CountTokens): string {
  // One token is left for the full stop that asSentence adds.
  if (countTokens(text) < tokensMax) return text;
  const end = fittingEnd(text, 0, text.length, Math.max(1, tokensMax - 1), countTokens);
  return end === text.length ? text : `${text.slice(0, end).trimEnd()}…`;
}

/** A title or heading as a sentence, with a space after it; empty if the title or heading is blank. */
function asSentence(heading: string): string {
  const text = heading.trim();
  if (text === "") return "";
  return /[.!?…:;。！？।]$/u.test(text) ? `${text} ` : `${text}. `;
}
