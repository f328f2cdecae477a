// The parts of a copy (domain/store-copy.ts). Parts end where a hash of the row's key says so, so that a change of some
// rows changes the few parts around them only. Equal data gives the same parts, whichever database has it.

import type { FilledPart, StorePart } from "../../domain/store-copy.ts";
import { TimeSlice } from "../../kit/time-slice.ts";
import { encodeRow } from "./row-lines.ts";
import type { CopiedTable, StoreSnapshot } from "./snapshot.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
/** A part is at least this large, unless it is the last of its table. */
const PART_BYTES_MIN = 64 * KiB;
/** A part ends at this size, whatever its last key; but a row is never cut. A part of a file has this size. */
const PART_BYTES_MAX = 4 * MiB;
/** On average, one in this many keys has a hash that ends a part that is large enough. */
const KEYS_PER_END = 64n;
/**
 * Pause between two slices of the work, in milliseconds. With it, a copy takes at most about half of the time of the
 * thread, so that most steps of searches need not wait.
 */
const REST_MS = 1;

/**
 * All parts of a snapshot: rows, texts, uploaded files, then the index.
 * @throws Error if an uploaded file is missing
 */
export async function* partsOf(snapshot: StoreSnapshot): AsyncGenerator<FilledPart> {
  for (const table of await snapshot.tables()) yield* tableParts(snapshot, table);
  for (const name of (await snapshot.uploads()).names) {
    if ((await snapshot.fileBytes(name)) === null) {
      throw new Error(`The file ${name} of a memory is missing: run mneme verify.`);
    }
    yield* fileParts(snapshot.file(name), (offset) => ({ kind: "upload", name, offset }));
  }
  for (const { path, pieces } of snapshot.index) {
    yield* fileParts(pieces(), (offset) => ({ kind: "index", path, offset }));
  }
}

async function* tableParts(snapshot: StoreSnapshot, of: CopiedTable): AsyncGenerator<FilledPart> {
  const { kind, table, columns, keys } = of;
  const places = keys.map((name) => columns.indexOf(name));
  let [lines, characters]: [string[], number] = [[], 0];
  const take = (): FilledPart => {
    const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
    const part = { kind, table, columns, rows: lines.length };
    [lines, characters] = [[], 0];
    return { part, bytes };
  };
  const slice = new TimeSlice(REST_MS);
  for await (const row of snapshot.rowsOf(of)) {
    const line = encodeRow(row);
    lines.push(line);
    characters += line.length + 1;
    const key = places.map((place) => row[place]).join();
    const isEnd = characters >= PART_BYTES_MIN && Bun.hash.wyhash(key) % KEYS_PER_END === 0n;
    if (isEnd || characters >= PART_BYTES_MAX) yield take();
    await slice.next();
  }
  if (lines.length > 0) yield take();
}

/** The parts of a file. An empty file has one empty part. */
async function* fileParts(
  pieces: AsyncIterable<Uint8Array>,
  toPart: (offset: number) => StorePart,
): AsyncGenerator<FilledPart> {
  let [waiting, length, offset]: [Uint8Array[], number, number] = [[], 0, 0];
  for await (const piece of pieces) {
    let rest = piece;
    while (length + rest.length > PART_BYTES_MAX) {
      const end = PART_BYTES_MAX - length;
      yield { part: toPart(offset), bytes: Buffer.concat([...waiting, rest.subarray(0, end)]) };
      rest = rest.subarray(end);
      [waiting, length, offset] = [[], 0, offset + PART_BYTES_MAX];
    }
    waiting.push(rest);
    length += rest.length;
  }
  if (length > 0 || offset === 0) yield { part: toPart(offset), bytes: Buffer.concat(waiting) };
}
