// Whether a project's plan has room for more memories. What is used is counted by the tables themselves
// (migrations.ts); what a plan allows stands in domain/project.ts.

import { Fault, invariant } from "../../../domain/fault.ts";
import { PLANS, type Plan, type Quotas } from "../../../domain/project.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";

const USED = "SELECT plan, documents, storage_bytes FROM projects WHERE project_key = $projectKey";

const CURE = "delete memories or choose another plan.";

/** By how much a change makes a project larger. */
export interface Growth {
  readonly documents: number;
  /** UTF-8 bytes of content; negative where it shrinks. */
  readonly bytes: number;
}

/** Holds projects to their plans. */
export class ProjectQuotas {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly expiry: MemoryExpiry,
  ) {}

  /**
   * What speaks against such a growth: `document_quota_exceeded` or `storage_quota_exceeded`; null: nothing. Memories
   * that have expired make room first. What does not grow is never refused, also where a smaller plan is exceeded
   * already.
   */
  refusal(projectKey: bigint, growth: Growth): Fault | null {
    const refusal = this.#refusal(projectKey, growth);
    return refusal === null || this.expiry.endDueOf(projectKey) === 0 ? refusal : this.#refusal(projectKey, growth);
  }

  #refusal(projectKey: bigint, growth: Growth): Fault | null {
    const used = this.database
      .prepare<{ plan: string; documents: bigint; storage_bytes: bigint }, { projectKey: bigint }>(USED)
      .get({ projectKey });
    invariant(used !== null && Object.hasOwn(PLANS, used.plan), `project ${projectKey} has the plan "${used?.plan}"`);
    const quotas: Quotas = PLANS[used.plan as Plan];
    const [documents, bytes] = [Number(used.documents), Number(used.storage_bytes)];
    if (growth.documents > 0 && quotas.documents !== null && documents + growth.documents > quotas.documents) {
      return new Fault(
        "document_quota_exceeded",
        `The plan "${used.plan}" holds ${shown(quotas.documents)} memories, and ${shown(documents)} are stored: ${CURE}`,
      );
    }
    if (growth.bytes > 0 && quotas.storageBytes !== null && bytes + growth.bytes > quotas.storageBytes) {
      return new Fault(
        "storage_quota_exceeded",
        `The plan "${used.plan}" holds ${shown(quotas.storageBytes)} bytes of content; ${shown(bytes)} are stored, and ` +
          `this would add ${shown(growth.bytes)}: ${CURE}`,
      );
    }
    return null;
  }
}

function shown(amount: number): string {
  return amount.toLocaleString("en-US");
}
