// `mneme models` on a data directory: output, what it asks a server for, and errors.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountsHelp, runAccounts } from "../../src/cli/accounts.ts";
import { listenForCommands } from "../../src/compose/control-socket.ts";
import { openLocalAccounts } from "../../src/compose/local-accounts.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { NEUTRAL_TUNING } from "../../src/domain/neutral-tuning.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import type { ProjectModelStore } from "../../src/ports/project-model-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { messageOf } from "../contract/stores.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { startLlm, status, streamed } from "../support/llm.ts";
import { startRemote } from "../support/remote-models.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

let folder: ReturnType<typeof temporaryFolder>;
let database: SqliteDatabase;
/** Takes the part of a running server that uses the same data directory. */
let models: ProjectModelStore;
let first: ProjectId;
let second: ProjectId;
const clock = new ManualClock();
const RERANKER = "mneme-reranker-minilm-l6";
/** Whether a server is said to run on the data directory. */
let isServed: boolean;

beforeEach(async () => {
  folder = temporaryFolder();
  isServed = true;
  database = openDatabase(join(folder.path, "mneme.sqlite"));
  const accounts = connectStores(database, database, { clock, newWebhookSecret }).accounts;
  models = connectStores(database, database, { clock, newWebhookSecret }).projectModels;
  first = await accounts.defaultProject();
  second = (await accounts.createProject({ name: "second", plan: "free", settings: DEFAULT_SETTINGS })).id;
});
afterEach(() => {
  database.close();
  folder.remove();
});

const run = (...argv: string[]) => runIn({}, ...argv);
const runIn = (environment: Readonly<Record<string, string>>, ...argv: string[]) =>
  runAccounts("models", argv, {
    environment: {
      ...{ MNEME_DATA_DIR: folder.path, MNEME_MODELS_DIR: MODELS_DIR, MNEME_EMBEDDER: ENGLISH },
      ...environment,
    },
    place: { workingDirectory: folder.path, shippedModelsDirectory: () => MODELS_DIR },
    clock,
    openLocal: openLocalAccounts,
    isServed: async (dataDir) => isServed && dataDir === folder.path,
  });
const linesOf = (text: string) => text.trimEnd().split("\n");
/** Ends the change of a project, as a server does. */
const end = async (id: ProjectId, previous: string | null) =>
  models.finish(id, (await models.get(id))?.change?.number ?? 0, previous);

test("list shows embedding models and rerankers", async () => {
  const [head = "", ...rows] = linesOf(await run("list"));
  expect(head).toMatch(/^MODEL +TASK +KIND +DIMENSIONS +LANGUAGES +CURVES +STATUS +USED BY$/);
  expect(rows.find((row) => row.startsWith(ENGLISH))).toMatch(
    /^\S+ +embed +built_in +384 +en +shipped +ready +\d projects?$/,
  );
  expect(rows.some((row) => row.startsWith(MULTILINGUAL))).toBe(true);
  expect(rows.some((row) => /^mneme-reranker\S* +rerank +built_in/.test(row))).toBe(true);
  const { data } = JSON.parse(await run("list", "--json"));
  expect(data.map(({ id }: { id: string }) => id)).toContain(MULTILINGUAL);
});

test("status shows model, kept model and change of each project, or of one", async () => {
  await models.observe(first, ENGLISH, null);
  const { number } = await models.ask(second, MULTILINGUAL, true);
  await models.progress(second, number, 3, 10);
  const rows = linesOf(await run("status"));
  expect(rows).toHaveLength(3);
  expect(rows.find((row) => row.startsWith(first))).toMatch(new RegExp(`^\\S+ +${ENGLISH} +– +–$`));
  expect(await run("status", "--project", "second")).toContain(`${MULTILINGUAL} building, 3 of 10 chunks`);
  await models.fail(second, number, "The disk is full.");
  expect(await run("status", "--project", second)).toContain("failed, 3 of 10 chunks: The disk is full.");
});

