// Requests and answers of /v1/project/activity.

import { Type } from "@sinclair/typebox";
import { ACTIVITY_STEP_NAMES } from "../../domain/activity.ts";
import { LIMITS } from "../../domain/limits.ts";
import { MODE_NAMES } from "../../domain/ranking.ts";
import { AnyTime, OneOf, Query, Time } from "./fields.ts";

/** Query parameters of getActivity. */
export const ActivityQuery = Query({
  step: OneOf(
    ACTIVITY_STEP_NAMES,
    `of UTC; hours are kept for 14 days, days for 400; default \`hour\`; at most ${LIMITS.activitySteps} steps`,
  ),
  from: AnyTime("ISO 8601 time, or a date; default: the last 24 hours"),
  to: AnyTime("ISO 8601 time, or a date, exclusive; default: now"),
});

const byMode = <Value extends ReturnType<typeof Type.Integer> | ReturnType<typeof Type.Number>>(
  value: Value,
  description: string,
) => Type.Object(Object.fromEntries(MODE_NAMES.map((mode) => [mode, Type.Optional(value)])), { description });

/** What happened in one step. */
export const ActivityPoint = Type.Object(
  {
    at: { ...Time, description: "begin of the step" },
    stored: Type.Integer({ description: "memories that were completed" }),
    deleted: Type.Integer({ description: "memories that were deleted or have expired" }),
    failed: Type.Integer({ description: "memories that failed" }),
    queue: Type.Integer({ description: "highest number of memories in status `processing`, looked up every minute" }),
    answered: Type.Integer({ description: "answers in this state, as the two below" }),
    partial: Type.Integer(),
    not_found: Type.Integer(),
    searches: byMode(Type.Integer(), "searches by mode; those of answers do not count"),
    p50_ms: byMode(Type.Number(), "median of their durations, to about 5 %"),
    p95_ms: byMode(Type.Number(), "95th percentile"),
  },
  { $id: "ActivityPoint" },
);

/** Answer of getActivity. */
export const Activity = Type.Object(
  { step: OneOf(ACTIVITY_STEP_NAMES), data: Type.Array(ActivityPoint, { description: "oldest first" }) },
  { $id: "Activity" },
);
