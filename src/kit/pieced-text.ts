// Long texts in pieces. One string of 100 MB is made by copying all pieces at once, which holds up the thread for
// 50 ms or more and takes the memory of a second copy.

/** A text that is read by ranges of UTF-16 code units. */
export type AnyText = string | PiecedText;

/** A text in pieces. Its methods are those of a string, for positions that are not negative. */
export class PiecedText {
  readonly length: number;
  /** Length in UTF-8 bytes. */
  readonly bytes: number;
  readonly #pieces: readonly string[];
  /** Position of the first code unit of each piece. */
  readonly #starts: readonly number[];

  constructor(pieces: readonly string[], bytes: number) {
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
  get pieces(): readonly string[] {
    return this.#pieces;
  }

  charCodeAt(position: number): number {
    const at = this.#pieceAt(position);
    return this.#pieces[at]?.charCodeAt(position - (this.#starts[at] ?? 0)) ?? Number.NaN;
  }

  slice(start: number, end = this.length): string {
    let text = "";
    for (let at = this.#pieceAt(start); at < this.#pieces.length; at++) {
      const pieceStart = this.#starts[at] ?? 0;
      if (pieceStart >= end) break;
      text += this.#pieces[at]?.slice(Math.max(0, start - pieceStart), end - pieceStart) ?? "";
    }
    return text;
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

/** Maximum size, in UTF-8 bytes, of a text that `textOf` makes one string of. */
const WHOLE_BYTES_MAX = 1_000_000;

/** The text of these pieces, none of which ends or begins within a surrogate pair: a string if it is short. */
export function textOf(pieces: readonly string[], bytes: number): AnyText {
  return bytes <= WHOLE_BYTES_MAX ? pieces.join("") : new PiecedText(pieces, bytes);
}

/** The pieces of a text. */
export function piecesOf(text: AnyText): readonly string[] {
  return text instanceof PiecedText ? text.pieces : [text];
}

/** Length of a text in UTF-8 bytes. */
export function utf8BytesOf(text: AnyText): number {
  return text instanceof PiecedText ? text.bytes : Buffer.byteLength(text, "utf8");
}
