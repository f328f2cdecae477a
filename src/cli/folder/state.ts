// A file on this machine that notes what the import of a folder has stored. With it, a later run skips unchanged files,
// recognises files that were moved, and knows the memories of files that are gone. Without it, nothing is stored twice
// either, because each file has an `externalId` that is made from its path.

import { createHash } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nullIfMissing } from "../../kit/missing-files.ts";
import { isRecord, parsedJson } from "../../kit/record.ts";

/** A file that is stored. */
export interface StoredFile {
  /** Id of its memory. */
  readonly id: string;
  readonly bytes: number;
  readonly mtimeMs: number;
  /** SHA-256 of its content, in hexadecimal digits. */
  readonly sha256: string;
}

/** A file that is not sent again until it changes: it is empty or too large, or the server refused it. */
export interface RefusedFile {
  readonly bytes: number;
  readonly mtimeMs: number;
  readonly why: string;
}

/** The state of a folder. Paths are relative to it, with `/`. */
export interface FolderState {
  readonly stored: Map<string, StoredFile>;
  readonly refused: Map<string, RefusedFile>;
  /** Folders that were mount points when they were last seen. An empty path stands for the folder itself. */
  readonly mounts: Set<string>;
}

const VERSION = 1;

/** Path of the state file. Each combination of server, key, user and folder has its own. */
export function statePath(
  environment: Readonly<Record<string, string | undefined>>,
  home: string,
  of: { readonly url: string; readonly key: string; readonly userId: string | null; readonly root: string },
): string {
  const base = environment.XDG_STATE_HOME ?? join(home, ".local", "state");
  const name = createHash("sha256")
    .update(JSON.stringify([of.url, of.key, of.userId, of.root]))
    .digest("hex");
  return join(base, "mneme", "folders", `${name.slice(0, 24)}.json`);
}

/** The state of a folder of which nothing is stored. */
export function emptyState(): FolderState {
  return { stored: new Map(), refused: new Map(), mounts: new Set() };
}

/** The state in a file; empty if there is none, and null if it is damaged or of another version. */
export function readState(path: string): FolderState | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    nullIfMissing(error);
    return emptyState();
  }
  const value = parsedJson(text);
  if (!isRecord(value) || value.version !== VERSION) return null;
  const { stored, refused, mounts } = value;
  if (!isRecord(stored) || !isRecord(refused) || !Array.isArray(mounts)) return null;
  return {
    stored: new Map(Object.entries(stored as Record<string, StoredFile>)),
    refused: new Map(Object.entries(refused as Record<string, RefusedFile>)),
    mounts: new Set(mounts as string[]),
  };
}

/** Writes the state. A process that is killed leaves the old or the new one. */
export function writeState(path: string, { stored, refused, mounts }: FolderState): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const value = { version: VERSION, stored: Object.fromEntries(stored), refused: Object.fromEntries(refused) };
  const file = openSync(`${path}.new`, "w", 0o600);
  try {
    writeFileSync(file, JSON.stringify({ ...value, mounts: [...mounts] }));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}
