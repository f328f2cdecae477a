// Fits the curve for the evidence that one of the first passages answers a question, and the evidence below which a
// question is not answered.

import type { EvidenceCurve, ReadEvidenceCurve } from "../domain/retrieval-tuning.ts";
import { probabilityOf } from "../kit/logistic.ts";
import { answerLogit, type EvidenceSigns, evidenceLogit, scoreLogit } from "../retrieval/evidence.ts";
import { fitRegression } from "./regression.ts";

/** The first passages of one search. */
export interface EvidenceSample {
  /** Kind of the question; or `other person`, if another person's texts were searched. */
  readonly group: string;
  readonly isAnswerable: boolean;
  /** One entry per passage; at least one. */
  readonly signs: readonly EvidenceSigns[];
}

/** The signs of a search that found nothing. */
export const NOTHING_FOUND: EvidenceSigns = {
  score: 0,
  lackingCodes: 0,
  lackingNames: 0,
  answer: Number.NEGATIVE_INFINITY,
};
/** Share of answerable questions that the threshold may refuse. */
const REFUSED_MAX = 0.05;
/** Number of fits. Each one uses the passage of every search that is best by the curve of the fit before. */
const ROUNDS = 12;
const FIRST_CURVE: ReadEvidenceCurve = { scoreSlope: 1, codesSlope: 1, namesSlope: 1, answerSlope: 1, offset: 0 };

type AnyCurve = EvidenceCurve | ReadEvidenceCurve;

/**
 * Fits a curve. Each group of questions without an answer counts the same, and all groups together count as much as the
 * questions with an answer.
 * @param hasRead whether a reader (a model that looks for answers in passages) has read the passages; default: no
 */
export function fitEvidence(samples: readonly EvidenceSample[], hasRead = false): AnyCurve {
  const keyOf = ({ isAnswerable, group }: EvidenceSample) => (isAnswerable ? "answerable" : group);
  const sizes = new Map([...Map.groupBy(samples, keyOf)].map(([key, of]) => [key, of.length]));
  const weightOf = (sample: EvidenceSample) =>
    ((sample.isAnswerable ? sizes.size - 1 : 1) * samples.length) / (sizes.get(keyOf(sample)) ?? 1);
  let curve: AnyCurve = FIRST_CURVE;
  for (let round = 0; round < ROUNDS; round++) {
    const observations = samples.map((sample) => ({
      features: featuresOf(bestSigns(sample, curve), hasRead),
      isRelevant: sample.isAnswerable,
      weight: weightOf(sample),
    }));
    const { coefficients, offset } = fitRegression(observations);
    const [scoreSlope = 0, codesSlope = 0, namesSlope = 0, answerSlope = 0] = coefficients;
    curve = { scoreSlope, codesSlope, namesSlope, ...(hasRead && { answerSlope }), offset };
  }
  return curve;
}

/** The evidence of a question by this curve, 0..1. */
export function evidenceOf(sample: EvidenceSample, curve: AnyCurve): number {
  return probabilityOf(evidenceLogit(bestSigns(sample, curve), curve));
}

/** The evidence below which the share `REFUSED_MAX` of the answerable questions lies; 0 if there are none. */
export function evidenceThreshold(samples: readonly EvidenceSample[], curve: AnyCurve): number {
  const answerable = samples.filter(({ isAnswerable }) => isAnswerable).map((sample) => evidenceOf(sample, curve));
  return answerable.sort((a, b) => a - b)[Math.floor(REFUSED_MAX * answerable.length)] ?? 0;
}

function featuresOf({ score, lackingCodes, lackingNames, answer }: EvidenceSigns, hasRead: boolean): readonly number[] {
  return [scoreLogit(score), -lackingCodes, -lackingNames, ...(hasRead ? [answerLogit(answer ?? 0)] : [])];
}

function bestSigns({ signs }: EvidenceSample, curve: AnyCurve): EvidenceSigns {
  return signs.reduce((best, each) => (evidenceLogit(each, curve) > evidenceLogit(best, curve) ? each : best));
}
