// Settings of searches and answers, with a preview of the evidence that real questions have.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Project } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Play, Search } from "../../ui/icons.ts";
import { Badge, Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import { MODES } from "../shared/memory-names.ts";

/** What each card of settings gets. */
export interface SettingsProps {
  readonly project: Project;
  readonly save: (body: object) => Promise<void>;
}

const QUESTIONS_MAX = 5;

/** The card. */
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
              toast(t("The default of the model holds again."));
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
        <Field name="name" label={t("Name of the project")} value={name} onValue={setName} />
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
          hint={t("In it “yesterday” is read, unless a user has their own")}
        />
        <Field
          name="min_evidence"
          label={t("Least evidence of an answer, 0 to 1")}
          type="number"
          min={0}
          max={1}
          step={0.01}
          value={evidence}
          onValue={setEvidence}
          hint={t("With less, the answer is that nothing stored says it")}
        />
      </Form>
      {rights.value?.memoriesRead && <EvidencePreview least={Number(evidence)} mode={mode} />}
    </Card>
  );
}

/** The evidence of questions, one a line, beside the threshold. */
function EvidencePreview({ least, mode }: { readonly least: number; readonly mode: string }) {
  const [questions, setQuestions] = useState("");
  const [found, setFound] = useState<readonly { question: string; evidence: number | null }[]>([]);
  const lines = questions
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(0, QUESTIONS_MAX);
  const run = async () => {
    const answers: { question: string; evidence: number | null }[] = [];
    for (const question of lines) {
      const readMode = mode === "precise" ? "precise" : "balanced"; // the modes that read passages with `explain`
      const { explain } = await call("searchMemories", { body: { query: question, mode: readMode, explain: true } });
      answers.push({ question, evidence: explain?.evidence ?? null });
    }
    setFound(answers);
  };
  return (
    <div class="stack tight preview">
      <Field
        name="questions"
        label={t("Try it on questions, one a line (at most {n})", { n: QUESTIONS_MAX })}
        lines={3}
        value={questions}
        onValue={setQuestions}
      />
      <div class="row">
        <Button icon={Play} disabled={lines.length === 0} run={run}>
          {t("Show their evidence")}
        </Button>
      </div>
      <ul class="list stack tight">
        {found.map(({ question, evidence }) => {
          const isAnswered = (evidence ?? 0) >= least && evidence !== null;
          return (
            <li key={question} class="row between">
              <span class="grow" dir="auto">
                {question}
              </span>
              <span class="number">{evidence === null ? "–" : evidence.toFixed(2)}</span>
              <Badge tone={isAnswered ? "good" : "warn"}>{isAnswered ? t("answered") : t("refused")}</Badge>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
