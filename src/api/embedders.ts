// The operations on embedding models: the installed ones, and the one of a project.

import { isoTime } from "../kit/clock.ts";
import type { ModelChange, ProjectModel } from "../ports/project-model-store.ts";
import type { InstalledEmbedder, ProjectModelService } from "../services/project-models.ts";
import { namedProjectId, projectPathId } from "./ids.ts";
import { changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/platform.ts";
import { isoTimeOrNull, listView, type View } from "./views.ts";

/** The operations on /v1/embedders, /v1/project/embedder and /v1/projects/:id/embedder. */
export function embedderOperations(models: ProjectModelService): readonly Operation[] {
  return [
    reading({
      name: "listEmbedders",
      group: "Projects",
      summary: "List the installed embedding models, the default of new projects first.",
      method: "GET",
      path: "/v1/embedders",
      scope: "project",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 200: schema.EmbedderList },
      read: async () => ({ status: 200, body: listView({ items: models.installed(), cursor: null }, embedderView) }),
    }),

    reading({
      name: "getProjectEmbedder",
      group: "Projects",
      summary: "Read which embedding model a project uses, and the progress of a change to another one.",
      method: "GET",
      path: "/v1/project/embedder",
      scope: "project",
      isForConfinedKeys: false,
      query: schema.OfProject,
      answers: { 200: schema.ProjectEmbedder },
      faults: ["project_not_found"],
      read: async ({ principal, query }) => {
        const id = namedProjectId(query.projectId);
        return { status: 200, body: projectEmbedderView(await models.get(principal, id)) };
      },
    }),

    changing({
      name: "changeProjectEmbedder",
      group: "Projects",
      summary:
        "Change a project's embedding model. Vectors of the new model are built in the background and swapped in when all are there; searches use the old ones until then.",
      method: "PUT",
      path: "/v1/projects/:id/embedder",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.ChangeEmbedder,
      answers: { 202: schema.ProjectEmbedder },
      faults: ["project_not_found"],
      prepare: ({ params }) => projectPathId(params.id),
      change: async (tx, { body }, id) => {
        await models.change(tx, id, body.model);
        return id;
      },
      answer: () => ({ status: 202, body: null }),
      finish: async ({ status }, id, { principal }) => ({
        status,
        body: projectEmbedderView(await models.get(principal, id)),
      }),
    }),

    changing({
      name: "cancelProjectEmbedder",
      group: "Projects",
      summary: "Cancel the change of a project's embedding model. The vectors built so far are deleted.",
      method: "DELETE",
      path: "/v1/projects/:id/embedder",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 204: null },
      faults: ["project_not_found", "invalid_state"],
      prepare: ({ params }) => projectPathId(params.id),
      change: (tx, _call, id) => models.cancel(tx, id),
      answer: () => NO_CONTENT,
    }),

    changing({
      name: "forgetPreviousEmbedder",
      group: "Projects",
      summary: "Delete the vectors that a project keeps of its previous embedding model for a rollback.",
      method: "DELETE",
      path: "/v1/projects/:id/embedder/previous",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 204: null },
      faults: ["project_not_found", "invalid_state"],
      prepare: ({ params }) => projectPathId(params.id),
      change: (tx, _call, id) => models.forget(tx, id),
      answer: () => NO_CONTENT,
    }),
  ];
}

/** Converts an installed embedding model to the schema `Embedder`. */
export function embedderView(model: Omit<InstalledEmbedder, "tokensMax">): View<typeof schema.Embedder> {
  const { id, dimensions, languages, isDefault } = model;
  return { id, dimensions, languages, is_default: isDefault };
}

/** Converts the embedding model of a project, and its last change, to the schema `ProjectEmbedder`. */
export function projectEmbedderView(model: ProjectModel): View<typeof schema.ProjectEmbedder> {
  const { projectId, live, previous, change } = model;
  return { projectId, model: live, previous, change: change === null ? null : changeView(change) };
}

function changeView(change: ModelChange): NonNullable<View<typeof schema.ProjectEmbedder>["change"]> {
  const { model, state, error, chunksDone, chunksTotal, startedAt, endedAt } = change;
  return {
    ...{ model, state, error, chunks_done: chunksDone, chunks_total: chunksTotal },
    started_at: isoTime(startedAt),
    ended_at: isoTimeOrNull(endedAt),
  };
}
