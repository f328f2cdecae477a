// A snapshot of all stores at one moment: rows (SQLite), texts (DuckDB) and uploaded files. While it is taken, no row
// changes, so that each completed row has its own text. Reading goes on beside all other work.

import { existsSync, linkSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { UploadFiles } from "../../ports/upload-files.ts";
import type { SqliteDatabase } from "../../stores/sqlite/database.ts";
import type { SqliteStores } from "../../stores/sqlite/stores.ts";
import type { Archive } from "./duckdb/archive.ts";
import type { DuckSnapshot } from "./duckdb/snapshot.ts";

/** The stores that a snapshot covers. */
export interface SnapshotParts {
  readonly stores: Pick<SqliteStores, "snapshot">;
  readonly archive: Pick<Archive, "snapshot">;
  /** `hold` postpones the removal of files until the function that it returns is called. */
  readonly files: Pick<UploadFiles, "pathOf"> & { readonly hold: () => () => Promise<void> };
  /** Folder with the indexes of all projects, and one for links to their files, on the same disk. */
  readonly indexFolder: string;
  readonly linkFolder: string;
}

/** A file of the index as it was: files of the index only grow, or are replaced by others. */
export interface IndexFile {
  /** Relative to the folder of all projects, with `/`. */
  readonly path: string;
  /** Where its bytes are. */
  readonly link: string;
  readonly bytes: number;
}

/** All stores as they were at one moment. */
export interface Snapshot {
  readonly rows: SqliteDatabase;
  readonly texts: DuckSnapshot;
  /** Path of an uploaded file to which a row of the snapshot refers. */
  readonly pathOf: (name: string) => string;
  /** Empty unless the index was asked for. */
  readonly index: readonly IndexFile[];
  /** Ends the snapshot. A second call does nothing. */
  readonly close: () => Promise<void>;
}

/**
 * Takes a snapshot. Writers wait for a few milliseconds. A row that is completed in the snapshot has the text of its
 * version: only a row in status `processing` can be published, and the rows stand still until both stores have been
 * read for the first time.
 * @param withIndex whether to keep the files of the index too. They are not checked: what is damaged or missing in them
 *   is indexed again when a server opens it
 * @throws StoreError if a store cannot be read; Error if the disk supports no links
 */
export async function takeSnapshot(parts: SnapshotParts, withIndex = false): Promise<Snapshot> {
  const { stores, archive, files } = parts;
  const release = files.hold();
  const links = join(parts.linkFolder, crypto.randomUUID());
  let texts: DuckSnapshot | null = null;
  try {
    const opened = await archive.snapshot();
    texts = opened;
    const [rows, index] = await stores.snapshot(async () => {
      await opened.begin();
      return withIndex ? linkFiles(parts.indexFolder, links) : [];
    });
    let isOpen = true;
    const close = async () => {
      if (!isOpen) return;
      isOpen = false;
      rows.close();
      await opened.close();
      rmSync(links, { recursive: true, force: true });
      await release();
    };
    return { rows, texts: opened, pathOf: (name) => files.pathOf(name), index, close };
  } catch (error) {
    rmSync(links, { recursive: true, force: true });
    await texts?.close();
    await release();
    throw error;
  }
}

/** Links to all files of a folder, with their sizes now. A file that vanishes meanwhile is left out. */
function linkFiles(folder: string, links: string): readonly IndexFile[] {
  mkdirSync(links, { recursive: true, mode: 0o700 });
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return found.flatMap((entry, at) => {
    const source = join(entry.parentPath, entry.name);
    const link = join(links, String(at));
    try {
      linkSync(source, link);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
      throw error;
    }
    return [{ path: relative(folder, source).split(sep).join("/"), link, bytes: statSync(link).size }];
  });
}
