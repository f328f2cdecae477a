// Moves the data of a data directory into an empty database. The source can be read meanwhile, and not changed. If a
// move is interrupted, the next run continues it.

import { MovedDatabase } from "../../stores/postgres/keeping/move.ts";
import type { MovedPublication } from "../../stores/postgres/keeping/publications.ts";
import { accepted } from "../accepted.ts";
import { ByteReader } from "../byte-reader.ts";
import type { Control, StreamFailure } from "../control.ts";
import { readCopy } from "../copy-stream.ts";
import { storeLayout } from "./layout.ts";
import { copyParts, digestOf, type Moved, type MoveOptions, MovePace, refuseDifferences } from "./move.ts";
import type { PackedPublication, PublicationLine, SkippedLine } from "./publications.ts";

/** Size of the publications that are stored in one transaction, in bytes, unless a single one is larger. */
const BATCH_BYTES = 2 * 1024 * 1024;

/**
 * Moves everything from a data directory to the database at `url`.
 * @throws UsageError, DatabaseError or Error with a message for the operator; then the source stays closed to changes,
 *   and another call continues the move
 */
export async function moveToPostgres(control: Control, url: string, options: MoveOptions): Promise<Moved> {
  const database = await MovedDatabase.openTarget(url, storeLayout());
  try {
    await database.refuseData();
    const { id } = (await (await accepted(control(request("POST", "/close")))).json()) as { readonly id: string };
    const progress = await database.begin(id);
    const pace = new MovePace(options);
    const { summary, parts } = await readCopy(await accepted(control(request("GET", "/backup"))));
    const writer = await database.writer();
    const state = { done: progress.parts, bytesEstimated: summary.bytes_estimated };
    const copied = await copyParts(parts, state, (part, number) => writer.write(part, number), pace);
    await writer.finish();
    const skipped = await movePublications(control, database, progress.lastPublication, summary.counts.memories, pace);
    const written = await database.copy(options.clock.now());
    refuseDifferences(copied.digest, await digestOf(written.parts, pace, copied.bytes));
    const publications = await database.countPublications();
    await database.end();
    const { memories, users, chats } = summary.counts;
    return { memories, users, chats, publications, skipped, bytes: pace.bytes };
  } finally {
    await database.close();
  }
}

/** Returns the number of memories without a publication. */
async function movePublications(
  control: Control,
  database: MovedDatabase,
  after: string,
  total: number,
  pace: MovePace,
): Promise<number> {
  const before = await database.countPublications();
  const response = await accepted(control(request("GET", `/publications?after=${encodeURIComponent(after)}`)));
  let [skipped, done, size]: [number, number, number] = [0, before, 0];
  let batch: MovedPublication[] = [];
  let place = after;
  for await (const { line, bytes } of publicationsIn(response)) {
    place = line.place;
    done += 1;
    if (line.type === "skipped") {
      skipped += 1;
      continue;
    }
    batch.push(unpacked(line, bytes));
    size += bytes.reduce((sum, { length }) => sum + length, 0);
    if (size < BATCH_BYTES) continue;
    await database.putPublications(batch, place);
    await pace.take("vectors", size, Math.min(1, done / Math.max(1, total)));
    [batch, size] = [[], 0];
  }
  await database.putPublications(batch, place);
  return skipped;
}

function unpacked(line: PublicationLine, bytes: readonly Uint8Array[]): MovedPublication {
  let at = line.texts.length;
  const vectors = line.vectors.map(({ fingerprint, parts }) => {
    const own = bytes.slice(at, at + parts.length);
    at += parts.length;
    return { fingerprint, parts: own };
  });
  const { memory_key: memoryKey, first_chunk_key: firstChunkKey } = line;
  return { memoryKey, firstChunkKey, texts: bytes.slice(0, line.texts.length), vectors };
}

async function* publicationsIn(response: Response): AsyncGenerator<PackedPublication> {
  const reader = new ByteReader(response.body);
  try {
    for (;;) {
      const text = await reader.line();
      if (text === null) throw new Error("The server stopped before all vectors were read; run the command again.");
      const line = JSON.parse(text) as PublicationLine | SkippedLine | StreamFailure | { readonly type: "end" };
      if (line.type === "error") throw new Error(line.message);
      if (line.type === "end") return;
      const sizes = line.type === "skipped" ? [] : [...line.texts, ...line.vectors.flatMap(({ parts }) => parts)];
      const bytes: Uint8Array[] = [];
      for (const size of sizes) bytes.push(await reader.take(size));
      yield { line, bytes };
    }
  } finally {
    await reader.cancel();
  }
}

function request(method: string, path: string): Request {
  return new Request(`http://mneme${path}`, { method });
}
