// Bar chart of quality figures as SVG, without a drawing library: groups of bars with 95 % intervals, and horizontal
// marks across a group for the baselines.

/** A bar with its interval; all values 0..1. */
export interface Bar {
  /** Key in `barColours`. */
  readonly kind: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A group of bars, with marks across the group. */
export interface Group {
  readonly name: string;
  readonly bars: readonly Bar[];
  readonly marks: readonly { readonly kind: string; readonly value: number }[];
}

/** Content of a chart. */
export interface ChartContent {
  readonly title: string;
  readonly subtitle: string;
  readonly groups: readonly Group[];
  /** Colours of the kinds of bars, in the order of the legend. */
  readonly barColours: Readonly<Record<string, string>>;
  /** `stroke-dasharray` of the kinds of marks (empty for a solid line), in the order of the legend. */
  readonly markPatterns: Readonly<Record<string, string>>;
}

const BAR_WIDTH = 30;
const BAR_GAP = 4;
const GROUP_GAP = 36;
const LEFT = 52;
const RIGHT = 24;
const TOP = 96;
const PLOT_HEIGHT = 320;
const BOTTOM = 44;
const WIDTH_MIN = 720;
const GRID_STEP = 0.2;
const LEGEND_STEP = 22;
/** Average width of a letter in the legend, and width of a colour sample with its margins, both in pixels. */
const LETTER_WIDTH = 6.4;
const SWATCH_WIDTH = 44;
const INK = "#1f2430";
const QUIET = "#5b6472";
const GRID = "#e3e6eb";

/** Renders the chart as an SVG document with a light background. */
export function chartSvg({ title, subtitle, groups, barColours, markPatterns }: ChartContent): string {
  const widths = groups.map(({ bars }) => Math.max(1, bars.length) * (BAR_WIDTH + BAR_GAP) - BAR_GAP);
  const plotWidth = widths.reduce((sum, width) => sum + width + GROUP_GAP, 0);
  const width = Math.max(WIDTH_MIN, LEFT + plotWidth + RIGHT);
  const legend = legendOf(barColours, markPatterns, width);
  const top = TOP + legend.height;
  const height = top + PLOT_HEIGHT + BOTTOM;
  const y = (value: number) => fixed(top + PLOT_HEIGHT * (1 - Math.min(1, Math.max(0, value))));

  const grid = Array.from({ length: Math.round(1 / GRID_STEP) + 1 }, (_, at) => at * GRID_STEP).map(
    (value) =>
      `<line x1="${LEFT}" x2="${width - RIGHT}" y1="${y(value)}" y2="${y(value)}" stroke="${value === 0 ? QUIET : GRID}"/>` +
      text(LEFT - 8, Number(y(value)) + 4, value.toFixed(1), { anchor: "end", colour: QUIET, size: 11 }),
  );
  let x = LEFT + GROUP_GAP / 2;
  const drawn = groups.map((group, at) => {
    const left = x;
    const groupWidth = widths[at] ?? 0;
    x += groupWidth + GROUP_GAP;
    return [
      ...group.bars.map((bar, place) => barOf(bar, left + place * (BAR_WIDTH + BAR_GAP), y, barColours)),
      ...group.marks.map((mark) => markOf(mark, left - 6, left + groupWidth + 6, y, markPatterns)),
      ...group.bars.map((bar, place) => intervalOf(bar, left + place * (BAR_WIDTH + BAR_GAP), y)),
      ...group.bars.map((bar, place) => labelOf(bar, left + place * (BAR_WIDTH + BAR_GAP), y, barColours)),
      text(left + groupWidth / 2, top + PLOT_HEIGHT + 22, group.name, { anchor: "middle", size: 13 }),
    ].join("\n");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(LEFT, 34, title, { size: 18, weight: 600 }),
    text(LEFT, 56, subtitle, { size: 12, colour: QUIET }),
    legend.svg,
    ...grid,
    ...drawn,
    "</svg>",
    "",
  ].join("\n");
}

function barOf(
  { kind, value, low, high }: Bar,
  x: number,
  y: (value: number) => string,
  colours: Readonly<Record<string, string>>,
): string {
  const height = fixed(Number(y(0)) - Number(y(value)));
  return (
    `<rect x="${x}" y="${y(value)}" width="${BAR_WIDTH}" height="${height}" fill="${escaped(colours[kind] ?? QUIET)}">` +
    `<title>${escaped(`${kind}: ${short(value)} (${short(low)} to ${short(high)})`)}</title></rect>`
  );
}

function intervalOf({ low, high }: Bar, x: number, y: (value: number) => string): string {
  const middle = x + BAR_WIDTH / 2;
  const path = `M${middle} ${y(low)}V${y(high)}M${middle - 4} ${y(low)}h8M${middle - 4} ${y(high)}h8`;
  return (
    `<path d="${path}" stroke="#ffffff" stroke-width="3.2" stroke-opacity=".75" fill="none"/>` +
    `<path d="${path}" stroke="${INK}" stroke-width="1.2" fill="none"/>`
  );
}

// Draws a mark with a white outline, so that it is visible on a dark bar.
function markOf(
  { kind, value }: Group["marks"][number],
  from: number,
  to: number,
  y: (value: number) => string,
  patterns: Readonly<Record<string, string>>,
): string {
  const place = `x1="${from}" x2="${to}" y1="${y(value)}" y2="${y(value)}"`;
  return (
    `<line ${place} stroke="#ffffff" stroke-width="4.5" stroke-opacity=".75"/>` +
    `<line ${place} ${stroke(patterns[kind] ?? "")}><title>${escaped(`${kind}: ${short(value)}`)}</title></line>`
  );
}

// Writes the value at the bottom of its bar, where neither the interval nor a mark is likely to cover it.
function labelOf(
  { kind, value }: Bar,
  x: number,
  y: (value: number) => string,
  colours: Readonly<Record<string, string>>,
): string {
  const colour = isDark(colours[kind] ?? QUIET) ? "#ffffff" : INK;
  return text(x + BAR_WIDTH / 2, Number(y(0)) - 7, short(value), { anchor: "middle", size: 11, colour });
}

// Whether a colour `#rrggbb` is dark, judged by its luma (ITU-R BT.601).
function isDark(colour: string): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue < 140;
}

function legendOf(
  barColours: Readonly<Record<string, string>>,
  markPatterns: Readonly<Record<string, string>>,
  width: number,
): { readonly svg: string; readonly height: number } {
  const entries = [
    ...Object.entries(barColours).map(([kind, colour]) => ({
      kind,
      swatch: (x: number, y: number) =>
        `<rect x="${x}" y="${y - 10}" width="14" height="12" fill="${escaped(colour)}"/>`,
    })),
    ...Object.entries(markPatterns).map(([kind, pattern]) => ({
      kind,
      swatch: (x: number, y: number) =>
        `<line x1="${x}" x2="${x + 18}" y1="${y - 4}" y2="${y - 4}" ${stroke(pattern)}/>`,
    })),
  ];
  let x = LEFT;
  let y = TOP - 16;
  const drawn = entries.map(({ kind, swatch }) => {
    const needed = SWATCH_WIDTH + kind.length * LETTER_WIDTH;
    if (x > LEFT && x + needed > width - RIGHT) {
      x = LEFT;
      y += LEGEND_STEP;
    }
    const entry = swatch(x, y) + text(x + 24, y, kind, { size: 12 });
    x += needed;
    return entry;
  });
  return { svg: drawn.join("\n"), height: y - (TOP - 16) + 8 };
}

function text(
  x: number,
  y: number,
  content: string,
  { anchor = "start", size, colour = INK, weight = 400 }: TextStyle,
): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" font-size="${size}" font-weight="${weight}" fill="${colour}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

interface TextStyle {
  readonly anchor?: "start" | "middle" | "end";
  readonly size: number;
  readonly colour?: string;
  readonly weight?: number;
}

function stroke(pattern: string): string {
  return `stroke="${INK}" stroke-width="1.8"${pattern === "" ? "" : ` stroke-dasharray="${escaped(pattern)}"`}`;
}

function short(value: number): string {
  return value.toFixed(3).replace(/^0\./, ".");
}

function fixed(value: number): string {
  return String(Number(value.toFixed(1)));
}

function escaped(content: string): string {
  return content.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
