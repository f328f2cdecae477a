// Where nodes and labels of a graph stand: inside the picture, and apart from each other.

import { describe, expect, test } from "bun:test";
import { areApart, boxAround } from "../../src/console/browser/ui/boxes.ts";
import { fitted, labelsWithRoom, laidOut, shortened } from "../../src/console/browser/ui/graph-layout.ts";
import { seeded } from "../support/seeded.ts";

const NAMES = ["Rua do Alecrim 12", "Bergen", "Nordlys AS", "B12", "10 March 2026", "Ingrid Solberg", "Lisbon", "Lena"];

function graphOf(count: number, seed: number) {
  const random = seeded(seed);
  const nodes = Array.from({ length: count }, (_, at) => ({
    ...{ id: `n${at}`, label: `${NAMES[at % NAMES.length]} ${at}`, kind: "name" },
    weight: 1 + Math.floor(random() * 4),
  }));
  const links = nodes
    .slice(1)
    .map(({ id }, at) => ({ from: id, to: `n${Math.floor(random() * (at + 1))}`, weight: 0.5 }));
  return { nodes, links };
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

  test("leaves room for the buttons at the top of a narrow picture", () => {
    const graph = graphOf(9, 1);
    const places = fitted(laidOut(graph, new Map()), graph.nodes, { width: 340, height: 480 });
    expect(Math.min(...[...places.values()].map(({ y }) => y))).toBeGreaterThan(44);
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
