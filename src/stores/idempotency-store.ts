// Implements IdempotencyStore: keeps the answers to requests with an idempotency key. account/idempotency.ts decides
// when an answer is replayed and when a request is refused.

import type { ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { IdempotencySlot, IdempotencyStore, RememberedAnswer, WholeAnswer } from "../ports/idempotency-store.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { carriedOutMeanwhile, type RecordRow, slotColumns, toAnswer } from "./rows/idempotency.ts";
import { PROJECT_KEY } from "./rows/sql.ts";
import type { Session } from "./session.ts";

const SLOT = `project_key = ${PROJECT_KEY} AND user_id = $userId AND route = $route AND idempotency_key = $key`;

const RECALL = `SELECT fingerprint, status, body FROM idempotency_records WHERE ${SLOT} AND created_at >= $oldest`;

const REMOVE_OUTDATED = `DELETE FROM idempotency_records WHERE ${SLOT} AND created_at < $oldest`;

const REMEMBER = `INSERT INTO idempotency_records
    (project_key, user_id, route, idempotency_key, fingerprint, status, body, created_at)
  VALUES (${PROJECT_KEY}, $userId, $route, $key, $fingerprint, $status, $body, $now)
  ON CONFLICT (project_key, idempotency_key, route, user_id) DO NOTHING
  RETURNING record_key`;

const ADD_SUBJECTS = ({ elements }: Dialect) => `INSERT INTO idempotency_subjects (subject, record_key)
  SELECT DISTINCT value, CAST($recordKey AS bigint) FROM ${elements("subjects", "text")}`;

// The record stays, so that a repeated request changes nothing. An empty body marks an erased answer. The unary plus
// keeps SQLite from using an index on project_key and scanning all answers of the project.
const FORGET = ({ isIn }: Dialect) => `UPDATE idempotency_records SET body = ''
  WHERE +project_key = ${PROJECT_KEY} AND record_key IN
    (SELECT record_key FROM idempotency_subjects WHERE subject ${isIn("subjects", "text")})`;

const FORGET_SUBJECTS = ({ isIn }: Dialect) => `DELETE FROM idempotency_subjects
  WHERE subject ${isIn("subjects", "text")}
  AND record_key IN (SELECT record_key FROM idempotency_records WHERE project_key = ${PROJECT_KEY})`;

// skips rows that another transaction uses; a later call removes them
const PRUNE = ({ forRemoval }: Dialect) => `DELETE FROM idempotency_records WHERE record_key IN
  (SELECT record_key FROM idempotency_records WHERE created_at < $oldest ${forRemoval})`;

/** Answers of requests with an idempotency key. */
export class StoredAnswers implements IdempotencyStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async recall(slot: IdempotencySlot): Promise<RememberedAnswer | null> {
    const row = await this.session.get<RecordRow>(RECALL, { ...slotColumns(slot), oldest: this.#oldest() });
    return row === null ? null : toAnswer(row);
  }

  async remember(slot: IdempotencySlot, answer: WholeAnswer, subjects: readonly string[]): Promise<void> {
    const columns = slotColumns(slot);
    await this.session.run(REMOVE_OUTDATED, { ...columns, oldest: this.#oldest() });
    const { fingerprint, status, body } = answer;
    const values = { ...columns, fingerprint, status, body, now: this.context.clock.now() };
    const made = await this.session.get<{ record_key: bigint }>(REMEMBER, values);
    // throwing also rolls back the change of this request, which would be made a second time
    if (made === null) throw carriedOutMeanwhile();
    if (subjects.length > 0) await this.session.run(ADD_SUBJECTS, { recordKey: made.record_key, subjects });
  }

  async forget(projectId: ProjectId, subjects: readonly string[]): Promise<void> {
    await this.session.run(FORGET, { project: projectId, subjects });
    await this.session.run(FORGET_SUBJECTS, { project: projectId, subjects });
  }

  async prune(): Promise<void> {
    await this.session.run(PRUNE, { oldest: this.#oldest() });
  }

  /** Time (Unix milliseconds) before which records have expired. */
  #oldest(): number {
    return this.context.clock.now() - LIMITS.idempotencyMs;
  }
}
