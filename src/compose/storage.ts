// Opens the stores of a data directory and repairs what a crash left behind.

import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { acceptLoss } from "../adapters/embedded/accepted-loss.ts";
import { EmbeddedChunkIndex } from "../adapters/embedded/chunk-index.ts";
import { takeSnapshot } from "../adapters/embedded/copies/snapshot.ts";
import { refuseUnfinishedRestore } from "../adapters/embedded/copies/writer.ts";
import { DiskReserve } from "../adapters/embedded/disk-reserve.ts";
import { Archive } from "../adapters/embedded/duckdb/archive.ts";
import { freeSpace } from "../adapters/embedded/free-space.ts";
import { verifyCopy } from "../adapters/embedded/index-copy.ts";
import type { IndexDependencies } from "../adapters/embedded/project-index.ts";
import { Quarantine } from "../adapters/embedded/quarantine.ts";
import type { IndexUsage } from "../adapters/embedded/shared/followed-index.ts";
import { addon } from "../adapters/native/addon.ts";
import { openSpool } from "../adapters/uploads/spool.ts";
import { memoryAttributes } from "../api/views.ts";
import type { Config } from "../config.ts";
import type { Fault } from "../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import { DEFAULT_SETTINGS } from "../domain/project.ts";
import type { IndexDefect, OnVerifyProgress } from "../domain/verification.ts";
import { removeUnreferencedFiles } from "../erasure/erasure.ts";
import type { Space } from "../ingest/model-space.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex, IndexFinding, VisibleMemory } from "../ports/chunk-index.ts";
import type { Coordination } from "../ports/coordination.ts";
import type { DiskSpace } from "../ports/disk-space.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { EmbedderIdentity, InstalledEmbedders } from "../ports/models.ts";
import type { TraceStore } from "../ports/trace-store.ts";
import type { Stores, Transactions } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import type { StoreHooks } from "../stores/context.ts";
import { StoreCopies } from "../stores/copies/copies.ts";
import { giveUpImports } from "../stores/copies/import.ts";
import { HIDDEN } from "../stores/project-rows.ts";
import { openStores, type SqliteStores } from "../stores/sqlite/stores.ts";
import { faultOfStore, lossError, StoreError, storeError } from "../stores/store-error.ts";
import { StoreQuarantine } from "../stores/store-quarantine.ts";
import { StoredTraces } from "../stores/traces.ts";
import { newWebhookSecret } from "../webhooks/signature.ts";
import type { Closers } from "./closers.ts";

/** Number of memories per page when a project is opened; other work continues between two pages. */
const PAGE_MEMORIES = 1_000;

/** The stores of record, the uploaded files, and a function that opens the index. */
export interface Storage {
  readonly stores: Stores;
  readonly transactions: Transactions;
  readonly files: UploadFiles;
  /** Opens the index for the vectors of these embedders. `countDamaged` is called with numbers of damaged passages. */
  readonly openIndex: (embedders: InstalledEmbedders, countDamaged?: (passages: number) => void) => Promise<ChunkIndex>;
  /**
   * The projects whose index is on this machine; the node opens them before it serves. null if no other node uses the
   * stores: then all projects are opened, and their indexes are compared with the rows.
   */
  readonly projectsHere: (() => Promise<readonly ProjectId[]>) | null;
  /** Number and size of the open indexes; null if all indexes are always open. */
  readonly indexUsage: (() => IndexUsage) | null;
  /** What the nodes on these stores agree on; null if there is only this process. */
  readonly coordination: Coordination | null;
  /** Size of the database in bytes; null if all data is in the data directory. */
  readonly databaseBytes: (() => Promise<number>) | null;
  /** What other threads need to read these rows on connections of their own; null if they cannot. */
  readonly readingThreads: Pick<SqliteStores, "changes" | "addNoted"> | null;
  /** Periodic work on these stores, for one node at a time. */
  readonly upkeep: readonly (() => Promise<void>)[];
  /** Free space on the disk with the index, and free memory. */
  readonly freeSpace: () => Promise<Space>;
  /**
   * Checks the indexes of all projects on copies, for a process that does not open them; null if there are no files to
   * copy.
   */
  readonly verifyIndexes: ((onProgress: OnVerifyProgress) => Promise<readonly IndexDefect[]>) | null;
  /** Exports, imports, copies, checks and repairs the stores; null if they cannot be copied. */
  readonly copies: StoreCopies | null;
  /** Refuses and allows changes while the data is moved; null if a node cannot do that for all others. */
  readonly closing: Closing | null;
  /** The sentence with which a server refuses to start, because changes are refused; null if they are not. */
  readonly whyClosed: () => Promise<string | null>;
  /** Finds what the stores hold of a memory, user or project; null if they cannot be searched. */
  readonly traces: TraceStore | null;
  /** Converts an error of these stores to the Fault that the caller gets; null if the caller gets status 500. */
  readonly explainFailure: (error: unknown) => Fault | null;
  readonly disk: DiskSpace;
}

