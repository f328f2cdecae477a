// IdempotencyStore on SQLite. account/idempotency.ts decides when an answer is replayed and when a request is refused.

import type { ProjectId } from "../../domain/ids.ts";
import { LIMITS } from "../../domain/limits.ts";
import type { Clock } from "../../kit/clock.ts";
import type {
  IdempotencySlot,
  IdempotencyStore,
  RememberedAnswer,
  WholeAnswer,
} from "../../ports/idempotency-store.ts";
import { carriedOutMeanwhile, type RecordRow, type SlotColumns, slotColumns, toAnswer } from "../rows/idempotency.ts";
import { PROJECT_KEY } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";

const SLOT = `project_key = ${PROJECT_KEY} AND user_id = $userId AND route = $route AND idempotency_key = $key`;

const RECALL = `SELECT fingerprint, status, body FROM idempotency_records WHERE ${SLOT} AND created_at >= $oldest`;

const REMOVE_OUTDATED = `DELETE FROM idempotency_records WHERE ${SLOT} AND created_at < $oldest`;

const REMEMBER = `INSERT INTO idempotency_records
    (project_key, user_id, route, idempotency_key, fingerprint, status, body, created_at)
  VALUES (${PROJECT_KEY}, $userId, $route, $key, $fingerprint, $status, $body, $now)
  ON CONFLICT (project_key, user_id, route, idempotency_key) DO NOTHING
  RETURNING record_key`;

const ADD_SUBJECTS = `INSERT OR IGNORE INTO idempotency_subjects (subject, record_key)
  SELECT value, $recordKey FROM json_each($subjects)`;

// The record stays, so that a repeated request changes nothing. An empty body marks an erased answer. The unary plus
// keeps SQLite from using an index on project_key and scanning all answers of the project.
const FORGET = `UPDATE idempotency_records SET body = '' WHERE +project_key = ${PROJECT_KEY} AND record_key IN
  (SELECT record_key FROM idempotency_subjects WHERE subject IN (SELECT value FROM json_each($subjects)))`;

const FORGET_SUBJECTS = `DELETE FROM idempotency_subjects WHERE subject IN (SELECT value FROM json_each($subjects))
  AND record_key IN (SELECT record_key FROM idempotency_records WHERE project_key = ${PROJECT_KEY})`;

const PRUNE = "DELETE FROM idempotency_records WHERE created_at < $oldest";

type AnswerColumns = { readonly fingerprint: Uint8Array; readonly status: number; readonly body: string };

/** IdempotencyStore on SQLite. */
export class SqliteIdempotencyStore implements IdempotencyStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;

  constructor(options: { readonly database: SqliteDatabase; readonly clock: Clock }) {
    this.#database = options.database;
    this.#clock = options.clock;
  }

  recall(slot: IdempotencySlot): RememberedAnswer | null {
    const row = this.#database
      .prepare<RecordRow, SlotColumns & { oldest: number }>(RECALL)
      .get({ ...slotColumns(slot), oldest: this.#oldest() });
    return row === null ? null : toAnswer(row);
  }

  remember(slot: IdempotencySlot, { fingerprint, status, body }: WholeAnswer, subjects: readonly string[]): void {
    this.#database.transaction(() => {
      this.#database
        .prepare<never, SlotColumns & { oldest: number }>(REMOVE_OUTDATED)
        .run({ ...slotColumns(slot), oldest: this.#oldest() });
      const made = this.#database
        .prepare<{ record_key: bigint }, SlotColumns & AnswerColumns & { now: number }>(REMEMBER)
        .get({ ...slotColumns(slot), fingerprint, status, body, now: this.#clock.now() });
      // throwing also rolls back the change of this request, which would be made a second time
      if (made === null) throw carriedOutMeanwhile();
      this.#database
        .prepare<never, { recordKey: bigint; subjects: string }>(ADD_SUBJECTS)
        .run({ recordKey: made.record_key, subjects: JSON.stringify(subjects) });
    });
  }

  forget(projectId: ProjectId, subjects: readonly string[]): void {
    const params = { project: projectId, subjects: JSON.stringify(subjects) };
    this.#database.transaction(() => {
      this.#database.prepare<never, typeof params>(FORGET).run(params);
      this.#database.prepare<never, typeof params>(FORGET_SUBJECTS).run(params);
    });
  }

  prune(): void {
    this.#database.prepare<never, { oldest: number }>(PRUNE).run({ oldest: this.#oldest() });
  }

  /** Records created before this time (Unix milliseconds) are not valid any more. */
  #oldest(): number {
    return this.#clock.now() - LIMITS.idempotencyMs;
  }
}
