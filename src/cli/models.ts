// The actions of `mneme models`: list, add, test, calibrate and remove models, and change the models that projects use.
// The running server, or the next one that starts, carries changes out (ingest/model-change.ts).

import { readFileSync } from "node:fs";
import type { Accounts } from "../compose/local-accounts.ts";
import { ADDED_TASKS, REMOTE_APIS } from "../domain/installed-model.ts";
import { systemClock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import { isRecord, type JsonRecord, recordsIn } from "../kit/record.ts";
import {
  type Action,
  type Call,
  fieldsOf,
  itemsOf,
  json,
  projectNamed,
  projectOf,
  shown,
  shownList,
} from "./account-action.ts";
import { alignRows, languagesCell, Progress } from "./terminal.ts";

/** Milliseconds between two reads of the state of what `--wait` waits for. */
const POLL_MS = 500;

const MB = 1_000_000;

/** Flags of `add` and `pull` that stand for fields of the manifest: each with a function that makes these fields. */
const MANIFEST_FLAGS: Readonly<Record<string, (text: string, flag: string) => JsonRecord>> = {
  "--pooling": (text) => ({ pooling: text }),
  "--query-prefix": (text) => ({ prefixes: { query: text } }),
  "--passage-prefix": (text) => ({ prefixes: { passage: text } }),
  "--dimensions": (text, flag) => ({ dimensions: wholeNumber(text, flag) }),
  "--stored-dimensions": (text, flag) => ({ stored_dimensions: wholeNumber(text, flag) }),
  "--max-tokens": (text, flag) => ({ max_tokens: wholeNumber(text, flag) }),
  "--languages": (text) => ({ languages: text.split(",") }),
  "--licence": (text) => ({ licence: text }),
};

/** The actions of `mneme models`. */
export const MODEL_ACTIONS: Readonly<Record<string, Action>> = {
  list: {
    usage: "",
    summary: "List the embedding models and rerankers",
    argument: null,
    flags: [],
    run: listModels,
  },
  add: {
    usage: "FOLDER [--id NAME] [--pooling HOW] [--query-prefix TEXT] …",
    summary: "Add the model in a folder (see docs/models.md); with --url, a folder of the server",
    argument: "FOLDER",
    flags: ["--id", ...Object.keys(MANIFEST_FLAGS)],
    run: addModel,
  },
  connect: {
    usage: "ADDRESS --api API --model NAME [--task rerank] [--key-file FILE] [--id NAME] …",
    summary: "Add a model that another server computes; its key is in MNEME_MODEL_KEY or in a file",
    argument: "ADDRESS",
    flags: [
      ...["--api", "--model", "--task", "--key-file", "--id", "--query-prefix", "--passage-prefix", "--max-tokens"],
      ...["--says-purpose", "--languages"],
    ],
    run: connectModel,
  },
  pull: {
    usage: "SOURCE [--sha256 DIGITS] [--id NAME] …",
    summary: "Fetch a model and add it: an address or file (.tar.gz, .zip), a folder, or hub:OWNER/NAME",
    argument: "SOURCE",
    flags: ["--id", "--sha256", ...Object.keys(MANIFEST_FLAGS)],
    run: addModel,
  },
  remove: {
    usage: "MODEL",
    summary: "Delete a model that was added, with its files; no project may use it",
    argument: "MODEL",
    flags: [],
    run: removeModel,
  },
  test: {
    usage: "MODEL|llm [--project PROJECT]",
    summary: "Let a model compute and check the result; llm: call a project's language model and its fallbacks",
    argument: "MODEL",
    flags: ["--project"],
    run: testModel,
  },
  calibrate: {
    usage: "MODEL [--project PROJECT] [--wait] | MODEL --cancel",
    summary: "Fit a model's curves to judged samples (and a project's texts), so that scores are probabilities",
    argument: "MODEL",
    flags: ["--project", "--wait", "--cancel"],
    run: calibrateModel,
  },
  reranker: {
    usage: "MODEL|default --project PROJECT",
    summary: "Choose the reranker of a project; default: the one that belongs to its embedding model",
    argument: "MODEL",
    flags: ["--project"],
    run: setReranker,
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

/** Name that stands for the language model of a project in `mneme models test`. */
const LANGUAGE_MODEL = "llm";

async function listModels(accounts: Accounts, call: Call): Promise<string> {
  return modelTable(call, await accounts.listModels());
}

async function addModel(accounts: Accounts, call: Call): Promise<string> {
  const { argument: source, flags } = call;
  const progress = new Progress(`${source}:`);
  const model = fieldsOf(
    await accounts
      .addModel({ source, ...namedOf(flags), manifest: manifestOf(flags) }, ({ bytesDone, bytesTotal }) => {
        const done = `${Math.round(bytesDone / MB)} MB`;
        if (bytesTotal === null) progress.show(null, done);
        else progress.show(bytesDone / bytesTotal, `${done} of ${Math.round(bytesTotal / MB)} MB`);
      })
      .finally(() => progress.clear()),
  );
  if (call.flags.has("--json")) return json(model);
  return added(model);
}

/** The text after a model was added, with the command that uses it. */
function added({ id, task, dimensions }: JsonRecord): string {
  const next =
    task === "embed" ? `mneme models use ${shown(id)}` : `mneme models reranker ${shown(id)} --project PROJECT`;
  const what = task === "embed" ? `an embedding model of ${shown(dimensions)} dimensions` : "a reranker";
  return `${shown(id)} is added: ${what}. To use it: ${next}`;
}

function namedOf(flags: Call["flags"]): { readonly id: string | undefined; readonly sha256: string | undefined } {
  const sha256 = flags.get("--sha256")?.toLowerCase();
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256)) throw new UsageError("--sha256 must have 64 digits.");
  return { id: flags.get("--id"), sha256 };
}

/** Fields of the manifest that the command line gives. @throws UsageError if a value is wrong */
function manifestOf(flags: Call["flags"]): JsonRecord {
  const given = Object.entries(MANIFEST_FLAGS).flatMap(([flag, toField]) => {
    const text = flags.get(flag);
    return text === undefined ? [] : [toField(text, flag)];
  });
  const prefixes = given.flatMap(({ prefixes }) => (isRecord(prefixes) ? [prefixes] : []));
  const merged = Object.assign({}, ...given);
  return prefixes.length === 0
    ? merged
    : { ...merged, prefixes: Object.assign({ query: "", passage: "" }, ...prefixes) };
}

function wholeNumber(text: string, flag: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`${flag} must be an integer from 1 to 999999, not ${JSON.stringify(text)}.`);
}

