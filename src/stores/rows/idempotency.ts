// Converts rows of the table `idempotency_records`.

import { Fault } from "../../domain/fault.ts";
import type { IdempotencySlot, RememberedAnswer } from "../../ports/idempotency-store.ts";

/** A row of `idempotency_records`. An empty body was erased. */
export type RecordRow = { readonly fingerprint: Uint8Array; readonly status: bigint; readonly body: string };

/** The columns that identify a slot. */
export type SlotColumns = {
  readonly project: string;
  readonly userId: string;
  readonly route: string;
  readonly key: string;
};

/** Converts a slot to columns. */
export function slotColumns(slot: IdempotencySlot): SlotColumns {
  return { project: slot.projectId, userId: slot.userId ?? "", route: slot.route, key: slot.key };
}

/** Converts a row to a RememberedAnswer. */
export function toAnswer({ fingerprint, status, body }: RecordRow): RememberedAnswer {
  return { fingerprint, status: Number(status), body: body || null };
}

/** The Fault for a request that another server has carried out while this one carried it out, too. */
export function carriedOutMeanwhile(): Fault {
  return new Fault(
    "idempotency_conflict",
    "This Idempotency-Key belongs to a request that was carried out in the meantime; repeat the request to get its response.",
  );
}
