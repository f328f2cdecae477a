// Weights and curves of models that nobody has calibrated: they rank, but their scores are no probabilities.

import { MODE_NAMES, type ModeName } from "./ranking.ts";
import type { Curve, RetrievalTuning } from "./retrieval-tuning.ts";
import { SIGNAL_COMBINATIONS, type SignalCombination } from "./signals.ts";

/** How the cosines of a model are distributed. */
export interface CosineSpread {
  /** Typical cosine of a question and a passage that answers it. */
  readonly related: number;
  /** Typical cosine of a question and any other passage. */
  readonly unrelated: number;
}

/**
 * Weight of full text divided by the spread of the cosines. mneme-e5-small has 2.5 (spread 0.1), all-MiniLM-L6-v2 4.6
 * (spread 0.5).
 */
const TEXT_WEIGHT_PER_SPREAD = 4;
/** Weight of the graph divided by the spread: mneme-e5-small has 2, all-MiniLM-L6-v2 3. */
const GRAPH_WEIGHT_PER_SPREAD = 2.5;
/** Weight of the reranker divided by the spread: mneme-e5-small has 0.6, all-MiniLM-L6-v2 0.8. */
const RERANK_WEIGHT_PER_SPREAD = 0.7;
/** A spread below this is noise: the model may not know the language of the probes. */
const SPREAD_MIN = 0.05;
/**
 * Default of `min_evidence` for scores that are no probabilities: it refuses questions whose numbers, codes or names no
 * passage has, and hardly any other, because such scores say little.
 */
export const UNCALIBRATED_EVIDENCE_MIN = 0.05;

const SAFE_EVIDENCE_MIN = Object.fromEntries(MODE_NAMES.map((mode) => [mode, UNCALIBRATED_EVIDENCE_MIN])) as Readonly<
  Record<ModeName, number>
>;

/** The spread of a model of which nothing is known. */
const UNKNOWN_SPREAD: CosineSpread = { related: 0.6, unrelated: 0.2 };

/**
 * Weights that fit the spread of a model's cosines, and curves that rise with the score: 0.5 for the typical cosine of
 * a passage that answers.
 */
export function neutralTuning({ related, unrelated }: CosineSpread): RetrievalTuning {
  const spread = Math.max(SPREAD_MIN, related - unrelated);
  const vectorWeight = 1;
  const graphWeight = GRAPH_WEIGHT_PER_SPREAD * spread;
  const text = { vectorWeight, textWeight: TEXT_WEIGHT_PER_SPREAD * spread, graphWeight };
  const rerankWeight = RERANK_WEIGHT_PER_SPREAD * spread;
  const curve: Curve = { slope: 4 / spread, gapSlope: 4 / spread, sizeSlope: 0, offset: (-4 / spread) * related };
  return {
    calibration: "none",
    weights: {
      fast: { vectorWeight, textWeight: 0, graphWeight, rerankWeight: 0 },
      hybrid: { ...text, rerankWeight: 0 },
      balanced: { ...text, rerankWeight },
      precise: { ...text, rerankWeight },
    },
    unsupportedScript: { vectorWeight: 0.02, graphWeight: GRAPH_WEIGHT_PER_SPREAD * spread * 0.35 },
    typicalCosine: related,
    curves: Object.fromEntries(SIGNAL_COMBINATIONS.map((name) => [name, curve])) as Record<SignalCombination, Curve>,
    evidence: { scoreSlope: 1, codesSlope: 5, namesSlope: 2, offset: 0 },
    replacement: null,
    evidenceMin: SAFE_EVIDENCE_MIN,
  };
}

/** The same weights and curves for models that they were not fitted to, such as an embedder with another reranker. */
export function withoutCalibration(tuning: RetrievalTuning): RetrievalTuning {
  return { ...tuning, calibration: "none", evidenceMin: SAFE_EVIDENCE_MIN };
}

/** Weights and curves of a model of which nothing is known. */
export const NEUTRAL_TUNING: RetrievalTuning = neutralTuning(UNKNOWN_SPREAD);
