// The picture of a graph as SVG. Every node is an element that a keyboard and a screen reader reach. Nodes that are
// there already keep about their places when others come.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n.ts";
import { type Graph, tokenOfKind } from "./graph-data.ts";
import {
  bestTurn,
  fitted,
  LABEL_PIXELS,
  labelsWithRoom,
  laidOut,
  type Point,
  radiusOf,
  type Size,
  shortened,
  turned,
} from "./graph-layout.ts";
import { ViewTools } from "./view-tools.tsx";

/** Pixels that the ring of a selected node takes, with the wider letters of its label. */
const RING_PIXELS = 6;
/** Size of the picture in CSS pixels until its element was measured. */
const FIRST_SIZE = { width: 760, height: 460 };

interface GraphPictureProps {
  readonly label: string;
  readonly graph: Graph;
  readonly onNode?: ((id: string) => void) | undefined;
  readonly selected?: string | undefined;
  /** Ids of the nodes of a path, in order. The links between them are highlighted. */
  readonly path?: readonly string[] | undefined;
  /** What stands beside the buttons above the picture. */
  readonly head?: ComponentChildren;
}

/** The picture of a graph. It can be zoomed with the wheel (with Ctrl or Cmd) and moved by dragging. */
export default function GraphPicture({ label, graph, onNode, selected, path = [], head }: GraphPictureProps) {
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
      const { clientWidth: width, clientHeight: height } = element;
      if (width === 0 || height === 0) return;
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }));
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const laid = useMemo(() => {
    known.current = laidOut(graph, known.current);
    return known.current;
  }, [graph]);
  // a graph is turned when it is first drawn, so that nodes that are there already keep about their places
  const turn = useRef({ angle: 0, size: { width: 0, height: 0 }, hasNodes: false });
  const places = useMemo(() => {
    const { size: before, hasNodes } = turn.current;
    if (!hasNodes || before.width !== size.width || before.height !== size.height)
      turn.current = { angle: bestTurn(graph, laid, size), size, hasNodes: graph.nodes.length > 0 };
    return fitted(turned(laid, turn.current.angle), graph.nodes, size);
  }, [laid, size]);
  const focus = near ?? selected ?? null;
  const nearIds = new Set(
    focus === null
      ? graph.nodes.map(({ id }) => id)
      : [focus, ...graph.links.flatMap(({ from, to }) => (from === focus ? [to] : to === focus ? [from] : []))],
  );
  const roomy = useMemo(() => labelsWithRoom(graph, places, size, view.scale), [graph, places, size, view.scale]);
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
    <div class="graph-picture">
      <div class="picture-head">
        {head}
        <ViewTools
          enlarge={(isCloser) => zoom(isCloser ? 1.4 : 0.7)}
          showAll={() => setView({ x: 0, y: 0, scale: 1 })}
        />
      </div>
      <div class="picture-frame graph-frame" ref={frame}>
        <svg
          class="graph"
          viewBox={`0 0 ${size.width} ${size.height}`}
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
            <g class={`graph-links ${focus === null ? "" : "focused"}`}>
              {graph.links.map(({ from, to, weight = 0.5 }) => {
                const [a, b] = [places.get(from), places.get(to)];
                if (a === undefined || b === undefined) return null;
                const kind = isOnPath(from, to)
                  ? "way"
                  : focus !== null && (from === focus || to === focus)
                    ? "lit"
                    : "";
                const width = (kind === "way" ? 3.5 : widthOf(weight)) / view.scale;
                return (
                  <line
                    key={`${from} ${to}`}
                    {...{ x1: a.x, y1: a.y, x2: b.x, y2: b.y }}
                    class={kind}
                    style={{ strokeWidth: `${width}px` }}
                  />
                );
              })}
            </g>
            {graph.nodes.map(({ id, label: name, kind, weight }) => {
              const at = places.get(id);
              if (at === undefined) return null;
              const radius = radiusOf(weight, view.scale);
              const shown = shortened(name);
              const isChosen = id === selected || path.includes(id);
              const place = besideRing(
                roomy.get(id) ?? { x: 0, y: radius + LABEL_PIXELS / view.scale / 2 },
                isChosen ? RING_PIXELS / view.scale : 0,
              );
              return (
                <g
                  key={id}
                  class={`graph-node ${nearIds.has(id) ? "" : "dim"} ${isChosen ? "selected" : ""}`}
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
                  <circle
                    class="graph-ring"
                    r={radius + 4 / view.scale}
                    style={{ strokeWidth: `${2 / view.scale}px` }}
                  />
                  <circle r={radius} style={{ fill: `var(--${tokenOfKind(kind)})` }} />
                  {labelled.has(id) && (
                    <text
                      x={place.x}
                      y={place.y}
                      text-anchor="middle"
                      dominant-baseline="central"
                      style={{ fontSize: `${LABEL_PIXELS / view.scale}px`, strokeWidth: `${4 / view.scale}px` }}
                    >
                      {shown}
                    </text>
                  )}
                </g>
              );
            })}
          </g>
        </svg>
      </div>
    </div>
  );
}

/** The place of a label farther away from its node, by the width of a ring. */
function besideRing({ x, y }: Point, ring: number): Point {
  const length = Math.hypot(x, y) || 1;
  return { x: x * (1 + ring / length), y: y * (1 + ring / length) };
}

/** Width of a link in pixels by its strength of 0 to 1. */
function widthOf(weight: number): number {
  return 1 + 2.5 * Math.max(0, Math.min(1, weight)) ** 1.5;
}
