// PostgreSQL cannot store the character U+0000, so it is stored as an escape sequence. Texts from the API never contain
// it, but file names, titles of documents and replies of language models may.

const ESCAPE = "\u0001";
const ESCAPED_ESCAPE = "\u0001\u0002";
const ESCAPED_NUL = "\u0001\u0003";

/** Converts a text to one that PostgreSQL can store. Nearly every text stays as it is. */
export function encodedText(text: string): string {
  if (!text.includes("\0") && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, ESCAPED_ESCAPE).replaceAll("\0", ESCAPED_NUL);
}

/** The text that `encodedText` converted. */
export function decodedText(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPED_NUL, "\0").replaceAll(ESCAPED_ESCAPE, ESCAPE);
}

/** Converts the values of a row: texts are decoded, and bytes become a plain Uint8Array. */
export function decodedRow(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) {
    const value = row[name];
    if (typeof value === "string") row[name] = decodedText(value);
    else if (value instanceof Uint8Array) row[name] = new Uint8Array(value);
  }
  return row;
}
