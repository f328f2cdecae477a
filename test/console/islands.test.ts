// Where the map places regions, their names and the labels of points: no text crosses the edge of a region.

import { describe, expect, test } from "bun:test";
import { areApart, type Box, boxAround, distanceToBox } from "../../src/console/browser/ui/boxes.ts";
import { type Island, placed, type ShownRegion, type Wanted } from "../../src/console/browser/ui/islands.ts";
import { isWithin, type PlanePoint } from "../../src/console/browser/ui/point-field.ts";
import { distanceOf, doOverlap } from "../../src/console/browser/ui/polygons.ts";
import { seeded } from "../support/seeded.ts";

const LETTER = 6;
const HEIGHT = 12;
/** Pixels by which a round edge, which is computed with corners, may differ. */
const ROUNDED = 1.5;

const widthOf = (text: string) => text.length * LETTER;
const boxOf = (text: string, middle: PlanePoint) => boxAround(middle, widthOf(text) / 2, HEIGHT / 2);
const cornersOf = ({ left, right, top, bottom }: Box) => [
  { x: left, y: top },
  { x: right, y: top },
  { x: right, y: bottom },
  { x: left, y: bottom },
];

function isOn({ outline, gap }: Island, place: PlanePoint): boolean {
  return isWithin(place, outline) || distanceOf([place], outline) <= gap + ROUNDED;
}

function expectClear(wanted: Wanted): ReturnType<typeof placed> {
  const found = placed(wanted);
  const { islands, labels, flags } = found;
  const islandOf = (at: number) => wanted.regions.findIndex((region) => region.at.includes(at));
  for (const { text, middle, at, isOnIsland } of labels) {
    const corners = cornersOf(boxOf(text, middle));
    const own = islandOf(at);
    expect(isOnIsland).toBe(own !== -1);
    const away = wanted.places.map((place) => distanceToBox(place, boxOf(text, middle)));
    expect(away.indexOf(Math.min(...away))).toBe(at);
    // directly beside its point, above it or below it, and at no corner
    const place = wanted.places[at] as PlanePoint;
    expect([text, place.x === middle.x || place.y === middle.y]).toEqual([text, true]);
    for (const [number, island] of islands.entries()) {
      const on = corners.map((corner) => isOn(island, corner));
      // all four corners are on its own island, and none is on another one
      expect([text, number, on]).toEqual([text, number, new Array(4).fill(number === own)]);
    }
  }
  const boxes = [...labels.map(({ text, middle }) => boxOf(text, middle)), ...flags.map(({ box }) => box)];
  for (const [at, box] of boxes.entries())
    for (const other of boxes.slice(at + 1)) expect(areApart(box, other)).toBe(true);
  for (const [at, island] of islands.entries())
    for (const other of islands.slice(at + 1)) expect(doOverlap(island.outline, other.outline)).toBe(false);
  return found;
}

/** Four groups of points, one in each quarter of a canvas, and some points between them. */
function wantedOf(size: { width: number; height: number }, random: () => number, label: string): Wanted {
  const quarters = [
    [0.2, 0.25],
    [0.8, 0.25],
    [0.2, 0.75],
    [0.8, 0.75],
  ] as const;
  const places: PlanePoint[] = [];
  const regions: ShownRegion[] = quarters.map(([x, y], quarter) => {
    const at = Array.from({ length: 2 + Math.floor(random() * 5) }, () => {
      places.push({
        x: size.width * (x + (random() - 0.5) * 0.26),
        y: size.height * (y + (random() - 0.5) * 0.26),
      });
      return places.length - 1;
    });
    return { name: `Region ${quarter}`, at };
  });
  places.push({ x: size.width / 2, y: size.height / 2 });
  const labels = places.map((_, at) => [`${label} ${at}`, `${at}`]);
  return { places, labels, regions, size, radius: 6, widthOf };
}

describe("regions of a map", () => {
  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_201);
  const sizes = [
    { width: 900, height: 500 },
    { width: 324, height: 384 },
  ];

  test.each(sizes)(`have their labels inside, and no text crosses an edge: %j (seed ${seed})`, (size) => {
    const random = seeded(seed);
    for (let round = 0; round < 40; round++) expectClear(wantedOf(size, random, "A label of medium length"));
  });

  test("grow around labels, and each has its name where there is room", () => {
    const random = seeded(1);
    const wanted = wantedOf({ width: 900, height: 500 }, random, "Label");
    const { labels, flags, islands } = expectClear(wanted);
    expect(flags.map(({ name }) => name).sort()).toEqual(wanted.regions.map(({ name }) => name).sort());
    expect(labels.length).toBeGreaterThan(wanted.places.length * 0.8);
    const bare = placed({ ...wanted, labels: [] });
    expect(islands.some(({ outline }, at) => outline.length > (bare.islands[at]?.outline.length ?? 0))).toBe(true);
  });

  test("of one point, of points in a line, and of none are no problem", () => {
    const size = { width: 400, height: 300 };
    const places = [50, 100, 150, 300].map((x) => ({ x, y: 150 }));
    const regions = [
      { name: "Line", at: [0, 1, 2] },
      { name: "Point", at: [3] },
    ];
    const labels = places.map((_, at) => [`Point ${at}`]);
    expectClear({ places, labels, regions, size, radius: 5, widthOf });
    expect(placed({ places: [], labels: [], regions: [], size, radius: 5, widthOf })).toEqual({
      ...{ islands: [], labels: [], flags: [] },
    });
  });

  test("without regions, labels stand beside their points", () => {
    const places = [{ x: 100, y: 100 }];
    const [label] = expectClear({
      ...{ places, labels: [["Alone"]], regions: [], size: { width: 400, height: 300 }, radius: 5, widthOf },
    }).labels;
    expect(label).toMatchObject({ text: "Alone", at: 0, isOnIsland: false });
    expect(label?.middle.y).toBe(100);
  });
});
