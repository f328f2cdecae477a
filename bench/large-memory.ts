// How long searches on a node wait or are refused while another node publishes a large memory. This process is the node
// that publishes, with pseudo-random vectors; a server with the role `api` is searched all the time.
// `bun bench/large-memory.ts --help` lists the flags.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { Quarantine } from "../src/adapters/embedded/quarantine.ts";
import { FollowedChunkIndex } from "../src/adapters/embedded/shared/followed-index.ts";
import { fingerprintOf } from "../src/adapters/inference/model-files.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { visiblePages } from "../src/compose/storage.ts";
import type { Chunk } from "../src/domain/chunk.ts";
import type { ProjectId } from "../src/domain/ids.ts";
import { Publisher } from "../src/ingest/publisher.ts";
import { systemClock } from "../src/kit/clock.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { createLog } from "../src/kit/log.ts";
import type { Publication } from "../src/ports/chunk-index.ts";
import type { Job } from "../src/ports/job-store.ts";
import { openPostgresStores, type PostgresStores } from "../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../src/webhooks/signature.ts";
import { databaseUrl, durablePostgresServer, execute } from "../test/support/postgres.ts";
import { seeded } from "../test/support/seeded.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { readDocuments } from "./lib/documents.ts";
import { PASSAGES_FILE } from "./lib/haystack.ts";
import { percentile } from "./lib/metrics.ts";
import { benchEmbedder } from "./lib/models.ts";
import { randomVectors } from "./lib/random-vectors.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `bun bench/large-memory.ts [flags]

