// Where the compiled native core lies for the sources in this checkout. Pure: it reads and hashes, nothing else.
// Building it is `native/build.ts`' affair, loading it `addon.ts`'.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";

const NATIVE_DIRECTORY = join(import.meta.dir, "../../../native");

/** The folder with compiled cores: `$MNEME_CACHE_DIR`, else the user's cache folder, then `native`. */
export function nativeCacheDirectory(): string {
  const base = process.env.MNEME_CACHE_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "mneme");
  return join(base, "native");
}

/** Everything a build depends on that lies in this checkout, as absolute paths in a fixed order. */
function nativeSources(): string[] {
  const sources = readdirSync(NATIVE_DIRECTORY, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const [top = ""] = relative(NATIVE_DIRECTORY, path).split("/");
      return top === "src" || top === ".cargo" || ["Cargo.toml", "Cargo.lock", "build.rs"].includes(top);
    });
  return sources.sort();
}

/** A hash over the native sources and the platform, 32 hex digits: equal sources, equal library. Takes about 2 ms. */
export function nativeSourceHash(): string {
  const hash = createHash("sha256").update(`${process.platform}-${process.arch}\n`);
  for (const path of nativeSources()) {
    const content = readFileSync(path);
    hash.update(`${relative(NATIVE_DIRECTORY, path)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, 32);
}

/**
 * The file to load: `$MNEME_NATIVE_PATH` if set (the compiled binary sets it), else the cached build of exactly these
 * sources. The file need not exist yet.
 */
export function nativeLibraryPath(): string {
  return process.env.MNEME_NATIVE_PATH ?? join(nativeCacheDirectory(), nativeSourceHash(), "mneme.node");
}
