// The view Models: built-in models, added model files, and models of other servers, with their state and actions.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { InstalledModel } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import { Boxes, Plus } from "../../ui/icons.ts";
import { Badge, PageHead } from "../../ui/pieces.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { AddModel } from "./add-model.tsx";
import { ModelActions } from "./model-actions.tsx";
import { CalibrationState, ModelState } from "./model-state.tsx";

/** Polling interval in milliseconds while a model is being installed or calibrated. */
const POLL_MS = 2_000;
const MODELS_MAX = 100;
const LANGUAGES_SHOWN = 4;
const KINDS = { built_in: "built in", installed: "added files", remote: "other server" } as const;
const TASKS = { embed: "embeddings", rerank: "reranker", read: "reader" } as const;

/** The view Models. */
export default function Models() {
  const [added, setAdded] = useState<InstalledModel | null>(null);
  const models = useResource(
    async (signal) => (await call("listInstalledModels", { query: { limit: MODELS_MAX }, signal })).data,
    [added?.id],
    (all) => (all.some(isInProgress) ? POLL_MS : null),
  );
  const projects = useResource(async (signal) => {
    const { data } = await call("listProjects", { query: { limit: 100 }, signal });
    return new Map(data.map(({ id, name }) => [id, name]));
  }, []);
  const add = (
    <Button kind="primary" icon={Plus} run={() => setFilters({ add: "remote" })}>
      {t("Add a model")}
    </Button>
  );
  return (
    <div class="view">
      <PageHead
        title={t("Models")}
        text={t(
          "The models that compute vectors and rank results on this server. Each project chooses its own in its settings.",
        )}
        actions={add}
      />
      <Loaded from={models} lines={6}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon={Boxes} title={t("No models yet")} action={add} />
          ) : (
            <ul class="list stack">
              {all.map((model) => (
                <li key={model.id}>
                  <ModelCard model={model} projects={projects.value ?? new Map()} onChanged={models.reload} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {filterOf("add") !== "" && (
        <AddModel
          kind={filterOf("add")}
          close={() => setFilters({ add: null })}
          onAdded={(model) => {
            setFilters({ add: null });
            setAdded(model);
            models.reload();
          }}
        />
      )}
    </div>
  );
}

function isInProgress({ status, calibration_job: job }: InstalledModel): boolean {
  return status === "downloading" || status === "checking" || (job !== null && job.state !== "failed");
}

interface ModelCardProps {
  readonly model: InstalledModel;
  readonly projects: ReadonlyMap<string, string>;
  readonly onChanged: () => void;
}

function ModelCard({ model, projects, onChanged }: ModelCardProps) {
  const { id, task, kind, dimensions, tokens_max: tokens, languages, licence, source, remote, used_by: users } = model;
  const facts = [
    dimensions !== null && t("{n} dimensions", { n: numberText(dimensions) }),
    tokens !== null && t("{n} tokens of a text", { n: numberText(tokens) }),
    languages.length > 0 && languagesText(languages),
    licence,
    users.length > 0 &&
      t("used by {names}", { names: users.map((user) => `“${projects.get(user) ?? user}”`).join(", ") }),
  ].filter((fact) => typeof fact === "string" && fact !== "");
  return (
    <section class="card model" aria-label={id}>
      <header class="card-head">
        <h2 dir="auto">{id}</h2>
        <ModelActions model={model} onChanged={onChanged} />
      </header>
      <p class="badges">
        <Badge>{t(TASKS[task])}</Badge>
        <Badge>{t(KINDS[kind])}</Badge>
        <ModelState model={model} />
        {task !== "read" && <CalibrationState model={model} />}
      </p>
      {facts.length > 0 && (
        <p class="fine" dir="auto">
          {facts.join(" · ")}
        </p>
      )}
      {(remote !== null || source !== null) && (
        <p class="fine break" dir="ltr">
          {remote === null ? source : `${remote.api} · ${remote.base_url} · ${remote.model}`}
        </p>
      )}
      {model.error !== null && <p class="field-error">{model.error}</p>}
      {model.calibration_job?.error && <p class="field-error">{model.calibration_job.error}</p>}
    </section>
  );
}

function languagesText(languages: readonly string[]): string {
  const shown = languages.slice(0, LANGUAGES_SHOWN).join(", ");
  const others = languages.length - LANGUAGES_SHOWN;
  return others > 0 ? t("{list} and {n} more languages", { list: shown, n: numberText(others) }) : shown;
}
