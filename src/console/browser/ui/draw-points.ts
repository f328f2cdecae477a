// Draws points on a canvas: thousands in one pass per colour, with labels where there is free space.

import { cutText } from "../core/format.ts";
import { colour } from "../core/theme.ts";
import { areApart, boxAround } from "./boxes.ts";
import { onCanvas, type PlanePoint, type Sight, type Size } from "./point-field.ts";

const LABEL_PIXELS = 12;
/** Height in pixels that a label takes, with the space below and above it. */
const LABEL_LINE_PIXELS = 17;
const LABEL_CHARACTERS = 34;
const DIM_ALPHA = 0.35;
/** Pixels between a selected point and the ring around it. */
const RING_GAP = 2.5;
/** Width in pixels of the line around letters, which keeps them apart from what is below them. */
const HALO_PIXELS = 4;
/** Pixels between a point and its label, and between a label and the edge. */
const LABEL_GAP = 6;
const EDGE = 8;
/** Width of the canvas in pixels below which labels would lie on each other. */
const LABELLED_MIN = 560;

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
  if (size.width >= LABELLED_MIN) drawLabels(context, points, { size, sight }, radius);
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

/** Draws the labels that cover no point and no other label. */
function drawLabels(
  context: CanvasRenderingContext2D,
  points: readonly ShownPoint[],
  { size, sight }: Pick<Drawn, "size" | "sight">,
  radius: number,
): void {
  if (points.every(({ label }) => !label)) return;
  const places = points.map((point) => onCanvas(point, size, sight));
  const taken = places.map((place) => boxAround(place, radius, radius));
  context.globalAlpha = 1;
  context.font = `${LABEL_PIXELS}px ${getComputedStyle(document.body).fontFamily}`;
  context.fillStyle = colour("text-2");
  context.strokeStyle = colour("surface-2");
  context.lineWidth = HALO_PIXELS;
  context.lineJoin = "round";
  context.textBaseline = "middle";
  for (const [at, { label = "", isDim, isChosen }] of points.entries()) {
    const place = places[at];
    if (label === "" || isDim || place === undefined) continue;
    const text = cutText(label, LABEL_CHARACTERS);
    const { width } = context.measureText(text);
    const aside = radius + (isChosen ? RING_GAP : 0) + LABEL_GAP + width / 2;
    const middle = [place.x + aside, place.x - aside].find((x) => {
      const box = boxAround({ x, y: place.y }, width / 2, LABEL_LINE_PIXELS / 2);
      const isInside = box.left >= EDGE && box.right <= size.width - EDGE;
      return isInside && taken.every((other, of) => of === at || areApart(box, other));
    });
    if (middle === undefined) continue;
    taken.push(boxAround({ x: middle, y: place.y }, width / 2, LABEL_LINE_PIXELS / 2));
    context.strokeText(text, middle - width / 2, place.y);
    context.fillText(text, middle - width / 2, place.y);
  }
}

/** Radius of points in pixels. The more points, the smaller. It grows more slowly than the zoom. */
function radiusOf(count: number, { zoom }: Sight): number {
  const whole = count > 3_000 ? 2.2 : count > 800 ? 3 : count > 100 ? 4 : 5.5;
  return Math.min(9, whole * zoom ** 0.35);
}
