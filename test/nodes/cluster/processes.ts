// Processes of a cluster in tests: started as children of the test, found by their parents, ended or frozen by a fault.

import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

/** A program of the cluster that a fault may end and the test starts again. */
export class Program {
  #child: Bun.Subprocess | null = null;

  constructor(
    readonly name: string,
    private readonly command: readonly string[],
    private readonly options: {
      readonly cwd: string;
      readonly environment?: Readonly<Record<string, string>>;
      /** File that gets the output. */
      readonly log: string;
    },
  ) {}

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} does not run`);
    return pid;
  }

  start(): void {
    const { cwd, environment, log } = this.options;
    const output = openSync(log, "a");
    this.#child = Bun.spawn([...this.command], {
      cwd,
      env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8", ...environment },
      stdin: "ignore",
      stdout: output,
      stderr: output,
    });
    closeSync(output);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    child.kill(signal);
    await child.exited;
  }
}

/** Ids of the processes whose parent is `parent`. */
export function childrenOf(parent: number): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [, ppid] = /\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, "utf8")) ?? [];
      return Number(ppid) === parent ? [Number(name)] : [];
    } catch {
      return []; // it ended meanwhile
    }
  });
}

/** A process and all that it started, directly or not. */
export function treeOf(pid: number): readonly number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** The command line of a process; empty if it has ended. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // it ended
  }
}

/** Sends a signal to processes, of which some may have ended. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      const hasEnded = error instanceof Error && "code" in error && error.code === "ESRCH";
      if (!hasEnded) throw error;
    }
  }
}
