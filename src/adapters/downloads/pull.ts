// Downloads the archive of an optional model, checks it, and installs its files. A download that was interrupted
// continues where it stopped.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Budget, READING_LIMITS } from "../../documents/budget.ts";
import { Archive } from "../../documents/zip/archive.ts";
import { nullIfMissing } from "../../kit/if-missing.ts";
import type { OptionalModel } from "./optional-models.ts";

/** Why a model could not be installed: one sentence for the user. */
export class PullFailed extends Error {
  override readonly name = "PullFailed";
}

/** Options of `pullModel`. */
export interface PullOptions {
  /** Where the archive comes from instead of its public address: an http or https address, or the path of a file. */
  readonly from?: string | undefined;
  /** Called with the number of bytes that have arrived. */
  readonly onBytes?: (done: number, total: number) => void;
  /** Maximum time in milliseconds without a byte. */
  readonly idleMs?: number;
}

const IDLE_MS = 30_000;

/**
 * Installs a model below a folder of models. Its files appear together, when all are checked.
 * @returns the folder of the model
 * @throws PullFailed
 */
export async function pullModel(model: OptionalModel, modelsDir: string, options: PullOptions = {}): Promise<string> {
  const folder = join(modelsDir, model.folder);
  const partial = `${folder}.part`;
  await mkdir(modelsDir, { recursive: true });
  const { from = model.archive.url } = options;
  const isAddress = /^https?:\/\//.test(from);
  const archive = isAddress ? partial : from;
  if (isAddress) await download(from, model, partial, options);
  if ((await sha256OfFile(archive)) !== model.archive.sha256) {
    if (isAddress) await rm(partial, { force: true });
    throw new PullFailed(`${from} is not the expected file: its SHA-256 is not ${model.archive.sha256}.`);
  }
  await unpack(archive, model, folder);
  if (isAddress) await rm(partial, { force: true });
  return folder;
}

async function download(url: string, model: OptionalModel, partial: string, options: PullOptions): Promise<void> {
  const { bytes: total } = model.archive;
  const { onBytes = () => undefined, idleMs = IDLE_MS } = options;
  const before = (await stat(partial).catch(nullIfMissing))?.size ?? 0;
  if (before === total) return;
  const idle = new AbortController();
  const giveUp = () => idle.abort(new Error(`nothing arrived for ${idleMs / 1000} s`));
  let timer = setTimeout(giveUp, idleMs);
  try {
    const from = before < total ? before : 0;
    const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
    const response = await fetch(url, { headers, signal: idle.signal });
    if (!response.ok || response.body === null) throw new Error(`the server answers ${response.status}`);
    const isContinued = response.status === 206;
    const file = await open(partial, isContinued ? "a" : "w");
    try {
      let done = isContinued ? from : 0;
      for await (const piece of response.body) {
        clearTimeout(timer);
        timer = setTimeout(giveUp, idleMs);
        done += piece.byteLength;
        if (done > total) throw new Error(`it is longer than ${total} bytes`);
        await file.write(piece);
        onBytes(done, total);
      }
      if (done < total) throw new Error(`it ended after ${done} of ${total} bytes; the next try continues there`);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PullFailed(`${url} could not be downloaded: ${why}.`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

async function unpack(archive: string, model: OptionalModel, folder: string): Promise<void> {
  const fresh = `${folder}.${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    const entries = new Archive(await readFile(archive), new Budget(READING_LIMITS));
    for (const { name, path, sha256 } of model.files) {
      const bytes = Buffer.concat([...entries.read(path)]);
      if (createHash("sha256").update(bytes).digest("hex") !== sha256) {
        throw new PullFailed(`The file ${path} in the archive of ${model.id} is not the expected one.`);
      }
      await writeFile(join(fresh, name), bytes, { flush: true });
    }
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(path)) hash.update(piece);
  } catch (cause) {
    throw new PullFailed(`${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`, {
      cause,
    });
  }
  return hash.digest("hex");
}
