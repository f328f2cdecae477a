// Memory of processes by kind, and which process listens on a port, from /proc (Linux only).

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { ifAlive, processIds } from "../../src/bench/processes.ts";

/** JavaScriptCore reserves address ranges of at least this size for its heaps; nobody else does. */
const HEAP_RANGE_BYTES_MIN = 512 * 1024 * 1024;

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

function openFiles(pid: number): string[] {
  const names = ifAlive(() => readdirSync(`/proc/${pid}/fd`), []);
  return names.map((name) => ifAlive(() => readlinkSync(`/proc/${pid}/fd/${name}`), ""));
}
