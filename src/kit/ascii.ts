// Recognises ASCII texts, which callers can handle with simpler and faster code.

/** Whether a text has ASCII characters only. */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text, "utf8") === text.length;
}
