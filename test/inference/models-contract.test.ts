// Runs the contracts of Embedder and Reranker for lanes with the shipped models, and for the word models of
// test/in-memory.

import { createLanes } from "../../src/adapters/inference/lanes.ts";
import { createLog } from "../../src/kit/log.ts";
import { modelContracts } from "../contract/models.ts";
import { WordModels } from "../in-memory/models.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";

for (const embedder of [ENGLISH, MULTILINGUAL]) {
  modelContracts(`Lanes with ${embedder}`, async ({ callsMax }) => {
    const options = callsMax === undefined ? {} : { queryCallsMax: callsMax };
    return createLanes({ modelsDir: MODELS_DIR, embedder, log: createLog("silent"), ...options });
  });
}

modelContracts("Word models", async ({ callsMax = 256 }) => {
  const { embedders, rerankers } = new WordModels({ callsMax });
  return { embedders, rerankers, close: () => Promise.resolve() };
});
