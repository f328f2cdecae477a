// The picture of a graph as SVG, laid out by graphology's ForceAtlas2. Keyboards and screen readers can reach every
// node. Existing nodes roughly keep their places when nodes are added.

import Graphology from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n.ts";
import { areApart, boxAround } from "./boxes.ts";
import { Button } from "./button.tsx";
import type { Graph } from "./graph-data.ts";
import { tokenOfKind } from "./graph-data.ts";
import { Minus, Plus, RotateCcw } from "./icons.ts";

/** Size of the picture in CSS pixels until its element was measured. */
const FIRST_SIZE = { width: 760, height: 460 };
/** Height of the picture as a share of its width. */
const HEIGHT_SHARE = 0.8;
/** Bounds of the height in pixels. */
const HEIGHT_MIN = 340;
const HEIGHT_MAX = 720;
const MARGIN = 48;
const LABEL_CHARACTERS = 26;
/** Number of layout steps times number of nodes. It limits the time of a layout to about 50 ms. */
const STEPS_TIMES_NODES = 24_000;
/** Maximum number of labels. The heaviest nodes get them, where there is free space. */
const LABELS_MAX = 80;
const LABEL_PIXELS = 12;
/** Pixels between a node and a label beside it. */
const LABEL_GAP = 4;
/** About the width of a letter, as a share of the height of a label. */
const LETTER_SHARE = 0.56;

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

interface GraphPictureProps {
  readonly label: string;
  readonly graph: Graph;
  readonly onNode?: ((id: string) => void) | undefined;
  readonly selected?: string | undefined;
  /** Ids of the nodes of a path, in order. The links between them are highlighted. */
  readonly path?: readonly string[] | undefined;
}

