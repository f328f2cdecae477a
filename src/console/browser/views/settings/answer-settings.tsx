// Settings for searches and answers.

import { useState } from "preact/hooks";
import type { Project } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Field, Form } from "../../ui/form.tsx";
import { Search } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import { MODES } from "../shared/memory-names.ts";
import { SavedState } from "./saved-state.tsx";

/** Properties of each card of settings. */
export interface SettingsProps {
  readonly project: Project;
  readonly save: (body: object) => Promise<Project>;
}

interface AnswerSettingsProps extends SettingsProps {
  /** Least evidence for an answer, as it is being edited. */
  readonly evidence: number;
  readonly onEvidence: (evidence: number) => void;
}

/** A card with the defaults of searches and answers. */
export function AnswerSettings({ project, save, evidence, onEvidence }: AnswerSettingsProps) {
  const [mode, setMode] = useState<string>(project.default_mode);
  const isSameEvidence = Math.abs(evidence - project.min_evidence) < 0.0005;
  const [superseding, setSuperseding] = useState<string>(project.superseding);
  const isSaved = isSameEvidence && mode === project.default_mode && superseding === project.superseding;
  const percent = Math.round(evidence * 100);
  return (
    <Card title={t("Defaults")} icon={Search} actions={<SavedState isSaved={isSaved} />}>
      <Form
        label={t("Search and answers")}
        verb={t("Save")}
        isIdle={isSaved}
        discard={() => {
          setMode(project.default_mode);
          setSuperseding(project.superseding);
          onEvidence(project.min_evidence);
        }}
        send={async () => {
          await save({
            default_mode: mode,
            superseding,
            ...(!isSameEvidence && { min_evidence: evidence }),
          });
          toast(t("Saved."));
        }}
      >
        <Field
          name="default_mode"
          label={t("Default mode")}
          value={mode}
          onValue={setMode}
          options={MODES.map(([value, what]) => [value, `${value}: ${t(what)}`] as const)}
          hint={t("For searches, questions and chats that name no mode. The more it includes, the better and slower.")}
        />
        <Field
          name="superseding"
          label={t("Relations of memories")}
          value={superseding}
          onValue={setSuperseding}
          options={[
            ["on", t("Automatic: newer statements rank first")],
            ["suggest", t("Suggested: a person decides")],
            ["off", t("Off")],
          ]}
          hint={t("Whether memories that correct or repeat earlier ones are linked to them.")}
        />
        <div class="field">
          <label for="min-evidence">{t("Minimum evidence for an answer")}</label>
          <div class="slider">
            <div class="slider-track">
              <input
                id="min-evidence"
                type="range"
                min={0}
                max={1}
                step={0.01}
                value={evidence}
                style={{ "--share": `${percent}%` }}
                aria-describedby="min-evidence-hint"
                aria-valuetext={`${percent} %`}
                onInput={(event) => onEvidence(Number(event.currentTarget.value))}
              />
              <span class="slider-ends fine" aria-hidden="true">
                <span>{t("answer all")}</span>
                <span>{t("only if certain")}</span>
              </span>
            </div>
            <output class="number" for="min-evidence">
              {percent} %
            </output>
            <button
              type="button"
              class="link"
              onClick={async () => {
                onEvidence((await save({ min_evidence: null })).min_evidence);
                toast(t("Reset to the model's default."));
              }}
            >
              {t("Use the default")}
            </button>
          </div>
          <p class="hint" id="min-evidence-hint">
            {t("Questions with weaker evidence are answered “not stored”.")}
          </p>
        </div>
      </Form>
    </Card>
  );
}
