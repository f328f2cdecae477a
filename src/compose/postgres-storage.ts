// Opens the stores on PostgreSQL, and the index on this machine. Rows and texts are in the database; the data directory
// has the index, which is derived, and uploaded files until they are published.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RATE_WINDOW_MS } from "../account/rate-limits.ts";
import { DiskReserve } from "../adapters/embedded/disk-reserve.ts";
import { freeSpace } from "../adapters/embedded/free-space.ts";
import { type IndexCopyDependencies, verifyCopy } from "../adapters/embedded/index-copy.ts";
import { Quarantine } from "../adapters/embedded/quarantine.ts";
import { FollowedChunkIndex, type IndexUsage } from "../adapters/embedded/shared/followed-index.ts";
import type { FollowDependencies } from "../adapters/embedded/shared/followed-project.ts";
import { addon } from "../adapters/native/addon.ts";
import { SharedSpool } from "../adapters/uploads/shared-spool.ts";
import { openSpool } from "../adapters/uploads/spool.ts";
import { memoryAttributes } from "../api/views.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { IndexDefect, OnVerifyProgress } from "../domain/verification.ts";
import type { Clock } from "../kit/clock.ts";
import { type InstalledEmbedders, modelIdOf } from "../ports/models.ts";
import { StoreCopies } from "../stores/copies/copies.ts";
import { giveUpImports, IMPORT_MS_MAX } from "../stores/copies/import.ts";
import { DatabaseSnapshot } from "../stores/postgres/copies/snapshot.ts";
import { faultOfDatabase } from "../stores/postgres/database-error.ts";
import { openPostgresStores, type PostgresStores } from "../stores/postgres/stores.ts";
import { faultOfStore, StoreError } from "../stores/store-error.ts";
import { StoreQuarantine } from "../stores/store-quarantine.ts";
import { StoredTraces } from "../stores/traces.ts";
import { newWebhookSecret } from "../webhooks/signature.ts";
import type { Closers } from "./closers.ts";
import { identityOf, sharedCoordination } from "./coordination.ts";
import { storeLayout } from "./migration/layout.ts";
import {
  createDirectory,
  flushNoted,
  indexOpener,
  installedEmbedder,
  openEmbeddedStorage,
  type Storage,
  type StorageOptions,
  verifyEach,
  visiblePages,
} from "./storage.ts";

/** Name of the file in the data directory with the id of the database that its index belongs to. */
const DATABASE_ID = "postgres-store";

/** Name of the file in the data directory with the id of this node. */
const NODE_ID = "node-id";

const NOTHING_OPEN: IndexUsage = { projects: 0, bytes: 0, closed: 0 };

/** Opens the storage that the configuration names: embedded, or on PostgreSQL. */
export function openStorage(options: StorageOptions, closers: Closers): Promise<Storage> {
  return options.config.store === null ? openEmbeddedStorage(options, closers) : openPostgresStorage(options, closers);
}

/**
 * Opens the database, which other nodes may use too, and locks the data directory, until `closers` run.
 * @throws DatabaseError, StoreError or NativeError if the database or the directory cannot be used
 */
