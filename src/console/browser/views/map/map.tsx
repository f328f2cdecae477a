// The view Map: each memory is a point, and points of similar meaning lie close together.

import { useEffect, useMemo, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { MapPoint, MemoryMap as Places } from "../../core/calls.ts";
import { countText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf, go, setFilters } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Field } from "../../ui/form.tsx";
import { MapIcon } from "../../ui/icons.ts";
import { lazily } from "../../ui/lazy.tsx";
import { Legend } from "../../ui/legend.tsx";
import { Card, PageHead } from "../../ui/pieces.tsx";
import { spreadOut } from "../../ui/point-field.ts";
import type { Pointed } from "../../ui/points.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { longNameOf } from "../shared/memory-names.ts";
import { UserField } from "../shared/user-field.tsx";
import { Chosen, idsOf, MemoryList } from "./chosen.tsx";
import { bestGrouping, coloursOf, type Grouping, groupOf } from "./colours.ts";
import { PointNote } from "./point-note.tsx";
import { useMemories } from "./read-memories.ts";
import { regionsOf } from "./regions.ts";

const Points = lazily(() => import("../../ui/points.tsx"));
/** Polling interval in milliseconds while places are being computed. */
const POLL_MS = 1_500;
const POINTS = 5_000;
/** Maximum number of points on a map that shows the names of memories. */
const NAMED_POINTS = 80;
/** Number of memories whose names are read, for labels and to name regions. */
const NAMES_READ = 100;

/** The view Map. */
export default function MemoryMap() {
  const userId = filterOf("userId");
  const map = useResource(
    (signal) => call("getMemoryMap", { query: { userId, limit: POINTS }, signal }),
    [userId],
    ({ state, total, points }) => (state === "building" || points.length < Math.min(total, POINTS) ? POLL_MS : null),
  );
  const isConfined = rights.value?.isConfined === true;
  const by = (filterOf("by") as Grouping | "") || bestGrouping(map.value?.points ?? [], !isConfined);
  return (
    <div class="view wide">
      <PageHead
        title={t("Map")}
        text={t("Each point is a memory. Memories about similar things lie close together.")}
        actions={
          <div class="filters even map-filters" role="search" aria-label={t("Filters")}>
            <Field
              name="by"
              label={t("Colour")}
              quiet
              value={by}
              options={[
                ["type", t("Colour by type")],
                ...(isConfined ? [] : ([["userId", t("Colour by user")]] as const)),
                ["month", t("Colour by month")],
                ["currency", t("Colour by validity")],
              ]}
              onValue={(one) => setFilters({ by: one })}
            />
            {!isConfined && (
              <UserField
                quiet
                placeholder={t("Any user")}
                value={userId}
                onValue={(one) => setFilters({ userId: one })}
              />
            )}
          </div>
        }
      />
      <Loaded from={map} lines={10}>
        {(places) => <Shown key={userId} places={places} by={by} userId={userId} />}
      </Loaded>
    </div>
  );
}

/** Names of the newest memories by id. */
function useNames(points: readonly MapPoint[], userId: string): ReadonlyMap<string, string> {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());
  useEffect(() => {
    if (points.length === 0) return;
    const stop = new AbortController();
    call("listMemories", { query: { userId, limit: NAMES_READ }, signal: stop.signal }).then(
      ({ data }) => setNames(new Map(data.map((memory) => [memory.id, longNameOf(memory)]))),
      () => undefined, // without names, the points are still useful
    );
    return () => stop.abort();
  }, [points.length, userId]);
  return names;
}

interface ShownProps {
  readonly places: Places;
  readonly by: Grouping;
  readonly userId: string;
}

function Shown({ places, by, userId }: ShownProps) {
  const { state, total } = places;
  const points = useMemo(() => spreadOut(places.points), [places.points]);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [looked, setLooked] = useState<string | null>(null);
  const [only, setOnly] = useState<string | null>(null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const legend = useMemo(() => coloursOf(points, by), [points, by]);
  const shown = useMemo(
    () => (only === null ? points : points.filter((point) => legend.nameOf(groupOf(point, by)) === only)),
    [points, only, legend],
  );
  const listed = useMemo(() => (chosen.size > 0 ? [...chosen] : idsOf(shown)), [chosen, shown]);
  const read = useMemories(listed);
  const names = useNames(points, userId);
  const isFew = points.length <= NAMED_POINTS;
  const regions = useMemo(
    () =>
      regionsOf(
        shown,
        shown.map((point) => names.get(point.memory_id) ?? ""),
      ),
    [shown, names],
  );
  const drawn = useMemo(
    () =>
      shown.map((point) => ({
        ...{ x: point.x, y: point.y, isChosen: chosen.has(point.memory_id) },
        isDim: chosen.size > 0 ? !chosen.has(point.memory_id) : point.is_superseded,
        colour: legend.colourOf(groupOf(point, by)),
        label: isFew ? (names.get(point.memory_id) ?? "") : "",
      })),
    [shown, legend, names, chosen, isFew],
  );
  if (state === "building")
    return (
      <Card>
        <p class="fine" role="status">
          {t("The map is being computed. The first time takes a few seconds.")}
        </p>
        <Skeleton lines={8} height={24} />
      </Card>
    );
  if (points.length === 0)
    return (
      <Card>
        <Empty icon={MapIcon} title={t("No memories yet")}>
          {t("Stored memories get a place on the map as soon as they are processed.")}
        </Empty>
      </Card>
    );
  const choose = (numbers: readonly number[], isToggled: boolean) => {
    const ids = numbers.map((at) => shown[at]?.memory_id).filter((id) => id !== undefined);
    const next = new Set(isToggled ? chosen : []);
    for (const id of ids) if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const colourOf = (id: string) => {
    const point = points.find((one) => one.memory_id === id);
    return point === undefined ? "border-strong" : legend.colourOf(groupOf(point, by));
  };
  const list = { read, colourOf, look: setLooked };
  const lookedAt = looked === null ? -1 : shown.findIndex((point) => point.memory_id === looked);
  const open = (point: MapPoint | undefined) => point !== undefined && go(["memories", point.memory_id]);
  return (
    <div class="map-view">
      <Card class="map">
        <Points
          label={t("Map of {n} memories. Arrow keys go from one to the next, Enter opens it, Space selects it.", {
            n: shown.length,
          })}
          points={drawn}
          regions={regions}
          looked={lookedAt === -1 ? null : lookedAt}
          onPoint={setPointed}
          onOpen={(at) => open(shown[at])}
          onChosen={choose}
          head={
            <>
              <Legend
                groups={legend.entries}
                only={only}
                onOnly={(name) => {
                  setPointed(null);
                  setOnly(name);
                }}
              />
              <p class="fine map-count">
                {countText(total, "1 memory", "{n} memories")}
                {total > points.length && ` · ${t("the newest {n} are shown", { n: numberText(points.length) })}`}
                {points.some(({ is_superseded: isOld }) => isOld) && ` · ${t("faded: superseded by newer ones")}`}
              </p>
            </>
          }
        >
          {pointed !== null && shown[pointed.at] !== undefined && (
            <PointNote point={shown[pointed.at] as MapPoint} pointed={pointed} />
          )}
        </Points>
      </Card>
      {chosen.size > 0 ? (
        <Chosen count={chosen.size} clear={() => setChosen(new Set())} {...list} />
      ) : (
        <Card title={t("All on the map")} class="on-map">
          <MemoryList {...list} />
        </Card>
      )}
    </div>
  );
}
