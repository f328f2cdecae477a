// WordPiece tokeniser of BERT models. Matches the Rust crate `tokenizers` exactly for the characters of Unicode 8,
// which its tables cover; later characters follow the newer tables of this runtime. Intended difference: `[SEP]` and
// other special tokens in a text are plain characters, so that a text cannot forge them.

import { readFileSync } from "node:fs";
import { codePointsOf } from "../kit/code-points.ts";
import { isHighSurrogate } from "../kit/surrogates.ts";
import type { PairTokens, Tokenizer } from "./tokenizer.ts";

/** Maximum length of a word in code points; a longer word becomes `[UNK]`. BERT's tokeniser defines this value. */
const WORD_CHARS_MAX = 100;
/**
 * Maximum number of cached words that consist of several pieces. 20,000 words take about 3 MB and are enough for a
 * large text.
 */
const WORDS_REMEMBERED_MAX = 20_000;

/** Loads the vocabulary from a `tokenizer.json`. @throws if the file is not a lower-casing BERT WordPiece tokeniser */
export function loadWordPiece(tokenizerJsonPath: string): Tokenizer {
  const file = JSON.parse(readFileSync(tokenizerJsonPath, "utf8")) as TokenizerFile;
  const { model, normalizer } = file;
  const isSupported =
    model?.type === "WordPiece" &&
    model.continuing_subword_prefix === "##" &&
    model.max_input_chars_per_word === WORD_CHARS_MAX &&
    normalizer?.type === "BertNormalizer" &&
    normalizer.lowercase === true &&
    normalizer.strip_accents !== false;
  if (!isSupported) throw new Error(`${tokenizerJsonPath} is not a lower-casing BERT WordPiece tokeniser`);
  return createWordPiece(model.vocab);
}

/** The fields of a tokenizer.json that are used here. */
interface TokenizerFile {
  readonly model?: {
    readonly type: string;
    readonly continuing_subword_prefix: string;
    readonly max_input_chars_per_word: number;
    readonly vocab: Record<string, number>;
  };
  readonly normalizer?: { readonly type: string; readonly lowercase: boolean; readonly strip_accents: boolean | null };
}

/**
 * Creates a tokeniser from a vocabulary (token to id, continuations marked `##`).
 * @throws if a special token is missing
 */
export function createWordPiece(vocabulary: Readonly<Record<string, number>>): Tokenizer {
  return new VocabularyWordPiece(vocabulary);
}

/** `encode` gives `[CLS] text [SEP]`, `encodePair` gives `[CLS] first [SEP] second [SEP]`. */
class VocabularyWordPiece implements Tokenizer {
  /** Ids of the pieces that begin a word, and of the pieces that continue a word (without `##`). */
  private readonly initial = new Map<string, number>();
  private readonly continuing = new Map<string, number>();
  private readonly pieceCharsMax: number;
  private readonly unknown: number;
  private readonly start: number;
  private readonly separator: number;
  /** Cache of words that consist of several pieces. */
  private readonly remembered = new Map<string, readonly number[]>();
  /** Output buffer, which grows up to the caller's limit. Results are copies of its content. */
  private scratch = new Int32Array(512);
  private filled = 0;

  constructor(vocabulary: Readonly<Record<string, number>>) {
    let longest = 0;
    // every lane that starts runs this for 30,000 tokens: a list of the entries would double its time
    for (const token in vocabulary) {
      const id = vocabulary[token] as number;
      if (token.startsWith("##")) this.continuing.set(token.slice(2), id);
      else this.initial.set(token, id);
      longest = Math.max(longest, token.length);
    }
    this.pieceCharsMax = longest;
    this.unknown = this.special("[UNK]");
    this.start = this.special("[CLS]");
    this.separator = this.special("[SEP]");
  }

  encode(text: string, tokensMax: number): Int32Array {
    this.filled = 0;
    this.push(this.start);
    this.pushText(text, tokensMax - 1);
    this.push(this.separator);
    return this.scratch.slice(0, this.filled);
  }

  encodePair(first: string, second: string, firstTokensMax: number, tokensMax: number): PairTokens {
    this.filled = 0;
    this.push(this.start);
    this.pushText(first, 1 + Math.min(firstTokensMax, tokensMax - 3));
    this.push(this.separator);
    const firstLength = this.filled;
    this.pushText(second, tokensMax - 1);
    this.push(this.separator);
    return { ids: this.scratch.slice(0, this.filled), firstLength };
  }

  count(text: string): number {
    this.filled = 0;
    this.pushText(text, Number.POSITIVE_INFINITY);
    return this.filled;
  }