/** The picture of a graph. It can be zoomed with the wheel (with Ctrl or Cmd) and moved by dragging. */
export default function GraphPicture({ label, graph, onNode, selected, path = [] }: GraphPictureProps) {
  const [near, setNear] = useState<string | null>(null);
  const [view, setView] = useState({ x: 0, y: 0, scale: 1 });
  const drag = useRef<Point | null>(null);
  const known = useRef<ReadonlyMap<string, Point>>(new Map());
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>(FIRST_SIZE);
  // a unit of the picture is a pixel, so that labels have the same size on a phone and on a wide screen
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => {
      const width = element.clientWidth;
      const height = Math.round(Math.min(HEIGHT_MAX, Math.max(HEIGHT_MIN, width * HEIGHT_SHARE)));
      if (width > 0) setSize((before) => (before.width === width ? before : { width, height }));
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const laid = useMemo(() => {
    known.current = laidOut(graph, known.current);
    return known.current;
  }, [graph]);
  const places = useMemo(() => fitted(laid, size), [laid, size]);
  const focus = near ?? selected ?? null;
  const nearIds = new Set(
    focus === null
      ? graph.nodes.map(({ id }) => id)
      : [focus, ...graph.links.flatMap(({ from, to }) => (from === focus ? [to] : to === focus ? [from] : []))],
  );
  const roomy = useMemo(() => labelsWithRoom(graph.nodes, places, view.scale), [graph, places, view.scale]);
  const labelled = new Set([...roomy.keys(), ...(focus === null ? [] : nearIds), ...path]);
  const isOnPath = (from: string, to: string) =>
    path.some((id, at) => at > 0 && ((id === to && path[at - 1] === from) || (id === from && path[at - 1] === to)));
  const zoom = (factor: number) =>
    setView(({ x, y, scale }) => {
      const next = Math.min(8, Math.max(0.5, scale * factor));
      return {
        x: size.width / 2 - ((size.width / 2 - x) * next) / scale,
        y: size.height / 2 - ((size.height / 2 - y) * next) / scale,
        scale: next,
      };
    });
  return (
    <div class="graph-frame" ref={frame}>
      <svg
        class="graph"
        viewBox={`0 0 ${size.width} ${size.height}`}
        height={size.height}
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
          const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
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
            const radius = radiusOf(weight, view.scale);
            const shown = shortened(name);
            const place = roomy.get(id) ?? { x: 0, y: radius + LABEL_PIXELS / view.scale / 2 };
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
                    x={place.x}
                    y={place.y}
                    text-anchor="middle"
                    dominant-baseline="central"
                    style={{ fontSize: `${LABEL_PIXELS / view.scale}px`, strokeWidth: `${3 / view.scale}px` }}
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

function radiusOf(weight: number, scale: number): number {
  return (4 + Math.min(weight, 10)) / Math.sqrt(scale);
}

function shortened(name: string): string {
  return name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS)}…` : name;
}

/** Position of the middle of a label, relative to that of its node. */
interface LabelPlace {
  readonly x: number;
  readonly y: number;
}

/** Possible positions of a label beside a node, the best first. `halfWidth` is half the width of the label. */
function labelPlaces(radius: number, halfWidth: number, scale: number): readonly LabelPlace[] {
  const [down, aside] = [radius + LABEL_PIXELS / scale / 2, radius + LABEL_GAP / scale + halfWidth];
  return [
    { x: 0, y: down },
    { x: 0, y: -down },
    { x: aside, y: 0 },
    { x: -aside, y: 0 },
  ];
}

function halfWidthOf(label: string, scale: number): number {
  return (shortened(label).length * LABEL_PIXELS * LETTER_SHARE) / scale / 2;
}

/**
 * Positions of the labels for which there is space that no other label or node covers, by node id. The heaviest nodes
 * get space first.
 */
function labelsWithRoom(
  nodes: Graph["nodes"],
  places: ReadonlyMap<string, Point>,
  scale: number,
): ReadonlyMap<string, LabelPlace> {
  const taken = nodes.flatMap(({ id, weight }) => {
    const [at, radius] = [places.get(id), radiusOf(weight, scale)];
    return at === undefined ? [] : [{ id, ...boxAround(at, radius, radius) }];
  });
  const found = new Map<string, LabelPlace>();
  for (const { id, label, weight } of [...nodes].sort((a, b) => b.weight - a.weight)) {
    const at = places.get(id);
    if (found.size >= LABELS_MAX) break;
    if (at === undefined) continue;
    const half = halfWidthOf(label, scale);
    const boxOf = ({ x, y }: LabelPlace) => boxAround({ x: at.x + x, y: at.y + y }, half, LABEL_PIXELS / scale / 2);
    const place = labelPlaces(radiusOf(weight, scale), half, scale).find((one) =>
      taken.every((other) => other.id === id || areApart(boxOf(one), other)),
    );
    if (place === undefined) continue;
    taken.push({ id, ...boxOf(place) });
    found.set(id, place);
  }
  return found;
}

/** Positions of the nodes. Equal input gives equal positions. `before` has the earlier positions of nodes. */
function laidOut({ nodes, links }: Graph, before: ReadonlyMap<string, Point>): ReadonlyMap<string, Point> {
  const graph = new Graphology();
  const anchor = (id: string) => {
    const link = links.find(({ from, to }) => (from === id && before.has(to)) || (to === id && before.has(from)));
    return link === undefined ? undefined : before.get(link.from === id ? link.to : link.from);
  };
  nodes.forEach(({ id }, at) => {
    const angle = at * 2.399963; // the golden angle spreads new nodes evenly
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

/** Positions scaled to fit the picture. */
function fitted(raw: ReadonlyMap<string, Point>, { width, height }: Size): ReadonlyMap<string, Point> {
  const all = [...raw.values()];
  const [left, right] = [Math.min(...all.map(({ x }) => x)), Math.max(...all.map(({ x }) => x))];
  const [top, bottom] = [Math.min(...all.map(({ y }) => y)), Math.max(...all.map(({ y }) => y))];
  const spread = (value: number, from: number, to: number, size: number) =>
    to === from ? size / 2 : MARGIN + ((value - from) / (to - from)) * (size - 2 * MARGIN);
  return new Map(
    [...raw].map(([id, { x, y }]) => [id, { x: spread(x, left, right, width), y: spread(y, top, bottom, height) }]),
  );
}
