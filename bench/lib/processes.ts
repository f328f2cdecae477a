// Processes of a server, from /proc (Linux only): memory, children, command lines, and which one listens on a port.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process and its memory. */
export interface ProcessMemory {
  readonly pid: number;
  /** `serve` or `child` in its command line, with the word after it: the kind of process. Empty without such a word. */
  readonly name: string;
  /** Resident set size in bytes. */
  readonly rssBytes: number;
}

const PAGE_BYTES = 4096;
/** JavaScriptCore reserves address ranges of at least this size for its heaps; nobody else does. */
const HEAP_RANGE_BYTES_MIN = 512 * 1024 * 1024;

/** A process and all its descendants. */
export function processTree(root: number): readonly ProcessMemory[] {
  const parents = new Map(processIds().map((pid) => [pid, parentOf(pid)]));
  const family = [root];
  // The loop adds children to the list that it iterates, so that children of children are found too.
  for (const member of family) for (const [pid, parent] of parents) if (parent === member) family.push(pid);
  return family.flatMap((pid) => memoryOf(pid) ?? []);
}

function processIds(): number[] {
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

/** Resident memory of a process in bytes: its JavaScript heaps, other memory without a file, and pages of files. */
export function memoryByKind(pid: number): {
  readonly javaScript: number;
  readonly native: number;
  readonly files: number;
} {
  const bytes = { javaScript: 0, native: 0, files: 0 };
  let kind: keyof typeof bytes = "native";
  for (const line of ifAlive(() => readFileSync(`/proc/${pid}/smaps`, "utf8"), "").split("\n")) {
    const [, start, end, name] = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+\s*(.*)$/.exec(line) ?? [];
    if (start !== undefined && end !== undefined) {
      const isHeap = Number.parseInt(end, 16) - Number.parseInt(start, 16) >= HEAP_RANGE_BYTES_MIN;
      kind = name?.startsWith("/") === true ? "files" : isHeap ? "javaScript" : "native";
    } else {
      bytes[kind] += Number(/^Rss:\s+(\d+) kB$/.exec(line)?.[1] ?? 0) * 1024;
    }
  }
  return bytes;
}

/** The process that listens on a local TCP port; null if no process of this user does. */
export function listenerOf(port: number): number | null {
  const inodes = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const row of readFileSync(table, "utf8").trim().split("\n").slice(1)) {
      const columns = row.trim().split(/\s+/);
      const isListening = columns[3] === "0A";
      if (isListening && Number.parseInt(columns[1]?.split(":")[1] ?? "", 16) === port)
        inodes.add(`socket:[${columns[9]}]`);
    }
  }
  for (const pid of processIds()) {
    if (openFiles(pid).some((target) => inodes.has(target))) return pid;
  }
  return null;
}

/** Children of a process, also those that have not called exec yet. */
export function childrenOf(pid: number): readonly number[] {
  return ifAlive(() => readdirSync(`/proc/${pid}/task`), [])
    .flatMap((task) => ifAlive(() => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8"), "").split(" "))
    .filter((child) => child !== "")
    .map(Number);
}

/** The words of a process's command line; none if it has ended. */
export function commandLineOf(pid: number): readonly string[] {
  return ifAlive(() => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0"), []).filter((word) => word !== "");
}

/** Peak resident set size of a process since its start, in bytes; 0 if the process has ended. */
export function peakBytes(pid: number): number {
  const status = ifAlive(() => readFileSync(`/proc/${pid}/status`, "utf8"), "");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

function openFiles(pid: number): string[] {
  const names = ifAlive(() => readdirSync(`/proc/${pid}/fd`), []);
  return names.map((name) => ifAlive(() => readlinkSync(`/proc/${pid}/fd/${name}`), ""));
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
    const words = commandLineOf(pid);
    const at = words.findIndex((word) => word === "child" || word === "serve");
    return { pid, name: words.slice(at, at + 2).join(" "), rssBytes: pages * PAGE_BYTES };
  }, null);
}
