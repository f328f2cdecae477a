// SentencePiece unigram tokeniser of XLM-RoBERTa models (Kudo, "Subword Regularization", 2018): the segmentation of a
// text with the highest sum of piece scores, found with the Viterbi algorithm in 32-bit floats. Intended differences
// from SentencePiece: texts are normalised to NFC first, because the table of replacements composes nothing; and
// `</s>` and other special tokens in a text are plain characters, so that a text cannot forge them.

import { readFileSync } from "node:fs";
import { isHighSurrogate } from "../kit/surrogates.ts";
import { composed } from "./composed.ts";
import type { PairTokens, ReadingTokenizer, ReadingTokens } from "./tokenizer.ts";

/** Ids of the special tokens. `<mask>` has the last id. */
const START = 0;
const SEPARATOR = 2;
const UNKNOWN = 3;
/** Number of special tokens at the beginning of the table: `<s>`, `<pad>`, `</s>` and `<unk>`. */
const SPECIAL_FIRST = 4;
/** The score of an unknown character is this much lower than the lowest score of a piece (SentencePiece). */
const UNKNOWN_PENALTY = 10;

const SPACE = 0x20;
/** `▁`, which stands for a space. Pieces contain it only at their beginning. */
const SPACE_MARK = 0x2581;

/**
 * Number of UTF-16 code units of normalised text that are segmented at once. A piece has 16 units at most, so a block
 * has at least 512 tokens, as many as a model reads. Scores restart in each block.
 */
const BLOCK_UNITS = 8192 + 256;
/** Maximum number of code units of a piece. */
const PIECE_UNITS_MAX = 16;
/** Maximum number of code units that replace a code point. */
const REPLACEMENT_UNITS_MAX = 32;

/** Matches the characters that NFC may change, or that may be parts of a broken surrogate pair. */
const COMPOSABLE = /[\u0300-\uffff]/;

/**
 * Loads a table of pieces. All numbers are little-endian: u32 number of pieces, f32 score of each piece, u8 number of
 * bytes of each piece, the pieces in UTF-8; u32 number of replacements, then for each replacement u32 code point, u8
 * number of code points that replace it, and these as u32.
 * @throws if the file has another structure
 */
export function loadUnigram(path: string): ReadingTokenizer {
  const file = readFileSync(path);
  try {
    return new UnigramTokenizer(readTable(file));
  } catch (cause) {
    throw new Error(`${path} is not a table of a unigram tokeniser`, { cause });
  }
}

/** The content of a table. */
interface UnigramTable {
  /** Scores by piece id. */
  readonly scores: Float32Array;
  readonly lowestScore: number;
  readonly trie: PieceTrie;
  readonly replacements: Replacements;
}

function readTable(file: Buffer): UnigramTable {
  const count = file.readUInt32LE(0);
  const lengths = file.subarray(4 + 4 * count, 4 + 5 * count);
  if (count <= SPECIAL_FIRST || lengths.length !== count) throw new Error("the pieces are incomplete");
  const scores = new Float32Array(new Uint8Array(file.subarray(4, 4 + 4 * count)).buffer);
  let lowestScore = 0;
  let piecesEnd = 4 + 5 * count;
  for (let id = 0; id < count; id += 1) {
    lowestScore = Math.min(lowestScore, scores[id] as number);
    piecesEnd += lengths[id] as number;
  }
  if (!Number.isFinite(lowestScore)) throw new Error("a score is not a number");
  const trie = readPieces(file.toString("utf8", 4 + 5 * count, piecesEnd), lengths);
  const replacements = new Replacements();
  let at = piecesEnd + 4;
  for (let rows = file.readUInt32LE(piecesEnd); rows > 0; rows -= 1) {
    const length = file.readUInt8(at + 4);
    const codePoints = Array.from({ length }, (_, k) => file.readUInt32LE(at + 5 + 4 * k));
    replacements.add(file.readUInt32LE(at), String.fromCodePoint(...codePoints));
    at += 5 + 4 * length;
  }
  if (at !== file.length) throw new Error(`${file.length - at} bytes are left`);
  return { scores, lowestScore, trie, replacements };
}