/** Refuses and allows changes of the stores while their data is moved; reads go on. */
export interface Closing {
  /** Refuses changes. Returns an id: while it stays the same, nothing has changed. */
  closeToChanges(): Promise<string>;
  reopen(): Promise<void>;
}

/** Options of opening a storage. */
export interface StorageOptions extends StoreHooks {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Opens the data directory and locks it for this process until `closers` run.
 * @throws StoreError or NativeError with a sentence for the operator
 */
export async function openEmbeddedStorage(options: StorageOptions, closers: Closers): Promise<Storage> {
  const { config, clock, log, ...hooks } = options;
  createDirectory(config.dataDir);
  refuseUnfinishedRestore(config.dataDir);
  const lock = addon().lockDirectory(config.dataDir);
  closers.add(() => lock.release());
  const [rowsPath, textsPath] = [join(config.dataDir, "mneme.sqlite"), join(config.dataDir, "memories.duckdb")];
  const [projectsPath, uploadsPath] = [join(config.dataDir, "projects"), join(config.dataDir, "uploads")];
  refuseLostRows(rowsPath, [textsPath, projectsPath]);
  const quarantine = new StoreQuarantine(config.dataDir, clock.now());
  const acceptsLoss = config.acceptLoss;
  let archive: Archive | null = null;
  const stores = openStores({
    path: rowsPath,
    ownership: { log, quarantine, acceptsLoss },
    textsCommits: () => archive?.commits ?? 0,
    clock,
    newWebhookSecret,
    describe: memoryAttributes,
    ...hooks,
    onEffectFailure: (err) => log.error({ err }, "an effect of a committed transaction failed"),
  });
  closers.add(() => stores.close());
  const whyClosed = async () => (stores.isClosed() ? storeError("closed", rowsPath).message : null);
  closers.add(() => flushNoted({ stores, whyClosed }));
  const files = openSpool(uploadsPath, { clock, log });

  const disk = new DiskReserve({ path: join(config.dataDir, "reserve"), log });
  closers.add(disk.watch(clock));

  const linkFolder = join(config.dataDir, "snapshots");
  const copies = join(config.dataDir, "verifying");
  for (const folder of [linkFolder, copies]) rmSync(folder, { recursive: true, force: true }); // what a crash left

  if (isEmpty(textsPath) && !acceptsLoss) refuseLostTexts(textsPath, (await stores.memories.counts()).completed);
  const texts = await Archive.open({
    path: textsPath,
    log,
    inspection: { rows: stores.record, quarantine, acceptsLoss },
  });
  archive = texts;
  closers.add(() => texts.close());
  if (acceptsLoss) await acceptLoss(stores, texts, quarantine, { log, now: clock.now() });
  const write = stores.inTransaction;
  await giveUpImports({ write, clock }, 0); // a change, so it comes after both stores of record were compared
  const damagedFiles = new Quarantine(join(config.dataDir, "quarantine"), clock);
  damagedFiles.prune();
  const parts = { directory: projectsPath, archive: texts, quarantine: damagedFiles, log };
  const openIndex = indexOpener(stores, parts, closers);
  return {
    ...{ stores, transactions: stores.transactions, files, openIndex, disk },
    projectsHere: null,
    indexUsage: null,
    coordination: null,
    databaseBytes: null,
    readingThreads: stores,
    upkeep: [],
    explainFailure: (error) => {
      const fault = faultOfStore(error);
      disk.makeRoom(error);
      return fault;
    },
    verifyIndexes: (onProgress) =>
      verifyEach({ projects: async () => stores.accounts.projects(), memories: stores.memories }, (id, completed) =>
        verifyCopy({ ...parts, copies }, id, completed, (done, total) => onProgress("index", done, total)),
      ),
    closing: stores,
    whyClosed,
    traces: new StoredTraces(write, texts, { rows: "mneme.sqlite", texts: "memories.duckdb" }),
    copies: new StoreCopies({
      ...{ write, memories: stores.memories, archive: texts, files, quarantine, clock, newWebhookSecret },
      takeSnapshot: (withIndex) =>
        takeSnapshot({ stores, archive: texts, files, indexFolder: projectsPath, linkFolder }, withIndex),
      hidden: () => HIDDEN,
      setFilesAside: (names) => void quarantine.move(...names.map((name) => files.pathOf(name))),
      uploadNames: () => files.names(0),
      comparePages: stores.comparePages,
    }),
    freeSpace: () => freeSpace(config.dataDir),
  };
}

/**
 * Writes the last uses of keys and the counts of activity, which are in RAM, to the stores, unless these are closed.
 */
export async function flushNoted({ stores, whyClosed }: Pick<Storage, "stores" | "whyClosed">): Promise<void> {
  if ((await whyClosed()) !== null) return;
  await stores.accounts.flush();
  await stores.activity.flush();
}

/** The parts of an index that do not depend on the embedders. */
type LocalIndexDependencies = Pick<IndexDependencies, "directory" | "archive" | "quarantine" | "log">;

/**
 * Returns the function that opens the index of these stores.
 * @param closers close the index
 * @param create creates the index; default: an embedded one
 */
export function indexOpener(
  { accounts, projectModels, jobs }: Pick<Stores, "accounts" | "projectModels" | "jobs">,
  parts: LocalIndexDependencies,
  closers: Closers,
  create: (parts: IndexDependencies, embedders: InstalledEmbedders) => ChunkIndex = (all) =>
    new EmbeddedChunkIndex(all),
): Storage["openIndex"] {
  return async (embedders, countDamaged) => {
    const all: IndexDependencies = {
      ...parts,
      models: () => [embedders.default, ...embedders.ids.map((id) => embedders.get(id))],
      earlierModelOf: async (id) => installedEmbedder(embedders, (await projectModels.get(id))?.live ?? null),
      vectorIndexOf: async (id) => (await accounts.project(id))?.settings.vector_index ?? DEFAULT_SETTINGS.vector_index,
      ...(countDamaged !== undefined && { countDamaged }),
      reserveChunkKeys: (count) => jobs.reserveChunkKeys(count),
    };
    const index = create(all, embedders);
    closers.add(() => index.close());
    return index;
  };
}

/** The embedder with this id; null if it is not installed. */
export function installedEmbedder(embedders: InstalledEmbedders, id: string | null): EmbedderIdentity | null {
  return id !== null && embedders.ids.includes(id) ? embedders.get(id) : null;
}

/**
 * Creates the data directory, readable by its owner only.
 * @throws StoreError if that is not possible
 */
export function createDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOSPC") throw storeError("no_space", path, error);
    const isFile = code === "EEXIST" || code === "ENOTDIR";
    const why = isFile ? "it, or a part of its path, is a file" : "this user cannot create it";
    throw new StoreError("io", `${path} cannot be the data folder: ${why}. Give another one with --data-dir.`, error);
  }
}

