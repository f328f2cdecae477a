// Points on a canvas: places, zoom, and which point is meant.

import { describe, expect, test } from "bun:test";
import {
  moved,
  onCanvas,
  onPlane,
  PointField,
  spreadOut,
  WHOLE,
  zoomed,
} from "../../src/console/browser/ui/point-field.ts";

const SIZE = { width: 800, height: 400 };

describe("places", () => {
  test("the whole plane fits the canvas, with y going up", () => {
    for (const [x, y] of [
      [-1, -1],
      [1, 1],
      [0.3, -0.7],
    ] as const) {
      const place = onCanvas({ x, y }, SIZE, WHOLE);
      expect([place.x > 0, place.x < SIZE.width, place.y > 0, place.y < SIZE.height]).toEqual([true, true, true, true]);
      const back = onPlane(place, SIZE, WHOLE);
      expect([back.x, back.y]).toEqual([expect.closeTo(x, 9), expect.closeTo(y, 9)]);
    }
    expect(onCanvas({ x: 0, y: 1 }, SIZE, WHOLE).y).toBeLessThan(onCanvas({ x: 0, y: -1 }, SIZE, WHOLE).y);
  });

  test("zooming keeps the place under the pointer, and ends at the whole plane", () => {
    const at = { x: 500, y: 150 };
    const before = onPlane(at, SIZE, WHOLE);
    const near = zoomed(WHOLE, 4, at, SIZE);
    const after = onPlane(at, SIZE, near);
    expect([after.x, after.y]).toEqual([expect.closeTo(before.x, 9), expect.closeTo(before.y, 9)]);
    expect(zoomed(near, 0.001, at, SIZE)).toEqual(WHOLE);
    expect(zoomed(near, 1e9, at, SIZE).zoom).toBeLessThan(100);
  });

  test("dragging moves the plane with the pointer, and never away from it", () => {
    const near = zoomed(WHOLE, 8, { x: 400, y: 200 }, SIZE);
    const place = onCanvas({ x: 0, y: 0 }, SIZE, near);
    const dragged = onCanvas({ x: 0, y: 0 }, SIZE, moved(near, 30, -20, SIZE));
    expect([dragged.x - place.x, dragged.y - place.y]).toEqual([expect.closeTo(30, 9), expect.closeTo(-20, 9)]);
    expect(moved(near, -1e6, 1e6, SIZE)).toEqual({ x: 1, y: 1, zoom: 8 });
  });
});

describe("points", () => {
  test("are spread to all edges, keep what else they have, and a single one stands in the middle", () => {
    const spread = spreadOut([
      { x: 0.1, y: 0.2, id: "a" },
      { x: 0.3, y: 0.6, id: "b" },
      { x: 0.2, y: 0.3, id: "c" },
    ]);
    expect(spread.map(({ x, y, id }) => [Math.round(x * 100), Math.round(y * 100), id])).toEqual([
      [-100, -100, "a"],
      [100, 100, "b"],
      [0, -50, "c"],
    ]);
    expect(spreadOut([{ x: 0.7, y: -0.4 }])).toEqual([{ x: 0, y: 0 }]);
    expect(spreadOut([])).toEqual([]);
  });

  const points = Array.from({ length: 5_000 }, (_, at) => ({
    x: Math.sin(at * 12.9898) * 0.99,
    y: Math.sin(at * 78.233) * 0.99,
  }));
  const field = new PointField(points);

  test("the nearest one within reach is found, also at the border, and none beyond it", () => {
    for (const at of [0, 17, 4_999]) {
      const { x, y } = points[at] ?? { x: 0, y: 0 };
      expect(field.near({ x, y }, 0.01)).toBe(at);
    }
    const one = new PointField([{ x: -1, y: 1 }]);
    expect(one.near({ x: -0.95, y: 0.97 }, 0.1)).toBe(0);
    expect(one.near({ x: -0.95, y: 0.97 }, 0.05)).toBeNull();
    expect(new PointField([]).near({ x: 0, y: 0 }, 2)).toBeNull();
  });

  test("a closed line holds the points within it, also where it is concave, and none outside", () => {
    const grid = new PointField([0, 1, 2].flatMap((x) => [0, 1, 2].map((y) => ({ x: x / 2 - 0.5, y: y / 2 - 0.5 }))));
    const square = [
      { x: -0.6, y: -0.6 },
      { x: 0.1, y: -0.6 },
      { x: 0.1, y: 0.1 },
      { x: -0.6, y: 0.1 },
    ];
    expect(grid.within(square)).toEqual([0, 1, 3, 4]);
    const corner = [
      ...[
        { x: -0.6, y: 0.1 },
        { x: 0.1, y: 0.1 },
        { x: 0.1, y: -0.6 },
      ],
      ...[
        { x: -0.1, y: -0.6 },
        { x: -0.1, y: -0.1 },
        { x: -0.6, y: -0.1 },
      ],
    ];
    expect(grid.within(corner)).toEqual([1, 3, 4]);
    expect(grid.within([])).toEqual([]);
    expect(grid.within([{ x: 0, y: 0 }])).toEqual([]);
  });

  test("an arrow goes to a point in its direction, and stays where there is none", () => {
    const cross = new PointField([
      { x: 0, y: 0 },
      { x: 0.5, y: 0.1 },
      { x: -0.5, y: 0 },
      { x: 0, y: 0.9 },
    ]);
    expect([cross.beside(0, [1, 0]), cross.beside(0, [-1, 0]), cross.beside(0, [0, 1])]).toEqual([1, 2, 3]);
    expect(cross.beside(0, [0, -1])).toBe(0);
  });
});
