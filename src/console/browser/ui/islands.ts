// Where the regions of a map lie and where their names and the labels of points stand. A region is an island around its
// points. It grows around the labels of its points, so that no label crosses an edge. Its name stands on its edge, like
// a flag. What finds no place is left out. This does not use the page, so that tests can run without one.

import { areApart, type Box, boxAround, distanceToBox, isInside, middleOf } from "./boxes.ts";
import { isWithin, type PlanePoint, type Size } from "./point-field.ts";
import { areaOf, boundsOf, cornersOf, distanceOf, doOverlap, hullOf } from "./polygons.ts";

/**
 * Distance between the outer points of a region and its edge: the most in pixels, the most as a share of the canvas's
 * width, and the least in pixels.
 */
const GAP = 26;
const GAP_SHARE = 0.04;
const GAP_MIN = 10;
/** Height in pixels that a label takes, with the space below and above it. */
const LINE = 17;
/** Pixels between a point and its label, between a label and the edge of its region, and between two regions. */
const LABEL_GAP = 8.5;
const INSET = 7;
const BETWEEN = 6;
/** How many times as far from a label as its own point any other point must be, so that nobody takes it for theirs. */
const OTHERS_AWAY = 1.5;
/** Pixels that stay free at the edges of the canvas. */
const EDGE = 3;
/** Maximum area by which a label makes its region larger, as a share of the canvas. */
const GROWTH_MAX = 0.05;
/** Growth in square pixels that a place of a label may cost more for each place that is tried before it. */
const LATER_COST = 600;
/** Maximum number of points whose places are compared with regions that grow. */
const COMPARED_MAX = 400;
/** Height in pixels of the flag with a region's name, and the space in it on each side of the name. */
const FLAG = 20;
const FLAG_INSET = 8;
/** Number of places on an edge between two corners at which a flag is tried. */
const FLAG_STEPS = 6;
/** Directions of the corners with which the round edge of a region is computed around each of its outer points. */
const ROUND = Array.from({ length: 8 }, (_, at) => ({
  x: Math.cos((2 * Math.PI * at) / 8),
  y: Math.sin((2 * Math.PI * at) / 8),
}));

/** A named group of points that lie close together. */
export interface ShownRegion {
  readonly name: string;
  /** Indices of its points. */
  readonly at: readonly number[];
}

/** A region on the canvas. It reaches `gap` pixels beyond its outline on all sides. */
export interface Island {
  readonly outline: readonly PlanePoint[];
  readonly gap: number;
}

/** A label on the canvas. */
export interface Label {
  readonly text: string;
  readonly middle: PlanePoint;
  /** Index of the point that it names. */
  readonly at: number;
  readonly isOnIsland: boolean;
}

/** The name of a region on its edge. */
export interface Flag {
  readonly name: string;
  readonly box: Box;
}

/** What is to be placed. */
export interface Wanted {
  /** Places of the points, in pixels of the canvas. */
  readonly places: readonly PlanePoint[];
  /** Texts of each point, the longest first: the first one that finds a place is shown. Empty: none. */
  readonly labels: readonly (readonly string[])[];
  readonly regions: readonly ShownRegion[];
  readonly size: Size;
  /** Radius of a point. */
  readonly radius: number;
  /** Width of a text in pixels. */
  readonly widthOf: (text: string, isName: boolean) => number;
}

/** An island while labels are placed. */
interface Growing extends Island {
  /** The polygon of its edge, and that of the edge with the space that others leave it. */
  readonly body: readonly PlanePoint[];
  readonly reach: readonly PlanePoint[];
}

