// Reads what a project has stored, for the check of its plan's quotas (domain/quota.ts). Triggers count it
// (migrations.ts).

import { type Fault, invariant } from "../../../domain/fault.ts";
import { PLANS, type Plan } from "../../../domain/project.ts";
import { quotaRefusal, type StoredAmount } from "../../../domain/quota.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";

const USED = "SELECT plan, documents, storage_bytes FROM projects WHERE project_key = $projectKey";

/** Enforces the quotas of plans. */
export class ProjectQuotas {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly expiry: MemoryExpiry,
  ) {}

  /**
   * Returns a Fault `document_quota_exceeded` or `storage_quota_exceeded` if the growth exceeds the plan, otherwise
   * null. If the plan is full, records the expiry of memories first, which makes room. A change that does not grow is
   * never refused, even if the project exceeds its plan already.
   */
  refusal(projectKey: bigint, growth: StoredAmount): Fault | null {
    const refusal = this.#refusal(projectKey, growth);
    return refusal === null || this.expiry.recordDueOf(projectKey) === 0 ? refusal : this.#refusal(projectKey, growth);
  }

  #refusal(projectKey: bigint, growth: StoredAmount): Fault | null {
    const used = this.database
      .prepare<{ plan: string; documents: bigint; storage_bytes: bigint }, { projectKey: bigint }>(USED)
      .get({ projectKey });
    invariant(
      used !== null && Object.hasOwn(PLANS, used.plan),
      `project ${projectKey} has the unknown plan "${used?.plan}"`,
    );
    const stored = { documents: Number(used.documents), bytes: Number(used.storage_bytes) };
    return quotaRefusal(used.plan as Plan, stored, growth);
  }
}
