// A small map of the newest memories for Home. The view Map can zoom, filter and select.

import { useMemo, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { go } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { MapIcon } from "../../ui/icons.ts";
import { lazily } from "../../ui/lazy.tsx";
import { Card } from "../../ui/pieces.tsx";
import { spreadOut } from "../../ui/point-field.ts";
import type { Pointed } from "../../ui/points.tsx";
import { bestGrouping, coloursOf, groupOf } from "../map/colours.ts";
import { PointNote } from "../map/point-note.tsx";

const Points = lazily(() => import("../../ui/points.tsx"));
const POINTS = 2_000;
/** Maximum number of groups that the legend names. */
const NAMED_GROUPS = 5;
/** Polling interval in milliseconds while places are being computed. */
const POLL_MS = 2_000;
/** Polling interval in milliseconds while new memories have no place yet. */
const REST_MS = 15_000;

/** A card with the map; nothing if there are no memories. */
export function MapCard() {
  const map = useResource(
    (signal) => call("getMemoryMap", { query: { limit: POINTS }, signal }),
    [],
    ({ state, total, points }) =>
      state === "building" && total > 0 ? POLL_MS : points.length < Math.min(total, POINTS) ? REST_MS : null,
  );
  const points = useMemo(() => spreadOut(map.value?.points ?? []), [map.value]);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const by = bestGrouping(points, rights.value?.isConfined === false);
  const legend = useMemo(() => coloursOf(points, by), [points]);
  const drawn = useMemo(
    () =>
      points.map((point) => ({
        ...{ x: point.x, y: point.y, isDim: point.is_superseded },
        colour: legend.colourOf(groupOf(point, by)),
      })),
    [legend],
  );
  const looked = pointed === null ? undefined : points[pointed.at];
  if (map.value?.total === 0 || (map.value === undefined && map.error !== undefined)) return null;
  if (map.value === undefined) {
    // as high as the map, so that nothing moves when that is read
    return (
      <Card class="map" title={t("Map")} icon={MapIcon}>
        <div class="map-waits" role="status" aria-label={t("Loading")} />
      </Card>
    );
  }
  if (points.length === 0) {
    return (
      <Card class="map" title={t("Map")} icon={MapIcon}>
        <p class="fine" role="status">
          {t("The map is being computed. The first time takes a few seconds.")}
        </p>
      </Card>
    );
  }
  return (
    <Card class="map" title={t("Map")} icon={MapIcon} actions={<a href="#/map">{t("Explore")}</a>}>
      <Points
        isStill
        label={t("Map of {n} memories. Arrow keys go from one to the next, Enter opens it.", { n: points.length })}
        points={drawn}
        onPoint={setPointed}
        onOpen={(at) => points[at] !== undefined && go(["memories", points[at].memory_id])}
      >
        {pointed !== null && looked !== undefined && <PointNote point={looked} pointed={pointed} />}
      </Points>
      <p class="legend">
        {legend.entries.slice(0, NAMED_GROUPS).map(({ name, title, colour }) => (
          <span key={name} class="cut" dir="auto">
            <span class="legend-dot" style={{ background: `var(--${colour})` }} /> {title}
          </span>
        ))}
        <span class="fine legend-time">{countText(map.value?.total ?? 0, "1 memory", "{n} memories")}</span>
      </p>
    </Card>
  );
}
