// Locks of backup targets: one backup at a time, in a folder and in S3; a lock that nobody renews is passed over.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FolderTarget } from "../../src/backup/folder.ts";
import { TargetLock } from "../../src/backup/lock.ts";
import { S3Target } from "../../src/backup/s3.ts";
import type { Target } from "../../src/backup/target.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { startS3Server } from "../support/s3-server.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), "mneme-backup-lock-"));
const s3 = startS3Server();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await s3.stop();
});

const targets: readonly (readonly [string, (name: string) => Target])[] = [
  ["a folder", (name) => new FolderTarget(join(folder, name))],
  ["S3", (name) => new S3Target(`s3://${s3.bucket}/${name}`, s3.environment)],
];

const failureOf = async (work: Promise<unknown>) => String(await work.catch(String));
const locksIn = (target: Target) => target.list("locks/");

/** The record of the only lock of a target. */
async function recordIn(target: Target): Promise<Record<string, unknown>> {
  const [name = "", ...others] = await locksIn(target);
  expect(others).toEqual([]);
  return JSON.parse(new TextDecoder().decode((await target.read(name)) ?? new Uint8Array()));
}

async function writeLock(target: Target, record: Record<string, unknown>): Promise<void> {
  await target.write("locks/earlier", new TextEncoder().encode(JSON.stringify(record)));
}

describe.each(targets)("the lock of a target in %s", (_, open) => {
  test("is held by one backup, names it to others, and leaves nothing when it is released", async () => {
    const [target, clock] = [open("held"), new ManualClock()];
    const lock = await TargetLock.take(target, clock);
    const refusal = await failureOf(TargetLock.take(target, clock));
    expect(refusal).toContain(`Another backup is being made in ${target.description}, by process ${process.pid} on `);
    const { ends_at } = await recordIn(target); // the second one removed its own lock
    expect(refusal).toContain(`its lock ends at ${String(ends_at)}`);
    await lock.assertHeld();
    await lock.release();
    expect(await locksIn(target)).toEqual([]);
    await (await TargetLock.take(target, clock)).release();
  });

  test("is held by at most one of several that begin at the same moment", async () => {
    const [target, clock] = [open("at-once"), new ManualClock()];
    for (let round = 0; round < 10; round++) {
      const taken = await Promise.allSettled(Array.from({ length: 4 }, () => TargetLock.take(target, clock)));
      const held = taken.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      expect(held.length).toBeLessThanOrEqual(1);
      for (const lock of held) await lock.release();
      expect(await locksIn(target)).toEqual([]);
    }
  });

  test("is renewed, ends ten minutes after the last renewal, and is then lost for the backup that held it", async () => {
    const [target, clock, stopped] = [open("renewed"), new ManualClock(), new ManualClock()];
    const lock = await TargetLock.take(target, clock);
    const first = (await recordIn(target)).ends_at;
    clock.advance(MINUTE_MS);
    await until("the lock is renewed", async () => (await recordIn(target)).ends_at !== first);
    await lock.release();

    const lost = await TargetLock.take(target, stopped); // its clock stands still, as that of a stopped process
    const later = new ManualClock();
    later.advance(10 * MINUTE_MS - 1);
    expect(await failureOf(TargetLock.take(target, later))).toContain("Another backup is being made");
    later.advance(1);
    const next = await TargetLock.take(target, later);
    expect(await failureOf(lost.assertHeld())).toContain("another one may use");
    await lost.release();
    await next.assertHeld();
    await next.release();
  });

  test("is passed over at once if its process has ended on this machine, and never because of another machine's", async () => {
    const [target, clock] = [open("ended"), new ManualClock()];
    const lock = await TargetLock.take(target, clock);
    const record = await recordIn(target);
    await lock.release();
    const child = Bun.spawn(["true"]);
    await child.exited;
    await writeLock(target, { ...record, pid: child.pid, processes: "another machine" });
    expect(await failureOf(TargetLock.take(target, clock))).toContain(`by process ${child.pid} on `);
    await writeLock(target, { ...record, pid: child.pid });
    const next = await TargetLock.take(target, clock);
    expect(await locksIn(target)).toHaveLength(1);
    await next.release();
  });

  test("is named if something else stands in its place", async () => {
    const target = open("damaged");
    for (const text of ["", "{", '{"ends_at":"soon"}', "null"]) {
      await target.write("locks/earlier", new TextEncoder().encode(text));
      const refusal = await failureOf(TargetLock.take(target, new ManualClock()));
      expect(refusal).toContain(`locks/earlier in ${target.description} is no lock of a backup`);
    }
  });
});
