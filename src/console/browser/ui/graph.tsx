// The picture of a small graph as SVG: positions by ForceAtlas2 of graphology, so that every node is an element that a
// keyboard and a screen reader reach. Larger graphs are drawn by graph-canvas.tsx.

import Graphology from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import { useMemo, useState } from "preact/hooks";
import { t } from "../core/i18n.ts";
import type { Graph } from "./graph-data.ts";
import { tokenOfKind } from "./graph-data.ts";

const WIDTH = 760;
const HEIGHT = 420;
const MARGIN = 60;
const LABEL_CHARACTERS = 26;
const ROUNDS = 240;

interface GraphPictureProps {
  readonly label: string;
  readonly graph: Graph;
  readonly onNode?: ((id: string) => void) | undefined;
  readonly selected?: string | undefined;
}

/** The picture. */
export default function GraphPicture({ label, graph, onNode, selected }: GraphPictureProps) {
  const [near, setNear] = useState<string | null>(null);
  const places = useMemo(() => placesOf(graph), [graph]);
  const focus = near ?? selected ?? null;
  const isNear = (id: string) =>
    focus === null ||
    id === focus ||
    graph.links.some(({ from, to }) => [from, to].includes(id) && [from, to].includes(focus));
  return (
    <svg class="graph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={label}>
      <g class="graph-links">
        {graph.links.map(({ from, to }) => {
          const [a, b] = [places.get(from), places.get(to)];
          if (a === undefined || b === undefined) return null;
          const isLit = focus !== null && (from === focus || to === focus);
          return <line key={`${from} ${to}`} x1={a.x} y1={a.y} x2={b.x} y2={b.y} class={isLit ? "lit" : ""} />;
        })}
      </g>
      {graph.nodes.map(({ id, label: name, kind, weight }) => {
        const at = places.get(id);
        if (at === undefined) return null;
        const radius = 5 + Math.min(weight, 8) * 1.2;
        const shown = name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS)}…` : name;
        return (
          <g
            key={id}
            class={`graph-node ${isNear(id) ? "" : "dim"} ${id === selected ? "selected" : ""}`}
            role="button"
            tabIndex={0}
            aria-label={t("{name}, {kind}", { name, kind: t(kind) })}
            transform={`translate(${at.x} ${at.y})`}
            onPointerEnter={() => setNear(id)}
            onPointerLeave={() => setNear(null)}
            onFocus={() => setNear(id)}
            onBlur={() => setNear(null)}
            onClick={() => onNode?.(id)}
            onKeyDown={(event) => {
              if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                onNode?.(id);
              }
            }}
          >
            <circle r={radius} style={{ fill: `var(--${tokenOfKind(kind)})` }} />
            <text y={radius + 13} text-anchor="middle">
              {shown}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** Positions inside the picture, the same for the same graph. */
function placesOf({ nodes, links }: Graph): ReadonlyMap<string, { x: number; y: number }> {
  const graph = new Graphology();
  nodes.forEach(({ id }, at) => {
    const angle = at * 2.399963; // the golden angle spreads them evenly
    const distance = Math.sqrt(at + 0.5);
    graph.mergeNode(id, { x: Math.cos(angle) * distance, y: Math.sin(angle) * distance });
  });
  for (const { from, to, weight = 1 } of links)
    if (graph.hasNode(from) && graph.hasNode(to) && from !== to) graph.mergeUndirectedEdge(from, to, { weight });
  if (graph.order > 1)
    forceAtlas2.assign(graph, {
      iterations: ROUNDS,
      settings: { gravity: 1.2, scalingRatio: 14, strongGravityMode: true, barnesHutOptimize: graph.order > 200 },
    });
  const all = graph.mapNodes((id, { x, y }) => ({ id, x: x as number, y: y as number }));
  const [left, right] = [Math.min(...all.map(({ x }) => x)), Math.max(...all.map(({ x }) => x))];
  const [top, bottom] = [Math.min(...all.map(({ y }) => y)), Math.max(...all.map(({ y }) => y))];
  const spread = (value: number, from: number, to: number, size: number) =>
    to === from ? size / 2 : MARGIN + ((value - from) / (to - from)) * (size - 2 * MARGIN);
  return new Map(
    all.map(({ id, x, y }) => [id, { x: spread(x, left, right, WIDTH), y: spread(y, top, bottom, HEIGHT) }]),
  );
}