test("use asks for all projects or for one, and says who carries it out", async () => {
  const text = await run("use", MULTILINGUAL);
  expect(text).toContain("A running server begins within seconds, otherwise the next one that starts");
  for (const id of [first, second]) {
    expect(await models.get(id)).toMatchObject({ isChosen: true, change: { model: MULTILINGUAL, state: "building" } });
  }
  await run("use", ENGLISH, "--project", "second");
  expect([(await models.get(first))?.change?.model, (await models.get(second))?.change?.model]).toEqual([
    MULTILINGUAL,
    ENGLISH,
  ]);
});

test("use --wait ends when the changes have ended, and fails with the reason if one failed", async () => {
  const waiting = run("use", MULTILINGUAL, "--wait");
  await until("both are asked for", async () => (await models.list()).length === 2);
  await models.observe(first, ENGLISH, null);
  await end(first, ENGLISH);
  await end(second, null);
  expect(await waiting).toContain(`${MULTILINGUAL} done`);

  const failing = messageOf(() => run("use", ENGLISH, "--project", "second", "--wait"));
  await until("it is asked for", async () => (await models.get(second))?.change?.state === "building");
  await models.fail(second, (await models.get(second))?.change?.number ?? 0, "There is too little memory.");
  expect(await failing).toBe("There is too little memory.");
});

test("without a server, --wait asks for the change, says that none runs, and does not wait", async () => {
  isServed = false;
  const sentence = `No server runs on ${folder.path}, so there is nothing to wait for: what you asked for is noted, and begins when one starts.`;
  expect(await messageOf(() => run("use", MULTILINGUAL, "--wait"))).toBe(sentence);
  expect((await models.get(first))?.change).toMatchObject({ model: MULTILINGUAL, state: "building" });
  await models.observe(first, ENGLISH, null);
  await end(first, ENGLISH);
  expect(await messageOf(() => run("rollback", "--project", first, "--wait"))).toBe(sentence);
  expect((await models.get(first))?.change).toMatchObject({ model: ENGLISH, state: "building" });
  const stub = await startRemote("tei");
  await run("connect", stub.origin, "--api", "tei", "--model", "far");
  await stub.stop();
  expect(await messageOf(() => run("calibrate", "far", "--wait"))).toBe(sentence);
  expect(await run("list")).toContain("none (calibration waiting)");
  expect(await run("use", ENGLISH)).toContain("otherwise the next one that starts");
});

test("rollback asks for the kept model of the projects that have one; forget gives it up", async () => {
  expect(await messageOf(() => run("rollback"))).toContain("nothing to roll back");
  await models.observe(first, MULTILINGUAL, ENGLISH);
  await run("rollback");
  expect((await models.get(first))?.change).toMatchObject({ model: ENGLISH, state: "building" });
  expect(await models.get(second)).toBeNull();
  await end(first, MULTILINGUAL);
  expect(await run("forget")).toBe("The earlier vectors of 1 project(s) are given up.\n");
  expect((await models.get(first))?.previous).toBeNull();
  expect(await messageOf(() => run("forget"))).toContain("No vectors of an earlier model are kept.");
});

test("cancel ends the changes that are under way", async () => {
  expect(await messageOf(() => run("cancel"))).toBe("No project's model is being changed.");
  await run("use", MULTILINGUAL, "--project", "second");
  expect(await run("cancel")).toContain(`${MULTILINGUAL} cancelled`);
  expect((await models.get(second))?.change?.state).toBe("cancelled");
});

test("test llm calls the language model of a project, and fails with the reason if it does not answer", async () => {
  const llm = startLlm(() => streamed(["ready"], { prompt: 9, completion: 1 }));
  try {
    const environment = { MNEME_LLM_BASE_URL: llm.baseUrl, MNEME_LLM_MODEL: "small" };
    expect(await runIn(environment, "test", "llm")).toMatch(/^openai small, \d+ ms: The language model answered\.\n$/);
    expect(JSON.parse(await runIn(environment, "test", "llm", "--json"))).toMatchObject({ ok: true, fallbacks: [] });
    llm.answer(status(404));
    expect(await messageOf(() => runIn(environment, "test", "llm"))).toContain("status 404: check the address");
    expect(await messageOf(() => run("test", "llm"))).toContain("No language model is configured");
    expect(await messageOf(() => run("test", "lm"))).toContain("Did you mean llm?");
  } finally {
    await llm.stop();
  }
});

