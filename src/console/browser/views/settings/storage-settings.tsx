// Settings for storage: whether uploaded files are kept, how long deleted memories and earlier texts are, and the plan.

import { useState } from "preact/hooks";
import { t } from "../../core/i18n.ts";
import { rights } from "../../core/session.ts";
import { CheckField, Field, Form } from "../../ui/form.tsx";
import { History } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import type { SettingsProps } from "./answer-settings.tsx";

const PLANS = ["free", "starter", "pro", "enterprise"] as const;

/** A card with the settings for storage. */
export function StorageSettings({ project, save }: SettingsProps) {
  const [days, setDays] = useState(String(project.retention_days));
  const [plan, setPlan] = useState<string>(project.plan);
  const [ocr, setOcr] = useState<string>(project.ocr);
  const [keepsFiles, setKeepsFiles] = useState(project.keep_files);
  const isAdmin = rights.value?.admin === true;
  return (
    <Card title={t("Files, retention and plan")} icon={History}>
      <Form
        label={t("Files, retention and plan")}
        verb={t("Save")}
        send={async () => {
          await save({
            retention_days: Number(days),
            ocr,
            keep_files: keepsFiles,
            ...(isAdmin && plan !== project.plan && { plan }),
          });
          toast(t("Saved."));
        }}
      >
        <Field
          name="retention_days"
          label={t("Days to keep deleted memories and earlier versions")}
          type="number"
          min={0}
          value={days}
          onValue={setDays}
          hint={t("0 deletes them immediately")}
        />
        <Field
          name="ocr"
          label={t("Text in images and scans (OCR)")}
          value={ocr}
          onValue={setOcr}
          options={[
            ["auto", t("is read, if the models for it are installed")],
            ["off", t("is left out")],
          ]}
        />
        <CheckField
          label={t("Keep the originals of uploaded files")}
          hint={t("For download in the view of the memory; they count as storage. Holds for files from now on")}
          checked={keepsFiles}
          onChecked={setKeepsFiles}
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
