// Unpacks the single binary's libraries and models, because libraries can only be loaded from files. They go into the
// data directory, once per version, in a folder named after a hash of the contents.

import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { UsageError } from "../kit/flags.ts";
import { ASSETS, type Asset } from "./assets.ts";

/** Path of the native core in the runtime folder. All other libraries are in the same folder. */
const NATIVE_CORE = "mneme.node";
const FOLDER_PREFIX = "runtime-";
/** Length of the hash in the folder's name: 16 hexadecimal digits (64 bits) distinguish versions. */
const NAME_HASH_CHARACTERS = 16;

/** Path of the folder below a data directory to which the embedded models are unpacked. */
export function shippedModelsDirectory(dataDir: string): string {
  return join(runtimeDirectory(dataDir), "models");
}

/**
 * Ensures that the libraries and models are unpacked and unaltered below the data directory, and sets
 * `MNEME_NATIVE_PATH` for this process and its children. Takes about 1 s the first time, later 0.1 s to hash the
 * libraries.
 * @throws UsageError if the folder is not writable, belongs to another user, or is on a noexec mount
 */
export async function unpackRuntime(dataDir: string): Promise<void> {
  const folder = runtimeDirectory(dataDir);
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    refuseNoexec(dataDir);
    if (!isIntact(folder)) await unpackTo(folder);
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`Cannot unpack libraries and models into ${folder}: ${why}`, { cause });
  }
  process.env.MNEME_NATIVE_PATH = join(folder, NATIVE_CORE);
}

/**
 * Removes the runtime folders of other versions. The caller must have the data directory's lock, because another server
 * that uses such a folder might still run.
 */
export function removeOtherRuntimes(dataDir: string): void {
  const own = runtimeDirectory(dataDir);
  for (const name of readdirSync(dataDir)) {
    const path = join(dataDir, name);
    if (name.startsWith(FOLDER_PREFIX) && path !== own) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Loads a native library from the runtime folder. Replaces the loaders of npm packages (build.ts).
 * @returns the library's exports
 */
export function loadUnpacked(name: string): unknown {
  const nativeCore = process.env.MNEME_NATIVE_PATH;
  if (nativeCore === undefined) throw new Error(`${name} was requested before it was unpacked: this is a bug in Mneme`);
  const library = { exports: {} };
  process.dlopen(library, join(dirname(nativeCore), name));
  return library.exports;
}

function runtimeDirectory(dataDir: string): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const { path, sha256 } of ASSETS) hash.update(`${path}\0${sha256}\n`);
  return join(dataDir, `${FOLDER_PREFIX}${hash.digest("hex").slice(0, NAME_HASH_CHARACTERS)}`);
}

// Whether the folder is complete and unaltered. Throws if another user could have written to it. Only libraries are
// hashed, because they are about to be executed; the lanes check the models' hashes when they load them.
function isIntact(folder: string): boolean {
  const status = lstatSync(folder, { throwIfNoEntry: false });
  if (status === undefined) return false;
  const isOurs = status.isDirectory() && status.uid === process.getuid?.() && (status.mode & 0o022) === 0;
  if (!isOurs) {
    throw new UsageError(
      `${folder} belongs to another user or is writable by others; refusing to load libraries from it.`,
    );
  }
  return ASSETS.every((asset) => {
    const path = join(folder, asset.path);
    const size = lstatSync(path, { throwIfNoEntry: false })?.size;
    return size === asset.bytes && (!isLibrary(asset) || sha256Of(readFileSync(path)) === asset.sha256);
  });
}

// Unpacks into a temporary folder and renames it, so that a folder with the final name is always complete.
async function unpackTo(folder: string): Promise<void> {
  process.stderr.write(`unpacking libraries and models into ${folder} (once per version) …\n`);
  const fresh = `${folder}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  for (const asset of ASSETS) {
    const bytes = await Bun.zstdDecompress(await Bun.file(asset.packed).bytes());
    if (sha256Of(bytes) !== asset.sha256)
      throw new UsageError(`${asset.path} inside this program is damaged; download the program again.`);
    const path = join(fresh, asset.path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, bytes, { mode: isLibrary(asset) ? 0o500 : 0o400, flush: true });
  }
  rmSync(folder, { recursive: true, force: true });
  try {
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!isIntact(folder)) throw error; // if it is intact, a concurrent start was faster
  }
}

function isLibrary({ path }: Asset): boolean {
  return !path.startsWith("models/");
}

function sha256Of(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

// Refuses a directory on a noexec mount, before anything is written. Otherwise the loader would fail with the message
// "failed to map segment from shared object".
function refuseNoexec(directory: string): void {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((row) => row.split(" "))
    .filter(([, point = ""]) => directory === point || directory.startsWith(point === "/" ? point : `${point}/`));
  // The mount that applies is the one with the longest path that contains the directory; of several mounts on the same
  // path, the last one.
  const mount = mounts.reduce((best, row) => ((row[1] ?? "").length >= (best[1] ?? "").length ? row : best), [""]);
  if (mount[3]?.split(",").includes("noexec")) {
    throw new UsageError(
      `${directory} is on ${mount[1]}, which is mounted noexec, but libraries must be loaded from it. ` +
        "Choose another MNEME_DATA_DIR, or mount it with exec.",
    );
  }
}
