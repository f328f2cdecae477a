// Charts of results as SVG, without a drawing library: ranges of percentiles on a logarithmic axis, bars on a linear
// one, and lines.

/** A chart, ready to be drawn. */
export type Chart = RangeChart | BarChart | LineChart;

/** Rows of percentiles on a logarithmic axis, each with a mark for its limit. */
interface RangeChart {
  readonly kind: "range";
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

/** A range chart. */
export function rangeChart(chart: Omit<RangeChart, "kind">): Chart {
  return { kind: "range", ...chart };
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
const TOP = 110;
/** Baseline of the legend. */
const LEGEND = 94;
const BOTTOM = 44;
const ROW_HEIGHT = 30;
const BAR_HEIGHT = 16;
const LINE_PLOT_HEIGHT = 320;
const LETTER_WIDTH = 6.7;
const INK = "#1f2430";
const QUIET = "#5b6472";
const GRID = "#e3e6eb";
const COLOURS = ["#2563a8", "#d97706", "#15803d", "#9333a8", "#b91c1c", "#0f766e", "#6b7280", "#a16207"];

/** Draws a chart as an SVG document with a light background. @param subtitle lines below the title */
export function chartSvg(chart: Chart, subtitle: readonly string[]): string {
  const { body, height } = chart.kind === "range" ? range(chart) : chart.kind === "bar" ? bars(chart) : lines(chart);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">`,
    `<title>${escaped(chart.title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
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
}

function range({ rows, legend, limitName, unit }: RangeChart): Drawn {
  const left = leftFor(rows.map(({ name }) => name));
  const height = TOP + rows.length * ROW_HEIGHT + BOTTOM;
  const values = rows.flatMap(({ points, limit }) => [...points, limit]).filter((value) => value > 0);
  const axis = logarithmic(values, left, WIDTH - RIGHT);
  const end = TOP + rows.length * ROW_HEIGHT;
  const shades = ["1", ".65", ".35"];
  const drawn = rows.flatMap(({ name, points, limit }, at) => {
    const y = TOP + at * ROW_HEIGHT + ROW_HEIGHT / 2;
    const shown = points.filter((value) => value > 0);
    const [first, last] = [shown[0], shown.at(-1)];
    const isLimited = limit > 0;
    return [
      text(left - 10, y + 4, name, { anchor: "end", size: 13 }),
      first === undefined || last === undefined
        ? ""
        : `<line x1="${fixed(axis.at(first))}" x2="${fixed(axis.at(last))}" y1="${y}" y2="${y}" stroke="${COLOURS[0]}" stroke-width="3" stroke-opacity=".35"/>`,
      isLimited
        ? `<path d="M${fixed(axis.at(limit))} ${y - 10}v20" stroke="${COLOURS[1]}" stroke-width="3"><title>${escaped(`${limitName}: ${short(limit)} ${unit}`)}</title></path>`
        : "",
      ...points.map((value, place) =>
        value > 0
          ? `<circle cx="${fixed(axis.at(value))}" cy="${y}" r="5.5" fill="${COLOURS[0]}" fill-opacity="${shades[place] ?? ".2"}"><title>${escaped(`${name}, ${legend[place]}: ${short(value)} ${unit}`)}</title></circle>`
          : "",
      ),
      last === undefined ? "" : text(axis.at(last) + 10, y + 4, short(last), { size: 11, colour: QUIET }),
    ];
  });
  const entries = [
    ...legend.map((name, at) => ({
      name,
      swatch: (x: number, y: number) =>
        `<circle cx="${x + 7}" cy="${y - 4}" r="5.5" fill="${COLOURS[0]}" fill-opacity="${shades[at] ?? ".2"}"/>`,
    })),
    {
      name: limitName,
      swatch: (x: number, y: number) => `<path d="M${x + 7} ${y - 12}v16" stroke="${COLOURS[1]}" stroke-width="3"/>`,
    },
  ];
  return { body: [legendOf(entries), ...gridX(axis.ticks, axis.at, end, unit), ...drawn], height };
}

function bars({ bars: all, unit }: BarChart): Drawn {
  const shown = all.filter((bar): bar is typeof bar & { readonly value: number } => bar.value !== null);
  const left = leftFor(shown.map(({ name }) => name));
  const series = [...new Set(shown.map((bar) => bar.series))];
  const height = TOP + shown.length * (BAR_HEIGHT + 8) + BOTTOM;
  const axis = linear(Math.max(0, ...shown.map(({ value }) => value)), left, WIDTH - RIGHT - 30);
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
  return { body: [legendOf(entries), ...gridX(axis.ticks, axis.at, end, unit), ...drawn], height };
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
  const x = linear(Math.max(0, ...points.map(([value]) => value)), left, WIDTH - RIGHT);
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
  const gridded = [legendOf(entries), ...gridY, ...gridX(x.ticks, x.at, bottom, "")];
  const title = text((left + WIDTH - RIGHT) / 2, bottom + 38, xTitle, { anchor: "middle", size: 12, colour: QUIET });
  return { body: [...gridded, ...drawn, title], height: bottom + BOTTOM + 8 };
}

interface Axis {
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
}

function logarithmic(values: readonly number[], from: number, to: number): Axis {
  const [low, high] = [Math.min(...values, 1_000), Math.max(...values, Math.min(...values, 1) * 10)];
  const steps = Array.from({ length: 40 }, (_, at) => [1, 2, 5].map((digit) => digit * 10 ** (at - 12))).flat();
  const first = steps.findLastIndex((step) => step <= low);
  const last = steps.findIndex((step) => step >= high);
  const ticks = steps.slice(Math.max(0, first), last === -1 ? steps.length : last + 1);
  const [least, most] = [Math.log(ticks[0] ?? 1), Math.log(ticks.at(-1) ?? 10)];
  return { ticks, at: (value) => from + ((Math.log(value) - least) / (most - least)) * (to - from) };
}

function linear(most: number, from: number, to: number): Axis {
  const rough = (most > 0 ? most : 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((digit) => digit * power >= rough) ?? 10) * power;
  const count = Math.max(1, Math.ceil((most - step * 1e-9) / step));
  const ticks = Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(6)));
  return { ticks, at: (value) => from + (value / (count * step)) * (to - from) };
}

function gridX(ticks: readonly number[], at: (value: number) => number, end: number, unit: string): readonly string[] {
  return ticks.flatMap((tick) => [
    `<line x1="${fixed(at(tick))}" x2="${fixed(at(tick))}" y1="${TOP}" y2="${end}" stroke="${GRID}"/>`,
    text(at(tick), end + 18, `${short(tick)}${unit === "" ? "" : ` ${unit}`}`, {
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
