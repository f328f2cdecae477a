// A disk that is full, broken or slow at a random file operation under eight writers: what was acknowledged holds, what
// was refused did not happen, and the server works again afterwards. MNEME_TEST_DISK_FAULTS sets the number of faults.

import { afterAll, describe, expect, test } from "bun:test";
import { seeded } from "../support/seeded.ts";
import { type Fault, type Operation, whyNoFaults } from "./faults/faults.ts";
import { describe as textOf } from "./oracle/oracle.ts";
import { Stage } from "./stage.ts";

const FAULTS = Number(process.env.MNEME_TEST_DISK_FAULTS ?? 4);
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const FAULT_MS = 240_000;
/** Acknowledged changes during a fault, and file operations before it at most. */
const CHANGES = 30;
const OPERATIONS = 600;
/** Delay of each write and sync of a slow disk. */
const SLOW_MS = 5;

const reason = whyNoFaults();
if (reason !== null) process.stdout.write(`skipped: ${reason}\n`);

describe.skipIf(reason !== null)(`faults of the disk (MNEME_TEST_SEED=${SEED})`, () => {
  let stage: Stage | null = null;
  afterAll(() => stage?.close());

  const trial = async (fault: Fault) => {
    stage ??= new Stage(SEED);
    await stage.server();
    stage.faults.arm(fault);
    await stage.writeUntil(CHANGES, () => (stage?.faults.acted ?? 0) > 0);
    expect(stage.faults.acted).toBeGreaterThan(0);
    stage.faults.disarm();
    expect(textOf(await stage.judge())).toBe("");
    await stage.kill();
    expect(textOf(await stage.judge())).toBe("");
  };
  const random = seeded(SEED);
  const growing: readonly Operation[] = ["write", "truncate", "create"];

  for (let n = 0; n < FAULTS; n++) {
    const error = n % 2 === 0 ? "ENOSPC" : "EIO";
    const skip = Math.floor(random() * OPERATIONS);
    const operations = error === "ENOSPC" ? growing : ([...growing, "sync", "rename"] satisfies Operation[]);
    test(
      `${error} at file operation ${skip}`,
      () => trial({ operations, skip, action: { kind: "fail", error, lasts: false } }),
      FAULT_MS,
    );
  }

  test("a slow disk", () => trial({ operations: ["write", "sync"], action: { kind: "delay", ms: SLOW_MS } }), FAULT_MS);
});
