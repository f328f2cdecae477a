// The change of the embedding model while a server is used: no request fails, kill -9 at any time leaves the old or the
// new model live with every memory searchable, the next start goes on, and the end equals a fresh index.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LIMITS } from "../../src/domain/limits.ts";
import { isRecord, type JsonRecord } from "../../src/kit/record.ts";
import { testOfAll } from "../support/extent.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH, MULTILINGUAL } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { allDone, expectWhole, note, storeBatch } from "./notes.ts";

const NOTES = 60;

const dataDir = mkdtempSync(join(tmpdir(), "mneme-model-change-"));
let running: RunningServer | null = null;
afterAll(async () => {
  await running?.kill();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Starts a server on the data folder; kills one that a failed test left running. */
async function start(embedder: string, chunksPerSecond = 0): Promise<RunningServer> {
  await running?.kill();
  const environment = { MNEME_EMBEDDER: embedder, MNEME_EMBEDDER_CHANGE_RATE: `${chunksPerSecond}` };
  running = await startServer({ dataDir, environment });
  return running;
}

/** Ids of the memories by the number of their note. */
const stored = new Map<number, string>();
let project = "";

async function statusOf(server: RunningServer): Promise<{ readonly model: unknown; readonly change: JsonRecord }> {
  const { status, body } = await server.call("GET", "/v1/project/embedder");
  expect(status).toBe(200);
  const { model, change } = isRecord(body) ? body : {};
  return { model, change: isRecord(change) ? change : {} };
}

function changeTo(server: RunningServer, model: string) {
  return server.call("PUT", `/v1/projects/${project}/embedder`, { model });
}

async function live(server: RunningServer, model: string): Promise<void> {
  const isLive = async () => {
    const { model: current, change } = await statusOf(server);
    if (change.state === "failed") throw new Error(String(change.error));
    return current === model && change.state !== "building";
  };
  await until(`${model} is live`, isLive);
}

/** Contents and scores of the best notes for some questions. */
async function answersOf(server: RunningServer): Promise<readonly (readonly [content: string, score: number])[][]> {
  const answers: (readonly [string, number])[][] = [];
  for (const query of ["Where is the flute?", "Was steht in der Scheune?", note(7), "shelf 12"]) {
    const { body } = await server.call("POST", "/v1/memories/search", { query, mode: "fast", limit: 20 });
    const results = isRecord(body) ? (body.results as readonly { content: string; score: number }[]) : [];
    answers.push(results.map(({ content, score }) => [content, score] as const));
  }
  return answers;
}

test("an upgrade is killed and goes on at the next start, while every search and write succeeds", async () => {
  const old = await start(ENGLISH);
  const ids = await storeBatch(old, [...Array(NOTES).keys()]);
  for (const [n, id] of ids.entries()) stored.set(n, id);
  await allDone(old);
  project = String(((await old.call("GET", "/v1/project")).body as JsonRecord).id);
  expect(await old.stop()).toBe(0);
  // A store of version 0.1 has only the folder `vectors`, and no file that says which vectors are live.
  rmSync(join(dataDir, "projects", project, "vector-sets"));

  const upgraded = await start(MULTILINGUAL, 8);
  const sent = new Map<number, string>();
  const statuses: number[] = [];
  let isBusy = true;
  const writing = (async () => {
    for (let n = NOTES; isBusy; n++) {
      const written = await upgraded.call("POST", "/v1/memories", { content: note(n) });
      statuses.push(written.status);
      sent.set(n, String((written.body as JsonRecord).id));
      const found = await upgraded.call("POST", "/v1/memories/search", { query: note(n % NOTES), limit: 5 });
      statuses.push(found.status);
      expect(JSON.stringify(found.body)).toContain(stored.get(n % NOTES) ?? "");
    }
  })();
  await until("a part is built", async () => Number((await statusOf(upgraded)).change.chunks_done) >= NOTES / 3);
  isBusy = false;
  await writing;
  expect(statuses.filter((status) => status >= 400)).toEqual([]);
  for (const [n, id] of sent) stored.set(n, id);
  expect((await statusOf(upgraded)).model).toBe(ENGLISH);
  await upgraded.kill();

  const again = await start(MULTILINGUAL, 8);
  await until("the change goes on", async () => Number((await statusOf(again)).change.chunks_done) >= NOTES / 3);
  await live(again, MULTILINGUAL);
  await expectWhole(again, stored);
  const answers = await answersOf(again);
  expect(await again.stop()).toBe(0);

  const fresh = await startServer({ environment: { MNEME_EMBEDDER: MULTILINGUAL } });
  try {
    const numbers = [...stored.keys()];
    const step = LIMITS.memoriesPerBatch;
    for (let at = 0; at < numbers.length; at += step) await storeBatch(fresh, numbers.slice(at, at + step));
    await allDone(fresh);
    expect(answers).toEqual([...(await answersOf(fresh))]);
  } finally {
    await fresh.stop();
  }
});

testOfAll("killed at any time around the swap, one of the models is live and finds everything", async () => {
  let server = await start(MULTILINGUAL);
  for (const [round, model] of [ENGLISH, MULTILINGUAL, ENGLISH].entries()) {
    expect((await changeTo(server, model)).status).toBe(202);
    const share = [0.3, 0.9, 1][round] ?? 1;
    await until("a part is built", async () => {
      const { change, model: current } = await statusOf(server);
      return current === model || Number(change.chunks_done) >= share * Number(change.chunks_total ?? Infinity);
    });
    await server.kill();
    server = await start(MULTILINGUAL);
    await expectWhole(server, stored);
    await live(server, model);
    await expectWhole(server, stored);
  }
  const forgotten = await server.call("DELETE", `/v1/projects/${project}/embedder/previous`);
  expect(forgotten.status).toBe(204);
  const sets = () => readdirSync(join(dataDir, "projects", project)).filter((name) => /^vectors(-\d+)?$/.test(name));
  await until("one set of vectors is left", () => sets().length === 1);
  expect(await server.stop()).toBe(0);
});
