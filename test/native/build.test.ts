// Tests `bun native/build.ts`: it finds an existing build at once, and names a missing tool in one line.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZIG_MISSING } from "../../native/zig.ts";
import { nativeCacheDirectory, nativeLibraryPath } from "../../src/adapters/native/library.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { ROOT } from "../support/sources.ts";

/** Runs the build with only these tools on the PATH. Each is a script that prints the given version. */
function build(tools: Record<string, string>, environment: Record<string, string> = {}, argv: readonly string[] = []) {
  const folder = temporaryFolder();
  const bin = join(folder.path, "bin");
  mkdirSync(bin);
  symlinkSync("/bin/sh", join(bin, "sh"));
  for (const [tool, version] of Object.entries(tools)) {
    writeFileSync(join(bin, tool), `#!/bin/sh\necho "${tool} ${version}"\n`);
    chmodSync(join(bin, tool), 0o755);
  }
  const child = Bun.spawnSync([process.execPath, join(ROOT, "native/build.ts"), ...argv], {
    env: { PATH: bin, HOME: folder.path, MNEME_CACHE_DIR: join(folder.path, "cache"), ...environment },
  });
  folder.remove();
  return { exitCode: child.exitCode, lines: child.stderr.toString().trimEnd().split("\n") };
}

describe("native/build.ts", () => {
  test("finds the build of these sources without any tool", () => {
    expect(existsSync(nativeLibraryPath())).toBe(true);
    const cache = join(nativeCacheDirectory(), "..");
    expect(build({}, { MNEME_CACHE_DIR: cache })).toEqual({ exitCode: 0, lines: [""] });
  });

  test.each([
    ["cargo", {}, "rustup.rs"],
    ["rustc 1.60.0", { cargo: "1.60.0", rustc: "1.60.0" }, "rustup update"],
    ["c++", { cargo: "1.99.0", rustc: "1.99.0" }, "g++"],
  ])("names %s and how to get it, in one line", (missing, tools, cure) => {
    const { exitCode, lines } = build(tools);
    expect(exitCode).toBe(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(missing);
    expect(lines[0]).toContain(cure);
  });

  test("names zig if an older glibc is asked for", () => {
    const tools = { cargo: "1.99.0", rustc: "1.99.0", "c++": "14.0" };
    const { exitCode, lines } = build(tools, {}, ["--glibc", "2.28"]);
    expect(exitCode).toBe(1);
    expect(lines).toEqual([ZIG_MISSING]);
  });

  test("reports a MNEME_NATIVE_PATH that does not exist", () => {
    const { exitCode, lines } = build({}, { MNEME_NATIVE_PATH: "/nowhere/mneme.node" });
    expect(exitCode).toBe(1);
    expect(lines).toEqual(["MNEME_NATIVE_PATH names /nowhere/mneme.node, which does not exist"]);
  });
});
