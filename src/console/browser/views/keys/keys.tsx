// The view Keys: the keys of the project and when each was last used; creating, rotating and revoking keys.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Key, KeyWithSecret } from "../../core/calls.ts";
import { nowMs } from "../../core/clock.ts";
import { t } from "../../core/i18n.ts";
import { usePages, withItem } from "../../core/resource.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { isCurrent } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { KeyRound, Plus, RefreshCw, Trash2 } from "../../ui/icons.ts";
import { Ago, Badge, PageHead } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { KeyWizard } from "./key-wizard.tsx";
import { SecretDialog } from "./secret-dialog.tsx";

/** The view Keys. */
export default function Keys() {
  const [secret, setSecret] = useState<KeyWithSecret | null>(null);
  const [rotating, setRotating] = useState<Key | null>(null);
  const pages = usePages<Key>((cursor, signal) => call("listKeys", { query: { cursor, limit: 50 }, signal }), []);
  const put = (key: Key) => pages.edit((items) => withItem(items, key));
  const add = (
    <Button kind="primary" icon={Plus} run={() => setFilters({ new: "1" })}>
      {t("Create a key")}
    </Button>
  );
  return (
    <div class="view">
      <PageHead
        title={t("API keys")}
        text={t("Applications and agents use keys. Give each its own, with the scopes that it needs.")}
        actions={add}
      />
      <Table
        caption={t("Keys, newest first")}
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty icon={KeyRound} title={t("No keys yet")} action={add} />}
        columns={[
          {
            head: t("Key"),
            class: "main-cell",
            cell: (key) => (
              <span class="stack-lines">
                <span class="row">
                  <span dir="auto">{key.name}</span>
                  {isCurrent(key) && <Badge tone="accent">{t("this session")}</Badge>}
                  {isExpired(key) && <Badge tone="bad">{t("expired")}</Badge>}
                </span>
                <code class="fine">{key.redacted}</code>
              </span>
            ),
          },
          {
            head: t("Scopes"),
            cell: ({ scopes, userId }) => (
              <span class="badges">
                {scopes.includes("*") && scopes.includes("admin") ? (
                  <Badge tone="warn">{t("all scopes")}</Badge>
                ) : (
                  scopes.map((scope) => (
                    <Badge key={scope} tone={scope === "admin" ? "warn" : "neutral"}>
                      {scope === "*" ? t("all but admin") : scope}
                    </Badge>
                  ))
                )}
                {userId !== null && <Badge tone="accent">{t("only {id}", { id: userId })}</Badge>}
              </span>
            ),
          },
          { head: t("Created"), cell: ({ created_at: at }) => <Ago time={at} /> },
          { head: t("Last used"), cell: ({ last_used_at: at }) => (at === null ? t("never") : <Ago time={at} />) },
          { head: t("Expires"), cell: ({ expires_at: at }) => (at === null ? t("never") : <Ago time={at} />) },
          {
            head: "",
            class: "end",
            cell: (key) => (
              <span class="row">
                <Button size="small" icon={RefreshCw} run={() => setRotating(key)}>
                  {t("Rotate")}
                </Button>
                <Button
                  size="small"
                  kind="ghost"
                  icon={Trash2}
                  label={t("Revoke {name}", { name: key.name })}
                  run={() => askToRevoke(key, () => pages.edit((items) => items.filter(({ id }) => id !== key.id)))}
                />
              </span>
            ),
          },
        ]}
      />
      {filterOf("new") !== "" && (
        <KeyWizard
          close={() => setFilters({ new: null })}
          onCreated={(key) => {
            put(key);
            setFilters({ new: null });
            setSecret(key);
          }}
        />
      )}
      {rotating !== null && (
        <RotateDialog
          rotated={rotating}
          close={() => setRotating(null)}
          onRotated={(key) => {
            put(key);
            setRotating(null);
            setSecret(key);
          }}
        />
      )}
      {secret !== null && <SecretDialog created={secret} close={() => setSecret(null)} />}
    </div>
  );
}

function isExpired({ expires_at: at }: Key): boolean {
  return at !== null && new Date(at).getTime() < nowMs();
}

function askToRevoke(key: Key, onRevoked: () => void): void {
  const isOwn = isCurrent(key);
  confirm({
    title: t("Revoke the key {name}?", { name: key.name }),
    text: isOwn
      ? t("You are signed in with this key. Once it is revoked, you need another one to sign in.")
      : t("Everything that uses it is refused immediately."),
    ...(isOwn && { typed: key.name }),
    verb: t("Revoke"),
    destroys: true,
    run: async () => {
      await call("deleteKey", { params: { id: key.id } });
      onRevoked();
      toast(t("The key was revoked."));
    },
  });
}

interface RotateDialogProps {
  readonly rotated: Key;
  readonly close: () => void;
  readonly onRotated: (key: KeyWithSecret) => void;
}

function RotateDialog({ rotated, close, onRotated }: RotateDialogProps) {
  const [grace, setGrace] = useState("3600");
  return (
    <Dialog title={t("Rotate the key {name}", { name: rotated.name })} close={close}>
      <Form
        label={t("Rotate")}
        verb={t("Create a new secret")}
        icon={RefreshCw}
        send={async () =>
          onRotated(await call("rotateKey", { params: { id: rotated.id }, body: { grace_seconds: Number(grace) } }))
        }
      >
        <Field
          name="grace_seconds"
          label={t("The old secret stays valid for")}
          value={grace}
          onValue={setGrace}
          options={[
            ["0", t("not at all: refused immediately")],
            ["3600", t("an hour")],
            ["86400", t("a day")],
          ]}
        />
      </Form>
    </Dialog>
  );
}
