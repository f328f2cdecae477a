// Builds the native core for the sources in this checkout, unless it is built already: `bun native/build.ts`. Builds
// are stored by the hash of their sources outside of the checkout, so that a second clone does not compile again.
// `--glibc 2.28` links it for systems as old as that, with Zig, and stores it beside the other one; with `--arch arm64`
// it is for another processor.

import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import {
  nativeCacheDirectory,
  nativeLibraryPath,
  nativeTypesPath,
  portableLibraryPath,
} from "../src/adapters/native/library.ts";
import { systemClock } from "../src/kit/clock.ts";
import { crateCount, Progress } from "./progress.ts";
import { rustTarget, targetMissing, writeLinker, ZIG_MISSING, zigCommand } from "./zig.ts";

/** Number of older builds that are kept besides the newest: enough for a dozen clones and branches, 15 MB each. */
const BUILDS_KEPT = 12;
/** Interval at which a waiting build checks the lock of the running build. */
const LOCK_CHECK_EVERY_MS = 500;

/** Maximum age of a lock. No build takes this long, so the process id in an older lock belongs to another process. */
const LOCK_AGE_MAX_MS = 60 * 60 * 1000;

const CRATE = import.meta.dir;

/** Prints a message that says what to do, and ends the build. */
function refuse(line: string): never {
  console.error(line);
  process.exit(1);
}

/** Returns the version that a tool prints, or undefined if the tool is not installed. */
function versionOf(tool: string): string | undefined {
  const printed = spawnSync(tool, ["--version"], { encoding: "utf8" });
  return printed.status === 0 ? /\d+\.\d+(\.\d+)?/.exec(printed.stdout)?.[0] : undefined;
}

/** Checks that the tools exist before the build, because without this check it may fail only after minutes. */
function checkTools(): void {
  const required = /rust-version = "(\d+)\.(\d+)"/.exec(readFileSync(join(CRATE, "Cargo.toml"), "utf8"));
  const minimum = `${required?.[1]}.${required?.[2]}`;
  if (versionOf("cargo") === undefined) {
    refuse(
      `cargo was not found: Mneme's native core needs Rust ${minimum} or newer; install it from https://rustup.rs`,
    );
  }
  const rustc = versionOf("rustc") ?? "0.0";
  const [major = 0, minor = 0] = rustc.split(".").map(Number);
  if (major < Number(required?.[1]) || (major === Number(required?.[1]) && minor < Number(required?.[2]))) {
    refuse(
      `rustc ${rustc} is too old: Mneme's native core needs ${minimum} or newer; update it with: rustup update stable`,
    );
  }
  const compiler = process.env.CXX ?? "c++";
  if (versionOf(compiler) === undefined) {
    refuse(
      `${compiler} was not found: Mneme's native core needs a C++ compiler; install g++ (Debian: apt install g++) or set CXX`,
    );
  }
}

/**
 * Runs cargo. Resolves to the paths of the library and of the descriptions of its exported items.
 * @param linker program that links the library instead of `cc`, or null. The crates are compiled once for all linkers.
 * @param target Rust's target, or null for this machine
 */