test("connect adds a model of another server with its key, which is in no output", async () => {
  const stub = await startRemote("tei");
  const secret = "sk-of-the-model-123";
  const connect = ["connect", stub.origin, "--api", "tei", "--model", "BAAI/bge-m3", "--query-prefix", "query: "];
  expect(await runIn({ MNEME_MODEL_KEY: secret }, ...connect)).toBe(
    "baai-bge-m3 is added: an embedding model of 64 dimensions. To use it: mneme models use baai-bge-m3\n",
  );
  expect(stub.requests.every(({ headers }) => headers.get("authorization") === `Bearer ${secret}`)).toBe(true);
  expect(stub.requests.some(({ body }) => body.inputs[0].startsWith("query: "))).toBe(true);
  const file = join(folder.path, "key");
  writeFileSync(file, `${secret}2\n`);
  const rerank = ["connect", stub.origin, "--api", "tei", "--model", "m", "--task", "rerank", "--key-file", file];
  expect(await run(...rerank, "--id", "ranks")).toContain("ranks is added: a reranker.");
  expect(stub.requests.at(-1)?.headers.get("authorization")).toBe(`Bearer ${secret}2`);
  expect(await run("list", "--json")).not.toContain(secret);
  stub.behave(() => "redirect");
  const later = await run(...connect, "--id", "later");
  expect(later).toContain("later is added, but cannot be used yet: The endpoint redirects");
  expect(later).toContain("tried again every two seconds");
  await stub.stop();
});

test("remove refuses the model that a running server gives to new projects", async () => {
  const stub = await startRemote("tei");
  await run("connect", stub.origin, "--api", "tei", "--model", "m", "--id", "chosen");
  const paths: string[] = [];
  const stopServer = listenForCommands(folder.path, async ({ url }) => {
    paths.push(new URL(url).pathname);
    return Response.json({ id: "chosen" });
  });
  const cure = "Restart it with another one (MNEME_EMBEDDER), and delete the model then.";
  const sentence = `The running server gives the model chosen to new projects. ${cure}`;
  expect(await messageOf(async () => run("remove", "chosen"))).toBe(sentence);
  expect(paths).toEqual(["/default-embedder"]);
  await stopServer();
  expect(await run("remove", "chosen")).toBe("chosen is deleted, with its copy of the files.\n");
  await stub.stop();
});

test("connect refuses what it cannot use, before it calls a server", async () => {
  const stub = await startRemote("tei");
  const missing = join(folder.path, "none");
  const blank = join(folder.path, "blank");
  writeFileSync(blank, "two words");
  const tei = [stub.origin, "--api", "tei", "--model", "m"];
  for (const [argv, message] of [
    [[stub.origin, "--api", "tei"], "Missing --model."],
    [[stub.origin, "--model", "m"], "Missing --api."],
    [[stub.origin, "--api", "grpc", "--model", "m"], "--api must be one of"],
    [[...tei, "--task", "read"], "--task must be one of embed, rerank"],
    [["ftp://127.0.0.1", "--api", "tei", "--model", "m"], "must be an http or https address"],
    [[stub.origin, "--api", "openai", "--model", "m", "--task", "rerank"], "have no rerankers"],
    [[stub.origin, "--api", "ollama", "--model", "m", "--says-purpose"], "cannot be told what a text is"],
    [[...tei, "--key-file", missing], "cannot be read"],
    [[...tei, "--key-file", blank], "must hold the key, and nothing else"],
    [[...tei, "--max-tokens", "many"], "--max-tokens must be an integer"],
    [[...tei, "--id", "Not An Id"], "'id' must begin with"],
  ] as const) {
    expect(await messageOf(() => run("connect", ...argv))).toContain(message);
  }
  const both = runIn({ MNEME_MODEL_KEY: "a" }, "connect", ...tei, "--key-file", blank);
  expect(await messageOf(() => both)).toContain("cannot be used together");
  expect(stub.requests).toEqual([]);
  await stub.stop();
});

