// What the server and a reader say to each other: texts go there, ranges come back. Frames and sockets are children/'s.
//
// A request `prepare` has any number of texts, joined as UTF-8 in its payload. A text larger than a frame goes ahead
// in requests `part`; the next `prepare` reads what they brought before its own payload.

import type { JsonObject } from "../children/frames.ts";
import type { ChildMessage } from "../children/serve.ts";
import type { Turn } from "../domain/chunk.ts";
import type { PrepareInput } from "../ports/preparer.ts";
import type { ChunkRange, Place } from "./chunk.ts";
import type { Layout } from "./prepare.ts";

/** Environment variable that tells a reader which `tokenizer.json` counts its tokens. */
export const TOKENIZER_VARIABLE = "MNEME_READER_TOKENIZER";

/** Bytes of one payload: well below what a frame holds, since ranges of them have to fit into one on the way back. */
export const PART_BYTES_MAX = 32 * 1024 * 1024;

/** One text of a `prepare`: how many bytes of the texts are its own, and what its caller gave. */
interface InputHeader {
  readonly bytes: number;
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: readonly string[] | null;
  readonly language: string | null;
  readonly date: string | null;
  readonly createdAt: number | null;
}

/** What is known of a text beside its ranges. */
interface LayoutHeader {
  readonly title: string;
  readonly type: string;
  readonly tags: readonly string[];
  readonly language: string;
  readonly titlePrefix: string;
  readonly places: readonly { readonly headings: readonly string[]; readonly prefix: string }[];
  readonly ranges: number;
  /** Speakers and days of turns. */
  readonly names: readonly string[];
  /** By range what is shown of it, where that is not the range of the content; null: nowhere. */
  readonly made: readonly string[] | null;
}

/**
 * Numbers per range: start, end, their code points, tokens, whether the title goes before it, its place; of a turn its session,
 * speaker and day among the names and the units of its label.
 */
const RANGE_NUMBERS = 11;
/** Stands for a session, speaker or day that there is not. */
const NONE = -1;

/** Requests for one `prepare` of these texts, to be sent in this order and without another in between. */
export function encodeInputs(inputs: readonly PrepareInput[]): ChildMessage[] {
  const texts = inputs.map(({ content }) => Buffer.from(content, "utf8"));
  const headers: InputHeader[] = inputs.map(({ content: _, ...given }, position) => {
    return { bytes: texts[position]?.byteLength ?? 0, ...given };
  });
  const joined = texts.length === 1 ? (texts[0] ?? Buffer.alloc(0)) : Buffer.concat(texts);
  const requests: ChildMessage[] = [];
  let sent = 0;
  for (; joined.byteLength - sent > PART_BYTES_MAX; sent += PART_BYTES_MAX) {
    requests.push({ header: { op: "part" }, payload: joined.subarray(sent, sent + PART_BYTES_MAX) });
  }
  const header: JsonObject = { op: "prepare", inputs: headers.map((each) => ({ ...each })) };
  requests.push({ header, payload: joined.subarray(sent) });
  return requests;
}

/** The texts of a `prepare`, given the payloads of all its requests in order. Lone surrogates arrive as U+FFFD. */
export function decodeInputs(header: JsonObject, payloads: readonly Uint8Array[]): PrepareInput[] {
  const joined = payloads.length === 1 ? (payloads[0] ?? new Uint8Array()) : Buffer.concat(payloads);
  // Without `ignoreBOM` a leading U+FEFF would be dropped, and every range be off by one.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let at = 0;
  return (header.inputs as unknown as InputHeader[]).map(({ bytes, ...given }) => {
    const content = decoder.decode(joined.subarray(at, at + bytes));
    at += bytes;
    return { content, ...given };
  });
}

/** The answer to a `prepare`. */
export function encodeLayouts(layouts: readonly Layout[]): ChildMessage {
  const numbers = new Int32Array(layouts.reduce((sum, { cut }) => sum + cut.ranges.length * RANGE_NUMBERS, 0));
  let at = 0;
  const headers = layouts.map(({ extracted, cut }) => {
    const places = new Map<Place, number>();
    const names = new Map<string, number>();
    for (const [position, { start, end, tokens, hasTitle, place, turn }] of cut.ranges.entries()) {
      const points = [cut.points[2 * position] ?? 0, cut.points[2 * position + 1] ?? 0] as const;
      numbers.set([start, end, ...points, tokens, hasTitle ? 1 : 0, numberOf(place, places)], at);
      numbers.set(turn === undefined ? [NONE, NONE, NONE, 0] : turnNumbers(turn, names), at + RANGE_NUMBERS - 4);
      at += RANGE_NUMBERS;
    }
    const { titlePrefix, ranges } = cut;
    const isMade = ranges.some(({ made }) => made !== undefined);
    return {
      ...extracted,
      titlePrefix,
      places: [...places.keys()].map((place) => ({ ...place })),
      ranges: ranges.length,
      names: [...names.keys()],
      made: isMade ? ranges.map(({ made }) => made ?? "") : null,
    };
  });
  return { header: { layouts: headers }, payload: new Uint8Array(numbers.buffer) };
}

function numberOf<Key>(key: Key, numbers: Map<Key, number>): number {
  const known = numbers.get(key);
  if (known === undefined) numbers.set(key, numbers.size);
  return known ?? numbers.size - 1;
}

function turnNumbers({ session, speaker, date, labelUnits }: Turn, names: Map<string, number>): number[] {
  const nameNumber = (name: string | null) => (name === null ? NONE : numberOf(name, names));
  return [session, nameNumber(speaker), nameNumber(date), labelUnits];
}

/** Reads the answer to a `prepare`. */
export function decodeLayouts({ header, payload = new Uint8Array() }: ChildMessage): Layout[] {
  const numbers = new Int32Array(payload.buffer, payload.byteOffset, payload.byteLength >> 2);
  let at = 0;
  return (header.layouts as unknown as LayoutHeader[]).map((layout) => {
    const { titlePrefix, places, ranges: count, names, made, ...extracted } = layout;
    const points = new Int32Array(count * 2);
    const ranges = Array.from({ length: count }, (_, position): ChunkRange => {
      const row = numbers.subarray(at, at + RANGE_NUMBERS);
      const [start = 0, end = 0, startPoint = 0, endPoint = 0, tokens = 0, hasTitle = 0, place = 0] = row;
      const [session = NONE, speaker = NONE, date = NONE, labelUnits = 0] = row.subarray(RANGE_NUMBERS - 4);
      at += RANGE_NUMBERS;
      points.set([startPoint, endPoint], 2 * position);
      return {
        ...{ start, end, tokens, hasTitle: hasTitle === 1, place: places[place] ?? { headings: [], prefix: "" } },
        ...(session !== NONE && {
          turn: { session, speaker: names[speaker] ?? null, date: names[date] ?? null, labelUnits },
        }),
        ...(made !== null && { made: made[position] ?? "" }),
      };
    });
    return { extracted, cut: { titlePrefix, ranges, points } };
  });
}
