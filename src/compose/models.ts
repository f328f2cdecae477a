// Starts the processes that run models and prepare texts, and connects to language models.

import { createDocumentReader } from "../adapters/documents/document-reader.ts";
import { createLanes, type LaneStatus } from "../adapters/inference/lanes.ts";
import { countCalls } from "../adapters/llm/call-metrics.ts";
import type { LlmTimeouts } from "../adapters/llm/call-timer.ts";
import { createLanguageModel } from "../adapters/llm/client.ts";
import { limitConcurrency } from "../adapters/llm/concurrency-limit.ts";
import { createPreparationProcess } from "../adapters/preparation/preparation-process.ts";
import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { Metrics } from "../kit/metrics.ts";
import type { DocumentReader } from "../ports/document-reader.ts";
import type { LanguageModel } from "../ports/language-model.ts";
import type { Embedder, Reranker } from "../ports/models.ts";
import type { Preparer } from "../ports/preparer.ts";
import type { Closers } from "./closers.ts";

/**
 * Time limit in milliseconds for connecting to a language model. An endpoint that takes longer is down or overloaded.
 */
const LLM_CONNECT_MS = 5_000;

/** The models and the processes that read and prepare texts. */
export interface Models {
  readonly embedder: Embedder;
  readonly reranker: Reranker;
  readonly preparer: Preparer;
  readonly documents: DocumentReader;
  /** The state of the processes that run models, for `/ready` and the metrics. */
  readonly laneStatus: () => readonly LaneStatus[];
  /** Resolves when the models are ready; rejects if they can never be ready. */
  readonly ready: () => Promise<void>;
}

/** Starts lanes and the preparation process. @throws ModelError with a sentence for the operator */
export async function startModels(
  { config, log }: { readonly config: Config; readonly log: Log },
  closers: Closers,
): Promise<Models> {
  const lanes = await createLanes({
    modelsDir: config.modelsDir,
    lanes: config.lanes,
    runtime: config.modelRuntime,
    log,
  });
  closers.add(() => lanes.close());
  const preparer = createPreparationProcess({ modelsDir: config.modelsDir, log });
  closers.add(() => preparer.close());
  const documents = createDocumentReader({ log });
  closers.add(() => documents.close());
  return {
    embedder: lanes,
    reranker: lanes,
    preparer,
    documents,
    laneStatus: () => lanes.status().lanes,
    ready: () => lanes.ready(),
  };
}

/** Creates the client for language models, with its metrics and its limit of concurrent calls. */
export function connectLanguageModel(config: Config, metrics: Metrics, clock: Clock): LanguageModel {
  const client = createLanguageModel({ allow: config.webhookAllow, timeouts: llmTimeouts(config), clock });
  return limitConcurrency(countCalls(client, metrics), { concurrency: config.llmConcurrency, metrics });
}

function llmTimeouts({ llmFirstByteTimeoutMs, llmIdleTimeoutMs, llmTimeoutMs }: Config): LlmTimeouts {
  return {
    connectMs: LLM_CONNECT_MS,
    firstByteMs: llmFirstByteTimeoutMs,
    idleMs: llmIdleTimeoutMs,
    totalMs: llmTimeoutMs,
  };
}