async function openPostgresStorage(options: StorageOptions, closers: Closers): Promise<Storage> {
  const { config, clock, log, ...hooks } = options;
  const { dataDir, store: url } = config;
  invariant(url !== null, "a storage on PostgreSQL was opened without its address");
  createDirectory(dataDir);
  const lock = addon().lockDirectory(dataDir);
  closers.add(() => lock.release());
  if (existsSync(join(dataDir, "mneme.sqlite"))) {
    throw new StoreError(
      "lost",
      `${dataDir} has an embedded store: remove MNEME_STORE to use it, or give another folder with --data-dir.`,
    );
  }
  const stores = await openPostgresStores({
    url,
    nodeId: nodeIdOf(join(dataDir, NODE_ID)),
    clock,
    newWebhookSecret,
    describe: memoryAttributes,
    ...hooks,
    onEffectFailure: (err) => log.error({ err }, "an effect of a committed transaction failed"),
  });
  closers.add(() => stores.close());
  const whyClosed = () => stores.whyClosed();
  closers.add(() => flushNoted({ stores, whyClosed }));
  refuseOtherDatabase(join(dataDir, DATABASE_ID), stores.databaseId);

  const agreed = stores.coordination(log, identityOf(config));
  await agreed.start();
  closers.add(() => agreed.stop());
  const files = new SharedSpool(openSpool(join(dataDir, "uploads"), { clock, log }), stores.files, log);
  const disk = new DiskReserve({ path: join(dataDir, "reserve"), log });
  closers.add(disk.watch(clock));
  const damagedFiles = new Quarantine(join(dataDir, "quarantine"), clock);
  damagedFiles.prune();
  const parts = { directory: join(dataDir, "projects"), archive: stores.texts, quarantine: damagedFiles, log };
  const copies = join(dataDir, "verifying");
  rmSync(copies, { recursive: true, force: true }); // what a crash left
  const write = stores.inTransaction;
  let followed: FollowedChunkIndex | null = null;
  const openIndex = indexOpener(stores, parts, closers, (all, embedders) => {
    const memoryMax = config.indexMemoryMax;
    followed = new FollowedChunkIndex({ ...all, ...followParts(stores, embedders, clock), memoryMax });
    return followed;
  });
  return {
    ...{ stores, transactions: stores.transactions, files, openIndex, disk },
    databaseBytes: () => stores.bytes(),
    coordination: sharedCoordination(agreed, clock),
    upkeep: [
      () => giveUpImports({ write, clock }, IMPORT_MS_MAX),
      () => stores.shared.prune(),
      () => agreed.prune(RATE_WINDOW_MS),
    ],
    indexUsage: () => followed?.usage ?? NOTHING_OPEN,
    readingThreads: null,
    projectsHere: async () => (followed === null ? [] : projectsHere(followed, stores)),
    explainFailure: (error) => {
      const fault = faultOfDatabase(error) ?? faultOfStore(error);
      disk.makeRoom(error);
      return fault;
    },
    closing: null,
    whyClosed,
    traces: new StoredTraces(write, stores.texts, { rows: "postgres", texts: "postgres" }),
    copies: new StoreCopies({
      ...{ write, memories: stores.memories, archive: stores.texts, files, clock, newWebhookSecret },
      takeSnapshot: (withIndex = false) => snapshotOf(stores, withIndex),
      quarantine: new StoreQuarantine(dataDir, clock.now()),
      hidden: () => -clock.now(),
      // a file that no memory refers to is no defect: another node may just have stored it, and the sweep removes it
      uploadNames: async () => [],
      setFilesAside: () => undefined,
      comparePages: null,
    }),
    verifyIndexes: (onProgress) => verifyHere(stores, { ...parts, copies }, onProgress),
    freeSpace: () => freeSpace(dataDir),
  };
}

function snapshotOf({ client, databaseId }: PostgresStores, withIndex: boolean): Promise<DatabaseSnapshot> {
  if (!withIndex) return DatabaseSnapshot.take(client, databaseId, storeLayout());
  const message = "The index of a node cannot be part of a backup of PostgreSQL: leave --with-index out.";
  throw new Fault("invalid_state", message);
}

/** Checks copies of the indexes in the data directory, for a process that does not open them. */
async function verifyHere(
  stores: PostgresStores,
  parts: IndexCopyDependencies,
  onProgress: OnVerifyProgress,
): Promise<readonly IndexDefect[]> {
  const here = existsSync(parts.directory) ? new Set(readdirSync(parts.directory)) : new Set<string>();
  const projects = async () => (await stores.accounts.projects()).filter((id) => here.has(id));
  return verifyEach({ projects, memories: stores.memories }, (id, completed) =>
    verifyCopy(parts, id, completed, (done, total) => onProgress("index", done, total)),
  );
}

/** What the index on this machine needs to follow the changes of all nodes. */
function followParts(stores: PostgresStores, embedders: InstalledEmbedders, clock: Clock): FollowDependencies {
  const { memories, jobs, projectModels, shared } = stores;
  return {
    shared,
    clock,
    completedOf: (id) => visiblePages(id, memories),
    reopen: async (keys) => jobs.reopen(keys),
    modelOf: async (id, own) => {
      const known = await projectModels.get(id);
      if (known === null) await projectModels.observe(id, modelIdOf(embedders, own.fingerprint), null);
      const live = known === null || known.live === null ? own : installedEmbedder(embedders, known.live);
      return { live, isChanging: known?.change?.state === "building" };
    },
  };
}

/** The projects that exist and have files on this machine. Removes the files of the others. */
async function projectsHere(index: FollowedChunkIndex, { accounts }: PostgresStores): Promise<readonly ProjectId[]> {
  const existing = new Set(await accounts.projects());
  const here = index.projectsHere;
  for (const id of here) if (!existing.has(id)) await index.drop(id);
  return here.filter((id) => existing.has(id));
}

/** The id of this node, from a file that is created with the first one. */
function nodeIdOf(path: string): string {
  if (!existsSync(path)) writeFileSync(path, `${crypto.randomUUID()}\n`, { mode: 0o600 });
  return readFileSync(path, "utf8").trim();
}

// Refuses a data directory whose index belongs to another database: its keys stand for other memories there.
function refuseOtherDatabase(path: string, id: string): void {
  const known = existsSync(path) ? readFileSync(path, "utf8").trim() : null;
  if (known === null) writeFileSync(path, `${id}\n`, { mode: 0o600 });
  else if (known !== id) {
    throw new StoreError(
      "lost",
      `${path} belongs to another database: give this one another folder with --data-dir, or correct MNEME_STORE.`,
    );
  }
}
