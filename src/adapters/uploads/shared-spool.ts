// UploadFiles of one of several nodes: a folder on this machine, and a store that all nodes share. A kept file is in
// both; another node fetches it when it reads its text.

import { createReadStream, existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename } from "node:path";
import type { Log } from "../../kit/log.ts";
import type { PiecedText } from "../../kit/pieced-text.ts";
import type { IncomingFile, SharedFiles, TextFile, UploadFiles } from "../../ports/upload-files.ts";

/** Number of bytes that are read from a file and stored at once. */
const PIECE_BYTES = 1024 * 1024;
/**
 * Minimum age in milliseconds of a shared file that `names` lists: the row of a younger one may not be committed yet on
 * another node.
 */
const SHARED_AGE_MS_MIN = 60 * 60_000;
/** Age in milliseconds at which the copy of a file on this machine is removed. If it is needed again, it is fetched. */
const LOCAL_AGE_MS_MAX = 60 * 60_000;

/** UploadFiles in a folder and in a shared store. */
export class SharedSpool implements UploadFiles {
  constructor(
    private readonly local: UploadFiles,
    private readonly shared: SharedFiles,
    private readonly log: Log,
  ) {}

  begin(): Promise<IncomingFile> {
    return this.local.begin();
  }

  /** The shared copy comes first, so a row never refers to a file that only this node has. */
  async keep(path: string): Promise<string> {
    await this.shared.put(basename(path), createReadStream(path, { highWaterMark: PIECE_BYTES }));
    return this.local.keep(path);
  }

  pathOf(name: string): string {
    return this.local.pathOf(name);
  }

  async fetch(name: string): Promise<string> {
    const path = this.local.pathOf(name);
    if (existsSync(path)) return path;
    const incoming = await this.local.begin();
    let bytes = 0;
    try {
      for await (const piece of this.shared.read(name)) {
        await incoming.write(piece);
        bytes += piece.length;
      }
      await incoming.end();
      // a file that the store lacks, too, stays missing, and its job says so
      if (bytes > 0) await rename(incoming.path, path);
      return path;
    } finally {
      await incoming.discard();
    }
  }

  async readText(file: TextFile): Promise<PiecedText | "missing" | "damaged"> {
    await this.fetch(file.name);
    return this.local.readText(file);
  }

  async remove(name: string): Promise<void> {
    await this.local.remove(name);
    try {
      await this.shared.remove(name);
    } catch (err) {
      this.log.warn({ err, name }, "a shared file could not be removed; the next sweep tries again");
    }
  }

  /** Also removes copies on this machine: of files that another node removed, and old ones. */
  async removeAgain(): Promise<void> {
    await this.local.removeAgain();
    try {
      const gone = await this.shared.missing(await this.local.names(0));
      const old = await this.local.names(LOCAL_AGE_MS_MAX);
      for (const name of new Set([...gone, ...old])) await this.local.remove(name);
    } catch (err) {
      this.log.warn({ err }, "the copies of shared files could not be checked; the next sweep tries again");
    }
  }

  async names(ageMs: number): Promise<readonly string[]> {
    const [here, everywhere] = await Promise.all([
      this.local.names(ageMs),
      this.shared.names(Math.max(ageMs, SHARED_AGE_MS_MIN)),
    ]);
    return [...new Set([...here, ...everywhere])];
  }
}
