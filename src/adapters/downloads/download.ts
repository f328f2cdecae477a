// Downloads a file. A download that was interrupted continues where it stopped.

import { open, stat } from "node:fs/promises";
import { errorMessage } from "../../kit/error-message.ts";
import { nullIfMissing } from "../../kit/missing-files.ts";

/** Why a model could not be installed: one sentence for the user. */
export class PullFailed extends Error {
  override readonly name = "PullFailed";
}

/** A download. */
export interface DownloadOptions {
  /** Size of the file in bytes; null: not known. */
  readonly bytes: number | null;
  /** Maximum size of the file in bytes. */
  readonly bytesMax: number;
  /** Whether to continue an earlier download. Only for a file that is checked as a whole later. */
  readonly continues: boolean;
  /** Called with the number of bytes that have arrived. */
  readonly onBytes?: (done: number, total: number | null) => void;
  /** Maximum time in milliseconds without a byte. */
  readonly idleMs?: number;
  readonly signal?: AbortSignal;
}

const IDLE_MS = 30_000;

/**
 * Downloads to the file `partial`.
 * @throws PullFailed
 */
export async function download(url: string, partial: string, options: DownloadOptions): Promise<void> {
  const { onBytes = () => undefined, idleMs = IDLE_MS, bytes, bytesMax, continues, signal } = options;
  const before = continues ? ((await stat(partial).catch(nullIfMissing))?.size ?? 0) : 0;
  if (bytes !== null && before === bytes) return;
  const idle = new AbortController();
  const giveUp = () => idle.abort(new Error(`nothing arrived for ${idleMs / 1000} s`));
  let timer = setTimeout(giveUp, idleMs);
  try {
    const from = before < (bytes ?? Number.POSITIVE_INFINITY) ? before : 0;
    const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
    const signals = signal === undefined ? [idle.signal] : [idle.signal, signal];
    const response = await fetch(url, { headers, signal: AbortSignal.any(signals) });
    if (response.status === 416 && bytes === null) return; // `partial` is complete
    if (!response.ok || response.body === null) throw new Error(`the server answers ${response.status}`);
    const isContinued = response.status === 206;
    const file = await open(partial, isContinued ? "a" : "w");
    try {
      let done = isContinued ? from : 0;
      const announced = Number(response.headers.get("content-length") ?? Number.NaN);
      const total = bytes ?? (announced > 0 ? announced + done : null);
      for await (const piece of response.body) {
        clearTimeout(timer);
        timer = setTimeout(giveUp, idleMs);
        done += piece.byteLength;
        if (done > (bytes ?? bytesMax)) throw new Error(`it is longer than ${bytes ?? bytesMax} bytes`);
        await file.write(piece);
        onBytes(done, total);
      }
      if (bytes !== null && done < bytes) {
        throw new Error(`it ended after ${done} of ${bytes} bytes; the next try continues there`);
      }
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (cause) {
    const why = errorMessage(cause);
    throw new PullFailed(`${url} could not be downloaded: ${why}.`, { cause });
  } finally {
    clearTimeout(timer);
  }
}