async function connectModel(accounts: Accounts, call: Call): Promise<string> {
  const { argument: base_url, flags } = call;
  const needed = (flag: string) => {
    const text = flags.get(flag);
    if (text === undefined) throw new UsageError(`Missing ${flag}.`);
    return text;
  };
  const choice = <Known extends string>(flag: string, known: readonly Known[], text: string): Known => {
    const found = known.find((one) => one === text);
    if (found !== undefined) return found;
    throw new UsageError(`${flag} must be one of ${known.join(", ")}, not ${JSON.stringify(text)}.`);
  };
  const [query, passage] = [flags.get("--query-prefix"), flags.get("--passage-prefix")];
  const tokens = flags.get("--max-tokens");
  const remote = {
    ...{ api: choice("--api", REMOTE_APIS, needed("--api")), base_url, model: needed("--model") },
    ...{ task: choice("--task", ADDED_TASKS, flags.get("--task") ?? "embed"), api_key: keyOf(call) },
    languages: flags.get("--languages")?.split(","),
    prefixes: query === undefined && passage === undefined ? null : { query, passage },
    tokens_max: tokens === undefined ? null : wholeNumber(tokens, "--max-tokens"),
    says_purpose: flags.has("--says-purpose"),
  };
  const model = fieldsOf(await accounts.connectModel({ remote, id: flags.get("--id") }));
  if (call.flags.has("--json")) return json(model);
  const { id, status, error } = model;
  if (status === "failed") {
    return `${shown(id)} is added, but cannot be used yet: ${shown(error)} It is tried again every two seconds.`;
  }
  return added(model);
}

