// Adds or changes a user.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { User } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form, jsonOf } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";

interface UserDialogProps {
  /** null: a new user. */
  readonly user: User | null;
  readonly close: () => void;
  readonly onSaved: (user: User) => void;
}

/** Adds or changes a user. */
export function UserDialog({ user, close, onSaved }: UserDialogProps) {
  const [id, setId] = useState(user?.id ?? "");
  const [name, setName] = useState(user?.name ?? "");
  const [email, setEmail] = useState(user?.email ?? "");
  const [zone, setZone] = useState(user?.time_zone ?? "");
  const [metadata, setMetadata] = useState(
    user === null || Object.keys(user.metadata).length === 0 ? "" : JSON.stringify(user.metadata, null, 2),
  );
  const title = user === null ? t("Add a user") : t("Edit the user");
  return (
    <Dialog title={title} close={close}>
      <Form
        label={title}
        verb={t("Save")}
        disabled={id.trim() === ""}
        send={async () => {
          const body = {
            id: id.trim(),
            name: name.trim() || null,
            email: email.trim() || null,
            time_zone: zone.trim() || null,
            metadata: jsonOf(metadata, "metadata") ?? {},
          };
          onSaved(await call("upsertUser", { body }));
          toast(t("Saved."));
          close();
        }}
      >
        <Field
          name="id"
          label={t("User id")}
          value={id}
          onValue={setId}
          disabled={user !== null}
          hint={t("The id that your application uses for this person")}
          autofocus
        />
        <Field name="name" label={t("Name")} value={name} onValue={setName} />
        <Field name="email" label={t("Email")} type="email" value={email} onValue={setEmail} />
        <Field name="time_zone" label={t("Time zone")} placeholder="Europe/Zurich" value={zone} onValue={setZone} />
        <Field name="metadata" label={t("Metadata (JSON)")} lines={3} code value={metadata} onValue={setMetadata} />
      </Form>
    </Dialog>
  );
}
