// The settings of the project: search and answers, language model, embedding model, retention.

import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { project as current } from "../../core/session.ts";
import { PageHead } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { AnswerSettings } from "./answer-settings.tsx";
import { EmbedderSettings } from "./embedder-settings.tsx";
import { LlmSettings } from "./llm-settings.tsx";
import { StorageSettings } from "./storage-settings.tsx";

/** The view. */
export default function Settings() {
  const project = useResource((signal) => call("getOwnProject", { signal }), []);
  return (
    <div class="view">
      <PageHead
        title={t("Settings")}
        text={t("They hold for this project: {name}", { name: current.value?.name ?? "" })}
      />
      <Loaded from={project} lines={8}>
        {(value) => {
          const save = async (body: object) => {
            const saved = await call("updateOwnProject", { body });
            project.set(saved);
            current.value = saved;
          };
          return (
            <div class="columns settings">
              <AnswerSettings project={value} save={save} />
              <LlmSettings project={value} save={save} />
              <EmbedderSettings />
              <StorageSettings project={value} save={save} />
            </div>
          );
        }}
      </Loaded>
    </div>
  );
}
