// How much disk and memory are free on this machine. Inside a container, its memory limit counts.

import { existsSync, readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { freemem } from "node:os";
import { cgroupText } from "../../kit/machine-share.ts";

/** Memory that the kernel could give to programs, including what it would take from its file cache. */
const MEMORY_FILE = "/proc/meminfo";

/** Free bytes of the disk with `directory`, and of the memory that this process may use. */
export async function freeSpace(
  directory: string,
): Promise<{ readonly diskBytes: number; readonly memoryBytes: number }> {
  const { bavail, bsize } = await statfs(directory);
  return { diskBytes: bavail * bsize, memoryBytes: Math.min(freeOfMachine(), freeOfContainer()) };
}

function freeOfMachine(): number {
  const [, kibibytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(textOf(MEMORY_FILE)) ?? [];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}

function freeOfContainer(): number {
  const limit = Number.parseInt(cgroupText("memory.max"), 10);
  const used = Number.parseInt(cgroupText("memory.current"), 10);
  if (Number.isNaN(limit) || Number.isNaN(used)) return Number.POSITIVE_INFINITY;
  const [, cached = "0"] = /^inactive_file (\d+)$/m.exec(cgroupText("memory.stat")) ?? [];
  return Math.max(0, limit - used + Number(cached));
}

/** Empty if there is no such file, as on systems other than Linux. */
function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
