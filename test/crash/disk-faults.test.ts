// A disk that is full, broken, read-only or slow from a random file operation on, once or until it is mended, under
// eight writers: what was acknowledged holds, what was refused did not happen, refusals are clear, the server goes on
// running and works again when the disk does. MNEME_TEST_DISK_FAULTS sets the number of faults.

import { afterAll, describe, expect, test } from "bun:test";
import { rounds, testOfAll } from "../support/extent.ts";
import { seeded } from "../support/seeded.ts";
import { type Fault, type Operation, whyNoFaults } from "./faults/faults.ts";
import { describe as textOf } from "./oracle/oracle.ts";
import { Stage } from "./stage.ts";

const FAULTS = rounds("MNEME_TEST_DISK_FAULTS", { all: 5, short: 1 });
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
/** Answers during a fault, acknowledged changes after it, and file operations before it at most. */
const ANSWERS = 60;
const CHANGES = 20;
const OPERATIONS = 600;
/** Delay of each write and sync of a slow disk. */
const SLOW_MS = 5;

/** Operations that fail together: a full disk cannot grow files, a read-only one cannot change anything. */
const GROWING = ["write", "truncate", "create"] as const satisfies readonly Operation[];
const CHANGING = [...GROWING, "rename", "unlink"] as const satisfies readonly Operation[];
const KINDS = [
  { error: "ENOSPC", operations: GROWING, lasts: false },
  { error: "EIO", operations: [...CHANGING, "sync"], lasts: false },
  { error: "ENOSPC", operations: GROWING, lasts: true },
  { error: "EIO", operations: [...CHANGING, "sync"], lasts: true },
  { error: "EROFS", operations: CHANGING, lasts: true },
] as const;

const reason = whyNoFaults();
if (reason !== null) process.stdout.write(`skipped: ${reason}\n`);

describe.skipIf(reason !== null)(`faults of the disk (MNEME_TEST_SEED=${SEED})`, () => {
  let stage: Stage | null = null;
  afterAll(() => stage?.close());

  const trial = async (fault: Fault) => {
    stage ??= new Stage(SEED);
    await stage.server();
    stage.faults.arm(fault);
    const failed = await stage.writeThroughFault(ANSWERS);
    expect(stage.faults.acted).toBeGreaterThan(0);
    expect(stage.isRunning).toBeTrue();
    for (const { status, body } of failed) {
      expect([500, 503]).toContain(status);
      expect(body).toEqual({
        error: expect.objectContaining({ code: expect.any(String), message: expect.any(String) }),
      });
      expect(JSON.stringify(body)).not.toMatch(/sqlite|duckdb|tantivy|\/tmp\//i);
    }
    stage.faults.disarm();
    expect(textOf(await stage.judge())).toBe("");
    await stage.write(CHANGES);
    await stage.kill();
    expect(textOf(await stage.judge())).toBe("");
  };
  const random = seeded(SEED);

  for (let n = 0; n < FAULTS; n++) {
    const { error, operations, lasts } = KINDS[n % KINDS.length] ?? KINDS[0];
    const skip = Math.floor(random() * OPERATIONS);
    test(`fault ${n + 1}: ${error} ${lasts ? "from file operation" : "once, at file operation"} ${skip}${lasts ? " on" : ""}`, () =>
      trial({ operations, skip, action: { kind: "fail", error, lasts } }));
  }

  testOfAll("a slow disk", () => trial({ operations: ["write", "sync"], action: { kind: "delay", ms: SLOW_MS } }));
});
