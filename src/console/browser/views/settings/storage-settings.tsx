// Settings for storage: whether uploaded files are kept, how long deleted memories and earlier texts are, and the plan.

import { useState } from "preact/hooks";
import { t } from "../../core/i18n.ts";
import { confirm } from "../../ui/dialog.tsx";
import { CheckField, Field, Form } from "../../ui/form.tsx";
import { History } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import type { SettingsProps } from "./answer-settings.tsx";
import { SavedState } from "./saved-state.tsx";

/** A card with the settings for storage. */
export function StorageSettings({ project, save }: SettingsProps) {
  const [days, setDays] = useState(String(project.retention_days));
  const [ocr, setOcr] = useState<string>(project.ocr);
  const [keepsFiles, setKeepsFiles] = useState(project.keep_files);
  const isSaved = days === String(project.retention_days) && ocr === project.ocr && keepsFiles === project.keep_files;
  const store = async () => {
    await save({ retention_days: Number(days), ocr, keep_files: keepsFiles });
    toast(t("Saved."));
  };
  const send = async () => {
    if (Number(days) !== 0 || project.retention_days === 0) return store();
    confirm({
      title: t("Delete immediately from now on?"),
      text: t(
        "Deleted memories and earlier versions that are still kept are removed for good, and cannot be restored.",
      ),
      verb: t("Delete immediately"),
      destroys: true,
      run: store,
    });
  };
  return (
    <Card title={t("What is kept")} icon={History} actions={<SavedState isSaved={isSaved} />}>
      <Form
        label={t("Files and retention")}
        verb={t("Save")}
        isIdle={isSaved}
        discard={() => {
          setDays(String(project.retention_days));
          setOcr(project.ocr);
          setKeepsFiles(project.keep_files);
        }}
        send={send}
      >
        <Field
          name="retention_days"
          label={t("Keep deleted memories and earlier versions for")}
          type="number"
          min={0}
          unit={t("days")}
          value={days}
          onValue={setDays}
          hint={t("Until then they can be restored. 0 deletes them immediately.")}
        />
        <Field
          name="ocr"
          label={t("Text in images and scans (OCR)")}
          value={ocr}
          onValue={setOcr}
          options={[
            ["auto", t("Read it if the OCR models are installed")],
            ["off", t("Off")],
          ]}
          hint={t("Makes scanned pages and photos of text searchable.")}
        />
        <CheckField
          label={t("Keep the originals of uploaded files")}
          isSwitch
          hint={t(
            "The page of a memory then offers its file. Originals count as storage. Files sent before stay as they are.",
          )}
          checked={keepsFiles}
          onChecked={setKeepsFiles}
        />
      </Form>
    </Card>
  );
}
