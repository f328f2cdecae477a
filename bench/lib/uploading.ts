// Uploads files, waits for their memories, and reads the peak memory of processes from /proc (Linux only).

import { readFileSync } from "node:fs";
import { systemClock } from "../../src/kit/clock.ts";
import { isRecord, type JsonRecord } from "../../src/kit/record.ts";
import { formRequest, type Part } from "../../test/support/forms.ts";
import type { RunningServer } from "../../test/support/server.ts";

const POLL_MS = 20;

/** Reply to an upload. */
export interface UploadReply {
  readonly status: number;
  readonly body: JsonRecord;
}

/** Uploads a file with the operation `uploadMemory`. */
export async function uploadFile(
  server: RunningServer,
  filename: string,
  content: Part["content"],
): Promise<UploadReply> {
  const request = formRequest(`${server.url}/v1/memories/upload`, [{ name: "file", filename, content }], {
    headers: { authorization: `Bearer ${server.key}` },
  });
  const response = await fetch(request);
  const body: unknown = await response.json();
  return { status: response.status, body: isRecord(body) ? body : {} };
}

/**
 * Waits until `isPast` is true for a memory, and returns the memory.
 * @throws Error after `timeoutMs`
 */
export async function waitForMemory(
  server: RunningServer,
  id: string,
  isPast: (memory: JsonRecord) => boolean,
  timeoutMs: number,
): Promise<JsonRecord> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { body } = await server.call("GET", `/v1/memories/${id}`);
    if (isRecord(body) && isPast(body)) return body;
    if (performance.now() > deadline) throw new Error(`${id} was not ready within ${timeoutMs} ms`);
    await systemClock.sleep(POLL_MS);
  }
}

/** Peak resident set size of a process since its start, in bytes; 0 if the process has ended. */
export function peakBytes(pid: number): number {
  return kibibytesOf(pid, "VmHWM") * 1024;
}

function kibibytesOf(pid: number, field: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
  } catch {
    return 0; // the process has ended
  }
}
