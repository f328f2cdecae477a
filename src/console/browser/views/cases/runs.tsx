// Runs over all cases: figures by search mode, and their difference from an earlier run.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { CaseResult, CaseRun } from "../../core/calls.ts";
import { timeText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { Play } from "../../ui/icons.ts";
import { Card, Meter } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { MODES, type ModeName } from "../shared/memory-names.ts";

/** Polling interval in milliseconds while a run is in progress. */
const POLL_MS = 700;
const RUNS_SHOWN = 20;

const FIGURES = [
  ["ndcg10", "nDCG@10", "Ranking quality from 0 to 1, where 1 is the best order"],
  ["right_first", "Right first", "Share of the cases whose memory is the first result"],
  ["refused_right", "Rightly refused", "Share of the cases without an answer that are correctly refused"],
] as const;

interface RunsProps {
  /** Checks at each run, with a search per case, whether the cases pass; null if the key may not search. */
  readonly check: (() => Promise<void>) | null;
}

/** A card that starts runs and shows the figures of the latest one. */
export function Runs({ check }: RunsProps) {
  const [modes, setModes] = useState<readonly ModeName[]>(["hybrid", "balanced"]);
  const [other, setOther] = useState("");
  const runs = useResource(
    async (signal) => (await call("listCaseRuns", { query: { limit: RUNS_SHOWN }, signal })).data,
    [],
    (all) => (all.some(({ status }) => status === "processing") ? POLL_MS : null),
  );
  const toggle = (name: ModeName) => {
    const chosen = MODES.map(([mode]) => mode).filter((mode) => (mode === name) !== modes.includes(mode));
    setModes(chosen.length === 0 ? [name] : chosen);
  };
  const run = async () => {
    await call("runCases", { body: { modes } });
    setOther("");
    runs.reload();
    await check?.();
  };
  return (
    <Card label={t("Runs")}>
      <div class="stack">
        <div class="row run-form">
          <span class="fine">{t("Modes")}</span>
          {MODES.map(([name, what]) => (
            <Button key={name} size="small" pressed={modes.includes(name)} title={t(what)} run={() => toggle(name)}>
              {name}
            </Button>
          ))}
          <span class="spring" />
          <Button kind="primary" icon={Play} busy={runs.value?.[0]?.status === "processing"} run={run}>
            {t("Run all cases")}
          </Button>
        </div>
        <p class="fine">
          {t("Figures do not count towards your quota, and are kept for 30 days. The result of each case is a search.")}
        </p>
        <Loaded from={runs} lines={3}>
          {(all) => <Latest all={all} other={other} setOther={setOther} />}
        </Loaded>
      </div>
    </Card>
  );
}

interface LatestProps {
  readonly all: readonly CaseRun[];
  /** Id of the run to compare with; empty: the previous completed one. */
  readonly other: string;
  readonly setOther: (id: string) => void;
}

function Latest({ all, other, setOther }: LatestProps) {
  const [latest, ...earlier] = all;
  if (latest === undefined) return null;
  if (latest.status === "failed")
    return (
      <div class="problem" role="alert">
        <p>{latest.error?.message}</p>
      </div>
    );
  if (latest.status === "processing") {
    const label = t("{done} of {total} searches", { done: latest.done, total: latest.total });
    return (
      <div class="evidence" role="status">
        <span>{label}</span>
        <Meter label={label} share={latest.total === 0 ? 0 : latest.done / latest.total} />
      </div>
    );
  }
  const comparable = earlier.filter(({ status }) => status === "completed");
  const compared = comparable.find(({ id }) => id === other) ?? comparable[0];
  const casesOf = (run: CaseRun | undefined) => run?.results?.[0]?.cases;
  const isUnlike = compared !== undefined && casesOf(compared) !== casesOf(latest);
  return (
    <div class="stack">
      <div class="row between last-run">
        <h2>{t("Last run, {time}", { time: timeText(latest.created_at) })}</h2>
        {comparable.length > 0 && (
          <div class="compared">
            <Field
              name="other"
              label={t("Compare with the run from")}
              value={compared?.id ?? ""}
              onValue={setOther}
              options={comparable.map(({ id, created_at: at }) => [id, timeText(at)] as const)}
            />
          </div>
        )}
      </div>
      <div class="table-frame">
        <table class="figures">
          <caption class="aside">{t("Results by mode")}</caption>
          <thead>
            <tr>
              <th scope="col">{t("Mode")}</th>
              {FIGURES.map(([name, title, what]) => (
                <th key={name} scope="col" title={t(what)}>
                  {t(title)}
                </th>
              ))}
              <th scope="col">{t("Cases")}</th>
            </tr>
          </thead>
          <tbody>
            {(latest.results ?? []).map((result) => (
              <Row
                key={result.mode}
                result={result}
                before={compared?.results?.find(({ mode }) => mode === result.mode)}
              />
            ))}
          </tbody>
        </table>
      </div>
      <p class="fine">
        {FIGURES.map(([name, title, what]) => (
          <span key={name} class="figure-note">
            {t(title)}: {t(what)}.{" "}
          </span>
        ))}
        {isUnlike && t("The runs compared have different numbers of cases.")}
        {latest.skipped > 0 &&
          ` ${t("{n} searches skipped, because their memories were deleted", { n: latest.skipped })}.`}
      </p>
    </div>
  );
}

function Row({ result, before }: { readonly result: CaseResult; readonly before: CaseResult | undefined }) {
  return (
    <tr>
      <td class="main-cell">{result.mode}</td>
      {FIGURES.map(([name, title]) => (
        <td key={name} class="number" data-head={t(title)}>
          <Figure value={result[name]} before={before?.[name] ?? null} isShare={name !== "ndcg10"} />
        </td>
      ))}
      <td class="number" data-head={t("Cases")}>
        {result.cases}
      </td>
    </tr>
  );
}

interface FigureProps {
  readonly value: number | null;
  readonly before: number | null;
  readonly isShare: boolean;
}

/** A figure with its difference from the earlier run. */
function Figure({ value, before, isShare }: FigureProps) {
  if (value === null) return <span class="fine">–</span>;
  const shown = (figure: number) => (isShare ? `${Math.round(figure * 100)} %` : figure.toFixed(3));
  const difference = before === null ? 0 : value - before;
  const isSame = Math.abs(difference) < 0.0005;
  return (
    <span class="figure">
      {shown(value)}
      {before !== null && (
        <span class={`delta ${isSame ? "" : difference > 0 ? "better" : "worse"}`}>
          {isSame ? "±0" : `${difference > 0 ? "+" : "−"}${shown(Math.abs(difference))}`}
        </span>
      )}
    </span>
  );
}