// Refuses to start if the file with the rows is missing or empty although there are other stores. A new file would be
// an empty system of record, and everything else would be removed as surplus. A first start that was interrupted is not
// refused, because it creates this file before the others.
function refuseLostRows(path: string, others: readonly string[]): void {
  const left = others.filter((other) => !isEmpty(other));
  if (!isEmpty(path) || left.length === 0) return;
  throw lossError(path, `is missing or empty beside ${left.map((other) => basename(other)).join(" and ")}`);
}

// Refuses to start if the file with the texts is missing or empty although there are completed memories. A new, empty
// file would make all of them fail.
function refuseLostTexts(path: string, completed: number): void {
  if (completed > 0) throw lossError(path, `is missing or empty, and it has the texts of ${completed} memories`);
}

function isEmpty(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return true;
  return found.isDirectory() ? readdirSync(path).length === 0 : found.size === 0;
}

/** Repairs what a crash left behind: unreferenced files, leases of earlier processes, gaps in the indexes. */
export async function repair(
  { stores, files, projectsHere }: Pick<Storage, "stores" | "files" | "projectsHere">,
  index: ChunkIndex,
  log: Log,
): Promise<void> {
  const unreferenced = await removeUnreferencedFiles(files, stores.memories, 0);
  if (unreferenced > 0) log.info({ files: unreferenced }, "uploaded files that no memory refers to were removed");
  await stores.jobs.voidLeases(); // this process holds the lock of the directory, so no process works on these jobs
  if (projectsHere !== null) {
    for (const projectId of await projectsHere()) (await index.project(projectId))[Symbol.dispose]();
    return;
  }
  for (const projectId of await stores.accounts.projects()) await reconcile(projectId, stores, index, log);
}

