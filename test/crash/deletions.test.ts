// kill -9 while memories are deleted by conditions: after the next start, the job goes on and ends, what it counted as
// deleted stays deleted, and nothing else is lost. Files in a file are never left without it.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { testOfAll } from "../support/extent.ts";
import { fileForm, formRequest } from "../support/forms.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { listAll, type Seen } from "./notes.ts";

const MEMORIES = 3_000;
const KILLS = 3;

const dataDirs: string[] = [];
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "mneme-crash-"));
  dataDirs.push(folder);
  return folder;
};
let running: RunningServer | null = null;
afterAll(async () => {
  await running?.kill();
  for (const folder of dataDirs) rmSync(folder, { recursive: true, force: true });
});
const start = async (dataDir: string) => {
  running = await startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });
  return running;
};
type Job = { readonly id: string; readonly status: string; readonly matched: number; readonly deleted: number };

test("a deletion that is killed goes on after each start, and counts each memory once", async () => {
  const dataDir = newFolder();
  let server = await start(dataDir);
  for (let first = 0; first < MEMORIES; first += 100) {
    const memories = Array.from({ length: 100 }, (_, at) => ({
      ...{ content: `Note ${first + at}.`, title: "t", tags: [], language: "en", type: "note" },
      agentId: (first + at) % 3 === 0 ? "kept" : "gone",
    }));
    expect((await server.call("POST", "/v1/memories/batch", { memories })).status).toBe(202);
  }
  const { body } = await server.call("DELETE", "/v1/memories", { filters: { agentId: "gone" } });
  let job = body as Job;
  expect(job).toMatchObject({ status: "processing", matched: (MEMORIES * 2) / 3 });
  for (let kill = 0; kill < KILLS; kill++) {
    const before = job.deleted;
    await until("the job has deleted more", async () => {
      job = (await server.call("GET", `/v1/jobs/${job.id}`)).body as Job;
      return job.deleted > before;
    });
    await server.kill();
    server = await start(dataDir);
    const after = (await server.call("GET", `/v1/jobs/${job.id}`)).body as Job;
    expect(after.deleted).toBeGreaterThanOrEqual(job.deleted);
    const left = await listAll(server);
    expect(left.length).toBeLessThanOrEqual(MEMORIES - after.deleted);
    job = after;
    if (job.status !== "processing") break;
  }
  await until("the job has ended", async () => {
    job = (await server.call("GET", `/v1/jobs/${job.id}`)).body as Job;
    return job.status !== "processing";
  });
  expect(job).toMatchObject({ status: "completed", deleted: (MEMORIES * 2) / 3 });
  const left = await listAll(server);
  const numbers = left.map(({ content }) => Number(/\d+/.exec(content)?.[0]));
  expect(numbers.sort((one, other) => one - other)).toEqual(Array.from({ length: MEMORIES / 3 }, (_, at) => 3 * at));
  await server.kill();
});

testOfAll("a deletion of archives that is killed goes on, and no file in an archive is left without it", async () => {
  const [archives, files] = [12, 120];
  const dataDir = newFolder();
  let server = await start(dataDir);
  for (let at = 0; at < archives; at++) {
    const names = Array.from({ length: files }, (_, file) => `${file}.txt`);
    const bytes = zipSync(Object.fromEntries(names.map((name) => [name, strToU8(`File ${name} of archive ${at}.`)])));
    const form = fileForm(`${at}.zip`, bytes, { agentId: "archives" });
    const headers = { authorization: `Bearer ${server.key}` };
    expect((await fetch(formRequest(`${server.url}/v1/memories/upload`, form, { headers }))).status).toBe(202);
  }
  const seen = async () => (await listAll(server)) as readonly (Seen & { source: { container?: string } })[];
  await until("all archives are unpacked", async () => (await seen()).length === archives * (files + 1), 600_000);
  let job = (await server.call("DELETE", "/v1/memories", { agentId: "archives" })).body as Job;
  expect(job).toMatchObject({ status: "processing", matched: archives * (files + 1) });
  await server.kill();
  server = await start(dataDir);
  const left = await seen();
  const ids = new Set(left.map(({ id }) => id));
  // the job goes on between the pages of the list: a file that was listed before its archive was deleted is gone now
  const alone = left.filter(({ source }) => source.container !== undefined && !ids.has(source.container));
  for (const { id } of alone) expect((await server.call("GET", `/v1/memories/${id}`)).status).toBe(404);
  await until("the job has ended", async () => {
    job = (await server.call("GET", `/v1/jobs/${job.id}`)).body as Job;
    return job.status !== "processing";
  });
  expect(job).toMatchObject({ status: "completed", deleted: archives * (files + 1) });
  expect(await seen()).toEqual([]);
  await server.kill();
});
