// A judged collection in a server of its own: how it gets in through the public interface, and how results are told apart.

import { type Client, isRecord } from "../../src/cli/client.ts";
import { importFile } from "../../src/cli/import.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { RunningServer } from "../../test/support/server.ts";
import { corpusFile } from "./collection.ts";

/** A collection may hold documents without text (two of Cranfield's 1,400), which no server takes. */
const REFUSED_SHARE_MAX = 0.01;

/**
 * Stores a collection and waits until all of it is searchable.
 * @param name of the collection, for messages.
 * @throws Error when more documents are refused than a sound collection has empty ones.
 */
export async function ingestCollection(server: RunningServer, name: string, folder: string): Promise<void> {
  process.stderr.write(`${name}: ingesting\n`);
  const { created, refused } = await importFile({
    file: corpusFile(folder),
    url: server.url,
    key: server.key,
    batch: LIMITS.memoriesPerBatch,
    userId: null,
    waits: true,
  });
  if (refused > created * REFUSED_SHARE_MAX) throw new Error(`${name}: ${refused} documents were refused`);
}

/** Which document of the collection each memory is, by memory id: read once from the list, since results name memories only. */
export async function documentIds(client: Client): Promise<ReadonlyMap<string, string>> {
  const documents = new Map<string, string>();
  let cursor: unknown = null;
  do {
    const after = typeof cursor === "string" ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const page = await client.send("GET", `/v1/memories?limit=${LIMITS.pageItems}${after}`);
    for (const memory of Array.isArray(page.data) ? page.data : []) {
      if (isRecord(memory)) documents.set(String(memory.id), String(memory.externalId));
    }
    cursor = page.cursor;
  } while (typeof cursor === "string");
  return documents;
}
