// Charts of figures as SVG, without a drawing library: dots in panels, horizontal bars, and lines.

/** A chart, ready to be drawn. */
export type Chart = DotChart | BarChart | LineChart;

/** Rows of dots in panels side by side. */
interface DotChart {
  readonly kind: "dots";
  readonly title: string;
  /** Rows with the same `series` have the same colour. */
  readonly rows: readonly { readonly name: string; readonly series: string }[];
  readonly panels: readonly Panel[];
  /** Names of the dots of a row for the legend, which otherwise names the series. Later dots are paler. */
  readonly dotNames?: readonly string[];
  /** Name of the limits for the legend; absent if there are none. */
  readonly limitName?: string;
}

/** A panel with an axis of its own. */
export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly isLogarithmic: boolean;
  /** Number of decimals of the labels; without it, three significant digits. */
  readonly decimals?: number;
  /** Values by row, in the order of `dotNames`; NaN is left out. */
  readonly points: readonly (readonly number[])[];
  /** Intervals by row, drawn as lines through the dots. */
  readonly intervals?: readonly (readonly [low: number, high: number])[];
  /** Limits by row, drawn as marks; NaN if there is none. */
  readonly limits?: readonly number[];
}

/** Percentiles on one logarithmic axis, each row with a mark for its limit. */
interface RangeRows {
  readonly title: string;
  readonly unit: string;
  /** `points` in the order of the legend, ascending; NaN is left out. `limit` is NaN if there is none. */
  readonly rows: readonly { readonly name: string; readonly points: readonly number[]; readonly limit: number }[];
  readonly legend: readonly string[];
  readonly limitName: string;
}

/** Horizontal bars on a linear axis from zero. */
interface BarChart {
  readonly kind: "bar";
  readonly title: string;
  readonly unit: string;
  /** Bars with the same `series` have the same colour; null values are left out. */
  readonly bars: readonly { readonly name: string; readonly series: string; readonly value: number | null }[];
}

/** Lines over a linear axis, with a logarithmic axis for their values. */
interface LineChart {
  readonly kind: "line";
  readonly title: string;
  readonly unit: string;
  readonly xTitle: string;
  readonly lines: readonly { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }[];
}

/** A chart of percentiles. */
export function rangeChart({ title, unit, rows, legend, limitName }: RangeRows): Chart {
  return {
    ...{ kind: "dots", title, dotNames: legend, limitName },
    rows: rows.map(({ name }) => ({ name, series: "" })),
    panels: [
      {
        ...{ title: "", unit, isLogarithmic: true },
        points: rows.map(({ points }) => points),
        limits: rows.map(({ limit }) => limit),
      },
    ],
  };
}

/** A bar chart. */
export function barChart(chart: Omit<BarChart, "kind">): Chart {
  return { kind: "bar", ...chart };
}

/** A line chart. */
export function lineChart(chart: Omit<LineChart, "kind">): Chart {
  return { kind: "line", ...chart };
}

const WIDTH = 860;
const LEFT_MIN = 60;
const RIGHT = 40;
/** Width of a panel if there are several, and the space before each, in pixels. */
const PANEL_WIDTH = 300;
const PANEL_GAP = 28;
/** Room at the end of an axis for the label of a dot. */
const LABEL_WIDTH = 34;
const TOP = 110;
/** Baseline of the legend. */
const LEGEND = 94;
const BOTTOM = 44;
const ROW_HEIGHT = 26;
const BAR_HEIGHT = 16;
const LINE_PLOT_HEIGHT = 320;
const LETTER_WIDTH = 6.7;
const TICKS_MAX = 6;
/** Minimum distance of two labels of an axis. */
const TICK_DISTANCE_MIN = 40;
const INK = "#1f2430";
const QUIET = "#5b6472";
const GRID = "#e3e6eb";
const STRIPE = "#f6f7f9";
const SHADES = ["1", ".65", ".35"];
const COLOURS = ["#2563a8", "#d97706", "#15803d", "#9333a8", "#b91c1c", "#0f766e", "#6b7280", "#a16207"];

