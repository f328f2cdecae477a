// The folder `quarantine/<time>-stores/` of a data directory: damaged and surplus files of record go there instead of
// being deleted, so that a person can still look into them. quarantine.ts limits their number and empties it.

import { appendFileSync, constants, copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { isoTime } from "../kit/clock.ts";

/** Quarantine of one start. Its folder is created when it is needed. */
export class StoreQuarantine {
  readonly directory: string;

  /** @param nowMs names the folder */
  constructor(dataDir: string, nowMs: number) {
    this.directory = join(dataDir, "quarantine", `${timeName(nowMs)}-stores`);
  }

  /** Copies the files that exist. */
  copy(...paths: readonly string[]): void {
    for (const path of paths) if (existsSync(path)) copyFileSync(path, this.#place(path), constants.COPYFILE_FICLONE);
  }

  /** Moves the files and folders that exist. Returns their new paths. */
  move(...paths: readonly string[]): readonly string[] {
    return paths.filter(existsSync).map((path) => {
      const place = this.#place(path);
      renameSync(path, place);
      return place;
    });
  }

  /** Appends a line to a file of this folder. */
  append(name: string, line: string): void {
    appendFileSync(this.#place(name), `${line}\n`, { mode: 0o600 });
  }

  #place(path: string): string {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    return join(this.directory, basename(path));
  }
}

/** The time in UTC as the beginning of a file name. */
export function timeName(nowMs: number): string {
  return isoTime(nowMs).replaceAll(/[-:]/g, "");
}
