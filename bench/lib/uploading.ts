// Uploads files, and waits for their memories.

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
  pollMs = POLL_MS,
): Promise<JsonRecord> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { body } = await server.call("GET", `/v1/memories/${id}`);
    if (isRecord(body) && isPast(body)) return body;
    if (performance.now() > deadline) throw new Error(`${id} was not ready within ${timeoutMs} ms`);
    await systemClock.sleep(pollMs);
  }
}
