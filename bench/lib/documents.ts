// Documents of a BEIR corpus, and the time that a server takes to make them searchable.

import { firstPassages } from "../../src/bench/beir.ts";
import { Client } from "../../src/cli/client.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { systemClock } from "../../src/kit/clock.ts";
import type { RunningServer } from "../../test/support/server.ts";

/** Interval between two looks whether all memories are completed. */
const POLL_MS = 50;

/** A document to store. */
export interface Document {
  readonly title: string;
  readonly content: string;
}

/** Reads the first documents of a corpus, JSONL (.gz), without those that have no text. */
export async function readDocuments(file: string, count: number): Promise<readonly Document[]> {
  const passages = await firstPassages(file, count);
  return passages.map(({ title, content }) => ({ title: title ?? "", content }));
}

/** Seconds from the first request until no memory is processing any more. */
export async function ingestSeconds(server: RunningServer, documents: readonly Document[]): Promise<number> {
  const client = new Client(server.url, server.key);
  const startedAt = performance.now();
  for (let first = 0; first < documents.length; first += LIMITS.memoriesPerBatch) {
    const memories = documents.slice(first, first + LIMITS.memoriesPerBatch);
    await client.send("POST", "/v1/memories/batch", { memories });
  }
  for (;;) {
    const { data } = await client.send("GET", "/v1/memories?status=processing&limit=1");
    if (Array.isArray(data) && data.length === 0) return (performance.now() - startedAt) / 1000;
    await systemClock.sleep(POLL_MS);
  }
}
