// Which character encoding bytes are written in, and what they say in it. Which of the encodings before Unicode is in question is
// legacy-encoding.ts's business, which format a text has sniff.ts's.

import { isUtf8 } from "node:buffer";
import { legacyEncodingOf, meanSurprise } from "./legacy-encoding.ts";

/** Of a text's bytes, how many may be control characters: none is usual, a few get into logs and old files. */
const CONTROL_SHARE_MAX = 0.01;
/** Broken places per character beyond ASCII up to which bytes are damaged UTF-8 rather than one byte a character. */
const BROKEN_SHARE_MAX = 0.1;
/** Of the units of UTF-16, how many have an empty half: letters of Latin, digits and spaces do. */
const EMPTY_HALVES_MIN = 0.3;
/** Characters beyond ASCII that tell whether bytes are damaged UTF-8; more change nothing. */
const ENOUGH_CHARACTERS = 100_000;
/** Bytes that are decoded at once; a multiple of four, as the units of UTF-32 are. */
const STEP_BYTES = 4 * 1024 * 1024;
/** Bytes that tell whether they are UTF-16 without a mark. */
const UTF16_SAMPLE_BYTES = 4096;
/** Nats per character up to which bytes read as UTF-16 are a language, and no noise. */
const UTF16_SURPRISE_MAX = 9.5;

/** Byte order marks, UTF-32 before the UTF-16 that it begins like. */
const MARKS: readonly { readonly encoding: string; readonly bytes: readonly number[] }[] = [
  { encoding: "utf-8", bytes: [0xef, 0xbb, 0xbf] },
  { encoding: "utf-32le", bytes: [0xff, 0xfe, 0, 0] },
  { encoding: "utf-32be", bytes: [0, 0, 0xfe, 0xff] },
  { encoding: "utf-16le", bytes: [0xff, 0xfe] },
  { encoding: "utf-16be", bytes: [0xfe, 0xff] },
  { encoding: "gb18030", bytes: [0x84, 0x31, 0x95, 0x33] },
];

/**
 * The encoding of a text, as a label for `decoded`: what its byte order mark says, else what the bytes can be, else what they look
 * most like; null: they are no text. windows-1252 is also what stands for "one byte a character, no telling which".
 * @param isWhole false where more bytes follow, so that the last character may be cut.
 */
export function encodingOf(bytes: Uint8Array, isWhole: boolean): string | null {
  const marked = markedEncoding(bytes);
  if (marked !== null) return marked;
  const hasControls = controlShare(bytes) > CONTROL_SHARE_MAX;
  const utf16 = hasControls || bytes.includes(0) ? utf16Of(bytes) : null;
  if (utf16 !== null) return utf16;
  if (bytes.includes(0) && hasControls) return null;
  if (isUtf8(bytes)) return isIso2022Jp(bytes) ? "iso-2022-jp" : "utf-8";
  const { broken, beyondAscii } = readAsUtf8(bytes, isWhole);
  if (broken <= beyondAscii * BROKEN_SHARE_MAX) return "utf-8";
  return hasControls ? null : legacyEncodingOf(bytes);
}

/**
 * What bytes say in an encoding (any label of the Encoding Standard, or UTF-32), a piece at a time: without byte order marks and
 * NUL, lines ended by \n, what is broken as U+FFFD. Empty pieces are left out; no pair of surrogates is cut in two.
 * @throws RangeError for an unknown label
 */
export function* decoded(bytes: Uint8Array, encoding: string): Generator<string> {
  const decode = stepDecoder(encoding);
  let held = "";
  for (let at = 0; at <= bytes.byteLength; at += STEP_BYTES) {
    const isLast = at + STEP_BYTES > bytes.byteLength;
    const text = held + decode(bytes.subarray(at, at + STEP_BYTES), isLast);
    // a line's end may be cut in two
    held = text.endsWith("\r") && !isLast ? "\r" : "";
    const piece = text
      .slice(0, text.length - held.length)
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll(/[\0\ufeff]/g, "");
    if (piece !== "") yield piece;
    // what a step left behind is several times as large as it: a large file would take a gigabyte
    if (!isLast) Bun.gc(true);
  }
}

/** The beginning of a text as `decoded` gives it, where only its first bytes are there. */
export function beginningOf(bytes: Uint8Array, encoding: string): string {
  return [...decoded(bytes, encoding)].join("");
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

/** Decodes one step after the other; the runtime knows no UTF-32. */
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

function markedEncoding(bytes: Uint8Array): string | null {
  const mark = MARKS.find((each) => each.bytes.every((byte, at) => bytes[at] === byte));
  return mark?.encoding ?? null;
}

// UTF-16 without a mark: many units have one empty half, always the same one, and none is empty whole; or, where letters have no
// empty halves, it reads as a language.
function utf16Of(bytes: Uint8Array): "utf-16le" | "utf-16be" | null {
  const units = bytes.byteLength >> 1;
  let [emptyFirst, emptySecond, empty] = [0, 0, 0];
  for (let at = 0; at < units; at++) {
    const [first, second] = [bytes[2 * at], bytes[2 * at + 1]];
    if (first === 0 && second === 0) empty++;
    else if (first === 0) emptyFirst++;
    else if (second === 0) emptySecond++;
  }
  if (empty > 0) return null;
  if (emptyFirst >= units * EMPTY_HALVES_MIN && emptySecond === 0) return "utf-16be";
  if (emptySecond >= units * EMPTY_HALVES_MIN && emptyFirst === 0) return "utf-16le";
  const sample = bytes.subarray(0, UTF16_SAMPLE_BYTES);
  const [littleEndian, bigEndian] = (["utf-16le", "utf-16be"] as const).map((encoding) =>
    meanSurprise(decoderOf(encoding).decode(sample, { stream: true })),
  ) as [number, number];
  if (Math.min(littleEndian, bigEndian) > UTF16_SURPRISE_MAX) return null;
  return littleEndian < bigEndian ? "utf-16le" : "utf-16be";
}

/** Whether text of seven bits a character switches to Japanese characters (RFC 1468). */
function isIso2022Jp(bytes: Uint8Array): boolean {
  if (!bytes.includes(0x1b)) return false;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return text.includes("\x1b$B") || text.includes("\x1b$@");
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
