// The search modes as one table (numbers of candidates, boosts, limits of the reranker). The constants were chosen by
// measurement (docs/measurements.md), and the same constants apply to all projects. What depends on the embedding model
// (weights of the signals, calibration curves) is in the model's manifest.

import type { ModeName } from "../domain/ranking.ts";
import type { Curve, RetrievalTuning } from "../domain/retrieval-tuning.ts";
import {
  type SignalCombination,
  type SignalWeights,
  WEIGHTED_SIGNALS,
  type WeightedSignal,
} from "../domain/signals.ts";
import type { Embedder, Reranker } from "../ports/models.ts";

/** A search mode for passages of one embedding model. */
export interface Mode extends ModeConstants, SignalWeights {
  /** See `RetrievalTuning`. */
  readonly typicalCosine: number;
}

/** Constants of a search mode. */
interface ModeConstants {
  /** Number of candidates from vector search. A higher `limit` of the request raises it. */
  readonly vectorCandidates: number;
  /**
   * Number of candidates from full-text search. A higher `limit` of the request raises it. If it is 0, full text only
   * scores the candidates of vector search.
   */
  readonly textCandidates: number;
  /** Whether the graph is walked from the best candidates even if the request does not ask for it. */
  readonly usesGraph: boolean;
  /**
   * Whether a graph search from the query's entities runs while the query is embedded, if neither `usesGraph` nor
   * the request asks for a walk from the best candidates. Its passages take part if graph certainty is at least
   * `SURE_GRAPH_CERTAINTY`.
   */
  readonly usesSureGraph: boolean;
  /** Number of candidates from a walk from the best candidates. A higher `limit` of the request raises it. */
  readonly graphCandidates: number;
  /**
   * Share of the text weight, the rerank weight and the neighbour boost that is lost at graph certainty 1; at lower
   * certainty, proportionally less. Reason: the passage that answers a two-step query neither sounds like an answer nor
   * contains the query's words.
   */
  readonly graphCertaintyDamping: number;
  /**
   * Share of the distance to the best passage of its memory that a passage gains. Applied to the hybrid score and again
   * after the reranker. Reason: the answer is often near the passage that sounds like the query.
   */
  readonly siblingBoost: number;
  /**
   * Share of the mean distance to higher-scoring neighbours that a passage gains. Its neighbours are the
   * `NEIGHBOURS` passages of other memories with the most similar vectors, among the best `NEIGHBOUR_CANDIDATES`
   * candidates. Applied after the sibling boost to the hybrid score, which chooses what the reranker reads, and again
   * after the reranker; less as graph certainty grows, like the text weight. The best passage stays the best. 0 means
   * that vectors are not compared. Reason: passages that answer the same query resemble each other.
   */
  readonly neighbourBoost: number;
  /** Maximum number of candidates that the reranker reads, best hybrid score first. 0 means no reranking. */
  readonly rerankDepth: number;
  /**
   * Approximate number of tokens, over all (query, passage) pairs, that the reranker reads for one search. Its time
   * is proportional to tokens. So it reads `rerankDepth` short passages, or half as many long ones.
   */
  readonly rerankTokensMax: number;
  /**
   * Number of these tokens that pass through all layers if the encoder supports early exit (`EarlyExit`). The logits of
   * the pairs with the other tokens are then estimates.
   */
  readonly rerankFullTokensMax: number;
}

/** Maximum number of tokens of one (query, passage) pair; the reranker cuts the rest. */
export const RERANKED_TOKENS_MAX = 128;

/** Chosen on 250 questions to three of LoCoMo's ten conversations. */
const SIBLING_BOOST = 0.2;

/** Number of candidates, best hybrid score first, whose vectors are compared for the neighbour boost. */
export const NEIGHBOUR_CANDIDATES = 100;

/** Chosen on train questions of SciFact and HotpotQA: docs/measurements.md, "Neighbour boost". */
const NEIGHBOUR_BOOST = 0.5;

/** Number of neighbours of a passage in the neighbour boost. */
export const NEIGHBOURS = 3;

const GRAPH = { graphCandidates: 200, graphCertaintyDamping: 0.7 };

/**
 * Minimum graph certainty for `usesSureGraph`. Above 0.5, the query contains the title of a passage. Measured:
 * docs/measurements.md, "Graph in hybrid".
 */
export const SURE_GRAPH_CERTAINTY = 0.9;

