// Measures changes of the embedding model while a server is used: how long they take, how many requests fail, and how
// long searches and writes take beside an idle server. `bun bench/model-change.ts --help`.

import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { isRecord } from "../src/kit/record.ts";
import { DIMENSIONS, startRemote } from "../test/support/remote-models.ts";
import { type Answer, type RunningServer, startServer } from "../test/support/server.ts";
import { ENGLISH, MULTILINGUAL } from "../test/support/shipped-models.ts";
import { until } from "../test/support/until.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { storeAll } from "./lib/storing.ts";

/** Name of the model of another server. */
const REMOTE = "remote";
const HELP = `bun bench/model-change.ts [flags]
  --chunks N     number of notes, each of one chunk (default: 3000)
  --from MODEL   model before the changes (default: ${ENGLISH})
  --to MODELS    models after them, one change after the other (default: ${MULTILINGUAL})
  --add FOLDERS  adds the models of these folders, separated by commas; their names are those of the folders
  --rate N       chunks per second (MNEME_EMBEDDER_CHANGE_RATE; default: 0, as many as possible)
  --kill         kills the server in the middle of each change with SIGKILL, and starts it again
  --record       write bench/results/model-change.json

The model "${REMOTE}" is one of another server: this process, which computes ${DIMENSIONS} dimensions from the words of a text.
Requests that the kill cut off are not counted as failed. At the end, all acknowledged notes must be searchable.`;
/** Number of searches and writes that are measured on the idle server. */
const IDLE_REQUESTS = 100;
/** Milliseconds between the end of a request and the next one. One caller searches and another one writes. */
const PAUSE_MS = 50;
const CHANGE_MS_MAX = 6 * 3_600_000;

/** Times of requests in milliseconds, and the number of those that failed. */
interface Timed {
  readonly ms: number[];
  failed: number;
}

interface Asked {
  readonly searches: Timed;
  readonly writes: Timed;
}

/** A server that can be killed and started again, with the notes that it has acknowledged. */
class UsedServer {
  /** Resolves when the server runs. */
  #up: Promise<void> = Promise.resolve();
  #kills = 0;
  /** Number of notes that were sent, which is the number of the next note. */
  sent = 0;
  acknowledged = 0;

  private constructor(
    private server: RunningServer,
    private readonly start: () => Promise<RunningServer>,
  ) {}

  static async start(start: () => Promise<RunningServer>): Promise<UsedServer> {
    return new UsedServer(await start(), start);
  }

  get running(): RunningServer {
    return this.server;
  }