/** Builds the trie from all pieces but special tokens, one after the other in `text`, and their numbers of bytes. */
function readPieces(text: string, lengths: Uint8Array): PieceTrie {
  const trie = new PieceTrie();
  let at = 0;
  for (let id = 0; id < lengths.length; id += 1) {
    const start = at;
    for (let bytes = lengths[id] as number; bytes > 0; at += 1) bytes -= bytesOf(text.charCodeAt(at));
    if (at - start > PIECE_UNITS_MAX) throw new Error(`piece ${id} is too long`);
    if (id >= SPECIAL_FIRST && id < lengths.length - 1) trie.add(text, start, at, id);
  }
  if (at !== text.length) throw new Error("the pieces are not UTF-8");
  return trie;
}

/** Number of UTF-8 bytes of a code unit. Each half of a surrogate pair counts two of the four bytes. */
function bytesOf(unit: number): number {
  if (unit < 0x80) return 1;
  return unit < 0x800 || (unit & 0xf800) === 0xd800 ? 2 : 3;
}

/** Number of bits of a node's number: the trie of 250,000 pieces has 505,000 nodes. */
const NODE_BITS = 20;
const NODE_MASK = (1 << NODE_BITS) - 1;
/** Number of slots of the hash table, as a power of two. */
const SLOT_BITS = 20;
const SLOT_MASK = (2 << SLOT_BITS) - 1;
/** Maximum number of nodes. With more, the hash table would be slow. */
const NODES_MAX = 0.75 * (1 << SLOT_BITS);

/**
 * The pieces as a trie over UTF-16 code units, stored as a hash table from (node, unit) to child. Node 0 is the root. A
 * slot is two numbers, so that a lookup reads one cache line: the node with the low 12 bits of the unit, and the child
 * with the high 4 bits. The child of a free slot is 0.
 */
class PieceTrie {
  readonly slots = new Int32Array(2 << SLOT_BITS);
  /** Id of the piece that ends in a node; 0 if none does. */
  readonly pieces = new Int32Array(NODES_MAX);
  private nodes = 1;

  /** The child of a node; 0 if it has none for this unit. */
  child(node: number, unit: number): number {
    const slots = this.slots;
    const key = node | (unit << NODE_BITS);
    let slot = ((Math.imul(node, HASH_NODE) ^ Math.imul(unit, HASH_UNIT)) >>> (32 - SLOT_BITS)) << 1;
    for (; ; slot = (slot + 2) & SLOT_MASK) {
      const value = slots[slot + 1] as number;
      if (value === 0) return 0;
      if (slots[slot] === key && value >>> NODE_BITS === unit >>> 12) return value & NODE_MASK;
    }
  }

  /** Adds the piece in `text[from, to)`. Repeats the loop of `child`, so that it is fast before it is compiled. */
  add(text: string, from: number, to: number, id: number): void {
    const { slots } = this;
    let node = 0;
    for (let at = from; at < to; at += 1) {
      const unit = text.charCodeAt(at);
      const key = node | (unit << NODE_BITS);
      const high = (unit >>> 12) << NODE_BITS;
      let slot = ((Math.imul(node, HASH_NODE) ^ Math.imul(unit, HASH_UNIT)) >>> (32 - SLOT_BITS)) << 1;
      let value = slots[slot + 1] as number;
      while (value !== 0 && (slots[slot] !== key || (value & ~NODE_MASK) !== high)) {
        slot = (slot + 2) & SLOT_MASK;
        value = slots[slot + 1] as number;
      }
      if (value === 0) {
        value = this.nodes++ | high;
        slots[slot] = key;
        slots[slot + 1] = value;
      }
      node = value & NODE_MASK;
    }
    if (this.nodes > NODES_MAX) throw new Error("there are too many pieces");
    this.pieces[node] = id;
  }
}

const HASH_NODE = 0x9e3779b1;
const HASH_UNIT = 0x85ebca6b;

/** Texts that replace single code points before a text is segmented. */
class Replacements {
  /** The texts. `numbers` has the index of its text for each code point; 0: nothing replaces it. */
  private readonly texts: string[] = [""];
  private readonly numbers = new Uint16Array(0x1_0000);
  private readonly astral = new Map<number, string>();

  add(codePoint: number, text: string): void {
    if (codePoint > 0xffff) this.astral.set(codePoint, text);
    else this.numbers[codePoint] = this.texts.push(text) - 1;
  }

  /** The replacement of the code point that begins at `at`; null if nothing replaces it. */
  find(text: string, at: number, unit: number): string | null {
    if (isHighSurrogate(unit)) return this.astral.get(text.codePointAt(at) ?? 0) ?? null;
    const number = this.numbers[unit] as number;
    return number === 0 ? null : (this.texts[number] ?? null);
  }
}

