// Whether a run over all cases went better or worse than an earlier one, in one sentence.

import type { CaseRun } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { ArrowDown, ArrowUp, Check, Minus } from "../../ui/icons.ts";
import { differencesOf, type FigureName, type Judgement, judged } from "./differences.ts";

/** Maximum number of differences that the sentence is followed by. */
const NAMED_MAX = 4;
/** Tone and icon of the mark, and the sentence. */
const VERDICTS = {
  first: ["neutral", Minus, () => t("First run: nothing to compare with yet")],
  apart: ["neutral", Minus, () => t("No mode in common with the earlier run")],
  same: ["good", Check, () => t("As good as the earlier run")],
  better: ["good", ArrowUp, () => t("Better than the earlier run")],
  worse: ["bad", ArrowDown, () => t("Worse than the earlier run")],
  mixed: ["warn", Minus, () => t("Better in some figures, worse in others")],
} as const satisfies Record<Judgement, unknown>;

interface VerdictProps {
  readonly latest: CaseRun;
  /** The run that is compared; undefined: there is none. */
  readonly before: CaseRun | undefined;
}

/** The sentence with its mark, and the figures that differ. */
export function Verdict({ latest, before }: VerdictProps) {
  const [tone, Mark, sentence] = VERDICTS[judged(latest, before)];
  const differences = before === undefined ? [] : differencesOf(latest, before);
  return (
    <div class={`verdict ${tone}`} role="status">
      <span class="verdict-mark">
        <Mark size={16} aria-hidden="true" />
      </span>
      <strong>{sentence()}</strong>
      {differences.length > 0 && (
        <span class="number">
          {differences
            .slice(0, NAMED_MAX)
            .map(({ mode, name, title, by }) => `${mode}: ${t(title)} ${signed(by, name)}`)
            .join(" · ")}
          {differences.length > NAMED_MAX && ` · ${t("and {n} more", { n: differences.length - NAMED_MAX })}`}
        </span>
      )}
    </div>
  );
}

/** A difference with its sign: of shares in percent. */
function signed(by: number, name: FigureName): string {
  const sign = by > 0 ? "+" : "−";
  return `${sign}${name === "ndcg10" ? Math.abs(by).toFixed(3) : `${Math.round(Math.abs(by) * 100)} %`}`;
}
