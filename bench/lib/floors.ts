// Checks the quality floors of the modes, and describes the result in a sentence. Floors: precise is at most .005
// below the best baseline on any collection; hybrid and balanced are not below fast.

import { BASELINES, type Baseline } from "./baselines.ts";
import { pairedDifference } from "./intervals.ts";
import { type Scores, shortFigure, signed } from "./scores.ts";

/**
 * Maximum nDCG@10 by which precise may be below the best baseline. It is smaller than the interval of any collection.
 */
const PRECISE_FLOOR = 0.005;

/** Scores of one collection. Either all searches used `includeGraph`, or none did. */
export interface JudgedModes {
  readonly set: string;
  readonly modes: ReadonlyMap<string, Scores>;
  readonly baselines: ReadonlyMap<Baseline, Scores>;
}

/** Result of checking one floor. */
export interface Floor {
  readonly holds: boolean;
  readonly sentence: string;
}

/** Checks the floors of a collection, except those whose modes were not measured. */
export function floorsOf({ set, modes, baselines }: JudgedModes): readonly Floor[] {
  const [fast, precise] = [modes.get("fast"), modes.get("precise")];
  const best = bestOf(baselines);
  const floors: Floor[] = [];
  if (precise !== undefined && best !== null) {
    floors.push(floor(`precise on ${set}`, precise, best.name, best.scores, PRECISE_FLOOR));
  }
  for (const mode of ["hybrid", "balanced"]) {
    const scores = modes.get(mode);
    if (scores !== undefined && fast !== undefined) floors.push(floor(`${mode} on ${set}`, scores, "fast", fast, 0));
  }
  return floors;
}

/** The baseline with the highest mean nDCG@10, and the first one of equal ones; null if there are no baselines. */
export function bestOf(
  baselines: ReadonlyMap<Baseline, Scores>,
): { readonly name: Baseline; readonly scores: Scores } | null {
  let best: { readonly name: Baseline; readonly scores: Scores } | null = null;
  for (const name of BASELINES) {
    const scores = baselines.get(name);
    if (scores !== undefined && (best === null || scores.mean > best.scores.mean)) best = { name, scores };
  }
  return best;
}

function floor(who: string, scores: Scores, other: string, others: Scores, allowed: number): Floor {
  const { mean, low, high } = pairedDifference(scores.ndcg, others.ndcg);
  const holds = mean >= -allowed;
  const where = mean === 0 ? "level with" : `${shortFigure(Math.abs(mean))} ${mean < 0 ? "below" : "above"}`;
  const verdict = holds ? "" : `: more than the allowed ${shortFigure(allowed)}`;
  return { holds, sentence: `${who} is ${where} ${other} (${signed(low)} to ${signed(high)})${verdict}` };
}
