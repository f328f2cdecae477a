// The view Webhooks: adding and changing webhooks, their secrets, and their deliveries.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Webhook, WebhookWithSecret } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { usePages, withItem } from "../../core/resource.ts";
import { filterOf, go, setFilters, to } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { CheckField, Field, Form } from "../../ui/form.tsx";
import { Ellipsis, Pencil, Plus, RefreshCw, Send, Trash2, Webhook as WebhookIcon } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Badge, PageHead, Snippet } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { Deliveries } from "./deliveries.tsx";
import { LastDelivery } from "./last-delivery.tsx";
import { signatureCheck } from "./signature-check.ts";

const EVENTS = ["memory.completed", "memory.failed", "memory.updated", "memory.deleted", "memory.superseded"] as const;

/** The list, or the deliveries of one webhook if the address names it. */
export default function Webhooks({ path }: { readonly path: readonly string[] }) {
  const [id] = path;
  return id === undefined ? <WebhookList /> : <Deliveries key={id} id={id} />;
}

function WebhookList() {
  const [editing, setEditing] = useState<Webhook | null>(null);
  const [secret, setSecret] = useState<WebhookWithSecret | null>(null);
  const [sent, setSent] = useState(0);
  const pages = usePages<Webhook>((cursor, signal) => call("listWebhooks", { query: { cursor }, signal }), []);
  const close = () => {
    setEditing(null);
    setFilters({ new: null });
  };
  const add = (
    <Button kind="primary" icon={Plus} run={() => setFilters({ new: "1" })}>
      {t("Add a webhook")}
    </Button>
  );
  return (
    <div class="view">
      <PageHead
        title={t("Webhooks")}
        text={t("Addresses that are called when a memory changes. Each call is signed.")}
        actions={pages.items?.length !== 0 && add}
      />
      <Table
        caption={t("Webhooks, newest first")}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={WebhookIcon} title={t("No webhooks yet")} action={add}>
            {t("Tell your application when a memory is completed, fails or is superseded.")}
          </Empty>
        }
        columns={[
          {
            head: t("Address"),
            class: "main-cell",
            cell: ({ id, url, description }) => (
              <span class="stack-lines">
                <a href={to(["webhooks", id])} dir="ltr">
                  {url}
                </a>
                {description !== null && (
                  <span class="fine" dir="auto">
                    {description}
                  </span>
                )}
              </span>
            ),
          },
          {
            head: t("Events"),
            cell: ({ events }) => (
              <span class="badges">
                {events.map((event) => (
                  <Badge key={event}>{event}</Badge>
                ))}
              </span>
            ),
          },
          {
            head: t("State"),
            cell: ({ enabled }) => <Badge tone={enabled ? "good" : "neutral"}>{enabled ? t("on") : t("off")}</Badge>,
          },
          { head: t("Last delivery"), cell: ({ id }) => <LastDelivery key={`${id} ${sent}`} id={id} /> },
          {
            head: "",
            class: "end",
            cell: (webhook) => (
              <span class="row">
                <Button
                  size="small"
                  icon={Send}
                  run={async () => {
                    await call("testWebhook", { params: { id: webhook.id } });
                    setSent(sent + 1);
                    toast(t("A test event was sent."), {
                      label: t("Deliveries"),
                      run: () => go(["webhooks", webhook.id]),
                    });
                  }}
                >
                  {t("Test")}
                </Button>
                <Menu
                  label={t("More")}
                  icon={Ellipsis}
                  size="small"
                  items={[
                    { label: t("Edit"), icon: Pencil, run: () => setEditing(webhook) },
                    {
                      label: t("New secret"),
                      icon: RefreshCw,
                      run: () =>
                        confirm({
                          title: t("Give the webhook a new secret?"),
                          text: t("Update your application before the next call."),
                          verb: t("New secret"),
                          run: async () => setSecret(await call("rotateWebhookSecret", { params: { id: webhook.id } })),
                        }),
                    },
                    { label: t("Delete"), icon: Trash2, danger: true, run: () => askToDelete(webhook, pages.edit) },
                  ]}
                />
              </span>
            ),
          },
        ]}
      />
      {(filterOf("new") !== "" || editing !== null) && (
        <WebhookDialog
          key={editing?.id ?? "new"}
          webhook={editing}
          close={close}
          onSaved={(saved) => {
            pages.edit((items) => withItem(items, saved));
            close();
            if ("secret" in saved) setSecret(saved);
          }}
        />
      )}
      {secret !== null && (
        <Dialog title={t("The secret of the webhook")} close={() => setSecret(null)} kind="wide">
          <div class="stack">
            <p>{t("It signs every call. Copy it now: it is shown only once.")}</p>
            <Snippet label={t("Secret")} code={secret.secret ?? ""} />
            <p>{t("Verify each call like this:")}</p>
            <Snippet label={t("Signature check")} code={signatureCheck(secret.secret ?? "whsec_…")} />
          </div>
        </Dialog>
      )}
    </div>
  );
}

function askToDelete(
  webhook: Webhook,
  edit: (change: (items: readonly Webhook[]) => readonly Webhook[]) => void,
): void {
  confirm({
    title: t("Delete this webhook?"),
    text: t("{url} is no longer called, and waiting calls are dropped.", { url: webhook.url }),
    verb: t("Delete"),
    destroys: true,
    run: async () => {
      await call("deleteWebhook", { params: { id: webhook.id } });
      edit((items) => items.filter(({ id }) => id !== webhook.id));
      toast(t("The webhook was deleted."));
    },
  });
}

interface WebhookDialogProps {
  readonly webhook: Webhook | null;
  readonly close: () => void;
  readonly onSaved: (webhook: Webhook | WebhookWithSecret) => void;
}

function WebhookDialog({ webhook, close, onSaved }: WebhookDialogProps) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [description, setDescription] = useState(webhook?.description ?? "");
  const [events, setEvents] = useState<readonly string[]>(webhook?.events ?? ["memory.completed", "memory.failed"]);
  const [isEnabled, setIsEnabled] = useState(webhook?.enabled ?? true);
  const title = webhook === null ? t("Add a webhook") : t("Edit the webhook");
  return (
    <Dialog title={title} close={close}>
      <Form
        label={title}
        verb={t("Save")}
        disabled={url.trim() === "" || events.length === 0}
        send={async () => {
          const body = { url: url.trim(), description: description.trim() || null, events, enabled: isEnabled };
          onSaved(
            webhook === null
              ? await call("createWebhook", { body })
              : await call("updateWebhook", { params: { id: webhook.id }, body }),
          );
        }}
      >
        <Field
          name="url"
          label={t("Address")}
          type="url"
          placeholder="https://app.example/hooks"
          value={url}
          onValue={setUrl}
          autofocus
        />
        <Field name="description" label={t("Description")} value={description} onValue={setDescription} />
        <fieldset class="stack tight">
          <legend>{t("Events")}</legend>
          {EVENTS.map((event) => (
            <CheckField
              key={event}
              label={event}
              checked={events.includes(event)}
              onChecked={(isOn) => setEvents(isOn ? [...events, event] : events.filter((one) => one !== event))}
            />
          ))}
        </fieldset>
        <CheckField label={t("Enabled")} checked={isEnabled} onChecked={setIsEnabled} />
      </Form>
    </Dialog>
  );
}
