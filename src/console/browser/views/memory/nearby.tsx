// The memories whose points lie nearest on the map, so that a page of a memory leads on to others.

import { useMemo } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { MapIcon } from "../../ui/icons.ts";
import { Ago, Badge, Card } from "../../ui/pieces.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { useMemories } from "../map/read-memories.ts";
import { nameOf } from "../shared/memory-names.ts";

/** Number of points among which the nearest are looked for. */
const POINTS = 1_000;
const SHOWN = 5;

/** The card; nothing while the memory has no place on the map, or is alone there. */
export function Nearby({ memory: { id, userId } }: { readonly memory: Memory }) {
  const map = useResource(
    (signal) => call("getMemoryMap", { query: { userId: userId ?? undefined, limit: POINTS }, signal }),
    [id, userId],
  );
  const nearest = useMemo(() => {
    const points = map.value?.points ?? [];
    const own = points.find((point) => point.memory_id === id);
    if (own === undefined) return [];
    return points
      .filter((point) => point !== own)
      .map((point) => ({ id: point.memory_id, away: Math.hypot(point.x - own.x, point.y - own.y) }))
      .sort((left, right) => left.away - right.away)
      .slice(0, SHOWN)
      .map((point) => point.id);
  }, [map.value, id]);
  const { memories, isReading } = useMemories(nearest);
  if (nearest.length === 0) return null;
  return (
    <Card title={t("Nearest on the map")} icon={MapIcon} actions={<a href="#/map">{t("Open the map")}</a>}>
      {isReading && memories.length === 0 && <Skeleton lines={SHOWN} />}
      <ul class="list rows brief">
        {memories.map((one) => (
          <li key={one.id}>
            <a href={to(["memories", one.id])} class="two-lines" dir="auto">
              {nameOf(one)}
            </a>
            {one.userId !== null && <Badge>{one.userId}</Badge>}
            <span class="fine">
              <Ago time={one.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
