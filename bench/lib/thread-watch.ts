// Processor time of each thread of a server and its child processes, from /proc (Linux only).

import { readdirSync, readFileSync } from "node:fs";
import { ifAlive, processTree } from "./processes.ts";

const NS_PER_MS = 1e6;

/** Processor time by thread, in milliseconds. The key has the ids of process and thread. */
type Times = Map<string, { readonly name: string; ms: number }>;

/** Processor time of the threads of a server and its children, from /proc (Linux only). */
export class ThreadWatch {
  readonly #pid: number;
  readonly #before: Times;
  #last: Times;

  readonly #startedAt = performance.now();

  constructor(pid: number) {
    this.#pid = pid;
    this.#before = threadTimes(pid);
    this.#last = new Map(this.#before);
  }

  /** Time since the construction, in milliseconds. */
  ms(): number {
    return performance.now() - this.#startedAt;
  }

  /** Looks at the threads now. The time of a thread that ends after its last look is lost. */
  look(): void {
    for (const [key, time] of threadTimes(this.#pid)) this.#last.set(key, time);
  }

  /**
   * Processor time of each thread since the construction, in milliseconds, the largest first. Threads of a process may
   * have the same name.
   */
  spent(): readonly { readonly name: string; readonly ms: number }[] {
    return [...this.#last]
      .map(([key, { name, ms }]) => ({ name, ms: ms - (this.#before.get(key)?.ms ?? 0) }))
      .sort((one, other) => other.ms - one.ms);
  }
}

function threadTimes(pid: number): Times {
  const times: Times = new Map();
  for (const process of processTree(pid)) {
    for (const task of ifAlive(() => readdirSync(`/proc/${process.pid}/task`), [])) {
      const folder = `/proc/${process.pid}/task/${task}`;
      const [comm, ns] = ifAlive(
        () => [
          readFileSync(`${folder}/comm`, "utf8").trim(),
          Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ")[0]),
        ],
        ["", 0],
      );
      const name = `${process.name} ${process.pid}: ${Number(task) === process.pid ? "main" : comm}`;
      times.set(`${process.pid}/${task}`, { name, ms: Number(ns) / NS_PER_MS });
    }
  }
  return times;
}
