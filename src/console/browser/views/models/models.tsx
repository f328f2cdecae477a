// The view Models: built-in models, added model files, and models of other servers, with their state and actions.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { InstalledModel } from "../../core/calls.ts";
import { countText, languageName, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import { Boxes, Plus } from "../../ui/icons.ts";
import { PageHead } from "../../ui/pieces.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { AddModel } from "./add-model.tsx";
import { ModelActions } from "./model-actions.tsx";
import { CalibrationState, ModelState } from "./model-state.tsx";

/** Polling interval in milliseconds while a model is being installed or calibrated. */
const POLL_MS = 2_000;
const MODELS_MAX = 100;
const LANGUAGES_SHOWN = 4;
/** Maximum number of projects that are named. */
const NAMED_USERS = 3;
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
  const heads = [t("Model"), t("Task"), t("Used by"), t("Status"), t("Languages"), t("Input limit")];
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
            <div class="table-frame">
              <table>
                <caption class="aside">{t("Models")}</caption>
                <thead>
                  <tr>
                    {heads.map((head) => (
                      <th key={head} scope="col">
                        {head}
                      </th>
                    ))}
                    <th scope="col" class="end">
                      <span class="aside">{t("Actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((model) => (
                    <ModelRow
                      key={model.id}
                      model={model}
                      heads={heads}
                      isOnlyOne={all.every(
                        ({ task, id, used_by }) => task !== model.task || id === model.id || used_by.length === 0,
                      )}
                      projects={projects.value ?? (projects.error === undefined ? null : new Map())}
                      onChanged={models.reload}
                    />
                  ))}
                </tbody>
              </table>
            </div>
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

interface ModelRowProps {
  readonly model: InstalledModel;
  readonly heads: readonly string[];
  /** Whether no project uses another model for the same task. */
  readonly isOnlyOne: boolean;
  /** Names of projects by id; null: they are being read. */
  readonly projects: ReadonlyMap<string, string> | null;
  readonly onChanged: () => void;
}

function ModelRow({ model, heads, isOnlyOne, projects, onChanged }: ModelRowProps) {
  const { id, task, kind, dimensions, tokens_max: tokens, languages, licence, source, remote } = model;
  const about = [
    t(KINDS[kind]),
    dimensions !== null && t("{n} dimensions", { n: numberText(dimensions) }),
    licence,
  ].filter((fact) => typeof fact === "string" && fact !== "");
  const origin = remote === null ? source : `${remote.api} · ${remote.base_url} · ${remote.model}`;
  const cells = [
    t(TASKS[task]),
    <UsedBy key="users" model={model} isOnlyOne={isOnlyOne} projects={projects} />,
    <span class="badges" key="status">
      <ModelState model={model} />
      {task !== "read" && <CalibrationState model={model} />}
    </span>,
    languagesOf(languages),
    tokens === null ? <span class="fine">–</span> : t("{n} tokens", { n: numberText(tokens) }),
  ];
  return (
    <tr aria-label={id}>
      <td class="main-cell" data-head={heads[0]}>
        <span class="stack-lines">
          <span dir="auto">{id}</span>
          <span class="fine plain-note" dir="auto">
            {about.join(" · ")}
          </span>
          {origin !== null && (
            <span class="fine plain-note break" dir="ltr">
              {origin}
            </span>
          )}
          {model.error !== null && <span class="field-error plain-note">{model.error}</span>}
          {model.calibration_job?.error && <span class="field-error plain-note">{model.calibration_job.error}</span>}
        </span>
      </td>
      {cells.map((cell, at) => (
        <td key={heads[at + 1]} data-head={heads[at + 1]}>
          {cell}
        </td>
      ))}
      <td class="end">
        <ModelActions model={model} onChanged={onChanged} />
      </td>
    </tr>
  );
}

type UsedByProps = Pick<ModelRowProps, "model" | "isOnlyOne" | "projects">;

/** How many projects use a model, and their names. */
function UsedBy({ model: { used_by: users, kind, task }, isOnlyOne, projects }: UsedByProps) {
  if (users.length === 0) {
    if (kind !== "built_in" || task === "embed") return <span class="fine">{t("no project")}</span>;
    return (
      <span class="stack-lines" title={t("Projects that have chosen no other one use it.")}>
        <span>{isOnlyOne ? t("all projects") : t("all other projects")}</span>
        <span class="fine">{t("by default")}</span>
      </span>
    );
  }
  const names = users.slice(0, NAMED_USERS).map((user) => projects?.get(user) ?? user);
  const others = users.length - names.length;
  return (
    <span class="stack-lines">
      <span class="number">{countText(users.length, "1 project", "{n} projects")}</span>
      <span class="fine" dir="auto">
        {projects === null ? "…" : names.join(", ")}
        {others > 0 && ` ${t("and {n} more", { n: others })}`}
      </span>
    </span>
  );
}

/** The languages by their names if they are few, else their number. */
function languagesOf(languages: readonly string[]) {
  if (languages.length === 0) return <span class="fine">–</span>;
  if (languages.length <= LANGUAGES_SHOWN) return languages.map((code) => languageName(code) ?? code).join(", ");
  return <span title={languages.join(", ")}>{t("{n} languages", { n: numberText(languages.length) })}</span>;
}