  private special(token: string): number {
    const id = this.initial.get(token);
    if (id === undefined) throw new Error(`the vocabulary has no ${token}`);
    return id;
  }

  private push(id: number): void {
    if (this.filled === this.scratch.length) {
      const larger = new Int32Array(this.scratch.length * 2);
      larger.set(this.scratch);
      this.scratch = larger;
    }
    this.scratch[this.filled++] = id;
  }

  /** Appends the tokens of a text until the buffer contains `filledMax` ids. */
  private pushText(text: string, filledMax: number): void {
    const normal = normalize(text);
    let wordStart = -1;
    let at = 0;
    while (at < normal.length && this.filled < filledMax) {
      const code = normal.charCodeAt(at);
      const kind = code < 0x80 ? ASCII_KINDS[code] : kindOf(normal.codePointAt(at) ?? code);
      const width = isHighSurrogate(code) ? 2 : 1;
      if (kind === LETTER) {
        if (wordStart < 0) wordStart = at;
      } else {
        if (wordStart >= 0) this.pushWord(normal.slice(wordStart, at));
        wordStart = -1;
        if (kind === PUNCTUATION) this.pushWord(normal.slice(at, at + width));
      }
      at += width;
    }
    if (wordStart >= 0 && this.filled < filledMax) this.pushWord(normal.slice(wordStart, at));
    this.filled = Math.min(this.filled, filledMax);
  }

  private pushWord(word: string): void {
    const whole = this.initial.get(word);
    if (whole !== undefined) {
      this.push(whole);
      return;
    }
    for (const piece of this.piecesOf(word)) this.push(piece);
  }

  private piecesOf(word: string): readonly number[] {
    const known = this.remembered.get(word);
    if (known !== undefined) return known;
    const pieces = this.split(word);
    if (this.remembered.size >= WORDS_REMEMBERED_MAX) this.remembered.clear();
    this.remembered.set(word, pieces);
    return pieces;
  }

  /**
   * Splits a word greedily, always taking the longest piece that matches. If any part matches no piece, the whole word
   * is unknown.
   */
  private split(word: string): readonly number[] {
    if (word.length > WORD_CHARS_MAX && codePointsOf(word) > WORD_CHARS_MAX) return [this.unknown];
    const pieces: number[] = [];
    let from = 0;
    while (from < word.length) {
      const table = from === 0 ? this.initial : this.continuing;
      let end = Math.min(word.length, from + this.pieceCharsMax);
      let id = table.get(word.slice(from, end));
      while (id === undefined && end > from + 1) {
        end -= 1;
        id = table.get(word.slice(from, end));
      }
      if (id === undefined) return [this.unknown];
      pieces.push(id);
      from = end;
    }
    return pieces;
  }
}

const LETTER = 1;
const SPACE = 2;
const PUNCTUATION = 3;

/**
 * BERT treats every printable ASCII character except letters, digits and space as punctuation, including `$` and `^`.
 */
const ASCII_KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (/\s/.test(char)) return SPACE;
  return /[!-/:-@[-`{-~]/.test(char) ? PUNCTUATION : LETTER;
});

/** Cache of the kinds of the characters up to U+FFFF; 0 means not known yet. */
const knownKinds = new Uint8Array(0x1_0000);

function kindOf(codePoint: number): number {
  if (codePoint > 0xffff) return /\p{P}/u.test(String.fromCodePoint(codePoint)) ? PUNCTUATION : LETTER;
  const known = knownKinds[codePoint];
  if (known) return known;
  const char = String.fromCharCode(codePoint);
  const kind = /\p{White_Space}/u.test(char) ? SPACE : /\p{P}/u.test(char) ? PUNCTUATION : LETTER;
  knownKinds[codePoint] = kind;
  return kind;
}

const BEYOND_ASCII = /[^\t\n\r -~]/;
/**
 * Matches control, format, private use and replacement characters, which are removed. Tab and line ends are not
 * matched: they count as spaces.
 */
const UNWANTED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd]/gu;
/**
 * Matches the Han characters that BertNormalizer surrounds with spaces. U+2B820 to U+2B91F are missing here because
 * they are missing there.
 */
const HAN =
  /[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const NONSPACING_MARK = /\p{Mn}/gu;

/** The steps of BertNormalizer, in its order: clean, separate Han characters, strip accents, lower case. */
function normalize(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text.toLowerCase();
  const cleaned = text.replace(UNWANTED, "").replace(HAN, " $& ");
  const bare = cleaned.normalize("NFD").replace(NONSPACING_MARK, "");
  // The reference implementation converts each character to lower case separately, so it never produces a final sigma.
  return bare.replaceAll("Σ", "σ").toLowerCase();
}
