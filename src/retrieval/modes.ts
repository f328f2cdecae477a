// The search modes as one table (number of candidates, weights of the signals, reranker depth), and the calibration
// curves of final scores. The constants were chosen by measurement (docs/measurements.md). The same constants apply to
// all projects.

import { invariant } from "../domain/fault.ts";
import type { ModeName } from "../domain/ranking.ts";

/** Constants of a search mode. */
export interface Mode {
  /** Minimum number of candidates from vector search; a request's `limit` can raise it. */
  readonly vectorCandidates: number;
  /**
   * Maximum number of candidates from full-text search. If it is 0, full text only scores the candidates of vector
   * search.
   */
  readonly textCandidates: number;
  /** Whether graph search runs even if the request does not ask for it. */
  readonly usesGraph: boolean;
  /** Maximum number of candidates from graph search, if it runs. */
  readonly graphCandidates: number;
  /** Weight of the graph score (0..1) in the hybrid score. */
  readonly graphWeight: number;
  /**
   * Share of the text weight and of the rerank weight that is lost at graph certainty 1; at lower certainty,
   * proportionally less. Reason: the passage that answers a two-step question neither sounds like an answer nor
   * contains the question's words.
   */
  readonly graphCertaintyDamping: number;
  /** Weight of the cosine similarity in the hybrid score; see `TYPICAL_COSINE`. */
  readonly vectorWeight: number;
  /** Weight of the BM25 score (0..1) in the hybrid score. If it is 0, full text is not used. */
  readonly textWeight: number;
  /**
   * Share of the distance to the best passage of its memory that a passage gains. Applied to the hybrid score and again
   * after the reranker. Reason: the answer is often near the passage that sounds like the question.
   */
  readonly siblingBoost: number;
  /** Maximum number of candidates that the reranker reads, best hybrid score first. 0 means no reranking. */
  readonly rerankDepth: number;
  /**
   * Approximate number of tokens, over all (question, passage) pairs, that the reranker reads for one search. Its time
   * is proportional to tokens. So it reads `rerankDepth` short passages, or half as many long ones.
   */
  readonly rerankTokensMax: number;
  /**
   * Number of these tokens that pass through all layers if the encoder supports early exit (`EarlyExit`). The logits of
   * the pairs with the other tokens are then estimates.
   */
  readonly rerankFullTokensMax: number;
  /** Weight of the reranker's squashed logit (-1..1), added to the hybrid score. */
  readonly rerankWeight: number;
  /**
   * Deadline in milliseconds. After it, the search continues without the reranker, in the order of the hybrid scores.
   */
  readonly rerankDeadlineMs: number;
}

/** Maximum number of tokens of one (question, passage) pair; the reranker cuts the rest. */
export const RERANKED_TOKENS_MAX = 128;

/** Chosen on 250 questions to three of LoCoMo's ten conversations. */
const SIBLING_BOOST = 0.2;

const GRAPH = { graphCandidates: 200, graphWeight: 1.5, graphCertaintyDamping: 0.7 };

const NO_RERANKER = {
  rerankDepth: 0,
  rerankTokensMax: 0,
  rerankFullTokensMax: 0,
  rerankWeight: 0,
  rerankDeadlineMs: 0,
};

/**
 * Typical cosine of a relevant passage. It replaces the part of the cosine that a smaller `vectorWeight` removes, so
 * that hybrid scores keep their magnitude: vectorWeight * cosine + (1 - vectorWeight) * TYPICAL_COSINE.
 */
export const TYPICAL_COSINE = 0.5;

/**
 * Weights for questions in a script that the embedder does not know. The vector weight is so small that it only breaks
 * ties of BM25 scores. The graph weighs less, because capital letters do not help to recognise entities there. Chosen
 * with test/languages.
 */
const UNSUPPORTED_SCRIPT = { vectorWeight: 0.02, graphWeight: 0.5 };

