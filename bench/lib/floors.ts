// Does a mode keep what it owes? Precise: not more than .005 below the best of the simpler searches on any collection;
// balanced: not below fast. Says so in words; what to do about it is the reader's business.

import { BASELINES, type Baseline } from "./baselines.ts";
import { pairedDifference } from "./intervals.ts";
import { type Scores, shortFigure, signed } from "./scores.ts";

/** How far precise may lie below the best simpler search: less than the interval of any collection here can tell. */
const PRECISE_FLOOR = 0.005;

/** The judged rankings of one collection, all without the graph being asked for or all with it. */
export interface JudgedModes {
  readonly set: string;
  readonly modes: ReadonlyMap<string, Scores>;
  readonly baselines: ReadonlyMap<Baseline, Scores>;
}

/** What was found of one floor. */
export interface Floor {
  readonly holds: boolean;
  readonly sentence: string;
}

/** The floors of a collection; those whose modes were not asked are left out. */
export function floorsOf({ set, modes, baselines }: JudgedModes): readonly Floor[] {
  const [fast, balanced, precise] = [modes.get("fast"), modes.get("balanced"), modes.get("precise")];
  const best = bestOf(baselines);
  const floors: Floor[] = [];
  if (precise !== undefined && best !== null) {
    floors.push(floor(`precise on ${set}`, precise, best.name, best.scores, PRECISE_FLOOR));
  }
  if (balanced !== undefined && fast !== undefined) floors.push(floor(`balanced on ${set}`, balanced, "fast", fast, 0));
  return floors;
}

/** The simpler search with the highest mean; null where none was judged. Of equals the first in their order. */
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
  const verdict = holds ? "" : `: more than the ${shortFigure(allowed)} that it may`;
  return { holds, sentence: `${who} is ${where} ${other} (${signed(low)} to ${signed(high)})${verdict}` };
}
