// Draws points on a canvas: thousands in one pass per colour, with labels where there is free space.

import { colour } from "../core/theme.ts";
import { areApart, type Box, boxAround } from "./boxes.ts";
import { distinctLabels } from "./labels.ts";
import { isWithin, onCanvas, type PlanePoint, type Sight, type Size } from "./point-field.ts";

const LABEL_PIXELS = 12;
/** Height in pixels that a label takes, with the space below and above it. */
const LABEL_LINE_PIXELS = 17;
/** Length of labels in characters, on a wide and on a narrow canvas. */
const LABEL_CHARACTERS = 40;
const LABEL_CHARACTERS_NARROW = 20;
const DIM_ALPHA = 0.6;
/** Pixels between a selected point and the ring around it. */
const RING_GAP = 2.5;
/** Width in pixels of the line around letters, which keeps them apart from what is below them. */
const HALO_PIXELS = 4;
/** Pixels between a point and its label, and between a label and the edge. */
const LABEL_GAP = 6;
const EDGE = 8;
/** Width of the canvas in pixels below which it is narrow. */
const NARROW = 420;
const REGION_PIXELS = 13;
/** Greatest distance in pixels between a point of a region and the region's edge. */
const REGION_GAP = 26;
/** The same as a share of the width of the canvas. */
const REGION_GAP_SHARE = 0.04;

/** A point with its colour and label. */
export interface ShownPoint extends PlanePoint {
  /** Name of a colour of tokens.css. */
  readonly colour: string;
  readonly isDim: boolean;
  readonly isChosen?: boolean;
  /** Text beside the point, where it finds room; empty: none. */
  readonly label?: string;
}

