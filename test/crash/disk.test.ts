// A full or read-only disk: acknowledged changes survive, other requests are refused, and the server recovers when
// there is space. The disk is a small in-memory file system, which only root can mount.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMneme } from "../support/command.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { allDone, expectWhole, ifAlive, listAll, note, storeBatch, timesFound } from "./notes.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-disk-"));
const MiB = 1024 * 1024;
const mount = (...argv: string[]) => Bun.spawnSync(["mount", ...argv]).exitCode === 0;
const isMounted = process.platform === "linux" && mount("-t", "tmpfs", "-o", "size=32m", "tmpfs", folder);
if (!isMounted) process.stdout.write("skipped: tests of a full disk need root, to mount a small one\n");

let server: RunningServer | null = null;
afterAll(async () => {
  await server?.kill();
  if (isMounted) Bun.spawnSync(["umount", "--lazy", folder]);
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!isMounted)("on a small disk", () => {
  const dataDir = join(folder, "data");
  const ballast = join(folder, "ballast");
  const stored = new Map<number, string>();
  /** Fills the disk until only `bytes` bytes are free. Some rows still fit then, but soon the indexes do not. */
  const leaveRoom = (bytes: number) => {
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(ballast, new Uint8Array(Math.max(0, bavail * bsize - bytes)));
  };
  let running: RunningServer;
  beforeAll(async () => {
    running = await startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });
    server = running;
    const numbers = Array.from({ length: 20 }, (_, at) => at);
    const ids = await storeBatch(running, numbers);
    for (const n of numbers) stored.set(n, ids[n] ?? "");
    await allDone(running);
  });

  test("full: writing is refused, reading and searching work, and writing works again when there is space", async () => {
    leaveRoom(MiB);
    let refusals = 0;
    for (let n = 20; refusals < 3 && n < 4_000; n++) {
      const answer = await ifAlive(running, "POST", "/v1/memories", { content: note(n) });
      if (answer?.status === 202) stored.set(n, (answer.body as { id: string }).id);
      else {
        expect(answer?.status).toBeGreaterThanOrEqual(500);
        expect(JSON.stringify(answer?.body)).not.toMatch(/sqlite|duckdb|\/tmp\//i);
        refusals++;
      }
    }
    expect(refusals).toBe(3);
    expect((await listAll(running)).length).toBe(stored.size);
    expect(await timesFound(running, stored.get(7) ?? "", 7)).toBe(1);

    rmSync(ballast);
    const again = await until("a memory is accepted again", async () => {
      const answer = await ifAlive(running, "POST", "/v1/memories", { content: note(5_000) });
      return answer?.status === 202 ? (answer.body as { id: string }).id : null;
    });
    stored.set(5_000, again);
    await until("it is found", async () => (await timesFound(running, again, 5_000)) === 1);
    expect(await running.stop()).toBe(0);
  });

  test("full: memories can be deleted, `/ready` says why it is not ready, and new data is refused in one way", async () => {
    running = await startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });
    server = running;
    const ready = async () => {
      const response = await fetch(`${running.url}/ready`);
      return { status: response.status, body: await response.text() };
    };
    const remove = async (n: number, id: string) => {
      const answer = await running.call("DELETE", `/v1/memories/${id}${n % 2 === 0 ? "?purge=true" : ""}`);
      expect([n, answer.status]).toEqual([n, 204]);
      stored.delete(n);
    };
    const doomed = [...stored].slice(0, 60);
    leaveRoom(0);
    // at once, before the server looks at the free space
    for (const [n, id] of doomed.slice(0, 5)) await remove(n, id);
    await until("it is noticed", async () => (await ready()).status === 503);
    expect((await ready()).body).toContain("the disk is full");
    for (const path of ["/v1/memories", "/v1/chats", "/v1/users"]) {
      const refused = await running.call("POST", path, { content: note(5_500), title: "T", id: "ada" });
      const message = expect.stringContaining("disk is full");
      expect(refused.status).toBe(503);
      expect(refused.body).toMatchObject({ error: { code: "overloaded", message } });
    }
    const [first] = [...stored].slice(-1);
    expect(await timesFound(running, first?.[1] ?? "", first?.[0] ?? 0)).toBe(1);
    for (const [n, id] of doomed.slice(5)) await remove(n, id);
    expect((await ready()).status).toBe(503);
    rmSync(ballast);
    await until("it is ready again", async () => (await ready()).status === 200);
    const accepted = await running.call("POST", "/v1/memories", { content: note(5_501) });
    expect(accepted.status).toBe(202);
    stored.set(5_501, (accepted.body as { id: string }).id);
    await expectWhole(running, stored);
    expect(await running.stop()).toBe(0);
  });

  test("killed while full: the next start, with space, has everything that was acknowledged", async () => {
    running = await startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });
    server = running;
    leaveRoom(MiB);
    for (let n = 6_000, refused = 0; refused < 1 && n < 10_000; n++) {
      const answer = await ifAlive(running, "POST", "/v1/memories", { content: note(n) });
      if (answer?.status === 202) stored.set(n, (answer.body as { id: string }).id);
      else refused++;
    }
    await running.kill();
    rmSync(ballast);
    running = await startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });
    server = running;
    await expectWhole(running, stored);
    expect(await running.stop()).toBe(0);
  });

  test("read-only: the start fails with one line that names the folder", () => {
    expect(mount("-o", "remount,ro", folder)).toBeTrue();
    const { exitCode, stderr } = runMneme(
      ["serve", "--port", "0", "--data-dir", dataDir, "--log-level", "silent"],
      tmpdir(),
    );
    mount("-o", "remount,rw", folder);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toContain(dataDir);
    expect(exitCode).toBe(1);
  });
});