/** Draws a chart as an SVG document with a light background. @param subtitle lines below the title */
export function chartSvg(chart: Chart, subtitle: readonly string[]): string {
  const drawn = chart.kind === "dots" ? dots(chart) : chart.kind === "bar" ? bars(chart) : lines(chart);
  const { body, height, width = WIDTH } = drawn;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${fixed(width)}" height="${height}" viewBox="0 0 ${fixed(width)} ${height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">`,
    `<title>${escaped(chart.title)}</title>`,
    `<rect width="${fixed(width)}" height="${height}" fill="#ffffff"/>`,
    text(20, 30, chart.title, { size: 17, weight: 600 }),
    ...subtitle.map((line, at) => text(20, 50 + at * 17, line, { size: 12, colour: QUIET })),
    ...body,
    "</svg>",
    "",
  ].join("\n");
}

interface Drawn {
  readonly body: readonly string[];
  readonly height: number;
  readonly width?: number;
}

function dots({ rows, panels, dotNames = [], limitName = "" }: DotChart): Drawn {
  const left = leftFor(rows.map(({ name }) => name));
  const series = [...new Set(rows.map((row) => row.series))];
  const top = TOP + (panels.some(({ title }) => title !== "") ? 20 : 0);
  const end = top + rows.length * ROW_HEIGHT;
  const middle = (at: number) => top + at * ROW_HEIGHT + ROW_HEIGHT / 2;
  const isSingle = panels.length === 1;
  const width = isSingle ? WIDTH : left + panels.length * (PANEL_WIDTH + PANEL_GAP) + RIGHT;
  const names = rows.map(({ name }, at) => {
    const stripe = `<rect x="12" y="${top + at * ROW_HEIGHT}" width="${fixed(width - 24)}" height="${ROW_HEIGHT}" fill="${STRIPE}"/>`;
    return `${at % 2 === 0 ? stripe : ""}${text(left - 10, middle(at) + 4, name, { anchor: "end", size: 13 })}`;
  });
  const drawn = panels.flatMap((panel, place) => {
    const from = isSingle ? left : left + PANEL_GAP + place * (PANEL_WIDTH + PANEL_GAP);
    const to = (isSingle ? WIDTH - RIGHT : from + PANEL_WIDTH) - LABEL_WIDTH;
    const values = [...panel.points, ...(panel.intervals ?? []), panel.limits ?? []].flat();
    const axis = (panel.isLogarithmic ? logarithmic : linear)(values, from, to);
    return [
      text(from, top - 9, panel.title, { size: 12, weight: 600 }),
      ...gridX(axis, { from: top, to: end }, panel.unit),
      ...rows.flatMap((row, at) =>
        rowOf(panel, at, axis, middle(at), { ...row, colour: colourOf(series, row.series) }),
      ),
    ];
  });
  const dot = (colour: string, shade: string) => (x: number, y: number) =>
    `<circle cx="${x + 7}" cy="${y - 4}" r="5.5" fill="${colour}" fill-opacity="${shade}"/>`;
  const mark = (x: number, y: number) => `<path d="M${x + 7} ${y - 12}v16" stroke="${COLOURS[1]}" stroke-width="3"/>`;
  const entries = [
    ...(dotNames.length === 0
      ? series.map((name) => ({ name, swatch: dot(colourOf(series, name), "1") }))
      : dotNames.map((name, at) => ({ name, swatch: dot(COLOURS[0] ?? INK, shadeOf(at)) }))),
    ...(limitName === "" ? [] : [{ name: limitName, swatch: mark }]),
  ];
  return { body: [legendOf(entries), ...names, ...drawn], height: end + BOTTOM, width };
}