  /** Sends a request when the server runs; null if it was killed meanwhile. */
  async call(method: string, path: string, body?: object): Promise<Answer | null> {
    await this.#up;
    const kills = this.#kills;
    try {
      return await this.server.call(method, path, body);
    } catch (error) {
      if (this.#kills === kills) throw error;
      return null;
    }
  }

  async killAndStart(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#up = promise;
    this.#kills += 1;
    await this.server.kill();
    this.server = await this.start();
    resolve();
  }
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const chunks = Number(flags.get("--chunks") ?? 3_000);
  const from = flags.get("--from") ?? ENGLISH;
  const changes = (flags.get("--to") ?? MULTILINGUAL).split(",");
  const folders = (flags.get("--add") ?? "").split(",").filter((folder) => folder !== "");
  const dataDir = mkdtempSync(join(tmpdir(), "mneme-model-change-"));
  const environment = {
    MNEME_EMBEDDER: ENGLISH,
    MNEME_EMBEDDER_UPGRADE: "manual",
    MNEME_EMBEDDER_CHANGE_RATE: flags.get("--rate") ?? "0",
    MNEME_QUERY_CACHE: "off",
    MNEME_LOG_LEVEL: "warn",
  };
  const other = await startRemote("openai");
  const used = await UsedServer.start(() => startServer({ dataDir, environment }));
  try {
    for (const folder of folders) await add(used, dataDir, folder);
    if ([from, ...changes].includes(REMOTE)) await connect(used, other.origin);
    if (from !== ENGLISH) await change(used, from);
    const progress = new Progress("storing:");
    const notes = Array.from({ length: chunks }, () => ({ content: noteOf(used.sent++) }));
    await storeAll(used.running, notes, (sent) => progress.show(sent / chunks, `${sent} of ${chunks} notes`));
    used.acknowledged += chunks;
    progress.finish(`stored: ${chunks} notes`);
    const written: Row[] = [];
    for (const [at, to] of changes.entries()) {
      written.push(...(await measure(used, changes[at - 1] ?? from, to, flags.has("--kill"))));
    }
    await checkNotes(used);
    if (flags.has("--record")) process.stdout.write(`written to ${writeRows("model-change", written)}\n`);
  } finally {
    await used.running.stop();
    await other.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Measures one change, and prints its table. */
async function measure(used: UsedServer, from: string, to: string, isKilled: boolean): Promise<readonly Row[]> {
  const idle = await ask(used, (asked) => asked < IDLE_REQUESTS);
  const startedAt = performance.now();
  let isChanging = true;
  const during = ask(used, () => isChanging);
  const chunks = await change(used, to, isKilled);
  isChanging = false;
  const seconds = (performance.now() - startedAt) / 1000;
  const rows = [
    rowOf("idle before", idle),
    rowOf("while changing", await during),
    rowOf("idle after", await ask(used, (asked) => asked < IDLE_REQUESTS)),
  ];
  const header = ["", "searches", "failed", "p50 ms", "p95 ms", "writes", "failed", "p50 ms", "p95 ms"];
  process.stdout.write(`${chunks} chunks from ${from} to ${to}: ${seconds.toFixed(0)} s, `);
  process.stdout.write(`${(chunks / seconds).toFixed(1)} chunks/s\n`);
  process.stdout.write(
    `${alignRows([header, ...rows.map((row) => Object.values(row).map(String))], true).join("\n")}\n`,
  );
  return rows.map((row) => ({ chunks, from, to, seconds: Math.round(seconds), ...row }));
}

/** Adds the model of a folder, which is copied to where the server looks for models. */
async function add(used: UsedServer, dataDir: string, folder: string): Promise<void> {
  const id = basename(folder);
  const source = join("added", id);
  cpSync(folder, join(dataDir, "models", source), { recursive: true });
  const added = await used.call("POST", "/v1/installed-models", { source });
  if (added === null || added.status >= 400) throw new Error(`${id} was refused: ${JSON.stringify(added?.body)}`);
  const isReady = async () => {
    const body = (await used.call("GET", `/v1/installed-models/${id}`))?.body;
    if (isRecord(body) && body.status === "failed") throw new Error(String(body.error));
    return isRecord(body) && body.status === "ready";
  };
  await until(`${id} is ready`, isReady, CHANGE_MS_MAX);
}

async function connect(used: UsedServer, origin: string): Promise<void> {
  const remote = { api: "openai", base_url: `${origin}/v1`, model: REMOTE, task: "embed" };
  const body = (await used.call("POST", "/v1/installed-models", { remote }))?.body;
  if (!isRecord(body) || body.status !== "ready") throw new Error(`not connected: ${JSON.stringify(body)}`);
}

/**
 * Changes the model of the server's project.
 * @param isKilled whether the server is killed once half of the vectors are there
 * @returns number of chunks
 */
async function change(used: UsedServer, to: string, isKilled = false): Promise<number> {
  const project = (await used.call("GET", "/v1/project"))?.body;
  const id = isRecord(project) ? String(project.id) : "";
  // removes vectors of an earlier change, which would be used again
  await used.call("DELETE", `/v1/projects/${id}/embedder/previous`);
  const asked = await used.call("PUT", `/v1/projects/${id}/embedder`, { model: to });
  if (asked === null || asked.status >= 400) throw new Error(`the change was refused: ${JSON.stringify(asked?.body)}`);
  const progress = new Progress("changing:");
  let chunks = 0;
  let killsAt = isKilled ? 0.5 : Number.POSITIVE_INFINITY;
  const isDone = async () => {
    const body = (await used.call("GET", "/v1/project/embedder"))?.body;
    const state = isRecord(body) && isRecord(body.change) ? body.change : {};
    const [done, total] = [Number(state.chunks_done), Number(state.chunks_total ?? 0)];
    if (total > 0) chunks = total;
    progress.show(total > 0 ? done / total : null, `${done} of ${total} chunks`);
    if (state.state === "failed") throw new Error(String(state.error));
    if (total > 0 && done / total >= killsAt) {
      process.stdout.write(`killed with ${done} of ${total} chunks`);
      killsAt = Number.POSITIVE_INFINITY;
      await used.killAndStart();
      const after = (await used.call("GET", "/v1/project/embedder"))?.body;
      process.stdout.write(`; after the start: ${JSON.stringify(isRecord(after) ? after.change : after)}\n`);
    }
    return isRecord(body) && body.model === to && state.state !== "building";
  };
  await until(`the model is ${to}`, isDone, CHANGE_MS_MAX);
  progress.finish("changed");
  return chunks;
}

/**
 * Waits until as many notes are completed as the server has acknowledged, and prints both numbers.
 * @throws Error if that takes longer than `CHANGE_MS_MAX`
 */
async function checkNotes(used: UsedServer): Promise<void> {
  const count = async () => {
    const body = (await used.call("GET", "/v1/memories/count?status=completed"))?.body;
    return isRecord(body) ? Number(body.count) : 0;
  };
  await until("all notes are completed", async () => (await count()) >= used.acknowledged, CHANGE_MS_MAX);
  process.stdout.write(`${used.acknowledged} notes were acknowledged, ${await count()} are completed\n`);
}

/** Searches and writes at the same time while `goesOn`, which gets the number of searches so far. */
async function ask(used: UsedServer, goesOn: (asked: number) => boolean): Promise<Asked> {
  const [searches, writes]: [Timed, Timed] = [
    { ms: [], failed: 0 },
    { ms: [], failed: 0 },
  ];
  const timed = async (into: Timed, path: string, body: object) => {
    const startedAt = performance.now();
    const answer = await used.call("POST", path, body);
    if (answer !== null) into.ms.push(performance.now() - startedAt);
    const isFailed = answer !== null && answer.status >= 400;
    if (isFailed) into.failed += 1;
    await Bun.sleep(PAUSE_MS);
    return answer !== null && !isFailed;
  };
  let isSearching = true;
  const writing = (async () => {
    while (isSearching) {
      if (await timed(writes, "/v1/memories", { content: noteOf(used.sent++) })) used.acknowledged += 1;
    }
  })();
  for (let n = 0; goesOn(n); n++) {
    await timed(searches, "/v1/memories/search", { query: `Who keeps item ${n * 7}?`, mode: "hybrid", limit: 10 });
  }
  isSearching = false;
  await writing;
  return { searches, writes };
}

function rowOf(when: string, { searches, writes }: Asked) {
  const at = (share: number, { ms }: Timed) => Math.round(percentile(share, ms));
  return {
    when,
    ...{ searches: searches.ms.length, searchesFailed: searches.failed },
    ...{ searchP50Ms: at(0.5, searches), searchP95Ms: at(0.95, searches) },
    ...{ writes: writes.ms.length, writesFailed: writes.failed },
    ...{ writeP50Ms: at(0.5, writes), writeP95Ms: at(0.95, writes) },
  };
}

const PEOPLE = ["Ada", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana"];
const PLACES = ["attic", "barn", "cellar", "dairy", "foyer", "garage", "hall", "kiln"];

/** A note of one chunk; each number gives another text. */
function noteOf(n: number): string {
  const [person = "", place = ""] = [PEOPLE[n % 8], PLACES[(n >> 3) % 8]];
  return `${person} keeps item ${n} in the ${place}, on shelf ${n % 97}, and looks at it every ${(n % 27) + 1} days.`;
}

await runMain(HELP, main);
