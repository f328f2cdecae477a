// Shows the secret of a new key once, with code that uses it.

import { useState } from "preact/hooks";
import { BASE } from "../../core/api.ts";
import type { KeyWithSecret } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogFoot } from "../../ui/dialog.tsx";
import { Snippet } from "../../ui/pieces.tsx";
import { allowedBy, CLIENTS, clientSnippet } from "../connect/clients.ts";

interface SecretDialogProps {
  readonly created: KeyWithSecret;
  readonly close: () => void;
}

/** A dialog with the secret of a new key. */
export function SecretDialog({ created, close }: SecretDialogProps) {
  const [client, setClient] = useState("curl");
  const secret = created.key ?? "";
  return (
    <Dialog title={t("The key {name} is ready", { name: created.name })} close={close} kind="wide">
      <div class="stack">
        <p>
          <strong>{t("Copy it now: it is shown only once.")}</strong>
        </p>
        <Snippet label={t("Secret of the key")} code={secret} />
        <div class="row">
          {CLIENTS.map(({ name, title }) => (
            <Button key={name} size="small" pressed={name === client} run={() => setClient(name)}>
              {title}
            </Button>
          ))}
        </div>
        <Snippet label={t("Code with this key")} code={clientSnippet(client, BASE, secret, allowedBy(created))} />
        <DialogFoot>
          <Button kind="primary" run={close}>
            {t("Done")}
          </Button>
        </DialogFoot>
      </div>
    </Dialog>
  );
}
