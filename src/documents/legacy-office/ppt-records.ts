// Splits the stream of a PPT presentation into records ([MS-PPT] 2.3), and reads which characters of a text are raised.

import type { RunPosition } from "../office/scripted-text.ts";

/** A record. */
export interface PptRecord {
  readonly type: number;
  readonly instance: number;
  /** Its content; records if it is a container. */
  readonly content: Buffer;
  readonly isContainer: boolean;
}

const HEADER_BYTES = 8;
const CONTAINER = 0xf;
/** Maximum depth of containers. */
const DEPTH_MAX = 40;

/** The record at a place of a stream; null if there is none. */
export function recordAt(stream: Buffer, at: number): PptRecord | null {
  if (at < 0 || at + HEADER_BYTES > stream.length) return null;
  const head = stream.readUInt16LE(at);
  const content = stream.subarray(at + HEADER_BYTES, at + HEADER_BYTES + stream.readUInt32LE(at + 4));
  return {
    type: stream.readUInt16LE(at + 2),
    instance: head >> 4,
    content,
    isContainer: (head & CONTAINER) === CONTAINER,
  };
}

/** The records of a container, in order. */
export function* recordsIn(content: Buffer): Generator<PptRecord> {
  for (let at = 0; at < content.length; ) {
    const record = recordAt(content, at);
    if (record === null) return;
    yield record;
    at += HEADER_BYTES + content.readUInt32LE(at + 4);
  }
}

/** All records of a type in a container and the containers in it, except in those of that type. */
export function* recordsOfType(content: Buffer, type: number, depth = 0): Generator<PptRecord> {
  for (const record of recordsIn(content)) {
    if (record.type === type) yield record;
    else if (record.isContainer && depth < DEPTH_MAX) yield* recordsOfType(record.content, type, depth + 1);
  }
}

/** A part of a text whose characters have the same position. */
export interface PptRun {
  readonly length: number;
  readonly position: RunPosition;
}

/** Fields of the formatting of a paragraph, by the bits of its mask, in their order in the file. */
const PARAGRAPH_FIELDS: readonly (readonly [bits: number, bytes: number])[] = [
  [0xf, 2],
  [0x80, 2],
  [0x10, 2],
  [0x40, 2],
  [0x20, 4],
  [0x800, 2],
  [0x1000, 2],
  [0x2000, 2],
  [0x4000, 2],
  [0x100, 2],
  [0x400, 2],
  [0x8000, 2],
];
const TAB_STOPS = 0x100000;
const LATER_PARAGRAPH_FIELDS: readonly (readonly [bits: number, bytes: number])[] = [
  [0x10000, 2],
  [0xe0000, 2],
  [0x200000, 2],
];
/** Fields of the formatting of characters that precede `POSITION` in the file. */
const CHARACTER_FIELDS: readonly (readonly [bits: number, bytes: number])[] = [
  [0xffff, 2],
  [0x10000, 2],
  [0x200000, 2],
  [0x400000, 2],
  [0x800000, 2],
  [0x20000, 2],
  [0x40000, 4],
];
const POSITION = 0x80000;

/** The positions of the characters of a text; empty if the record does not fit the text. @param length of the text */
export function runsOf(styles: Buffer, length: number): readonly PptRun[] {
  let at = 0;
  const has = (bytes: number) => at + bytes <= styles.length;
  const skip = (mask: number, fields: readonly (readonly [number, number])[]) => {
    for (const [bits, bytes] of fields) if ((mask & bits) !== 0) at += bytes;
  };
  // the paragraph mark after the text is counted, too
  for (let done = 0; done < length + 1; ) {
    if (!has(10)) return [];
    done += styles.readUInt32LE(at);
    const mask = styles.readUInt32LE(at + 6);
    at += 10;
    skip(mask, PARAGRAPH_FIELDS);
    if ((mask & TAB_STOPS) !== 0) {
      if (!has(2)) return [];
      at += 2 + 4 * styles.readUInt16LE(at);
    }
    skip(mask, LATER_PARAGRAPH_FIELDS);
  }
  const runs: PptRun[] = [];
  for (let done = 0; done < length + 1; ) {
    if (!has(8)) return [];
    const count = styles.readUInt32LE(at);
    const mask = styles.readUInt32LE(at + 4);
    at += 8;
    skip(mask, CHARACTER_FIELDS);
    let height = 0;
    if ((mask & POSITION) !== 0) {
      if (!has(2)) return [];
      height = styles.readInt16LE(at);
      at += 2;
    }
    if (count === 0) return [];
    runs.push({ length: count, position: height > 0 ? "raised" : height < 0 ? "lowered" : "line" });
    done += count;
  }
  return runs;
}
