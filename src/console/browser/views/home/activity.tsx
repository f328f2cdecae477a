// Charts of the project's activity: memories, answers and search times, by hour or by day.

import { call } from "../../core/api.ts";
import type { Activity as ActivityAnswer } from "../../core/calls.ts";
import { timeIn } from "../../core/clock.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import type { ChartSeries } from "../../ui/chart.tsx";
import { Activity as Activities } from "../../ui/icons.ts";
import { lazily } from "../../ui/lazy.tsx";
import { Card } from "../../ui/pieces.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { MODES } from "../shared/memory-names.ts";

const Chart = lazily(() => import("../../ui/chart.tsx"));

const HOUR_MS = 3_600_000;
/** Polling interval in milliseconds. The server updates the counts every minute. */
const POLL_MS = 60_000;
const SPANS = [
  { name: "day", title: "24 hours", step: "hour", ms: 24 * HOUR_MS },
  { name: "week", title: "7 days", step: "hour", ms: 7 * 24 * HOUR_MS },
  { name: "quarter", title: "90 days", step: "day", ms: 90 * 24 * HOUR_MS },
] as const;
const MODE_TOKENS: Readonly<Record<string, string>> = {
  fast: "signal-rerank",
  hybrid: "signal-vector",
  balanced: "signal-text",
  precise: "signal-graph",
};

/** The charts of the project's activity. */
export function Activity() {
  const span = SPANS.find(({ name }) => name === filterOf("span")) ?? SPANS[0];
  const activity = useResource(
    (signal) => call("getActivity", { query: { step: span.step, from: timeIn(-span.ms) }, signal }),
    [span.name],
    () => POLL_MS,
  );
  return (
    <section class="stack activity" aria-label={t("Activity")}>
      <div class="row between">
        <h2 class="section-title">{t("Activity")}</h2>
        <div class="row">
          {SPANS.map(({ name, title }) => (
            <Button key={name} size="small" pressed={name === span.name} run={() => setFilters({ span: name })}>
              {t(title)}
            </Button>
          ))}
        </div>
      </div>
      <Loaded from={activity} lines={5}>
        {({ data }) => <Charts points={data} />}
      </Loaded>
    </section>
  );
}

type Point = ActivityAnswer["data"][number];

function isQuiet({ stored, deleted, failed, queue, answered, partial, not_found: refused, searches }: Point): boolean {
  const counts = [stored, deleted, failed, queue, answered, partial, refused, ...Object.values(searches)];
  return counts.every((count) => count === 0);
}

function Charts({ points }: { readonly points: readonly Point[] }) {
  const times = points.map(({ at }) => at as string);
  const count = (
    name: string,
    token: string,
    field: "stored" | "failed" | "deleted" | "answered" | "partial" | "not_found",
  ) => ({ name, token, values: points.map((point) => point[field]) }) satisfies ChartSeries;
  const latency = MODES.map(([mode]) => ({
    name: mode,
    token: MODE_TOKENS[mode] ?? "accent",
    values: points.map(({ p95_ms: p95 }) => (p95 as Record<string, number>)[mode] ?? null),
  })).filter(({ values }) => values.some((value) => value !== null));
  if (points.every(isQuiet)) {
    return (
      <Card>
        <Empty icon={Activities} title={t("No activity in this period.")}>
          {t("Memories, answers and searches appear here as soon as there are any.")}
        </Empty>
      </Card>
    );
  }
  return (
    <div class="charts">
      <Card title={t("Memories")}>
        <Chart
          label={t("Memories that were stored, failed and deleted")}
          kind="bars"
          times={times}
          series={[
            count(t("stored"), "accent", "stored"),
            count(t("failed"), "bad", "failed"),
            count(t("deleted"), "signal-neighbours", "deleted"),
          ]}
        />
      </Card>
      <Card title={t("Answers")}>
        <Chart
          label={t("Answers by what they found")}
          kind="bars"
          times={times}
          series={[
            count(t("answered"), "signal-rerank", "answered"),
            count(t("in part"), "signal-text", "partial"),
            count(t("refused"), "signal-time", "not_found"),
          ]}
        />
      </Card>
      <Card title={t("Search latency, 95th percentile")}>
        {latency.length === 0 ? (
          <p class="fine chart-empty">{t("No searches in this period.")}</p>
        ) : (
          <Chart
            label={t("Search latency by mode, in milliseconds")}
            kind="lines"
            times={times}
            series={latency}
            unit=" ms"
          />
        )}
      </Card>
      <Card title={t("Waiting to be processed")}>
        <Chart
          label={t("Most memories processed at once")}
          kind="bars"
          times={times}
          series={[{ name: t("most at a time"), token: "signal-vector", values: points.map(({ queue }) => queue) }]}
        />
      </Card>
    </div>
  );
}
