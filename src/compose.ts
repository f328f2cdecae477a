// Which concrete parts make up a server, and in which order they open and close: the only file that names an adapter.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedChunkIndex } from "./adapters/embedded/chunk-index.ts";
import { Archive } from "./adapters/embedded/duckdb/archive.ts";
import { lockDirectory } from "./adapters/embedded/native/core.ts";
import { SqliteAccountStore } from "./adapters/embedded/sqlite/account-store.ts";
import { openDatabase } from "./adapters/embedded/sqlite/database.ts";
import { SqliteMemoryStore } from "./adapters/embedded/sqlite/memory-store.ts";
import { faultOfStore, StoreError } from "./adapters/embedded/store-error.ts";
import { createLanes, type LaneStatus } from "./adapters/inference/lanes.ts";
import { createReader } from "./adapters/reading/reader-pool.ts";
import { type App, createApp } from "./api/app.ts";
import { memoryOperations } from "./api/memories.ts";
import type { Answer } from "./api/operation.ts";
import type { Config } from "./config.ts";
import { type ProjectId, timeOrderedId } from "./domain/ids.ts";
import { IngestWorker } from "./ingest/worker.ts";
import type { Clock } from "./kit/clock.ts";
import type { Log } from "./kit/log.ts";
import type { AccountStore } from "./ports/account-store.ts";
import type { ChunkIndex } from "./ports/chunk-index.ts";
import { MemoryService } from "./services/memories.ts";
import { SearchService } from "./services/search.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Deleted memories keep their texts this long (the interface's default of `retention_days`). */
const RETENTION_MS = 30 * DAY_MS;

/** A running program. */
export interface Service {
  readonly handle: App;
  /** Resolves when the models answer; rejects when they never will. */
  readonly ready: Promise<void>;
  /** Drains jobs, flushes and closes the stores. */
  close(): Promise<void>;
  /** The admin key, when this start made it: the only time that it is known. */
  readonly firstKey: string | null;
}

/**
 * Opens stores and models and puts the server together. Repairs what a crash or damage left behind before it resolves;
 * models may still be loading.
 * @throws StoreError, NativeError or ModelError with a sentence for the operator when something cannot be opened; what
 *   was opened before it is closed again.
 */