Measures searches on one node while another node publishes a large memory.

  --passages FILE  passages, BEIR format (default: ${PASSAGES_FILE})
  --chunks N       chunks of the large memory, one per passage (default: 80000, a text of 60 MiB)
  --small N        memories of one chunk that are published before (default: 2000)
  --record         write bench/results/large-memory.json`;
const DATABASE = "mneme_bench";
const LEASE_MS = 60 * 60_000;
const BATCH = 500;
/** Time between two searches, and before an attempt that follows a refused one. */
const PAUSE_MS = 20;
/** Time of the searches before the large memory is accepted. */
const IDLE_MS = 5_000;
/** Time of the searches after the large memory was found. */
const AFTER_MS = 10_000;
/** Time until a search that waits at the end of some work is answered. */
const SETTLE_MS = 15_000;
/** Title of the large memory. */
const TITLE = "A large memory";
const QUERY = "the sea at night";

const random = seeded(20_261_127);

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--passages": "value", "--chunks": "value", "--small": "value", "--record": "switch" },
    ...{ "--search": "value", "--key": "value" },
  });
  const searchedUrl = flags.get("--search");
  if (searchedUrl !== undefined) return searchForEver(searchedUrl, flags.get("--key") ?? "");
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const [chunks, small] = [Number(flags.get("--chunks") ?? 80_000), Number(flags.get("--small") ?? 2_000)];
  const passages = (await readDocuments(flags.get("--passages") ?? PASSAGES_FILE, chunks + small)).map(
    ({ content }) => content,
  );
  const server = await durablePostgresServer();
  await execute(server, `CREATE DATABASE ${DATABASE} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`);
  const url = databaseUrl(server, DATABASE);
  const folder = mkdtempSync(join(tmpdir(), "mneme-large-"));
  const publishing = await openNode(url, folder);
  try {
    const environment = { MNEME_LOG_LEVEL: "warn", MNEME_STORE: url, MNEME_ROLE: "api" };
    await using node = await startServer({ environment });
    for (let first = 0; first < small; first += BATCH) {
      await publishing.publish(passages.slice(first, Math.min(first + BATCH, small)).map((text) => [text]));
    }
    const searches = new Searches(node);
    await searches.during("before", () => systemClock.sleep(IDLE_MS));
    const large = passages.slice(small);
    await searches.during("while it is published", () => publishing.publish([large]));
    await searches.during("after it was completed", async () => {
      const { results } = await searched(node.url, node.key, { query: QUERY, filters: { title: TITLE } });
      if (results === 0) throw new Error("a completed memory was not found on the other node");
      await systemClock.sleep(AFTER_MS);
    });
    const measured = await searches.stop();
    const rows = measured.map((row): Row => ({ chunks, small, ...row }));
    const header = ["searches", "s", "answers", "refusals", "p50 ms", "p95 ms", "longest ms"];
    const shown = measured.map((row) => Object.values(row).map(String));
    process.stdout.write(`${alignRows([header, ...shown], true).join("\n")}\n`);
    process.stdout.write(`text: ${(Buffer.byteLength(large.join("\n")) / 2 ** 20).toFixed(1)} MiB\n`);
    process.stdout.write(`load average of the machine: ${loadavg().map((load) => load.toFixed(1))}\n`);
    if (flags.has("--record")) process.stdout.write(`written to ${writeRows("large-memory", rows)}\n`);
  } finally {
    await publishing.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens the node that publishes: stores, index and publisher, without models. */
async function openNode(url: string, folder: string) {
  const log = createLog("warn");
  const stores = await openPostgresStores({
    ...{ url, clock: systemClock, newWebhookSecret },
    onEffectFailure: (err) => log.error({ err }, "an effect failed"),
  });
  const { memories, jobs, accounts, shared, texts, transactions } = stores;
  const projectId = await accounts.defaultProject();
  await accounts.changeProject(projectId, { plan: "enterprise" });
  const embedder = benchEmbedder();
  const model = { fingerprint: fingerprintOf(embedder), dimensions: embedder.dimensions };
  const directory = join(folder, "projects");
  mkdirSync(directory);
  const index = new FollowedChunkIndex({
    ...{ directory, archive: texts, log, models: [model], memoryMax: null },
    ...{ shared, clock: systemClock },
    quarantine: new Quarantine(join(folder, "quarantine"), systemClock),
    reserveChunkKeys: (count) => jobs.reserveChunkKeys(count),
    completedOf: (id) => visiblePages(id, memories),
    reopen: async (keys) => jobs.reopen(keys),
    modelOf: async () => ({ live: model, isChanging: false }),
  });
  const publisher = new Publisher({
    ...{ transactions, index, log, clock: systemClock, isMoreComing: () => false },
    renew: async (held) => jobs.renew(held, LEASE_MS),
    withRows: async (id, keys) => (await jobs.published(id, keys)).map(({ memory }) => memory.key),
  });
  return {
    /** Publishes memories, given by the texts of their chunks. */
    publish: async (given: readonly (readonly string[])[]) => {
      const taken = await accepted(stores, projectId, given);
      await Promise.all(
        taken.map(({ job, passages }) => {
          const extracted = { title: passages.length > 1 ? TITLE : null, type: null, tags: [], language: "en" };
          const completion = { job, extracted, extractedBy: "local" as const, chunkCount: passages.length };
          return publisher.publish({ completion, publication: publicationOf(job, passages, model) });
        }),
      );
    },
    close: async () => {
      await publisher.close();
      await index.close();
      await stores.close();
    },
  };
}

/** Accepts memories and claims their jobs. The row of a large memory does not have its text: a server keeps a file. */
async function accepted(stores: PostgresStores, project: ProjectId, given: readonly (readonly string[])[]) {
  const passagesOf = new Map(given.map((passages) => [`${passages[0]}`, passages]));
  const drafts = [...passagesOf.keys()].map((content) => ({ content }));
  const refused = (await stores.memories.accept(project, drafts)).find((result) => result instanceof Error);
  if (refused !== undefined) throw refused;
  const jobs = await stores.jobs.claim({ jobs: BATCH, contentBytes: Number.MAX_SAFE_INTEGER, leaseMs: LEASE_MS });
  return jobs.map((job) => {
    const passages = passagesOf.get(String(job.content));
    if (passages === undefined) throw new Error("another text was claimed");
    return { job, passages };
  });
}

function publicationOf(job: Job, passages: readonly string[], model: { fingerprint: string; dimensions: number }) {
  let end = 0;
  const chunks = passages.map((passage, ordinal): Chunk => {
    const start = end;
    end += passage.length + 1;
    return { ordinal, start, end: end - 1, tokens: passage.length >> 2, headings: [] };
  });
  const passage = ({ ordinal }: Chunk) => passages[ordinal] ?? "";
  const contextText = ({ ordinal }: Chunk) =>
    passages.length === 1 ? null : passages.slice(Math.max(0, ordinal - 1), ordinal + 2).join(" ");
  return {
    ...{ memoryKey: job.memory.key, version: job.memory.version, lease: job.lease, content: passages.join("\n") },
    ...{ language: "en", chunks, entities: { title: null, phrases: [] } },
    texts: { passage, embeddedText: passage, searchText: passage, contextText },
    vectors: [{ fingerprint: model.fingerprint, vectors: randomVectors(random, passages.length, model.dimensions) }],
  } satisfies Publication;
}

/** Answers that a process of its own waits for, because this one is busy for seconds. */
class Searches {
  readonly #phases: { readonly searches: string; readonly startedAt: number; readonly endedAt: number }[] = [];
  readonly #process: Bun.Subprocess<"ignore", "pipe", "inherit">;
  readonly #answers: Waited[] = [];
  readonly #reading: Promise<void>;

  constructor({ url, key }: RunningServer) {
    const command = [process.execPath, import.meta.path, "--search", url, "--key", key];
    this.#process = Bun.spawn(command, { stdio: ["ignore", "pipe", "inherit"] });
    this.#reading = this.#read();
  }

  /** Counts the searches that begin while `work` runs. */
  async during<T>(searches: string, work: () => Promise<T>): Promise<T> {
    const startedAt = systemClock.now();
    const result = await work();
    this.#phases.push({ searches, startedAt, endedAt: systemClock.now() });
    return result;
  }

  /** Ends the searches, and returns a row for each phase. */
  async stop(): Promise<readonly Row[]> {
    await systemClock.sleep(SETTLE_MS); // a search that waits is counted, too
    this.#process.kill();
    await this.#reading;
    return this.#phases.map(({ searches, startedAt, endedAt }): Row => {
      const answers = this.#answers.filter(({ askedAt }) => askedAt >= startedAt && askedAt < endedAt);
      const ms = answers.map((answer) => answer.ms);
      const refusals = answers.reduce((sum, answer) => sum + answer.refusals, 0);
      const at = (share: number) => Math.round(percentile(share, ms));
      const seconds = Number(((endedAt - startedAt) / 1_000).toFixed(1));
      const longestMs = Math.round(Math.max(...ms));
      return { searches, seconds, answers: ms.length, refusals, p50Ms: at(0.5), p95Ms: at(0.95), longestMs };
    });
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#process.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = `${rest}${text}`.split("\n");
      rest = lines.pop() ?? "";
      this.#answers.push(...lines.map((line) => JSON.parse(line) as Waited));
    }
  }
}

/** A search that was answered, after some refusals. */
interface Waited {
  /** Unix milliseconds. */
  readonly askedAt: number;
  readonly ms: number;
  readonly refusals: number;
}

/** Searches until the process is killed, one after the other, and prints how long each caller waits as JSON lines. */
async function searchForEver(url: string, key: string): Promise<never> {
  for (;;) {
    const askedAt = systemClock.now();
    const { refusals } = await searched(url, key, { query: QUERY });
    process.stdout.write(`${JSON.stringify({ askedAt, ms: systemClock.now() - askedAt, refusals })}\n`);
    await systemClock.sleep(PAUSE_MS);
  }
}

/** Number of results, and of refusals before them. */
async function searched(url: string, key: string, search: Readonly<Record<string, unknown>>) {
  for (let refusals = 0; ; refusals++) {
    const answer = await fetch(`${url}/v1/memories/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ ...search, mode: "hybrid" }),
    });
    const body = await answer.json();
    if (answer.ok) return { results: (body as { readonly results: readonly unknown[] }).results.length, refusals };
    if (answer.status !== 503) throw new Error(`a search was answered with ${answer.status}: ${JSON.stringify(body)}`);
    await systemClock.sleep(PAUSE_MS);
  }
}

await runMain(main);