/** A named group of points that lie close together. */
export interface ShownRegion {
  readonly name: string;
  /** Indices of its points. */
  readonly at: readonly number[];
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
  const { size, sight, pointed, line, regions } = drawn;
  const context = element?.getContext("2d");
  if (element === null || context == null || size.width === 0) return;
  const density = devicePixelRatio;
  const [width, height] = [Math.round(size.width * density), Math.round(size.height * density)];
  if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const radius = radiusOf(points.length, sight);
  const islands = drawRegions(context, points, regions, drawn);
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
  drawLabels(context, points, islands, drawn, radius);
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

/** A region on the canvas: its name, and where its points and its edge lie. */
interface Island {
  readonly name: string;
  readonly outline: readonly PlanePoint[];
  readonly gap: number;
}

/** Draws the regions as islands around their points, so far from each other that none touch. */
function drawRegions(
  context: CanvasRenderingContext2D,
  points: readonly ShownPoint[],
  regions: readonly ShownRegion[],
  { size, sight }: Pick<Drawn, "size" | "sight">,
): readonly Island[] {
  const placed = regions.map(({ name, at }) => {
    const places = at.map((index) => points[index]).filter((point) => point !== undefined);
    return { name, places: places.map((point) => onCanvas(point, size, sight)) };
  });
  context.globalAlpha = 1;
  context.lineJoin = "round";
  context.lineCap = "round";
  return placed
    .filter(({ places }) => places.length > 1)
    .map(({ name, places }) => {
      const others = placed.filter((other) => other.places !== places).flatMap((other) => other.places);
      const away = Math.min(...places.flatMap((a) => others.map((b) => Math.hypot(a.x - b.x, a.y - b.y))));
      const gap = Math.max(10, Math.min(REGION_GAP, size.width * REGION_GAP_SHARE, away / 2 - 2));
      const outline = hullOf(places);
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
      return { name, outline, gap };
    });
}

/** Draws the names of regions, and then the labels of points that cover no point and no other label. */
function drawLabels(
  context: CanvasRenderingContext2D,
  points: readonly ShownPoint[],
  islands: readonly Island[],
  { size, sight }: Pick<Drawn, "size" | "sight">,
  radius: number,
): void {
  if (islands.length === 0 && points.every(({ label }) => !label)) return;
  const places = points.map((point) => onCanvas(point, size, sight));
  const taken = places.map((place) => boxAround(place, radius, radius));
  const isFree = (box: Box, own: number) => {
    const isInside =
      box.left >= EDGE && box.right <= size.width - EDGE && box.top >= 2 && box.bottom <= size.height - 2;
    return isInside && taken.every((other, of) => of === own || areApart(box, other));
  };
  const family = getComputedStyle(document.body).fontFamily;
  context.globalAlpha = 1;
  context.lineJoin = "round";
  context.textBaseline = "middle";
  context.lineWidth = HALO_PIXELS;
  const write = (text: string, { x, y }: PlanePoint, width: number, ground: string) => {
    context.strokeStyle = colour(ground);
    context.strokeText(text, x - width / 2, y);
    context.fillText(text, x - width / 2, y);
    taken.push(boxAround({ x, y }, width / 2, LABEL_LINE_PIXELS / 2));
  };
  context.font = `600 ${REGION_PIXELS}px ${family}`;
  context.fillStyle = colour("text");
  for (const { name, outline, gap } of islands) {
    const { width } = context.measureText(name);
    const middle = placesOfName(outline, gap, width, size).find((place) =>
      isFree(boxAround(place, width / 2 + 2, LABEL_LINE_PIXELS / 2), -1),
    );
    if (middle !== undefined) write(name, middle, width, "surface-2");
  }
  context.font = `${LABEL_PIXELS}px ${family}`;
  context.fillStyle = colour("text-2");
  const most = size.width < NARROW ? LABEL_CHARACTERS_NARROW : LABEL_CHARACTERS;
  const labels = distinctLabels(
    points.map(({ label = "", isDim }) => (isDim ? "" : label)),
    most,
  );
  for (const [at, text] of labels.entries()) {
    const place = places[at];
    if (text === "" || place === undefined) continue;
    const { width } = context.measureText(text);
    const ring = radius + (points[at]?.isChosen ? RING_GAP : 0) + LABEL_GAP;
    const [aside, above] = [ring + width / 2, ring + LABEL_LINE_PIXELS / 2 - 2];
    const middle = [
      { x: place.x + aside, y: place.y },
      { x: place.x - aside, y: place.y },
      { x: place.x, y: place.y - above },
      { x: place.x, y: place.y + above },
      { x: place.x + aside - ring, y: place.y - above },
      { x: place.x - aside + ring, y: place.y - above },
      { x: place.x + aside - ring, y: place.y + above },
      { x: place.x - aside + ring, y: place.y + above },
    ].find((one) => isFree(boxAround(one, width / 2, LABEL_LINE_PIXELS / 2), at));
    if (middle === undefined) continue;
    const isOnIsland = islands.some(({ outline }) => isWithin(middle, outline));
    write(text, middle, width, isOnIsland ? "surface" : "surface-2");
  }
}

/** Where the name of a region may stand: above it, below it, or within its upper edge. */
function placesOfName(outline: readonly PlanePoint[], gap: number, width: number, size: Size): readonly PlanePoint[] {
  const [xs, ys] = [outline.map(({ x }) => x), outline.map(({ y }) => y)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const middles = [(Math.min(...xs) + Math.max(...xs)) / 2, Math.min(...xs), Math.max(...xs)];
  const within = (x: number) => Math.max(width / 2 + EDGE, Math.min(size.width - width / 2 - EDGE, x));
  const heights = [top - gap - 10, bottom + gap + 10, top - gap / 2, bottom + gap / 2, (top + bottom) / 2];
  return heights.flatMap((y) => middles.map((x) => ({ x: within(x), y })));
}

/** The outer ones of some places, in order around them (the convex hull). */
function hullOf(places: readonly PlanePoint[]): readonly PlanePoint[] {
  const sorted = [...places].sort((a, b) => a.x - b.x || a.y - b.y);
  const half = (those: readonly PlanePoint[]) => {
    const line: PlanePoint[] = [];
    for (const place of those) {
      while (line.length > 1 && turn(line.at(-2) as PlanePoint, line.at(-1) as PlanePoint, place) <= 0) line.pop();
      line.push(place);
    }
    return line.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.toReversed())];
}

function turn(a: PlanePoint, b: PlanePoint, c: PlanePoint): number {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/** Radius of points in pixels. The more points, the smaller. It grows more slowly than the zoom. */
function radiusOf(count: number, { zoom }: Sight): number {
  const whole = count > 3_000 ? 2.2 : count > 800 ? 3 : count > 100 ? 4 : 5.5;
  return Math.min(9, whole * zoom ** 0.35);
}
