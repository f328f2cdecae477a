// The state of the server: whether it is ready, and its lanes.

import { bytesText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { server } from "../../core/server.ts";
import { Server } from "../../ui/icons.ts";
import { Badge, Card, PageHead } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";

/** The view. */
export default function System() {
  const { state, status, lanes, warnings } = server.value;
  const texts = {
    connecting: t("Connecting…"),
    ready: t("The server is ready."),
    waiting: t("The server is not ready: {status}", { status }),
    unreachable: t("The server does not answer."),
  };
  return (
    <div class="view">
      <PageHead title={t("System")} text={t("How the server is, read again every few seconds.")} />
      <Card title={t("Health")} icon={Server}>
        <p class="row">
          <span class={`dot ${state}`} /> {texts[state]}
        </p>
        {warnings.map((warning) => (
          <p key={warning} class="fine">
            {warning}
          </p>
        ))}
      </Card>
      <Card title={t("Models in lanes")}>
        {lanes.length === 0 ? (
          <Empty icon={Server} title={t("No lanes are known")}>
            {t("A lane is a process with the models. It starts with the server.")}
          </Empty>
        ) : (
          <ul class="list rows">
            {lanes.map(({ name, status: lane, restarts, rss_bytes: bytes, provider }) => (
              <li key={name}>
                <span class={`dot ${lane === "up" ? "ready" : "waiting"}`} />
                <span>{name}</span>
                <Badge tone={lane === "up" ? "good" : "warn"}>{lane}</Badge>
                {provider !== null && <Badge>{provider}</Badge>}
                <span class="fine number">
                  {bytes !== null && bytesText(bytes)}
                  {restarts > 0 && ` · ${t("{n} restarts", { n: restarts })}`}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Card>
    </div>
  );
}
