// `mneme models`: the installed embedding models, and changes of the model that projects use. A running server, or the
// next one that starts, carries a change out (ingest/model-change.ts).

import type { Accounts } from "../compose/local-accounts.ts";
import { systemClock } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";
import { type Action, type Call, fieldsOf, itemsOf, json, projectNamed, shown, shownList } from "./account-action.ts";
import { Progress } from "./terminal.ts";

/** Milliseconds between two looks at the changes that are waited for. */
const POLL_MS = 500;

/** The actions of `mneme models`. */
export const MODEL_ACTIONS: Readonly<Record<string, Action>> = {
  list: {
    usage: "",
    summary: "List the installed embedding models",
    argument: null,
    flags: [],
    run: listModels,
  },
  status: {
    usage: "[--project PROJECT]",
    summary: "Show which model each project uses, and the progress of changes",
    argument: null,
    flags: ["--project"],
    run: showStatus,
  },
  use: {
    usage: "MODEL [--project PROJECT] [--wait]",
    summary: "Change all projects, or one, to a model; searches and writes continue meanwhile",
    argument: "MODEL",
    flags: ["--project", "--wait"],
    run: useModel,
  },
  rollback: {
    usage: "[--project PROJECT] [--wait]",
    summary: "Change projects back to the model before the last change, whose vectors are still stored",
    argument: null,
    flags: ["--project", "--wait"],
    run: rollBack,
  },
  cancel: {
    usage: "[--project PROJECT]",
    summary: "Cancel changes and delete the vectors built so far",
    argument: null,
    flags: ["--project"],
    run: cancelChanges,
  },
  forget: {
    usage: "[--project PROJECT]",
    summary: "Delete the vectors that are kept for a rollback",
    argument: null,
    flags: ["--project"],
    run: forgetPrevious,
  },
};

async function listModels(accounts: Accounts, call: Call): Promise<string> {
  const list = await accounts.listEmbedders();
  return shownList(call, list, "No embedding models are installed.", [
    ["MODEL", ({ id }) => shown(id)],
    ["DIMENSIONS", ({ dimensions }) => shown(dimensions)],
    ["LANGUAGES", ({ languages }) => shown(languages)],
    ["DEFAULT", ({ is_default }) => (is_default === true ? "yes" : "")],
  ]);
}

async function showStatus(accounts: Accounts, call: Call): Promise<string> {
  return statusOf(call, await modelsOf(accounts, await projectsOf(accounts, call)));
}

async function useModel(accounts: Accounts, call: Call): Promise<string> {
  const projects = await projectsOf(accounts, call);
  for (const id of projects) await accounts.changeEmbedder(id, call.argument);
  return afterwards(accounts, call, projects);
}

async function rollBack(accounts: Accounts, call: Call): Promise<string> {
  const models = await modelsOf(accounts, await projectsOf(accounts, call));
  const kept = models.flatMap(({ projectId, previous }) =>
    typeof previous === "string" ? [{ projectId: shown(projectId), previous }] : [],
  );
  if (kept.length === 0)
    throw new UsageError("No vectors of an earlier model are kept, so there is nothing to roll back.");
  for (const { projectId, previous } of kept) await accounts.changeEmbedder(projectId, previous);
  return afterwards(
    accounts,
    call,
    kept.map(({ projectId }) => projectId),
  );
}

async function cancelChanges(accounts: Accounts, call: Call): Promise<string> {
  const models = await modelsOf(accounts, await projectsOf(accounts, call));
  const building = models.filter(({ change }) => isBuilding(change)).map(({ projectId }) => shown(projectId));
  if (building.length === 0) throw new UsageError("No project's model is being changed.");
  for (const id of building) await accounts.cancelEmbedder(id);
  return statusOf(call, await modelsOf(accounts, building));
}

async function forgetPrevious(accounts: Accounts, call: Call): Promise<string> {
  const models = await modelsOf(accounts, await projectsOf(accounts, call));
  const kept = models.filter(({ previous }) => typeof previous === "string").map(({ projectId }) => shown(projectId));
  if (kept.length === 0) throw new UsageError("No vectors of an earlier model are kept.");
  for (const id of kept) await accounts.forgetPreviousEmbedder(id);
  return call.flags.has("--json") ? json({}) : `The earlier vectors of ${kept.length} project(s) are given up.`;
}

/** Waits for the changes if the command line says so, then shows the models of the projects. */
async function afterwards(accounts: Accounts, call: Call, projects: readonly string[]): Promise<string> {
  if (call.flags.has("--wait")) await waitFor(accounts, projects);
  const models = await modelsOf(accounts, projects);
  const failed = models.map(({ change }) => fieldsOf(Object(change))).find(({ state }) => state === "failed");
  if (failed !== undefined && call.flags.has("--wait")) throw new Error(shown(failed.error));
  const hint = call.flags.has("--json") || call.flags.has("--wait") ? "" : `\n${BEGINS_SOON}`;
  return `${statusOf(call, models)}${hint}`;
}

const BEGINS_SOON =
  "A running server begins within seconds, otherwise the next one that starts; see: mneme models status";

/** Shows the progress of changes until all of them have ended. */
async function waitFor(accounts: Accounts, projects: readonly string[]): Promise<void> {
  const progress = new Progress("embedding:");
  for (;;) {
    const models = await modelsOf(accounts, projects);
    const changes = models.map(({ change }) => change).filter(isRecord);
    const sum = (field: string) => changes.reduce((total, change) => total + Number(change[field] ?? 0), 0);
    const [done, total] = [sum("chunks_done"), sum("chunks_total")];
    if (!changes.some(isBuilding)) return progress.finish(`embedded: ${total} chunks`);
    const isCounted = changes.every(({ chunks_total }) => chunks_total !== null);
    progress.show(isCounted && total > 0 ? done / total : null, isCounted ? `${done} of ${total} chunks` : "waiting");
    await systemClock.sleep(POLL_MS);
  }
}

function isBuilding(change: unknown): boolean {
  return isRecord(change) && change.state === "building";
}

/** Ids of the project that the command line names, or of all projects. */
async function projectsOf(accounts: Accounts, { flags }: Call): Promise<readonly string[]> {
  const named = flags.get("--project");
  if (named !== undefined) return [await projectNamed(accounts, named)];
  return itemsOf(await accounts.listProjects()).map(({ id }) => shown(id));
}

async function modelsOf(accounts: Accounts, projects: readonly string[]): Promise<readonly JsonRecord[]> {
  const models: JsonRecord[] = [];
  for (const id of projects) models.push(fieldsOf(await accounts.projectEmbedder(id)));
  return models;
}

function statusOf(call: Call, models: readonly JsonRecord[]): string {
  const list = { data: models };
  return shownList(call, list, "There are no projects.", [
    ["PROJECT", ({ projectId }) => shown(projectId)],
    ["MODEL", ({ model }) => shown(model)],
    ["KEPT", ({ previous }) => shown(previous)],
    ["CHANGE", ({ change }) => changeText(change)],
  ]);
}

function changeText(change: unknown): string {
  if (!isRecord(change)) return "–";
  const { model, state, chunks_done, chunks_total, error } = change;
  const count = chunks_total === null ? "" : `, ${shown(chunks_done)} of ${shown(chunks_total)} chunks`;
  const reason = typeof error === "string" ? `: ${shown(error)}` : "";
  return `${shown(model)} ${shown(state)}${count}${reason}`;
}
