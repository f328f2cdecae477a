// Where the nodes of a graph and their labels stand in the picture: positions by ForceAtlas2 of graphology, fitted to
// the picture together with the labels, moved apart where they would collide.

import Graphology from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import { areApart, boxAround, crosses, doCross, nearestIn } from "./boxes.ts";
import type { Graph } from "./graph-data.ts";

const LABEL_CHARACTERS = 26;
/** Height of a label in pixels. */
export const LABEL_PIXELS = 12;
/** Maximum number of nodes with labels: those with the most weight, if there is room for their labels. */
const LABELS_MAX = 80;
/** Pixels between a node and its label. */
const LABEL_GAP = 7;
/** About the width of a letter, as a share of the height of a label. */
const LETTER_SHARE = 0.56;
/** Pixels that stay free at the edges of the picture, and between two nodes with their labels. */
const EDGE = 20;
const SPACE = 10;
/** Maximum of steps × nodes of the layout. It takes about 50 ms. */
const STEPS_TIMES_NODES = 24_000;
/** Rounds in which nodes move apart; maximum number of nodes for that, because each is compared with each. */
const ROUNDS = 60;
const MOVED_APART_MAX = 120;
/** Directions from a node in which its label is tried, and by how many pixels it moves away when there is no room. */
const DIRECTIONS = 24;
const FARTHER = [0, 8, 16] as const;
/** Pixels that stay free between a label and a link. */
const CLEAR = 2;
/**
 * Costs of a label that crosses a link, and of one farther away from its node. A direction at a right angle to the one
 * that leads away from the links costs 1 more than that one.
 */
const CROSSING_COST = 8;
const FARTHER_COST = 1.5;

/** Number of rotations of the layout that are tried; maximum number of nodes for that: each places all labels again. */
const TURNS = 12;
const TURNED_MAX = 40;
/** Cost of a node that gets no label. */
const MISSING_COST = 3;

/** A place in pixels, or a direction. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The size of the picture in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Radius of a node, so that it grows more slowly than the picture when that is enlarged. */
export function radiusOf(weight: number, scale: number): number {
  return (4 + Math.min(weight, 10)) / Math.sqrt(scale);
}

