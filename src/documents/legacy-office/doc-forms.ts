// Reads the form fields of a Word document of before 2007 ([MS-DOC] 2.9.78, FFData), which say what a check box or a
// list shows. The text of the document has only a mark in their place.

/** Kinds of fields; the third is a field for text, which stands in the document. */
const KIND = { box: 1, list: 2 } as const;
const VERSION = 0xffffffff;
/** Value of a field that shows what it shows at first. */
const AS_AT_FIRST = 25;
/** Maximum number of entries of a list, and of UTF-16 code units of a text. Word allows 25 and 255. */
const ENTRIES_MAX = 1_000;
const UNITS_MAX = 1_000;

/**
 * What a form field shows: `☑` or `☐`, or the chosen entry of a list. Null for other fields, and for damaged ones.
 * @param data the stream with the fields
 * @param at offset of the field in it
 */
export function shownByField(data: Buffer, at: number): string | null {
  try {
    return shown(new Fields(data, at));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function shown(fields: Fields): string | null {
  // a field follows a header of the kind that pictures have
  const [, headerBytes] = [fields.long(), fields.short()];
  fields.skip(headerBytes - 6);
  if (fields.long() !== VERSION) return null;
  const bits = fields.short();
  const kind = bits & 3;
  if (kind !== KIND.box && kind !== KIND.list) return null;
  fields.skip(4); // most letters of a text, and the size of a box
  fields.text(); // its name
  const first = fields.short();
  const value = (bits >> 2) & 31;
  const chosen = value === AS_AT_FIRST ? first : value;
  if (kind === KIND.box) return chosen === 1 ? "☑" : "☐";
  for (let text = 0; text < 4; text++) fields.text(); // its format, its help, its hint, its first macro
  fields.text(); // its last macro
  return fields.entries()[chosen] ?? null;
}

/** Reads one number or text after the other. @throws RangeError at the end of the data */
class Fields {
  constructor(
    private readonly data: Buffer,
    private at: number,
  ) {}

  skip(bytes: number): void {
    if (bytes < 0) throw new RangeError("the header is too small");
    this.at += bytes;
  }

  short(): number {
    this.at += 2;
    return this.data.readUInt16LE(this.at - 2);
  }

  long(): number {
    this.at += 4;
    return this.data.readUInt32LE(this.at - 4);
  }

  /** A text that begins with its length and ends with a zero. */
  text(): string {
    const text = this.#units(this.short());
    this.skip(2);
    return text;
  }

  /** A table of texts (STTB), each of which begins with its length. */
  entries(): readonly string[] {
    this.skip(2); // its mark: two bytes per letter
    const count = this.short();
    this.skip(2);
    if (count > ENTRIES_MAX) throw new RangeError("too many entries");
    return Array.from({ length: count }, () => this.#units(this.short()));
  }

  #units(units: number): string {
    const end = this.at + 2 * units;
    if (units > UNITS_MAX || end > this.data.length) throw new RangeError("a text goes beyond the end");
    const text = this.data.toString("utf16le", this.at, end);
    this.at = end;
    return text;
  }
}
