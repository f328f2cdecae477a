// The modes as one table: how many candidates, which signals, how deep the reranker looks, and what a final score
// means. Constants come from the measured recipe in ARCHITECTURE.md, "Measured"; one set for all data.

import { invariant } from "../domain/fault.ts";
import type { ModeName } from "../domain/ranking.ts";

/** How a mode searches. */
export interface Mode {
  /** Candidates that the vector leg contributes, at least; a request's `limit` raises it. */
  readonly vectorCandidates: number;
  /** Candidates that the full-text leg contributes of its own; 0: words only score what the vectors found. */
  readonly textCandidates: number;
  /** Whether the graph takes part without being asked for. */
  readonly usesGraph: boolean;
  /** Candidates that the graph contributes of its own, where it takes part. */
  readonly graphCandidates: number;
  /** Weight of the graph's score (0..1) beside the cosine. */
  readonly graphWeight: number;
  /**
   * Share of the weights of words and reranker that is lost where the graph is certain of the question's names: the passage that
   * answers a question of two steps neither reads like an answer nor has the question's words.
   */
  readonly certaintyLoss: number;
  /** Weight of what sets a cosine apart from a middling one. */
  readonly cosineWeight: number;
  /** Weight of the words score b (0..1) beside the cosine; 0: words take no part. */
  readonly wordsWeight: number;
  /**
   * Share of the distance to the best passage of its memory that a passage gains, after the first stage and again after the
   * reranker: what answers often stands beside what sounds like the question.
   */
  readonly siblingShare: number;
  /** How many of the first stage's best are read by the reranker; 0: none. */
  readonly rerankDepth: number;
  /**
   * Tokens of the question with each passage that the reranker reads for one search, about: its time is the tokens'. So it reads
   * `rerankDepth` short passages, or half as many long ones.
   */
  readonly rerankTokensMax: number;
  /**
   * Of these, tokens of passages that it reads to the end, where it computes them so that it can tell the better ones early; the
   * other passages' logits are then estimates.
   */
  readonly rerankFinishedTokensMax: number;
  /** Weight of the reranker's squashed logit (-1..1) beside the first stage. */
  readonly rerankWeight: number;
  /** The reranker is given up after this; the first stage's order then stands. */
  readonly rerankDeadlineMs: number;
}

/** Tokens that the reranker reads of a question and a passage together; the rest is cut. */
export const RERANKED_TOKENS_MAX = 128;

/** Chosen on 250 questions to three of LoCoMo's ten conversations. */
const SIBLING_SHARE = 0.2;

const GRAPH = { graphCandidates: 200, graphWeight: 1.5, certaintyLoss: 0.7 };

/**
 * What a cosine counts that says nothing: a relevant passage's middling one, so that scores keep their size where cosines lose their
 * weight.
 */
export const MIDDLING_COSINE = 0.5;

/**
 * For questions in scripts that the embedder does not read: enough to order what words leave equal; and names, found without
 * capitals there, are less sure. Chosen on test/languages.
 */
const UNREAD = { cosineWeight: 0.02, graphWeight: 0.5 };

/**
 * The mode for a question whose language the embedder does not read: its words take part in every mode, and the reranker, made
 * for the same languages, does not. Words keep their weight whatever the graph says: beside it they are all there is.
 * @param isScriptRead whether the embedder knows the letters at least, as of German: names and loanwords then still say something.
 */
export function withoutModels(mode: Mode, isScriptRead: boolean): Mode {
  const { textCandidates, wordsWeight } = MODES.precise;
  return { ...mode, textCandidates, wordsWeight, certaintyLoss: 0, rerankDepth: 0, ...(isScriptRead ? {} : UNREAD) };
}

/** The walk through the graph begins at this many of the best passages by vectors and words. */
export const SEEDS = 10;

/** The modes by name. */
export const MODES: Readonly<Record<ModeName, Mode>> = {
  fast: {
    vectorCandidates: 30,
    textCandidates: 0,
    usesGraph: false,
    ...GRAPH,
    cosineWeight: 1,
    wordsWeight: 0,
    siblingShare: SIBLING_SHARE,
    rerankDepth: 0,
    rerankTokensMax: 0,
    rerankFinishedTokensMax: 0,
    rerankWeight: 0,
    rerankDeadlineMs: 0,
  },
  balanced: {
    vectorCandidates: 200,
    textCandidates: 200,
    usesGraph: false,
    ...GRAPH,
    cosineWeight: 1,
    wordsWeight: 2.3,
    siblingShare: SIBLING_SHARE,
    rerankDepth: 20,
    rerankTokensMax: 10 * RERANKED_TOKENS_MAX,
    rerankFinishedTokensMax: 7.5 * RERANKED_TOKENS_MAX,
    rerankWeight: 0.4,
    rerankDeadlineMs: 2_000,
  },
  precise: {
    vectorCandidates: 200,
    textCandidates: 200,
    usesGraph: true,
    ...GRAPH,
    cosineWeight: 1,
    wordsWeight: 2.3,
    siblingShare: SIBLING_SHARE,
    rerankDepth: 30,
    rerankTokensMax: 15 * RERANKED_TOKENS_MAX,
    rerankFinishedTokensMax: Number.POSITIVE_INFINITY,
    rerankWeight: 0.4,
    rerankDeadlineMs: 2_000,
  },
};

/** The parts of a final score beside the cosine. */
export interface ScoreParts {
  readonly words: boolean;
  readonly graph: boolean;
  readonly rerank: boolean;
}

/** Final score to probability of relevance: 1 / (1 + exp(-(slope * score + offset))). Monotone, so the order stays. */
export interface Curve {
  readonly slope: number;
  readonly offset: number;
}

/**
 * One curve for each sum of parts, whatever the mode: with the graph asked for, or without the reranker, a score of the same size says
 * something else. Fitted by bench/calibrate.ts on train questions of SciFact (150, evenly spread) and HotpotQA (100), 22 Nov 2026. Other
 * fields differ.
 */
const CURVES: Readonly<Record<string, Curve>> = {
  "": { slope: 12.55, offset: -8.57 },
  graph: { slope: 1.74, offset: -3.16 },
  words: { slope: 5.52, offset: -6.9 },
  "words graph": { slope: 2.95, offset: -5.16 },
  "words rerank": { slope: 4, offset: -5.26 },
  "words graph rerank": { slope: 2.77, offset: -4.89 },
};

/** The curve for scores of these parts. The reranker reads nothing where words take no part. */
export function curveOf({ words, graph, rerank }: ScoreParts): Curve {
  const name = [words && "words", graph && "graph", words && rerank && "rerank"].filter(Boolean).join(" ");
  const curve = CURVES[name];
  invariant(curve, `there is a curve for scores of ${name}`);
  return curve;
}
