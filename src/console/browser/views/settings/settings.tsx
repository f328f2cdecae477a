// The view Settings: a tab per subject (search and answers, language model, embedding model, storage).

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf } from "../../core/router.ts";
import { project as current } from "../../core/session.ts";
import { PageHead, Tabs } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { AnswerSettings, type SettingsProps } from "./answer-settings.tsx";
import { EmbedderSettings } from "./embedder-settings.tsx";
import { EvidencePreview } from "./evidence-preview.tsx";
import { GeneralSettings } from "./general-settings.tsx";
import { LlmSettings } from "./llm-settings.tsx";
import { StorageSettings } from "./storage-settings.tsx";
import { VectorSettings } from "./vector-settings.tsx";

/** The view Settings. */
export default function Settings() {
  const project = useResource((signal) => call("getOwnProject", { signal }), []);
  const tab = filterOf("tab") || "general";
  return (
    <div class="view">
      <PageHead
        title={t("Settings")}
        text={t("They apply to the project {name} only.", { name: `“${current.value?.name ?? ""}”` })}
      />
      <Tabs
        label={t("Subject")}
        current={tab}
        tabs={[
          ["general", t("General")],
          ["answers", t("Search and answers")],
          ["llm", t("Language model")],
          ["embedder", t("Embeddings")],
          ["storage", t("Files and retention")],
        ]}
      />
      <Loaded from={project} lines={8}>
        {(value) => {
          const save = async (body: object) => {
            const saved = await call("updateOwnProject", { body });
            project.set(saved);
            current.value = saved;
            return saved;
          };
          return (
            <div class="columns settings" key={tab}>
              {tab === "llm" ? (
                <LlmSettings project={value} save={save} />
              ) : tab === "embedder" ? (
                <>
                  <EmbedderSettings project={value} onProject={project.set} />
                  <VectorSettings project={value} save={save} />
                </>
              ) : tab === "storage" ? (
                <StorageSettings project={value} save={save} />
              ) : tab === "answers" ? (
                <Answers project={value} save={save} />
              ) : (
                <GeneralSettings project={value} save={save} />
              )}
            </div>
          );
        }}
      </Loaded>
    </div>
  );
}

/** The settings of searches and answers, beside what they do to real questions. */
function Answers({ project, save }: SettingsProps) {
  const [evidence, setEvidence] = useState(project.min_evidence);
  return (
    <>
      <AnswerSettings project={project} save={save} evidence={evidence} onEvidence={setEvidence} />
      <EvidencePreview project={project} least={evidence} />
    </>
  );
}
