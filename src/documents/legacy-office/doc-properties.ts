// Reads how the characters and paragraphs of a Word document of before 2007 are formatted ([MS-DOC] 2.9.10, 2.9.174):
// pages of 512 bytes list stretches of the file with their properties.

/** What is read of the properties of characters. */
export interface CharacterFormat {
  readonly position: "line" | "raised" | "lowered";
  /** Whether the text is hidden or deleted. */
  readonly isHidden: boolean;
  readonly isBold: boolean;
  /** Offset in the stream `Data` of what a mark in the text stands for, such as a form field; null for letters. */
  readonly dataAt: number | null;
}

/** What is read of the properties of a paragraph. */
export interface ParagraphFormat {
  /** Index of the style; 1 to 9 are headings. */
  readonly style: number;
  readonly isRowEnd: boolean;
  readonly isInTable: boolean;
  /** Whether it is an item of a list. */
  readonly isItem: boolean;
}

/** Format of characters without properties. */
export const PLAIN: CharacterFormat = { position: "line", isHidden: false, isBold: false, dataAt: null };
/** Format of paragraphs without properties. */
export const PLAIN_PARAGRAPH: ParagraphFormat = { style: 0, isRowEnd: false, isInTable: false, isItem: false };

/** A stretch of the file, in bytes, and its format. */
export interface Stretch<Format> {
  readonly from: number;
  readonly to: number;
  readonly format: Format;
}

const PAGE_BYTES = 512;
/** Codes of properties. */
const PROPERTY = {
  deleted: 0x0800,
  bold: 0x0835,
  vanish: 0x083c,
  script: 0x2a48,
  data: 0x6a03,
  inTable: 0x2416,
  rowEnd: 0x2417,
  raised: 0x4845,
  style: 0x4600,
  list: 0x460b,
  tableDefinition: 0xd608,
} as const;
/** Size of the operand in bytes, by the upper three bits of a code. 0 means that the operand begins with its size. */
const OPERAND_BYTES = [1, 1, 2, 4, 2, 2, 0, 3] as const;

/** The stretches of characters that the pages of a table list, in order. */
export function characterFormats(text: Buffer, table: Buffer): readonly Stretch<CharacterFormat>[] {
  return stretchesOf(
    text,
    table,
    (page, at) => {
      const from = 2 * (page[at] ?? 0);
      return from === 0 ? PLAIN : characterFormat(page.subarray(from + 1, from + 1 + (page[from] ?? 0)));
    },
    1,
  );
}

/** The stretches of paragraphs that the pages of a table list, in order. */
export function paragraphFormats(text: Buffer, table: Buffer): readonly Stretch<ParagraphFormat>[] {
  return stretchesOf(
    text,
    table,
    (page, at) => {
      const from = 2 * (page[at] ?? 0);
      if (from === 0) return PLAIN_PARAGRAPH;
      const size = page[from] ?? 0;
      const [begin, bytes] = size === 0 ? [from + 2, 2 * (page[from + 1] ?? 0)] : [from + 1, 2 * size - 1];
      return paragraphFormat(page.subarray(begin, begin + bytes));
    },
    13,
  );
}

/** The stretch that contains a byte of the file; null if none does. Takes logarithmic time. */
export function stretchAt<Format>(stretches: readonly Stretch<Format>[], at: number): Stretch<Format> | null {
  let [low, high] = [0, stretches.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const stretch = stretches[middle];
    if (stretch === undefined) return null;
    if (at < stretch.from) high = middle - 1;
    else if (at >= stretch.to) low = middle + 1;
    else return stretch;
  }
  return null;
}

function stretchesOf<Format>(
  text: Buffer,
  table: Buffer,
  formatOf: (page: Buffer, at: number) => Format,
  entryBytes: number,
): readonly Stretch<Format>[] {
  const stretches: Stretch<Format>[] = [];
  // n + 1 positions, then n page numbers
  const pages = Math.max(0, Math.floor((table.length - 4) / 8));
  for (let index = 0; index < pages; index++) {
    const number = table.readUInt32LE(4 * (pages + 1) + 4 * index) & 0x3fffff;
    const page = text.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES);
    if (page.length < PAGE_BYTES) continue;
    const count = page[PAGE_BYTES - 1] ?? 0;
    for (let run = 0; run < count && 4 * (count + 1) + entryBytes * (run + 1) < PAGE_BYTES; run++) {
      const [from, to] = [page.readUInt32LE(4 * run), page.readUInt32LE(4 * run + 4)];
      if (to > from) stretches.push({ from, to, format: formatOf(page, 4 * (count + 1) + entryBytes * run) });
    }
  }
  return stretches.sort((one, other) => one.from - other.from);
}

function characterFormat(properties: Buffer): CharacterFormat {
  let { position, isHidden, isBold, dataAt } = PLAIN;
  for (const { code, operand } of propertiesOf(properties)) {
    const first = operand[0] ?? 0;
    if (code === PROPERTY.script) position = first === 1 ? "raised" : first === 2 ? "lowered" : position;
    else if (code === PROPERTY.raised) {
      const height = operand.length < 2 ? 0 : operand.readInt16LE(0);
      position = height > 0 ? "raised" : height < 0 ? "lowered" : position;
    } else if (code === PROPERTY.vanish || code === PROPERTY.deleted) isHidden ||= first === 1;
    else if (code === PROPERTY.bold) isBold = first === 1;
    else if (code === PROPERTY.data && operand.length === 4) dataAt = operand.readUInt32LE(0);
  }
  return { position, isHidden, isBold, dataAt };
}

function paragraphFormat(bytes: Buffer): ParagraphFormat {
  let { style, isRowEnd, isInTable, isItem } = {
    ...PLAIN_PARAGRAPH,
    style: bytes.length < 2 ? 0 : bytes.readUInt16LE(0),
  };
  for (const { code, operand } of propertiesOf(bytes.subarray(2))) {
    const first = operand[0] ?? 0;
    if (code === PROPERTY.inTable) isInTable = first === 1;
    else if (code === PROPERTY.rowEnd) isRowEnd = first === 1;
    else if (code === PROPERTY.list) isItem = first !== 0 || (operand[1] ?? 0) !== 0;
    else if (code === PROPERTY.style && operand.length >= 2) style = operand.readUInt16LE(0);
  }
  return { style, isRowEnd, isInTable, isItem };
}

function* propertiesOf(bytes: Buffer): Generator<{ readonly code: number; readonly operand: Buffer }> {
  for (let at = 0; at + 3 <= bytes.length; ) {
    const code = bytes.readUInt16LE(at);
    at += 2;
    let size: number = OPERAND_BYTES[code >> 13] ?? 1;
    if (size === 0) {
      const isLong = code === PROPERTY.tableDefinition;
      if (isLong && at + 2 > bytes.length) return;
      size = isLong ? bytes.readUInt16LE(at) - 1 : (bytes[at] ?? 0);
      at += isLong ? 2 : 1;
    }
    yield { code, operand: bytes.subarray(at, at + size) };
    at += Math.max(size, 0);
  }
}
