// How much disk and memory are free on this machine. Inside a container, its memory limit counts.

import { statfs } from "node:fs/promises";
import { freemem } from "node:os";
import { cgroupText } from "../../kit/machine-share.ts";
import { textIfThere } from "../../kit/missing-files.ts";

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
  const [, kibibytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(textIfThere(MEMORY_FILE)) ?? [];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}

function freeOfContainer(): number {
  const limit = Number.parseInt(cgroupText("memory.max"), 10);
  const used = Number.parseInt(cgroupText("memory.current"), 10);
  if (Number.isNaN(limit) || Number.isNaN(used)) return Number.POSITIVE_INFINITY;
  const [, cached = "0"] = /^inactive_file (\d+)$/m.exec(cgroupText("memory.stat")) ?? [];
  return Math.max(0, limit - used + Number(cached));
}
