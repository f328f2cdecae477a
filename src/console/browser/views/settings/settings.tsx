// The view Settings: a tab per subject (search and answers, language model, embedding model, storage).

import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf } from "../../core/router.ts";
import { project as current } from "../../core/session.ts";
import { PageHead, Tabs } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { AnswerSettings } from "./answer-settings.tsx";
import { EmbedderSettings } from "./embedder-settings.tsx";
import { EvidencePreview } from "./evidence-preview.tsx";
import { LlmSettings } from "./llm-settings.tsx";
import { StorageSettings } from "./storage-settings.tsx";
import { VectorSettings } from "./vector-settings.tsx";

/** The view Settings. */
export default function Settings() {
  const project = useResource((signal) => call("getOwnProject", { signal }), []);
  const tab = filterOf("tab") || "answers";
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
          ["answers", t("Search and answers")],
          ["llm", t("Language model")],
          ["embedder", t("Embeddings")],
          ["storage", t("Files, retention and plan")],
        ]}
      />
      <Loaded from={project} lines={8}>
        {(value) => {
          const save = async (body: object) => {
            const saved = await call("updateOwnProject", { body });
            project.set(saved);
            current.value = saved;
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
              ) : (
                <>
                  <AnswerSettings project={value} save={save} />
                  <EvidencePreview project={value} />
                </>
              )}
            </div>
          );
        }}
      </Loaded>
    </div>
  );
}
