// Moves the data of a data directory into an empty database. The source can be read meanwhile, and not changed. If a
// move is interrupted, the next run continues it.

import type { Client } from "../../stores/postgres/client.ts";
import { beginMove, openTarget, refuseData } from "../../stores/postgres/copies/move.ts";
import {
  countPublications,
  type MovedPublication,
  putPublications,
} from "../../stores/postgres/copies/publications.ts";
import { DatabaseWriter } from "../../stores/postgres/copies/writer.ts";
import { readCopy } from "../control.ts";
import type { DataDirectory } from "../data-directory.ts";
import { framesOf } from "../frames.ts";
import { storeLayout } from "./layout.ts";
import { type Moved, type MoveOptions, type MovePace, move } from "./move.ts";
import type { PublicationLine, SkippedLine } from "./publications.ts";

/** Publications are stored in one transaction as soon as they have this size together, in bytes. */
const BATCH_BYTES = 2 * 1024 * 1024;

/**
 * Moves everything from a data directory to the database at `url`.
 * @throws UsageError, DatabaseError or Error with a message for the operator; then the source stays closed to changes,
 *   and another call continues the move
 */
export async function moveToPostgres({ ask }: DataDirectory, url: string, options: MoveOptions): Promise<Moved> {
  const database = await openTarget(url);
  const { client } = database;
  try {
    await refuseData(client);
    const { id } = (await (await ask("POST", "/close")).json()) as { readonly id: string };
    const progress = await beginMove(client, id);
    const copy = await readCopy(await ask("GET", "/backup"));
    const writer = await DatabaseWriter.open(database, storeLayout(), progress.parts);
    return await move(copy, writer, options, async (pace) => {
      const { memories } = copy.summary.counts;
      const skipped = await movePublications(ask, client, progress.lastPublication, memories, pace);
      return { publications: await countPublications(client), skipped };
    });
  } finally {
    await client.close();
  }
}

/** Copies publications. @param after place of the last one that is stored. @returns the number of skipped memories */
async function movePublications(
  ask: DataDirectory["ask"],
  client: Client,
  after: string,
  total: number,
  pace: MovePace,
): Promise<number> {
  let [skipped, done, size] = [0, await countPublications(client), 0];
  let batch: MovedPublication[] = [];
  let place = after;
  const response = await ask("GET", `/publications?after=${encodeURIComponent(after)}`);
  for await (const { value, bytes } of framesOf<PublicationLine | SkippedLine>(response)) {
    place = value.place;
    done += 1;
    if (value.type === "skipped") {
      skipped += 1;
      continue;
    }
    batch.push(unpacked(value, bytes));
    size += bytes.reduce((sum, { length }) => sum + length, 0);
    if (size < BATCH_BYTES) continue;
    await putPublications(client, batch, place);
    await pace.take("vectors", size, Math.min(1, done / Math.max(1, total)));
    [batch, size] = [[], 0];
  }
  await putPublications(client, batch, place);
  return skipped;
}

function unpacked(line: PublicationLine, bytes: readonly Uint8Array[]): MovedPublication {
  let at = line.texts;
  const vectors = line.vectors.map(({ fingerprint, parts }) => {
    const own = bytes.slice(at, at + parts);
    at += parts;
    return { fingerprint, parts: own };
  });
  const { memory_key: memoryKey, first_chunk_key: firstChunkKey } = line;
  return { memoryKey, firstChunkKey, texts: bytes.slice(0, line.texts), vectors };
}
