// Starts what belongs to models that an operator adds: the registry, which always knows the present models, the
// installer, the watch of remote models, the calibrator, and their service.

import { downloadedModels } from "../adapters/downloads/optional-models.ts";
import { createModelFiles } from "../adapters/installation/model-folder.ts";
import { queryLanguage } from "../adapters/preparation/query-language.ts";
import { Calibrator } from "../calibration/calibrator.ts";
import type { ProjectId } from "../domain/ids.ts";
import { ModelInstaller } from "../models/installer.ts";
import { ModelRegistry } from "../models/registry.ts";
import { RemoteWatch } from "../models/remote-watch.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { NodeTasks } from "../ports/coordination.ts";
import type { RemoteModels } from "../ports/models.ts";
import { InstalledModelService } from "../services/installed-models.ts";
import type { Closers } from "./closers.ts";
import type { Models } from "./models.ts";
import { scratchIndexes } from "./scratch-index.ts";
import { type Storage, visiblePages } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";

/** Reads which models were added, and follows changes. `closers` stop it. */
export async function startModelRegistry(
  { log, clock }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly models: Omit<Models, "pictures">;
    readonly remote: RemoteModels;
    readonly onChange: () => void;
  },
  closers: Closers,
): Promise<ModelRegistry> {
  const { storage, models, remote, onChange } = uses;
  const { installedModels: store, projectModels } = storage.stores;
  const registry = new ModelRegistry({
    ...{ store, projectModels, builtIn: models, local: models.local, remote, onChange, clock, log },
  });
  await registry.refresh();
  closers.add(() => registry.stop());
  registry.start();
  return registry;
}

/** Starts what installs, watches and calibrates models, and creates the service. `closers` stop it. */
export function startInstalledModels(
  surroundings: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly models: Models;
    readonly registry: ModelRegistry;
    readonly remote: RemoteModels;
    readonly tasks: NodeTasks;
    readonly index: ChunkIndex;
  },
  closers: Closers,
): InstalledModelService {
  const { config, log, clock } = surroundings;
  const { registry, models, remote, tasks } = uses;
  const { installedModels: store, projectModels } = uses.storage.stores;
  const files = createModelFiles({
    installedDir: downloadedModels(config.dataDir),
    sourceDirs: [config.modelsDir],
    hub: config.modelHub,
  });
  const refresh = () => registry.refresh();
  const installer = new ModelInstaller({
    ...{ store, files, local: models.local, onEnd: refresh, clock, log },
    isMine: () => tasks.isMine("model changes"),
  });
  closers.add(() => installer.stop());
  installer.start();
  const watch = new RemoteWatch({
    ...{ store, remote, onReady: refresh, clock, log },
    find: (id) => registry.find(id),
  });
  closers.add(() => watch.stop());
  watch.start();
  const calibrator = new Calibrator({
    ...{ store, projectModels, onEnd: refresh, clock, log, languageOf: queryLanguage, preparer: models.preparer },
    defaultId: models.embedders.default.id,
    find: (id) => registry.find(id),
    openIndex: scratchIndexes({ dataDir: config.dataDir, log, clock }),
    textsOf: (id, limit) => textsOf(uses, id, limit),
    fit: async (fitting) => (await import("../calibration/fit-tuning.ts")).fitTuning(fitting),
    isMine: () => tasks.isMine("model changes"),
  });
  closers.add(() => calibrator.stop());
  calibrator.start();
  return new InstalledModelService({
    ...{ store, projectModels, files, remote, refresh, clock },
    builtIn: models.local.builtIn,
    defaultId: models.embedders.default.id,
    find: (id) => registry.find(id),
    problemOf: (model) => registry.problems().get(model.id) ?? remote.problem(model),
    wakeInstaller: () => installer.wake(),
    wakeCalibrator: () => calibrator.wake(),
  });
}

/** The texts of some memories of a project, at most one page. @param limit maximum number of texts */
async function textsOf(
  { storage, index }: { readonly storage: Storage; readonly index: ChunkIndex },
  id: ProjectId,
  limit: number,
): Promise<readonly string[]> {
  for await (const page of visiblePages(id, storage.stores.memories)) {
    const texts = await index.contents(page.slice(0, limit).map(({ memoryKey }) => memoryKey));
    return [...texts.values()].map(({ content }) => content);
  }
  return [];
}
