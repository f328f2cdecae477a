// Recognises ASCII texts, for which simple and fast code is right.

/** Whether a text is ASCII only. Most texts are, and the patterns for other texts are many times slower. */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text, "utf8") === text.length;
}
