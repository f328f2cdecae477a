// A preview of the evidence threshold: which of a person's questions would be answered, and which refused.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Project } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { ListChecks, Play, Target } from "../../ui/icons.ts";
import { Badge, Card, Meter } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";

/** Maximum number of questions of one preview. Each costs a search. */
const QUESTIONS_MAX = 10;

interface Tried {
  readonly question: string;
  /** Evidence of the best passage, 0 to 1; null if no passage was read. */
  readonly evidence: number | null;
}

/** A card with the preview; nothing for a key that may not search. */
export function EvidencePreview({ project, least }: { readonly project: Project; readonly least: number }) {
  const [questions, setQuestions] = useState("");
  const [tried, setTried] = useState<readonly Tried[]>([]);
  const lines = questions
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(0, QUESTIONS_MAX);
  if (rights.value?.memoriesRead !== true) return null;
  const run = async () => {
    const mode = project.default_mode === "precise" ? "precise" : "balanced"; // only these modes read passages
    const found: Tried[] = [];
    for (const question of lines) {
      const { explain } = await call("searchMemories", { body: { query: question, mode, explain: true } });
      found.push({ question, evidence: explain?.evidence ?? null });
      setTried([...found]);
    }
  };
  const takeCases = async () => {
    const { data } = await call("listCases", { query: { limit: QUESTIONS_MAX } });
    if (data.length === 0) toast(t("No cases yet"));
    else setQuestions(data.map(({ query }) => query).join("\n"));
  };
  const answered = tried.filter(({ evidence }) => evidence !== null && evidence >= least).length;
  return (
    <Card title={t("Preview on your questions")} icon={Target}>
      <div class="stack">
        <Field
          name="questions"
          label={t("Questions, one per line (up to {n})", { n: QUESTIONS_MAX })}
          lines={5}
          placeholder={t("When does Lena like to meet?")}
          value={questions}
          onValue={setQuestions}
        />
        <div class="row">
          <Button icon={Play} disabled={lines.length === 0} run={run}>
            {t("Check the evidence")}
          </Button>
          <Button kind="ghost" icon={ListChecks} run={takeCases}>
            {t("Use the saved cases")}
          </Button>
        </div>
        {tried.length > 0 && (
          <>
            <p class="fine" role="status">
              {t("Minimum evidence: {n} %", { n: Math.round(least * 100) })} ·{" "}
              {t("{n} of {total} would be answered", { n: answered, total: tried.length })}
            </p>
            <ul class="list stack tight tried">
              {tried.map(({ question, evidence }) => {
                const isAnswered = evidence !== null && evidence >= least;
                return (
                  <li key={question}>
                    <span dir="auto">{question}</span>
                    <Meter label={t("Evidence for an answer")} share={evidence ?? 0} tone={isAnswered ? "" : "warn"} />
                    <span class="number">{evidence === null ? "–" : `${Math.round(evidence * 100)} %`}</span>
                    <Badge tone={isAnswered ? "good" : "warn"}>{isAnswered ? t("answered") : t("refused")}</Badge>
                  </li>
                );
              })}
            </ul>
          </>
        )}
      </div>
    </Card>
  );
}
