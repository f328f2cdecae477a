// Stores counts of what a project does (ActivityStore), both by hour and by day, because hours are kept for a shorter
// time.

import {
  ACTIVITY_STEP_NAMES,
  ACTIVITY_STEPS,
  type ActivityCounts,
  type ActivityName,
  type ActivityStep,
  QUEUE,
  stepOf,
} from "../domain/activity.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { HourCounts, RecentCounts } from "../domain/system.ts";
import type { ActivityStore } from "../ports/activity-store.ts";
import type { CountedProject, NotedCount } from "./activity-notes.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";

const OPEN_PROJECTS = ({ isIn }: Dialect) => `SELECT id, project_key FROM projects
  WHERE deleted_at IS NULL AND (id ${isIn("ids", "text")} OR project_key ${isIn("keys")})`;
// in the order of the keys, so that nodes that write at the same time do not deadlock
const ADD = ({ rows, greatest }: Dialect) => `INSERT INTO activity AS known (project_key, step_ms, at, name, value)
  SELECT project_key, $stepMs, given.at, name, value
  FROM ${rows({ project_key: "bigint", at: "bigint", name: "text", value: "bigint" })} WHERE true
  ORDER BY project_key, given.at, name
  ON CONFLICT (project_key, step_ms, at, name) DO UPDATE SET value = CASE WHEN excluded.name = '${QUEUE}'
    THEN ${greatest("known.value", "excluded.value")} ELSE known.value + excluded.value END`;
const LIST = `SELECT at, name, value FROM activity
  WHERE project_key = ${OPEN_PROJECT} AND step_ms = $stepMs AND at >= $from AND at < $to ORDER BY at`;
const QUEUES = ({ indexedBy }: Dialect) => `SELECT project_key, count(*) AS value
  FROM memories ${indexedBy("memories_jobs")} WHERE status = 'processing' AND deleted_at IS NULL GROUP BY project_key`;
const QUEUE_OF = ({ indexedBy }: Dialect) => `SELECT project_key,
    (SELECT count(*) FROM memories ${indexedBy("memories_jobs")} WHERE status = 'processing' AND deleted_at IS NULL
      AND memories.project_key = projects.project_key) AS value
  FROM projects WHERE id = $project AND deleted_at IS NULL`;
const PRUNE = "DELETE FROM activity WHERE step_ms = $stepMs AND at <= $before";

/** Maximum number of counts per statement. On SQLite, its time grows with the square of this (`Dialect.rows`). */
const STATEMENT_COUNTS = 100;

/** A count to store. */
interface CountColumns {
  readonly projectKey: bigint;
  readonly at: number;
  readonly name: string;
  readonly value: number;
}

/** Counts of the activity in projects. */
export class StoredActivity implements ActivityStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  note(projectId: ProjectId, name: ActivityName): void {
    this.context.activity.add(projectId, name, this.context.clock.now());
  }

  recent(): RecentCounts {
    return this.context.activity.recent(this.context.clock.now());
  }

  hour(): HourCounts {
    return this.context.activity.hour(this.context.clock.now());
  }

  async list(
    projectId: ProjectId,
    { step, from, to }: { readonly step: ActivityStep; readonly from: number; readonly to: number },
  ): Promise<readonly ActivityCounts[]> {
    const stepMs = ACTIVITY_STEPS[step].ms;
    const params = { project: projectId, stepMs, from, to };
    const rows = await this.session.all<{ at: bigint; name: string; value: bigint }>(LIST, params);
    const steps = new Map<number, Map<string, number>>();
    const add = (begin: number, name: string, value: number) => {
      const counts = steps.get(begin) ?? new Map<string, number>();
      counts.set(name, name === QUEUE ? Math.max(counts.get(name) ?? 0, value) : (counts.get(name) ?? 0) + value);
      steps.set(begin, counts);
    };
    for (const { at, name, value } of rows) add(Number(at), name, Number(value));
    const queue = await this.session.get<{ project_key: bigint; value: bigint }>(QUEUE_OF, { project: projectId });
    if (queue === null) return [];
    const isAsked = (begin: number) => begin >= from && begin < to;
    for (const { project, name, hour, value } of this.context.activity.all()) {
      const begin = stepOf(step, hour);
      if ((project === projectId || project === queue.project_key) && isAsked(begin)) add(begin, name, value);
    }
    const current = stepOf(step, this.context.clock.now());
    if (isAsked(current) && queue.value > 0n) add(current, QUEUE, Number(queue.value));
    return [...steps].sort(([a], [b]) => a - b).map(([at, counts]) => ({ at, counts }));
  }

  async flush(): Promise<void> {
    const { activity, clock } = this.context;
    const noted = activity.all();
    const counts = await this.#columnsOf(noted);
    const hour = stepOf("hour", clock.now());
    for (const { project_key, value } of await this.session.all<{ project_key: bigint; value: bigint }>(QUEUES)) {
      counts.push({ projectKey: project_key, at: hour, name: QUEUE, value: Number(value) });
    }
    for (const step of ACTIVITY_STEP_NAMES) await this.#add(step, counts);
    if (noted.length > 0) this.session.afterCommit(() => activity.remove(noted));
  }

  async prune(): Promise<void> {
    const now = this.context.clock.now();
    for (const { ms, keptMs } of Object.values(ACTIVITY_STEPS)) {
      await this.session.run(PRUNE, { stepMs: ms, before: now - keptMs - ms });
    }
  }

  async #columnsOf(noted: readonly NotedCount[]): Promise<CountColumns[]> {
    if (noted.length === 0) return [];
    const projects = [...new Set(noted.map(({ project }) => project))];
    const ids = projects.filter((project) => typeof project === "string");
    const keys = projects.filter((project) => typeof project === "bigint");
    const open = await this.session.all<{ id: string; project_key: bigint }>(OPEN_PROJECTS, { ids, keys });
    const keyOf = new Map<CountedProject, bigint>();
    for (const { id, project_key: key } of open) keyOf.set(id as ProjectId, key).set(key, key);
    return noted.flatMap(({ project, name, hour, value }) => {
      const projectKey = keyOf.get(project);
      return projectKey === undefined ? [] : [{ projectKey, at: hour, name, value }];
    });
  }

  /** Adds counts of hours to the hours or days (`step`) that contain them. */
  async #add(step: ActivityStep, counts: readonly CountColumns[]): Promise<void> {
    const summed = new Map<string, CountColumns>();
    for (const count of counts) {
      const at = stepOf(step, count.at);
      const key = `${count.projectKey} ${at} ${count.name}`;
      const value = count.value + (summed.get(key)?.value ?? 0);
      summed.set(key, { ...count, at, value });
    }
    const all = [...summed.values()];
    for (let first = 0; first < all.length; first += STATEMENT_COUNTS) {
      const part = all.slice(first, first + STATEMENT_COUNTS);
      await this.session.run(ADD, {
        stepMs: ACTIVITY_STEPS[step].ms,
        project_key: part.map(({ projectKey }) => projectKey),
        at: part.map(({ at }) => BigInt(at)),
        name: part.map(({ name }) => name),
        value: part.map(({ value }) => BigInt(value)),
      });
    }
  }
}