// The dots of a row in a panel, joined by a line, with its interval, its limit and the values.
function rowOf(
  { points: all, intervals, limits, decimals, unit, isLogarithmic }: Panel,
  at: number,
  axis: Axis,
  y: number,
  { name, colour }: { readonly name: string; readonly colour: string },
): readonly string[] {
  const isShown = (value: number | undefined): value is number =>
    value !== undefined && (isLogarithmic ? value > 0 : Number.isFinite(value));
  const figure = (value: number) => (decimals === undefined ? short(value) : value.toFixed(decimals));
  const join = (from: number, to: number, strokeWidth: number) =>
    `<line x1="${fixed(axis.at(from))}" x2="${fixed(axis.at(to))}" y1="${y}" y2="${y}" stroke="${colour}" stroke-width="${strokeWidth}" stroke-opacity=".35"/>`;
  const points = all[at] ?? [];
  const shown = points.filter(isShown);
  const [first, last, [low, high] = [], limit] = [shown[0], shown.at(-1), intervals?.[at], limits?.[at]];
  const title = (what: string) => `<title>${escaped(`${name}: ${what} ${unit}`)}</title>`;
  return [
    first === undefined || last === undefined ? "" : join(first, last, 3),
    isShown(low) && isShown(high) ? join(low, high, 2) : "",
    isShown(limit)
      ? `<path d="M${fixed(axis.at(limit))} ${y - 10}v20" stroke="${COLOURS[1]}" stroke-width="3">${title(`limit ${figure(limit)}`)}</path>`
      : "",
    ...points.map((value, place) =>
      isShown(value)
        ? `<circle cx="${fixed(axis.at(value))}" cy="${y}" r="5.5" fill="${colour}" fill-opacity="${shadeOf(place)}">${title(figure(value))}</circle>`
        : "",
    ),
    last === undefined
      ? ""
      : text(axis.at(Math.max(last, isShown(high) ? high : last)) + 10, y + 4, shown.map(figure).join("–"), {
          size: 11,
          colour: QUIET,
        }),
  ];
}

function bars({ bars: all, unit }: BarChart): Drawn {
  const shown = all.filter((bar): bar is typeof bar & { readonly value: number } => bar.value !== null);
  const left = leftFor(shown.map(({ name }) => name));
  const series = [...new Set(shown.map((bar) => bar.series))];
  const height = TOP + shown.length * (BAR_HEIGHT + 8) + BOTTOM;
  const axis = linear([0, ...shown.map(({ value }) => value)], left, WIDTH - RIGHT - 30);
  const end = TOP + shown.length * (BAR_HEIGHT + 8);
  const drawn = shown.flatMap(({ name, series: own, value }, at) => {
    const y = TOP + at * (BAR_HEIGHT + 8) + 4;
    const isRepeated = shown[at - 1]?.name === name;
    return [
      isRepeated ? "" : text(left - 10, y + 12, name, { anchor: "end", size: 13 }),
      `<rect x="${left}" y="${y}" width="${fixed(Math.max(1, axis.at(value) - left))}" height="${BAR_HEIGHT}" fill="${colourOf(series, own)}"><title>${escaped(`${name}, ${own}: ${short(value)} ${unit}`)}</title></rect>`,
      text(axis.at(value) + 6, y + 12, short(value), { size: 11, colour: QUIET }),
    ];
  });
  const entries = series.map((name) => ({
    name,
    swatch: (x: number, y: number) =>
      `<rect x="${x}" y="${y - 11}" width="14" height="12" fill="${colourOf(series, name)}"/>`,
  }));
  return { body: [legendOf(entries), ...gridX(axis, { from: TOP, to: end }, unit), ...drawn], height };
}

function lines({ lines: all, unit, xTitle }: LineChart): Drawn {
  const names = all.map(({ name }) => name);
  const points = all.flatMap((line) => line.points).filter(([, y]) => y > 0);
  const left = LEFT_MIN + 10;
  const bottom = TOP + LINE_PLOT_HEIGHT;
  const y = logarithmic(
    points.map(([, value]) => value),
    bottom,
    TOP,
  );
  const x = linear([0, ...points.map(([value]) => value)], left, WIDTH - RIGHT);
  const gridY = y.ticks.flatMap((tick) => [
    `<line x1="${left}" x2="${WIDTH - RIGHT}" y1="${fixed(y.at(tick))}" y2="${fixed(y.at(tick))}" stroke="${GRID}"/>`,
    text(left - 8, y.at(tick) + 4, `${short(tick)} ${unit}`, { anchor: "end", size: 11, colour: QUIET }),
  ]);
  const drawn = all.flatMap(({ name, points: own }) => {
    const colour = colourOf(names, name);
    const places = own
      .filter(([, value]) => value > 0)
      .map(([at, value]) => [fixed(x.at(at)), fixed(y.at(value)), at, value]);
    return [
      `<polyline points="${places.map(([px, py]) => `${px},${py}`).join(" ")}" fill="none" stroke="${colour}" stroke-width="2.2"/>`,
      ...places.map(
        ([px, py, at, value]) =>
          `<circle cx="${px}" cy="${py}" r="4" fill="${colour}"><title>${escaped(`${name}, ${at}: ${short(Number(value))} ${unit}`)}</title></circle>`,
      ),
    ];
  });
  const entries = names.map((name) => ({
    name,
    swatch: (px: number, py: number) =>
      `<line x1="${px}" x2="${px + 16}" y1="${py - 4}" y2="${py - 4}" stroke="${colourOf(names, name)}" stroke-width="3"/>`,
  }));
  const gridded = [legendOf(entries), ...gridY, ...gridX(x, { from: TOP, to: bottom }, "")];
  const title = text((left + WIDTH - RIGHT) / 2, bottom + 38, xTitle, { anchor: "middle", size: 12, colour: QUIET });
  return { body: [...gridded, ...drawn, title], height: bottom + BOTTOM + 8 };
}

