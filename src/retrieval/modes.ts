// The modes as one table: how many candidates, which signals, how deep the reranker looks, and what a final score
// means. Constants come from the measured recipe in ARCHITECTURE.md, "Measured"; one set for all data.

import type { ModeName } from "../domain/ranking.ts";

/** How a mode searches. */
export interface Mode {
  /** Candidates that the vector leg contributes, at least; a request's `limit` raises it. */
  readonly vectorCandidates: number;
  /** Weight of the words score b (0..1) beside the cosine; 0: words take no part. */
  readonly wordsWeight: number;
  /** How many of the first stage's best are read by the reranker; 0: none. */
  readonly rerankDepth: number;
  /** Weight of the reranker's squashed logit (-1..1) beside the first stage. */
  readonly rerankWeight: number;
  /** The reranker is given up after this; the first stage's order then stands. */
  readonly rerankDeadlineMs: number;
  /**
   * Final score to probability of relevance: 1 / (1 + exp(-(slope * score + offset))). Monotone, so the order stays. Fitted
   * by bench/calibrate.ts on 250 train questions of SciFact, 21 Nov 2026 (predicted to observed: .02 to .03, .19 to .20, .66 to
   * .65 in balanced); other fields differ.
   */
  readonly calibration: { readonly slope: number; readonly offset: number };
}

/** The modes that this version can run; `precise` joins with the graph. */
export const MODES: Readonly<Record<Exclude<ModeName, "precise">, Mode>> = {
  fast: {
    vectorCandidates: 10,
    wordsWeight: 0,
    rerankDepth: 0,
    rerankWeight: 0,
    rerankDeadlineMs: 0,
    calibration: { slope: 10.72, offset: -7.88 },
  },
  balanced: {
    vectorCandidates: 200,
    wordsWeight: 1.5,
    rerankDepth: 20,
    rerankWeight: 0.4,
    rerankDeadlineMs: 2_000,
    calibration: { slope: 3.62, offset: -5.52 },
  },
};

/** A mode that `MODES` holds. */
export type RunnableMode = keyof typeof MODES;
