// Long texts in pieces. One string of 100 MB is made by copying all pieces at once, which holds up the thread for
// 50 ms or more and takes the memory of a second copy.

/** A text that is read by ranges of UTF-16 code units. */
export type AnyText = string | PiecedText;

/** A piece of a text: a string, or UTF-8, which takes half of the memory if few characters are not ASCII. */
type Piece = string | Utf8Piece;

/** A piece in UTF-8 that does not end or begin within a character. */
interface Utf8Piece {
  readonly utf8: Uint8Array;
  /** Number of UTF-16 code units. */
  readonly length: number;
}

/**
 * Makes a piece. Counting its code units takes about 1 ms per megabyte, so a piece should have a few megabytes at most.
 */
export function utf8Piece(utf8: Uint8Array): Utf8Piece {
  return { utf8, length: codeUnitsOf(utf8) };
}

/** A text in pieces. Its methods are those of a string, for positions that are not negative. */
export class PiecedText {
  readonly length: number;
  /** Length in UTF-8 bytes. */
  readonly bytes: number;
  readonly #pieces: readonly Piece[];
  /** Position of the first code unit of each piece. */
  readonly #starts: readonly number[];
  /** The piece that was decoded last, because a text is mostly read from the beginning to the end. */
  #decoded = { at: -1, text: "" };

  /** @param pieces pieces that do not end or begin within a character */
  constructor(pieces: readonly Piece[], bytes: number) {
    const starts: number[] = [];
    let length = 0;
    for (const piece of pieces) {
      starts.push(length);
      length += piece.length;
    }
    this.length = length;
    this.bytes = bytes;
    this.#pieces = pieces;
    this.#starts = starts;
  }

  /** The pieces in order. None ends or begins within a surrogate pair. */
  *pieces(): Generator<string> {
    for (const piece of this.#pieces) yield stringOf(piece);
  }

  charCodeAt(position: number): number {
    const at = this.#pieceAt(position);
    return this.#textOf(at).charCodeAt(position - (this.#starts[at] ?? 0));
  }

  slice(start: number, end = this.length): string {
    let text = "";
    for (let at = this.#pieceAt(start); at < this.#pieces.length; at++) {
      const pieceStart = this.#starts[at] ?? 0;
      if (pieceStart >= end) break;
      text += this.#textOf(at).slice(Math.max(0, start - pieceStart), end - pieceStart);
    }
    return text;
  }

  #textOf(at: number): string {
    const piece = this.#pieces[at] ?? "";
    if (typeof piece === "string") return piece;
    if (this.#decoded.at !== at) this.#decoded = { at, text: stringOf(piece) };
    return this.#decoded.text;
  }

  /** Index of the piece that contains a position; of the last piece for a position past the end. */
  #pieceAt(position: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }
}

const UTF_8 = new TextDecoder("utf-8", { ignoreBOM: true });

function stringOf(piece: Piece): string {
  return typeof piece === "string" ? piece : UTF_8.decode(piece.utf8);
}

/** The highest bit of each of the four bytes of a 32-bit word. */
const HIGHEST = 0x80808080;

/**
 * Number of UTF-16 code units of a text in UTF-8: one for each byte that begins a character, and another one for each
 * that begins a character of four bytes. Looks at four bytes at once.
 */
function codeUnitsOf(utf8: Uint8Array): number {
  const aligned = utf8.byteOffset % 4 === 0 ? utf8 : Uint8Array.from(utf8);
  const words = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length >>> 2);
  let units = utf8.length;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? 0;
    if ((word & HIGHEST) === 0) continue;
    units -= bytesMarked(word & ~(word << 1)); // 10…: continues a character
    units += bytesMarked(word & (word << 1) & (word << 2) & (word << 3)); // 1111…: begins one of four bytes
  }
  for (const byte of utf8.subarray(words.length * 4)) units += (byte >= 0xf0 ? 1 : 0) - (isContinuation(byte) ? 1 : 0);
  return units;
}

/** Number of bytes of a word whose highest bit is set. */
function bytesMarked(word: number): number {
  return Math.imul((word & HIGHEST) >>> 7, 0x01010101) >>> 24;
}

/** Number of bytes of `utf8` up to the last complete character. */
export function completeBytes(utf8: Uint8Array): number {
  let first = utf8.length - 1;
  while (first > 0 && utf8.length - first < 4 && isContinuation(utf8[first] ?? 0)) first -= 1;
  const lead = utf8[first] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return first + length > utf8.length ? first : utf8.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Maximum size, in UTF-8 bytes, of a text that `textOf` joins to one string. */
const WHOLE_BYTES_MAX = 1_000_000;

/**
 * Joins pieces to a text: a string if it is short, otherwise a `PiecedText`.
 * @param pieces none ends or begins within a surrogate pair
 * @param bytes their length in UTF-8
 */
export function textOf(pieces: readonly string[], bytes: number): AnyText {
  return bytes <= WHOLE_BYTES_MAX ? pieces.join("") : new PiecedText(pieces, bytes);
}

/** The pieces of a text. */
export function piecesOf(text: AnyText): Iterable<string> {
  return text instanceof PiecedText ? text.pieces() : [text];
}

/** Length of a text in UTF-8 bytes. */
export function utf8BytesOf(text: AnyText): number {
  return text instanceof PiecedText ? text.bytes : Buffer.byteLength(text, "utf8");
}
