// Opens the stores on PostgreSQL, and the index on this machine. Rows and texts are in the database; the data directory
// has the index, which is derived, and uploaded files until they are published.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DiskReserve } from "../adapters/embedded/disk-reserve.ts";
import { freeSpace } from "../adapters/embedded/free-space.ts";
import { Quarantine } from "../adapters/embedded/quarantine.ts";
import { faultOfStore, StoreError } from "../adapters/embedded/store-error.ts";
import { lockDirectory } from "../adapters/native/core.ts";
import { faultOfDatabase } from "../adapters/postgres/database-error.ts";
import { openPostgresStores } from "../adapters/postgres/stores.ts";
import { openSpool } from "../adapters/uploads/spool.ts";
import { memoryAttributes } from "../api/views.ts";
import { invariant } from "../domain/fault.ts";
import { newWebhookSecret } from "../webhooks/signature.ts";
import type { Closers } from "./closers.ts";
import { createDirectory, indexOpener, openEmbeddedStorage, type Storage, type StorageOptions } from "./storage.ts";

/** Name of the file in the data directory with the id of the database that its index belongs to. */
const DATABASE_ID = "postgres-store";

/** Opens the storage that the configuration names. */
export function openStorage(options: StorageOptions, closers: Closers): Promise<Storage> {
  return options.config.store === null ? openEmbeddedStorage(options, closers) : openPostgresStorage(options, closers);
}

/**
 * Opens the database for this server alone, and locks the data directory, until `closers` run.
 * @throws DatabaseError, StoreError or NativeError with a sentence for the operator
 */
async function openPostgresStorage(options: StorageOptions, closers: Closers): Promise<Storage> {
  const { config, onDeliveries, clock, log } = options;
  const { dataDir, store: url } = config;
  invariant(url !== null, "a storage on PostgreSQL was opened without its address");
  createDirectory(dataDir);
  const lock = lockDirectory(dataDir);
  closers.add(() => lock.release());
  if (existsSync(join(dataDir, "mneme.sqlite"))) {
    throw new StoreError(
      "lost",
      `${dataDir} has an embedded store: remove MNEME_STORE to use it, or give another folder with --data-dir.`,
    );
  }
  const stores = await openPostgresStores({
    url,
    clock,
    newWebhookSecret,
    describe: memoryAttributes,
    onDeliveries,
    onEffectFailure: (err) => log.error({ err }, "an effect of a committed transaction failed"),
  });
  closers.add(() => stores.close());
  closers.add(() => stores.accounts.flush());
  closers.add(await stores.useAlone((error) => endProcess(error)));
  refuseOtherDatabase(join(dataDir, DATABASE_ID), stores.databaseId);

  const files = openSpool(join(dataDir, "uploads"), { clock, log });
  const disk = new DiskReserve({ path: join(dataDir, "reserve"), log });
  closers.add(disk.watch(clock));
  const damagedFiles = new Quarantine(join(dataDir, "quarantine"), clock);
  damagedFiles.prune();
  const parts = { directory: join(dataDir, "projects"), archive: stores.texts, quarantine: damagedFiles, log };
  const openIndex = indexOpener(stores, { ...parts, hnswMinChunks: config.hnswMinChunks }, closers);
  return {
    ...{ stores, transactions: stores.transactions, files, openIndex, disk },
    explainFailure: (error) => {
      const fault = faultOfDatabase(error) ?? faultOfStore(error);
      if (error instanceof StoreError && fault !== null) disk.makeRoom(error);
      return fault;
    },
    traces: null,
    keeper: null,
    verifyIndexes: null,
    freeSpace: () => freeSpace(dataDir),
  };
}

// The index has keys of memories and chunks, which mean something else in another database.
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

// Another server has changed the database in the meantime: this one would answer from an outdated index.
function endProcess(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
