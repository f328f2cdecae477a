// Checks whether a change would exceed a quota of the project's plan (domain/quota.ts). Triggers count what a project
// has stored (migrations.ts).

import type { Fault } from "../../domain/fault.ts";
import type { StoredAmount } from "../../domain/quota.ts";
import { refusalOf, type UsedRow } from "../rows/project.ts";
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
   * Returns a Fault `document_quota_exceeded` or `storage_quota_exceeded` if a change by `growth` would exceed the
   * plan, otherwise null. Before refusing, records the expiry of expired memories, because they may make room. A change
   * that does not need more is never refused, even if the project already exceeds its plan.
   */
  refusal(projectKey: bigint, growth: StoredAmount): Fault | null {
    const refusal = this.#refusal(projectKey, growth);
    return refusal === null || this.expiry.recordDueOf(projectKey) === 0 ? refusal : this.#refusal(projectKey, growth);
  }

  #refusal(projectKey: bigint, growth: StoredAmount): Fault | null {
    const used = this.database.prepare<UsedRow, { projectKey: bigint }>(USED).get({ projectKey });
    return refusalOf(projectKey, used, growth);
  }
}
