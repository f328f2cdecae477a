// Finds onnxruntime's GPU libraries in a folder of the operator, and makes them loadable for lanes. onnxruntime looks
// for its provider libraries in the folder of libonnxruntime.so.1, which onnxruntime-node finds through the search path
// for libraries. So the lanes' search path begins with a folder of links to the operator's files.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Version of onnxruntime-node. Its native library works with libonnxruntime of exactly this version. */
export const ONNXRUNTIME_VERSION = "1.30.0";
/** Name under which onnxruntime-node's native library asks for libonnxruntime. */
const LINKED_NAME = "libonnxruntime.so.1";
const CUDA_LIBRARIES = ["libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"];
/** Prefix of symbols' versions in libonnxruntime. */
const SYMBOL_VERSION = "VERS_";

/** GPU libraries that a lane can load. */
export interface ProviderLibrary {
  /** Folders in which lanes search for libraries first. */
  readonly searchFolders: readonly string[];
  /** Removes the links. */
  close(): void;
}

/**
 * Links the libraries in `directory`, which has the files of `onnxruntime-gpu` (in Python's packages, the folder
 * `onnxruntime/capi`). If NVIDIA's libraries are installed beside it as Python packages, they are found as well.
 * @returns the libraries; or, as a sentence, why they cannot be used
 */
export function linkProviderLibrary(directory: string): ProviderLibrary | string {
  let names: readonly string[];
  try {
    names = readdirSync(directory);
  } catch {
    return "MNEME_ONNXRUNTIME_DIR is not a folder that can be read";
  }
  const missing = CUDA_LIBRARIES.find((name) => !names.includes(name));
  if (missing !== undefined) return `MNEME_ONNXRUNTIME_DIR has no ${missing}`;
  const main = names.find((name) => /^libonnxruntime\.so(\.\d+)*$/.test(name));
  if (main === undefined) return "MNEME_ONNXRUNTIME_DIR has no libonnxruntime.so";
  const version = versionOf(join(directory, main));
  if (version instanceof Error) return `MNEME_ONNXRUNTIME_DIR has a ${main} that cannot be read`;
  if (version !== ONNXRUNTIME_VERSION) {
    return `MNEME_ONNXRUNTIME_DIR has onnxruntime ${version ?? "of an unknown version"}; this Mneme needs ${ONNXRUNTIME_VERSION}`;
  }
  // Folders with this prefix are removed at the next start if this process is killed (children/supervisor.ts).
  const folder = mkdtempSync(join(tmpdir(), `mneme-${process.pid}-`));
  symlinkSync(join(directory, main), join(folder, LINKED_NAME));
  for (const name of names.filter((each) => each.startsWith("libonnxruntime_providers_"))) {
    symlinkSync(join(directory, name), join(folder, name));
  }
  return {
    searchFolders: [folder, ...packagedLibraries(directory)],
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The version in the names of the library's symbols; null if there is none. An Error if the file cannot be read. */
function versionOf(path: string): string | Error | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return error as Error;
  }
  for (let at = bytes.indexOf(SYMBOL_VERSION); at !== -1; at = bytes.indexOf(SYMBOL_VERSION, at + 1)) {
    const [, version] = /^VERS_(\d+\.\d+\.\d+)\0/.exec(bytes.toString("latin1", at, at + 24)) ?? [];
    if (version !== undefined) return version;
  }
  return null;
}

/** Folders of NVIDIA's libraries in Python's packages: `nvidia/*\/lib` beside `onnxruntime/capi`. */
function packagedLibraries(directory: string): readonly string[] {
  const packages = join(directory, "../../nvidia");
  if (!existsSync(packages)) return [];
  return readdirSync(packages)
    .map((name) => join(packages, name, "lib"))
    .filter((folder) => existsSync(folder))
    .sort();
}
