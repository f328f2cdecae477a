// Splits RTF (version 1.9.1) into groups, control words, bytes and characters. read-rtf.ts interprets them.

import { type Budget, refuse } from "../budget.ts";

/** Receives the tokens of an RTF file. */
export interface RtfSink {
  openGroup(): void;
  closeGroup(): void;
  /** A control word or symbol without its backslash. `value` is null if it has no number. */
  control(word: string, value: number | null): void;
  /** A byte of text, in the code page of the current font. */
  byte(byte: number): void;
}

const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** Number of tokens after which the time is checked. */
const CHECK_TOKENS = 65_536;

/**
 * Passes the tokens to `sink`. Takes linear time.
 * @returns the number of groups that are still open at the end; less than zero if more are closed than opened
 * @throws ReadFailure if groups are nested too deep, or reading takes too long
 */
export function readRtfTokens(bytes: Uint8Array, sink: RtfSink, budget: Budget): number {
  let depth = 0;
  let tokens = 0;
  for (let at = 0; at < bytes.byteLength; ) {
    if (++tokens % CHECK_TOKENS === 0) budget.checkTime();
    const byte = bytes[at] ?? 0;
    if (byte === OPEN) {
      depth += 1;
      if (depth > budget.limits.depth) {
        refuse(`The groups of the file are nested deeper than ${budget.limits.depth} levels, the limit for a file.`);
      }
      sink.openGroup();
      at += 1;
    } else if (byte === CLOSE) {
      depth -= 1;
      if (depth < 0) return depth;
      sink.closeGroup();
      at += 1;
      if (depth === 0) return 0;
    } else if (byte === BACKSLASH) at = readControl(bytes, at + 1, sink);
    else {
      if (byte !== 0x0a && byte !== 0x0d && byte !== 0) sink.byte(byte);
      at += 1;
    }
  }
  return depth;
}

/** Reads the control after a backslash. Returns the offset after it. */
function readControl(bytes: Uint8Array, start: number, sink: RtfSink): number {
  const first = bytes[start];
  if (first === undefined) return start;
  if (!isLetter(first)) {
    if (first !== 0x27) {
      // a line break after a backslash ends a paragraph
      sink.control(first === 0x0a || first === 0x0d ? "par" : String.fromCharCode(first), null);
      return start + 1;
    }
    const byte = Number.parseInt(String.fromCharCode(bytes[start + 1] ?? 0, bytes[start + 2] ?? 0), 16);
    if (!Number.isNaN(byte)) sink.byte(byte);
    return start + 3;
  }
  let at = start;
  let word = "";
  while (at - start < 32 && isLetter(bytes[at] ?? 0)) word += String.fromCharCode(bytes[at++] ?? 0);
  const numberAt = at;
  if (bytes[at] === 0x2d) at += 1;
  while (at - numberAt < 11 && isDigit(bytes[at] ?? 0)) at += 1;
  const digits = String.fromCharCode(...bytes.subarray(numberAt, at));
  const value = digits === "" || digits === "-" ? null : Number(digits);
  if (bytes[at] === 0x20) at += 1;
  if (word === "bin") return at + Math.max(0, value ?? 0);
  sink.control(word, value);
  return at;
}

function isLetter(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