class UnigramTokenizer implements ReadingTokenizer {
  private readonly scores: Float32Array;
  private readonly trie: PieceTrie;
  private readonly replacements: Replacements;
  private readonly unknownScore: number;
  /** The block: code units of the normalised text. */
  private readonly units = new Uint16Array(BLOCK_UNITS);
  private length = 0;
  /** For each position in the block, the place in the text that its code unit comes from. */
  private readonly origins = new Int32Array(BLOCK_UNITS + 1);
  /** Place in the text that the next code unit comes from. */
  private origin = 0;
  /** For each position in the block: score of the best segmentation up to it, where its last piece begins, its id. */
  private readonly best = new Float32Array(BLOCK_UNITS + 1);
  private readonly from = new Int32Array(BLOCK_UNITS + 1);
  private readonly piece = new Int32Array(BLOCK_UNITS + 1);
  /** Positions before this one are expanded: all pieces that begin there were tried. */
  private expanded = 0;
  /** Output buffer. It grows to twice what was needed; the caller's limit is applied afterwards. Results are copies. */
  private scratch = new Int32Array(512);
  /** Begin and end in the text of each token of `scratch`, in pairs. */
  private places = new Int32Array(1024);
  private filled = 0;

  constructor({ scores, lowestScore, trie, replacements }: UnigramTable) {
    this.scores = scores;
    this.trie = trie;
    this.replacements = replacements;
    this.unknownScore = Math.fround(lowestScore - UNKNOWN_PENALTY);
  }

  encode(text: string, tokensMax: number): Int32Array {
    this.filled = 0;
    this.push(START);
    this.pushText(text, tokensMax - 1);
    this.push(SEPARATOR);
    return this.scratch.slice(0, this.filled);
  }

  /** `<s> first </s></s> second </s>`. All tokens have type 0, because XLM-RoBERTa knows no other. */
  encodePair(first: string, second: string, firstTokensMax: number, tokensMax: number): PairTokens {
    this.filled = 0;
    this.push(START);
    this.pushText(first, 1 + Math.min(firstTokensMax, tokensMax - 4));
    this.push(SEPARATOR);
    this.push(SEPARATOR);
    this.pushText(second, tokensMax - 1);
    this.push(SEPARATOR);
    return { ids: this.scratch.slice(0, this.filled), firstLength: this.filled };
  }

  encodeReading(question: string, passage: string, questionTokensMax: number, tokensMax: number): ReadingTokens {
    this.filled = 0;
    this.push(START);
    this.pushText(question, 1 + Math.min(questionTokensMax, tokensMax - 2));
    this.push(SEPARATOR);
    const firstLength = this.filled;
    const { text, placeOf } = composed(passage);
    this.pushText(text, tokensMax - 1);
    const secondEnd = this.filled;
    const places = this.places.slice(2 * firstLength, 2 * secondEnd).map(placeOf);
    this.push(SEPARATOR);
    return { ids: this.scratch.slice(0, this.filled), firstLength, secondEnd, places };
  }

  count(text: string): number {
    this.filled = 0;
    let tokens = 0;
    if (text !== "") {
      this.segment(text, () => {
        tokens += this.filled;
        this.filled = 0;
        return true;
      });
      tokens += this.filled;
    }
    return tokens;
  }

  /** Appends the tokens of a text until the output contains `filledMax` ids. */
  private pushText(text: string, filledMax: number): void {
    this.segment(text, () => this.filled < filledMax);
    this.filled = Math.min(this.filled, filledMax);
  }

  private push(id: number): void {
    this.reserve(1);
    this.scratch[this.filled++] = id;
  }

  private reserve(count: number): void {
    if (this.filled + count <= this.scratch.length) return;
    const larger = new Int32Array(2 * (this.filled + count));
    larger.set(this.scratch);
    this.scratch = larger;
    const places = new Int32Array(2 * larger.length);
    places.set(this.places);
    this.places = places;
  }

