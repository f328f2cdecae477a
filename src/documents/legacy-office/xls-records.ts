// Splits the stream of an XLS workbook into records, and reads texts that may continue in the next record ([MS-XLS]
// 2.5.293).

import { encodingOfCodePage } from "../rtf/rtf-codepages.ts";

/** A record with the records that continue it. */
export interface XlsRecord {
  readonly type: number;
  /** Its content, and that of the records that continue it. */
  readonly parts: readonly Buffer[];
  readonly at: number;
}

const CONTINUE = 0x3c;

/** The records of a stream, in order. A record that is cut off is the last one. */
export function* recordsOf(stream: Buffer): Generator<XlsRecord> {
  for (let at = 0; at + 4 <= stream.length; ) {
    const begin = at;
    const type = stream.readUInt16LE(at);
    const parts: Buffer[] = [];
    do {
      const bytes = stream.readUInt16LE(at + 2);
      parts.push(stream.subarray(at + 4, at + 4 + bytes));
      at += 4 + bytes;
    } while (at + 4 <= stream.length && stream.readUInt16LE(at) === CONTINUE && type !== CONTINUE);
    yield { type, parts, at: begin };
  }
}

/** A text with the fonts of its parts. */
export interface XlsText {
  readonly text: string;
  /** Fonts, each from a position in UTF-16 code units on. */
  readonly runs: readonly { readonly at: number; readonly font: number }[];
}

/** Reads values one after the other. After the end of the record, numbers are 0 and texts are empty. */
export class XlsReader {
  #part = 0;
  #at = 0;

  constructor(
    private readonly parts: readonly Buffer[],
    private readonly codePage = 1252,
  ) {}

  get isAtEnd(): boolean {
    this.#advance();
    return this.#part >= this.parts.length;
  }

  byte(): number {
    this.#advance();
    return this.parts[this.#part]?.[this.#at++] ?? 0;
  }

  short(): number {
    return this.byte() | (this.byte() << 8);
  }

  long(): number {
    return (this.short() | (this.short() << 16)) >>> 0;
  }

  skip(bytes: number): void {
    for (let left = bytes; left > 0 && !this.isAtEnd; ) {
      const step = Math.min(left, (this.parts[this.#part]?.length ?? 0) - this.#at);
      this.#at += step;
      left -= step;
    }
  }

  /** A text of Excel 97 and later. @param length its number of UTF-16 code units */
  text(length: number): XlsText {
    const flags = this.byte();
    const runCount = (flags & 8) === 0 ? 0 : this.short();
    const extraBytes = (flags & 4) === 0 ? 0 : this.long();
    const text = this.#letters(length, (flags & 1) === 1);
    const runs = [];
    for (let run = 0; run < runCount && !this.isAtEnd; run++) runs.push({ at: this.short(), font: this.short() });
    this.skip(extraBytes);
    return { text, runs };
  }

  /** A text of Excel 5 and 95, in the code page of the file. */
  bytes(length: number): string {
    const bytes: number[] = [];
    for (let at = 0; at < length && !this.isAtEnd; at++) bytes.push(this.byte());
    return new TextDecoder(encodingOfCodePage(this.codePage) as Bun.Encoding).decode(Uint8Array.from(bytes));
  }

  #letters(length: number, isWide: boolean): string {
    let text = "";
    let wide = isWide;
    for (let left = length; left > 0; ) {
      const part = this.parts[this.#part];
      if (part === undefined) break;
      const width = wide ? 2 : 1;
      const count = Math.min(left, Math.floor((part.length - this.#at) / width));
      if (count > 0) {
        const bytes = part.subarray(this.#at, this.#at + count * width);
        text += bytes.toString(wide ? "utf16le" : "latin1");
        this.#at += count * width;
        left -= count;
      }
      if (left === 0) break;
      // where a text continues in the next record, its first byte gives the width of the letters that follow
      this.#part++;
      this.#at = 0;
      if (this.#part < this.parts.length) wide = (this.byte() & 1) === 1;
    }
    return text;
  }

  #advance(): void {
    while (this.#part < this.parts.length && this.#at >= (this.parts[this.#part]?.length ?? 0)) {
      this.#part++;
      this.#at = 0;
    }
  }
}
