// A snapshot of all stores at one moment: rows (SQLite), texts (DuckDB) and uploaded files. While it is taken, no row
// changes, so that each completed row has its own text. Reading goes on beside all other work.

import type { UploadFiles } from "../../ports/upload-files.ts";
import type { Archive } from "./duckdb/archive.ts";
import type { DuckSnapshot } from "./duckdb/snapshot.ts";
import type { SqliteDatabase } from "./sqlite/database.ts";
import type { SqliteStores } from "./sqlite/stores.ts";

/** The stores that a snapshot covers. */
export interface SnapshotParts {
  readonly stores: Pick<SqliteStores, "snapshot">;
  readonly archive: Pick<Archive, "snapshot">;
  /** `hold` postpones the removal of files until the function that it returns is called. */
  readonly files: Pick<UploadFiles, "pathOf"> & { readonly hold: () => () => Promise<void> };
}

/** All stores as they were at one moment. */
export interface Snapshot {
  readonly rows: SqliteDatabase;
  readonly texts: DuckSnapshot;
  /** Path of an uploaded file to which a row of the snapshot refers. */
  readonly pathOf: (name: string) => string;
  /** Ends the snapshot. A second call does nothing. */
  readonly close: () => Promise<void>;
}

/**
 * Takes a snapshot. Writers wait for a few milliseconds. A row that is completed in the snapshot has the text of its
 * version: only a row in status `processing` can be published, and the rows stand still until both stores have been
 * read for the first time.
 * @throws StoreError if a store cannot be read
 */
export async function takeSnapshot({ stores, archive, files }: SnapshotParts): Promise<Snapshot> {
  const release = files.hold();
  let texts: DuckSnapshot | null = null;
  try {
    const opened = await archive.snapshot();
    texts = opened;
    const [rows] = await stores.snapshot(() => opened.begin());
    let isOpen = true;
    const close = async () => {
      if (!isOpen) return;
      isOpen = false;
      rows.close();
      await opened.close();
      await release();
    };
    return { rows, texts: opened, pathOf: (name) => files.pathOf(name), close };
  } catch (error) {
    await texts?.close();
    await release();
    throw error;
  }
}
