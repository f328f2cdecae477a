// Checks whether the plan of a project has room for more memories. The stores count what is stored, and make the check
// in the transaction that adds memories. Also has the checks of the quota of queries and of limits of tokens.

import { Fault } from "./fault.ts";
import { PLANS, type Plan, type Usage } from "./project.ts";

/** Number of memories and size of their content. */
export interface StoredAmount {
  readonly documents: number;
  /** Size of the content in UTF-8 bytes. */
  readonly bytes: number;
}

const REMEDY = "delete memories or choose another plan.";

/**
 * The Fault for a change that would exceed a quota of the plan: `document_quota_exceeded` or `storage_quota_exceeded`;
 * null if there is room. A change that adds nothing is allowed even if the quota is already exceeded, as it can be
 * after a change to a smaller plan.
 * @param growth what the change adds; `bytes` is negative if it removes content
 */
export function quotaRefusal(plan: Plan, stored: StoredAmount, growth: StoredAmount): Fault | null {
  const { documents, storageBytes } = PLANS[plan];
  if (growth.documents > 0 && documents !== null && stored.documents + growth.documents > documents) {
    return new Fault(
      "document_quota_exceeded",
      `The plan "${plan}" holds ${shown(documents)} memories, and ${shown(stored.documents)} are stored: ${REMEDY}`,
    );
  }
  if (growth.bytes > 0 && storageBytes !== null && stored.bytes + growth.bytes > storageBytes) {
    return new Fault(
      "storage_quota_exceeded",
      `The plan "${plan}" holds ${shown(storageBytes)} bytes of content; ${shown(stored.bytes)} are stored, and this ` +
        `would add ${shown(growth.bytes)}: ${REMEDY}`,
    );
  }
  return null;
}

/**
 * The Fault `query_quota_exceeded` if the plan has no query left in this month; null if it has.
 * @param reserved number of queries that are being answered
 */
export function queryRefusal({ plan, queries, period }: Usage, reserved: number, nowMs: number): Fault | null {
  const limit = PLANS[plan].queriesPerMonth;
  if (limit === null || queries + reserved < limit) return null;
  return new Fault(
    "query_quota_exceeded",
    `The plan '${plan}' allows ${limit} queries a month (UTC), and all are used. Search still works.`,
    { retryAfterSeconds: Math.max(1, Math.ceil((period.end - nowMs) / 1000)) },
  );
}

/**
 * Whether a call of a language model may begin. `reached`: all limits are used up. `busy`: the running calls might use
 * up one of those that are left, so that the call has to wait for their end.
 * @param used tokens of the calls that have ended in the limits' period
 * @param running estimated tokens of the calls in progress
 */
export function tokenVerdict(used: number, running: number, limits: readonly number[]): "free" | "busy" | "reached" {
  const open = limits.filter((limit) => used < limit);
  if (open.length === 0) return "reached";
  return running > 0 && open.some((limit) => used + running >= limit) ? "busy" : "free";
}

function shown(amount: number): string {
  return amount.toLocaleString("en-US");
}
