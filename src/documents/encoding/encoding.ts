// Detects the character encoding of bytes and decodes them. legacy-encoding.ts chooses between the encodings that are
// older than Unicode.

import { isUtf8 } from "node:buffer";
import { legacyEncodingOf, meanSurprise } from "./legacy-encoding.ts";

/** Maximum share of control characters in a text. Most texts have none; logs and old files have a few. */
const CONTROL_SHARE_MAX = 0.01;
/**
 * Maximum ratio of invalid sequences to non-ASCII characters in damaged UTF-8. If the ratio is higher, the text is in
 * an encoding that is not UTF-8.
 */
const BROKEN_SHARE_MAX = 0.1;
/**
 * If at least this share of the UTF-16 code units has a zero byte, the bytes are UTF-16. Latin letters, digits and
 * spaces have a zero byte.
 */
const ZERO_BYTES_MIN = 0.3;
/**
 * Number of non-ASCII characters and invalid sequences after which the check for damaged UTF-8 stops: they are enough
 * to decide.
 */
const ENOUGH_CHARACTERS = 100_000;
/** Number of bytes that are decoded at once; a multiple of four, the size of a character in UTF-32. */
const STEP_BYTES = 4 * 1024 * 1024;
/** Number of bytes whose surprise is measured if few code units have a zero byte. */
const UTF16_SAMPLE_BYTES = 4096;
/**
 * Maximum mean surprise (see letters.ts) of a text in nats per character. If bytes read as UTF-16 have a higher one,
 * they are not UTF-16.
 */
const UTF16_SURPRISE_MAX = 9.5;

/** Byte order marks. UTF-32 precedes UTF-16 in the list, because its mark begins with the mark of UTF-16. */
const MARKS: readonly { readonly encoding: string; readonly bytes: readonly number[] }[] = [
  { encoding: "utf-8", bytes: [0xef, 0xbb, 0xbf] },
  { encoding: "utf-32le", bytes: [0xff, 0xfe, 0, 0] },
  { encoding: "utf-32be", bytes: [0, 0, 0xfe, 0xff] },
  { encoding: "utf-16le", bytes: [0xff, 0xfe] },
  { encoding: "utf-16be", bytes: [0xfe, 0xff] },
  { encoding: "gb18030", bytes: [0x84, 0x31, 0x95, 0x33] },
];

/**
 * The encoding of a text as a label for `decoded`; null if the bytes are not a text. A byte order mark decides. Without
 * one, the bytes are checked for UTF-16, ISO-2022-JP and UTF-8; otherwise the encoding in which the text looks most
 * like a language is chosen. windows-1252 also stands for an unknown encoding of one byte per character.
 * @param isWhole false if more bytes follow, so that the last character may be cut off
 */
export function encodingOf(bytes: Uint8Array, isWhole: boolean): string | null {
  const marked = encodingOfMark(bytes);
  if (marked !== null) return marked;
  const hasControls = controlShare(bytes) > CONTROL_SHARE_MAX;
  const utf16 = hasControls || bytes.includes(0) ? utf16Of(bytes) : null;
  if (utf16 !== null) return utf16;
  if (bytes.includes(0) && hasControls) return null;
  if (isUtf8(bytes)) return isIso2022Jp(bytes) ? "iso-2022-jp" : "utf-8";
  const { broken, beyondAscii } = utf8Errors(bytes, isWhole);
  if (broken <= beyondAscii * BROKEN_SHARE_MAX) return "utf-8";
  return hasControls ? null : legacyEncodingOf(bytes);
}

/**
 * Decodes bytes piece by piece. Removes byte order marks and NUL, ends lines by \n and writes U+FFFD for invalid
 * sequences. Leaves out empty pieces and never splits a surrogate pair.
 * @param encoding a label of the Encoding Standard, or UTF-32
 * @throws RangeError for an unknown label
 */