interface Axis {
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
}

function logarithmic(all: readonly number[], from: number, to: number): Axis {
  const values = all.filter((value) => value > 0);
  const [low, high] = [Math.min(...values, 1_000), Math.max(...values, Math.min(...values, 1) * 10)];
  const steps = Array.from({ length: 40 }, (_, at) => [1, 2, 5].map((digit) => digit * 10 ** (at - 12))).flat();
  const first = steps.findLastIndex((step) => step <= low);
  const last = steps.findIndex((step) => step >= high);
  const ticks = steps.slice(Math.max(0, first), last === -1 ? steps.length : last + 1);
  const [least, most] = [Math.log(ticks[0] ?? 1), Math.log(ticks.at(-1) ?? 10)];
  const at = (value: number) => from + ((Math.log(value) - least) / (most - least)) * (to - from);
  const isPower = (tick: number) => Number.isInteger(Math.log10(tick));
  const kept: number[] = [];
  // a tick is left out if its label would touch another one; powers of ten come first
  for (const tick of ticks.toSorted((left, right) => Number(isPower(right)) - Number(isPower(left)))) {
    if (kept.every((other) => Math.abs(at(tick) - at(other)) >= TICK_DISTANCE_MIN)) kept.push(tick);
  }
  return { ticks: kept, at };
}

function linear(all: readonly number[], from: number, to: number): Axis {
  const values = all.filter(Number.isFinite);
  const [low, high] = values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
  const rough = (high > low ? high - low : 1) / (TICKS_MAX - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((digit) => digit * power >= rough) ?? 10) * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(6)));
  return { ticks, at: (value) => from + ((value / step - first) / (last - first)) * (to - from) };
}

function gridX({ ticks, at }: Axis, { from, to }: { readonly from: number; readonly to: number }, unit: string) {
  return ticks.flatMap((tick) => [
    `<line x1="${fixed(at(tick))}" x2="${fixed(at(tick))}" y1="${from}" y2="${to}" stroke="${GRID}"/>`,
    text(at(tick), to + 18, `${short(tick)}${unit === "" ? "" : ` ${unit}`}`, {
      anchor: "middle",
      size: 11,
      colour: QUIET,
    }),
  ]);
}

function legendOf(
  entries: readonly { readonly name: string; readonly swatch: (x: number, y: number) => string }[],
): string {
  let x = 20;
  return entries
    .map(({ name, swatch }) => {
      const entry = swatch(x, LEGEND) + text(x + 22, LEGEND, name, { size: 12 });
      x += 40 + name.length * LETTER_WIDTH;
      return entry;
    })
    .join("\n");
}

function leftFor(names: readonly string[]): number {
  return Math.max(LEFT_MIN, 30 + Math.max(0, ...names.map((name) => name.length)) * LETTER_WIDTH);
}

function shadeOf(at: number): string {
  return SHADES[at] ?? ".2";
}

function colourOf(names: readonly string[], name: string): string {
  return COLOURS[names.indexOf(name) % COLOURS.length] ?? INK;
}

interface TextStyle {
  readonly anchor?: "start" | "middle" | "end";
  readonly size: number;
  readonly colour?: string;
  readonly weight?: number;
}

function text(
  x: number,
  y: number,
  content: string,
  { anchor = "start", size, colour = INK, weight = 400 }: TextStyle,
): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" font-size="${size}" font-weight="${weight}" fill="${colour}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function short(value: number): string {
  return value >= 1_000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

function fixed(value: number): string {
  return String(Number(value.toFixed(1)));
}

function escaped(content: string): string {
  return content.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
