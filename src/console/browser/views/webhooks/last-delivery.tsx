// The newest delivery to a webhook: whether it arrived, the answer of the receiver, and when it was sent.

import { call } from "../../core/api.ts";
import type { Delivery } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { Ago, Badge } from "../../ui/pieces.tsx";

/** Polling interval in milliseconds while the delivery waits for its next attempt. */
const POLL_MS = 4_000;

/** The status of a delivery as a coloured label. */
export function DeliveryBadge({ status }: Pick<Delivery, "status">) {
  return <Badge tone={{ delivered: "good", failed: "bad", pending: "warn" }[status]}>{t(status)}</Badge>;
}

/** A link to the deliveries with the newest one; a dash if there is none. */
export function LastDelivery({ id }: { readonly id: string }) {
  const newest = useResource(
    async (signal) => (await call("listDeliveries", { params: { id }, query: { limit: 1 }, signal })).data[0] ?? null,
    [id],
    (delivery) => (delivery?.status === "pending" ? POLL_MS : null),
  );
  if (newest.value === undefined) return <span class="fine">…</span>;
  if (newest.value === null) return <span class="fine">{t("none yet")}</span>;
  const { status, attempts, created_at: at } = newest.value;
  const last = attempts.at(-1);
  const answer = last?.status_code ?? last?.error;
  return (
    <span class="stack-lines">
      <a class="row nowrap quiet-link" href={to(["webhooks", id])}>
        <DeliveryBadge status={status} />
        {answer != null && <span class="fine break">{answer}</span>}
      </a>
      <span class="fine">
        <Ago time={at} />
      </span>
    </span>
  );
}
