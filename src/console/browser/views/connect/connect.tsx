// The view Connect: code for agents and programs, with this server's address, and whether a key has been used since.

import { useState } from "preact/hooks";
import { addressOf, BASE, call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf, setFilters, to } from "../../core/router.ts";
import { isCurrent, rights } from "../../core/session.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { BookOpen, Cable, KeyRound } from "../../ui/icons.ts";
import { Ago, Badge, Card, Facts, Id, PageHead, Snippet } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { CLIENTS, clientSnippet } from "./clients.ts";

const PLACEHOLDER = "ctx_YOUR_KEY";
/** Polling interval in milliseconds for the last use of keys. */
const POLL_MS = 5_000;

/** The view Connect. */
export default function Connect() {
  const chosen = CLIENTS.find(({ name }) => name === filterOf("client")) ?? CLIENTS[0];
  const [key, setKey] = useState("");
  if (chosen === undefined) return null;
  const groups = [
    [t("Programs"), CLIENTS.filter(({ kind }) => kind === "program")],
    [t("Agents"), CLIENTS.filter(({ kind }) => kind === "agent")],
  ] as const;
  return (
    <div class="view">
      <PageHead
        title={t("Connect")}
        text={t("Let an agent or a program use this server.")}
        actions={
          <>
            <LinkButton icon={BookOpen} href="docs">
              {t("API reference")}
            </LinkButton>
            {rights.value?.keys && (
              <LinkButton kind="primary" icon={KeyRound} href={to(["keys"], { new: "1" })}>
                {t("Create a key")}
              </LinkButton>
            )}
          </>
        }
      />
      <Card title={t("Addresses")}>
        <Facts
          class="addresses"
          rows={[
            ["API", <Id key="api" text={addressOf("/v1")} />],
            ["MCP", <Id key="mcp" text={addressOf("/mcp")} />],
          ]}
        />
      </Card>
      <Card title={t("Client")} icon={Cable}>
        <div class="stack">
          {groups.map(([title, clients]) => (
            <div key={title} class="row">
              <span class="fine client-group">{title}</span>
              {clients.map(({ name, title: client }) => (
                <Button key={name} size="small" pressed={name === chosen.name} run={() => setFilters({ client: name })}>
                  {client}
                </Button>
              ))}
            </div>
          ))}
          <Field
            name="key"
            label={t("API key for the examples")}
            type="password"
            placeholder={PLACEHOLDER}
            hint={t("Optional. It stays in this page.")}
            value={key}
            onValue={setKey}
          />
          {chosen.file !== null && (
            <p class="fine">
              {t("Add this to")} <code>{chosen.file}</code>
            </p>
          )}
          <Snippet label={chosen.title} code={clientSnippet(chosen.name, BASE, key.trim() || PLACEHOLDER)} />
        </div>
      </Card>
      {rights.value?.keys && <Callers />}
    </div>
  );
}

function Callers() {
  const keys = useResource(
    (signal) => call("listKeys", { query: { limit: 20 }, signal }),
    [],
    () => POLL_MS,
  );
  return (
    <Card title={t("Recent callers")}>
      <Loaded from={keys}>
        {({ data }) => (
          <ul class="list rows">
            {data.map((key) => (
              <li key={key.id}>
                <span class={`dot ${key.last_used_at === null ? "" : "ready"}`} />
                <span class="cut" dir="auto">
                  {key.name}
                </span>
                {isCurrent(key) && <Badge tone="accent">{t("this session")}</Badge>}
                {key.last_client !== null && (
                  <Badge>{key.last_client.startsWith("Mozilla/") ? t("browser") : key.last_client}</Badge>
                )}
                <span class="fine">{key.last_used_at === null ? t("not yet") : <Ago time={key.last_used_at} />}</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
