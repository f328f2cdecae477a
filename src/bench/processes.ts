// Memory of a server and its child processes, from /proc (Linux only).

import { readdirSync, readFileSync } from "node:fs";

/** A process and its memory. */
export interface ProcessMemory {
  readonly pid: number;
  /** The last arguments of its command line, which distinguish the kinds of child processes. */
  readonly name: string;
  /** Resident set size in bytes. */
  readonly rssBytes: number;
}

const PAGE_BYTES = 4096;

/** A process and all its descendants. */
export function processTree(root: number): readonly ProcessMemory[] {
  const parents = new Map(processIds().map((pid) => [pid, parentOf(pid)]));
  const family = [root];
  // The loop adds children to the list that it iterates, so that children of children are found too.
  for (const member of family) for (const [pid, parent] of parents) if (parent === member) family.push(pid);
  return family.flatMap((pid) => memoryOf(pid) ?? []);
}

/** Ids of all processes. */
export function processIds(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** What `inspect` returns, or `fallback` if the process ends meanwhile. */
export function ifAlive<Value>(inspect: () => Value, fallback: Value): Value {
  try {
    return inspect();
  } catch {
    return fallback;
  }
}

function parentOf(pid: number): number | null {
  return ifAlive(() => {
    const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1) ?? "";
    return Number(afterName.split(" ")[1]);
  }, null);
}

function memoryOf(pid: number): ProcessMemory | null {
  return ifAlive(() => {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8")
      .split("\0")
      .filter((word) => word !== "");
    const at = words.findIndex((word) => word === "child" || word === "serve");
    return { pid, name: words.slice(at, at + 2).join(" "), rssBytes: pages * PAGE_BYTES };
  }, null);
}
