// The folder of the installed program: the executable with the libraries in lib/ and the models in models/ beside it.
// build.ts makes it.

import { readdirSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/** Name of the folder of the native libraries. They are in one folder, because they search for each other there. */
export const LIBRARIES_FOLDER = "lib";
/** Name of the folder of the models. */
export const MODELS_FOLDER = "models";
/** File name of the native core. */
export const NATIVE_CORE = "mneme.node";
/** File with the licences of all parts. */
export const LICENCES_FILE = "LICENCES.txt";

/** Names of folders with libraries and models that earlier builds, which were a single file, unpacked. */
const UNPACKED = /^runtime-[0-9a-f]{16}(\.\d+)?$/;

/** The folder of the running program. If the program was started through a link, that of the file it leads to. */
export function programFolder(): string {
  return dirname(realpathSync(process.execPath));
}

/** Folder of the models: beside the program, or where the launcher of a package says. */
export function installedModels(): string {
  return process.env.MNEME_SHIPPED_MODELS_DIR ?? join(programFolder(), MODELS_FOLDER);
}

/** Makes this process and its children load the native core beside the program, unless they are told another one. */
export function useInstalledLibraries(): void {
  process.env.MNEME_NATIVE_PATH ??= join(programFolder(), LIBRARIES_FOLDER, NATIVE_CORE);
}

/**
 * Loads a native library of the program. Replaces the loaders of npm packages (build.ts).
 * @returns the library's exports
 */
export function loadInstalled(name: string): unknown {
  const library = { exports: {} };
  process.dlopen(library, join(programFolder(), LIBRARIES_FOLDER, name));
  return library.exports;
}

/**
 * Removes the folders that earlier builds unpacked into a data directory. The caller must have the directory's lock.
 */
export function removeUnpacked(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (UNPACKED.test(name)) rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}
