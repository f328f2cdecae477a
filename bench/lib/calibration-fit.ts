// Fits calibration curves to samples (score-samples.ts), and evaluates them: calibration error, separation of
// answerable from other questions, and thresholds for evidence. Pure.

import { fitCurve as fitCurveOfKinds } from "../../src/calibration/fit-curve.ts";
import type { Curve } from "../../src/domain/retrieval-tuning.ts";
import type { Candidate } from "../../src/retrieval/candidate.ts";
import { calibrate } from "../../src/retrieval/results.ts";
import { mean, percentile } from "./metrics.ts";
import { areaUnderRoc, calibrationError, type Prediction } from "./score-metrics.ts";
import type { ScoreSample } from "./score-samples.ts";

/** Figures of samples with calibrated scores. */
export interface CalibrationFigures {
  /** Expected calibration error of the ten best results, and of the best one only. */
  readonly errorTop10: number;
  readonly errorTop1: number;
  /** Median top score of questions whose top result is right. */
  readonly medianRight: number;
  /** Area under the ROC curve of the top score: answerable questions against those about something else. */
  readonly separationOff: number;
  /** The same against questions that ask for an attribute that is not stored, or for a note that is not. */
  readonly separationNear: number;
  /** Highest threshold at which `ANSWERED_SHARE` of the answerable questions are answered. */
  readonly threshold: number;
  /** Shares of the questions that are refused at that threshold. */
  readonly refusedOff: number;
  readonly refusedNear: number;
}

/** Minimum share of the answerable questions that an evidence threshold must let pass. */
const ANSWERED_SHARE = 0.93;
const CALIBRATION_BINS = 15;

/** Fits a curve to samples of one combination of signals. Each kind of store, and each collection, counts the same. */
export function fitCurve(samples: readonly ScoreSample[]): Curve {
  return fitCurveOfKinds(samples.map((sample) => ({ ...sample, kind: kindOf(sample) })));
}

/** Figures of a curve, computed for each group of samples with a curve that was fitted to the other groups. */
export function figuresOfOtherGroups(samples: readonly ScoreSample[]): CalibrationFigures {
  const groups = [...Map.groupBy(samples, ({ group }) => group)];
  const scored = groups.flatMap(([name, own]) => {
    const curve = fitCurve(samples.filter(({ group }) => group !== name));
    return own.map((sample) => ({ sample, scores: scoresOf(sample, curve) }));
  });
  return figuresOf(scored);
}

/** Figures of samples with this curve. */
export function figuresWith(samples: readonly ScoreSample[], curve: Curve): CalibrationFigures {
  return figuresOf(samples.map((sample) => ({ sample, scores: scoresOf(sample, curve) })));
}

interface ScoredSample {
  readonly sample: ScoreSample;
  readonly scores: readonly number[];
}

function figuresOf(scored: readonly ScoredSample[]): CalibrationFigures {
  const tops = (is: (sample: ScoreSample) => boolean) =>
    scored.filter(({ sample }) => is(sample)).map(({ scores }) => scores[0] ?? 0);
  const predictions = (depth: number) =>
    scored.flatMap(({ sample, scores }) =>
      sample.results.slice(0, depth).map(({ isRelevant }, at): Prediction => ({ score: scores[at] ?? 0, isRelevant })),
    );
  const answerable = tops(({ isAnswerable }) => isAnswerable);
  const off = tops(({ isAnswerable, kind }) => !isAnswerable && kind === "off");
  const near = tops(({ isAnswerable, kind }) => !isAnswerable && kind !== "off");
  const threshold = percentile(1 - ANSWERED_SHARE, answerable);
  const refused = (scores: readonly number[]) => mean(scores.map((score) => Number(score < threshold)));
  return {
    errorTop10: calibrationError(predictions(RESULTS_JUDGED), CALIBRATION_BINS),
    errorTop1: calibrationError(predictions(1), CALIBRATION_BINS),
    medianRight: percentile(
      0.5,
      tops(({ results }) => results[0]?.isRelevant === true),
    ),
    separationOff: areaUnderRoc(answerable, off),
    separationNear: areaUnderRoc(answerable, near),
    threshold,
    refusedOff: refused(off),
    refusedNear: refused(near),
  };
}

/** Number of results of a question whose calibration is judged. */
const RESULTS_JUDGED = 10;

function scoresOf({ results, admissible }: ScoreSample, curve: Curve): number[] {
  return calibrate(
    results.map(({ final }) => ({ finalScore: final }) as Candidate),
    curve,
    admissible,
  );
}

function kindOf({ store, group }: Pick<ScoreSample, "store" | "group">): string {
  return store === "collection" ? group : store;
}
