// Checks the quality floors of the modes, and describes the result in a sentence. Floors: precise is at most 0.005
// below the best baseline on any collection; no mode ranks worse than one that does less.

import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { BASELINES, type Baseline } from "./baselines.ts";
import { type Difference, pairedDifference } from "./intervals.ts";
import { type Scores, shortFigure, signed } from "./scores.ts";

/**
 * Maximum nDCG@10 by which precise may be below the best baseline. It is smaller than the interval of any collection.
 */
const PRECISE_FLOOR = 0.005;
/** Maximum nDCG@10 by which a mode may be below a mode that does less, beyond what chance explains. */
const MORE_WORK_FLOOR = 0.003;

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
  const precise = modes.get("precise");
  const best = bestOf(baselines);
  const floors: Floor[] = [];
  if (precise !== undefined && best !== null) {
    floors.push(floor(`precise on ${set}`, precise, best.name, best.scores, PRECISE_FLOOR));
  }
  return [...floors, ...moreWorkFloors(set, new Map([...modes].map(([name, { ndcg }]) => [name, ndcg])))];
}

/**
 * Checks that no mode ranks worse than a mode that does less: by more than 0.003, and by more than chance explains.
 * @param ndcg by mode, the nDCG@10 of each question; all modes answered the same questions in the same order
 */
export function moreWorkFloors(set: string, ndcg: ReadonlyMap<string, readonly number[]>): readonly Floor[] {
  // MODE_NAMES is sorted by the amount of work
  const measured = MODE_NAMES.flatMap((name) => (ndcg.get(name)?.length ? [{ name, ndcg: ndcg.get(name) ?? [] }] : []));
  return measured.flatMap((dearer, at) =>
    measured.slice(0, at).map((cheaper): Floor => {
      const difference = pairedDifference(dearer.ndcg, cheaper.ndcg);
      const holds = difference.mean >= -MORE_WORK_FLOOR || difference.high >= 0;
      const verdict = holds ? "" : `: more than the allowed ${shortFigure(MORE_WORK_FLOOR)}`;
      return { holds, sentence: `${dearer.name} on ${set} is ${describe(difference, cheaper.name)}${verdict}` };
    }),
  );
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
  const difference = pairedDifference(scores.ndcg, others.ndcg);
  const holds = difference.mean >= -allowed;
  const verdict = holds ? "" : `: more than the allowed ${shortFigure(allowed)}`;
  return { holds, sentence: `${who} is ${describe(difference, other)}${verdict}` };
}

function describe({ mean, low, high }: Difference, other: string): string {
  const where = mean === 0 ? "level with" : `${shortFigure(Math.abs(mean))} ${mean < 0 ? "below" : "above"}`;
  return `${where} ${other} (${signed(low)} to ${signed(high)})`;
}
