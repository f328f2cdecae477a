// A judged collection in a server of its own: how it gets in through the public interface, and how results are told apart.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, isRecord, type JsonRecord } from "../../src/cli/client.ts";
import { importFile } from "../../src/cli/import.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { RunningServer } from "../../test/support/server.ts";
import { corpusFile } from "./collection.ts";
import { readSessions, type Session, turnAt } from "./sessions.ts";

/** A collection may hold documents without text (two of Cranfield's 1,400), which no server takes. */
const REFUSED_SHARE_MAX = 0.01;

/**
 * Stores a collection and waits until all of it is searchable. Turns of conversations are stored by sessions, one memory of
 * type `conversation` each, as whoever keeps conversations stores them.
 * @param name of the collection, for messages.
 * @throws Error when more documents are refused than a sound collection has empty ones.
 */
export async function ingestCollection(server: RunningServer, name: string, folder: string): Promise<void> {
  process.stderr.write(`${name}: ingesting\n`);
  const sessions = await readSessions(corpusFile(folder));
  const made = sessions === null ? null : mkdtempSync(join(tmpdir(), "mneme-sessions-"));
  try {
    const file = made === null ? corpusFile(folder) : join(made, "sessions.jsonl");
    if (sessions !== null) writeFileSync(file, sessions.map((session) => `${memoryLine(session)}\n`).join(""));
    const { created, refused } = await importFile({
      file,
      url: server.url,
      key: server.key,
      batch: LIMITS.memoriesPerBatch,
      userId: null,
      waits: true,
    });
    if (refused > created * REFUSED_SHARE_MAX) throw new Error(`${name}: ${refused} documents were refused`);
  } finally {
    if (made !== null) rmSync(made, { recursive: true });
  }
}

function memoryLine({ externalId, userId, content }: Session): string {
  return JSON.stringify({ content, type: "conversation", externalId, userId });
}

/** Which document of the collection a result of a search shows. */
export type DocumentOf = (result: JsonRecord) => string;

/**
 * Tells results apart. Memories are read once from the list, since results name them by their ids only; of sessions, results
 * are turns by where their passages begin.
 */
export async function documentNames(client: Client, folder: string): Promise<DocumentOf> {
  const sessions = new Map((await readSessions(corpusFile(folder)))?.map((session) => [session.externalId, session]));
  const externalIds = await externalIdsOf(client);
  return (result) => {
    const externalId = externalIds.get(String(result.memory_id)) ?? `unknown ${String(result.memory_id)}`;
    const session = sessions.get(externalId);
    if (session === undefined) return externalId;
    const chunk = isRecord(result.metadata) ? result.metadata._chunk : undefined;
    return turnAt(session, isRecord(chunk) ? Number(chunk.start) : 0);
  };
}

async function externalIdsOf(client: Client): Promise<ReadonlyMap<string, string>> {
  const externalIds = new Map<string, string>();
  let cursor: unknown = null;
  do {
    const after = typeof cursor === "string" ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const page = await client.send("GET", `/v1/memories?limit=${LIMITS.pageItems}${after}`);
    for (const memory of Array.isArray(page.data) ? page.data : []) {
      if (isRecord(memory)) externalIds.set(String(memory.id), String(memory.externalId));
    }
    cursor = page.cursor;
  } while (typeof cursor === "string");
  return externalIds;
}
