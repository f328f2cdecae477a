// Computes embeddings for callers, with the models that searches use.

import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Viewer } from "../domain/scope.ts";
import type { Embedder, Embedders, Purpose } from "../ports/models.ts";
import type { Asker } from "./search.ts";
import type { SearchQueue } from "./search-queue.ts";

/** Texts to embed. */
export interface EmbeddingRequest {
  /** Id of an installed embedding model. */
  readonly model: string;
  readonly texts: readonly string[];
  readonly purpose: Purpose;
  /** Whether a text that is too long for the model is cut off. Otherwise it is refused. */
  readonly isTruncated: boolean;
}

/** The vectors of texts, in their order. */
export interface Embeddings {
  readonly vectors: readonly Float32Array[];
  /** Number of tokens that the model read. */
  readonly tokens: number;
}

/** Approximate number of UTF-8 bytes per token, for the order of work. */
const BYTES_PER_TOKEN = 4;

/** Computes embeddings. */
export class EmbeddingService {
  readonly #embedders: Embedders;
  readonly #queue: SearchQueue;

  constructor(embedders: Embedders, queue: SearchQueue) {
    this.#embedders = embedders;
    this.#queue = queue;
  }

  /**
   * Embeds texts, when it is their turn. A single text goes before ingestion, like a search; several take turns with
   * ingestion.
   * @param nameOf name of a text in the request, for errors
   * @throws Fault `invalid_request` if a text, or all together, have too many tokens; `overloaded`; `model_unavailable`
   */
  async embed(
    viewer: Viewer,
    request: EmbeddingRequest,
    nameOf: (index: number) => string,
    { signal, confirm }: Asker,
  ): Promise<Embeddings> {
    const { projectId } = viewer;
    const embedder = this.#embedders.get(request.model);
    const bytes = request.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    const tokens = Math.ceil(bytes / BYTES_PER_TOKEN);
    const isOne = request.texts.length === 1;
    const work = { projectId, task: isOne ? "embedding" : "embeddings", tokens, bytes: () => bytes, signal } as const;
    return this.#queue.run(work, async (waitedMs) => {
      if (waitedMs > 0) await confirm();
      return embedNow(embedder, viewer, request, nameOf, signal);
    });
  }
}

async function embedNow(
  embedder: Embedder,
  viewer: Viewer,
  { texts, purpose, isTruncated }: EmbeddingRequest,
  nameOf: (index: number) => string,
  signal: AbortSignal,
): Promise<Embeddings> {
  const priority = texts.length === 1 ? "query" : "ingest";
  const options = { purpose, priority, share: viewer.projectId, hasTurn: true, signal } as const;
  const counts = await embedder.countTokens(texts, options);
  if (!isTruncated) refuseLongText(embedder, counts, nameOf);
  const tokens = counts.reduce((sum, count) => sum + Math.min(count, embedder.tokensMax), 0);
  if (tokens > LIMITS.embeddingTokens) {
    throw new Fault(
      "invalid_request",
      `The texts have ${tokens} tokens. At most ${LIMITS.embeddingTokens} are embedded at once: send fewer texts.`,
      { param: "input" },
    );
  }
  const vectors = await embedder.embed(texts, { ...options, tokensLeft: tokens });
  const { dimensions } = embedder;
  return { vectors: texts.map((_, at) => vectors.subarray(at * dimensions, (at + 1) * dimensions)), tokens };
}

function refuseLongText(
  { id, tokensMax }: Embedder,
  counts: readonly number[],
  nameOf: (index: number) => string,
): void {
  const at = counts.findIndex((count) => count > tokensMax);
  if (at === -1) return;
  const param = nameOf(at);
  throw new Fault(
    "invalid_request",
    `'${param}' has ${counts[at]} tokens, and ${id} reads ${tokensMax}. Split the text, or send 'truncate': true.`,
    { param },
  );
}
