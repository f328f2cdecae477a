// Embedding models that the program knows, but whose files are not on this machine, and the projects that use them.

import { downloadedModels, optionalModel } from "../adapters/downloads/optional-models.ts";
import { isInstalled, type ModelCatalogue, readModels } from "../adapters/inference/model-files.ts";
import type { Config } from "../config.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { Log } from "../kit/log.ts";
import type { IndexOf, ModelIndex } from "../ports/chunk-index.ts";
import { type Embedders, modelIdOf } from "../ports/models.ts";
import type { Storage } from "./storage.ts";

/** The stores and the index that say which projects use which models. */
interface Uses {
  readonly storage: Pick<Storage, "stores" | "coordination">;
  readonly index: IndexOf<Pick<ModelIndex, "models">>;
  readonly embedders: Pick<Embedders, "withFingerprint">;
}

/** Logs a warning for each absent model that projects use. Until it is installed, they are searched by full text. */
export async function warnOfAbsentModels(
  { config, log }: { readonly config: Config; readonly log: Log },
  uses: Uses,
): Promise<void> {
  const absent = absentModels(config);
  if (absent.length === 0) return;
  const used = await modelsInUse(uses);
  for (const id of absent) {
    const projects = [...used].flatMap(([projectId, live]) => (live === id ? [projectId] : []));
    if (projects.length === 0) continue;
    const what = projects.length === 1 ? "a project uses" : `${projects.length} projects use`;
    log.warn(
      { model: id, projects },
      `${what} the model ${id}, which is not installed: searches use full text alone, and new memories wait. Nothing is embedded again. Install it with: ${pullCommand(id)}`,
    );
  }
}

/**
 * The id of the model of each project. If the row of a project does not name it, as in earlier versions, the index
 * does. With several nodes the index is not asked, because it may not be on this machine.
 */
async function modelsInUse({ storage, index, embedders }: Uses): Promise<ReadonlyMap<ProjectId, string>> {
  const { projectModels, accounts } = storage.stores;
  const models = new Map<ProjectId, string>();
  for (const { projectId, live } of await projectModels.list()) if (live !== null) models.set(projectId, live);
  if (storage.coordination !== null) return models;
  for (const projectId of await accounts.projects()) {
    if (models.has(projectId)) continue;
    using project = await index.project(projectId);
    models.set(projectId, modelIdOf(embedders, (await project.models()).live.fingerprint));
  }
  return models;
}

/** Ids of the embedders that the program knows, but whose files are not on this machine. */
export function absentModels(
  { modelsDir, dataDir }: Pick<Config, "modelsDir" | "dataDir">,
  { embedders }: Pick<ModelCatalogue, "embedders"> = readModels(modelsDir),
): readonly string[] {
  return [...embedders.values()].filter((model) => !isInstalled(model, downloadedModels(dataDir))).map(({ id }) => id);
}

/** The command that installs a model. For a file of the release, which has no public address, it names the file. */
export function pullCommand(id: string): string {
  const isOfRelease = optionalModel(id)?.archive.url === null;
  return `mneme models pull ${id}${isOfRelease ? ` --from ${id}.zip (a file of the release)` : ""}`;
}
