// Opens a data directory for searching in this process, without a server. For benches with searches that the API does
// not offer. It opens the same parts as src/compose/storage.ts, except those that write.

import { join } from "node:path";
import { EmbeddedChunkIndex } from "../../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { Quarantine } from "../../src/adapters/embedded/quarantine.ts";
import { createLanes } from "../../src/adapters/inference/lanes.ts";
import { addon } from "../../src/adapters/native/addon.ts";
import { queryLanguage } from "../../src/adapters/preparation/query-language.ts";
import { gpuOptionsOf } from "../../src/compose/models.ts";
import { visiblePages } from "../../src/compose/storage.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { createLog } from "../../src/kit/log.ts";
import type { IndexOf, ProjectIndex } from "../../src/ports/chunk-index.ts";
import type { MemoryStore } from "../../src/ports/memory-store.ts";
import type { Embedders } from "../../src/ports/models.ts";
import type { RetrievalDependencies } from "../../src/retrieval/request.ts";
import { openStores } from "../../src/stores/sqlite/stores.ts";
import { StoreQuarantine } from "../../src/stores/store-quarantine.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { benchConfig } from "./models.ts";

/** An open data directory. */
export interface OpenRetrieval {
  readonly parts: Omit<RetrievalDependencies, "index"> & {
    readonly embedders: Embedders;
    readonly memories: Pick<MemoryStore, "userKey">;
    readonly index: IndexOf<ProjectIndex>;
  };
  readonly archive: Pick<Archive, "chunkKeys">;
  /** The default project, where benches store their memories. */
  readonly projectId: ProjectId;
  /** All projects, by name. */
  readonly projects: ReadonlyMap<string, ProjectId>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/**
 * Opens a data directory that no server uses, and waits for the models.
 * @throws UsageError if the index is incomplete (a server repairs it when it starts); NativeError if a server uses it
 */
export async function openRetrieval(dataDir: string): Promise<OpenRetrieval> {
  const config = benchConfig({ MNEME_DATA_DIR: dataDir });
  const log = createLog("warn");
  const clock = systemClock;
  await using opening = new AsyncDisposableStack();
  const lock = addon().lockDirectory(dataDir);
  opening.defer(() => lock.release());
  const ownership = { log, quarantine: new StoreQuarantine(dataDir, clock.now()), acceptsLoss: false };
  const stores = openStores({ path: join(dataDir, "mneme.sqlite"), ownership, clock, newWebhookSecret });
  opening.defer(() => stores.close());
  const { memories } = stores;
  const archive = await Archive.open({ path: join(dataDir, "memories.duckdb"), log });
  opening.defer(() => archive.close());
  const lanes = await createLanes({
    modelsDir: config.modelsDir,
    embedder: config.embedder,
    lanes: config.lanes,
    runtime: config.modelRuntime,
    gpu: gpuOptionsOf(config),
    log,
  });
  opening.defer(() => lanes.close());
  const { embedders, rerankers } = lanes;
  const index = new EmbeddedChunkIndex({
    directory: join(dataDir, "projects"),
    archive,
    quarantine: new Quarantine(join(dataDir, "quarantine"), systemClock),
    log,
    models: () => [embedders.default],
    reserveChunkKeys: (count) => stores.jobs.reserveChunkKeys(count),
  });
  opening.defer(() => index.close());

  const projectId = await stores.accounts.defaultProject();
  const projects = new Map<string, ProjectId>();
  for (const id of await stores.accounts.projects()) {
    const { incomplete } = await index.reconcile(id, visiblePages(id, memories));
    if (incomplete.length > 0) {
      throw new UsageError(
        `${dataDir}: ${incomplete.length} memories must be indexed again; start a server on it once.`,
      );
    }
    const project = await stores.accounts.project(id);
    if (project !== null) projects.set(project.name, id);
  }
  await lanes.ready();
  const opened = opening.move();
  return {
    parts: {
      relations: stores.relations,
      history: stores.history,
      ...{ index, memories, accounts: stores.accounts, embedders, rerankers, languageOf: queryLanguage, clock },
      // quality must not depend on how busy the machine is
      rerankDeadlineMs: Number.POSITIVE_INFINITY,
    },
    archive,
    projectId,
    projects,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
