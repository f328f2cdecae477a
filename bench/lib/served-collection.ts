// A judged collection in a server of its own: how it gets in through the public interface, how a kept data directory is
// checked for it, and how results are told apart.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, isRecord, type JsonRecord } from "../../src/cli/client.ts";
import { importFile, memoryOfLine } from "../../src/cli/import.ts";
import { readLines } from "../../src/cli/lines.ts";
import { Progress } from "../../src/cli/terminal.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { type RunningServer, startServer } from "../../test/support/server.ts";
import { corpusFile } from "./collection.ts";
import { readSessions, type Session, turnAt } from "./sessions.ts";

/** How often a bench that waits asks the server. */
const POLL_MS = 500;

/** What a server is to hold. */
export interface Holding {
  /** For messages. */
  readonly name: string;
  /** Under the folder of kept data; letters that a folder can have. */
  readonly directory: string;
  /** The `externalId` of everything that it is to hold. */
  readonly externalIds: ReadonlySet<string>;
  /** Stores it and waits until all of it is searchable. */
  readonly fill: (server: RunningServer) => Promise<void>;
}

/**
 * A server that holds what it should: one that is filled now, or one over the directory that an earlier run kept.
 * @param data folder of kept data directories; null: the server's is removed when it stops.
 * @param environment more of the server's.
 * @throws UsageError when a kept directory holds something else or not all of it; Error when something is refused. The
 *   server is stopped then.
 */
export async function serve(
  holding: Holding,
  data: string | null,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const dataDir = data === null ? undefined : join(data, holding.directory);
  const isKept = dataDir !== undefined && existsSync(join(dataDir, "mneme.sqlite"));
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true });
  const server = await startServer({
    ...(dataDir === undefined ? {} : { dataDir }),
    environment: { MNEME_LOG_LEVEL: "warn", ...environment },
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

/** A collection as what a server is to hold. */
export async function collectionHolding(name: string, folder: string): Promise<Holding> {
  return {
    name,
    directory: name,
    externalIds: await externalIdsOfCollection(folder),
    fill: (server) => ingestCollection(server, folder),
  };
}

/**
 * Stores a collection and waits until all of it is searchable. Turns of conversations are stored by sessions, one memory of
 * type `conversation` each, as whoever keeps conversations stores them.
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

// A collection may hold documents without text (two of Cranfield's 1,400), which no server takes.
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

async function check({ name, externalIds }: Holding, server: RunningServer): Promise<void> {
  const client = new Client(server.url, server.key);
  await untilSettled(name, client);
  const found = await completedMemories(client);
  const missing = new Set(externalIds);
  let foreign = 0;
  for (const externalId of found.values()) if (!missing.delete(externalId)) foreign++;
  process.stderr.write(`${name}: ${found.size} memories in ${server.dataDir}\n`);
  if (missing.size === 0 && foreign === 0) return;
  throw new UsageError(
    `${server.dataDir} is to hold the ${externalIds.size} memories of ${name}: ${missing.size} of them are not there, and ` +
      `${foreign} others are. Remove the folder, and it is filled anew.`,
  );
}

// A server that was stopped while it indexed, or that indexes anew in another format, goes on when it starts.
async function untilSettled(name: string, client: Client): Promise<void> {
  const progress = new Progress(`${name}: waiting until everything is searchable`);
  for (;;) {
    const { data } = await client.send("GET", "/v1/memories?status=processing&limit=1");
    if (Array.isArray(data) && data.length === 0) return;
    progress.show(null, "");
    await client.clock.sleep(POLL_MS);
  }
}

/** Which document of the collection a result of a search shows. */
export type DocumentOf = (result: JsonRecord) => string;

/** Which document of the collection a passage belongs to, by the memory's `externalId` and where in it the passage begins. */
export type DocumentAt = (externalId: string, start: number) => string;

/** Tells passages apart: of sessions each is a turn, of anything else the memory is the document. */
export async function documentsAt(folder: string): Promise<DocumentAt> {
  const sessions = new Map((await readSessions(corpusFile(folder)))?.map((session) => [session.externalId, session]));
  return (externalId, start) => {
    const session = sessions.get(externalId);
    return session === undefined ? externalId : turnAt(session, start);
  };
}

/** Tells results apart. Memories are read once from the list, since results name them by their ids only. */
export async function documentNames(client: Client, folder: string): Promise<DocumentOf> {
  const documentAt = await documentsAt(folder);
  const memoryOf = await memoryNames(client);
  return (result) => {
    const chunk = isRecord(result.metadata) ? result.metadata._chunk : undefined;
    return documentAt(memoryOf(result), isRecord(chunk) ? Number(chunk.start) : 0);
  };
}

/** Tells results apart by the `externalId` of their memories. */
export async function memoryNames(client: Client): Promise<DocumentOf> {
  const externalIds = await completedMemories(client);
  return (result) => externalIds.get(String(result.memory_id)) ?? `unknown ${String(result.memory_id)}`;
}

// `externalId` by id
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
