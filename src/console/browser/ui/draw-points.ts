// Draws points on a canvas: thousands in one pass per colour, with labels where there is free space.

import { colour } from "../core/theme.ts";
import { type Flag, type Island, type Label, placed, type ShownRegion } from "./islands.ts";
import { distinctLabels } from "./labels.ts";
import { onCanvas, type PlanePoint, type Sight, type Size } from "./point-field.ts";

const LABEL_PIXELS = 12;
/** Lengths of labels in characters that are tried, on a wide and on a narrow canvas. */
const LABEL_CHARACTERS = [40, 32, 26] as const;
const LABEL_CHARACTERS_NARROW = [24, 16] as const;
const DIM_ALPHA = 0.6;
/** Pixels between a selected point and the ring around it. */
const RING_GAP = 2.5;
/** Width in pixels of the line around letters, which keeps them apart from what is below them. */
const HALO_PIXELS = 4;
/** Width of the canvas in pixels below which it is narrow. */
const NARROW = 420;

/** A point with its colour and label. */
export interface ShownPoint extends PlanePoint {
  /** Name of a colour of tokens.css. */
  readonly colour: string;
  readonly isDim: boolean;
  readonly isChosen?: boolean;
  /** Text beside the point, where it finds room; empty: none. */
  readonly label?: string;
}

interface Drawn {
  readonly regions: readonly ShownRegion[];
  readonly size: Size;
  readonly sight: Sight;
  readonly pointed: number | null;
  /** The line that a person is drawing around points to select them; empty if there is none. */
  readonly line: readonly PlanePoint[];
}

