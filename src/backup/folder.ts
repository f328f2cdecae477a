// Backups in a folder: one file per object.

import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { nullIfMissing } from "../kit/missing-files.ts";
import { syncFolder } from "../kit/sync-folder.ts";
import type { Target } from "./target.ts";

/** End of the names of files that are still being written, so that they are no objects yet. */
const PARTIAL = ".partial";

/** A folder, which is created with its first object. */
export class FolderTarget implements Target {
  readonly description: string;

  constructor(private readonly folder: string) {
    this.description = folder;
  }

  async read(name: string): Promise<Uint8Array | null> {
    return readFile(join(this.folder, name)).catch(nullIfMissing);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    const path = join(this.folder, name);
    await createFolder(dirname(path));
    const file = await open(`${path}${PARTIAL}`, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}${PARTIAL}`, path);
    await syncFolder(dirname(path));
  }

  async list(prefix: string): Promise<readonly string[]> {
    const entries = await readdir(this.folder, { recursive: true, withFileTypes: true }).catch(nullIfMissing);
    const names = (entries ?? [])
      .filter((entry) => entry.isFile() && !entry.name.endsWith(PARTIAL))
      .map((entry) => join(entry.parentPath, entry.name).slice(join(this.folder, "/").length));
    return names.filter((name) => name.startsWith(prefix)).sort();
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
  }

  async removePartial(): Promise<void> {
    const entries = await readdir(this.folder, { recursive: true, withFileTypes: true });
    const partial = entries.filter((entry) => entry.isFile() && entry.name.endsWith(PARTIAL));
    for (const entry of partial) await rm(join(entry.parentPath, entry.name), { force: true });
  }
}

/** Creates a folder with those above it, and makes their names durable. */
async function createFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return; // it exists
  for (let folder = path; folder.length >= first.length; folder = dirname(folder)) await syncFolder(dirname(folder));
}
