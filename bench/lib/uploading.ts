// How benches upload files, wait for what becomes of them, and see what a process took at most. Peaks are read from /proc, so
// Linux only.

import { readFileSync, writeFileSync } from "node:fs";
import { isRecord, type JsonRecord } from "../../src/cli/client.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { formRequest, type Part } from "../../test/support/forms.ts";
import type { RunningServer } from "../../test/support/server.ts";

const POLL_MS = 20;

/** What a request was answered with. */
export interface Told {
  readonly status: number;
  readonly body: JsonRecord;
}

/** Sends a file to uploadMemory. */
export async function uploadFile(server: RunningServer, filename: string, content: Part["content"]): Promise<Told> {
  const request = formRequest(`${server.url}/v1/memories/upload`, [{ name: "file", filename, content }], {
    headers: { authorization: `Bearer ${server.key}` },
  });
  const response = await fetch(request);
  const body: unknown = await response.json();
  return { status: response.status, body: isRecord(body) ? body : {} };
}

/**
 * Waits until a memory is past a point, and gives it.
 * @throws Error when that takes longer than `timeoutMs`.
 */
export async function memoryOnce(
  server: RunningServer,
  id: string,
  isPast: (memory: JsonRecord) => boolean,
  timeoutMs: number,
): Promise<JsonRecord> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { body } = await server.call("GET", `/v1/memories/${id}`);
    if (isRecord(body) && isPast(body)) return body;
    if (performance.now() > deadline) throw new Error(`${id}: not within ${timeoutMs} ms`);
    await systemClock.sleep(POLL_MS);
  }
}

/** Largest resident set of a process since it began, or since `forgetPeak`, in bytes; 0 when it is gone. */
export function peakBytes(pid: number): number {
  return kibibytesOf(pid, "VmHWM") * 1024;
}

/** Resident set of a process in bytes; 0 when it is gone. */
export function rssBytes(pid: number): number {
  return kibibytesOf(pid, "VmRSS") * 1024;
}

/** Makes `peakBytes` count from now on (proc(5), clear_refs). */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function kibibytesOf(pid: number, field: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
  } catch {
    return 0; // it ended meanwhile
  }
}
