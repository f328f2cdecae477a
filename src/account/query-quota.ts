// Whether a project may ask one more question this month. A question is counted when its answer is kept; one under way
// holds its place, so that many at once never exceed the quota, and one that is refused or fails costs nothing.

import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { PLANS } from "../domain/project.ts";
import type { Clock } from "../kit/clock.ts";
import type { AccountStore } from "../ports/account-store.ts";

/** The place that a question under way holds. */
export interface QuotaPlace {
  /** The answer is kept: counts it, inside the transaction that keeps it. */
  count(tokens: { readonly prompt: number; readonly completion: number }): void;
  /** Gives the place back; to be called however the question ended. */
  release(): void;
}

/** Monthly queries of all projects. */
export class QueryQuota {
  readonly #accounts: Pick<AccountStore, "usage" | "countQuery">;
  readonly #clock: Clock;
  readonly #underWay = new Map<ProjectId, number>();

  constructor(accounts: Pick<AccountStore, "usage" | "countQuery">, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  /** @throws Fault `query_quota_exceeded` with the seconds until the month ends. */
  take(projectId: ProjectId): QuotaPlace {
    const { plan, queries, period } = this.#accounts.usage(projectId);
    const limit = PLANS[plan].queriesPerMonth;
    const underWay = this.#underWay.get(projectId) ?? 0;
    if (limit !== null && queries + underWay >= limit) {
      throw new Fault(
        "query_quota_exceeded",
        `The plan '${plan}' allows ${limit} queries a month (UTC), and all are used. Search still works.`,
        { retryAfterSeconds: Math.max(1, Math.ceil((period.end - this.#clock.now()) / 1000)) },
      );
    }
    this.#underWay.set(projectId, underWay + 1);
    let isHeld = true;
    return {
      count: (tokens) => this.#accounts.countQuery(projectId, tokens),
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        const others = (this.#underWay.get(projectId) ?? 1) - 1;
        if (others === 0) this.#underWay.delete(projectId);
        else this.#underWay.set(projectId, others);
      },
    };
  }
}
