// The cores and the memory that a container leaves to the process.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { machineShare } from "../../src/kit/machine-share.ts";

const home = mkdtempSync(join(tmpdir(), "mneme-cgroup-"));
afterAll(() => rmSync(home, { recursive: true }));

function shareWith(files: Readonly<Record<string, string>>) {
  const cgroup = mkdtempSync(join(home, "cgroup-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cgroup, name), text);
  return machineShare(cgroup);
}

const WHOLE = { cores: availableParallelism(), memoryBytes: totalmem() };

describe("share of the machine", () => {
  test("is the whole machine without a container, and in one without limits", () => {
    expect(shareWith({})).toEqual(WHOLE);
    expect(shareWith({ "cpu.max": "max 100000\n", "memory.max": "max\n" })).toEqual(WHOLE);
  });

  test("is what the container leaves", () => {
    expect(shareWith({ "cpu.max": "100000 100000\n", "memory.max": "1073741824\n" })).toEqual({
      cores: 1,
      memoryBytes: 2 ** 30,
    });
  });

  test("has at least one core", () => {
    expect(shareWith({ "cpu.max": "10000 100000\n" }).cores).toBe(1);
  });

  test("is never larger than the machine", () => {
    expect(shareWith({ "cpu.max": "99900000 100000\n", "memory.max": "999999999999999\n" })).toEqual(WHOLE);
  });
});