/**
 * Puts memories with incomplete index entries back to `processing`. They are searchable again when they have been
 * processed.
 */
async function reconcile(projectId: ProjectId, stores: Stores, index: ChunkIndex, log: Log): Promise<void> {
  const result = await index.reconcile(projectId, visiblePages(projectId, stores.memories));
  for (const repaired of result.repairs) log.warn({ projectId }, repaired);
  if (result.removed > 0) log.info({ projectId, memories: result.removed }, "leftovers of a crash were removed");
  if (result.incomplete.length === 0) return;
  log.warn({ projectId, memories: result.incomplete.length }, "memories missing from the index are indexed again");
  await stores.jobs.reopen(result.incomplete);
}

/** Runs a check for each project, and returns the defects of all. */
export async function verifyEach(
  { projects, memories }: { readonly projects: () => Promise<readonly ProjectId[]> } & Pick<Stores, "memories">,
  verify: (
    id: ProjectId,
    completed: AsyncGenerator<readonly VisibleMemory[]>,
  ) => Promise<readonly Pick<IndexFinding, "kind" | "count" | "detail">[]>,
): Promise<readonly IndexDefect[]> {
  const defects: IndexDefect[] = [];
  for (const project of await projects()) {
    const findings = await verify(project, visiblePages(project, memories));
    defects.push(...findings.map(({ kind, count, detail }) => ({ project, kind, count, detail })));
  }
  return defects;
}

/** The memories of a project that searches may see, in pages. The next page is read while one is used. */
export async function* visiblePages(
  projectId: ProjectId,
  memories: Pick<MemoryStore, "visible">,
): AsyncGenerator<readonly VisibleMemory[]> {
  const read = async (afterKey: MemoryKey | null) => memories.visible(projectId, { afterKey, limit: PAGE_MEMORIES });
  let reading: Promise<readonly VisibleMemory[]> | null = read(null);
  while (reading !== null) {
    const page: readonly VisibleMemory[] = await reading;
    const last = page.at(-1);
    reading = page.length < PAGE_MEMORIES || last === undefined ? null : read(last.memoryKey);
    void Promise.allSettled([reading]); // a caller that stops early does not get the failure of the next page
    if (page.length > 0) yield page;
  }
}
