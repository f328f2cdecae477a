// Lists the files of a folder, except those that `.mnemeignore` files exclude. Symbolic links are not followed.

import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import ignore from "ignore";
import { nullIfMissing } from "../../kit/missing-files.ts";
import { systemErrorText } from "../../kit/system-error.ts";

/** Name of files with patterns of excluded files, in the syntax of `.gitignore`. Each applies to its own folder. */
export const IGNORE_FILE = ".mnemeignore";
/** What is excluded unless a `.mnemeignore` includes it again: hidden files, and temporary files of programs. */
const IGNORED = [
  ...[".*", "node_modules/", "__pycache__/", "~$*", "*~", "*.tmp", "*.part", "*.partial", "*.crdownload", "*.swp"],
  ...["Thumbs.db", "desktop.ini"],
];

/** Upper limits of a folder: number of files, depth, and size of a `.mnemeignore` in bytes. */
const FILES_MAX = 500_000;
const DEPTH_MAX = 100;
const IGNORE_BYTES_MAX = 1024 * 1024;

/** A file as it was found. `path` is relative to the folder, with `/`. */
export interface FoundFile {
  readonly path: string;
  readonly bytes: number;
  readonly mtimeMs: number;
}

/** The files of a folder, at any depth. */
export interface FoundFiles {
  readonly files: ReadonlyMap<string, FoundFile>;
  /** Folders and files that could not be read, with the reason. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Folders on another device than the folder itself. */
  readonly mounts: readonly string[];
}

/** Patterns of one folder. `base` is its path with a `/` at the end, or empty. */
interface Level {
  readonly base: string;
  readonly rules: ReturnType<typeof ignore>;
}

/**
 * Lists the files of a folder, at any depth.
 * @throws Error of the operating system if the folder itself cannot be read; Error if it has too many files
 */
export async function filesIn(root: string): Promise<FoundFiles> {
  const files = new Map<string, FoundFile>();
  const unreadable = new Map<string, string>();
  const mounts: string[] = [];
  const { dev } = await lstat(join(root, "."));
  const top: Level = { base: "", rules: ignore().add(IGNORED) };

  async function walk(base: string, above: readonly Level[], depth: number): Promise<void> {
    if (depth > DEPTH_MAX) throw new Error(`has folders more than ${DEPTH_MAX} deep`);
    const folder = join(root, base);
    const entries = await readdir(folder, { withFileTypes: true });
    const own = await patternsOf(join(folder, IGNORE_FILE));
    const levels = own === null ? above : [...above, { base, rules: own }];
    for (const { name } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${base}${name}`;
      try {
        const found = await lstat(join(root, path)).catch(nullIfMissing);
        if (found?.isDirectory() === true) {
          if (isIgnored(`${path}/`, levels)) continue;
          if (found.dev !== dev) mounts.push(path);
          await walk(`${path}/`, levels, depth + 1);
        } else if (found?.isFile() === true && !isIgnored(path, levels)) {
          if (files.size === FILES_MAX) throw new TooManyFiles(`has more than ${FILES_MAX} files`);
          files.set(path, { path, bytes: found.size, mtimeMs: found.mtimeMs });
        }
      } catch (error) {
        if (error instanceof TooManyFiles) throw error;
        unreadable.set(path, systemErrorText(error) ?? String(error));
      }
    }
  }

  await walk("", [top], 0);
  return { files, unreadable, mounts };
}

class TooManyFiles extends Error {}

async function patternsOf(path: string): Promise<ReturnType<typeof ignore> | null> {
  const found = await lstat(path).catch(nullIfMissing);
  if (found === null || !found.isFile()) return null;
  if (found.size > IGNORE_BYTES_MAX) throw new Error(`${IGNORE_FILE} has more than ${IGNORE_BYTES_MAX} bytes`);
  return ignore().add((await readFile(path, "utf8")).normalize());
}

/** Whether a path is excluded. The last pattern that matches it decides; those of inner folders come last. */
function isIgnored(path: string, levels: readonly Level[]): boolean {
  let isOut = false;
  for (const { base, rules } of levels) {
    const { ignored, unignored } = rules.test(path.slice(base.length).normalize()); // to Unicode NFC, like the patterns
    if (ignored) isOut = true;
    else if (unignored) isOut = false;
  }
  return isOut;
}