/** The key of the other server: in the environment or a file, because command lines are visible to other users. */
function keyOf({ flags, environment }: Call): string | null {
  const [file, given] = [flags.get("--key-file"), environment.MNEME_MODEL_KEY];
  if (file !== undefined && given !== undefined) {
    throw new UsageError("--key-file and MNEME_MODEL_KEY cannot be used together.");
  }
  if (file === undefined) return given === undefined || given === "" ? null : given;
  let key: string;
  try {
    key = readFileSync(file, "utf8").trim();
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
  if (key === "" || /\s/.test(key)) throw new UsageError(`${file} must hold the key, and nothing else.`);
  return key;
}

async function removeModel(accounts: Accounts, call: Call): Promise<string> {
  await accounts.removeModel(call.argument);
  return call.flags.has("--json") ? json({}) : `${call.argument} is deleted, with its copy of the files.`;
}

async function testModel(accounts: Accounts, call: Call): Promise<string> {
  if (call.argument === LANGUAGE_MODEL) return testLanguageModel(accounts, call);
  const ids = itemsOf(await accounts.listModels()).map(({ id }) => shown(id));
  if (!ids.includes(call.argument)) {
    const guess = didYouMean(call.argument, [LANGUAGE_MODEL, ...ids]);
    throw new UsageError(`There is no model ${JSON.stringify(call.argument)}.${guess}`);
  }
  const test = fieldsOf(await accounts.testModel(call.argument));
  if (test.ok !== true && !call.flags.has("--json")) {
    const failed = recordsIn(test.checks).filter(({ ok }) => ok !== true);
    throw new Error(`${call.argument}: ${failed.map(({ message }) => shown(message)).join(" ")}`);
  }
  if (call.flags.has("--json")) return json(test);
  return alignRows(recordsIn(test.checks).map(({ name, message }) => [shown(name), shown(message)])).join("\n");
}

async function calibrateModel(accounts: Accounts, call: Call): Promise<string> {
  const { argument: id, flags } = call;
  if (flags.has("--cancel")) {
    await accounts.cancelCalibration(id);
    return flags.has("--json") ? json({}) : `The calibration of ${id} is cancelled.`;
  }
  const named = flags.get("--project");
  const project = named === undefined ? null : await projectNamed(accounts, named);
  const asked = fieldsOf(await accounts.calibrateModel(id, project));
  if (flags.has("--wait")) await call.checkServed();
  const model = flags.has("--wait") ? await calibrated(accounts, id) : asked;
  if (flags.has("--json")) return json(model);
  if (flags.has("--wait")) return `${id} is calibrated: its scores are probabilities.`;
  return `The calibration of ${id} is asked for. ${BEGINS_SOON.replace("status", "list")}`;
}

/** Shows the progress of a calibration until it has ended. @throws Error with the reason if it failed */
async function calibrated(accounts: Accounts, id: string): Promise<JsonRecord> {
  let progress = new Progress("calibrating:");
  let isSearching = false;
  for (;;) {
    const model = fieldsOf(await accounts.getModel(id));
    const job = isRecord(model.calibration_job) ? model.calibration_job : null;
    if (job === null || job.state === "failed") progress.clear();
    if (job === null && model.calibration !== "fitted") throw new Error("The calibration was cancelled.");
    if (job === null) return model;
    if (job.state === "failed") throw new Error(shown(job.error));
    const { done, total } = job;
    if (total === null || job.error !== null) {
      progress.show(null, `waiting${job.error === null ? "" : `: ${shown(job.error)}`}`);
    } else if (done === 0) {
      progress.show(null, "storing the samples");
    } else {
      // the time left is estimated from the searches alone
      if (!isSearching) progress = new Progress("calibrating:");
      isSearching = true;
      progress.show(Number(done) / Number(total), `${shown(done)} of ${shown(total)} searches`);
    }
    await systemClock.sleep(POLL_MS);
  }
}

async function setReranker(accounts: Accounts, call: Call): Promise<string> {
  const named = call.flags.get("--project");
  if (named === undefined) throw new UsageError("Missing --project: each project has its own reranker.");
  const model = call.argument === "default" ? null : call.argument;
  const project = fieldsOf(await accounts.setReranker(await projectNamed(accounts, named), model));
  if (call.flags.has("--json")) return json(project);
  const chosen = project.reranker === null ? "the reranker of its embedding model" : shown(project.reranker);
  return `${shown(project.id)} (${shown(project.name)}) uses ${chosen}.`;
}

function modelTable(call: Call, list: object): string {
  return shownList(call, list, "There are no models.", [
    ["MODEL", ({ id }) => shown(id)],
    ["TASK", ({ task }) => shown(task)],
    ["KIND", ({ kind }) => shown(kind)],
    ["DIMENSIONS", ({ dimensions }) => shown(dimensions)],
    ["LANGUAGES", ({ languages }) => languagesCell(Array.isArray(languages) ? languages.map(shown) : [], "–")],
    ["CURVES", curvesText],
    ["STATUS", ({ status, error }) => (error === null ? shown(status) : `${shown(status)}: ${shown(error)}`)],
    ["USED BY", ({ used_by }) => (Array.isArray(used_by) ? counted(used_by.length, "project") : "")],
  ]);
}

function curvesText({ calibration, calibration_job: job }: JsonRecord): string {
  if (!isRecord(job)) return shown(calibration);
  const count = job.total === null ? "" : `, ${shown(job.done)} of ${shown(job.total)} searches`;
  return `${shown(calibration)} (calibration ${shown(job.state)}${job.error === null ? count : `: ${shown(job.error)}`})`;
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

async function testLanguageModel(accounts: Accounts, call: Call): Promise<string> {
  const test = fieldsOf(await accounts.testLanguageModel(await projectOf(accounts, call)));
  const models = [test, ...recordsIn(test.fallbacks)];
  const sentences = models.map(({ provider, model, ms, message }) => {
    return `${shown(provider)} ${shown(model)}, ${shown(ms)} ms: ${shown(message)}`;
  });
  if (call.flags.has("--json")) return json(test);
  if (test.ok !== true) throw new Error(sentences.join("\n"));
  return sentences.join("\n");
}

/** Waits for the changes if there is `--wait`, then returns the models of the projects as text. */
async function afterwards(accounts: Accounts, call: Call, projects: readonly string[]): Promise<string> {
  if (call.flags.has("--wait")) {
    await call.checkServed();
    await waitFor(accounts, projects);
  }
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
