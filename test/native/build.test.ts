// Tests `bun native/build.ts`: it finds an existing build at once, names a missing tool in one line, and shows how far
// it is.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crateCount, Progress } from "../../native/progress.ts";
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

  test("names Rust's libraries for another processor if they are missing", () => {
    const tools = { cargo: "1.99.0", rustc: "1.99.0", "c++": "14.0", zig: "0.17.0" };
    const { exitCode, lines } = build(tools, {}, ["--glibc", "2.28", "--arch", "pdp11"]);
    expect(exitCode).toBe(1);
    expect(lines.join()).toContain("rustup target add pdp11-unknown-linux-gnu");
  });

  test("reports a MNEME_NATIVE_PATH that does not exist", () => {
    const { exitCode, lines } = build({}, { MNEME_NATIVE_PATH: "/nowhere/mneme.node" });
    expect(exitCode).toBe(1);
    expect(lines).toEqual(["MNEME_NATIVE_PATH names /nowhere/mneme.node, which does not exist"]);
  });
});

describe("the progress of a build", () => {
  const shownBy = (isTTY: boolean) => {
    const written: string[] = [];
    let ms = 0;
    const output = { isTTY, write: (text: string) => written.push(text) };
    const progress = new Progress(4, output, () => ms);
    const after = (seconds: number, change: () => void) => {
      ms += seconds * 1000;
      change();
    };
    after(10, () => progress.show(3));
    after(20, () => progress.tick());
    after(1, () => progress.show(4));
    progress.end();
    return written;
  };

  test("moves while a crate compiles for long, on a terminal", () => {
    expect(shownBy(true)).toEqual([
      "\rnative core [#######################.......] 3/4 crates, 10 s ",
      "\rnative core [#######################.......] 3/4 crates, 30 s ",
      "\rnative core [##############################] 4/4 crates, 31 s ",
      "\n",
    ]);
  });

  test("is a line at intervals elsewhere", () => {
    expect(shownBy(false)).toEqual(["native core: 3/4 crates, 30 s\n"]);
  });

  test("counts the crates of this machine, which are fewer than those of all machines", () => {
    const locked = readFileSync(join(ROOT, "native/Cargo.lock"), "utf8").split("[[package]]").length - 1;
    const count = crateCount(join(ROOT, "native"), null);
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(locked);
  });
});