  /**
   * Normalises a text and appends its tokens to the output, block by block.
   * @param continues called after each block but the last; false ends the work
   */
  private segment(given: string, continues: () => boolean): void {
    const text = COMPOSABLE.test(given) ? given.toWellFormed().normalize("NFC") : given;
    this.length = 0;
    this.beginPaths();
    this.origin = 0;
    this.origins[this.length] = 0;
    // As if the text began with a space. Further spaces are dropped, because only one in a row counts.
    this.units[this.length++] = SPACE_MARK;
    let isAfterSpace = true;
    for (let at = 0; at < text.length; at += 1) {
      if (this.length > BLOCK_UNITS - REPLACEMENT_UNITS_MAX) {
        this.expand(this.length - PIECE_UNITS_MAX);
        this.emit();
        if (!continues()) return;
      }
      const unit = text.charCodeAt(at);
      this.origin = at;
      const replacement = unit > SPACE && unit < 0x7f ? null : this.replacements.find(text, at, unit);
      if (replacement === null) {
        isAfterSpace = this.append(unit, isAfterSpace);
        continue;
      }
      for (let k = 0; k < replacement.length; k += 1) {
        isAfterSpace = this.append(replacement.charCodeAt(k), isAfterSpace);
      }
      if (isHighSurrogate(unit)) at += 1;
    }
    this.origins[this.length] = text.length;
    this.expand(this.length);
    this.pushPath(this.length);
  }

  /** Appends a code unit to the block, except a space after a space. Returns whether the block ends with a space. */
  private append(unit: number, isAfterSpace: boolean): boolean {
    const isSpace = unit === SPACE;
    if (isSpace && isAfterSpace) return true;
    this.origins[this.length] = this.origin;
    this.units[this.length++] = isSpace ? SPACE_MARK : unit;
    return isSpace;
  }

  /** Tries all pieces that begin before `end`. */
  private expand(end: number): void {
    const { units, best, from, piece, scores, length } = this;
    const { pieces } = this.trie;
    for (let at = this.expanded; at < end; at += 1) {
      const base = best[at] as number;
      if (base === Number.NEGATIVE_INFINITY) continue; // inside a surrogate pair
      let node = 0;
      for (let to = at; to < length; ) {
        node = this.trie.child(node, units[to++] as number);
        if (node === 0) break;
        const id = pieces[node] as number;
        if (id === 0) continue;
        const score = Math.fround(base + (scores[id] as number));
        if (score > (best[to] as number)) {
          best[to] = score;
          from[to] = at;
          piece[to] = id;
        }
      }
      const to = at + (isHighSurrogate(units[at] as number) ? 2 : 1);
      const score = Math.fround(base + this.unknownScore);
      if (score > (best[to] as number)) {
        best[to] = score;
        from[to] = at;
        piece[to] = UNKNOWN;
      }
    }
    this.expanded = Math.max(this.expanded, end);
  }

  /**
   * Appends the tokens that do not depend on the rest of the text, and removes their text from the block: those up to
   * the last position that the best paths to all open positions share (those where a piece may still begin). If they
   * share less than half of the block, as in a long run of one letter, the best path to the first open position is
   * taken, so that the work stays linear.
   */
  private emit(): void {
    const { best, from, expanded, length } = this;
    const ends = [];
    for (let at = expanded; at < expanded + PIECE_UNITS_MAX; at += 1)
      if (best[at] !== Number.NEGATIVE_INFINITY) ends.push(at);
    const shared = ends.reduce((a, b) => {
      let [left, right] = [a, b];
      while (left !== right) {
        if (left > right) left = from[left] as number;
        else right = from[right] as number;
      }
      return left;
    });
    const end = shared > length / 2 ? shared : (ends[0] as number);
    this.pushPath(end);
    this.units.copyWithin(0, end, length);
    this.origins.copyWithin(0, end, length + 1);
    this.length = length - end;
    this.beginPaths();
  }

  /** Lets all paths begin at the start of the block. So scores stay small, and therefore precise, in a long text. */
  private beginPaths(): void {
    this.best.fill(Number.NEGATIVE_INFINITY);
    this.best[0] = 0;
    this.expanded = 0;
  }

  /** Appends the pieces of the best path to a position. */
  private pushPath(end: number): void {
    let count = 0;
    for (let at = end; at > 0; at = this.from[at] as number) count += 1;
    this.reserve(count);
    this.filled += count;
    let next = this.filled;
    for (let at = end; at > 0; at = this.from[at] as number) {
      const begin = this.from[at] as number;
      // a space before a word is no part of it
      const first = this.units[begin] === SPACE_MARK && begin + 1 < at ? begin + 1 : begin;
      this.scratch[--next] = this.piece[at] as number;
      this.places[2 * next] = this.origins[first] as number;
      this.places[2 * next + 1] = this.origins[at] as number;
    }
  }
}
