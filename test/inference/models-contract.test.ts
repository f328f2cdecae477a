// Runs the contracts of Embedder and Reranker for lanes with the shipped models, and for the word models of
// test/in-memory.

import { createLanes } from "../../src/adapters/inference/lanes.ts";
import { createLog } from "../../src/kit/log.ts";
import { modelContracts } from "../contract/models.ts";
import { WordModels } from "../in-memory/models.ts";
import { MODELS_DIR } from "./references.ts";

modelContracts("Lanes", async ({ callsMax }) => {
  const options = callsMax === undefined ? {} : { queryCallsMax: callsMax };
  const lanes = await createLanes({ modelsDir: MODELS_DIR, log: createLog("silent"), ...options });
  return { models: lanes, close: () => lanes.close() };
});

modelContracts("Word models", async ({ callsMax = 256 }) => ({
  models: new WordModels({ callsMax }),
  close: () => Promise.resolve(),
}));