/** Places regions, their names, and the labels of points. */
export function placed({ places, labels, regions, size, radius, widthOf }: Wanted): {
  readonly islands: readonly Island[];
  readonly labels: readonly Label[];
  readonly flags: readonly Flag[];
} {
  const islands = islandsOf(places, regions, size);
  const islandOf = new Map(regions.flatMap(({ at }, own) => at.map((point) => [point, own] as const)));
  const taken: Box[] = places.map((place) => boxAround(place, radius, radius));
  const written: Label[] = [];
  const flags: Flag[] = [];

  const isFree = (box: Box, own: number | null) =>
    isInside(box, size.width, size.height, EDGE) && taken.every((other, at) => at === own || areApart(box, other));
  /** Whether a label would stand clearly nearer to its own point than to any other. */
  const isByItsPoint = (box: Box, own: number) => {
    const least = OTHERS_AWAY * distanceToBox(places[own] as PlanePoint, box);
    return places.every((place, at) => at === own || distanceToBox(place, box) >= least);
  };
  const isOnCanvas = ({ body }: Growing) => isInside(boundsOf(body), size.width, size.height, 1);
  /** The island with a box inside; null if it would touch another one, an edge, or a point that is not its own. */
  const grown = (own: number, box: Box): Growing | null => {
    const island = islands[own] as Growing;
    if (cornersOf(box).every((corner) => isWithin(corner, island.body))) return island;
    const inner = Math.max(0, island.gap - INSET);
    const [halfWidth, halfHeight] = [(box.right - box.left) / 2 - inner, (box.bottom - box.top) / 2 - inner];
    const core = boxAround(middleOf(box), Math.max(0, halfWidth), Math.max(0, halfHeight));
    const next = islandAround([...island.outline, ...cornersOf(core)], island.gap);
    if (isOnCanvas(island) && !isOnCanvas(next)) return null;
    if (islands.some((other, at) => at !== own && doOverlap(next.body, other.reach))) return null;
    const isForeign = (place: PlanePoint, at: number) => islandOf.get(at) !== own && isWithin(place, next.body);
    return places.length <= COMPARED_MAX && places.some(isForeign) ? null : next;
  };
  /** Writes a label where its island grows least. Returns whether there is a place. */
  const writeInside = (own: number, text: string, width: number, middles: readonly PlanePoint[], at: number) => {
    const before = areaOf((islands[own] as Growing).body);
    let best: { middle: PlanePoint; island: Growing; cost: number } | null = null;
    for (const [turn, middle] of middles.entries()) {
      if (best !== null && turn * LATER_COST >= best.cost) break;
      const box = boxAround(middle, width / 2, LINE / 2);
      const island = isFree(box, at) && isByItsPoint(box, at) ? grown(own, box) : null;
      if (island === null) continue;
      const growth = areaOf(island.body) - before;
      const cost = growth + turn * LATER_COST;
      const isSmall = growth <= GROWTH_MAX * size.width * size.height;
      if (isSmall && cost < (best?.cost ?? Number.POSITIVE_INFINITY)) best = { middle, island, cost };
    }
    if (best === null) return false;
    islands[own] = best.island;
    write(text, best.middle, width, at, true);
    return true;
  };
  /** Writes a label at the first of some places that touches no island. Returns whether there is one. */
  const writeOutside = (text: string, width: number, middles: readonly PlanePoint[], at: number) => {
    const middle = middles.find((one) => {
      const box = boxAround(one, width / 2, LINE / 2);
      const isClear = isFree(box, at) && isByItsPoint(box, at);
      return isClear && islands.every(({ body }) => !doOverlap(cornersOf(box), body));
    });
    if (middle !== undefined) write(text, middle, width, at, false);
    return middle !== undefined;
  };
  const write = (text: string, middle: PlanePoint, width: number, at: number, isOnIsland: boolean) => {
    taken.push(boxAround(middle, width / 2, LINE / 2));
    written.push({ text, middle, at, isOnIsland });
  };

  /** The highest free place for the flag of an island; null if there is none. */
  const placeOfFlag = (own: number, name: string): Box | null => {
    const width = widthOf(name, true) + 2 * FLAG_INSET;
    const isClear = (box: Box) =>
      isFree(box, null) && islands.every(({ body }, at) => at === own || !doOverlap(cornersOf(box), body));
    return (
      middlesOfFlag((islands[own] as Growing).body, size)
        .map((one) => boxAround(one, width / 2, FLAG / 2))
        .find(isClear) ?? null
    );
  };

  // a flag keeps its place until its island has grown, and then stands on the new edge
  const kept = regions.map(({ name }, own) => placeOfFlag(own, name));
  taken.push(...kept.filter((box) => box !== null));
  for (const [at, versions] of labels.entries()) {
    const place = places[at];
    if (place === undefined) continue;
    const island = islandOf.get(at);
    versions.some((text) => {
      const width = widthOf(text, false);
      const middles = middlesOfLabel(place, width, radius + LABEL_GAP);
      return island === undefined
        ? writeOutside(text, width, middles, at)
        : writeInside(island, text, width, middles, at);
    });
  }
  for (const [own, { name }] of regions.entries()) {
    const before = kept[own] ?? null;
    if (before !== null) taken.splice(taken.indexOf(before), 1);
    const box = placeOfFlag(own, name) ?? before;
    if (box === null) continue;
    taken.push(box);
    flags.push({ name, box });
  }
  return { islands, labels: written, flags };
}

