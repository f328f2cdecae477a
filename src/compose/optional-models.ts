// Optional models, which are not part of the program: where they are installed, and how they are downloaded.

import { constants } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import {
  downloadedModels,
  installedFolder,
  OPTIONAL_MODELS,
  type OptionalModel,
  optionalModel,
} from "../adapters/downloads/optional-models.ts";
import { type PullOptions, pullModel } from "../adapters/downloads/pull.ts";
import type { Config } from "../config.ts";
import { cacheDirectory } from "../kit/cache-directory.ts";

export { OPTIONAL_MODELS, optionalModel, pullModel };

/** The folders that may have optional models. Downloads go to the last one. */
export function optionalModelFolders({ modelsDir, dataDir }: Pick<Config, "modelsDir" | "dataDir">): readonly string[] {
  return [modelsDir, downloadedModels(dataDir)];
}

/** The folder of an optional model; null if it is not installed. */
export function optionalModelFolder(id: string, config: Pick<Config, "modelsDir" | "dataDir">): string | null {
  const model = optionalModel(id);
  return model === null ? null : installedFolder(model, optionalModelFolders(config));
}

/**
 * Installs a model in a checkout: downloads it to the cache folder, from which the next checkout copies it.
 * @returns the folder of the model
 * @throws PullFailed
 */
export async function installFromCache(model: OptionalModel, modelsDir: string, options: PullOptions): Promise<string> {
  const cache = join(cacheDirectory(), "models");
  const cached = installedFolder(model, [cache]) ?? (await pullModel(model, cache, options));
  const folder = join(modelsDir, model.folder);
  await cp(cached, folder, { recursive: true, mode: constants.COPYFILE_FICLONE });
  return folder;
}
