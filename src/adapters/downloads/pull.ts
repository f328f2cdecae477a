// Downloads the archive of an optional model (download.ts), checks it, and installs its files.

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Budget, READING_LIMITS } from "../../documents/budget.ts";
import { Archive } from "../../documents/zip/archive.ts";
import { errorMessage } from "../../kit/error-message.ts";
import { fileSha256 } from "../../kit/file-sha256.ts";
import { download, PullFailed } from "./download.ts";
import type { OptionalModel } from "./optional-models.ts";

/** Options of `pullModel`. */
export interface PullOptions {
  /** Where the archive comes from instead of its public address: an http or https address, or the path of a file. */
  readonly from?: string | undefined;
  /** Called with the number of bytes that have arrived. */
  readonly onBytes?: (done: number, total: number) => void;
  /** Maximum time in milliseconds without a byte. */
  readonly idleMs?: number;
}

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
  if (from === null) {
    throw new PullFailed(
      `${model.id} has no public address: name ${model.id}.zip of the release with --from FILE|URL.`,
    );
  }
  const isAddress = /^https?:\/\//.test(from);
  const archive = isAddress ? partial : from;
  const { bytes } = model.archive;
  if (isAddress) {
    const { onBytes = () => undefined, idleMs } = options;
    const counted = (done: number) => onBytes(done, bytes);
    const limits = { bytes, bytesMax: bytes, continues: true, ...(idleMs !== undefined && { idleMs }) };
    await download(from, partial, { ...limits, onBytes: counted });
  }
  if ((await sha256OfFile(archive)) !== model.archive.sha256) {
    if (isAddress) await rm(partial, { force: true });
    throw new PullFailed(`${from} is not the expected file: its SHA-256 is not ${model.archive.sha256}.`);
  }
  await unpack(archive, model, folder);
  if (isAddress) await rm(partial, { force: true });
  return folder;
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
  try {
    return await fileSha256(path);
  } catch (cause) {
    throw new PullFailed(`${path} cannot be read: ${errorMessage(cause)}.`, {
      cause,
    });
  }
}
