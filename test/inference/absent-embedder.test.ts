// Projects whose embedding model is not on the machine, as after a move to a program that does not ship it.

import { afterAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelArchive } from "../../scripts/release/optional-models.ts";
import { optionalModel } from "../../src/adapters/downloads/optional-models.ts";
import { isRecord } from "../../src/kit/record.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { PROGRAM } from "../support/program.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH, MODELS_DIR } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { unpack } from "../upgrade/kept-directory.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-absent-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const dataDir = join(folder, "store");
const modelsDir = join(folder, "models");

const CONTENT = "Ada keeps the spare key under the blue flower pot.";

async function searchIn(server: RunningServer, query: string, mode: string) {
  const { status, body } = await server.call("POST", "/v1/memories/search", { query, mode, explain: true });
  const { results, explain } = body as { results: { content: string }[]; explain: { degraded?: string } };
  return { status, best: results[0]?.content ?? null, degraded: explain.degraded ?? null };
}

/** A folder of models in which the English embedder has its manifest, but no weights, as in the installed program. */
function withoutWeights(): string {
  if (existsSync(modelsDir)) return modelsDir;
  mkdirSync(join(modelsDir, ENGLISH), { recursive: true });
  for (const name of readdirSync(MODELS_DIR).filter((each) => each.startsWith("mneme-"))) {
    symlinkSync(join(MODELS_DIR, name), join(modelsDir, name));
  }
  for (const name of ["model.json", "tokenizer.json", "reference.json"]) {
    cpSync(join(MODELS_DIR, ENGLISH, name), join(modelsDir, ENGLISH, name));
  }
  return modelsDir;
}

test("data of an earlier version whose embedder is absent is answered by full text, and not embedded again unasked", async () => {
  const dataDir = join(folder, "earlier");
  unpack("0.1.0-schema5", dataDir); // the newest one with the English embedder
  const flags = ["--models-dir", withoutWeights()];
  const server = await startServer({ dataDir, flags });
  const { body: project } = await server.call("GET", "/v1/project");
  const projectId = isRecord(project) ? String(project.id) : "";
  const warning = new RegExp(`${ENGLISH}.*${projectId}.*Nothing is embedded again.*mneme models pull ${ENGLISH}`);
  expect(server.stdout() + server.stderr()).toMatch(warning);
  const tea = "In the morning Ada drinks Assam tea with milk.";
  const found = await searchIn(server, "Which tea does Ada drink in the morning?", "balanced");
  expect(found).toEqual({ status: 200, best: tea, degraded: "embedder_unavailable" });
  const asked = await server.call("POST", "/v1/memories/query", { query: "Which tea does Ada drink?" });
  expect(asked).toMatchObject({ status: 200, body: { answer_state: "answered" } });
  const { body: other } = await server.call("POST", "/v1/projects", { name: "other" });
  await server.stop();

  await using next = await startServer({ dataDir, flags });
  await until("the models of all projects were looked at, the new one's last", () => modelIn(dataDir, other) !== null);
  const { body: change } = await next.call("GET", "/v1/project/embedder");
  expect(change).toMatchObject({ model: ENGLISH, change: null });
});

/** The model of a project, as the server stored it when it looked at all projects; null if it has not yet. */
function modelIn(dataDir: string, project: unknown): string | null {
  const database = openDatabase(join(dataDir, "mneme.sqlite"));
  try {
    const sql = "SELECT live FROM project_models JOIN projects USING (project_key) WHERE id = $id";
    const id = isRecord(project) ? String(project.id) : "";
    return database.prepare<{ live: string | null }, { id: string }>(sql).get({ id })?.live ?? null;
  } finally {
    database.close();
  }
}

test("a project without its embedder is searched by full text, says so, and is whole again after one command", async () => {
  withoutWeights();
  const first = await startServer({ dataDir, flags: ["--embedder", ENGLISH] });
  const { body: stored } = await first.call("POST", "/v1/memories", { content: CONTENT });
  const id = isRecord(stored) ? stored.id : "";
  await until("the memory is searchable", async () => {
    const { body } = await first.call("GET", `/v1/memories/${id}`);
    return isRecord(body) && body.status === "completed";
  });
  expect(await searchIn(first, "spare key", "fast")).toEqual({ status: 200, best: CONTENT, degraded: null });
  await first.stop();

  const flags = ["--models-dir", modelsDir];
  await using second = await startServer({ dataDir, flags });
  expect(second.stdout() + second.stderr()).toMatch(
    new RegExp(`${ENGLISH}.*is not installed.*mneme models pull ${ENGLISH}`),
  );
  for (const mode of ["fast", "hybrid", "balanced", "precise"]) {
    const found = await searchIn(second, "spare key", mode);
    expect(found).toEqual({ status: 200, best: CONTENT, degraded: "embedder_unavailable" });
    expect((await searchIn(second, "gardening tools", mode)).best).toBeNull();
  }
  const asked = await second.call("POST", "/v1/memories/query", { query: "where is the spare key?" });
  expect(asked).toMatchObject({ status: 200, body: { answer: `${CONTENT} [1]`, answer_state: "answered" } });
  const { body: unknown } = await second.call("POST", "/v1/memories/query", { query: "who sells gardening tools?" });
  expect(unknown).toMatchObject({ answer_state: "not_found" });

  const model = optionalModel(ENGLISH);
  const archive = join(folder, "english.zip");
  await Bun.write(archive, model === null ? "" : modelArchive(model));
  const pull = [...PROGRAM, "models", "pull", ENGLISH, "--data-dir", dataDir];
  const environment = { env: { PATH: process.env.PATH ?? "", MNEME_MODELS_DIR: modelsDir } };
  const refused = Bun.spawnSync(pull, environment);
  expect(refused.stderr.toString()).toContain("has no public address");
  expect(Bun.spawnSync([...pull, "--from", archive], environment).exitCode).toBe(0);
  const found = await searchIn(second, "spare key", "fast");
  expect(found).toEqual({ status: 200, best: CONTENT, degraded: null });
});
