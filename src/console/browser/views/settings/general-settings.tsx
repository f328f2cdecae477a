// The name, time zone and plan of the project, what it has used of the plan, and where it is copied or deleted.

import { useMemo, useState } from "preact/hooks";
import { PLAN_NAMES, type Plan } from "../../../../domain/project.ts";
import { call } from "../../core/api.ts";
import type { Project, Usage } from "../../core/calls.ts";
import { nowMs } from "../../core/clock.ts";
import { bytesText, dayText, numberText, timeInZone } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { rights } from "../../core/session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Database, FolderKanban } from "../../ui/icons.ts";
import { Card, CopyButton, Id, Meter } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import { planText } from "../shared/plans.ts";
import type { SettingsProps } from "./answer-settings.tsx";
import { SavedState } from "./saved-state.tsx";

/** Share of a quota above which its bar has a warning colour. */
const WARNING_SHARE = 0.8;

/** The cards. */
export function GeneralSettings({ project, save }: SettingsProps) {
  return (
    <>
      <Names project={project} save={save} />
      <Data project={project} />
    </>
  );
}

function Names({ project, save }: SettingsProps) {
  const [name, setName] = useState(project.name);
  const [zone, setZone] = useState(project.time_zone ?? "");
  const [plan, setPlan] = useState<Plan>(project.plan);
  const isAdmin = rights.value?.admin === true;
  const isSaved = name === project.name && zone === (project.time_zone ?? "") && plan === project.plan;
  const zones = useMemo(() => zonesByRegion(zone), []);
  return (
    <Card title={t("Project")} icon={FolderKanban} actions={<SavedState isSaved={isSaved} />}>
      <Form
        label={t("Project")}
        verb={t("Save")}
        isIdle={isSaved}
        disabled={name.trim() === ""}
        discard={() => {
          setName(project.name);
          setZone(project.time_zone ?? "");
          setPlan(project.plan);
        }}
        send={async () => {
          await save({
            name: name.trim(),
            time_zone: zone || null,
            ...(isAdmin && plan !== project.plan && { plan }),
          });
          toast(t("Saved."));
        }}
      >
        <Field name="name" label={t("Project name")} value={name} onValue={setName} />
        <Field
          name="time_zone"
          label={t("Time zone")}
          value={zone}
          onValue={setZone}
          options={[["", t("UTC (default)")]]}
          groups={zones}
          hint={`${t("Decides what “yesterday” means, unless a user has their own time zone.")} ${t(
            "It is {time} there.",
            {
              time: timeInZone(nowMs(), zone || "UTC"),
            },
          )}`}
        />
        <Field
          name="plan"
          label={t("Plan")}
          value={plan}
          onValue={(one) => setPlan(one as Plan)}
          options={PLAN_NAMES.map((one) => [one, one] as const)}
          disabled={!isAdmin}
          hint={`${planText(plan)}${isAdmin ? "" : ` ${t("Only a key with admin can change it.")}`}`}
        />
      </Form>
    </Card>
  );
}

/** Zones by the part of their name before the slash. @param own a zone that is listed even if it is unknown here */
function zonesByRegion(own: string): readonly (readonly [string, readonly (readonly [string, string])[]])[] {
  const regions = new Map<string, (readonly [string, string])[]>();
  for (const zone of new Set([...Intl.supportedValuesOf("timeZone"), own])) {
    if (zone === "" || zone === "UTC") continue;
    const [region = "", place] = zone.split(/\/(.*)/s);
    const options = regions.get(region) ?? [];
    options.push([zone, (place ?? zone).replaceAll("_", " ").replaceAll("/", ", ")]);
    regions.set(region, options);
  }
  return [...regions];
}

function Data({ project }: { readonly project: Project }) {
  const isAdmin = rights.value?.admin === true;
  const usage = useResource(
    async (signal) => (rights.value?.usage === true ? await call("getUsage", { signal }) : null),
    [project.plan],
  );
  return (
    <Card title={t("Data of the project")} icon={Database}>
      <dl class="setting-rows">
        <div>
          <dt>{t("Project id")}</dt>
          <dd>
            <Id text={project.id} />
          </dd>
        </div>
        {rights.value?.usage === true && usage.error === undefined && <Used usage={usage.value ?? null} />}
        {isAdmin && (
          <div>
            <dt>
              {t("Export")}
              <p class="hint">{t("Writes memories, users, chats and settings to a file, on the server.")}</p>
            </dt>
            <dd class="command">
              <code dir="ltr">{exportCommand(project)}</code>
              <CopyButton text={exportCommand(project)} small label={t("Copy the command")} />
            </dd>
          </div>
        )}
        {isAdmin && (
          <div>
            <dt>
              {t("Delete the project")}
              <p class="hint">{t("Open another project first. Then delete this one in the list of projects.")}</p>
            </dt>
            <dd>
              <LinkButton href="#/projects" icon={FolderKanban}>
                {t("Projects")}
              </LinkButton>
            </dd>
          </div>
        )}
      </dl>
    </Card>
  );
}

function exportCommand({ id }: Project): string {
  return `mneme export project.jsonl.gz --project ${id}`;
}

/** What the project has used of its plan. @param usage null: it is being read */
function Used({ usage }: { readonly usage: Usage | null }) {
  const amounts = [
    [t("Memories"), usage?.documents, numberText],
    [t("Storage"), usage?.storage_bytes, bytesText],
    [t("Questions this month"), usage?.queries, numberText],
  ] as const;
  const day = usage === null ? "…" : dayText(usage.period.end);
  return (
    <div>
      <dt>
        {t("Used of the plan")}
        <p class="hint">{t("Questions are counted anew on {day}.", { day })}</p>
      </dt>
      <dd class="used">
        {amounts.map(([label, quota, text]) => (
          <div key={label}>
            <p class="fine">{label}</p>
            {quota === undefined ? <p>…</p> : <Amount label={label} quota={quota} text={text} />}
          </div>
        ))}
      </dd>
    </div>
  );
}

interface AmountProps {
  readonly label: string;
  readonly quota: Usage["queries"];
  readonly text: (value: number) => string;
}

function Amount({ label, quota: { used, limit }, text }: AmountProps) {
  const share = used / Math.max(1, limit ?? 1);
  return (
    <>
      <p class="number">
        {text(used)} {limit !== null && <span class="fine">{t("of {limit}", { limit: text(limit) })}</span>}
      </p>
      {limit !== null && <Meter label={label} share={share} tone={share > WARNING_SHARE ? "warn" : ""} />}
    </>
  );
}
