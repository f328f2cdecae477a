// Zig's C compiler as a linker: it has the symbols of every version of glibc, so that a library that is linked here
// loads on older systems.

import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The commands that may start Zig: its own, and that of the package `ziglang` on PyPI. */
const COMMANDS = [["zig"], ["python3", "-m", "ziglang"]] as const;
/** Zig's name for the processor of this machine. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

/** What to do where Zig is missing. */
export const ZIG_MISSING = "zig was not found; install it with: python3 -m pip install ziglang";

/** The command that starts Zig on this machine; null if there is none. */
export function zigCommand(): readonly string[] | null {
  return COMMANDS.find(([program, ...argv]) => spawnSync(program, [...argv, "version"]).status === 0) ?? null;
}

/**
 * Writes a program that links as `cc` does, but against the symbols of the given glibc. Its text names the version, so
 * Cargo links again when the version changes.
 * @returns its path
 */
export function writeLinker(folder: string, zig: readonly string[], glibc: string): string {
  const path = join(folder, `link-glibc-${glibc}.sh`);
  const target = `${ARCHITECTURES[process.arch] ?? process.arch}-linux-gnu.${glibc}`;
  writeFileSync(path, `#!/bin/sh\nexec ${zig.join(" ")} cc -target ${target} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
