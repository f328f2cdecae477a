// Settings for searches and answers.

import { useState } from "preact/hooks";
import type { Project } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Search } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import { MODES } from "../shared/memory-names.ts";

/** Properties of each card of settings. */
export interface SettingsProps {
  readonly project: Project;
  readonly save: (body: object) => Promise<void>;
}

/** A card with the settings for searches and answers. */
export function AnswerSettings({ project, save }: SettingsProps) {
  const [name, setName] = useState(project.name);
  const [mode, setMode] = useState<string>(project.default_mode);
  const [evidence, setEvidence] = useState(String(Number(project.min_evidence.toFixed(3))));
  const [superseding, setSuperseding] = useState<string>(project.superseding);
  const [zone, setZone] = useState(project.time_zone ?? "");
  return (
    <Card title={t("Search and answers")} icon={Search}>
      <Form
        label={t("Search and answers")}
        verb={t("Save")}
        beside={
          <Button
            run={async () => {
              await save({ min_evidence: null });
              toast(t("Reset to the model's default."));
            }}
          >
            {t("Default evidence")}
          </Button>
        }
        send={async () => {
          await save({
            name: name.trim(),
            default_mode: mode,
            superseding,
            time_zone: zone.trim() || null,
            ...(Number(evidence) !== Number(project.min_evidence.toFixed(3)) && { min_evidence: Number(evidence) }),
          });
          toast(t("Saved."));
        }}
      >
        <Field name="name" label={t("Project name")} value={name} onValue={setName} />
        <Field
          name="default_mode"
          label={t("Default mode")}
          value={mode}
          onValue={setMode}
          options={MODES.map(([value, what]) => [value, `${value}: ${t(what)}`] as const)}
        />
        <Field
          name="superseding"
          label={t("Relations of memories")}
          value={superseding}
          onValue={setSuperseding}
          options={[
            ["on", t("found, and the newer statement stands first")],
            ["suggest", t("suggested, a person decides")],
            ["off", t("none are found")],
          ]}
        />
        <Field
          name="time_zone"
          label={t("Time zone")}
          value={zone}
          onValue={setZone}
          placeholder="Europe/Zurich"
          hint={t("Decides what “yesterday” means, unless a user has their own time zone")}
        />
        <Field
          name="min_evidence"
          label={t("Minimum evidence for an answer")}
          type="number"
          min={0}
          max={1}
          step={0.01}
          value={evidence}
          onValue={setEvidence}
          hint={t("Questions with weaker evidence are answered “not stored”")}
        />
      </Form>
    </Card>
  );
}
