// The operations on the models of a deployment, and on the reranker of a project.

import type { CalibrationJob } from "../domain/calibration.ts";
import { Fault } from "../domain/fault.ts";
import type { InstalledModel } from "../domain/installed-model.ts";
import { LIMITS } from "../domain/limits.ts";
import type { InstalledModelService } from "../services/installed-models.ts";
import type { ProjectService } from "../services/projects.ts";
import { namedProjectId, projectPathId } from "./ids.ts";
import { changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { projectView } from "./projects.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/installed-models.ts";
import { Project } from "./schema/platform.ts";
import { isoTimeOrNull, listView, type View } from "./views.ts";

/** The operations on /v1/installed-models and /v1/projects/:id/reranker. */
export function installedModelOperations(
  models: InstalledModelService,
  projects: ProjectService,
): readonly Operation[] {
  return [
    reading({
      name: "listInstalledModels",
      group: "Models",
      summary:
        "List the models of the deployment: built-in ones, then the others in the order in which they were added.",
      method: "GET",
      path: "/v1/installed-models",
      scope: "admin",
      isForConfinedKeys: false,
      query: schema.ListInstalledModels,
      answers: { 200: schema.InstalledModelList },
      faults: ["invalid_cursor"],
      read: async ({ query }) => {
        const page = await models.list({ limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, installedModelView) };
      },
    }),

    reading({
      name: "getInstalledModel",
      group: "Models",
      summary: "Read a model: whether it can be used, and the progress of its download.",
      method: "GET",
      path: "/v1/installed-models/:id",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 200: schema.InstalledModel },
      faults: ["model_not_found"],
      read: async ({ params }) => ({ status: 200, body: installedModelView(await models.get(params.id ?? "")) }),
    }),

    changing({
      name: "addInstalledModel",
      group: "Models",
      summary:
        "Add a model: from files (`source`), which are copied and checked in the background, or on another server (`remote`). Projects can use it when it is `ready`.",
      method: "POST",
      path: "/v1/installed-models",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.AddInstalledModel,
      answers: { 201: schema.InstalledModel, 202: schema.InstalledModel },
      faults: ["invalid_state"],
      prepare: async ({ body: { source, remote, sha256, id } }) => {
        if ((source == null) === (remote == null)) {
          throw new Fault("invalid_request", "Give either 'source' or 'remote'.", { param: "source" });
        }
        if (remote != null) return models.examine({ remote, id });
        const request = { source: source ?? "", sha256, id };
        return { request, id: await models.check(request) };
      },
      change: async (tx, _call, prepared) => {
        if ("request" in prepared) await models.add(tx, prepared.request, prepared.id);
        else await models.addRemote(tx, prepared);
        return prepared.id;
      },
      answer: (_id, { body }) => ({ status: body.remote == null ? 202 : 201, body: null }),
      finish: async ({ status }, id) => ({ status, body: installedModelView(await models.get(id)) }),
    }),

    changing({
      name: "retryInstalledModel",
      group: "Models",
      summary: "Fetch and check the files of a model again whose installation has failed.",
      method: "POST",
      path: "/v1/installed-models/:id/retry",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 202: schema.InstalledModel },
      faults: ["model_not_found", "invalid_state"],
      change: async (tx, { params }) => {
        await models.retry(tx, params.id ?? "");
        return params.id ?? "";
      },
      answer: () => ({ status: 202, body: null }),
      finish: async ({ status }, id) => ({ status, body: installedModelView(await models.get(id)) }),
    }),

    changing({
      name: "deleteInstalledModel",
      group: "Models",
      summary: "Delete a model that was added, with its files. One that a project uses cannot be deleted.",
      method: "DELETE",
      path: "/v1/installed-models/:id",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 204: null },
      faults: ["model_not_found", "invalid_state"],
      change: (tx, { params }) => models.remove(tx, params.id ?? ""),
      answer: () => NO_CONTENT,
    }),

    reading({
      name: "testInstalledModel",
      group: "Models",
      summary: "Let a model compute, and say whether that is what it should.",
      method: "POST",
      path: "/v1/installed-models/:id/test",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 200: schema.ModelTest },
      faults: ["model_not_found", "invalid_state"],
      read: async ({ params }) => {
        const { ms, checks } = await models.test(params.id ?? "");
        const ok = checks.every((check) => check.ok);
        return { status: 200, body: { ok, ms: Math.round(ms), checks } satisfies View<typeof schema.ModelTest> };
      },
    }),

    changing({
      name: "calibrateInstalledModel",
      group: "Models",
      summary:
        "Fit weights and curves of a model to judged samples, in the background, so that its scores are probabilities. A calibration that runs is replaced.",
      method: "POST",
      path: "/v1/installed-models/:id/calibrate",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.CalibrateInstalledModel,
      answers: { 202: schema.InstalledModel },
      faults: ["model_not_found", "project_not_found", "invalid_state"],
      prepare: ({ body: { projectId } }) => namedProjectId(projectId),
      change: async (tx, { params }, projectId) => {
        await models.calibrate(tx, params.id ?? "", projectId);
        return params.id ?? "";
      },
      answer: () => ({ status: 202, body: null }),
      finish: async ({ status }, id) => ({ status, body: installedModelView(await models.get(id)) }),
    }),

    changing({
      name: "cancelModelCalibration",
      group: "Models",
      summary: "Cancel the calibration of a model, or forget why it failed. Curves that were fitted before stay.",
      method: "DELETE",
      path: "/v1/installed-models/:id/calibrate",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 204: null },
      faults: ["model_not_found", "invalid_state"],
      change: (tx, { params }) => models.cancelCalibration(tx, params.id ?? ""),
      answer: () => NO_CONTENT,
    }),

    changing({
      name: "setProjectReranker",
      group: "Models",
      summary: "Choose the reranker of a project; null: the one that belongs to its embedding model.",
      method: "PUT",
      path: "/v1/projects/:id/reranker",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.SetReranker,
      answers: { 200: Project },
      faults: ["project_not_found", "model_not_found"],
      prepare: ({ params }) => projectPathId(params.id),
      change: async (tx, { body }, id) => {
        await models.setReranker(tx, id, body.model);
        return id;
      },
      answer: () => ({ status: 200, body: null }),
      finish: async ({ status }, id, { principal }) => ({
        status,
        body: projectView(await projects.get(principal, id, "id")),
      }),
    }),
  ];
}

function calibrationJobView({ number: _, ...shown }: CalibrationJob) {
  return shown;
}

/** Converts an installed model to the schema `InstalledModel`. */
export function installedModelView(model: InstalledModel): View<typeof schema.InstalledModel> {
  const { id, task, kind, dimensions, tokensMax, languages, licence, source, remote } = model;
  const { status, progress, error, calibration, calibrationJob, usedBy, createdAt } = model;
  return {
    ...{ id, task, kind, dimensions, tokens_max: tokensMax, languages, licence, source },
    remote: remote === null ? null : { api: remote.api, base_url: remote.base_url, model: remote.model },
    status,
    progress: progress === null ? null : { bytes_done: progress.bytesDone, bytes_total: progress.bytesTotal },
    ...{ error, calibration, calibration_job: calibrationJob && calibrationJobView(calibrationJob), used_by: usedBy },
    created_at: isoTimeOrNull(createdAt),
  };
}
