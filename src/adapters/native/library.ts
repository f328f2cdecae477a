// Finds the path of the native core that was compiled from the sources in this checkout. This file only reads and
// hashes sources; `native/build.ts` builds the library, and `addon.ts` loads it.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { cacheDirectory } from "../../kit/cache-directory.ts";

const NATIVE_DIRECTORY = join(import.meta.dir, "../../../native");
/** Folder of the word lists that the native core includes at compile time. */
const INCLUDED_WORDS_DIRECTORY = join(import.meta.dir, "../../../data/words/entities");

/** Folder of compiled libraries, in the cache folder. */
export function nativeCacheDirectory(): string {
  return join(cacheDirectory(), "native");
}

/** All files of this checkout that a build depends on, as absolute paths in a fixed order. */
function nativeSources(): string[] {
  const sources = filesIn(NATIVE_DIRECTORY).filter((path) => {
    const [top = "", ...below] = relative(NATIVE_DIRECTORY, path).split("/");
    // all files in the folders of crates, and the files of the workspace itself
    return below.length > 0 ? top !== "target" : ["Cargo.toml", "Cargo.lock"].includes(top);
  });
  return [...sources, ...filesIn(INCLUDED_WORDS_DIRECTORY)].sort();
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Hash of the native sources and the platform, 32 hex digits. It identifies a build. Takes about 2 ms. */
export function nativeSourceHash(): string {
  const hash = createHash("sha256").update(`${process.platform}-${process.arch}\n`);
  for (const path of nativeSources()) {
    const content = readFileSync(path);
    hash.update(`${relative(NATIVE_DIRECTORY, path)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, 32);
}

/**
 * Path of the library: `$MNEME_NATIVE_PATH` if that is set (the compiled binary sets it), otherwise the cached build of
 * exactly these sources. The file may not exist yet.
 */
export function nativeLibraryPath(): string {
  return process.env.MNEME_NATIVE_PATH ?? join(nativeCacheDirectory(), nativeSourceHash(), "mneme.node");
}

/**
 * Path of the cached build of exactly these sources for systems with at least the given glibc, such as 2.28.
 * @param arch processor as Node names it
 */
export function portableLibraryPath(glibc: string, arch: string = process.arch): string {
  return join(nativeCacheDirectory(), nativeSourceHash(), `mneme-glibc-${glibc}-${arch}.node`);
}

/**
 * Path of the file that describes the library's exported items. `native/types.ts` generates TypeScript types from it.
 */
export function nativeTypesPath(libraryPath = nativeLibraryPath()): string {
  return join(dirname(libraryPath), "types.jsonl");
}
