// The embedding model and the reranker of the project, and the progress of a change to another model.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Project, ProjectEmbedder } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Boxes, Trash2, Undo2, X } from "../../ui/icons.ts";
import { Badge, Card, Facts, Meter } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";

/** Polling interval in milliseconds while the model is being changed. */
const POLL_MS = 3_000;

interface EmbedderSettingsProps {
  readonly project: Project;
  readonly onProject: (project: Project) => void;
}

/** A card with the models of the project. */
export function EmbedderSettings({ project, onProject }: EmbedderSettingsProps) {
  const isAdmin = rights.value?.admin === true;
  const embedder = useResource(
    (signal) => call("getProjectEmbedder", { signal }),
    [],
    ({ change }) => (change?.state === "building" ? POLL_MS : null),
  );
  return (
    <Card
      title={t("Embedding model")}
      icon={Boxes}
      actions={isAdmin && <a href="#/models">{t("All models of the server")}</a>}
    >
      <Loaded from={embedder}>
        {(value) => (
          <div class="stack">
            <Facts
              rows={[
                [t("In use"), !isAdmin && (value.model ?? t("not known yet"))],
                [t("Previous model, still kept"), value.previous],
              ]}
            />
            {isAdmin && value.previous !== null && <WayBack current={value} onChanged={embedder.reload} />}
            {value.change !== null && <Change of={value} onChanged={embedder.reload} />}
            {isAdmin && <Choices current={value} project={project} onProject={onProject} onChanged={embedder.reload} />}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

interface CurrentProps {
  readonly current: ProjectEmbedder;
  readonly onChanged: () => void;
}

/** Buttons to return to the previous model, whose vectors are still stored, and to delete these vectors. */
function WayBack({ current: { projectId, previous }, onChanged }: CurrentProps) {
  const forget = () =>
    confirm({
      title: t("Delete the vectors of {model}?", { model: previous ?? "" }),
      text: t("Switching back to it then computes all vectors again."),
      verb: t("Delete"),
      destroys: true,
      run: async () => {
        await call("forgetPreviousEmbedder", { params: { id: projectId } });
        onChanged();
      },
    });
  return (
    <div class="row">
      <Button
        size="small"
        icon={Undo2}
        run={async () => {
          await call("changeProjectEmbedder", { params: { id: projectId }, body: { model: previous } });
          onChanged();
        }}
      >
        {t("Switch back")}
      </Button>
      <Button size="small" kind="ghost" icon={Trash2} run={forget}>
        {t("Delete its vectors")}
      </Button>
    </div>
  );
}

function Change({ of: { projectId, change }, onChanged }: { readonly of: ProjectEmbedder; onChanged: () => void }) {
  if (change === null) return null;
  const { model, state, error, chunks_done: done, chunks_total: total } = change;
  return (
    <div class="stack tight">
      <p class="row">
        {t("Change to {model}", { model })} <Badge tone={state === "failed" ? "bad" : "accent"}>{t(state)}</Badge>
        {state === "building" && rights.value?.admin && (
          <Button
            size="small"
            kind="ghost"
            icon={X}
            run={async () => {
              await call("cancelProjectEmbedder", { params: { id: projectId } });
              onChanged();
            }}
          >
            {t("Cancel the change")}
          </Button>
        )}
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

interface ChoicesProps extends CurrentProps, EmbedderSettingsProps {}

/** A form to choose among the models of the server. */
function Choices({ current, project, onProject, onChanged }: ChoicesProps) {
  const models = useResource(async (signal) => {
    const { data } = await call("listInstalledModels", { query: { limit: 100 }, signal });
    const ready = data.filter(({ status }) => status === "ready");
    const idsOf = (wanted: string) => ready.filter(({ task }) => task === wanted).map(({ id }) => id);
    const builtIn = ready.filter(({ task, kind }) => task === "rerank" && kind === "built_in");
    return {
      ...{ embedders: idsOf("embed"), rerankers: idsOf("rerank") },
      defaultReranker: builtIn.length === 1 ? (builtIn[0]?.id ?? null) : null,
    };
  }, []);
  return (
    <Loaded from={models} lines={2}>
      {({ embedders, rerankers, defaultReranker }) => (
        <>
          <EmbedderForm current={current} models={embedders} onChanged={onChanged} />
          <RerankerForm
            {...{ project, onProject }}
            models={rerankers}
            byDefault={defaultReranker === null ? t("Default") : t("Default ({model})", { model: defaultReranker })}
          />
        </>
      )}
    </Loaded>
  );
}

function EmbedderForm({ current, models, onChanged }: CurrentProps & { readonly models: readonly string[] }) {
  const [model, setModel] = useState(current.model ?? models[0] ?? "");
  return (
    <Form
      label={t("Change the model")}
      verb={t("Change the model")}
      isIdle={model === current.model}
      disabled={current.change?.state === "building"}
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
        hint={
          models.length < 2
            ? t("Only this model is installed on the server.")
            : t("After a change, all passages get new vectors in the background.")
        }
      />
    </Form>
  );
}

interface RerankerFormProps extends EmbedderSettingsProps {
  readonly models: readonly string[];
  /** What the choice of no model is called. */
  readonly byDefault: string;
}

function RerankerForm({ project, models, byDefault, onProject }: RerankerFormProps) {
  const [model, setModel] = useState(project.reranker ?? "");
  return (
    <Form
      label={t("Reranker")}
      verb={t("Save")}
      isIdle={model === (project.reranker ?? "")}
      send={async () => {
        const body = { model: model === "" ? null : model };
        onProject(await call("setProjectReranker", { params: { id: project.id }, body }));
        toast(t("Saved."));
      }}
    >
      <Field
        name="reranker"
        label={t("Reranker")}
        value={model}
        onValue={setModel}
        options={[["", byDefault], ...models.map((one) => [one, one] as const)]}
        hint={t("The default is the one that belongs to the embedding model.")}
      />
    </Form>
  );
}
