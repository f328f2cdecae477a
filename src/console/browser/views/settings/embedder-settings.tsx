// The embedding model of the project, and the progress of a change to another one.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { ProjectEmbedder } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { rights } from "../../core/session.ts";
import { confirm } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Boxes } from "../../ui/icons.ts";
import { Badge, Card, Facts, Meter } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";

/** Time in milliseconds between looks at a change in progress. */
const LOOK_MS = 3_000;

/** The card. */
export function EmbedderSettings() {
  const embedder = useResource(
    (signal) => call("getProjectEmbedder", { signal }),
    [],
    ({ change }) => (change?.state === "building" ? LOOK_MS : null),
  );
  return (
    <Card title={t("Embedding model")} icon={Boxes}>
      <Loaded from={embedder}>
        {(value) => (
          <div class="stack">
            <Facts
              rows={[
                [t("In use"), value.model ?? t("not known yet")],
                [t("Kept for a way back"), value.previous],
              ]}
            />
            {value.change !== null && <Change change={value.change} />}
            {rights.value?.admin && <Installed current={value} onChanged={embedder.reload} />}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function Change({ change }: { readonly change: NonNullable<ProjectEmbedder["change"]> }) {
  const { model, state, error, chunks_done: done, chunks_total: total } = change;
  return (
    <div class="stack tight">
      <p class="row">
        {t("Change to {model}", { model })} <Badge tone={state === "failed" ? "bad" : "accent"}>{t(state)}</Badge>
      </p>
      {state === "building" && total !== null && total > 0 && (
        <>
          <Meter label={t("Passages with a vector of the new model")} share={done / total} />
          <p class="fine number">{t("{n} of {total} passages", { n: numberText(done), total: numberText(total) })}</p>
        </>
      )}
      {error !== null && <p class="field-error">{error}</p>}
    </div>
  );
}

interface InstalledProps {
  readonly current: ProjectEmbedder;
  readonly onChanged: () => void;
}

/** The choice among the models that are installed on the server. */
function Installed({ current, onChanged }: InstalledProps) {
  const installed = useResource((signal) => call("listEmbedders", { signal }), []);
  return (
    <Loaded from={installed} lines={1}>
      {({ data }) => <Chooser current={current} models={data.map(({ id }) => id)} onChanged={onChanged} />}
    </Loaded>
  );
}

interface ChooserProps extends InstalledProps {
  readonly models: readonly string[];
}

function Chooser({ current, models, onChanged }: ChooserProps) {
  const [model, setModel] = useState(current.model ?? models[0] ?? "");
  if (models.length < 2) return <p class="fine">{t("Only this model is installed on the server.")}</p>;
  return (
    <Form
      label={t("Change the model")}
      verb={t("Change the model")}
      disabled={model === current.model || current.change?.state === "building"}
      send={async () =>
        confirm({
          title: t("Change the embedding model to {model}?", { model }),
          text: t("All passages get new vectors in the background. Searches use the old ones until all are there."),
          verb: t("Change"),
          run: async () => {
            await call("changeProjectEmbedder", { params: { id: current.projectId }, body: { model } });
            onChanged();
          },
        })
      }
    >
      <Field
        name="model"
        label={t("Model")}
        value={model}
        onValue={setModel}
        options={models.map((one) => [one, one] as const)}
      />
    </Form>
  );
}
