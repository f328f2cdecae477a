// Which character encoding bytes are written in, and what they say in it. Which format a text has is sniff.ts's question.

import { isUtf8 } from "node:buffer";

/** Encodings that are told apart; what is no Unicode is taken for windows-1252 unless the text itself names another. */
export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** Of a text's bytes, how many may be control characters: none is usual, a few get into logs and old files. */
const CONTROL_SHARE_MAX = 0.01;
/** Broken places per character beyond ASCII up to which bytes are damaged UTF-8 rather than one byte a character. */
const BROKEN_SHARE_MAX = 0.1;
/** Of the units of UTF-16, how many have an empty half: letters of Latin, digits and spaces do. */
const EMPTY_HALVES_MIN = 0.3;
/** Bytes that are decoded at once. */
const STEP_BYTES = 4 * 1024 * 1024;

/**
 * The encoding of a text: what its byte order mark says, else what the bytes can be; null: they are no text.
 * @param isWhole false where more bytes follow, so that the last character may be cut.
 */
export function encodingOf(bytes: Uint8Array, isWhole: boolean): Encoding | null {
  const marked = markedEncoding(bytes);
  if (marked !== null) return marked;
  const utf16 = bytes.includes(0) ? utf16Of(bytes) : null;
  if (utf16 !== null) return utf16;
  if (bytes.includes(0) && controlShare(bytes) > CONTROL_SHARE_MAX) return null;
  if (isUtf8(bytes)) return "utf-8";
  const { broken, beyondAscii } = readAsUtf8(bytes, isWhole);
  if (broken <= beyondAscii * BROKEN_SHARE_MAX) return "utf-8";
  return controlShare(bytes) > CONTROL_SHARE_MAX ? null : "windows-1252";
}

/**
 * What bytes say in an encoding (any label of the Encoding Standard), a piece at a time: without byte order mark and NUL, lines
 * ended by \n, what is broken as U+FFFD. Empty pieces are left out.
 * @throws RangeError for an unknown label
 */
export function* decoded(bytes: Uint8Array, encoding: string): Generator<string> {
  const decoder = decoderOf(encoding);
  let held = "";
  for (let at = 0; at <= bytes.byteLength; at += STEP_BYTES) {
    const isLast = at + STEP_BYTES > bytes.byteLength;
    const text = held + decoder.decode(bytes.subarray(at, at + STEP_BYTES), { stream: !isLast });
    // a line's end may be cut in two
    held = text.endsWith("\r") && !isLast ? "\r" : "";
    const piece = text
      .slice(0, text.length - held.length)
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll("\0", "");
    if (piece !== "") yield piece;
  }
}

/** The name of an encoding in the Encoding Standard by one of its labels there; null for an unknown label. */
export function encodingNamed(label: string): string | null {
  try {
    return decoderOf(label).encoding;
  } catch {
    return null; // a RangeError: no label
  }
}

function decoderOf(label: string): TextDecoder {
  return new TextDecoder(label as ConstructorParameters<typeof TextDecoder>[0]);
}

function markedEncoding(bytes: Uint8Array): Encoding | null {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : null;
}

// UTF-16 without a mark: many units have one empty half, always the same one, and none is empty whole.
function utf16Of(bytes: Uint8Array): "utf-16le" | "utf-16be" | null {
  const units = bytes.byteLength >> 1;
  let [emptyFirst, emptySecond] = [0, 0];
  for (let at = 0; at < units; at++) {
    const [first, second] = [bytes[2 * at], bytes[2 * at + 1]];
    if (first === 0 && second === 0) return null;
    if (first === 0) emptyFirst++;
    if (second === 0) emptySecond++;
  }
  if (emptyFirst >= units * EMPTY_HALVES_MIN && emptySecond === 0) return "utf-16be";
  return emptySecond >= units * EMPTY_HALVES_MIN && emptyFirst === 0 ? "utf-16le" : null;
}

function readAsUtf8(bytes: Uint8Array, isWhole: boolean): { readonly broken: number; readonly beyondAscii: number } {
  const decoder = new TextDecoder("utf-8");
  let [broken, beyondAscii] = [0, 0];
  for (let at = 0; at < bytes.byteLength; at += STEP_BYTES) {
    const isLast = at + STEP_BYTES >= bytes.byteLength;
    const text = decoder.decode(bytes.subarray(at, at + STEP_BYTES), { stream: !(isLast && isWhole) });
    for (let unit = 0; unit < text.length; unit++) {
      const code = text.charCodeAt(unit);
      if (code === 0xfffd) broken++;
      else if (code > 0x7f) beyondAscii++;
    }
  }
  return { broken, beyondAscii };
}

function controlShare(bytes: Uint8Array): number {
  let controls = 0;
  for (const byte of bytes) if (isControl(byte)) controls++;
  return controls / bytes.byteLength;
}

function isControl(byte: number): boolean {
  const isLayout = byte >= 0x08 && byte <= 0x0d;
  return (byte < 0x20 && !isLayout && byte !== 0x1b) || byte === 0x7f;
}
