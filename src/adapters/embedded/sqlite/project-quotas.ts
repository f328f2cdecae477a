// Checks whether a project's plan has room for more memories. Triggers count what is stored (migrations.ts); the quotas
// of the plans are in domain/project.ts.

import { Fault, invariant } from "../../../domain/fault.ts";
import { PLANS, type Plan, type Quotas } from "../../../domain/project.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";

const USED = "SELECT plan, documents, storage_bytes FROM projects WHERE project_key = $projectKey";

const REMEDY = "delete memories or choose another plan.";

/** What a change adds to a project. */
export interface Growth {
  readonly documents: number;
  /** UTF-8 bytes of content; negative if it shrinks. */
  readonly bytes: number;
}

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
  refusal(projectKey: bigint, growth: Growth): Fault | null {
    const refusal = this.#refusal(projectKey, growth);
    return refusal === null || this.expiry.recordDueOf(projectKey) === 0 ? refusal : this.#refusal(projectKey, growth);
  }

  #refusal(projectKey: bigint, growth: Growth): Fault | null {
    const used = this.database
      .prepare<{ plan: string; documents: bigint; storage_bytes: bigint }, { projectKey: bigint }>(USED)
      .get({ projectKey });
    invariant(
      used !== null && Object.hasOwn(PLANS, used.plan),
      `project ${projectKey} has the unknown plan "${used?.plan}"`,
    );
    const quotas: Quotas = PLANS[used.plan as Plan];
    const [documents, bytes] = [Number(used.documents), Number(used.storage_bytes)];
    if (growth.documents > 0 && quotas.documents !== null && documents + growth.documents > quotas.documents) {
      return new Fault(
        "document_quota_exceeded",
        `The plan "${used.plan}" holds ${formatted(quotas.documents)} memories, and ${formatted(documents)} are stored: ` +
          REMEDY,
      );
    }
    if (growth.bytes > 0 && quotas.storageBytes !== null && bytes + growth.bytes > quotas.storageBytes) {
      return new Fault(
        "storage_quota_exceeded",
        `The plan "${used.plan}" holds ${formatted(quotas.storageBytes)} bytes of content; ${formatted(bytes)} are stored, ` +
          `and this would add ${formatted(growth.bytes)}: ${REMEDY}`,
      );
    }
    return null;
  }
}

function formatted(amount: number): string {
  return amount.toLocaleString("en-US");
}
