// Points on a canvas, zoomed by wheel, pinch or keys and moved by dragging. The pointer or the arrow keys highlight one
// point, whose details the view shows.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../core/i18n.ts";
import { isDark } from "../core/theme.ts";
import { Button } from "./button.tsx";
import { draw, type ShownPoint } from "./draw-points.ts";
import { Lasso } from "./icons.ts";
import type { ShownRegion } from "./islands.ts";
import {
  moved,
  onCanvas,
  onPlane,
  type PlanePoint,
  PointField,
  type Sight,
  type Size,
  WHOLE,
  zoomed,
} from "./point-field.ts";
import { ViewTools } from "./view-tools.tsx";

/** The highlighted point: its index, its place on the canvas in pixels, and the size of the canvas. */
export interface Pointed {
  readonly at: number;
  readonly place: PlanePoint;
  readonly size: Size;
}

interface PointsProps {
  readonly label: string;
  readonly points: readonly ShownPoint[];
  readonly onPoint: (pointed: Pointed | null) => void;
  readonly onOpen: (at: number) => void;
  /** Whether zooming and moving are off, so that the wheel scrolls the page. */
  readonly isStill?: boolean | undefined;
  /** Named groups of points that lie close together. */
  readonly regions?: readonly ShownRegion[] | undefined;
  /** Index of a point that the view highlights; null: none. */
  readonly looked?: number | null | undefined;
  /** Makes points selectable. Called with the indices of the points within a drawn line, or of one that was toggled. */
  readonly onChosen?: ((chosen: readonly number[], isToggled: boolean) => void) | undefined;
  /** What stands beside the buttons above the canvas. */
  readonly head?: ComponentChildren;
  /** What lies over the canvas, placed by its pixels. */
  readonly children?: ComponentChildren;
}

/** Maximum distance in pixels between the pointer and the point that it highlights. */
const REACH = 12;
const NO_REGIONS: readonly ShownRegion[] = [];
/** Factor by which a button or a key zooms. */
const STEP = 1.6;
const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

/** The canvas. */
export default function Points({
  label,
  points,
  onPoint,
  onOpen,
  onChosen,
  regions = NO_REGIONS,
  looked = null,
  isStill = false,
  head,
  children,
}: PointsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [sight, setSight] = useState<Sight>(WHOLE);
  const [pointed, setPointed] = useState<number | null>(null);
  const field = useRef(new PointField(points));
  if (field.current.points !== points) field.current = new PointField(points);
  const drag = useRef<{ x: number; y: number; hasMoved: boolean } | null>(null);
  const [isDrawing, setIsDrawing] = useState(false);
  const [line, setLine] = useState<readonly PlanePoint[]>([]);
  const drawn = useRef<readonly PlanePoint[]>([]);

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const watch = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    watch.observe(element);
    // added by hand, because only a listener that is not passive can keep the page from scrolling
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const { width, height } = element.getBoundingClientRect();
      const factor = Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016));
      setSight((before) => zoomed(before, factor, placeIn(event), { width, height }));
    };
    if (!isStill) element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watch.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, []);

  useEffect(() => {
    const frame = requestAnimationFrame(() =>
      draw(canvas.current, points, { regions, size, sight, pointed: pointed ?? looked, line }),
    );
    return () => cancelAnimationFrame(frame);
  }, [points, regions, size, sight, pointed, looked, line, isDark.value]);

  const look = (at: number | null, seen = sight) => {
    setPointed(at);
    const point = at === null ? undefined : points[at];
    onPoint(at === null || point === undefined ? null : { at, place: onCanvas(point, size, seen), size });
  };
  const pointAt = (event: PointerEvent) => {
    const place = placeIn(event);
    const here = onPlane(place, size, sight);
    const above = onPlane({ x: place.x, y: place.y - REACH }, size, sight);
    return field.current.near(here, above.y - here.y);
  };
  // a ref has the line, too, because the state may lack its last points when the pointer is lifted
  const extend = (event: PointerEvent) => {
    drawn.current = [...drawn.current, onPlane(placeIn(event), size, sight)];
    setLine(drawn.current);
  };
  const close = () => {
    onChosen?.(field.current.within(drawn.current), false);
    drawn.current = [];
    setLine([]);
    setIsDrawing(false);
  };
  const move = (event: PointerEvent) => {
    const from = drag.current;
    if (from === null || isStill) return look(pointAt(event));
    if (isDrawing) return extend(event);
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.hasMoved && Math.hypot(dx, dy) < 4) return;
    drag.current = { x: event.clientX, y: event.clientY, hasMoved: true };
    look(null);
    setSight((before) => moved(before, dx, dy, size));
  };
  const enlarge = (factor: number) => {
    look(null);
    setSight((before) => zoomed(before, factor, { x: size.width / 2, y: size.height / 2 }, size));
  };
  const key = (event: KeyboardEvent) => {
    const direction = ARROWS[event.key];
    if (direction !== undefined && points.length > 0) {
      const from = pointed ?? field.current.near(sight, 4) ?? 0;
      const at = pointed === null ? from : field.current.beside(from, direction);
      const point = points[at];
      const seen = point === undefined || sight.zoom === 1 ? sight : { ...sight, x: point.x, y: point.y };
      setSight(seen);
      look(at, seen);
    } else if (event.key === "Enter" && pointed !== null) onOpen(pointed);
    else if (event.key === " " && pointed !== null && onChosen !== undefined) onChosen([pointed], true);
    else if (event.key === "+") enlarge(STEP);
    else if (event.key === "-") enlarge(1 / STEP);
    else if (event.key === "Escape") look(null);
    else return;
    event.preventDefault();
  };
  return (
    <div class={`points ${isStill ? "still" : ""}`}>
      {!isStill && (
        <div class="picture-head">
          {head}
          <ViewTools enlarge={(isCloser) => enlarge(isCloser ? STEP : 1 / STEP)} showAll={() => setSight(WHOLE)}>
            {onChosen !== undefined && (
              <Button
                size="small"
                icon={Lasso}
                label={t("Select points with a lasso")}
                pressed={isDrawing}
                run={() => setIsDrawing(!isDrawing)}
              />
            )}
          </ViewTools>
        </div>
      )}
      <div class="picture-frame">
        <div class="points-field" tabIndex={0} role="application" aria-label={label} onKeyDown={key}>
          <canvas
            ref={canvas}
            class={isDrawing ? "drawing" : pointed === null ? "" : "pointing"}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              drag.current = { x: event.clientX, y: event.clientY, hasMoved: false };
              if (!isDrawing) return;
              drawn.current = [];
              extend(event);
            }}
            onPointerMove={move}
            onPointerUp={(event) => {
              const wasDragged = drag.current?.hasMoved === true;
              drag.current = null;
              if (isDrawing) return close();
              if (wasDragged) return;
              const at = pointAt(event);
              // on touch screens, the first touch highlights a point and the second opens it
              if (at !== null && (event.pointerType !== "touch" || at === pointed)) onOpen(at);
              else look(at);
            }}
            onPointerLeave={() => look(null)}
          />
        </div>
        {isDrawing && (
          <p class="picture-hint" role="status">
            {t("Draw a line around points to select them.")}
          </p>
        )}
        {children}
      </div>
    </div>
  );
}

function placeIn(event: MouseEvent): PlanePoint {
  return { x: event.offsetX, y: event.offsetY };
}
