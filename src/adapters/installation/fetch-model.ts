// Fetches the files of a model into a folder: from an archive at an address or on this machine, or from a hub.

import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DownloadProgress } from "../../domain/installed-model.ts";
import { errorMessage } from "../../kit/error-message.ts";
import { fileSha256 } from "../../kit/file-sha256.ts";
import { isRecord, recordsIn } from "../../kit/record.ts";
import { download, PullFailed } from "../downloads/download.ts";
import { ModelFilesError } from "../inference/manifest-fields.ts";
import { HUB_SOURCE } from "./sources.ts";
import { unpackArchive } from "./unpack.ts";

/** Maximum size of a model in bytes. */
const MODEL_BYTES_MAX = 32 * 1024 * 1024 * 1024;
/** Maximum time of a request to a hub, in milliseconds. */
const HUB_TIMEOUT_MS = 30_000;
/** Files of a hub that say how a model is used. */
const HUB_FILES =
  /^(config|tokenizer|tokenizer_config|modules|sentence_bert_config|config_sentence_transformers|reference|model)\.json$|^README\.md$|^1_Pooling\/config\.json$/;

/** A model to fetch. */
export interface FetchedSource {
  readonly source: string;
  /** SHA-256 that an archive must have; null: not given. */
  readonly sha256: string | null;
  /** Address of the hub, without a slash at its end. */
  readonly hub: string;
  /** File or folder for bytes that have arrived. It is kept after a failure, so that the next try continues. */
  readonly partial: string;
  readonly onProgress: (progress: DownloadProgress) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches a model into an empty folder.
 * @returns the folder with the files: `folder`, or the only folder in it
 * @throws PullFailed or ModelFilesError with a sentence for the operator
 */
export async function fetchModel(of: FetchedSource, folder: string): Promise<string> {
  const { source, sha256, partial, onProgress, signal } = of;
  const named = HUB_SOURCE.exec(source);
  if (named !== null) return fetchFromHub(of, `${named[1]}/${named[2]}`, folder);
  const isAddress = /^https?:\/\//.test(source);
  if (isAddress) {
    const onBytes = (bytesDone: number, bytesTotal: number | null) => onProgress({ bytesDone, bytesTotal });
    const options = { bytes: null, bytesMax: MODEL_BYTES_MAX, continues: sha256 !== null, onBytes, signal };
    await download(source, partial, options);
  }
  const archive = isAddress ? partial : source;
  if (sha256 !== null && (await fileSha256(archive)) !== sha256) {
    if (isAddress) await rm(partial, { force: true });
    throw new PullFailed(`The archive is not the expected one: its SHA-256 is not ${sha256}.`);
  }
  await unpackArchive(archive, folder, MODEL_BYTES_MAX);
  if (isAddress) await rm(partial, { force: true });
  const names = await readdir(folder);
  const [only] = names;
  const isNested = names.length === 1 && only !== undefined && !existsSync(join(folder, "tokenizer.json"));
  return isNested ? join(folder, only) : folder;
}

/** A file of a hub. */
interface HubFile {
  readonly path: string;
  readonly bytes: number;
  /** null: the hub does not say it. */
  readonly sha256: string | null;
}

async function fetchFromHub(
  { hub, partial, onProgress, signal }: FetchedSource,
  name: string,
  folder: string,
): Promise<string> {
  const files = neededFiles(await hubFiles(`${hub}/api/models/${name}/tree/main?recursive=true`, signal));
  const bytesTotal = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let bytesBefore = 0;
  for (const { path, bytes, sha256 } of files) {
    const kept = join(partial, path);
    await mkdir(dirname(kept), { recursive: true });
    const onBytes = (done: number) => onProgress({ bytesDone: bytesBefore + done, bytesTotal });
    const options = { bytes, bytesMax: bytes, continues: sha256 !== null, onBytes, signal };
    await download(`${hub}/${name}/resolve/main/${path}`, kept, options);
    if (sha256 !== null && (await fileSha256(kept)) !== sha256) {
      await rm(kept, { force: true });
      throw new PullFailed(`${path} of ${name} is not what the hub says: its SHA-256 differs.`);
    }
    bytesBefore += bytes;
  }
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
  return folder;
}

async function hubFiles(url: string, signal: AbortSignal): Promise<readonly HubFile[]> {
  let list: unknown;
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(HUB_TIMEOUT_MS)]) });
    if (!response.ok) throw new Error(`the hub answers ${response.status}`);
    list = await response.json();
  } catch (cause) {
    const why = errorMessage(cause);
    throw new PullFailed(`${url} could not be read: ${why}.`, { cause });
  }
  return recordsIn(list).flatMap(({ path, size, lfs }) => {
    const isPlain = typeof path === "string" && /^(?:[\w-][\w.-]*\/){0,3}[\w-][\w.-]*$/.test(path);
    if (!isPlain || typeof size !== "number") return [];
    const oid = isRecord(lfs) && typeof lfs.oid === "string" ? lfs.oid.replace(/^sha256:/, "") : "";
    return [{ path, bytes: size, sha256: /^[0-9a-f]{64}$/.test(oid) ? oid : null }];
  });
}

/** One ONNX model with its weights, and the files that say how it is used. @throws ModelFilesError without a model */
function neededFiles(files: readonly HubFile[]): readonly HubFile[] {
  const model = ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx"].find((name) =>
    files.some(({ path }) => path === name),
  );
  if (model === undefined) {
    throw new ModelFilesError("The hub has no ONNX file of this model. docs/models.md says how to convert it.");
  }
  const isWeights = (path: string) => path.startsWith(model) && /^[._]data(_\d+)?$/.test(path.slice(model.length));
  return files.filter(({ path }) => path === model || isWeights(path) || HUB_FILES.test(path));
}
