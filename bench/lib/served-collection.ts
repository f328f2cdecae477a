// Serves a judged collection: ingests it through the public API, checks a kept data directory, and maps results to the
// documents of the collection.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../../src/cli/client.ts";
import { importFile, memoryOfLine } from "../../src/cli/import.ts";
import { Progress } from "../../src/cli/terminal.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";
import { type RunningServer, startServer } from "../../test/support/server.ts";
import type { DocumentOf } from "./ask.ts";
import { corpusFile } from "./beir.ts";
import { SHARED_DATA } from "./collection.ts";
import { EMBEDDER_ID } from "./models.ts";
import { readSessions, type Session, turnAt } from "./sessions.ts";
import { untilSettled } from "./storing.ts";

/** The content that a server must have. */
export interface ServerContent {
  /** Name of the content that messages show. */
  readonly name: string;
  /** Name of its data directory within the folder of data directories. */
  readonly directory: string;
  /** The `externalId` of every memory. */
  readonly externalIds: ReadonlySet<string>;
  /** Stores the content on the server and waits until all of it is searchable. */
  readonly fill: (server: RunningServer) => Promise<void>;
}

/**
 * Starts a server with the given content. It uses the data directory of an earlier run, or fills a new one.
 * @param data folder of data directories; null for a temporary directory, which is removed when the server stops
 * @param environment additional environment variables of the server
 * @throws UsageError if a kept directory has other or incomplete content; Error if the server refuses something. The
 *   server is stopped then.
 */
