// The operations on projects and their usage.

import { LIMITS } from "../domain/limits.ts";
import {
  PLANS,
  type ProjectInForce,
  type ProjectUse,
  type Usage,
  type VectorIndexName,
  withoutKeys,
} from "../domain/project.ts";
import { isoTime } from "../kit/clock.ts";
import type { VectorIndexState } from "../ports/chunk-index.ts";
import { type ProjectService, removeProject, type SettingsChange } from "../services/projects.ts";
import { checkTimeZone } from "./drafts.ts";
import { namedProjectId, projectPathId } from "./ids.ts";
import { changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/platform.ts";
import { isoTimeOrNull, listView, type View } from "./views.ts";

/** The operations on /v1/project, /v1/projects and /v1/usage. */
export function projectOperations(projects: ProjectService): readonly Operation[] {
  return [
    reading({
      name: "getOwnProject",
      group: "Projects",
      summary: "Read the project of the key.",
      method: "GET",
      path: "/v1/project",
      scope: "project",
      isForConfinedKeys: false,
      query: schema.OfProject,
      answers: { 200: schema.Project },
      faults: ["project_not_found"],
      read: async ({ principal, query }) => {
        return { status: 200, body: projectView(await projects.get(principal, namedProjectId(query.projectId))) };
      },
    }),

    changing({
      name: "updateOwnProject",
      group: "Projects",
      summary: "Change the project of the key. Absent fields stay unchanged, null restores the default.",
      method: "PUT",
      path: "/v1/project",
      scope: "project",
      isForConfinedKeys: false,
      query: schema.OfProject,
      body: schema.UpdateProject,
      answers: { 200: schema.Project },
      faults: ["unsafe_url", "project_not_found"],
      prepare: ({ principal, query, body }) => {
        checkSettings(body);
        return projects.checkAddress(principal, body, namedProjectId(query.projectId) ?? principal.projectId);
      },
      change: (tx, { principal, query, body }) => projects.change(tx, principal, namedProjectId(query.projectId), body),
      answer: (project) => ({ status: 200, body: projectView(project) }),
    }),

    reading({
      name: "getVectorIndex",
      group: "Projects",
      summary:
        "Read how the vectors of a project are searched, and the progress of the graph (HNSW) that is being built. Of several nodes, each builds its own: the answer is about the one that gives it.",
      method: "GET",
      path: "/v1/project/vector-index",
      scope: "project",
      isForConfinedKeys: false,
      query: schema.OfProject,
      answers: { 200: schema.VectorIndex },
      faults: ["project_not_found"],
      read: async ({ principal, query }) => {
        const state = await projects.vectorIndex(principal, namedProjectId(query.projectId));
        return { status: 200, body: vectorIndexView(state) };
      },
    }),

    changing({
      name: "createProject",
      group: "Projects",
      summary: "Create a project with its first key, whose secret is shown only once.",
      method: "POST",
      path: "/v1/projects",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.CreateProject,
      answers: { 201: schema.ProjectWithKey },
      faults: ["unsafe_url"],
      isIdempotent: true,
      prepare: ({ principal, body }) => {
        checkSettings(body);
        return projects.checkAddress(principal, body, null);
      },
      change: (tx, { body }) => projects.create(tx, body),
      answer: ({ project, issued }) => {
        const shown = projectView(project);
        return { status: 201, body: { ...shown, key: issued.secret }, remembered: shown };
      },
    }),

    reading({
      name: "listProjects",
      group: "Projects",
      summary: "List all projects with their use, newest first.",
      method: "GET",
      path: "/v1/projects",
      scope: "admin",
      isForConfinedKeys: false,
      query: schema.ListProjects,
      answers: { 200: schema.ProjectList },
      faults: ["invalid_cursor"],
      read: async ({ query }) => {
        const page = await projects.list({ limit: LIMITS.pageItemsDefault, ...query });
        const view = (project: ProjectInForce & ProjectUse) => ({
          ...projectView(project),
          ...projectUseView(project),
        });
        return { status: 200, body: listView(page, view) };
      },
    }),

    reading({
      name: "getProject",
      group: "Projects",
      summary: "Read any project.",
      method: "GET",
      path: "/v1/projects/:id",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 200: schema.Project },
      faults: ["project_not_found"],
      read: async ({ principal, params }) => {
        return { status: 200, body: projectView(await projects.get(principal, projectPathId(params.id), "id")) };
      },
    }),

    changing({
      name: "updateProject",
      group: "Projects",
      summary: "Change any project, including its plan.",
      method: "PUT",
      path: "/v1/projects/:id",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.UpdateProject,
      answers: { 200: schema.Project },
      faults: ["unsafe_url", "project_not_found"],
      prepare: async ({ principal, params, body }) => {
        const id = projectPathId(params.id);
        checkSettings(body);
        await projects.checkAddress(principal, body, id);
        return id;
      },
      change: (tx, { principal, body }, id) => projects.change(tx, principal, id, body, "id"),
      answer: (project) => ({ status: 200, body: projectView(project) }),
    }),

    changing({
      name: "deleteProject",
      group: "Projects",
      summary: "Delete a project with everything in it, and revoke its keys.",
      method: "DELETE",
      path: "/v1/projects/:id",
      scope: "admin",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 204: null },
      faults: ["project_not_found", "invalid_state"],
      prepare: ({ params }) => projectPathId(params.id),
      change: (tx, { principal }, id) => removeProject(tx, principal, id),
      answer: () => NO_CONTENT,
      finish: (answer) => {
        void projects.purgeRemoved();
        return answer;
      },
    }),

    reading({
      name: "getUsage",
      group: "Projects",
      summary: "Read the project's usage, compared with its plan.",
      method: "GET",
      path: "/v1/usage",
      scope: "usage",
      isForConfinedKeys: false,
      query: NoQuery,
      answers: { 200: schema.Usage },
      read: async ({ principal }) => ({ status: 200, body: usageView(await projects.usage(principal)) }),
    }),
  ];
}

