// Computes embeddings for callers, with the models that searches use.

import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Viewer } from "../domain/scope.ts";
import type { Embedder, Embedders, Purpose } from "../ports/models.ts";

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

/** Computes embeddings. */
export class EmbeddingService {
  readonly #embedders: Embedders;

  constructor(embedders: Embedders) {
    this.#embedders = embedders;
  }

  /**
   * Embeds texts. A single text goes before ingestion, like a search; several take turns with the project's ingestion.
   * @param nameOf name of a text in the request, for errors
   * @throws Fault `invalid_request` if a text, or all together, have too many tokens; `overloaded`; `model_unavailable`
   */
  async embed(
    viewer: Viewer,
    { model, texts, purpose, isTruncated }: EmbeddingRequest,
    nameOf: (index: number) => string,
    signal: AbortSignal,
  ): Promise<Embeddings> {
    const embedder = this.#embedders.get(model);
    const priority = texts.length === 1 ? "query" : "ingest";
    const options = { purpose, priority, share: viewer.projectId, signal } as const;
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