export async function compose(parts: {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
}): Promise<Service> {
  const opened = new Closers();
  try {
    return await open(parts, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function open(
  { config, log, clock }: { readonly config: Config; readonly log: Log; readonly clock: Clock },
  opened: Closers,
): Promise<Service> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(config.dataDir);
  opened.add(() => lock.release());
  const database = openDatabase(join(config.dataDir, "mneme.sqlite"));
  opened.add(() => database.close());
  const memories = new SqliteMemoryStore({ database, clock });
  const accounts = new SqliteAccountStore({ database, clock });
  const archivePath = join(config.dataDir, "memories.duckdb");
  if (!existsSync(archivePath)) refuseLostTexts(archivePath, memories.counts().completed);
  const archive = await Archive.open({ path: archivePath, log });
  opened.add(() => archive.close());

  const lanes = await createLanes({ modelsDir: config.modelsDir, lanes: config.lanes, log });
  opened.add(() => lanes.close());
  const preparer = createReader({ modelsDir: config.modelsDir, log });
  opened.add(() => preparer.close());

  const index = new EmbeddedChunkIndex({
    directory: join(config.dataDir, "projects"),
    archive,
    dimensions: lanes.dimensions,
    fingerprint: lanes.fingerprint,
    hnswMinChunks: config.hnswMinChunks,
    reserveChunkKeys: (count) => memories.reserveChunkKeys(count),
  });
  opened.add(() => index.close());

  memories.voidLeases(); // this process holds the directory, so nobody works on them
  const defaultProject = accounts.defaultProject();
  for (const projectId of accounts.projects()) await reconcile(projectId, index, memories, log);
  const firstKey = admitOperator(accounts, defaultProject, config.adminKey);

  const worker = new IngestWorker({
    memories,
    index,
    preparer,
    embedder: lanes,
    clock,
    log,
    retentionMs: RETENTION_MS,
  });
  opened.add(() => worker.stop());
  worker.start();

  const ready = lanes.ready().catch((error: unknown) => {
    // The public sentence names no file; whoever starts the server needs it.
    const reason = error instanceof Error && error.cause !== undefined ? ` ${String(error.cause)}` : "";
    throw new Error(`${error instanceof Error ? error.message : String(error)}${reason}`, { cause: error });
  });
  ready.catch((err: unknown) => log.debug({ err }, "the models did not become ready"));
  const handle = createApp({
    operations: memoryOperations({
      memories: new MemoryService({ memories, index, wakeIngest: () => worker.wake() }),
      search: new SearchService({ index, memories, embedder: lanes, reranker: lanes, clock }),
      progressOf: (memory) => worker.progressOf(memory.key),
      clock,
    }),
    public: {
      health: () => ({ status: 200, body: { status: "ok" } }),
      ready: () => readiness(lanes.status().lanes),
    },
    explainFailure: faultOfStore,
    authenticate: (secret) => accounts.authenticate(secret),
    newRequestId: () => timeOrderedId(clock.now(), crypto.getRandomValues(new Uint8Array(10))),
    log,
  });
  return { handle, ready, firstKey, close: () => opened.close() };
}

// An archive made anew would turn every completed memory into a failed one without its text.
function refuseLostTexts(path: string, completed: number): void {
  if (completed === 0) return;
  throw new StoreError(
    "damaged",
    `${path} is missing, and ${completed} memories have their texts in it: restore it from a backup.`,
  );
}

// Stores are open as long as the process lives; models come and go.
function readiness(lanes: readonly LaneStatus[]): Answer {
  const isReady = lanes.some(({ status }) => status === "up" || status === "draining");
  const body = { status: isReady ? "ready" : "waiting for the models", lanes: lanes.map(laneView) };
  return { status: isReady ? 200 : 503, body };
}

// What operators see of a lane; why it refused its models stands in the log, with the path.
function laneView({ name, status, restarts, rssBytes, provider }: LaneStatus): object {
  return { name, status, restarts, rss_bytes: rssBytes, provider };
}

// Memories whose index entries are incomplete go through the pipeline again: not searchable until they are whole.
async function reconcile(
  projectId: ProjectId,
  index: ChunkIndex,
  memories: SqliteMemoryStore,
  log: Log,
): Promise<void> {
  const found = await index.reconcile(projectId, memories.visible(projectId));
  for (const repair of found.repairs) log.warn({ projectId }, repair);
  if (found.removed > 0) log.info({ projectId, memories: found.removed }, "leftovers of a crash were removed");
  if (found.incomplete.length === 0) return;
  log.warn({ projectId, memories: found.incomplete.length }, "memories missing from the index are indexed again");
  memories.reopen(found.incomplete);
}

// A key of the operator's choice, or a new one on the first start; returns the new one, to be shown once.
function admitOperator(accounts: AccountStore, projectId: ProjectId, adminKey: string | null): string | null {
  if (adminKey === null && accounts.hasKeys(projectId)) return null;
  const secret = adminKey ?? `ctx_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;
  accounts.addKey(projectId, { secret, name: "admin", scopes: ["*", "admin"] });
  return adminKey === null ? secret : null;
}

/** What was opened, closed in reverse order, each whatever the others do. */
class Closers {
  #closers: (() => void | Promise<void>)[] = [];

  add(closer: () => void | Promise<void>): void {
    this.#closers.push(closer);
  }

  /** Throws the first failure after all were tried. */
  async close(): Promise<void> {
    const closers = this.#closers.reverse();
    this.#closers = [];
    const failures: unknown[] = [];
    for (const closer of closers) {
      try {
        await closer();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