async function compile(
  targetDirectory: string,
  linker: string | null,
  target: string | null,
): Promise<{ library: string; types: string }> {
  const typesFolder = join(targetDirectory, "napi-types");
  mkdirSync(typesFolder, { recursive: true });
  // Checkouts share the target folder, and Cargo distinguishes them only by file times. Without new times, Cargo may
  // use the build of another checkout.
  const now = systemClock.now() / 1000;
  for (const root of ["src/lib.rs", "encoder/src/lib.rs"]) utimesSync(join(CRATE, root), now, now);
  const child = spawn(
    "cargo",
    [
      ...["rustc", "--release", "--locked", "--package", "mneme-addon", "--message-format=json-render-diagnostics"],
      ...(target === null ? [] : ["--target", target]),
      ...(linker === null ? [] : ["--", "-C", `linker=${linker}`, "-C", "linker-flavor=gcc"]),
    ],
    {
      cwd: CRATE,
      // napi-derive appends a line per exported item to a file named after the crate
      env: { ...process.env, CARGO_TARGET_DIR: targetDirectory, NAPI_TYPE_DEF_TMP_FOLDER: typesFolder },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const progress = new Progress(crateCount(CRATE, target), process.stderr, () => performance.now());
  const done = new Set<string>();
  let library: string | undefined;
  let pending = "";
  let messages = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    messages += text;
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (pending + text).split("\n");
    pending = lines.pop() ?? "";
    for (const line of lines) {
      const message = JSON.parse(line) as {
        reason: string;
        package_id?: string;
        target?: { name: string };
        filenames?: string[];
      };
      if (message.reason !== "compiler-artifact" || message.package_id === undefined) continue;
      done.add(message.package_id);
      progress.show(done.size);
      if (message.target?.name === "mneme_addon") {
        library = message.filenames?.find((path) => /\.(so|dylib|dll)$/.test(path)) ?? library;
      }
    }
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  progress.end();
  if (code !== 0 || library === undefined) {
    refuse(
      `${messages.trimEnd()}\nthe native core did not build (cargo build ended with ${code}); its messages are above`,
    );
  }
  return { library, types: join(typesFolder, "mneme-native") };
}

/** Removes the oldest builds beyond `BUILDS_KEPT`. */
function removeOldBuilds(cache: string, current: string): void {
  const builds = readdirSync(cache)
    .filter((name) => /^[0-9a-f]{32}$/.test(name) && name !== current)
    .map((name) => ({ path: join(cache, name), modifiedMs: statSync(join(cache, name)).mtimeMs }))
    .sort((a, b) => b.modifiedMs - a.modifiedMs);
  for (const { path } of builds.slice(BUILDS_KEPT)) rmSync(path, { recursive: true, force: true });
}

/**
 * Runs `work` while it holds a lock file, so that only one build runs per cache. Checkouts share Cargo's target
 * folder; if two builds ended at the same time, one would store the other's library. The lock of a process that has
 * ended is ignored.
 */
async function withLock<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (isHeld(lock)) await new Promise((resolve) => setTimeout(resolve, LOCK_CHECK_EVERY_MS));
    else rmSync(lock, { force: true });
  }
  try {
    return await work();
  } finally {
    if (holderOf(lock) === process.pid) rmSync(lock, { force: true });
  }
}

function holderOf(lock: string): number | null {
  return existsSync(lock) ? Number(readFileSync(lock, "utf8")) : null;
}

function isHeld(lock: string): boolean {
  try {
    const holder = holderOf(lock);
    if (holder === null) return true; // the lock was just released: the caller tries again
    const ageMs = systemClock.now() - statSync(lock).mtimeMs;
    if (holder === 0) return ageMs < LOCK_CHECK_EVERY_MS; // the holder has not written its process id yet
    if (ageMs > LOCK_AGE_MAX_MS) return false;
    process.kill(holder, 0); // only checks that the process exists
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH"; // any other error: the caller tries again
  }
}

const { values } = parseArgs({ options: { glibc: { type: "string" }, arch: { type: "string" } } });
const { glibc, arch = process.arch } = values;
const isForeign = arch !== process.arch;
if (isForeign && glibc === undefined) refuse("--arch needs --glibc");
const path = glibc === undefined ? nativeLibraryPath() : portableLibraryPath(glibc, arch);
if (!existsSync(path)) {
  if (glibc === undefined && process.env.MNEME_NATIVE_PATH !== undefined)
    refuse(`MNEME_NATIVE_PATH names ${path}, which does not exist`);
  checkTools();
  const zig = glibc === undefined ? null : zigCommand();
  if (glibc !== undefined && zig === null) refuse(ZIG_MISSING);
  const noTarget = isForeign ? targetMissing(arch) : null;
  if (noTarget !== null) refuse(`the native core cannot be built for ${arch}: ${noTarget}`);
  console.error("building the native core; the first time takes about three minutes on two cores");
  const cache = nativeCacheDirectory();
  mkdirSync(cache, { recursive: true });
  await withLock(join(cache, "building"), async () => {
    if (existsSync(path)) return; // another build of the same sources ended first
    const linker = glibc === undefined || zig === null ? null : writeLinker(cache, { zig, glibc, arch });
    const { library, types } = await compile(join(cache, "target"), linker, isForeign ? rustTarget(arch) : null);
    mkdirSync(dirname(path), { recursive: true });
    if (linker === null) copyFileSync(types, nativeTypesPath(path));
    const beside = `${path}.${process.pid}`;
    copyFileSync(library, beside);
    renameSync(beside, path);
  });
  removeOldBuilds(cache, dirname(path).slice(cache.length + 1));
  console.error(`native core: ${path}`);
}
