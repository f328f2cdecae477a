// Monthly query quotas. A query counts when its answer is stored. While a query runs, it has a reservation, so that
// many concurrent queries never exceed the quota. A query that is refused or fails does not count.

import type { ProjectId } from "../domain/ids.ts";
import type { Usage } from "../domain/project.ts";
import { queryRefusal } from "../domain/quota.ts";
import type { Clock } from "../kit/clock.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { QueryQuotas, QuotaReservation } from "../ports/coordination.ts";

/** Monthly query quotas of all projects, with the reservations of this process. */
export class QueryQuota implements QueryQuotas {
  readonly #accounts: Pick<AccountStore, "usage">;
  readonly #clock: Clock;
  /** Number of reservations of each project. */
  readonly #reserved = new Map<ProjectId, number>();
  /** Resolves when the latest `reserve` of a project has ended. */
  readonly #turns = new Map<ProjectId, Promise<void>>();

  constructor(accounts: Pick<AccountStore, "usage">, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  /**
   * Reserves one query.
   * @throws Fault `query_quota_exceeded` with the seconds until the month ends
   */
  reserve(projectId: ProjectId): Promise<QuotaReservation> {
    // Only one call per project runs at a time, so that of two simultaneous calls the second one sees the first one's
    // reservation.
    const turn = (this.#turns.get(projectId) ?? Promise.resolve()).then(() => this.#reserve(projectId));
    const ended: Promise<void> = turn
      .then(
        () => undefined,
        () => undefined, // the caller of this turn gets the error
      )
      .finally(() => {
        if (this.#turns.get(projectId) === ended) this.#turns.delete(projectId);
      });
    this.#turns.set(projectId, ended);
    return turn;
  }

  async #reserve(projectId: ProjectId): Promise<QuotaReservation> {
    let reserved: number;
    let usage: Usage;
    // Both numbers are read again if the number of reservations has changed in between: a query that ended then could
    // be counted in both.
    do {
      reserved = this.#reservedOf(projectId);
      usage = await this.#accounts.usage(projectId);
    } while (reserved !== this.#reservedOf(projectId));
    const refusal = queryRefusal(usage, reserved, this.#clock.now());
    if (refusal !== null) throw refusal;
    return this.#hold(projectId);
  }

  #reservedOf(projectId: ProjectId): number {
    return this.#reserved.get(projectId) ?? 0;
  }

  #hold(projectId: ProjectId): QuotaReservation {
    this.#reserved.set(projectId, this.#reservedOf(projectId) + 1);
    let isHeld = true;
    return {
      count: async ({ accounts }, tokens) => accounts.countQuery(projectId, tokens),
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        const others = this.#reservedOf(projectId) - 1;
        if (others === 0) this.#reserved.delete(projectId);
        else this.#reserved.set(projectId, others);
      },
    };
  }
}
