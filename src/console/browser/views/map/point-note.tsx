// A note beside the highlighted point with the beginning of its memory's text.

import { useEffect, useState } from "preact/hooks";
import { call, pause } from "../../core/api.ts";
import type { MapPoint, Memory } from "../../core/calls.ts";
import { dayText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Badge } from "../../ui/pieces.tsx";
import type { Pointed } from "../../ui/points.tsx";
import { nameOf } from "../shared/memory-names.ts";

/** Time in milliseconds for which a point must be highlighted before its memory is loaded. */
const HOVER_MS = 120;
const TEXT_CHARACTERS = 220;
const KEPT = 200;
/** Width in pixels below which the canvas counts as narrow. */
const NARROW = 560;
/** Distance of the note from its point, in pixels. */
const BESIDE = 14;
/** Cache of loaded memories, by id. */
const known = new Map<string, Memory>();

interface NoteProps {
  readonly point: MapPoint;
  readonly pointed: Pointed;
}

/** The note beside a point. */
export function PointNote({ point, pointed }: NoteProps) {
  const { memory_id: id, type, userId } = point;
  const [memory, setMemory] = useState<Memory | null>(known.get(id) ?? null);
  useEffect(() => {
    setMemory(known.get(id) ?? null);
    if (known.has(id)) return;
    const stop = new AbortController();
    void readAfterRest(id, stop.signal).then((read) => {
      if (read !== null && !stop.signal.aborted) setMemory(read);
    });
    return () => stop.abort();
  }, [id]);
  const name = memory === null ? "…" : nameOf(memory);
  const text = memory?.content.slice(0, TEXT_CHARACTERS) ?? "";
  const isTitled = memory === null || !text.replace(/\s+/g, " ").startsWith(name.replace(/…$/, ""));
  return (
    <div class="point-note" role="status" style={placeOf(pointed)}>
      {isTitled && (
        <strong class="cut" dir="auto">
          {name}
        </strong>
      )}
      {memory !== null && (
        <p dir="auto">
          {text}
          {memory.content.length > TEXT_CHARACTERS && "…"}
        </p>
      )}
      <p class="badges">
        {type !== null && <Badge>{type}</Badge>}
        {userId !== null && <Badge>{t("user {id}", { id: userId })}</Badge>}
        <Badge>{dayText(point.created_at)}</Badge>
        {point.is_superseded && <Badge tone="warn">{t("superseded by a newer memory")}</Badge>}
      </p>
    </div>
  );
}

/** Position of the note: beside the point, or on a narrow canvas at the edge that is away from the point. */
function placeOf({ place, size }: Pointed): Record<string, string> {
  const isLow = place.y > size.height / 2;
  if (size.width < NARROW) {
    return { left: "8px", right: "48px", width: "auto", maxWidth: "none", [isLow ? "top" : "bottom"]: "8px" };
  }
  const isRight = place.x > size.width / 2;
  return {
    ...(isRight ? { right: `${size.width - place.x + BESIDE}px` } : { left: `${place.x + BESIDE}px` }),
    ...(isLow ? { bottom: `${size.height - place.y + BESIDE}px` } : { top: `${place.y + BESIDE}px` }),
  };
}

/** Loads the memory after `HOVER_MS`; null if it cannot be loaded, or if another point is highlighted by then. */
async function readAfterRest(id: string, signal: AbortSignal): Promise<Memory | null> {
  try {
    await pause(HOVER_MS, signal);
    const memory = await call("getMemory", { params: { id }, signal });
    if (known.size >= KEPT) known.clear();
    known.set(id, memory);
    return memory;
  } catch {
    return null; // the note then shows only what the map knows
  }
}
