// The name, time zone and plan of the project.

import { useState } from "preact/hooks";
import { t } from "../../core/i18n.ts";
import { rights } from "../../core/session.ts";
import { Field, Form } from "../../ui/form.tsx";
import { FolderKanban } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import type { SettingsProps } from "./answer-settings.tsx";

const PLANS = ["free", "starter", "pro", "enterprise"] as const;

/** The card. */
export function GeneralSettings({ project, save }: SettingsProps) {
  const [name, setName] = useState(project.name);
  const [zone, setZone] = useState(project.time_zone ?? "");
  const [plan, setPlan] = useState<string>(project.plan);
  const isAdmin = rights.value?.admin === true;
  return (
    <Card title={t("Project")} icon={FolderKanban}>
      <Form
        label={t("Project")}
        verb={t("Save")}
        isIdle={name === project.name && zone === (project.time_zone ?? "") && plan === project.plan}
        disabled={name.trim() === ""}
        send={async () => {
          await save({
            name: name.trim(),
            time_zone: zone.trim() || null,
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
          placeholder="UTC"
          suggestions={Intl.supportedValuesOf("timeZone")}
          hint={t("Decides what “yesterday” means, unless a user has their own time zone")}
        />
        <Field
          name="plan"
          label={t("Plan")}
          value={plan}
          onValue={setPlan}
          options={PLANS.map((one) => [one, one] as const)}
          disabled={!isAdmin}
          hint={isAdmin ? undefined : t("Only a key with admin can change it")}
        />
      </Form>
    </Card>
  );
}
