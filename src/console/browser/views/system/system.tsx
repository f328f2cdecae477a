// The view System: the state of the server. A key with `admin` sees what needs attention, and then queues, sizes, nodes
// and the last backup, each in a line that opens. Any other key sees whether the server is ready, and its lanes.

import type { ComponentChildren } from "preact";
import { call } from "../../core/api.ts";
import type { System as SystemState } from "../../core/calls.ts";
import { bytesText, dayText, numberText, timeText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { server } from "../../core/server.ts";
import { rights } from "../../core/session.ts";
import type { Icon } from "../../ui/button.tsx";
import { Clock, Cpu, HardDrive, Network, Server } from "../../ui/icons.ts";
import { Ago, Badge, Card, Facts, Id, Meter, PageHead } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Attention } from "./attention.tsx";
import { LaneList, Lanes } from "./lanes.tsx";
import { Minute } from "./minute.tsx";
import { NEARLY_FULL, usedShareOf } from "./problems.ts";

/** Polling interval in milliseconds. */
const POLL_MS = 5_000;

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
          <Ready />
          <Lanes lanes={server.value.lanes} />
        </>
      )}
    </div>
  );
}

const READY_TEXTS: Readonly<Record<string, () => string>> = {
  connecting: () => t("Connecting…"),
  ready: () => t("The server is ready."),
  waiting: () => t("The server is not ready: {status}", { status: server.value.status }),
  unreachable: () => t("The server does not answer."),
};

/** Whether the server is ready, with what limits it. */
function Ready() {
  const { state, warnings } = server.value;
  return (
    <Card title={t("Health")} icon={Server}>
      <div class="stack">
        <p class="row">
          <span class={`dot ${state}`} /> {READY_TEXTS[state]?.()}
        </p>
        {warnings.map((warning) => (
          <p key={warning} class="fine">
            {warning}
          </p>
        ))}
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
          {server.value.state !== "ready" && <p class="banner wide">{READY_TEXTS[server.value.state]?.()}</p>}
          <Attention state={state} />
          <Minute state={state} />
          <Card class="system-parts" label={t("Parts of the server")}>
            <Process state={state} />
            <Queue state={state} />
            <Disk state={state} />
            <Nodes state={state} />
            <Processes state={state} />
          </Card>
        </>
      )}
    </Loaded>
  );
}

interface PartProps {
  readonly title: string;
  readonly icon: Icon;
  /** What there is to know without opening it. */
  readonly brief: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of the server: one line, which opens. */
function Part({ title, icon: Shown, brief, children }: PartProps) {
  return (
    <details>
      <summary>
        <Shown size={16} aria-hidden="true" />
        <h2>{title}</h2>
        <span class="fine number">{brief}</span>
      </summary>
      <div class="part-body">{children}</div>
    </details>
  );
}

interface StateProps {
  readonly state: SystemState;
}

function Process({ state: { version, started_at: started, threads, memory } }: StateProps) {
  return (
    <Part
      title={t("Server")}
      icon={Server}
      brief={`${version} · ${t("running since {time}", { time: dayText(started) })}`}
    >
      <Facts
        rows={[
          [t("Version"), version],
          [t("Running since"), timeText(started)],
          [t("Answering threads"), threads.map(({ id, state: thread }) => `${id}: ${thread}`).join(", ")],
          [t("RAM used by the server"), bytesText(memory.rss_bytes)],
          [t("Free RAM"), bytesText(memory.free_bytes)],
        ]}
      />
    </Part>
  );
}

function Queue({ state: { queue } }: StateProps) {
  const waiting = queue.searches_waiting + queue.memories_processing + queue.relations_waiting;
  return (
    <Part
      title={t("Queues")}
      icon={Clock}
      brief={waiting === 0 ? t("nothing waits") : t("{n} waiting", { n: numberText(waiting) })}
    >
      <Facts
        rows={[
          [t("Searches in progress"), numberText(queue.searches_in_progress)],
          [t("Searches waiting"), numberText(queue.searches_waiting)],
          [t("Memories being processed"), numberText(queue.memories_processing)],
          [t("Memories failed"), numberText(queue.memories_failed)],
          [t("Relation checks waiting"), numberText(queue.relations_waiting)],
        ]}
      />
    </Part>
  );
}

function Disk({ state: { stores, disk, last_backup_at: backup } }: StateProps) {
  const largest = Math.max(1, ...stores.map(({ bytes }) => bytes));
  const used = usedShareOf(disk);
  const tone = disk.is_full ? "bad" : used > NEARLY_FULL ? "warn" : "";
  const usedText = `${t("{n} % used", { n: Math.round(used * 100) })} · ${t("{free} free", {
    free: bytesText(disk.free_bytes),
  })}`;
  return (
    <Part title={t("Stores and disk")} icon={HardDrive} brief={usedText}>
      <div class="stack">
        <Meter label={t("Disk used")} share={used} tone={tone} />
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
        <Facts
          rows={[
            [t("Last backup"), backup === null ? t("none yet") : <Ago time={backup} />],
            [t("Back up"), <Id key="backup" text="mneme backup" />],
            [t("Check all stores"), <Id key="verify" text="mneme verify" />],
          ]}
        />
        <p class="fine">{t("Run these commands on the server.")}</p>
      </div>
    </Part>
  );
}

function Nodes({ state: { nodes } }: StateProps) {
  const up = nodes.filter(({ state }) => state === "up").length;
  return (
    <Part title={t("Nodes")} icon={Network} brief={t("{n} of {total} up", { n: up, total: nodes.length })}>
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
    </Part>
  );
}

function Processes({ state: { lanes } }: StateProps) {
  const up = lanes.filter(({ status }) => status === "up").length;
  const bytes = lanes.reduce((sum, { rss_bytes: own }) => sum + own, 0);
  return (
    <Part
      title={t("Model processes")}
      icon={Cpu}
      brief={`${t("{n} of {total} up", { n: up, total: lanes.length })} · ${bytesText(bytes)}`}
    >
      <LaneList lanes={lanes} />
    </Part>
  );
}
