// Checks whether a change would exceed a quota of the project's plan (domain/quota.ts). Triggers count what a project
// has stored (migrations.ts).

import type { Fault } from "../domain/fault.ts";
import type { StoredAmount } from "../domain/quota.ts";
import type { MemoryExpiry } from "./memories/memory-expiry.ts";
import { refusalOf, type UsedRow } from "./rows/project.ts";
import type { Session } from "./session.ts";

const USED = "SELECT plan, documents, storage_bytes FROM projects WHERE project_key = $projectKey";

/** What a project may still store during a transaction; see `ProjectQuotas.room`. */
interface QuotaRoom {
  /** The Fault if a further change by `growth` would exceed the plan, apart from expired memories. */
  refusal(growth: StoredAmount): Promise<Fault | null>;
  /** Counts a change that will be stored. */
  take(growth: StoredAmount): void;
  /** Forgets the counted changes, because they are stored now. */
  readAgain(): void;
}

/** Enforces the quotas of plans. */
export class ProjectQuotas {
  constructor(
    private readonly session: Session,
    private readonly expiry: MemoryExpiry,
  ) {}

  /**
   * Returns a Fault `document_quota_exceeded` or `storage_quota_exceeded` if a change by `growth` would exceed the
   * plan, otherwise null. Before refusing, records the expiry of expired memories, because they may make room. A change
   * that needs no additional space is never refused, even if the project already exceeds its plan.
   */
  async refusal(projectKey: bigint, growth: StoredAmount): Promise<Fault | null> {
    const refusal = await this.#refusal(projectKey, growth);
    if (refusal === null || (await this.expiry.recordDueOf(projectKey)) === 0) return refusal;
    return this.#refusal(projectKey, growth);
  }

  /**
   * Checks several changes of one transaction that are stored later, together. `take` counts a change until it is
   * stored. After a refusal, the caller stores the changes that it took and asks `ProjectQuotas.refusal`, which makes
   * room by recording expired memories.
   * @param now plan and stored amount of the project
   */
  room(projectKey: bigint, now: UsedRow): QuotaRoom {
    let used: UsedRow | null = now;
    let taken = { documents: 0, bytes: 0 };
    return {
      refusal: async ({ documents, bytes }) => {
        used ??= await this.session.get<UsedRow>(USED, { projectKey });
        return refusalOf(projectKey, used, { documents: taken.documents + documents, bytes: taken.bytes + bytes });
      },
      take: ({ documents, bytes }) => {
        taken = { documents: taken.documents + documents, bytes: taken.bytes + bytes };
      },
      readAgain: () => {
        [used, taken] = [null, { documents: 0, bytes: 0 }];
      },
    };
  }

  async #refusal(projectKey: bigint, growth: StoredAmount): Promise<Fault | null> {
    return refusalOf(projectKey, await this.session.get<UsedRow>(USED, { projectKey }), growth);
  }
}
