// The supervisor with real processes: a child answers, is restarted after a crash, and never outlives its server.

import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { getPriority } from "node:os";
import { dirname } from "node:path";
import {
  type ChildFailure,
  ChildGone,
  type ChildOptions,
  type ChildState,
  type SupervisedChild,
  superviseChild,
} from "../../src/children/supervisor.ts";
import { createLog } from "../../src/kit/log.ts";
import { until } from "../support/until.ts";

const opened: SupervisedChild[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((child) => child.close()));
});

async function supervise(start: string, options: Partial<ChildOptions> = {}): Promise<SupervisedChild> {
  const child = await superviseChild({
    name: "test-child",
    command: [process.execPath, `${import.meta.dir}/fixtures/child.ts`, start],
    startTimeoutMs: 20_000,
    log: createLog("silent"),
    ...options,
  });
  opened.push(child);
  return child;
}

/**
 * Waits until the child is up, and returns its pid.
 * @param exceptPid pid of an earlier process of this child, which does not count
 */
function upPid(child: SupervisedChild, exceptPid?: number): Promise<number> {
  return until("the child to be up", () => {
    const state = child.state();
    return state.status === "up" && state.pid !== exceptPid ? state.pid : null;
  });
}

function untilStatus<Status extends ChildState["status"]>(child: SupervisedChild, status: Status) {
  return until(`status ${status}`, () => {
    const state = child.state();
    return state.status === status ? (state as Extract<ChildState, { status: Status }>) : null;
  });
}

/**
 * Whether a process runs. Zombies count as ended: they have exited, and the machine's first process removes them later.
 */
function isRunning(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

const TIMEOUT_MS = 20_000;

describe("requests", () => {
  test("an answer has header and payload, and answers come in order", async () => {
    const child = await supervise("serve");
    await upPid(child);
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) => child.request({ op: "echo", n }, Uint8Array.of(n, 255), TIMEOUT_MS)),
    );
    expect(replies.map((reply) => reply.header.n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(replies[49]?.payload).toEqual(Uint8Array.of(49, 255));
    expect(child.state()).toMatchObject({ status: "up", hello: { greeting: "here" } });
  });

  test("a payload of megabytes arrives complete", async () => {
    const child = await supervise("serve");
    await upPid(child);
    const payload = Uint8Array.from({ length: 5_000_000 }, (_, at) => at % 251);
    const reply = await child.request({ op: "echo" }, payload, TIMEOUT_MS);
    expect(Buffer.compare(reply.payload, payload)).toBe(0);
  });

  test("an error in a handler fails only its request", async () => {
    const child = await supervise("serve");
    await upPid(child);
    const failure = await child.request({ op: "throw" }, undefined, TIMEOUT_MS).catch((error: ChildFailure) => error);
    expect(failure).toMatchObject({ name: "ChildFailure", thrown: "RangeError", message: "too much of it" });
    await expect(child.request({ op: "toString" }, undefined, TIMEOUT_MS)).rejects.toThrow("no handler");
    expect((await child.request({ op: "echo" }, undefined, TIMEOUT_MS)).header.op).toBe("echo");
    expect(child.restarts()).toBe(0);
  });

  test("requests to a child that is not up are refused", async () => {
    const child = await supervise("silent");
    await expect(child.request({ op: "echo" }, undefined, TIMEOUT_MS)).rejects.toThrow(ChildGone);
  });
});

