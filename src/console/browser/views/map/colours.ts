// Colours of the points of the map by type, user, month or currency (whether a newer memory supersedes them). Each of
// the largest groups has its own colour; the others share one.

import type { MapPoint } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import type { LegendGroup } from "../../ui/legend.tsx";

/** The attribute that decides the colour of a point. */
export type Grouping = "type" | "userId" | "month" | "currency";

/** Colours in the order of use. People with red-green colour blindness can tell them apart, too. */
const COLOURS = [
  ...["signal-vector", "signal-text", "signal-graph", "signal-rerank", "signal-time"],
  ...["point-indigo", "point-olive", "point-brown"],
] as const;
const OTHERS = "signal-neighbours";
const OTHERS_NAME = "…";

/** The legend, and the colour and the entry of each group. */
export interface Legend {
  readonly entries: readonly LegendGroup[];
  readonly colourOf: (group: string) => string;
  readonly nameOf: (group: string) => string;
}

/** The grouping that says most about these points: by type, or by user if all have the same type. */
export function bestGrouping(points: readonly MapPoint[], mayNameUsers: boolean): Grouping {
  const differ = (by: Grouping) => new Set(points.map((point) => groupOf(point, by))).size > 1;
  return !differ("type") && mayNameUsers && differ("userId") ? "userId" : "type";
}

/** The group that a point belongs to; empty if it has none. */
export function groupOf(point: MapPoint, by: Grouping): string {
  if (by === "month") return point.created_at.slice(0, 7);
  if (by === "currency") return point.is_superseded ? "superseded" : "current";
  return point[by] ?? "";
}

function titleOf(group: string, by: Grouping): string {
  if (group === "") return by === "userId" ? t("No user") : t("No type");
  return by === "currency" ? t(group) : group;
}

/** Makes the legend for these points. */
export function coloursOf(points: readonly MapPoint[], by: Grouping): Legend {
  const counts = new Map<string, number>();
  for (const point of points) counts.set(groupOf(point, by), (counts.get(groupOf(point, by)) ?? 0) + 1);
  const largest = [...counts].sort(([a, left], [b, right]) => right - left || a.localeCompare(b));
  const own = largest.slice(0, counts.size === COLOURS.length + 1 ? COLOURS.length + 1 : COLOURS.length);
  const colours = new Map<string, string>(own.map(([group], at) => [group, COLOURS[at] ?? OTHERS]));
  const others = points.length - own.reduce((sum, [, count]) => sum + count, 0);
  const entries: LegendGroup[] = own.map(([group, count]) => {
    return {
      name: group,
      title: titleOf(group, by),
      colour: colours.get(group) ?? OTHERS,
      count,
      isNone: group === "",
    };
  });
  if (others > 0) entries.push({ name: OTHERS_NAME, title: t("others"), colour: OTHERS, count: others });
  return {
    entries,
    colourOf: (group) => colours.get(group) ?? OTHERS,
    nameOf: (group) => (colours.has(group) ? group : OTHERS_NAME),
  };
}
