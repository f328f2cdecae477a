// A dialog to create a key. The purpose of the key selects its scopes, which a person can change.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { KeyWithSecret } from "../../core/calls.ts";
import { timeIn } from "../../core/clock.ts";
import { t } from "../../core/i18n.ts";
import { rights } from "../../core/session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { CheckField, Field, Form } from "../../ui/form.tsx";
import { KeyRound } from "../../ui/icons.ts";
import { UserField } from "../shared/user-field.tsx";
import { SCOPES } from "./scopes.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

interface Purpose {
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly scopes: readonly string[];
}

const PURPOSES: readonly Purpose[] = [
  {
    name: "agent",
    title: "Agent",
    text: "Stores, searches and asks, over MCP or the API",
    scopes: ["memories:read", "memories:write", "query"],
  },
  {
    name: "app",
    title: "Application",
    text: "Everything an agent may, and also keeps chats and users",
    scopes: ["memories:read", "memories:write", "query", "chats:read", "chats:write", "users:read", "users:write"],
  },
  { name: "read", title: "Read only", text: "Searches and lists, changes nothing", scopes: ["memories:read"] },
  { name: "ingest", title: "Import only", text: "Stores memories, reads none", scopes: ["memories:write"] },
  {
    name: "all",
    title: "Full access",
    text: "Everything in the project, for the person who operates it",
    scopes: ["*"],
  },
];

interface KeyWizardProps {
  readonly close: () => void;
  readonly onCreated: (key: KeyWithSecret) => void;
}

/** A dialog to create a key. */
export function KeyWizard({ close, onCreated }: KeyWizardProps) {
  const [purpose, setPurpose] = useState("agent");
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>(PURPOSES[0]?.scopes ?? []);
  const [userId, setUserId] = useState("");
  const [days, setDays] = useState("");
  const choose = (chosen: Purpose) => {
    setPurpose(chosen.name);
    setScopes(chosen.scopes);
  };
  const send = async () => {
    const body = {
      name: name.trim() || t(PURPOSES.find((one) => one.name === purpose)?.title ?? "Key"),
      scopes,
      ...(userId.trim() !== "" && { userId: userId.trim() }),
      ...(days !== "" && { expires_at: timeIn(Number(days) * DAY_MS) }),
    };
    onCreated(await call("createKey", { body }));
  };
  return (
    <Dialog title={t("Create a key")} close={close} kind="wide">
      <Form
        label={t("Create a key")}
        verb={t("Create the key")}
        icon={KeyRound}
        disabled={scopes.length === 0}
        send={send}
      >
        <fieldset>
          <legend>{t("What is it for?")}</legend>
          <div class="choices list-of">
            {PURPOSES.map((one) => (
              <label key={one.name} class="choice">
                <input type="radio" name="purpose" checked={purpose === one.name} onChange={() => choose(one)} />
                <span>
                  <strong>{t(one.title)}</strong>
                  <span class="hint">{t(one.text)}</span>
                </span>
              </label>
            ))}
          </div>
        </fieldset>
        <div class="columns narrow">
          <Field name="name" label={t("Name")} value={name} onValue={setName} placeholder={t("Support agent")} />
          <UserField
            label={t("Restrict to user")}
            hint={t("Optional. The key then sees this user's data only.")}
            value={userId}
            onValue={setUserId}
          />
          <Field
            name="expires_at"
            label={t("Expires")}
            value={days}
            onValue={setDays}
            options={[
              ["", t("never")],
              ["1", t("in a day")],
              ["30", t("in 30 days")],
              ["365", t("in a year")],
            ]}
          />
        </div>
        <details>
          <summary>{t("Scopes: {list}", { list: scopes.join(", ") || t("none") })}</summary>
          <fieldset class="scope-list">
            <legend class="aside">{t("Scopes")}</legend>
            {SCOPES.filter(([scope]) => scope !== "admin" || rights.value?.admin).map(([scope, text]) => (
              <CheckField
                key={scope}
                label={scope}
                hint={t(text)}
                checked={scopes.includes(scope)}
                onChecked={(isOn) => setScopes(isOn ? [...scopes, scope] : scopes.filter((one) => one !== scope))}
              />
            ))}
          </fieldset>
        </details>
      </Form>
    </Dialog>
  );
}