export function* decoded(bytes: Uint8Array, encoding: string): Generator<string> {
  const decode = stepDecoder(encoding);
  let held = "";
  for (let at = 0; at <= bytes.byteLength; at += STEP_BYTES) {
    const isLast = at + STEP_BYTES > bytes.byteLength;
    const text = held + decode(bytes.subarray(at, at + STEP_BYTES), isLast);
    // the next step may begin with the \n that belongs to this \r
    held = text.endsWith("\r") && !isLast ? "\r" : "";
    const piece = text
      .slice(0, text.length - held.length)
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll(/[\0\ufeff]/g, "");
    if (piece !== "") yield piece;
    // Each step leaves garbage of several times its size. Without collecting it here, a large file would take a
    // gigabyte.
    if (!isLast) Bun.gc(true);
  }
}

/** Decodes the first bytes of a text as `decoded` does. */
export function beginningOf(bytes: Uint8Array, encoding: string): string {
  return [...decoded(bytes, encoding)].join("");
}

/** The name of the encoding that a label means in the Encoding Standard; null for an unknown label. */
export function encodingNamed(label: string): string | null {
  try {
    return decoderOf(label).encoding;
  } catch {
    return null; // a RangeError for an unknown label
  }
}

function decoderOf(label: string): TextDecoder {
  return new TextDecoder(label as ConstructorParameters<typeof TextDecoder>[0]);
}

/**
 * Returns a function that decodes consecutive parts of a text. It implements UTF-32 itself, because the runtime does
 * not support it.
 */
function stepDecoder(encoding: string): (bytes: Uint8Array, isLast: boolean) => string {
  if (encoding === "utf-32le" || encoding === "utf-32be") {
    return (bytes) => utf32Text(bytes, encoding === "utf-32le");
  }
  const decoder = decoderOf(encoding);
  return (bytes, isLast) => decoder.decode(bytes, { stream: !isLast });
}

function utf32Text(bytes: Uint8Array, isLittleEndian: boolean): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: string[] = [];
  for (let at = 0; at + 4 <= bytes.byteLength; at += 4) {
    const point = view.getUint32(at, isLittleEndian);
    const isScalar = point <= 0x10ffff && (point & 0x1ff800) !== 0xd800;
    parts.push(isScalar ? String.fromCodePoint(point) : "\ufffd");
  }
  if (bytes.byteLength % 4 !== 0) parts.push("\ufffd");
  return parts.join("");
}

function encodingOfMark(bytes: Uint8Array): string | null {
  const mark = MARKS.find((each) => each.bytes.every((byte, at) => bytes[at] === byte));
  return mark?.encoding ?? null;
}

/**
 * Recognises UTF-16 without a byte order mark: many code units have a zero byte, always the same one of the two, and no
 * code unit is zero. If few code units have a zero byte, the text must look like a language.
 */
function utf16Of(bytes: Uint8Array): "utf-16le" | "utf-16be" | null {
  const units = bytes.byteLength >> 1;
  let [zeroFirst, zeroSecond, zeroUnits] = [0, 0, 0];
  for (let at = 0; at < units; at++) {
    const [first, second] = [bytes[2 * at], bytes[2 * at + 1]];
    if (first === 0 && second === 0) zeroUnits++;
    else if (first === 0) zeroFirst++;
    else if (second === 0) zeroSecond++;
  }
  if (zeroUnits > 0) return null;
  if (zeroFirst >= units * ZERO_BYTES_MIN && zeroSecond === 0) return "utf-16be";
  if (zeroSecond >= units * ZERO_BYTES_MIN && zeroFirst === 0) return "utf-16le";
  const sample = bytes.subarray(0, UTF16_SAMPLE_BYTES);
  const [littleEndian, bigEndian] = (["utf-16le", "utf-16be"] as const).map((encoding) =>
    meanSurprise(decoderOf(encoding).decode(sample, { stream: true })),
  ) as [number, number];
  if (Math.min(littleEndian, bigEndian) > UTF16_SURPRISE_MAX) return null;
  return littleEndian < bigEndian ? "utf-16le" : "utf-16be";
}

/** Whether 7-bit text switches to Japanese characters by escape sequences (RFC 1468). */
function isIso2022Jp(bytes: Uint8Array): boolean {
  if (!bytes.includes(0x1b)) return false;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return text.includes("\x1b$B") || text.includes("\x1b$@");
}

function utf8Errors(bytes: Uint8Array, isWhole: boolean): { readonly broken: number; readonly beyondAscii: number } {
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
    if (broken + beyondAscii > ENOUGH_CHARACTERS) break;
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
