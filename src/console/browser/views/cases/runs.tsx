// Runs over all cases: figures by search mode, and their difference from an earlier run.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { CaseResult, CaseRun, Listed } from "../../core/calls.ts";
import { agoText, exactTimeText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { type Resource, useResource } from "../../core/resource.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { Play } from "../../ui/icons.ts";
import { Card, Meter } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { MODES, type ModeName } from "../shared/memory-names.ts";
import { FIGURES, isSameFigure } from "./differences.ts";
import { Changes, modesText, setupText } from "./run-changes.tsx";
import { Verdict } from "./verdict.tsx";

/** Polling interval in milliseconds while a run is in progress. */
const POLL_MS = 700;
const RUNS_SHOWN = 20;

/** The newest runs, read again while one is in progress. */
export function useRuns(): Resource<ListedRuns> {
  return useResource(
    (signal) => call("listCaseRuns", { query: { limit: RUNS_SHOWN }, signal }),
    [],
    ({ data }) => (data.some(({ status }) => status === "processing") ? POLL_MS : null),
  );
}

type ListedRuns = Listed<CaseRun>;

interface RunsProps {
  readonly runs: Resource<ListedRuns>;
  /** Checks at each run, with a search per case, whether the cases pass; null if the key may not search. */
  readonly check: (() => Promise<void>) | null;
}

/** A card that starts runs and shows the figures of the latest one. */
export function Runs({ runs, check }: RunsProps) {
  const [modes, setModes] = useState<readonly ModeName[]>(["hybrid", "balanced"]);
  const [other, setOther] = useState("");
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
          <Button
            kind="primary"
            icon={Play}
            busy={runs.value?.data[0]?.status === "processing"}
            title={t("Runs cost no questions of your plan, and are kept for 30 days.")}
            run={run}
          >
            {t("Run all cases")}
          </Button>
        </div>
        <Loaded from={runs} lines={3}>
          {({ data, cursor }) => <Latest all={data} hasAll={cursor === null} other={other} setOther={setOther} />}
        </Loaded>
      </div>
    </Card>
  );
}

interface LatestProps {
  readonly all: readonly CaseRun[];
  /** Whether there are no older runs, so that each has a number. */
  readonly hasAll: boolean;
  /** Id of the run to compare with; empty: the previous completed one. */
  readonly other: string;
  readonly setOther: (id: string) => void;
}

function Latest({ all, hasAll, other, setOther }: LatestProps) {
  const [newest] = all;
  if (newest === undefined) return null;
  if (newest.status === "failed")
    return (
      <div class="problem" role="alert">
        <p>{newest.error?.message}</p>
      </div>
    );
  // while a run is in progress, the one before it stays, so that nothing below moves
  const isRunning = newest.status === "processing";
  const [latest, ...comparable] = all.filter(({ status }) => status === "completed");
  if (latest === undefined) return isRunning && <Progress run={newest} />;
  const compared = comparable.find(({ id }) => id === other) ?? comparable[0];
  const numberOf = (run: CaseRun) => all.length - all.indexOf(run);
  return (
    <div class="stack">
      <div class="last-run">
        <div class="stack-lines">
          <h2>{nameOf(latest, hasAll ? numberOf(latest) : null)}</h2>
          <p class="fine">
            <time dateTime={latest.created_at}>{exactTimeText(latest.created_at)}</time> · {setupText(latest)}
          </p>
        </div>
        {compared !== undefined && (
          <div class="compared">
            <Field
              name="other"
              label={t("Compared with")}
              value={compared.id}
              onValue={setOther}
              options={comparable.map((run) => {
                const title = nameOf(run, hasAll ? numberOf(run) : null);
                return [run.id, `${title} · ${modesText(run)} · ${exactTimeText(run.created_at)}`] as const;
              })}
            />
          </div>
        )}
      </div>
      {isRunning ? <Progress run={newest} /> : <Verdict latest={latest} before={compared} />}
      {compared !== undefined && (
        <div class={isRunning ? "outdated" : ""}>
          <Changes latest={latest} before={compared} />
        </div>
      )}
      <div class={isRunning ? "table-frame outdated" : "table-frame"}>
        <table class="figures">
          <caption class="aside">{t("Results by mode")}</caption>
          <thead>
            <tr>
              <th scope="col">{t("Mode")}</th>
              {FIGURES.map(([name, title, what]) => (
                <th key={name} scope="col">
                  <abbr title={t(what)}>{t(title)}</abbr>
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
                isCompared={compared !== undefined}
              />
            ))}
          </tbody>
        </table>
      </div>
      {latest.skipped > 0 && (
        <p class="fine">{t("{n} searches skipped, because their memories were deleted", { n: latest.skipped })}.</p>
      )}
    </div>
  );
}

/** How far a run is. */
function Progress({ run: { done, total } }: { readonly run: CaseRun }) {
  const label = t("{done} of {total} searches", { done, total });
  return (
    <div class="verdict in-progress" role="status">
      <span>{label}</span>
      <Meter label={label} share={total === 0 ? 0 : done / total} />
    </div>
  );
}

/** What is named a run: its number, if all runs are known, and how long ago it was. */
function nameOf(run: CaseRun, number: number | null): string {
  const ago = agoText(run.created_at);
  return number === null ? t("Run, {ago}", { ago }) : t("Run {n}, {ago}", { n: number, ago });
}

interface RowProps {
  readonly result: CaseResult;
  /** The same mode in the run that is compared; undefined: it had not this mode. */
  readonly before: CaseResult | undefined;
  readonly isCompared: boolean;
}

function Row({ result, before, isCompared }: RowProps) {
  return (
    <tr>
      <td class="main-cell">
        {result.mode}
        {isCompared && before === undefined && <span class="fine plain-note"> · {t("not in the other run")}</span>}
      </td>
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
  const isSame = isSameFigure(value, before ?? value);
  return (
    <span class="figure">
      {!isSame && (
        <span class={`delta ${difference > 0 ? "better" : "worse"}`}>
          {difference > 0 ? "+" : "−"}
          {shown(Math.abs(difference))}
        </span>
      )}
      {shown(value)}
    </span>
  );
}
