// Messages between the server and the preparation process: the server sends texts, the process returns ranges. Frames
// and sockets are in children/.
//
// A `prepare` request carries any number of texts, concatenated as UTF-8 in its payload. If the texts do not fit into
// one frame, `part` requests are sent first. Their payloads precede the payload of the following `prepare` request. A
// text that is in a file is not sent: the process reads the file.

import { readFileSync } from "node:fs";
import type { ChildMessage } from "../children/serve.ts";
import type { Turn } from "../domain/chunk.ts";
import type { JsonObject } from "../domain/json.ts";
import { piecesOf } from "../kit/pieced-text.ts";
import { TimeSlice } from "../kit/time-slice.ts";
import type { PrepareInput } from "../ports/preparer.ts";
import type { TokenizerFile } from "../tokenizers/load-tokenizer.ts";
import type { ChunkRange, ChunkSection } from "./chunk.ts";
import type { PreparedRanges, WholeInput } from "./prepare.ts";

/** Environment variable with the `TokenSettings` of the preparation process, as JSON. */
export const TOKENS_VARIABLE = "MNEME_PREPARATION_TOKENS";

/** How the preparation process measures chunks. */
export interface TokenSettings {
  /** The tokeniser of the default embedder. */
  readonly tokenizer: TokenizerFile;
  /** Token budget of a chunk. */
  readonly chunkTokens: number;
}

/**
 * Maximum number of bytes of one payload. Writing one to a socket takes a few milliseconds, in which no request is
 * answered.
 */
export const PART_BYTES_MAX = 8 * 1024 * 1024;

/** One text of a `prepare` request: its length in bytes (0 if in a file) and the attributes that the caller gave. */
interface InputHeader extends Omit<PrepareInput, "content" | "isSmart" | "isTitleExtracted" | "isCode" | "file"> {
  readonly bytes: number;
  readonly file: string | null;
  readonly isSmart: boolean;
  readonly isTitleExtracted: boolean;
  readonly isCode: boolean;
}

/** The result for one text, except for the numbers of its ranges, which are in the payload. */
interface ResultHeader {
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly language: string;
  readonly titlePrefix: string;
  readonly sections: readonly { readonly headings: readonly string[]; readonly prefix: string }[];
  /** Number of ranges. */
  readonly ranges: number;
  /** The distinct speakers and days of the turns. */
  readonly names: readonly string[];
  /**
   * For each range, its passage if that differs from the text of the range, else an empty string. null if all passages
   * are the texts of their ranges.
   */
  readonly passages: readonly string[] | null;
}

/**
 * Number of integers per range. In order: start and end in UTF-16 code units, start and end in code points, first and
 * last line, number of tokens, whether the title is put before the passage, index of the section. Then for a turn: its
 * session, the indexes of its speaker and day in `names`, and the length of its label in UTF-16 code units.
 */
const RANGE_NUMBERS = 13;
/** Number that means: no session, no speaker or no day. */
const NONE = -1;

/**
 * The requests that prepare these texts. They must be sent in this order without other requests in between. Lets other
 * work run between time slices.
 */
export async function encodeInputs(inputs: readonly PrepareInput[]): Promise<ChildMessage[]> {
  const slice = new TimeSlice();
  const requests: ChildMessage[] = [];
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  const payload = () => {
    const joined = waiting.length === 1 && waiting[0] !== undefined ? waiting[0] : Buffer.concat(waiting);
    [waiting, waitingBytes] = [[], 0];
    return joined;
  };
  const headers: InputHeader[] = [];
  for (const { content, file = null, isSmart = true, isTitleExtracted = false, isCode = false, ...given } of inputs) {
    let bytes = 0;
    for (const piece of file === null ? piecesOf(content) : []) {
      const encoded = Buffer.from(piece, "utf8");
      bytes += encoded.byteLength;
      for (let at = 0; at < encoded.byteLength; at += PART_BYTES_MAX) {
        const part = encoded.subarray(at, at + PART_BYTES_MAX);
        if (waitingBytes + part.byteLength > PART_BYTES_MAX)
          requests.push({ header: { op: "part" }, payload: payload() });
        waiting.push(part);
        waitingBytes += part.byteLength;
      }
      if (slice.isOver) await slice.next();
    }
    headers.push({ bytes, file, isSmart, isTitleExtracted, isCode, ...given });
  }
  const header: JsonObject = { op: "prepare", inputs: headers.map((each) => ({ ...each })) };
  requests.push({ header, payload: payload() });
  return requests;
}

/**
 * The texts of a `prepare` request in order, from the payloads of its `part` requests and its own payload, or from
 * their files. Lone surrogates arrive as U+FFFD.
 */
