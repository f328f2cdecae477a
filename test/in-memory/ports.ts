// Ports of a whole service whose stores, index, models and language model answer with a delay, so that tests find
// callers that forget `await`; and ports of which only the models are replaced. Uploaded files, text preparation and
// document reading are real.

import { join } from "node:path";
import { createDocumentReader } from "../../src/adapters/documents/document-reader.ts";
import { embedderOf, readModels } from "../../src/adapters/inference/model-files.ts";
import { createPreparationProcess } from "../../src/adapters/preparation/preparation-process.ts";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { memoryAttributes } from "../../src/api/views.ts";
import { connectLanguageModel } from "../../src/compose/language-model.ts";
import { pictureRecogniserFor } from "../../src/compose/models.ts";
import { openStorage } from "../../src/compose/postgres-storage.ts";
import type { PortOpeners } from "../../src/compose/service.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { InstalledEmbedders } from "../../src/ports/models.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { InMemoryChunkIndex } from "./chunk-index.ts";
import { openDelayedStores } from "./delayed-stores.ts";
import { type Delay, Delays } from "./delays.ts";
import { type Script, ScriptedLanguageModel } from "./language-model.ts";
import { WordModels } from "./models.ts";

/**
 * Ports for `compose`. Each service that is composed with them starts with empty stores.
 * @param delays of the models; default: random ones
 */
export function inMemoryPorts(script: Script, delays: Delay = new Delays()): PortOpeners {
  return {
    openStorage: async ({ config, clock, log, ...hooks }, closers) => {
      const { transactions, close, ...stores } = openDelayedStores({
        clock,
        newWebhookSecret,
        describe: memoryAttributes,
        ...hooks,
        onEffectFailure: (err) => log.error({ err }, "an effect of a committed transaction failed"),
      });
      closers.add(close);
      const files = openSpool(join(config.dataDir, "uploads"), { clock, log });
      const openIndex = async (embedders: InstalledEmbedders) => {
        const index = new InMemoryChunkIndex([embedders.default, ...embedders.ids.map((id) => embedders.get(id))]);
        closers.add(() => index.close());
        return index;
      };
      const freeSpace = async () => ({ diskBytes: 1e12, memoryBytes: 1e12 });
      return {
        stores,
        transactions,
        files,
        openIndex,
        freeSpace,
        explainFailure: () => null,
        disk: { isFull: false, fault: new Fault("overloaded", "full"), makeRoom: () => false },
        projectsHere: null,
        indexUsage: null,
        coordination: null,
        databaseBytes: null,
        readingThreads: null,
        upkeep: [],
        verifyIndexes: null,
        copies: null,
        closing: null,
        whyClosed: async () => null,
        traces: null,
      };
    },
    startModels: wordModels(delays),
    connectLanguageModel: () => new ScriptedLanguageModel(script),
  };
}

/** The real ports, but models that count words: for tests of stores and documents, which need no meaning. */
export const WORD_PORTS: PortOpeners = {
  openStorage,
  startModels: wordModels({ next: () => Promise.resolve() }),
  connectLanguageModel,
};

function wordModels(delays: Delay): PortOpeners["startModels"] {
  return async ({ config, log }, closers) => {
    const models = new WordModels({ delays });
    const { tokenizer, chunkTokens } = embedderOf(readModels(config.modelsDir), config.embedder);
    const preparer = createPreparationProcess({ tokenizer, chunkTokens, log });
    closers.add(() => preparer.close());
    const documents = createDocumentReader({ log });
    closers.add(() => documents.close());
    return {
      embedders: models.embedders,
      rerankers: models.rerankers,
      local: models.local,
      preparer,
      documents,
      openPictures: () => pictureRecogniserFor(config, log, closers),
      laneStatus: () => [],
      ready: () => Promise.resolve(),
    };
  };
}