export async function serve(
  holding: ServerContent,
  data: string | null,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const dataDir = data === null ? undefined : join(data, holding.directory);
  const isKept = dataDir !== undefined && existsSync(join(dataDir, "mneme.sqlite"));
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true });
  const server = await startServer({
    ...(dataDir === undefined ? {} : { dataDir }),
    environment: { MNEME_LOG_LEVEL: "warn", MNEME_EMBEDDER: EMBEDDER_ID, MNEME_QUERY_CACHE: "off", ...environment },
  });
  try {
    if (!isKept) {
      process.stderr.write(`${holding.name}: ingesting\n`);
      await holding.fill(server);
    }
    await check(holding, server);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** The content of a server with one collection. */
export async function collectionContent(name: string, folder: string): Promise<ServerContent> {
  return {
    name,
    directory: name,
    externalIds: await externalIdsOfCollection(folder),
    fill: (server) => ingestCollection(server, folder),
  };
}

/**
 * Stores a collection and waits until all of it is searchable. The turns of a conversation are stored as one memory of
 * type `conversation` per session, as an application would store them.
 */
export async function ingestCollection(server: RunningServer, folder: string): Promise<void> {
  const sessions = await readSessions(corpusFile(folder));
  if (sessions === null) await ingestFile(server, corpusFile(folder));
  else await ingestLines(server, sessions.map(memoryLine));
}

/** Stores memories or documents, each a JSON line, and waits until all of them are searchable. */
export async function ingestLines(server: RunningServer, lines: readonly string[]): Promise<void> {
  const made = mkdtempSync(join(tmpdir(), "mneme-lines-"));
  try {
    const file = join(made, "lines.jsonl");
    writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
    await ingestFile(server, file);
  } finally {
    rmSync(made, { recursive: true });
  }
}

async function ingestFile(server: RunningServer, file: string): Promise<void> {
  const { url, key } = server;
  await importFile({ file, url, key, batch: LIMITS.memoriesPerBatch, userId: null, waits: true });
}

function memoryLine({ externalId, userId, content }: Session): string {
  return JSON.stringify({ content, type: "conversation", externalId, userId });
}

// A collection may contain documents without text (two of Cranfield's 1,400), which a server refuses to store.
async function externalIdsOfCollection(folder: string): Promise<ReadonlySet<string>> {
  const sessions = await readSessions(corpusFile(folder));
  if (sessions !== null) return new Set(sessions.map(({ externalId }) => externalId));
  const externalIds = new Set<string>();
  for await (const line of readLines(corpusFile(folder))) {
    const document: unknown = JSON.parse(line.text);
    if (!isRecord(document) || (document.text === "" && !document.title)) continue;
    const { content, externalId } = memoryOfLine(line.text, null);
    if (String(content).trim() !== "") externalIds.add(String(externalId));
  }
  return externalIds;
}

async function check({ name, externalIds }: ServerContent, server: RunningServer): Promise<void> {
  const client = new Client(server.url, server.key);
  // when a server starts, it continues interrupted indexing, and indexes again if the index format is new
  const progress = new Progress(`${name}: waiting until everything is searchable`);
  await untilSettled(client, () => progress.show(null, ""));
  const found = await completedMemories(client);
  const missing = new Set(externalIds);
  let foreign = 0;
  for (const externalId of found.values()) if (!missing.delete(externalId)) foreign++;
  process.stderr.write(`${name}: ${found.size} memories in ${server.dataDir}\n`);
  if (missing.size === 0 && foreign === 0) return;
  throw new UsageError(
    `${server.dataDir} must contain the ${externalIds.size} memories of ${name}, but ${missing.size} of them are missing and ` +
      `it has ${foreign} others. Remove the folder; the next run fills it again.`,
  );
}

/** Maps a passage to a document of the collection, by the memory's `externalId` and the passage's start in it. */
export type DocumentAt = (externalId: string, start: number) => string;

/** Maps passages to documents. In sessions, each turn is a document; otherwise the memory is the document. */
export async function documentsAt(folder: string): Promise<DocumentAt> {
  const sessions = new Map((await readSessions(corpusFile(folder)))?.map((session) => [session.externalId, session]));
  return (externalId, start) => {
    const session = sessions.get(externalId);
    return session === undefined ? externalId : turnAt(session, start);
  };
}

/** Maps results to documents. Reads the list of memories once, because a result has only the id of its memory. */
export async function documentNames(client: Client, folder: string): Promise<DocumentOf> {
  const documentAt = await documentsAt(folder);
  const memoryOf = await memoryNames(client);
  return (result) => {
    const chunk = isRecord(result.metadata) ? result.metadata._chunk : undefined;
    return documentAt(memoryOf(result), isRecord(chunk) ? Number(chunk.start) : 0);
  };
}

/** Maps results to the `externalId` of their memories. */
export async function memoryNames(client: Client): Promise<DocumentOf> {
  const externalIds = await completedMemories(client);
  return (result) => externalIds.get(String(result.memory_id)) ?? `unknown ${String(result.memory_id)}`;
}

// `externalId` by memory id.
async function completedMemories(client: Client): Promise<ReadonlyMap<string, string>> {
  const externalIds = new Map<string, string>();
  let cursor: unknown = null;
  do {
    const after = typeof cursor === "string" ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const page = await client.send("GET", `/v1/memories?status=completed&limit=${LIMITS.pageItems}${after}`);
    for (const memory of Array.isArray(page.data) ? page.data : []) {
      if (isRecord(memory)) externalIds.set(String(memory.id), String(memory.externalId));
    }
    cursor = page.cursor;
  } while (typeof cursor === "string");
  return externalIds;
}

/** Book passages of about 900 characters, in BEIR format. */
export const PASSAGES_FILE = join(SHARED_DATA, "scale/passages_132k.jsonl.gz");

/**
 * The content of a server with the first passages of a file.
 * @throws UsageError if the file does not exist; Error on a line without an id
 */
export async function passagesContent(file: string, countMax: number): Promise<ServerContent> {
  if (!existsSync(file)) throw new UsageError(`${file} does not exist; give a file of passages with --passages.`);
  const lines: string[] = [];
  const externalIds = new Set<string>();
  for await (const line of readLines(file)) {
    if (lines.length >= countMax) break;
    const passage: unknown = JSON.parse(line.text);
    if (!isRecord(passage) || passage._id === undefined) throw new Error(`${file}: line ${line.number} has no _id`);
    externalIds.add(String(passage._id));
    lines.push(line.text);
  }
  return {
    name: `${lines.length} passages`,
    directory: `passages-${lines.length}`,
    externalIds,
    fill: (server) => ingestLines(server, lines),
  };
}
