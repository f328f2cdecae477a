// Which figures of a run over all cases differ from those of an earlier run, and whether that is better or worse. This
// does not use the page, so that tests can run without one.

import type { CaseResult, CaseRun } from "../../core/calls.ts";

/** The figures of a mode; more is better. */
export const FIGURES = [
  ["ndcg10", "nDCG@10", "Ranking quality from 0 to 1, where 1 is the best order"],
  ["right_first", "Right first", "Share of the cases whose memory is the first result"],
  ["refused_right", "Rightly refused", "Share of the cases without an answer that are correctly refused"],
] as const;

/** Name of a figure. */
export type FigureName = (typeof FIGURES)[number][0];

/** Difference from which on a figure counts as another one. */
const LEAST_DIFFERENCE = 0.0005;

/** A figure that differs from that of the earlier run. */
export interface Difference {
  readonly mode: string;
  readonly name: FigureName;
  readonly title: string;
  readonly by: number;
}

/** Whether two values of a figure are the same for a person. */
export function isSameFigure(value: number, before: number): boolean {
  return Math.abs(value - before) < LEAST_DIFFERENCE;
}

/** The figures of the modes that both runs have, where these differ. */
export function differencesOf(latest: CaseRun, before: CaseRun): readonly Difference[] {
  return pairsOf(latest, before).flatMap(([result, old]) =>
    FIGURES.flatMap(([name, title]) => {
      const [value, was] = [result[name], old[name]];
      if (value === null || was === null || isSameFigure(value, was)) return [];
      return [{ mode: result.mode, name, title, by: value - was }];
    }),
  );
}

function pairsOf(latest: CaseRun, before: CaseRun): readonly (readonly [CaseResult, CaseResult])[] {
  return (latest.results ?? []).flatMap((result) => {
    const old = before.results?.find(({ mode }) => mode === result.mode);
    return old === undefined ? [] : [[result, old] as const];
  });
}

/** How a run went, compared with an earlier one. `apart`: they have no mode in common. */
export type Judgement = "first" | "apart" | "same" | "better" | "worse" | "mixed";

/** Judges a run. @param before the run that is compared; undefined: there is none */
export function judged(latest: CaseRun, before: CaseRun | undefined): Judgement {
  if (before === undefined) return "first";
  if (pairsOf(latest, before).length === 0) return "apart";
  const differences = differencesOf(latest, before);
  const better = differences.filter(({ by }) => by > 0).length;
  if (differences.length === 0) return "same";
  return better === differences.length ? "better" : better === 0 ? "worse" : "mixed";
}
