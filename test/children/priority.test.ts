// A lower priority reaches all threads of a process: on Linux, each has one of its own.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { lowerPriority } from "../../src/children/priority.ts";
import { createLog } from "../../src/kit/log.ts";
import { until } from "../support/until.ts";

/** Niceness of each thread of a process. */
function nicenessOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const fields = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return Number(fields[16]); // field 19 of proc(5)
  });
}

// other systems have no priority of a thread
test.skipIf(process.platform !== "linux")("threads that run already get the lower priority, too", async () => {
  const script = "new Worker('data:text/javascript,setInterval(() => 0, 1000)'); setInterval(() => 0, 1000)";
  await using child = Bun.spawn([process.execPath, "-e", script], { stdio: ["ignore", "ignore", "ignore"] });
  await until("the process has several threads", () => nicenessOf(child.pid).length > 2);
  lowerPriority(child.pid, 19, createLog("silent"));
  await until("all threads have it", () => nicenessOf(child.pid).every((niceness) => niceness === 19));
  expect(nicenessOf(child.pid).length).toBeGreaterThan(2);
  child.kill("SIGKILL");
});
