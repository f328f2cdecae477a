// Settings for vector search: scan or graph, and the progress of building the graph.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { VectorIndex } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { Field, Form } from "../../ui/form.tsx";
import { Network } from "../../ui/icons.ts";
import { Card, Meter } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import type { SettingsProps } from "./answer-settings.tsx";
import { SavedState } from "./saved-state.tsx";

/** Polling interval in milliseconds while a graph is being built. */
const POLL_MS = 3_000;

/** A card with the settings for vector search. */
export function VectorSettings({ project, save }: SettingsProps) {
  const [chosen, setChosen] = useState<string>(project.vector_index);
  const index = useResource(
    (signal) => call("getVectorIndex", { signal }),
    [project.vector_index],
    ({ build }) => (build?.state === "building" ? POLL_MS : null),
  );
  return (
    <Card title={t("Vector search")} icon={Network} actions={<SavedState isSaved={chosen === project.vector_index} />}>
      <div class="stack">
        <Form
          label={t("Vector search")}
          verb={t("Save")}
          isIdle={chosen === project.vector_index}
          discard={() => setChosen(project.vector_index)}
          send={async () => {
            await save({ vector_index: chosen });
            toast(t("Saved."));
          }}
        >
          <Field
            name="vector_index"
            label={t("Method")}
            value={chosen}
            onValue={setChosen}
            options={[
              ["auto", t("Automatic")],
              ["scan", t("Exact scan")],
              ["hnsw", t("Graph (HNSW)")],
            ]}
            hint={t(
              "A scan compares all vectors and is exact. A graph is faster with millions of passages and needs more RAM; it is built in the background. Automatic uses the graph from 5 million passages on.",
            )}
          />
        </Form>
        <Loaded from={index} lines={1}>
          {(value) => <IndexState index={value} />}
        </Loaded>
      </div>
    </Card>
  );
}

function IndexState({ index: { active, build } }: { readonly index: VectorIndex }) {
  return (
    <>
      <dl class="setting-rows">
        <div>
          <dt>{t("In use")}</dt>
          <dd>{active === "hnsw" ? t("the graph") : t("an exact scan")}</dd>
        </div>
      </dl>
      {build?.state === "building" && (
        <>
          <Meter label={t("Vectors in the graph")} share={build.vectors_done / Math.max(1, build.vectors_total)} />
          <p class="fine number">
            {t("{n} of {total} vectors", {
              n: numberText(build.vectors_done),
              total: numberText(build.vectors_total),
            })}
          </p>
        </>
      )}
      {build?.error && <p class="field-error">{build.error}</p>}
    </>
  );
}
