// Implements ModelFiles: brings the files of a model to the folder of added models, and removes them. sources.ts says
// where a model can come from.

import { constants } from "node:fs";
import { cp, mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../domain/fault.ts";
import { nullIfMissing } from "../../kit/missing-files.ts";
import { isRecord, type JsonRecord, recordsIn } from "../../kit/record.ts";
import type { InstalledFiles, ModelFiles, ModelOrigin } from "../../ports/model-files.ts";
import { sha256OfManifest, taskOf } from "../inference/local-models.ts";
import { ModelFilesError } from "../inference/manifest-fields.ts";
import {
  type EmbedderDescription,
  fingerprintOf,
  manifestPath,
  type RerankerDescription,
  readAddableFolder,
  verifyModelFiles,
} from "../inference/model-files.ts";
import { fetchModel } from "./fetch-model.ts";
import { type HubFolder, readHubFolder } from "./hub-folder.ts";
import { folderBelow, idOfSource, isFetched } from "./sources.ts";

/** What the files of models need. */
export interface ModelFolderOptions {
  /** Folder of the models that were added, with one folder per model. */
  readonly installedDir: string;
  /** Folders below which a source may be. null: anywhere, because the operator names it on the command line. */
  readonly sourceDirs: readonly string[] | null;
  /** Address of the hub of models, without a slash at its end. */
  readonly hub: string;
}

/** The files of the models that are added to this node. */
export function createModelFiles(options: ModelFolderOptions): ModelFiles {
  const { installedDir } = options;
  return {
    idFor: idOfSource,
    check: async (source) => {
      if (!isFetched(source)) await folderOf(source, options);
    },
    install: async (origin, onProgress, signal) => {
      const { source } = origin;
      if (!isFetched(source) && !(await isArchive(source, options))) return install(origin, options);
      return installFetched(origin, options, onProgress, signal);
    },
    remove: async ({ id, source }) => {
      const folder = join(installedDir, id);
      // A command can name a folder anywhere, but a source that was given to the API is below the folder of the models.
      const named = [await sourceFolder(source, options), await folderBelow([installedDir], source)];
      for (const from of named) if (from !== null && (await isSameFolder(from, folder))) return;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Fetches the files into a folder of their own, and installs them from there. */
async function installFetched(
  { sha256, ...origin }: ModelOrigin,
  options: ModelFolderOptions,
  onProgress: Parameters<ModelFiles["install"]>[1],
  signal: AbortSignal,
): Promise<InstalledFiles> {
  const { installedDir, hub } = options;
  const fetched = join(installedDir, `.${origin.id}.fetched`);
  const partial = join(installedDir, `.${origin.id}.part`);
  await rm(fetched, { recursive: true, force: true });
  await mkdir(fetched, { recursive: true });
  try {
    const { source } = origin;
    const from = await fetchModel({ source, sha256, hub, partial, onProgress, signal }, fetched);
    return await install({ ...origin, sha256: null, source: from }, { ...options, sourceDirs: null });
  } catch (error) {
    throw error instanceof ModelFilesError ? withoutPaths(error, installedDir) : error;
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
}

/** Whether the operator names an archive on this machine. */
async function isArchive(source: string, { sourceDirs }: ModelFolderOptions): Promise<boolean> {
  return sourceDirs === null && (await stat(source).catch(nullIfMissing))?.isFile() === true;
}

async function install(origin: ModelOrigin, options: ModelFolderOptions): Promise<InstalledFiles> {
  const { id, source } = origin;
  const folder = join(options.installedDir, id);
  const from = await folderOf(source, options);
  const { manifest, files } = await describe(from, id, origin.manifest ?? {});
  if (await isSameFolder(from, folder)) return installInPlace(folder, manifest, files);
  const staging = join(options.installedDir, `.${id}.${process.pid}`);
  const fresh = join(staging, id);
  await rm(staging, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    await copyFiles(files, fresh);
    await writeManifest(fresh, manifest);
    await verifyModelFiles(readAddableFolder(fresh));
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
  } catch (error) {
    throw error instanceof ModelFilesError ? withoutPaths(error, fresh) : error;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return propertiesOf(readAddableFolder(folder), folder);
}

/** Installs a model whose files are in the folder of the model already. */
async function installInPlace(
  folder: string,
  manifest: JsonRecord,
  files: HubFolder["files"],
): Promise<InstalledFiles> {
  const elsewhere = [...files].find(([name, path]) => path !== join(folder, name));
  if (elsewhere !== undefined) {
    throw new ModelFilesError(
      `The file ${elsewhere[0]} is in a folder below that of the model: move it up, or add the model under another id.`,
    );
  }
  try {
    await writeManifest(folder, manifest);
    const model = readAddableFolder(folder);
    await verifyModelFiles(model);
    return propertiesOf(model, folder);
  } catch (error) {
    throw error instanceof ModelFilesError ? withoutPaths(error, folder) : error;
  }
}

/** Writes the manifest under another name first, so that nobody reads a part of it. */
async function writeManifest(folder: string, manifest: JsonRecord): Promise<void> {
  const path = manifestPath(folder);
  await writeFile(`${path}.${process.pid}`, `${JSON.stringify(manifest, null, 1)}\n`, { flush: true });
  await rename(`${path}.${process.pid}`, path);
}

async function isSameFolder(left: string, right: string): Promise<boolean> {
  const place = (path: string) => realpath(path).catch(nullIfMissing);
  return (await place(left)) === (await place(right));
}

/** The folder that a source names; null if it names none. */
async function sourceFolder(source: string, { sourceDirs, installedDir }: ModelFolderOptions): Promise<string | null> {
  const folder = sourceDirs === null ? source : await folderBelow([...sourceDirs, installedDir], source);
  const isFolder = folder !== null && (await stat(folder).catch(nullIfMissing))?.isDirectory() === true;
  return isFolder ? folder : null;
}

async function folderOf(source: string, options: ModelFolderOptions): Promise<string> {
  const folder = await sourceFolder(source, options);
  if (folder !== null) return folder;
  const problem =
    options.sourceDirs === null
      ? `There is no folder ${source}.`
      : "'source' names no folder below the folder of models (MNEME_MODELS_DIR).";
  throw new Fault("invalid_request", problem, { param: "source" });
}

/**
 * The manifest for a folder, and the files that it names. What `model.json` in the folder says counts more than what
 * other files say, and `given` counts most.
 */
async function describe(folder: string, id: string, given: JsonRecord): Promise<HubFolder> {
  const own = await readManifest(folder);
  if (own !== null && isRecord(own.tokenizer) && typeof own.sha256 === "string") {
    const manifest = { ...own, ...given, id };
    return { manifest, files: new Map(filesOf(manifest).map((name) => [name, join(folder, name)])) };
  }
  const { manifest: found, files } = await readHubFolder(folder);
  const manifest: JsonRecord = { name: id, ...found, ...own, ...given, id };
  const missing = manifest.kind === "embedder" ? NEEDED.filter(({ field }) => manifest[field] === undefined) : [];
  if (missing.length > 0) throw new ModelFilesError(missingSentence(missing));
  return { manifest, files };
}

/** Fields that an embedder's manifest must have, and other files of a folder may lack. */
const NEEDED = [
  { field: "pooling", what: "cls, mean, last, or output if the model makes vectors" },
  { field: "dimensions", what: "the length of its vectors" },
] as const;

function missingSentence(missing: readonly (typeof NEEDED)[number][]): string {
  const names = missing.map(({ field }) => field).join(" and the ");
  const flags = missing.map(({ field, what }) => `--${field} (${what})`).join(" and ");
  return `The folder does not say the ${names} of the model: add ${flags}, or write a file model.json with the same names into the folder.`;
}

/** The manifest of a folder, which may be a part of one; null if there is none. */
async function readManifest(folder: string): Promise<JsonRecord | null> {
  const text = await readFile(manifestPath(folder), "utf8").catch(nullIfMissing);
  if (text === null) return null;
  try {
    const manifest: unknown = JSON.parse(text);
    if (isRecord(manifest)) return manifest;
  } catch (cause) {
    throw new ModelFilesError("The model.json of the folder is not JSON.", { cause });
  }
  throw new ModelFilesError("The model.json of the folder is not an object.");
}

/** Names of the files that a manifest names. */
function filesOf(manifest: JsonRecord): readonly string[] {
  const tokenizer = isRecord(manifest.tokenizer) ? manifest.tokenizer.file : null;
  const weights = recordsIn(manifest.weights).map(({ file }) => file);
  return [manifest.file, tokenizer, manifest.reference, ...weights].filter((name) => typeof name === "string");
}

async function copyFiles(files: HubFolder["files"], to: string): Promise<void> {
  for (const [name, path] of files) {
    if (!/^[\w-][\w.-]*$/.test(name)) {
      throw new ModelFilesError(`model.json names ${JSON.stringify(name)}, which is no file name.`);
    }
    const found = await stat(path).catch(nullIfMissing);
    if (found === null && name === "reference.json") continue;
    if (found?.isFile() !== true) throw new ModelFilesError(`The file ${name}, which model.json names, is missing.`);
    await cp(path, join(to, name), { dereference: true, mode: constants.COPYFILE_FICLONE });
  }
}

/** The same error without the path of a folder that exists only while a model is added. */
function withoutPaths(error: ModelFilesError, folder: string): ModelFilesError {
  return new ModelFilesError(error.message.replaceAll(`${folder}/`, ""), { cause: error });
}

/** What the folder of a model says of it. */
export function propertiesOf(model: EmbedderDescription | RerankerDescription, folder: string): InstalledFiles {
  const { tokensMax, languages, licence } = model;
  const isEmbedder = model.kind === "embedder";
  return {
    task: taskOf(model),
    dimensions: isEmbedder ? model.dimensions : null,
    ...{ tokensMax, languages, licence },
    fingerprint: isEmbedder ? fingerprintOf(model) : null,
    isCalibrated: isEmbedder && model.tuning.calibration === "shipped",
    manifestSha256: sha256OfManifest(folder),
  };
}
