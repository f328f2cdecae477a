// A folder for one test, and where possible a disk so small that it gets full.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new empty folder, and how to remove it with all it holds. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "mneme-store-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A folder of its own file system of `megabytes`; null where this user may not mount one. */
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

/** Makes a folder's file system read-only (or writable again) for everybody, root included. */
export function remount(path: string, mode: "ro" | "rw"): void {
  if (!mount(["-o", `remount,${mode}`, path])) throw new Error(`${path} could not be remounted ${mode}`);
}

/** Why a test that needs a file system of its own is skipped. */
export const NO_MOUNT = "needs a user who may mount a file system (root on Linux)";

function mount(options: readonly string[]): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  return Bun.spawnSync(["mount", ...options], { stdout: "ignore", stderr: "ignore" }).exitCode === 0;
}
