// A chart over time by uPlot: stacked bars, or lines. A hidden table has the same values for screen readers.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { numberText, timeText } from "../core/format.ts";
import { language, t } from "../core/i18n.ts";
import { colour, isDark } from "../core/theme.ts";
import { linesUpTo } from "./chart-scale.ts";

/** One series of values. */
export interface ChartSeries {
  readonly name: string;
  /** Name of a colour of tokens.css. */
  readonly token: string;
  /** One value for each of `ChartProps.times`; null for a time without a value. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly label: string;
  readonly kind: "bars" | "lines";
  /** Times of the values, ISO 8601. */
  readonly times: readonly string[];
  readonly series: readonly ChartSeries[];
  readonly unit?: string;
}

const HEIGHT = 168;

/** The chart with its legend, which shows the values under the pointer. */
export default function Chart({ label, kind, times, series, unit = "" }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const dark = isDark.value;
  const key = JSON.stringify([times, series]);
  const tongue = language.value;

  // `key` changes with the values, the others with the look of the chart
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const plot = new uPlot(
      optionsOf({ kind, series, width: element.clientWidth, onHover: setAt }),
      dataOf(kind, times, series),
      element,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [key, kind, dark, tongue]);

  const text = (values: ChartSeries["values"]) => {
    const value = at === null ? null : values[at];
    if (typeof value === "number") return `${numberText(value)}${unit}`;
    if (kind === "lines") return "";
    return numberText(values.reduce<number>((sum, one) => sum + (one ?? 0), 0));
  };
  const time = at === null ? undefined : times[at];
  return (
    <figure class="chart" aria-label={label}>
      <div ref={place} class="chart-place" aria-hidden="true" />
      <figcaption class="legend">
        {series.map(({ name, token, values }) => (
          <span key={name}>
            <span class="legend-dot" style={{ background: `var(--${token})` }} /> {name}{" "}
            <strong class="number">{text(values)}</strong>
          </span>
        ))}
        <span class="fine legend-time">{time !== undefined && timeText(time)}</span>
      </figcaption>
      <div class="aside">
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th scope="col">{t("Time")}</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times
              .map((one, row) => ({ one, row }))
              .filter(({ row }) => series.some(({ values }) => (values[row] ?? 0) !== 0))
              .map(({ one, row }) => (
                <tr key={one}>
                  <th scope="row">{timeText(one)}</th>
                  {series.map(({ name, values }) => (
                    <td key={name}>{values[row] ?? "–"}</td>
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

interface Look {
  readonly kind: "bars" | "lines";
  readonly series: readonly ChartSeries[];
  readonly width: number;
  readonly onHover: (at: number | null) => void;
}

function optionsOf({ kind, series, width, onHover }: Look): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colour("text-3"),
    font: `11px ${colour("sans")}`,
    grid: { stroke: colour("border"), width: 1 },
    ticks: { show: false },
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 28], radius: 0.15 });
  const lines = uPlot.paths.linear?.();
  const paths = kind === "bars" ? bars : lines;
  const drawn = kind === "bars" ? [...series].reverse() : series;
  return {
    width: Math.max(width, 120),
    height: HEIGHT,
    padding: [12, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: kind === "lines" }, drag: { setScale: false, x: false, y: false } },
    scales: { x: { time: true }, y: { range: (_, __, most) => [0, linesUpTo(most ?? 0).at(-1) ?? 1] } },
    axes: [
      { ...axis, grid: { show: false }, space: 70 },
      {
        ...axis,
        size: 44,
        splits: (_, __, ___, most) => [...linesUpTo(most)],
        values: (_, values) => values.map((value) => numberText(value)),
      },
    ],
    series: [
      {},
      ...drawn.map(
        ({ name, token }): uPlot.Series => ({
          label: name,
          stroke: colour(token),
          width: kind === "lines" ? 2 : 0,
          ...(kind === "bars" && { fill: colour(token) }),
          points: { show: kind === "lines", size: 4 },
          spanGaps: true,
          ...(paths !== undefined && { paths }),
        }),
      ),
    ],
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  } as uPlot.Options;
}

// Values as uPlot needs them. For stacked bars, each series is summed with those below it. The highest sum is drawn
// first, so that of each bar the part above the next one stays visible.
function dataOf(kind: "bars" | "lines", times: readonly string[], series: readonly ChartSeries[]): uPlot.AlignedData {
  const seconds = times.map((time) => new Date(time).getTime() / 1_000);
  if (kind === "lines") return [seconds, ...series.map(({ values }) => [...values])];
  const sums: number[][] = [];
  for (const { values } of series) {
    const below = sums.at(-1);
    sums.push(values.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
  }
  return [seconds, ...sums.reverse()];
}