/**
 * Changes a mode for a question in a language that the models do not support. Every mode then uses full text, and none
 * uses the reranker. Graph certainty does not reduce the text weight, because full text is the only other useful
 * signal.
 * @param isScriptSupported whether the embedder knows at least the script of the question, such as the Latin script of
 *   a German question. Its vectors are then still useful for proper nouns and loanwords.
 */
export function forUnsupportedLanguage(mode: Mode, isScriptSupported: boolean): Mode {
  const { textCandidates, textWeight } = MODES.precise;
  return {
    ...mode,
    textCandidates,
    textWeight,
    graphCertaintyDamping: 0,
    rerankDepth: 0,
    ...(isScriptSupported ? {} : UNSUPPORTED_SCRIPT),
  };
}

/** Maximum number of passages, those with the best hybrid scores, where the graph walk starts. */
export const GRAPH_SEEDS_MAX = 10;

/** The modes, by name. */
export const MODES: Readonly<Record<ModeName, Mode>> = {
  fast: {
    vectorCandidates: 30,
    textCandidates: 0,
    usesGraph: false,
    ...GRAPH,
    vectorWeight: 1,
    textWeight: 0,
    siblingBoost: SIBLING_BOOST,
    ...NO_RERANKER,
  },
  hybrid: {
    vectorCandidates: 200,
    textCandidates: 200,
    usesGraph: false,
    ...GRAPH,
    vectorWeight: 1,
    textWeight: 2.3,
    siblingBoost: SIBLING_BOOST,
    ...NO_RERANKER,
  },
  balanced: {
    vectorCandidates: 200,
    textCandidates: 200,
    usesGraph: false,
    ...GRAPH,
    vectorWeight: 1,
    textWeight: 2.3,
    siblingBoost: SIBLING_BOOST,
    rerankDepth: 20,
    rerankTokensMax: 10 * RERANKED_TOKENS_MAX,
    rerankFullTokensMax: 7.5 * RERANKED_TOKENS_MAX,
    rerankWeight: 0.4,
    rerankDeadlineMs: 2_000,
  },
  precise: {
    vectorCandidates: 200,
    textCandidates: 200,
    usesGraph: true,
    ...GRAPH,
    vectorWeight: 1,
    textWeight: 2.3,
    siblingBoost: SIBLING_BOOST,
    rerankDepth: 30,
    rerankTokensMax: 15 * RERANKED_TOKENS_MAX,
    rerankFullTokensMax: Number.POSITIVE_INFINITY,
    rerankWeight: 0.4,
    rerankDeadlineMs: 2_000,
  },
};

/** Which signals, besides the cosine similarity, are part of a final score. */
export interface ScoreParts {
  readonly text: boolean;
  readonly graph: boolean;
  readonly rerank: boolean;
}

/**
 * Calibration curve: probability of relevance = 1 / (1 + exp(-(slope * score + offset))). It rises with the score, so
 * it keeps the order.
 */
export interface Curve {
  readonly slope: number;
  readonly offset: number;
}

/**
 * One curve for each combination of signals, shared by all modes. With other signals, the same final score means
 * another probability. Fitted by bench/calibrate.ts on train questions of SciFact (150, evenly spread) and HotpotQA
 * (100), 22 Nov 2026. Collections of other domains would give other curves.
 */
const CURVES: Readonly<Record<string, Curve>> = {
  "": { slope: 12.55, offset: -8.57 },
  graph: { slope: 1.74, offset: -3.16 },
  text: { slope: 5.52, offset: -6.9 },
  "text graph": { slope: 2.95, offset: -5.16 },
  "text rerank": { slope: 4, offset: -5.26 },
  "text graph rerank": { slope: 2.77, offset: -4.89 },
};

/** The calibration curve for scores with these signals. The reranker never runs without full text. */
export function calibrationCurve({ text, graph, rerank }: ScoreParts): Curve {
  const name = [text && "text", graph && "graph", text && rerank && "rerank"].filter(Boolean).join(" ");
  const curve = CURVES[name];
  invariant(curve, `there is no calibration curve for scores of ${name}; this is a bug in Mneme`);
  return curve;
}