/** Draws the points, their labels, a ring around the point under the pointer, and the selection line. */
export function draw(element: HTMLCanvasElement | null, points: readonly ShownPoint[], drawn: Drawn): void {
  const { size, sight, pointed, line } = drawn;
  const context = element?.getContext("2d");
  if (element === null || context == null || size.width === 0) return;
  const density = devicePixelRatio;
  const [width, height] = [Math.round(size.width * density), Math.round(size.height * density)];
  if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const radius = radiusOf(points.length, sight);
  const { islands, labels, flags } = layOut(context, points, drawn, radius);
  drawIslands(context, islands);
  drawLine(context, line, drawn);
  const groups = new Map<string, ShownPoint[]>();
  for (const point of points) {
    const name = `${point.isDim ? 0 : 1} ${point.colour}`; // dim ones are drawn first
    const known = groups.get(name);
    if (known === undefined) groups.set(name, [point]);
    else known.push(point);
  }
  for (const [name, group] of [...groups].sort()) {
    context.globalAlpha = name.startsWith("0") ? DIM_ALPHA : 0.85;
    context.fillStyle = colour(name.slice(2));
    context.beginPath();
    for (const point of group) {
      const { x, y } = onCanvas(point, size, sight);
      if (x < -radius || y < -radius || x > size.width + radius || y > size.height + radius) continue;
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    context.fill();
  }
  drawLabels(context, points, labels);
  drawFlags(context, flags);
  drawRings(
    context,
    points.filter(({ isChosen }) => isChosen),
    { size, sight },
    radius + RING_GAP,
  );
  const looked = pointed === null ? undefined : points[pointed];
  if (looked !== undefined) drawRings(context, [looked], { size, sight }, radius + 4);
}

function drawRings(
  context: CanvasRenderingContext2D,
  points: readonly ShownPoint[],
  { size, sight }: Pick<Drawn, "size" | "sight">,
  radius: number,
): void {
  context.globalAlpha = 1;
  context.strokeStyle = colour("text");
  context.lineWidth = 2;
  context.beginPath();
  for (const point of points) {
    const { x, y } = onCanvas(point, size, sight);
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.stroke();
}

function drawLine(context: CanvasRenderingContext2D, line: Drawn["line"], { size, sight }: Drawn): void {
  if (line.length === 0) return;
  context.beginPath();
  for (const point of line) {
    const { x, y } = onCanvas(point, size, sight);
    context.lineTo(x, y);
  }
  context.closePath();
  context.strokeStyle = colour("accent");
  context.fillStyle = colour("accent");
  context.lineWidth = 1.5;
  context.globalAlpha = 0.06;
  context.fill();
  context.globalAlpha = 1;
  context.stroke();
}

/** Draws the regions as islands. */
function drawIslands(context: CanvasRenderingContext2D, islands: readonly Island[]): void {
  context.globalAlpha = 1;
  context.lineJoin = "round";
  for (const { outline, gap } of islands) {
    for (const [token, width] of [
      ["border-strong", 2 * gap + 2],
      ["surface", 2 * gap],
    ] as const) {
      context.beginPath();
      for (const { x, y } of outline) context.lineTo(x, y);
      context.closePath();
      context.strokeStyle = colour(token);
      context.fillStyle = colour(token);
      context.lineWidth = width;
      context.stroke();
      context.fill();
    }
  }
}

/** Finds places for the regions, their names and the labels of points. */
function layOut(
  context: CanvasRenderingContext2D,
  points: readonly ShownPoint[],
  { regions, size, sight }: Drawn,
  radius: number,
): ReturnType<typeof placed> {
  const texts = points.map(({ label = "" }) => label);
  const lengths = size.width < NARROW ? LABEL_CHARACTERS_NARROW : LABEL_CHARACTERS;
  const versions = texts.some((text) => text !== "") ? lengths.map((most) => distinctLabels(texts, most)) : [];
  return placed({
    ...{ regions, size, radius: radius + RING_GAP },
    places: points.map((point) => onCanvas(point, size, sight)),
    labels: points.map((_, at) => versions.map((version) => version[at] ?? "").filter((text) => text !== "")),
    widthOf: (text, isName) => {
      prepareText(context, isName);
      return context.measureText(text).width;
    },
  });
}

function drawLabels(context: CanvasRenderingContext2D, points: readonly ShownPoint[], labels: readonly Label[]): void {
  prepareText(context, false);
  context.lineJoin = "round";
  context.lineWidth = HALO_PIXELS;
  for (const { text, middle, at, isOnIsland } of labels) {
    const isDim = points[at]?.isDim === true;
    context.globalAlpha = isDim ? DIM_ALPHA : 1;
    context.strokeStyle = colour(isOnIsland ? "surface" : "surface-2");
    context.strokeText(text, middle.x, middle.y);
    context.fillStyle = colour(isDim ? "text-3" : "text-2");
    context.fillText(text, middle.x, middle.y);
  }
  context.globalAlpha = 1;
}

/** Draws the names of regions on their edges. */
function drawFlags(context: CanvasRenderingContext2D, flags: readonly Flag[]): void {
  prepareText(context, true);
  context.lineWidth = 1;
  for (const { name, box } of flags) {
    const { left, top, right, bottom } = box;
    context.beginPath();
    context.roundRect(left, top, right - left, bottom - top, (bottom - top) / 2);
    context.fillStyle = colour("surface");
    context.fill();
    context.strokeStyle = colour("border-strong");
    context.stroke();
    context.fillStyle = colour("text");
    context.fillText(name, (left + right) / 2, (top + bottom) / 2 + 0.5);
  }
}

/** Sets the font of labels, or of names of regions, with each text around its middle. */
function prepareText(context: CanvasRenderingContext2D, isName: boolean): void {
  context.font = `${isName ? 600 : 400} ${LABEL_PIXELS}px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.globalAlpha = 1;
}

/** Radius of points in pixels. The more points, the smaller. It grows more slowly than the zoom. */
function radiusOf(count: number, { zoom }: Sight): number {
  const whole = count > 3_000 ? 2.2 : count > 800 ? 3 : count > 100 ? 4 : 5.5;
  return Math.min(9, whole * zoom ** 0.35);
}