export function decodeInputs(header: JsonObject, payloads: readonly Uint8Array[]): WholeInput[] {
  const joined = payloads.length === 1 ? (payloads[0] ?? new Uint8Array()) : Buffer.concat(payloads);
  // Without `ignoreBOM` the decoder would remove a leading U+FEFF, and all ranges would be wrong by one.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let at = 0;
  return (header.inputs as unknown as InputHeader[]).map(({ bytes, file, ...given }) => {
    const content = decoder.decode(file === null ? joined.subarray(at, at + bytes) : readFileSync(file));
    at += bytes;
    return { content, ...given };
  });
}

/** The answer to a `prepare` request. */
export function encodeResults(results: readonly PreparedRanges[]): ChildMessage {
  const numbers = new Int32Array(results.reduce((sum, { cut }) => sum + cut.ranges.length * RANGE_NUMBERS, 0));
  let at = 0;
  const headers = results.map(({ extracted, cut }) => {
    const sections = new Map<ChunkSection, number>();
    const names = new Map<string, number>();
    for (const [position, { start, end, tokens, hasTitle, section, turn }] of cut.ranges.entries()) {
      const pairOf = (pairs: ArrayLike<number>) => [pairs[2 * position] ?? 0, pairs[2 * position + 1] ?? 0] as const;
      const places = [...pairOf(cut.codePoints), ...pairOf(cut.lines)];
      numbers.set([start, end, ...places, tokens, hasTitle ? 1 : 0, indexOf(section, sections)], at);
      numbers.set(turn === undefined ? [NONE, NONE, NONE, 0] : turnNumbers(turn, names), at + RANGE_NUMBERS - 4);
      at += RANGE_NUMBERS;
    }
    const { titlePrefix, ranges } = cut;
    const hasPassages = ranges.some(({ passage }) => passage !== undefined);
    return {
      ...extracted,
      titlePrefix,
      sections: [...sections.keys()].map((section) => ({ ...section })),
      ranges: ranges.length,
      names: [...names.keys()],
      passages: hasPassages ? ranges.map(({ passage }) => passage ?? "") : null,
    };
  });
  return { header: { results: headers }, payload: new Uint8Array(numbers.buffer) };
}

/** Returns the index of a key. Adds the key if it is new. */
function indexOf<Key>(key: Key, indexes: Map<Key, number>): number {
  const known = indexes.get(key);
  if (known === undefined) indexes.set(key, indexes.size);
  return known ?? indexes.size - 1;
}

function turnNumbers({ session, speaker, date, labelUnits }: Turn, names: Map<string, number>): number[] {
  const nameIndex = (name: string | null) => (name === null ? NONE : indexOf(name, names));
  return [session, nameIndex(speaker), nameIndex(date), labelUnits];
}

/**
 * Reads the answer to a `prepare` request. Lets other work run between time slices, because a text of 100 MB has over
 * 50,000 ranges.
 */
export async function decodeResults({ header, payload = new Uint8Array() }: ChildMessage): Promise<PreparedRanges[]> {
  const numbers = new Int32Array(payload.buffer, payload.byteOffset, payload.byteLength >> 2);
  const slice = new TimeSlice();
  const decoded: PreparedRanges[] = [];
  let at = 0;
  for (const result of header.results as unknown as ResultHeader[]) {
    const { titlePrefix, sections, ranges: count, names, passages, ...extracted } = result;
    const [codePoints, lines] = [new Int32Array(count * 2), new Int32Array(count * 2)];
    const ranges: ChunkRange[] = [];
    for (let position = 0; position < count; position++, at += RANGE_NUMBERS) {
      if (position % SLICE_RANGES === 0) await slice.next();
      codePoints.set(numbers.subarray(at + 2, at + 4), 2 * position);
      lines.set(numbers.subarray(at + 4, at + 6), 2 * position);
      const range = rangeAt(numbers, at, sections, names);
      ranges.push(passages === null ? range : { ...range, passage: passages[position] ?? "" });
    }
    decoded.push({ extracted, cut: { titlePrefix, ranges, codePoints, lines } });
  }
  return decoded;
}

/** Number of ranges that are decoded between two checks of the time slice. */
const SLICE_RANGES = 256;

function rangeAt(
  numbers: Int32Array,
  at: number,
  sections: readonly ChunkSection[],
  names: readonly string[],
): ChunkRange {
  const number = (position: number) => numbers[at + position] ?? NONE;
  const range = {
    start: number(0),
    end: number(1),
    tokens: number(6),
    hasTitle: number(7) === 1,
    section: sections[number(8)] ?? { headings: [], prefix: "" },
  };
  const session = number(9);
  if (session === NONE) return range;
  const turn = {
    session,
    speaker: names[number(10)] ?? null,
    date: names[number(11)] ?? null,
    labelUnits: number(12),
  };
  return { ...range, turn };
}
