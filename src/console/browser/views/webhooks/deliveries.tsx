// The deliveries to a webhook with their attempts. They are polled while the page is open.

import { call } from "../../core/api.ts";
import type { Delivery } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { usePages, useResource, withItem } from "../../core/resource.ts";
import { Button } from "../../ui/button.tsx";
import { ArrowLeft, RefreshCw, RotateCcw, Send } from "../../ui/icons.ts";
import { Ago, Card, PageHead, Snippet } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { DeliveryBadge } from "./last-delivery.tsx";
import { signatureCheck } from "./signature-check.ts";

/** An example of a delivery with its headers. The body has the memory without its text. */
const EXAMPLE = `POST /mneme
content-type: application/json
webhook-id: dlv_01m8nvkew3efp817c3rxjpejqp
webhook-timestamp: 1793265600
webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=

${JSON.stringify(
  {
    type: "memory.completed",
    timestamp: "2026-10-29T08:00:00.000Z",
    data: { id: "mem_01m8nvkapmetyv24cd78bcqbsn", status: "completed", title: "Lena's meetings", userId: "lena" },
  },
  null,
  2,
)}`;

/** Polling interval in milliseconds while deliveries are waiting. */
const POLL_MS = 4_000;

/** The page of a webhook with its deliveries. */
export function Deliveries({ id }: { readonly id: string }) {
  const webhooks = useResource((signal) => call("listWebhooks", { query: { limit: 20 }, signal }), [id]);
  const pages = usePages<Delivery>(
    (cursor, signal) => call("listDeliveries", { params: { id }, query: { cursor, limit: 50 }, signal }),
    [id],
  );
  const put = (delivery: Delivery) => pages.edit((items) => withItem(items, delivery));
  const isWaiting = pages.items?.some(({ status }) => status === "pending") === true;
  // polls the waiting deliveries until all have succeeded or failed
  useResource(
    async (signal) => {
      if (!isWaiting) return false;
      const { data } = await call("listDeliveries", { params: { id }, query: { limit: 20 }, signal });
      for (const delivery of data) put(delivery);
      return data.some(({ status }) => status === "pending");
    },
    [id, isWaiting],
    (isStillWaiting) => (isStillWaiting ? POLL_MS : null),
  );
  const url = webhooks.value?.data.find((one) => one.id === id)?.url;
  return (
    <div class="view">
      <PageHead
        above={
          <a class="back" href="#/webhooks">
            <ArrowLeft size={14} aria-hidden="true" /> {t("Webhooks")}
          </a>
        }
        title={t("Deliveries")}
        text={url}
        actions={
          <>
            <Button icon={RefreshCw} label={t("Refresh")} run={pages.reload} />
            <Button icon={Send} run={async () => put(await call("testWebhook", { params: { id } }))}>
              {t("Test")}
            </Button>
          </>
        }
      />
      <Table
        caption={t("Deliveries, newest first")}
        pages={pages}
        keyOf={(delivery) => delivery.id}
        empty={
          <Empty icon={Send} title={t("No deliveries yet")}>
            {t("Send a test event to see a delivery.")}
          </Empty>
        }
        columns={[
          { head: t("Event"), class: "main-cell", cell: ({ event }) => event },
          {
            head: t("Status"),
            cell: ({ status }) => <DeliveryBadge status={status} />,
          },
          { head: t("Attempts"), cell: (delivery) => <Attempts delivery={delivery} /> },
          { head: t("When"), cell: ({ created_at: at }) => <Ago time={at} /> },
          {
            head: "",
            class: "end",
            cell: (delivery) => (
              <span class="row">
                <Button
                  size="small"
                  icon={RotateCcw}
                  run={async () => {
                    put(await call("redeliver", { params: { id, deliveryId: delivery.id } }));
                    toast(t("Sent again."));
                  }}
                >
                  {t("Send again")}
                </Button>
              </span>
            ),
          },
        ]}
      />
      <Card title={t("What your application gets")}>
        <div class="stack">
          <Snippet label={t("Example call")} code={EXAMPLE} />
          <Snippet label={t("Signature check")} code={signatureCheck("whsec_…")} />
          <p class="fine">
            {t("The signature covers the id, the timestamp and the body. Refuse calls older than five minutes.")}
          </p>
        </div>
      </Card>
    </div>
  );
}

function Attempts({ delivery: { attempts, next_attempt_at: next } }: { readonly delivery: Delivery }) {
  return (
    <details>
      <summary>{countText(attempts.length, "1 attempt", "{n} attempts")}</summary>
      <ul class="list fine">
        {attempts.map(({ at, status_code: code, error, ms }) => (
          <li key={at}>
            <Ago time={at} />: {code ?? error ?? "–"} · {ms} ms
          </li>
        ))}
        {next !== null && (
          <li>
            {t("next")}: <Ago time={next} />
          </li>
        )}
      </ul>
    </details>
  );
}
