// The picture of a graph as SVG: positions by ForceAtlas2 of graphology. Every node is an element that a keyboard and a
// screen reader reach. Nodes that are there already keep about their places when others come.

import Graphology from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import { useMemo, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n.ts";
import { Button } from "./button.tsx";
import type { Graph } from "./graph-data.ts";
import { tokenOfKind } from "./graph-data.ts";
import { Minus, Plus, RotateCcw } from "./icons.ts";

const WIDTH = 760;
const HEIGHT = 460;
const MARGIN = 56;
const LABEL_CHARACTERS = 26;
/** Steps of the layout times nodes, which bounds its time to some 50 ms. */
const STEPS_TIMES_NODES = 24_000;
/** Most nodes that all have their labels; of more, the heaviest have. */
const LABELS_MAX = 36;

interface Point {
  readonly x: number;
  readonly y: number;
}

interface GraphPictureProps {
  readonly label: string;
  readonly graph: Graph;
  readonly onNode?: ((id: string) => void) | undefined;
  readonly selected?: string | undefined;
  /** Ids of nodes that are drawn as a way, in their order. */
  readonly path?: readonly string[] | undefined;
}

/** The picture. */
export default function GraphPicture({ label, graph, onNode, selected, path = [] }: GraphPictureProps) {
  const [near, setNear] = useState<string | null>(null);
  const [view, setView] = useState({ x: 0, y: 0, scale: 1 });
  const drag = useRef<Point | null>(null);
  const known = useRef<ReadonlyMap<string, Point>>(new Map());
  const places = useMemo(() => {
    known.current = laidOut(graph, known.current);
    return fitted(known.current);
  }, [graph]);
  const focus = near ?? selected ?? null;
  const nearIds = new Set(
    focus === null
      ? graph.nodes.map(({ id }) => id)
      : [focus, ...graph.links.flatMap(({ from, to }) => (from === focus ? [to] : to === focus ? [from] : []))],
  );
  const heaviest = [...graph.nodes].sort((a, b) => b.weight - a.weight).slice(0, LABELS_MAX);
  const labelled = new Set([...heaviest.map(({ id }) => id), ...(focus === null ? [] : nearIds), ...path]);
  const isOnPath = (from: string, to: string) =>
    path.some((id, at) => at > 0 && ((id === to && path[at - 1] === from) || (id === from && path[at - 1] === to)));
  const zoom = (factor: number) =>
    setView(({ x, y, scale }) => {
      const next = Math.min(8, Math.max(0.5, scale * factor));
      return {
        x: WIDTH / 2 - ((WIDTH / 2 - x) * next) / scale,
        y: HEIGHT / 2 - ((HEIGHT / 2 - y) * next) / scale,
        scale: next,
      };
    });
  return (
    <div class="graph-frame">
      <svg
        class="graph"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="group"
        aria-label={label}
        onWheel={(event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          zoom(event.deltaY < 0 ? 1.15 : 0.87);
        }}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, y: event.clientY };
        }}
        onPointerMove={(event) => {
          const from = drag.current;
          if (from === null || event.buttons === 0) return;
          const ratio = WIDTH / event.currentTarget.clientWidth;
          const [dx, dy] = [(event.clientX - from.x) * ratio, (event.clientY - from.y) * ratio];
          drag.current = { x: event.clientX, y: event.clientY };
          setView((before) => ({ ...before, x: before.x + dx, y: before.y + dy }));
        }}
      >
        <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
          <g class="graph-links">
            {graph.links.map(({ from, to }) => {
              const [a, b] = [places.get(from), places.get(to)];
              if (a === undefined || b === undefined) return null;
              const kind = isOnPath(from, to) ? "way" : focus !== null && (from === focus || to === focus) ? "lit" : "";
              return <line key={`${from} ${to}`} x1={a.x} y1={a.y} x2={b.x} y2={b.y} class={kind} />;
            })}
          </g>
          {graph.nodes.map(({ id, label: name, kind, weight }) => {
            const at = places.get(id);
            if (at === undefined) return null;
            const radius = (4 + Math.min(weight, 10)) / Math.sqrt(view.scale);
            const shown = name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS)}…` : name;
            return (
              <g
                key={id}
                class={`graph-node ${nearIds.has(id) ? "" : "dim"} ${id === selected || path.includes(id) ? "selected" : ""}`}
                role="button"
                tabIndex={0}
                aria-label={t("{name}, {kind}", { name: shown, kind: t(kind) })}
                aria-description={shown === name ? undefined : name}
                transform={`translate(${at.x} ${at.y})`}
                onPointerEnter={() => setNear(id)}
                onPointerLeave={() => setNear(null)}
                onFocus={() => setNear(id)}
                onBlur={() => setNear(null)}
                onClick={() => onNode?.(id)}
                onKeyDown={(event) => {
                  if (event.key !== "Enter" && event.key !== " ") return;
                  event.preventDefault();
                  onNode?.(id);
                }}
              >
                <circle r={radius} style={{ fill: `var(--${tokenOfKind(kind)})` }} />
                {labelled.has(id) && (
                  <text
                    y={radius + 12 / view.scale}
                    text-anchor="middle"
                    style={{ fontSize: `${11 / view.scale}px`, strokeWidth: `${3 / view.scale}px` }}
                  >
                    {shown}
                  </text>
                )}
              </g>
            );
          })}
        </g>
      </svg>
      <div class="graph-tools">
        <Button size="small" icon={Plus} label={t("Zoom in")} run={() => zoom(1.4)} />
        <Button size="small" icon={Minus} label={t("Zoom out")} run={() => zoom(0.7)} />
        <Button size="small" icon={RotateCcw} label={t("Show all")} run={() => setView({ x: 0, y: 0, scale: 1 })} />
      </div>
    </div>
  );
}

/** Positions of the nodes, the same for the same graph; `before`: where nodes were. */
function laidOut({ nodes, links }: Graph, before: ReadonlyMap<string, Point>): ReadonlyMap<string, Point> {
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
      settings: { gravity: 1.2, scalingRatio: 14, strongGravityMode: true, barnesHutOptimize: graph.order > 150 },
    });
  return new Map(graph.mapNodes((id, { x, y }) => [id, { x: x as number, y: y as number }]));
}

/** Positions scaled to the picture. */
function fitted(raw: ReadonlyMap<string, Point>): ReadonlyMap<string, Point> {
  const all = [...raw.values()];
  const [left, right] = [Math.min(...all.map(({ x }) => x)), Math.max(...all.map(({ x }) => x))];
  const [top, bottom] = [Math.min(...all.map(({ y }) => y)), Math.max(...all.map(({ y }) => y))];
  const spread = (value: number, from: number, to: number, size: number) =>
    to === from ? size / 2 : MARGIN + ((value - from) / (to - from)) * (size - 2 * MARGIN);
  return new Map(
    [...raw].map(([id, { x, y }]) => [id, { x: spread(x, left, right, WIDTH), y: spread(y, top, bottom, HEIGHT) }]),
  );
}