/** A name as its label has it. */
export function shortened(name: string): string {
  return name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS)}…` : name;
}

function halfWidthOf(label: string, scale: number): number {
  return (shortened(label).length * LABEL_PIXELS * LETTER_SHARE) / scale / 2;
}

/** Positions of the nodes, the same for the same graph; `before`: where nodes were. */
export function laidOut({ nodes, links }: Graph, before: ReadonlyMap<string, Point>): ReadonlyMap<string, Point> {
  const graph = new Graphology();
  const anchor = (id: string) => {
    const link = links.find(({ from, to }) => (from === id && before.has(to)) || (to === id && before.has(from)));
    return link === undefined ? undefined : before.get(link.from === id ? link.to : link.from);
  };
  nodes.forEach(({ id }, at) => {
    const angle = at * 2.399963; // the golden angle spreads them evenly
    const distance = Math.sqrt(at + 0.5);
    const from = anchor(id) ?? { x: 0, y: 0 };
    const place = before.get(id) ?? { x: from.x + Math.cos(angle) * distance, y: from.y + Math.sin(angle) * distance };
    graph.mergeNode(id, { ...place });
  });
  for (const { from, to, weight = 1 } of links)
    if (graph.hasNode(from) && graph.hasNode(to) && from !== to) graph.mergeUndirectedEdge(from, to, { weight });
  if (graph.order > 1)
    forceAtlas2.assign(graph, {
      iterations: Math.max(20, Math.min(260, Math.round(STEPS_TIMES_NODES / graph.order))),
      settings: { gravity: 0.8, scalingRatio: 26, strongGravityMode: true, barnesHutOptimize: graph.order > 150 },
    });
  return new Map(graph.mapNodes((id, { x, y }) => [id, { x: x as number, y: y as number }]));
}

/** Positions turned around their origin. @param angle in radians */
export function turned(raw: ReadonlyMap<string, Point>, angle: number): ReadonlyMap<string, Point> {
  const [across, down] = [Math.cos(angle), Math.sin(angle)];
  return new Map([...raw].map(([id, { x, y }]) => [id, { x: x * across - y * down, y: x * down + y * across }]));
}

/** The angle by which positions are turned so that the fewest labels cross links; 0 for a large graph. */
export function bestTurn(graph: Graph, raw: ReadonlyMap<string, Point>, size: Size): number {
  if (graph.nodes.length > TURNED_MAX) return 0;
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (let at = 0; at < TURNS; at++) {
    const angle = (2 * Math.PI * at) / TURNS;
    const places = fitted(turned(raw, angle), graph.nodes, size);
    const labels = [...labelsWithRoom(graph, places, size, 1).values()];
    const crossings = labels.reduce((sum, label) => sum + label.crossings, 0);
    const cost = crossings + MISSING_COST * (graph.nodes.length - labels.length);
    if (cost < least) [best, least] = [angle, cost];
  }
  return best;
}

interface Body {
  readonly id: string;
  x: number;
  y: number;
  /** Half of the width and of the height that the node takes with its label. */
  readonly halfWidth: number;
  readonly halfHeight: number;
}

/** Positions scaled to the picture, so that nodes and labels stay inside and apart. */
export function fitted(
  raw: ReadonlyMap<string, Point>,
  nodes: Graph["nodes"],
  { width, height }: Size,
): ReadonlyMap<string, Point> {
  const all = [...raw.values()];
  const [left, right] = [Math.min(...all.map(({ x }) => x)), Math.max(...all.map(({ x }) => x))];
  const [top, bottom] = [Math.min(...all.map(({ y }) => y)), Math.max(...all.map(({ y }) => y))];
  const spread = (value: number, from: number, to: number, size: number, free: number) =>
    to === from ? size / 2 : free + ((value - from) / (to - from)) * (size - 2 * free);
  const hasLabels = nodes.length <= MOVED_APART_MAX;
  const bodies = nodes.flatMap(({ id, label, weight }): Body[] => {
    const at = raw.get(id);
    if (at === undefined) return [];
    const radius = radiusOf(weight, 1);
    const halfWidth = hasLabels ? Math.min(Math.max(radius, halfWidthOf(label, 1)), width / 4) : radius;
    const halfHeight = radius + (hasLabels ? LABEL_PIXELS : 0);
    const x = spread(at.x, left, right, width, EDGE + halfWidth);
    const y = spread(at.y, top, bottom, height, EDGE + halfHeight);
    return [{ id, x, y, halfWidth, halfHeight }];
  });
  if (hasLabels) moveApart(bodies, { width, height });
  return new Map(bodies.map(({ id, x, y }) => [id, { x, y }]));
}

/** Moves bodies inside of the picture until none overlaps another one, in at most `ROUNDS` rounds. */
function moveApart(bodies: readonly Body[], { width, height }: Size): void {
  for (let round = 0; round < ROUNDS; round++) {
    let hasMoved = false;
    for (const [at, one] of bodies.entries()) {
      for (const other of bodies.slice(at + 1)) {
        const [dx, dy] = [other.x - one.x, other.y - one.y];
        const across = one.halfWidth + other.halfWidth + SPACE - Math.abs(dx);
        const along = one.halfHeight + other.halfHeight + SPACE - Math.abs(dy);
        if (across <= 0 || along <= 0) continue;
        hasMoved = true;
        const share = 0.3; // of the overlap, for each of the two: less than half, so that crowds settle
        if (along < across) {
          const step = (dy < 0 ? -1 : 1) * along * share;
          one.y -= step;
          other.y += step;
        } else {
          const step = (dx < 0 ? -1 : 1) * across * share;
          one.x -= step;
          other.x += step;
        }
      }
    }
    for (const body of bodies) {
      body.x = Math.max(EDGE + body.halfWidth, Math.min(width - EDGE - body.halfWidth, body.x));
      body.y = Math.max(EDGE + body.halfHeight, Math.min(height - EDGE - body.halfHeight, body.y));
    }
    if (!hasMoved) return;
  }
}

interface LabelPlace extends Point {
  /** What speaks against the place, apart from what it would cover. */
  readonly cost: number;
}

/** Places around a node for the middle of its label, from the middle of the node. @param halfWidth of the label */
function labelPlaces(radius: number, halfWidth: number, scale: number): readonly LabelPlace[] {
  const places: LabelPlace[] = [];
  for (let at = 0; at < DIRECTIONS; at++) {
    const angle = (2 * Math.PI * at) / DIRECTIONS;
    const [across, down] = [Math.cos(angle), Math.sin(angle)];
    // how far the label's middle is from the end that is next to the node, as a share of half of its size
    const shift = (part: number) => Math.max(-1, Math.min(1, part * 1.5));
    for (const [round, farther] of FARTHER.entries()) {
      const free = radius + (LABEL_GAP * (Math.abs(across) > 0.5 ? 1 : 0.5) + farther) / scale;
      places.push({
        x: across * free + shift(across) * halfWidth,
        y: down * free + (shift(down) * LABEL_PIXELS) / scale / 2,
        // below is best, above next, and a label across a corner reads worst
        cost: FARTHER_COST * round + (down > 0.99 ? 0 : down < -0.99 ? 0.4 : Math.abs(down) < 0.01 ? 0.6 : 1),
      });
    }
  }
  return places;
}

/** The place of a label beside its node. */
interface PlacedLabel extends Point {
  /** Number of links that it crosses. */
  readonly crossings: number;
}

/**
 * Places of the labels that find room beside their nodes, over no other label and no other node, heaviest first. A
 * place is left out if a link would go between the label and its node. Of the others, a label takes the one that
 * crosses the fewest links and points away from them.
 */
export function labelsWithRoom(
  { nodes, links }: Graph,
  places: ReadonlyMap<string, Point>,
  { width, height }: Size,
  scale: number,
): ReadonlyMap<string, PlacedLabel> {
  const taken = nodes.flatMap(({ id, weight }) => {
    const [at, radius] = [places.get(id), radiusOf(weight, scale)];
    return at === undefined ? [] : [{ id, ...boxAround(at, radius, radius) }];
  });
  const lines = links.flatMap(({ from, to }) => {
    const [a, b] = [places.get(from), places.get(to)];
    return a === undefined || b === undefined ? [] : [{ from, to, a, b }];
  });
  const found = new Map<string, PlacedLabel>();
  for (const { id, label, weight } of [...nodes].sort((a, b) => b.weight - a.weight)) {
    const at = places.get(id);
    if (found.size >= LABELS_MAX) break;
    if (at === undefined) continue;
    const half = halfWidthOf(label, scale);
    const boxOf = ({ x, y }: Point) => boxAround({ x: at.x + x, y: at.y + y }, half, LABEL_PIXELS / scale / 2);
    const away = directionAway(
      at,
      lines.flatMap(({ from, to, a, b }) => (from === id ? [b] : to === id ? [a] : [])),
    );
    const options = labelPlaces(radiusOf(weight, scale), half, scale).flatMap((place) => {
      const box = boxOf(place);
      if (box.left < 0 || box.right > width || box.top < 0 || box.bottom > height) return [];
      if (!taken.every((other) => other.id === id || areApart(box, other))) return [];
      // with a link between them, the label would not look like that of its node
      const nearest = nearestIn(box, at);
      if (lines.some(({ from, to, a, b }) => from !== id && to !== id && doCross(at, nearest, a, b))) return [];
      const free = CLEAR / scale;
      const clear = { left: box.left - free, right: box.right + free, top: box.top - free, bottom: box.bottom + free };
      const crossings = lines.filter(({ a, b }) => crosses(clear, a, b)).length;
      const length = Math.hypot(place.x, place.y);
      const outward = (place.x * away.x + place.y * away.y) / length;
      return [{ place, crossings, cost: place.cost + CROSSING_COST * crossings - outward }];
    });
    const best = options.sort((one, other) => one.cost - other.cost)[0];
    if (best === undefined) continue;
    taken.push({ id, ...boxOf(best.place) });
    found.set(id, { x: best.place.x, y: best.place.y, crossings: best.crossings });
  }
  return found;
}

/** The direction that leads away from the others; zero if there are none. */
function directionAway(at: Point, others: readonly Point[]): Point {
  const sum = others.reduce(
    (total, { x, y }) => {
      const length = Math.hypot(at.x - x, at.y - y) || 1;
      return { x: total.x + (at.x - x) / length, y: total.y + (at.y - y) / length };
    },
    { x: 0, y: 0 },
  );
  const length = Math.hypot(sum.x, sum.y);
  return length === 0 ? sum : { x: sum.x / length, y: sum.y / length };
}
