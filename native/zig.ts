// Zig's C compiler as a linker: it has the symbols of every version of glibc, so that a library that is linked here
// loads on older systems.

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The commands that may start Zig: its own, and that of the package `ziglang` on PyPI. */
const COMMANDS = [["zig"], ["python3", "-m", "ziglang"]] as const;
/** Zig's and Rust's names of processors. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

/** What to do where Zig is missing. */
export const ZIG_MISSING = "zig was not found; install it with: python3 -m pip install ziglang";

/** The command that starts Zig on this machine; null if there is none. */
export function zigCommand(): readonly string[] | null {
  return COMMANDS.find(([program, ...argv]) => spawnSync(program, [...argv, "version"]).status === 0) ?? null;
}

/** Rust's target for Linux on a processor. @param arch as Node names it */
export function rustTarget(arch: string): string {
  return `${ARCHITECTURES[arch] ?? arch}-unknown-linux-gnu`;
}

/** Why Rust cannot compile for Linux on a processor, and what to do; null if it can. */
export function targetMissing(arch: string): string | null {
  const target = rustTarget(arch);
  const { status, stdout } = spawnSync("rustc", ["--print", "target-libdir", "--target", target], { encoding: "utf8" });
  if (status === 0 && existsSync(stdout.trim())) return null;
  return `Rust has no libraries for it; install them with: rustup target add ${target}`;
}

/**
 * Writes a program that links as `cc` does, but for a processor and against the symbols of a glibc. Its text names
 * both, so Cargo links again when one changes.
 * @param arch as Node names it
 * @returns its path
 */
export function writeLinker(
  folder: string,
  { zig, glibc, arch }: { readonly zig: readonly string[]; readonly glibc: string; readonly arch: string },
): string {
  const path = join(folder, `link-glibc-${glibc}-${arch}.sh`);
  const target = `${ARCHITECTURES[arch] ?? arch}-linux-gnu.${glibc}`;
  writeFileSync(path, `#!/bin/sh\nexec ${zig.join(" ")} cc -target ${target} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