/** Maximum number of candidates from a graph search by `usesSureGraph`. With 200, results are the same. */
export const SURE_GRAPH_CANDIDATES = 20;

const NO_RERANKER = {
  rerankDepth: 0,
  rerankTokensMax: 0,
  rerankFullTokensMax: 0,
};

/**
 * Weights and curves of a mode for these models. If the mode uses a reranker, they may differ from those without it.
 */
export function tuningOf(
  name: ModeName,
  embedder: Pick<Embedder, "tuning">,
  reranker: Pick<Reranker, "tuning"> | null,
): RetrievalTuning {
  return (MODES[name].rerankDepth > 0 ? reranker?.tuning : undefined) ?? embedder.tuning;
}

/** A mode for passages of an embedding model with this tuning. */
export function modeFor(name: ModeName, { weights, typicalCosine }: RetrievalTuning): Mode {
  return { ...MODES[name], ...weights[name], typicalCosine };
}

/**
 * Changes a mode for a query in a language that the embedder does not support. Every mode then uses full text, and
 * none uses the reranker or the neighbour boost. Graph certainty does not reduce the text weight, because full text is
 * the only other useful signal.
 * @param isScriptSupported whether the embedder knows at least the script of the query, such as the Latin script of
 *   a German query. Its vectors are then still useful for proper nouns and loanwords.
 */
export function forUnsupportedLanguage(
  mode: Mode,
  { weights, unsupportedScript }: RetrievalTuning,
  isScriptSupported: boolean,
): Mode {
  return {
    ...mode,
    textCandidates: MODES.precise.textCandidates,
    textWeight: weights.precise.textWeight,
    graphCertaintyDamping: 0,
    neighbourBoost: 0,
    rerankDepth: 0,
    ...(isScriptSupported ? {} : unsupportedScript),
  };
}

/**
 * Factor of the text weight for questions in scripts without spaces. Chosen on development sets of Chinese, Japanese
 * and Thai: docs/measurements.md, "Scripts without spaces".
 */
const UNSPACED_TEXT_FACTOR = 2;

/**
 * Returns the mode for a query in a script without spaces, such as Chinese or Thai. Full text weighs more there,
 * because words in these scripts are not inflected: a passage has them in the same form as the query.
 */
export function forUnspacedScript(mode: Mode): Mode {
  return { ...mode, textWeight: UNSPACED_TEXT_FACTOR * mode.textWeight };
}

/** Maximum number of passages, those with the best hybrid scores, where the graph walk starts. */
export const GRAPH_SEEDS_MAX = 10;

const HYBRID: ModeConstants = {
  vectorCandidates: 200,
  textCandidates: 200,
  usesGraph: false,
  usesSureGraph: true,
  ...GRAPH,
  siblingBoost: SIBLING_BOOST,
  neighbourBoost: 0,
  ...NO_RERANKER,
};

/** The constants of the modes, by name. */
export const MODES: Readonly<Record<ModeName, ModeConstants>> = {
  fast: {
    vectorCandidates: 30,
    textCandidates: 0,
    usesGraph: false,
    usesSureGraph: false,
    ...GRAPH,
    siblingBoost: SIBLING_BOOST,
    neighbourBoost: 0,
    ...NO_RERANKER,
  },
  hybrid: HYBRID,
  balanced: {
    ...HYBRID,
    rerankDepth: 20,
    rerankTokensMax: 10 * RERANKED_TOKENS_MAX,
    rerankFullTokensMax: 7.5 * RERANKED_TOKENS_MAX,
  },
  precise: {
    vectorCandidates: 200,
    textCandidates: 200,
    usesGraph: true,
    usesSureGraph: false,
    ...GRAPH,
    siblingBoost: SIBLING_BOOST,
    neighbourBoost: NEIGHBOUR_BOOST,
    rerankDepth: 30,
    rerankTokensMax: 15 * RERANKED_TOKENS_MAX,
    rerankFullTokensMax: Number.POSITIVE_INFINITY,
  },
};

/**
 * The calibration curve for scores in which these signals, besides the cosine similarity, take part. The reranker never
 * runs without full text.
 */
export function calibrationCurve(takesPart: ReadonlySet<WeightedSignal>, { curves }: RetrievalTuning): Curve {
  const isSummed = (name: WeightedSignal) =>
    name === "vector" || (takesPart.has(name) && (name !== "rerank" || takesPart.has("text")));
  return curves[WEIGHTED_SIGNALS.filter(isSummed).join(" ") as SignalCombination];
}
