// Monthly query quotas. A question counts when its answer is kept. One that is being answered holds a place, so that
// many at once never exceed the quota; one that is refused or fails costs nothing.

import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { PLANS } from "../domain/project.ts";
import type { Clock } from "../kit/clock.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { Transaction } from "../ports/transactions.ts";

/** The place of a question that is being answered. */
export interface QuotaPlace {
  /** Counts the question, in the transaction that keeps its answer. */
  count(
    transaction: Pick<Transaction, "accounts">,
    tokens: { readonly prompt: number; readonly completion: number },
  ): Promise<void>;
  /** Gives the place back. Must be called however the question ends; a second call does nothing. */
  release(): void;
}

/** Monthly queries of all projects. */
export class QueryQuota {
  readonly #accounts: Pick<AccountStore, "usage">;
  readonly #clock: Clock;
  /** Questions that are being answered. */
  readonly #running = new Map<ProjectId, number>();
  /** Ends when the latest `take` of a project has. */
  readonly #turns = new Map<ProjectId, Promise<void>>();

  constructor(accounts: Pick<AccountStore, "usage">, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  /** @throws Fault `query_quota_exceeded` with the seconds until the month ends */
  take(projectId: ProjectId): Promise<QuotaPlace> {
    // one after the other: of two questions that arrive together, the second sees the place of the first
    const turn = (this.#turns.get(projectId) ?? Promise.resolve()).then(() => this.#take(projectId));
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

  async #take(projectId: ProjectId): Promise<QuotaPlace> {
    const { plan, queries, period } = await this.#accounts.usage(projectId);
    const limit = PLANS[plan].queriesPerMonth;
    const running = this.#running.get(projectId) ?? 0;
    if (limit === null || queries + running < limit) return this.#hold(projectId);
    throw new Fault(
      "query_quota_exceeded",
      `The plan '${plan}' allows ${limit} queries a month (UTC), and all are used. Search still works.`,
      { retryAfterSeconds: Math.max(1, Math.ceil((period.end - this.#clock.now()) / 1000)) },
    );
  }

  #hold(projectId: ProjectId): QuotaPlace {
    this.#running.set(projectId, (this.#running.get(projectId) ?? 0) + 1);
    let isHeld = true;
    return {
      count: async ({ accounts }, tokens) => accounts.countQuery(projectId, tokens),
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        const others = (this.#running.get(projectId) ?? 1) - 1;
        if (others === 0) this.#running.delete(projectId);
        else this.#running.set(projectId, others);
      },
    };
  }
}
