// How a run over all cases was set up, and what of that is different from an earlier run.

import type { CaseRun } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { differencesOf } from "./differences.ts";

/** The modes of a run in one line. */
export function modesText({ modes }: CaseRun): string {
  return modes === null ? t("own mode of each case") : modes.join(", ");
}

/** The models and the settings of a run in one line. */
export function setupText({ setup }: CaseRun): string {
  if (setup === null) return t("models and settings were not stored yet");
  return SETUP.filter(([name]) => name !== "superseding")
    .map(([name, , text]) => text(setup[name]))
    .filter((part) => part !== "")
    .join(" · ");
}

type Setup = NonNullable<CaseRun["setup"]>;

/** What decides how a run searches: its name, and a value as people read it. */
const SETUP: readonly (readonly [keyof Setup, string, (value: Setup[keyof Setup]) => string])[] = [
  ["embedder", "embedding model", (value) => String(value)],
  ["reranker", "reranker", (value) => (value === null ? "" : String(value))],
  ["min_evidence", "minimum evidence", (value) => t("evidence from {n} %", { n: Math.round(Number(value) * 100) })],
  ["superseding", "relations", (value) => t(String(value))],
  ["default_mode", "default mode", () => ""],
];

/** What is different between two runs: modes, models, settings, and the cases. */
export function Changes({ latest, before }: { readonly latest: CaseRun; readonly before: CaseRun }) {
  const changes: (readonly [string, string, string])[] = [];
  if (modesText(latest) !== modesText(before)) changes.push([t("modes"), modesText(before), modesText(latest)]);
  if (latest.setup !== null && before.setup !== null) {
    for (const [name, title, text] of SETUP) {
      const [old, now] = [before.setup[name], latest.setup[name]];
      if (old === now || (name === "default_mode" && latest.modes !== null)) continue;
      const shown = (value: typeof old) => text(value) || String(value ?? t("default"));
      changes.push([t(title), shown(old), shown(now)]);
    }
  }
  const isSame = differencesOf(latest, before).length === 0;
  const casesOf = (run: CaseRun) => Math.max(0, ...(run.results ?? []).map(({ cases }) => cases));
  if (casesOf(latest) !== casesOf(before)) changes.push([t("cases"), `${casesOf(before)}`, `${casesOf(latest)}`]);
  if (changes.length === 0)
    return (
      <p class="run-changes fine">
        {isSame
          ? t("Same modes, models and settings, and the same figures.")
          : t("Same modes, models and settings: a difference comes from the memories or the cases.")}
      </p>
    );
  return (
    <dl class="run-changes">
      {changes.map(([title, old, now]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>
            <span class="fine">{old}</span> → <strong>{now}</strong>
          </dd>
        </div>
      ))}
    </dl>
  );
}
