// Work on models for the command line, without a server: adds a model to a data directory, and tests models.

import { downloadedModels } from "../adapters/downloads/optional-models.ts";
import { createLanes } from "../adapters/inference/lanes.ts";
import { readAddedModel } from "../adapters/inference/local-models.ts";
import type { Config } from "../config.ts";
import { Fault } from "../domain/fault.ts";
import type { DownloadProgress, InstalledModel } from "../domain/installed-model.ts";
import type { Clock } from "../kit/clock.ts";
import { createLog } from "../kit/log.ts";
import { type CheckedModel, checkModel, failedChecks } from "../models/checks.ts";
import type { InstalledModelStore } from "../ports/installed-model-store.ts";
import type { ModelFiles, ModelOrigin } from "../ports/model-files.ts";
import type { FoundModel, LocalModels, RemoteModels } from "../ports/models.ts";

/** What the work needs. */
export interface LocalModelWork {
  readonly config: Config;
  readonly store: InstalledModelStore;
  readonly files: ModelFiles;
  readonly remote: Pick<RemoteModels, "open">;
  readonly clock: Clock;
}

/**
 * Adds a model. If the store knows it already, but its files are missing on this machine, only installs the files.
 * @throws Error with a sentence for the operator; the installed files are then removed again
 */
export async function addLocalModel(
  work: LocalModelWork,
  origin: ModelOrigin,
  onProgress: (progress: DownloadProgress) => void,
): Promise<void> {
  const { store, files } = work;
  const { id, source, sha256 } = origin;
  const known = await store.get(id);
  if (known !== null && (known.status !== "ready" || (await hasFiles(work, known)))) {
    throw new Fault("invalid_state", `There is a model ${id} already. Remove it, or choose another name with --id.`);
  }
  const { task, ...properties } = await files.install(origin, onProgress, new AbortController().signal);
  const { manifestSha256 } = properties;
  try {
    if (known !== null && known.manifestSha256 !== manifestSha256) {
      throw new Error(`These are not the files of the model ${id} that was added before: remove it first.`);
    }
    const { checks } = await withLanes(work, (local) => checkModel(local.open({ id, manifestSha256 }), work.clock));
    const [failed] = failedChecks({ ms: 0, checks });
    if (failed !== undefined) throw new Error(failed.message);
    if (known !== null) return;
    const added = { kind: "installed", remote: null, status: "ready", progress: null, error: null } as const;
    await store.add({ id, task, source, sha256, ...properties, ...added });
  } catch (error) {
    await files.remove(origin);
    throw error;
  }
}

/** Runs and checks a model. @throws Fault `invalid_state` if it cannot be used */
export async function testLocalModel(work: LocalModelWork, { id, status, error }: InstalledModel): Promise<object> {
  const row = await work.store.get(id);
  const test = async (found: FoundModel | null) => {
    if (found !== null && status === "ready") return testView(await checkModel(found, work.clock));
    throw new Fault("invalid_state", `The model ${id} cannot be tested: ${error ?? `its status is ${status}.`}`);
  };
  if (row !== null && (row.kind === "remote" || status !== "ready")) {
    return test(status === "ready" ? work.remote.open(row) : null);
  }
  return withLanes(work, (local) => test(row === null ? local.builtInModel(id) : local.open(row)));
}

/** A ModelTest of the API. */
function testView({ ms, checks }: CheckedModel): object {
  return { ok: checks.every(({ ok }) => ok), ms: Math.round(ms), checks };
}

/** Whether the files of a model are on this machine, and are those that were added. */
async function hasFiles(work: LocalModelWork, model: Parameters<LocalModels["open"]>[0]): Promise<boolean> {
  try {
    readAddedModel(downloadedModels(work.config.dataDir), model);
    return true;
  } catch {
    return false; // they are missing, or are other files: they are installed again
  }
}

async function withLanes<Result>(
  { config: { modelsDir, dataDir, embedder } }: LocalModelWork,
  work: (local: LocalModels) => Promise<Result>,
): Promise<Result> {
  const log = createLog("error");
  const lanes = await createLanes({
    ...{ modelsDir, installedDir: downloadedModels(dataDir), embedder, lanes: 1, preloadsReranker: false, log },
  });
  try {
    await lanes.ready();
    return await work(lanes.local);
  } finally {
    await lanes.close();
  }
}
