// Chart of several figures of the same rows as SVG, without a drawing library: a panel per figure side by side, each
// with an axis of its own, and a dot per row. A second dot is joined to the first by a line.

/** A panel. */
export interface Panel {
  readonly title: string;
  readonly isLogarithmic: boolean;
  /** Number of decimals of the labels; without it, three significant digits. */
  readonly decimals?: number;
  /** Values by row; the first is labelled. */
  readonly points: readonly (readonly number[])[];
}

/** Content of a chart. */
export interface PanelChart {
  readonly title: string;
  /** Lines below the title. */
  readonly subtitle: readonly string[];
  /** Rows with the same `series` have the same colour. */
  readonly rows: readonly { readonly name: string; readonly series: string }[];
  readonly panels: readonly Panel[];
}

const PANEL_WIDTH = 300;
const PANEL_GAP = 28;
const RIGHT = 20;
const LEGEND_HEIGHT = 26;
const PANEL_TITLE_HEIGHT = 24;
const ROW_HEIGHT = 24;
const BOTTOM = 34;
/** Room at both ends of an axis, for dots and their labels. */
const PADDING = 34;
const LETTER_WIDTH = 6.7;
const TICKS_MAX = 5;
/** Minimum distance of two labels of an axis. */
const LABEL_DISTANCE_MIN = 40;
const INK = "#1f2430";
const QUIET = "#5b6472";
const GRID = "#e3e6eb";
const STRIPE = "#f6f7f9";
const COLOURS = ["#2563a8", "#0f9488", "#9aa1ac", "#d97706"];

/** Renders the chart as an SVG document with a light background. */
export function panelChart({ title, subtitle, rows, panels }: PanelChart): string {
  const series = [...new Set(rows.map((row) => row.series))];
  const colour = (name: string) => COLOURS[series.indexOf(name) % COLOURS.length] ?? INK;
  const left = 20 + Math.max(...rows.map(({ name }) => name.length), 8) * LETTER_WIDTH;
  const width = left + panels.length * (PANEL_WIDTH + PANEL_GAP) + RIGHT;
  const legendTop = 44 + subtitle.length * 17;
  const top = legendTop + LEGEND_HEIGHT + PANEL_TITLE_HEIGHT;
  const end = top + rows.length * ROW_HEIGHT;
  const height = end + BOTTOM;
  const middle = (at: number) => top + at * ROW_HEIGHT + ROW_HEIGHT / 2;

  let legendX = 20;
  const legend = series.map((name) => {
    const entry = `<circle cx="${fixed(legendX + 6)}" cy="${legendTop + 6}" r="5" fill="${colour(name)}"/>`;
    const label = text(legendX + 17, legendTop + 10, name, { size: 12 });
    legendX += 40 + name.length * LETTER_WIDTH;
    return entry + label;
  });
  const names = rows.map(({ name }, at) =>
    [
      at % 2 === 0
        ? `<rect x="12" y="${top + at * ROW_HEIGHT}" width="${fixed(width - 24)}" height="${ROW_HEIGHT}" fill="${STRIPE}"/>`
        : "",
      text(left, middle(at) + 4, name, { size: 12, anchor: "end" }),
    ].join(""),
  );
  const drawn = panels.map((panel, place) => {
    const from = left + PANEL_GAP + place * (PANEL_WIDTH + PANEL_GAP);
    const axis = axisOf(panel, from + 8, from + PANEL_WIDTH - PADDING);
    return [
      text(from, top - 9, panel.title, { size: 12, weight: 600 }),
      ...axis.ticks.map(
        (tick) =>
          `<line x1="${fixed(axis.at(tick))}" x2="${fixed(axis.at(tick))}" y1="${top}" y2="${end}" stroke="${GRID}"/>` +
          text(axis.at(tick), end + 16, short(tick), { size: 11, anchor: "middle", colour: QUIET }),
      ),
      ...panel.points.map((points, at) =>
        dots(points, panel.decimals, axis, middle(at), colour(rows[at]?.series ?? "")),
      ),
    ].join("\n");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${fixed(width)}" height="${height}" viewBox="0 0 ${fixed(width)} ${height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${fixed(width)}" height="${height}" fill="#ffffff"/>`,
    text(20, 28, title, { size: 17, weight: 600 }),
    ...subtitle.map((line, at) => text(20, 48 + at * 17, line, { size: 12, colour: QUIET })),
    ...legend,
    ...names,
    ...drawn,
    "</svg>",
    "",
  ].join("\n");
}

interface Axis {
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
}

function dots(points: readonly number[], decimals: number | undefined, axis: Axis, y: number, colour: string): string {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return "";
  const [x, end] = [axis.at(first), axis.at(last)];
  return [
    `<line x1="${fixed(x)}" x2="${fixed(end)}" y1="${y}" y2="${y}" stroke="${colour}" stroke-width="3" stroke-opacity=".35"/>`,
    points.length > 1 ? `<circle cx="${fixed(end)}" cy="${y}" r="3.5" fill="${colour}" fill-opacity=".55"/>` : "",
    `<circle cx="${fixed(x)}" cy="${y}" r="5" fill="${colour}"/>`,
    text(
      end + 9,
      y + 4,
      points.map((value) => (decimals === undefined ? short(value) : value.toFixed(decimals))).join("–"),
      { size: 11, colour: QUIET },
    ),
  ].join("");
}

function axisOf({ points, isLogarithmic }: Panel, from: number, to: number): Axis {
  const values = points.flat().filter((value) => !isLogarithmic || value > 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!(high >= low)) return { ticks: [], at: () => from };
  const scale = isLogarithmic ? Math.log : (value: number) => value;
  const ticks = isLogarithmic ? logarithmicTicks(low, high) : linearTicks(low, high);
  const [least, most] = [scale(ticks[0] ?? low), scale(ticks.at(-1) ?? high)];
  const span = most > least ? most - least : 1;
  const at = (value: number) => from + ((scale(value) - least) / span) * (to - from);
  return { ticks: isLogarithmic ? apart(ticks, at) : ticks, at };
}

function logarithmicTicks(low: number, high: number): readonly number[] {
  const steps = Array.from({ length: 24 }, (_, at) => [1, 2, 5].map((digit) => digit * 10 ** (at - 9))).flat();
  const first = Math.max(
    0,
    steps.findLastIndex((step) => step <= low),
  );
  const found = steps.findIndex((step) => step >= high);
  const ticks = steps.slice(first, (found === -1 ? steps.length : found) + 1);
  if (ticks.length <= TICKS_MAX + 1) return ticks;
  // the ends and the powers of ten between them
  return ticks.filter((tick, at) => at === 0 || at === ticks.length - 1 || isPower(tick));
}

// Leaves out ticks whose labels would touch that of a power of ten.
function apart(ticks: readonly number[], at: (value: number) => number): readonly number[] {
  const kept: number[] = [];
  for (const tick of ticks.toSorted((left, right) => Number(isPower(right)) - Number(isPower(left)))) {
    if (kept.every((other) => Math.abs(at(tick) - at(other)) >= LABEL_DISTANCE_MIN)) kept.push(tick);
  }
  return kept;
}

function isPower(tick: number): boolean {
  return Number.isInteger(Math.log10(tick));
}

function linearTicks(low: number, high: number): readonly number[] {
  const rough = Math.max(high - low, Number.EPSILON) / TICKS_MAX;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((digit) => digit * power >= rough) ?? 10) * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(6)));
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