function checkSettings({ time_zone }: SettingsChange): void {
  if (time_zone != null) checkTimeZone(time_zone, "time_zone");
}

/** Converts a project, without the keys of its language models, to the schema `Project`. */
export function projectView({
  id,
  name,
  plan,
  settings,
  reranker,
  createdAt,
}: ProjectInForce): View<typeof schema.Project> {
  return { id, name, plan, ...settings, llm: withoutKeys(settings.llm), reranker, created_at: isoTime(createdAt) };
}

/** Converts the use of a project to the fields that the schema `ListedProject` has besides those of `Project`. */
export function projectUseView({
  documents,
  storageBytes,
  lastUsedAt,
}: ProjectUse): Omit<View<typeof schema.ListedProject>, keyof View<typeof schema.Project>> {
  return { documents, storage_bytes: storageBytes, last_used_at: isoTimeOrNull(lastUsedAt) };
}

/** Converts how the vectors of a project are searched to the schema `VectorIndex`. */
function vectorIndexView({
  setting,
  isGraphActive,
  build,
}: VectorIndexState & { readonly setting: VectorIndexName }): View<typeof schema.VectorIndex> {
  return {
    setting,
    active: isGraphActive ? "hnsw" : "scan",
    build:
      build === null
        ? null
        : {
            state: build.error === null ? "building" : "failed",
            ...{ vectors_done: build.vectorsDone, vectors_total: build.vectorsTotal, error: build.error },
            started_at: isoTime(build.startedAt),
          },
  };
}

/** Converts the usage of a project, and the quotas of its plan, to the schema `Usage`. */
function usageView(usage: Usage): View<typeof schema.Usage> {
  const { queriesPerMonth, documents, storageBytes } = PLANS[usage.plan];
  return {
    plan: usage.plan,
    period: { start: isoTime(usage.period.start), end: isoTime(usage.period.end) },
    queries: quotaView(usage.queries, queriesPerMonth),
    documents: quotaView(usage.documents, documents),
    storage_bytes: quotaView(usage.storageBytes, storageBytes),
    tokens: usage.tokens,
  };
}

// `remaining` is never negative, although a project can have used more than its plan allows after a change to a smaller
// plan.
function quotaView(used: number, limit: number | null): View<typeof schema.Usage>["queries"] {
  return { used, limit, remaining: limit === null ? null : Math.max(0, limit - used) };
}
