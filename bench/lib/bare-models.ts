// The models without a server: what `mneme bench` compares the server's figures with.

import { createLanes } from "../../src/adapters/inference/lanes.ts";
import { embedderOf, fingerprintOf, readModels } from "../../src/adapters/inference/model-files.ts";
import { Closers } from "../../src/compose/closers.ts";
import { gpuOptionsOf, preparerFor } from "../../src/compose/models.ts";
import type { Config } from "../../src/config.ts";
import { sha256OfInputs } from "../../src/ingest/imported-vectors.ts";
import type { Log } from "../../src/kit/log.ts";
import type { EarlyExit } from "../../src/ports/models.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";

/** A text to prepare. */
export interface BareText {
  readonly title: string | null;
  readonly content: string;
}

/** The models of a configuration, in child processes of their own (lanes). */
export interface BareModels {
  readonly embedder: { readonly id: string; readonly dimensions: number; readonly fingerprint: string };
  /** Id of the reranker; null if the embedder has none. */
  readonly reranker: string | null;
  /** Embeds a question with the priority of a search. */
  readonly embedQuestion: (text: string) => Promise<Float32Array>;
  /** Embeds texts of chunks with the priority of ingestion; vectors row-major. */
  readonly embedChunks: (texts: readonly string[]) => Promise<Float32Array>;
  /** Scores passages with the reranker; does nothing if there is none. */
  readonly rerank: (question: string, passages: readonly string[], earlyExit?: EarlyExit) => Promise<void>;
  /**
   * The texts that the server embeds for these memories, one list per memory. @throws PrepareFailure if a text cannot
   * be prepared
   */
  readonly chunkTexts: (texts: readonly BareText[]) => Promise<readonly (readonly string[])[]>;
  /** SHA-256 of the texts that the embedder reads of all chunks of a memory, as an export with vectors has it. */
  readonly inputsSha256: (texts: readonly string[]) => string;
  /** Number of processes that run the models. */
  readonly lanes: number;
  /** Number of tokens of a text, as the embedder counts them. */
  readonly tokensOf: (text: string) => number;
  readonly close: () => Promise<void>;
}

/**
 * Starts processes (lanes) with the models of `config`, and waits until one is up.
 * @throws ModelFilesError if a model cannot be used; Fault `model_unavailable` if no process can start
 */
export async function startBareModels({ config, log }: { readonly config: Config; readonly log: Log }) {
  const closers = new Closers();
  try {
    const { modelsDir, lanes: count, modelRuntime: runtime } = config;
    const gpu = gpuOptionsOf(config);
    const lanes = await createLanes({ modelsDir, embedder: config.embedder, lanes: count, runtime, gpu, log });
    closers.add(() => lanes.close());
    const description = embedderOf(readModels(modelsDir), config.embedder);
    const preparer = preparerFor(description, log);
    closers.add(() => preparer.close());
    const tokenizer = loadTokenizer(description.tokenizer);
    await lanes.ready();
    const embedder = lanes.embedders.default;
    const reranker = lanes.rerankers.for(embedder);
    const bare: BareModels = {
      embedder: { id: embedder.id, dimensions: embedder.dimensions, fingerprint: fingerprintOf(description) },
      reranker: description.reranker,
      lanes: lanes.status().lanes.length,
      embedQuestion: (text) => embedder.embed([text], { purpose: "query", priority: "query" }),
      embedChunks: (texts) => embedder.embed(texts, { purpose: "passage", priority: "ingest" }),
      rerank: async (question, passages, earlyExit) => {
        await reranker?.score(question, passages, { earlyExit });
      },
      chunkTexts: async (texts) => {
        const inputs = texts.map((text) => ({
          ...text,
          ...{ type: null, tags: null, language: null, date: null, createdAt: null },
        }));
        return (await preparer.prepare(inputs)).map((prepared) => {
          if (prepared instanceof PrepareFailure) throw prepared;
          return prepared.chunks.map((chunk) => prepared.texts.embeddedText(chunk));
        });
      },
      inputsSha256: sha256OfInputs,
      tokensOf: (text) => tokenizer.count(text),
      close: () => closers.close(),
    };
    return bare;
  } catch (error) {
    await closers.close();
    throw error;
  }
}
