// `mneme models` on a data directory: output, what it asks a server for, and errors.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { accountsHelp, runAccounts } from "../../src/cli/accounts.ts";
import { openLocalAccounts } from "../../src/compose/local-accounts.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import type { ProjectModelStore } from "../../src/ports/project-model-store.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { messageOf } from "../contract/stores.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";

let folder: ReturnType<typeof temporaryFolder>;
let database: SqliteDatabase;
/** Takes the part of a running server that uses the same data directory. */
let models: ProjectModelStore;
let first: ProjectId;
let second: ProjectId;
const clock = new ManualClock();

beforeEach(async () => {
  folder = temporaryFolder();
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

const run = (...argv: string[]) =>
  runAccounts("models", argv, {
    environment: { MNEME_DATA_DIR: folder.path, MNEME_MODELS_DIR: MODELS_DIR, MNEME_EMBEDDER: ENGLISH },
    place: { workingDirectory: folder.path, shippedModelsDirectory: () => MODELS_DIR },
    clock,
    openLocal: openLocalAccounts,
  });
const linesOf = (text: string) => text.trimEnd().split("\n");
/** Ends the change of a project, as a server does. */
const end = async (id: ProjectId, previous: string | null) =>
  models.finish(id, (await models.get(id))?.change?.number ?? 0, previous);

test("list shows the installed models and the default", async () => {
  const [head = "", ...rows] = linesOf(await run("list"));
  expect(head).toMatch(/^MODEL +DIMENSIONS +LANGUAGES +DEFAULT$/);
  expect(rows.find((row) => row.startsWith(ENGLISH))).toMatch(/^\S+ +384 +en +yes$/);
  expect(rows.some((row) => row.startsWith(MULTILINGUAL))).toBe(true);
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

test("unknown models, projects and flags are refused in one sentence", async () => {
  expect(await messageOf(() => run("use", "mneme-e5-smal"))).toContain(`Did you mean ${MULTILINGUAL}?`);
  expect(await messageOf(() => run("use"))).toContain("Missing MODEL.");
  expect(await messageOf(() => run("use", ENGLISH, "--project", "third"))).toContain('There is no project "third".');
  expect(await messageOf(() => run("list", "--project", "second"))).toContain("--project");
  expect(await messageOf(() => run("swap"))).toContain("Unknown command models swap.");
  expect(await models.list()).toEqual([]);
});

test("the help lists every action", () => {
  const help = accountsHelp("models").join("\n");
  for (const action of ["list", "status", "use MODEL", "rollback", "cancel", "forget"]) {
    expect(help).toContain(`mneme models ${action}`);
  }
});
