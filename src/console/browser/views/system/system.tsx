// The view System: the state of the server. A key with `admin` sees queues, sizes, nodes and the last backup. Any other
// key sees whether the server is ready, and its lanes.

import { call } from "../../core/api.ts";
import type { System as SystemState } from "../../core/calls.ts";
import { bytesText, numberText, timeText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { server } from "../../core/server.ts";
import { rights } from "../../core/session.ts";
import { Boxes, Clock, Network, Server } from "../../ui/icons.ts";
import { Ago, Badge, Card, Facts, Id, Meter, PageHead } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Lanes } from "./lanes.tsx";
import { Minute } from "./minute.tsx";

/** Polling interval in milliseconds. */
const POLL_MS = 5_000;
/** Used share of the disk from which on it is shown as nearly full. */
const NEARLY_FULL = 0.9;

/** The view System. */
export default function System() {
  const mayRead = rights.value?.admin === true && !rights.value.isConfined;
  return (
    <div class="view">
      <PageHead title={t("System")} text={t("Server status, refreshed every few seconds.")} />
      {mayRead ? (
        <Everything />
      ) : (
        <>
          <Health />
          <Lanes lanes={server.value.lanes} />
        </>
      )}
    </div>
  );
}

function Health({ state }: { readonly state?: SystemState }) {
  const { state: ready, status, warnings } = server.value;
  const texts = {
    connecting: t("Connecting…"),
    ready: t("The server is ready."),
    waiting: t("The server is not ready: {status}", { status }),
    unreachable: t("The server does not answer."),
  };
  return (
    <Card title={t("Health")} icon={Server}>
      <div class="stack">
        <p class="row">
          <span class={`dot ${ready}`} /> {texts[ready]}
        </p>
        {warnings.map((warning) => (
          <p key={warning} class="fine">
            {warning}
          </p>
        ))}
        {state !== undefined && (
          <Facts
            rows={[
              [t("Version"), state.version],
              [t("Running since"), timeText(state.started_at)],
              [t("Answering threads"), state.threads.map(({ id, state: thread }) => `${id}: ${thread}`).join(", ")],
              [t("RAM used by the server"), bytesText(state.memory.rss_bytes)],
              [t("Free RAM"), bytesText(state.memory.free_bytes)],
            ]}
          />
        )}
      </div>
    </Card>
  );
}

function Everything() {
  const system = useResource(
    (signal) => call("getSystem", { signal }),
    [],
    () => POLL_MS,
  );
  return (
    <Loaded from={system} lines={10}>
      {(state) => (
        <>
          <Minute state={state} />
          <div class="columns system">
            <Health state={state} />
            <Queue state={state} />
            <Disk state={state} />
            <div class="stack start">
              <Nodes state={state} />
              <Lanes lanes={state.lanes} />
            </div>
          </div>
        </>
      )}
    </Loaded>
  );
}

function Queue({ state: { queue } }: { readonly state: SystemState }) {
  return (
    <Card title={t("Queues")} icon={Clock}>
      <Facts
        rows={[
          [t("Searches in progress"), numberText(queue.searches_in_progress)],
          [t("Searches waiting"), numberText(queue.searches_waiting)],
          [t("Memories being processed"), numberText(queue.memories_processing)],
          [
            t("Memories failed"),
            queue.memories_failed > 0 ? (
              <a key="failed" class="bad-text" href={to(["memories"], { status: "failed" })}>
                {numberText(queue.memories_failed)}
              </a>
            ) : (
              "0"
            ),
          ],
          [t("Relation checks waiting"), numberText(queue.relations_waiting)],
        ]}
      />
    </Card>
  );
}

function Disk({ state: { stores, disk, last_backup_at: backup } }: { readonly state: SystemState }) {
  const largest = Math.max(1, ...stores.map(({ bytes }) => bytes));
  const used = disk.total_bytes === 0 ? 0 : 1 - disk.free_bytes / disk.total_bytes;
  const tone = disk.is_full ? "bad" : used > NEARLY_FULL ? "warn" : "";
  return (
    <Card title={t("Stores and disk")} icon={Boxes}>
      <div class="stack">
        <ul class="list stack tight sizes">
          {stores.map(({ name, bytes }) => (
            <li key={name}>
              <span class="cut">{name}</span>
              <span class="size-bar" aria-hidden="true">
                <span style={{ width: `${Math.round((bytes / largest) * 100)}%` }} />
              </span>
              <span class="fine number">{bytesText(bytes)}</span>
            </li>
          ))}
        </ul>
        <div class="disk">
          <div class="heading-row">
            <h3>{t("Disk")}</h3>
            <span class="fine number">
              {t("{n} % used", { n: Math.round(used * 100) })} ·{" "}
              {t("{free} free", { free: bytesText(disk.free_bytes) })}
            </span>
          </div>
          <Meter label={t("Disk used")} share={used} tone={tone} />
        </div>
        {disk.is_full && (
          <p class="banner">{t("The disk is full: new data is refused. Free space, or delete memories.")}</p>
        )}
        <Facts
          rows={[
            [t("Last backup"), backup === null ? <Badge tone="warn">{t("none yet")}</Badge> : <Ago time={backup} />],
            [t("Back up"), <Id key="backup" text="mneme backup" />],
            [t("Check all stores"), <Id key="verify" text="mneme verify" />],
          ]}
        />
        <p class="fine">{t("Run these commands on the server.")}</p>
      </div>
    </Card>
  );
}

function Nodes({ state: { nodes } }: { readonly state: SystemState }) {
  return (
    <Card title={t("Nodes")} icon={Network}>
      <ul class="list rows">
        {nodes.map(({ id, name, role, version, state, seen_at: seen }) => (
          <li key={id}>
            <span class={`dot ${state === "up" ? "ready" : "unreachable"}`} />
            <span class="cut" title={id}>
              {name}
            </span>
            <Badge>{role}</Badge>
            <span class="fine">{state === "up" ? version : <Ago time={seen} />}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
