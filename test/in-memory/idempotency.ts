// IdempotencyStore in memory.

import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type {
  IdempotencySlot,
  IdempotencyStore,
  RememberedAnswer,
  WholeAnswer,
} from "../../src/ports/idempotency-store.ts";
import { answersAbout } from "./memory-row.ts";
import type { AnswerRow, Session, Synchronous } from "./session.ts";

/** IdempotencyStore in memory. */
export class InMemoryIdempotency implements Synchronous<IdempotencyStore> {
  constructor(private readonly session: Session) {}

  recall(slot: IdempotencySlot): RememberedAnswer | null {
    const answer = this.#current(slot);
    if (answer === null) return null;
    const { fingerprint, status, body } = answer;
    return { fingerprint, status, body };
  }

  remember(slot: IdempotencySlot, { fingerprint, status, body }: WholeAnswer, subjects: readonly string[]): void {
    if (this.#current(slot) !== null) throw new Fault("idempotency_conflict", "the slot has an answer already");
    const { projectId, userId, route, key } = slot;
    const named = { projectId, userId, route, key };
    const createdAt = this.session.now;
    this.session.tables.answers.set(JSON.stringify(named), {
      slot: named,
      fingerprint: Uint8Array.from(fingerprint),
      status,
      body,
      subjects: [...new Set(subjects)],
      createdAt,
    });
  }

  forget(projectId: ProjectId, subjects: readonly string[]): void {
    for (const [key, answer] of answersAbout(this.session.tables, subjects)) {
      if (answer.slot.projectId !== projectId) continue;
      const left = answer.subjects.filter((subject) => !subjects.includes(subject));
      this.session.tables.answers.set(key, { ...answer, body: null, subjects: left });
    }
  }

  prune(): void {
    for (const { slot } of this.session.tables.answers.rows((answer) => this.#isOutdated(answer))) {
      this.session.tables.answers.delete(JSON.stringify(slot));
    }
  }

  #current({ projectId, userId, route, key }: IdempotencySlot): AnswerRow | null {
    const answer = this.session.tables.answers.get(JSON.stringify({ projectId, userId, route, key }));
    return answer === undefined || this.#isOutdated(answer) ? null : answer;
  }

  #isOutdated({ createdAt }: AnswerRow): boolean {
    return createdAt < this.session.now - LIMITS.idempotencyMs;
  }
}