describe("crashes", () => {
  test("a killed child fails its requests and is replaced", async () => {
    const child = await supervise("serve");
    const pid = await upPid(child);
    const pending = child.request({ op: "spin" }, undefined, TIMEOUT_MS);
    process.kill(pid, "SIGKILL");
    await expect(pending).rejects.toThrow(ChildGone);
    await upPid(child, pid);
    expect(child.restarts()).toBe(1);
    expect((await child.request({ op: "echo" }, undefined, TIMEOUT_MS)).header.op).toBe("echo");
  });

  test("a child that exits during a request fails it", async () => {
    const child = await supervise("serve");
    await upPid(child);
    await expect(child.request({ op: "die" }, undefined, TIMEOUT_MS)).rejects.toThrow(ChildGone);
  });

  test("a child that does not answer in time is killed and replaced", async () => {
    const child = await supervise("serve");
    const pid = await upPid(child);
    await expect(child.request({ op: "spin" }, undefined, 100)).rejects.toThrow(ChildGone);
    await upPid(child, pid);
    expect(isRunning(pid)).toBe(false);
  });

  test("a child that crashes at once is restarted with growing pauses", async () => {
    const pauses: number[] = [];
    const child = await supervise("crash", {
      onDown: () => {
        const state = child.state();
        if (state.status === "waiting") pauses.push(state.retryInMs);
      },
    });
    await until("three failures", () => pauses.length >= 3);
    expect(pauses.slice(0, 3)).toEqual([100, 200, 400]);
  });

  test("a child that never says hello is replaced", async () => {
    const child = await supervise("silent", { startTimeoutMs: 100 });
    await until("a second start", () => child.restarts() >= 1);
  });

  test("a child that refuses to run is not restarted, and its message is kept", async () => {
    const child = await supervise("refuse");
    expect(await untilStatus(child, "refused")).toEqual({ status: "refused", reason: "the file x does not match y" });
    expect(child.restarts()).toBe(0);
  });

  test("a program that does not exist is refused", async () => {
    const child = await supervise("serve", { command: ["/nonexistent/program"] });
    expect((await untilStatus(child, "refused")).reason).toContain("/nonexistent/program");
  });
});

describe("limits", () => {
  test("a child over its memory limit finishes its requests and is replaced", async () => {
    const child = await supervise("serve", { memoryBytesMax: 300 * 1024 * 1024 });
    const pid = await upPid(child);
    await child.request({ op: "grow", bytes: 400 * 1024 * 1024 }, undefined, TIMEOUT_MS);
    await upPid(child, pid);
    expect(child.restarts()).toBe(1);
    await until("a small child", () => child.rssBytes() > 0 && child.rssBytes() < 300 * 1024 * 1024);
  });

  test("a child that is replaced finishes its requests, and the next one gets the new environment", async () => {
    let starts = 0;
    const env = () => {
      starts += 1;
      return { START: String(starts) };
    };
    const child = await supervise("serve", { env });
    const pid = await upPid(child);
    const pending = child.request({ op: "environment" }, undefined, TIMEOUT_MS);
    child.replace("a test wants it");
    child.replace("once more, without effect");
    expect((await pending).header.names).toContain("START");
    await upPid(child, pid);
    expect([child.restarts(), starts]).toEqual([1, 2]);
  });

  test("a child has the configured niceness", async () => {
    const child = await supervise("serve", { niceness: 10 });
    expect(getPriority(await upPid(child))).toBe(10);
  });

  test("a child inherits no secrets, and its socket is private", async () => {
    process.env.MNEME_TEST_SECRET = "s3cret";
    const child = await supervise("serve", { env: () => ({ GIVEN: "1" }) });
    await upPid(child);
    const { header } = await child.request({ op: "environment" }, undefined, TIMEOUT_MS);
    expect(header.names).toContain("GIVEN");
    expect(header.names).not.toContain("MNEME_TEST_SECRET");
    const socketPath = String(header.socketPath);
    expect(statSync(dirname(socketPath)).mode & 0o777).toBe(0o700);
    expect(Buffer.byteLength(socketPath)).toBeLessThan(108);
    await child.close();
    expect(existsSync(dirname(socketPath))).toBe(false);
  });
});

describe("closing", () => {
  test("close ends the child and fails its requests", async () => {
    const child = await supervise("serve");
    const pid = await upPid(child);
    const pending = child.request({ op: "spin" }, undefined, TIMEOUT_MS);
    const failure = pending.catch((error: unknown) => error);
    await child.close();
    expect(await failure).toBeInstanceOf(ChildGone);
    expect(isRunning(pid)).toBe(false);
    expect(child.state().status).toBe("closed");
  });

  test("a child that ignores the request to end is killed at the deadline", async () => {
    const child = await supervise("serve");
    const pid = await upPid(child);
    await child.request({ op: "ignoreTermination" }, undefined, TIMEOUT_MS);
    await child.close(200);
    expect(isRunning(pid)).toBe(false);
  });

  test("children end when their server is killed, even busy ones", async () => {
    const parent = Bun.spawn([process.execPath, `${import.meta.dir}/fixtures/parent.ts`], { stdout: "pipe" });
    const { value } = await parent.stdout.getReader().read();
    const pids = JSON.parse(new TextDecoder().decode(value)) as number[];
    expect(pids.map(isRunning)).toEqual([true, true]);
    parent.kill("SIGKILL");
    await until("both children to end", () => !pids.some(isRunning));
  });
});
