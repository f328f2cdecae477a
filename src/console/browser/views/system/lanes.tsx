// The lanes of the server: the processes that run models.

import { bytesText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import type { Lane } from "../../core/server.ts";
import { Server } from "../../ui/icons.ts";
import { Badge, Card } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";

/** A card with the state of each lane. */
export function Lanes({ lanes }: { readonly lanes: readonly Lane[] }) {
  return (
    <Card title={t("Model processes")}>
      <LaneList lanes={lanes} />
    </Card>
  );
}

/** The state of each lane. */
export function LaneList({ lanes }: { readonly lanes: readonly Lane[] }) {
  if (lanes.length === 0)
    return (
      <Empty icon={Server} title={t("No lanes are known")}>
        {t("A lane is a process with the models. It starts with the server.")}
      </Empty>
    );
  return (
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
  );
}