test("a remote model is tested where it is computed", async () => {
  const stub = await startRemote("openai");
  await run("connect", `${stub.origin}/v1`, "--api", "openai", "--model", "far");
  const before = stub.requests.length;
  expect(await run("test", "far")).toContain("different texts");
  expect(stub.requests.length).toBeGreaterThan(before);
  await stub.stop();
});

test("calibrate is asked for, shown in the list, and cancelled", async () => {
  const stub = await startRemote("tei");
  await run("connect", stub.origin, "--api", "tei", "--model", "far");
  await stub.stop();
  expect(await run("calibrate", "far", "--project", "second")).toContain("The calibration of far is asked for.");
  expect(await run("list")).toContain("none (calibration waiting)");
  const { data } = JSON.parse(await run("list", "--json"));
  expect(data.find(({ id }: { id: string }) => id === "far").calibration_job.projectId).toBe(second);
  expect(await run("calibrate", "far", "--cancel")).toBe("The calibration of far is cancelled.\n");
  expect(await messageOf(() => run("calibrate", "far", "--cancel"))).toContain("No calibration of the model far");
  expect(await messageOf(() => run("calibrate", ENGLISH))).toContain("ships with the program, and so do its curves");
  expect(await messageOf(() => run("calibrate", RERANKER))).toBe(
    `The model ${RERANKER} ships with the program. Calibrate the embedding model that you added, after its projects have chosen the reranker.`,
  );
  expect(await messageOf(() => run("calibrate", "none"))).toContain("There is no model 'none'");
});

test("calibrate --wait ends with the curves, and fails with the reason", async () => {
  const stub = await startRemote("tei");
  await run("connect", stub.origin, "--api", "tei", "--model", "far");
  await stub.stop();
  const store = connectStores(database, database, { clock, newWebhookSecret }).installedModels;
  const { key } = (await store.get("far")) ?? {};
  if (key === undefined) throw new Error("the model was not added");
  const jobOf = async () => (await store.get("far"))?.calibrationJob ?? null;
  const asked = () => until("it is asked for", jobOf);
  const waiting = run("calibrate", "far", "--wait");
  await store.finishCalibration(key, (await asked()).number, { "-": NEUTRAL_TUNING });
  expect(await waiting).toBe("far is calibrated: its scores are probabilities.\n");
  const failing = messageOf(() => run("calibrate", "far", "--wait"));
  await store.noteCalibration(key, { ...(await asked()), state: "failed", error: "It reads no language." });
  expect(await failing).toBe("It reads no language.");
});

test("unknown models, projects and flags are refused in one sentence", async () => {
  expect(await messageOf(() => run("use", "mneme-e5-smal"))).toContain(`Did you mean ${MULTILINGUAL}?`);
  expect(await messageOf(() => run("use"))).toContain("Missing MODEL.");
  expect(await messageOf(() => run("use", ENGLISH, "--project", "third"))).toContain('There is no project "third".');
  expect(await messageOf(() => run("list", "--project", "second"))).toContain("--project");
  const nowhere = join(folder.path, "nowhere");
  expect(await messageOf(() => run("add", nowhere))).toBe(`There is no folder ${nowhere}.`);
  expect(await messageOf(() => run("swap"))).toContain("Unknown command models swap.");
  expect(await models.list()).toEqual([]);
});

test("the help lists every action", () => {
  const help = accountsHelp("models").join("\n");
  for (const action of ["list", "status", "use MODEL", "rollback", "cancel", "forget"]) {
    expect(help).toContain(`mneme models ${action}`);
  }
});
