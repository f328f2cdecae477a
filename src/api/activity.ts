// The operation that shows what happens in a project.

import { type ActivityCounts, QUEUE, searchesOf } from "../domain/activity.ts";
import { MODE_NAMES } from "../domain/ranking.ts";
import { isoTime } from "../kit/clock.ts";
import type { ActivityService } from "../services/activity.ts";
import { checkTime } from "./drafts.ts";
import { type Operation, reading } from "./operation.ts";
import * as schema from "./schema/activity.ts";
import type { View } from "./views.ts";

/** The operation GET /v1/project/activity. */
export function activityOperation(activity: ActivityService): Operation {
  return reading({
    name: "getActivity",
    group: "Projects",
    summary:
      "Read what happened in the project, by hour or day: memories, answers, searches and their durations. Empty steps are listed.",
    method: "GET",
    path: "/v1/project/activity",
    scope: "usage",
    isForConfinedKeys: false,
    query: schema.ActivityQuery,
    answers: { 200: schema.Activity },
    read: async ({ principal, query: { step = "hour", from, to } }) => {
      const steps = await activity.steps(principal, {
        step,
        from: from === undefined ? null : checkTime(from, "from"),
        to: to === undefined ? null : checkTime(to, "to"),
      });
      return { status: 200, body: { step, data: steps.map(pointView) } };
    },
  });
}

/** Converts what happened in one step to the schema `ActivityPoint`. */
function pointView({ at, counts }: ActivityCounts): View<typeof schema.ActivityPoint> {
  const of = (name: string) => counts.get(name) ?? 0;
  const searches = MODE_NAMES.flatMap((mode) => {
    const found = counts.size === 0 ? null : searchesOf(counts, mode);
    return found === null ? [] : [[mode, found] as const];
  });
  return {
    at: isoTime(at),
    ...{ stored: of("stored"), deleted: of("deleted"), failed: of("failed"), queue: of(QUEUE) },
    ...{ answered: of("answered"), partial: of("partial"), not_found: of("not_found") },
    searches: Object.fromEntries(searches.map(([mode, found]) => [mode, found.searches])),
    p50_ms: Object.fromEntries(searches.map(([mode, { p50Ms }]) => [mode, p50Ms])),
    p95_ms: Object.fromEntries(searches.map(([mode, { p95Ms }]) => [mode, p95Ms])),
  };
}
