// Lists what happens in a project, counted per hour or per day.

import { ACTIVITY_STEPS, type ActivityCounts, type ActivityStep, searchCount, stepOf } from "../domain/activity.ts";
import type { AnswerState } from "../domain/answer-state.ts";
import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { ModeName } from "../domain/ranking.ts";
import type { Viewer } from "../domain/scope.ts";
import { type Clock, isoTime } from "../kit/clock.ts";
import type { ActivityStore } from "../ports/activity-store.ts";

/** Number of hours that are listed if the request has no `from`. */
const HOURS_DEFAULT = 24;
/** Number of steps that are read without a pause for other requests: up to 10,000 counts, about 10 ms. */
const PART_STEPS = 100;

const NOTHING: ReadonlyMap<string, number> = new Map();

/** Range and step of the activity to list. Times are Unix milliseconds. */
export interface ActivityRange {
  readonly step: ActivityStep;
  /** null: `HOURS_DEFAULT` hours before `to`. */
  readonly from: number | null;
  /** Exclusive; null: now. */
  readonly to: number | null;
}

/** The activity of projects. */
export class ActivityService {
  constructor(
    private readonly uses: { readonly activity: Pick<ActivityStore, "note" | "list">; readonly clock: Clock },
  ) {}

  /** Notes a search that succeeded. */
  searched(projectId: ProjectId, mode: ModeName, ms: number): void {
    this.uses.activity.note(projectId, searchCount(mode, ms));
  }

  /** Notes an answer. */
  answered(projectId: ProjectId, state: AnswerState): void {
    this.uses.activity.note(projectId, state);
  }

  /**
   * All steps that overlap the range, oldest first, also those in which nothing happened.
   * @throws Fault `invalid_request` for a range that is empty or has too many steps
   */
  async steps({ projectId }: Viewer, asked: ActivityRange): Promise<readonly ActivityCounts[]> {
    const { activity, clock } = this.uses;
    const { step } = asked;
    const { ms } = ACTIVITY_STEPS[step];
    const to = asked.to ?? clock.now() + 1;
    const from = stepOf(step, asked.from ?? to - 1 - (HOURS_DEFAULT - 1) * ACTIVITY_STEPS.hour.ms);
    if (asked.from !== null && asked.from >= to) {
      throw new Fault("invalid_request", `'from' must be before 'to', which is ${isoTime(to)}.`, { param: "from" });
    }
    const count = Math.ceil((to - from) / ms);
    if (count > LIMITS.activitySteps) {
      throw new Fault(
        "invalid_request",
        `From ${isoTime(from)} to ${isoTime(to)} there are ${count} steps of one ${step}; at most ${LIMITS.activitySteps} are shown.`,
        { param: "from" },
      );
    }
    const known = new Map<number, ActivityCounts>();
    for (let at = from; at < to; at += PART_STEPS * ms) {
      const part = { step, from: at, to: Math.min(at + PART_STEPS * ms, to) };
      for (const found of await activity.list(projectId, part)) known.set(found.at, found);
      await new Promise(setImmediate); // lets other requests run
    }
    return Array.from({ length: count }, (_, at) => {
      const begin = from + at * ms;
      return known.get(begin) ?? { at: begin, counts: NOTHING };
    });
  }
}
