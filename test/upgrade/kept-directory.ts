// Data directories that earlier versions wrote, kept as ZIP archives, each with the answers that it must give.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { unzipSync, zipSync } from "fflate";
import { isRecord, type JsonRecord } from "../../src/kit/record.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { until } from "../support/until.ts";

/** Folder of the archives (`NAME.zip`) and of their answers (`NAME.json`). */
export const KEPT_FOLDER = join(import.meta.dir, "kept");
/** Files that belong to a running process, and the reserve, which has random bytes. */
const OF_PROCESS = /(^lock|^reserve|\.sock|-shm)$/;

/** Something that answers API calls. */
export interface Caller {
  call(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** A question, and the memories that answer it best. */
export interface AskedQuestion {
  readonly query: string;
  readonly mode: string;
  readonly limit: number;
  /** Ids of the memories of the first results, sorted, because equal texts may be ranked in any order. */
  readonly found: readonly string[];
}

/** What a server shows of a data directory. */
export interface Answers {
  /** Version of Mneme, and what is special about the directory. */
  readonly about: string;
  /** Fields of each memory, in the order of the list. */
  readonly memories: readonly Readonly<Record<string, unknown>>[];
  /** Ids of deleted memories. */
  readonly deleted: readonly string[];
  /** Texts of memories whose processing had not ended when the server was killed. */
  readonly unfinished: readonly string[];
  readonly searches: readonly AskedQuestion[];
  /** Contents of the messages of each chat, oldest first. */
  readonly chats: Readonly<Record<string, readonly string[]>>;
  /** Data of the events of each user, by the id of the event. */
  readonly events: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Settings of the project. */
  readonly project: Readonly<Record<string, unknown>>;
}

/** Fields of a memory that no later version changes. */
const FIELDS = [
  ...["id", "status", "content", "title", "type", "tags", "metadata", "userId", "language", "externalId"],
  ...["created_at", "updated_at", "expires_at", "source", "error"],
] as const;
/** Fields of a memory's `source` that later versions have added. */
const ADDED_SOURCE_FIELDS = ["is_kept"];
const PROJECT_FIELDS = ["id", "name", "plan", "retention_days", "smart_ingestion"] as const;

/** Names of the kept directories, oldest first. */
export function keptDirectories(): readonly string[] {
  return readdirSync(KEPT_FOLDER)
    .filter((name) => name.endsWith(".zip"))
    .map((name) => name.slice(0, -".zip".length))
    .sort(new Intl.Collator("en", { numeric: true }).compare);
}

/** Packs a data directory that no process uses. Returns the size of the archive in bytes. */
export function keep(name: string, dataDir: string, answers: Answers): number {
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !OF_PROCESS.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  const archive = zipSync(Object.fromEntries(files.map((path) => [relative(dataDir, path), readFileSync(path)])), {
    level: 9,
    mtime: new Date(1980, 0, 1),
  });
  mkdirSync(KEPT_FOLDER, { recursive: true });
  writeFileSync(join(KEPT_FOLDER, `${name}.zip`), archive);
  writeFileSync(join(KEPT_FOLDER, `${name}.json`), `${JSON.stringify(answers, null, 2)}\n`);
  return archive.length;
}

/** Unpacks a kept directory into a new folder. Returns the answers that it must give. */
export function unpack(name: string, dataDir: string): Answers {
  for (const [path, bytes] of Object.entries(unzipSync(readFileSync(join(KEPT_FOLDER, `${name}.zip`))))) {
    mkdirSync(dirname(join(dataDir, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, path), bytes, { mode: 0o600 });
  }
  return JSON.parse(readFileSync(join(KEPT_FOLDER, `${name}.json`), "utf8"));
}

/** What to ask a server for. The answers are in `Answers`. */
export interface Asked {
  readonly about: string;
  readonly deleted: readonly string[];
  readonly unfinished: readonly string[];
  readonly searches: readonly Omit<AskedQuestion, "found">[];
  readonly chats: readonly string[];
  readonly users: readonly string[];
}

/**
 * What a server shows now of what was recorded, when the upgrade has ended: all processing, and a change of the
 * embedding model. Unfinished texts must be completed by then.
 */
export async function answersOf(server: Caller, expected: Answers): Promise<Answers> {
  const { about, deleted, searches, chats, events } = expected;
  const list = async (query: string) => {
    const { body } = await server.call("GET", `/v1/memories?limit=100${query}`);
    return (body as { readonly data: readonly { readonly content: string }[] }).data.map(({ content }) => content);
  };
  const hasEnded = async () => {
    const { body } = await server.call("GET", "/v1/project/embedder");
    const { change } = body as { readonly change: { readonly state: string } | null };
    return change?.state !== "building" && (await list("&status=processing")).length === 0;
  };
  await until("the upgrade has ended", hasEnded);
  const completed = new Set(await list("&status=completed"));
  const unfinished = expected.unfinished.filter((content) => completed.has(content));
  const [chatIds, users] = [Object.keys(chats), Object.keys(events)];
  return ask(server, { about, deleted, unfinished, searches, chats: chatIds, users });
}

/** Asks a server. Memories with an `unfinished` text are left out. */
export async function ask(server: Caller, asked: Asked): Promise<Answers> {
  const get = async (path: string) => {
    const { status, body } = await server.call("GET", path);
    if (status !== 200) throw new Error(`GET ${path} was answered with ${status}: ${JSON.stringify(body)}`);
    return body as Readonly<Record<string, unknown>>;
  };
  const memories: Readonly<Record<string, unknown>>[] = [];
  for (let cursor = ""; ; ) {
    const page = await get(`/v1/memories?limit=100${cursor}`);
    const listed = page.data as readonly { readonly id: string; readonly content: string }[];
    for (const { id } of listed.filter(({ content }) => !asked.unfinished.includes(content))) {
      const memory = pick(await get(`/v1/memories/${id}`), FIELDS);
      memories.push(isRecord(memory.source) ? { ...memory, source: sourceOfThen(memory.source) } : memory);
    }
    if (page.cursor === null) break;
    cursor = `&cursor=${page.cursor}`;
  }
  const deleted: string[] = [];
  for (const id of asked.deleted) {
    if ((await server.call("GET", `/v1/memories/${id}`)).status === 404) deleted.push(id);
  }
  const searches: AskedQuestion[] = [];
  for (const { query, mode, limit } of asked.searches) {
    const { body } = await server.call("POST", "/v1/memories/search", { query, mode, limit });
    const { results } = body as { readonly results: readonly { readonly memory_id: string }[] };
    searches.push({ query, mode, limit, found: results.map(({ memory_id }) => memory_id).sort() });
  }
  const chats: Record<string, readonly string[]> = {};
  for (const id of asked.chats) {
    const { data } = await get(`/v1/chats/${id}/messages`);
    chats[id] = (data as readonly { readonly content: string }[]).map(({ content }) => content);
  }
  const events: Record<string, Record<string, unknown>> = {};
  for (const user of asked.users) {
    const { data } = await get(`/v1/users/${user}/events?limit=100`);
    const list = data as readonly { readonly id: string; readonly data: unknown }[];
    events[user] = Object.fromEntries(list.map((event) => [event.id, event.data]));
  }
  const project = pick(await get("/v1/project"), PROJECT_FIELDS);
  const { about, unfinished } = asked;
  return { about, memories, deleted, unfinished, searches, chats, events, project };
}

/**
 * The tables, indexes and triggers of the rows in a data directory, in which a server may run, without comments, whose
 * wording changes between versions. The last migration of an old directory must lead to the schema of a new one.
 */
export function schemaOf(dataDir: string): readonly (string | null)[] {
  const database = openDatabase(join(dataDir, "mneme.sqlite"));
  try {
    const all = database.prepare<{ sql: string | null }>("SELECT sql FROM sqlite_schema ORDER BY type, name").all({});
    return all.map(({ sql }) => sql?.replace(/--.*$/gm, "").replace(/\s+/g, " ") ?? null);
  } finally {
    database.close();
  }
}

function sourceOfThen(source: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(source).filter(([field]) => !ADDED_SOURCE_FIELDS.includes(field)));
}

function pick(body: Readonly<Record<string, unknown>>, fields: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(fields.filter((field) => body[field] !== undefined).map((field) => [field, body[field]]));
}