/** The islands around the points of regions, so far from each other that none touch. */
function islandsOf(places: readonly PlanePoint[], regions: readonly ShownRegion[], size: Size): Growing[] {
  const outlines = regions.map(({ at }) =>
    hullOf(at.map((index) => places[index]).filter((place) => place !== undefined)),
  );
  return outlines.map((outline) => {
    const others = outlines.filter((other) => other !== outline);
    const away = Math.min(...others.map((other) => Math.min(distanceOf(outline, other), distanceOf(other, outline))));
    return islandAround(outline, Math.max(GAP_MIN, Math.min(GAP, size.width * GAP_SHARE, away / 2 - 2)));
  });
}

function islandAround(points: readonly PlanePoint[], gap: number): Growing {
  const outline = hullOf(points);
  return { outline, gap, body: edgeAround(outline, gap), reach: edgeAround(outline, gap + BETWEEN) };
}

/** The polygon that reaches some pixels beyond another one on all sides. */
function edgeAround(outline: readonly PlanePoint[], gap: number): readonly PlanePoint[] {
  return hullOf(outline.flatMap(({ x, y }) => ROUND.map((way) => ({ x: x + gap * way.x, y: y + gap * way.y }))));
}

/** Where the flag of a region may stand on its edge, the highest place first. */
function middlesOfFlag(body: readonly PlanePoint[], { height }: Size): readonly PlanePoint[] {
  const along = body.flatMap((a, at) => {
    const b = body[(at + 1) % body.length] as PlanePoint;
    const steps = Array.from({ length: FLAG_STEPS }, (_, step) => (step + 0.5) / FLAG_STEPS);
    const least = EDGE + FLAG / 2;
    const within = (y: number) => Math.max(least, Math.min(height - least, y));
    return steps.map((share) => ({ x: a.x + share * (b.x - a.x), y: within(a.y + share * (b.y - a.y)) }));
  });
  const { left, right } = boundsOf(body);
  // of places at about the same height, the one nearest to the middle
  const aside = ({ x }: PlanePoint) => Math.abs(x - (left + right) / 2) / Math.max(1, right - left);
  return along.sort((one, other) => one.y + FLAG * aside(one) - other.y - FLAG * aside(other));
}

/** Where the label of a point may stand: right, left, above, below. At a corner it would look like another point's. */
function middlesOfLabel({ x, y }: PlanePoint, width: number, ring: number): readonly PlanePoint[] {
  const [aside, above] = [ring + width / 2, ring + LINE / 2 - 3];
  return [
    { x: x + aside, y },
    { x: x - aside, y },
    { x, y: y - above },
    { x, y: y + above },
  ];
}
