// Where nodes and labels of a graph stand: inside the picture, and apart from each other.

import { describe, expect, test } from "bun:test";
import { areApart, boxAround } from "../../src/console/browser/ui/boxes.ts";
import {
  bestTurn,
  fitted,
  labelsWithRoom,
  laidOut,
  shortened,
  turned,
} from "../../src/console/browser/ui/graph-layout.ts";
import { seeded } from "../support/seeded.ts";

const NAMES = ["Rua do Alecrim 12", "Bergen", "Nordlys AS", "B12", "10 March 2026", "Ingrid Solberg", "Lisbon", "Lena"];

function graphOf(count: number, seed: number, more = 0) {
  const random = seeded(seed);
  const nodes = Array.from({ length: count }, (_, at) => ({
    ...{ id: `n${at}`, label: `${NAMES[at % NAMES.length]} ${at}`, kind: "name" },
    weight: 1 + Math.floor(random() * 4),
  }));
  const links = nodes
    .slice(1)
    .map(({ id }, at) => ({ from: id, to: `n${Math.floor(random() * (at + 1))}`, weight: 0.5 }));
  const one = () => `n${Math.floor(random() * count)}`;
  return { nodes, links: [...links, ...Array.from({ length: more }, () => ({ from: one(), to: one(), weight: 0.5 }))] };
}

/** Half of the width of a label of 12 pixels. */
function halfWidth(label: string): number {
  return (shortened(label).length * 12 * 0.56) / 2;
}

