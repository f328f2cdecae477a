// Reads the records of a JSON export one by one, and keeps only one of them in memory, however large the export is. An
// export is a list, an object with lists, or one record per line. After a damaged record, the next one is looked for.

import { parsedJson } from "../kit/record.ts";
import type { SourceRecord } from "./imported.ts";

/** Maximum size of a record. The API takes no larger memory either. */
const RECORD_BYTES_MAX = 100 * 1024 * 1024;
/** Maximum nesting of a record; ChatGPT's have about 12 levels. */
const DEPTH_MAX = 512;

const [QUOTE, BACKSLASH, COMMA, COLON, LINE_END] = [0x22, 0x5c, 0x2c, 0x3a, 0x0a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const CUT_OFF = "is cut off: the export ends in the middle of it. Is the file complete?";
const NOT_CLOSED = "The export ends before its list is closed: records may be missing. Is the file complete?";

/**
 * The records of an export.
 * @param lists names of the members of an object whose elements are records
 */
export async function* readJsonItems(
  bytes: AsyncIterable<Uint8Array>,
  lists: readonly string[],
  recordBytesMax = RECORD_BYTES_MAX,
): AsyncGenerator<SourceRecord> {
  const scanner = new Scanner(lists, recordBytesMax);
  for await (const chunk of bytes) {
    scanner.scan(chunk);
    yield* scanner.taken();
  }
  scanner.end();
  yield* scanner.taken();
}

/**
 * Where the scanner is: before a root value, between the elements of a list, between the members of the root object
 * (before a name, or before its value), inside a value, or looking for the next record after damage.
 */
type Place = "root" | "list" | "name" | "value" | "inside" | "damaged";

class Scanner {
  readonly #lists: ReadonlySet<string>;
  readonly #recordBytesMax: number;
  #found: SourceRecord[] = [];
  #place: Place = "root";
  /** Number of bytes before the current chunk. */
  #before = 0;
  /** Name of the list whose elements are read; null for a list at the root. */
  #list: string | null = null;
  #isRootList = false;
  /** Number of records in the current list, or at the root. */
  #count = 0;
  /**
   * The members of the root object before its first list of records, as JSON, because an object without such lists is
   * itself a record; null outside of a root object.
   */
  #members: string[] | null = null;
  #membersBytes = 0;
  #hadLists = false;
  #name = "";

  // The value that is being read.
  /** Role of the value: an element of a list, or a name or value of the root object. */
  #role: "list" | "name" | "value" = "list";
  #pieces: Uint8Array[] = [];
  #valueBytes = 0;
  #startedAt = 0;
  #open: number[] = [];
  #isText = false;
  #isEscaped = false;
  /** Whether the value is a number, true, false or null, which ends where something else begins. */
  #isBare = false;
  #isTooLarge = false;

  /**
   * Indentation of the first record of the current list that begins a line; null if there is none. After damage, the
   * next record is recognised by it.
   */
  #indent: string | null = null;
  #lineStart: number[] = [];
  #isLineBlank = true;
  /** Whether only white space precedes the current byte on its line. */
  #beginsLine = true;

  constructor(lists: readonly string[], recordBytesMax: number) {
    this.#lists = new Set(lists);
    this.#recordBytesMax = recordBytesMax;
  }

  taken(): readonly SourceRecord[] {
    return this.#found.splice(0);
  }

  scan(chunk: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (this.#place === "inside") {
        const ended = this.#inside(byte);
        if (ended === "no") continue;
        // a bare value ends before this byte, which is then read again
        const end = ended === "before" ? at : at + 1;
        this.#keep(chunk.subarray(from, end));
        if (ended === "damaged") this.#damaged("is damaged: its brackets or quotes do not match", byte);
        else this.#endValue();
        if (ended === "before") at--;
        continue;
      }
      if (this.#place === "damaged") {
        this.#resync(byte, at);
        if (this.#placeNow() === "inside") from = at;
        continue;
      }
      this.#noteIndent(byte);
      if (byte <= 0x20 || byte === COMMA || byte === COLON || this.#isMark(byte, at)) continue;
      this.#between(byte, at);
      if (this.#placeNow() === "inside") from = at;
    }
    if (this.#place === "inside") this.#keep(chunk.subarray(from));
    this.#before += chunk.length;
  }

  end(): void {
    if (this.#place === "inside" && this.#isBare) this.#endValue();
    if (this.#place === "inside") {
      this.#found.push({ kind: "damaged", place: this.#placeOf(this.#count + 1), why: CUT_OFF });
      return;
    }
    if (this.#place === "damaged") {
      this.#found.push({
        kind: "damaged",
        place: `after ${this.#placeOf(this.#count)}`,
        why: "the rest of the export cannot be read, because no further record was found",
      });
      return;
    }
    if (this.#place !== "root") {
      this.#found.push({ kind: "damaged", place: "end of the export", why: NOT_CLOSED });
    } else if (this.#count === 0 && !this.#hadLists && !this.#isRootList) {
      this.#found.push({ kind: "damaged", place: "the export", why: "is empty" });
    }
  }

  // Returns `#place`. A method, because the compiler assumes that calls of other methods leave the field unchanged.
  #placeNow(): Place {
    return this.#place;
  }

  #isMark(byte: number, at: number): boolean {
    const position = this.#before + at;
    return position < BYTE_ORDER_MARK.length && byte === BYTE_ORDER_MARK[position];
  }

  #noteIndent(byte: number): void {
    this.#beginsLine = this.#isLineBlank;
    if (byte === LINE_END) {
      this.#lineStart = [];
      this.#isLineBlank = true;
    } else if (this.#isLineBlank && (byte === 0x20 || byte === 0x09) && this.#lineStart.length < 64) {
      this.#lineStart.push(byte);
    } else {
      if (this.#isLineBlank && byte === OPEN_OBJECT && this.#place === "list") {
        this.#indent ??= String.fromCharCode(...this.#lineStart);
      }
      this.#isLineBlank = false;
    }
  }

  /** Handles a byte between values that is no white space or separator: it begins or ends a list, object or value. */
  #between(byte: number, at: number): void {
    if (this.#place === "root") {
      if (byte === OPEN_LIST && !this.#isRootList && this.#count === 0) {
        this.#isRootList = true;
        this.#place = "list";
      } else if (byte === OPEN_OBJECT && !this.#isRootList) {
        this.#members = [];
        this.#membersBytes = 0;
        this.#startedAt = this.#before + at;
        this.#place = "name";
      } else {
        this.#startedAt = this.#before + at;
        this.#damaged("is no JSON object", byte);
      }
    } else if (this.#place === "list") {
      if (byte === CLOSE_LIST) {
        this.#place = this.#members === null ? "root" : "name";
        this.#list = null;
        this.#indent = null;
      } else {
        this.#begin(byte, at);
      }
    } else if (this.#place === "name") {
      if (byte === CLOSE_OBJECT) this.#endRoot();
      else if (byte === QUOTE) this.#begin(byte, at);
      else {
        this.#damaged("is damaged: a bracket or a name is missing", byte);
        // a `{` at the beginning of a line may begin the next record
        if (this.#beginsLine && byte === OPEN_OBJECT) {
          this.#place = "root";
          this.#between(byte, at);
        }
      }
    } else if (byte === OPEN_LIST && this.#lists.has(this.#name)) {
      this.#list = this.#name;
      this.#hadLists = true;
      this.#count = 0;
      this.#place = "list";
    } else {
      this.#begin(byte, at);
    }
  }

  #begin(byte: number, at: number): void {
    this.#role = this.#place === "list" ? "list" : this.#place === "name" ? "name" : "value";
    this.#place = "inside";
    if (this.#role === "list") this.#startedAt = this.#before + at;
    this.#pieces = [];
    this.#valueBytes = 0;
    this.#isTooLarge = false;
    this.#open = byte === OPEN_OBJECT || byte === OPEN_LIST ? [byte] : [];
    this.#isText = byte === QUOTE;
    this.#isEscaped = false;
    this.#isBare = this.#open.length === 0 && !this.#isText;
  }

  /** Reads a byte of a value. Returns whether the value ends with it, before it, not yet, or because it is damaged. */
  #inside(byte: number): "no" | "yes" | "before" | "damaged" {
    if (this.#isText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isText = false;
        if (this.#open.length === 0) return "yes";
      } else if (byte === LINE_END) return "damaged"; // JSON has no line ends in texts: a quote is missing
      return "no";
    }
    if (this.#isBare) {
      const isEnd = byte <= 0x20 || byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT || byte === COLON;
      return isEnd ? "before" : "no";
    }
    if (byte === QUOTE) this.#isText = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (this.#open.length >= DEPTH_MAX) return "damaged";
      this.#open.push(byte);
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      const opened = this.#open.pop();
      if (opened !== (byte === CLOSE_OBJECT ? OPEN_OBJECT : OPEN_LIST)) return "damaged";
      if (this.#open.length === 0) return "yes";
    }
    return "no";
  }

  #keep(piece: Uint8Array): void {
    this.#valueBytes += piece.length;
    if (this.#valueBytes > this.#recordBytesMax) this.#isTooLarge = true;
    // copied, because a stream may use the memory of its chunk again
    if (this.#isTooLarge) this.#pieces = [];
    else this.#pieces.push(piece.slice());
  }

  #endValue(): void {
    const role = this.#role;
    const text = this.#isTooLarge ? null : this.#textOf(this.#pieces);
    this.#pieces = [];
    if (role === "list") {
      this.#place = "list";
      this.#record(text);
    } else if (role === "name") {
      const name = parsedJson(text ?? "");
      this.#name = typeof name === "string" ? name : "";
      this.#place = "value";
    } else {
      this.#place = "name";
      this.#membersBytes += this.#valueBytes;
      const isKept = text !== null && !this.#hadLists && this.#membersBytes <= this.#recordBytesMax;
      if (isKept) this.#members?.push(`${JSON.stringify(this.#name)}:${text}`);
    }
  }

  /** Ends the root object. It is a record itself if it has no lists of records. */
  #endRoot(): void {
    const members = this.#members ?? [];
    this.#members = null;
    this.#place = "root";
    if (this.#hadLists) return;
    this.#isTooLarge = this.#membersBytes > this.#recordBytesMax;
    this.#record(this.#isTooLarge ? null : `{${members.join(",")}}`);
  }

  #record(text: string | null): void {
    this.#count++;
    const place = this.#placeOf(this.#count);
    if (text === null) {
      const why = this.#isTooLarge ? `is larger than ${this.#recordBytesMax} bytes` : "is not valid UTF-8";
      this.#found.push({ kind: "damaged", place, why });
      return;
    }
    const value = parsedJson(text ?? "");
    this.#found.push(
      value === undefined
        ? { kind: "damaged", place, why: "is not valid JSON" }
        : { kind: "record", place, list: this.#list, value },
    );
  }

  #damaged(why: string, byte: number): void {
    this.#count++;
    this.#found.push({ kind: "damaged", place: this.#placeOf(this.#count), why });
    this.#pieces = [];
    if (this.#list === null && !this.#isRootList) this.#members = null;
    this.#place = "damaged";
    this.#lineStart = [];
    this.#isLineBlank = byte === LINE_END;
  }

  // Looks for the next record after damage: a `{` that begins a line and, in a list, has the indentation of the first
  // record.
  #resync(byte: number, at: number): void {
    if (byte === LINE_END) {
      this.#lineStart = [];
      this.#isLineBlank = true;
    } else if (this.#isLineBlank && (byte === 0x20 || byte === 0x09)) {
      this.#lineStart.push(byte);
    } else if (this.#isLineBlank) {
      this.#isLineBlank = false;
      if (byte !== OPEN_OBJECT) return;
      const isInList = this.#isRootList || this.#list !== null;
      if (!isInList) {
        this.#place = "root";
        this.#between(byte, at);
      } else if (String.fromCharCode(...this.#lineStart) === this.#indent) {
        this.#place = "list";
        this.#begin(byte, at);
      }
    }
  }

  #placeOf(number: number): string {
    const list = this.#list === null ? "" : `${this.#list}, `;
    return `${list}item ${number} at byte ${this.#startedAt}`;
  }

  #textOf(pieces: readonly Uint8Array[]): string | null {
    try {
      return UTF8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
    } catch {
      return null; // the caller reports the record as damaged
    }
  }
}
