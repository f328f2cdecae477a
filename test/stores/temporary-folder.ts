// Temporary folders for tests, and file systems that are small enough for a test to fill. Only root can mount the
// latter.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates an empty folder. `remove` deletes it with its content. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "mneme-store-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Mounts a file system of `megabytes` in a new folder. Returns null if this user may not mount one. */
export function smallDisk(megabytes: number): { readonly path: string; remove(): void } | null {
  const folder = temporaryFolder();
  const path = join(folder.path, "disk");
  mkdirSync(path);
  if (!mount(["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path])) {
    folder.remove();
    return null;
  }
  return {
    path,
    remove: () => {
      Bun.spawnSync(["umount", "--lazy", path]);
      folder.remove();
    },
  };
}

/** Makes the file system of a folder read-only or writable for every user, including root. */
export function remount(path: string, mode: "ro" | "rw"): void {
  if (!mount(["-o", `remount,${mode}`, path])) throw new Error(`${path} could not be remounted ${mode}`);
}

/** The reason for skipping a test that needs its own file system. */
export const NO_MOUNT = "needs a user who may mount a file system (root on Linux)";

function mount(options: readonly string[]): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  return Bun.spawnSync(["mount", ...options], { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
}