describe("a graph", () => {
  for (const size of [
    { width: 900, height: 560 },
    { width: 340, height: 480 },
  ]) {
    test(`of few nodes stays inside ${size.width} × ${size.height} pixels with all labels, none over another`, () => {
      for (const seed of [1, 2, 3, 4, 5]) {
        const graph = graphOf(size.width > 500 ? 20 : 9, seed);
        const places = fitted(laidOut(graph, new Map()), graph.nodes, size);
        const labels = labelsWithRoom(graph, places, size, 1);
        expect([seed, labels.size]).toEqual([seed, graph.nodes.length]);
        const boxes = graph.nodes.map(({ id, label }) => {
          const [at, place] = [places.get(id), labels.get(id)];
          if (at === undefined || place === undefined) throw new Error("each node has a place and a label");
          return boxAround({ x: at.x + place.x, y: at.y + place.y }, halfWidth(label), 6);
        });
        for (const [at, box] of boxes.entries()) {
          expect(box.left >= 0 && box.right <= size.width && box.top >= 0 && box.bottom <= size.height).toBe(true);
          for (const other of boxes.slice(at + 1)) expect(areApart(box, other)).toBe(true);
        }
      }
    });
  }

  test("of a hub with eight links has the label of the hub beside all of them", () => {
    const nodes = [
      { id: "hub", label: "Bergen", kind: "name", weight: 4 },
      ...NAMES.map((label, at) => ({ id: `n${at}`, label, kind: "name", weight: 1 })),
    ];
    const graph = { nodes, links: NAMES.map((_, at) => ({ from: "hub", to: `n${at}`, weight: 0.5 })) };
    const middle = { x: 400, y: 280 };
    for (const turn of [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]) {
      const around = NAMES.map((_, at) => {
        const angle = (2 * Math.PI * at) / NAMES.length + turn;
        return [`n${at}`, { x: middle.x + 230 * Math.cos(angle), y: middle.y + 230 * Math.sin(angle) }] as const;
      });
      const places = new Map([["hub", middle], ...around]);
      const labels = labelsWithRoom(graph, places, { width: 800, height: 560 }, 1);
      for (const { id, label } of nodes) {
        const [at, place] = [places.get(id), labels.get(id)];
        if (at === undefined || place === undefined) throw new Error("each node has a place and a label");
        const [x, y] = [at.x + place.x, at.y + place.y];
        const half = halfWidth(label);
        // points along each link, one per pixel
        const covered = around.filter(([, end]) =>
          Array.from({ length: 231 }, (_, step) => step / 230).some((share) => {
            const [dx, dy] = [middle.x + (end.x - middle.x) * share - x, middle.y + (end.y - middle.y) * share - y];
            return Math.abs(dx) < half && Math.abs(dy) < 6;
          }),
        );
        expect([turn, label, covered.map(([link]) => link)]).toEqual([turn, label, []]);
      }
    }
  });

  test("has no link between a label and its node", () => {
    // a link goes by the node `near` on its right, where it leaves no room for a label and the other sides are taken
    const nodes = ["near", "up", "down", "left"].map((id) => ({ id, label: "10 March 2026", kind: "date", weight: 1 }));
    const places = new Map([
      ["near", { x: 200, y: 200 }],
      ["up", { x: 212, y: 20 }],
      ["down", { x: 212, y: 380 }],
      ["left", { x: 50, y: 200 }],
    ]);
    const links = [
      { from: "up", to: "down", weight: 0.5 },
      { from: "left", to: "near", weight: 0.5 },
    ];
    const place = labelsWithRoom({ nodes, links }, places, { width: 400, height: 400 }, 1).get("near");
    expect(place === undefined || place.x < 0 || place.crossings > 0).toBe(true);
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const graph = graphOf(18, seed, 14);
      const size = { width: 546, height: 515 };
      const laid = fitted(laidOut(graph, new Map()), graph.nodes, size);
      const labels = labelsWithRoom(graph, laid, size, 1);
      for (const { id, label } of graph.nodes) {
        const [at, by] = [laid.get(id), labels.get(id)];
        if (at === undefined || by === undefined) continue;
        const half = halfWidth(label);
        // from the node to the nearest place of its label, in steps
        const end = {
          x: Math.max(by.x - half, Math.min(by.x + half, 0)),
          y: Math.max(by.y - 6, Math.min(by.y + 6, 0)),
        };
        for (const { from, to } of graph.links) {
          const [a, b] = [laid.get(from), laid.get(to)];
          if (a === undefined || b === undefined || from === id || to === id) continue;
          const side = (share: number) =>
            Math.sign((b.x - a.x) * (at.y + end.y * share - a.y) - (b.y - a.y) * (at.x + end.x * share - a.x));
          if (side(0) === side(1)) continue;
          const along = Array.from({ length: 801 }, (_, step) => step / 800).some((share) => {
            const [x, y] = [a.x + (b.x - a.x) * share - at.x, a.y + (b.y - a.y) * share - at.y];
            const length = Math.hypot(end.x, end.y);
            const onWay = (x * end.x + y * end.y) / length;
            return onWay > 1 && onWay < length - 1 && Math.abs(x * end.y - y * end.x) / length < 0.5;
          });
          expect([seed, label, from, to, along]).toEqual([seed, label, from, to, false]);
        }
      }
    }
  });

  test("is turned so that its labels cross fewer links, and a large one is not", () => {
    const size = { width: 546, height: 515 };
    const crossed = (graph: ReturnType<typeof graphOf>, angle: number) => {
      const places = fitted(turned(laidOut(graph, new Map()), angle), graph.nodes, size);
      const labels = labelsWithRoom(graph, places, size, 1);
      return graph.nodes.flatMap(({ id, label }) => {
        const [at, place] = [places.get(id), labels.get(id)];
        if (at === undefined || place === undefined) return [];
        const box = boxAround({ x: at.x + place.x, y: at.y + place.y }, halfWidth(label), 6);
        return graph.links.filter(({ from, to }) => {
          const [a, b] = [places.get(from), places.get(to)];
          if (a === undefined || b === undefined) return false;
          return Array.from({ length: 401 }, (_, step) => step / 400).some((share) => {
            const point = { x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share };
            return !areApart(box, boxAround(point, 0, 0));
          });
        });
      }).length;
    };
    const totals = { still: 0, turned: 0 };
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const graph = graphOf(18, seed, 14);
      const raw = laidOut(graph, new Map());
      totals.still += crossed(graph, 0);
      totals.turned += crossed(graph, bestTurn(graph, raw, size));
    }
    expect(totals.turned).toBeLessThan(totals.still);
    const large = graphOf(60, 1);
    expect(bestTurn(large, laidOut(large, new Map()), size)).toBe(0);
  });

  test("of one node has it in the middle, and of none has nothing", () => {
    const [one] = graphOf(1, 1).nodes;
    if (one === undefined) throw new Error("there is a node");
    const graph = { nodes: [one], links: [] };
    const size = { width: 900, height: 560 };
    expect(fitted(laidOut(graph, new Map()), graph.nodes, size).get("n0")).toEqual({ x: 450, y: 280 });
    expect(fitted(new Map(), [], size).size).toBe(0);
  });
});
