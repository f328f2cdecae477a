// How long a node needs before it answers the first search of a large project: with an empty data folder, when it loads
// the index from PostgreSQL, and after a restart. Also the size of a chunk in the database. The texts are real. Without
// a data directory the vectors are pseudo-random. `bun bench/cold-open.ts --help` lists the flags.

import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { sharedMemory, withKeys } from "../src/adapters/embedded/publication.ts";
import { fingerprintOf } from "../src/adapters/inference/model-files.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { prepareInputOf, readJobOf, readyMemory } from "../src/ingest/step-inputs.ts";
import { systemClock } from "../src/kit/clock.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { prepare } from "../src/preparation/prepare.ts";
import { openPostgresStores, type PostgresStores } from "../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../src/webhooks/signature.ts";
import { databaseUrl, durablePostgresServer, execute } from "../test/support/postgres.ts";
import { seeded } from "../test/support/seeded.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { type Document, readDocuments } from "./lib/documents.ts";
import { PASSAGES_FILE } from "./lib/haystack.ts";
import { benchEmbedder, benchTokenizer } from "./lib/models.ts";
import { randomVectors } from "./lib/random-vectors.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `bun bench/cold-open.ts [flags]

Measures the first search of a node on PostgreSQL with an empty data folder and after a restart.

  --passages FILE  passages, BEIR format (default: ${PASSAGES_FILE})
  --count N        use only the first N passages (default: all)
  --data FOLDER    use the memories of this data directory instead: a copy is moved with \`mneme migrate\`
  --rounds N       starts with an empty folder (default: 1)
  --record         write bench/results/cold-open.json`;
const DATABASE = "mneme_bench";
const BATCH = 256;
const LEASE_MS = 60 * 60_000;
/** Interval between two attempts of a search that was refused because the index is being loaded. */
const RETRY_MS = 50;
const TABLES = ["texts", "chunks", "publication_parts", "publication_vectors", "memories", "memory_tags"] as const;

const random = seeded(20_261_123);

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--passages": "value", "--count": "value", "--record": "switch" },
    ...{ "--data": "value", "--rounds": "value" },
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const count = Number(flags.get("--count") ?? Number.POSITIVE_INFINITY);
  const data = flags.get("--data");
  const server = await durablePostgresServer();
  await execute(server, `CREATE DATABASE ${DATABASE} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`);
  const url = databaseUrl(server, DATABASE);
  const memories =
    data === undefined
      ? await fill(url, await readDocuments(flags.get("--passages") ?? PASSAGES_FILE, count))
      : await migrate(data, url);
  const chunks = await countOf(url, "chunks");
  const bytes = await bytesPerChunk(url, chunks);
  const folder = mkdtempSync(join(tmpdir(), "mneme-cold-open-"));
  try {
    const rows: Row[] = [];
    const starts = Array.from(
      { length: Number(flags.get("--rounds") ?? 1) },
      (_, round) => `empty folder ${round + 1}`,
    );
    for (const start of [...starts, "restart", "restart"]) {
      const dataDir = join(folder, start === "restart" ? (starts.at(-1) ?? start) : start);
      const environment = { MNEME_LOG_LEVEL: "warn", MNEME_STORE: url };
      await using node = await startServer({ dataDir, environment });
      rows.push({ start, ready: seconds(node.startMs), firstSearch: seconds(await firstSearchMs(node)) });
    }
    const shown = rows.map(({ start, ready, firstSearch }) => [start, ready, firstSearch].map(String));
    const header = ["start", "s until ready", "s from there to the first answer"];
    process.stdout.write(`${memories} memories, ${chunks} chunks\n`);
    process.stdout.write(`${alignRows([header, ...shown], true).join("\n")}\n`);
    process.stdout.write(`bytes per chunk in PostgreSQL: ${JSON.stringify(bytes)}\n`);
    process.stdout.write(
      `load average of the machine: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(" ")}\n`,
    );
    const written = rows.map((row): Row => ({ memories, chunks, ...row, ...bytes }));
    if (flags.has("--record")) process.stdout.write(`written to ${writeRows("cold-open", written)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function seconds(ms: number): number {
  return Number((ms / 1000).toFixed(2));
}

/** Stores and completes the documents like a node, apart from its own index. Returns their number. */
async function fill(url: string, documents: readonly Document[]): Promise<number> {
  const stores = await openPostgresStores({
    ...{ url, clock: systemClock, newWebhookSecret },
    onEffectFailure: (error) => {
      throw error;
    },
  });
  try {
    const project = await stores.accounts.defaultProject();
    await stores.accounts.changeProject(project, { plan: "enterprise" });
    const progress = new Progress("filling:");
    for (let first = 0; first < documents.length; first += BATCH) {
      progress.show(first / documents.length, `${first} of ${documents.length} memories`);
      await storeBatch(stores, project, documents.slice(first, first + BATCH));
    }
    progress.finish(`filled: ${documents.length} memories`);
    return documents.length;
  } finally {
    await stores.close();
  }
}

type ProjectId = Awaited<ReturnType<PostgresStores["accounts"]["defaultProject"]>>;

async function storeBatch(stores: PostgresStores, project: ProjectId, batch: readonly Document[]): Promise<void> {
  const refused = (await stores.memories.accept(project, batch)).find((result) => result instanceof Error);
  if (refused !== undefined) throw refused;
  const jobs = await stores.jobs.claim({ jobs: BATCH, contentBytes: Number.MAX_SAFE_INTEGER, leaseMs: LEASE_MS });
  const { chunkTokens, dimensions } = benchEmbedder();
  const fingerprint = fingerprintOf(benchEmbedder());
  const tokenizer = benchTokenizer();
  const countTokens = (text: string) => tokenizer.count(text);
  const ready = jobs.map((job) => {
    const content = job.content ?? "";
    const read = { ...readJobOf(job, content), isSmart: true, extraction: null };
    const prepared = prepare({ ...prepareInputOf(read, true), content }, { countTokens }, chunkTokens);
    const vectors = randomVectors(random, prepared.chunks.length, dimensions);
    return readyMemory(read, prepared, [{ fingerprint, vectors }]);
  });
  const chunks = ready.reduce((sum, { publication }) => sum + publication.chunks.length, 0);
  let key = await stores.jobs.reserveChunkKeys(chunks);
  const keyed = ready.map(({ publication }) => {
    const first = key;
    key += BigInt(publication.chunks.length);
    return withKeys(publication, first);
  });
  await stores.shared.publish(keyed.map((each) => sharedMemory(project, each)));
  await stores.jobs.complete(ready.map(({ completion }) => completion));
}

/** Moves a copy of a data directory into the database, and prints the time. Returns the number of memories. */
async function migrate(data: string, url: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "mneme-moved-"));
  try {
    cpSync(data, folder, { recursive: true });
    const startedAt = performance.now();
    const command = [
      process.execPath,
      join(import.meta.dir, "../src/main.ts"),
      "migrate",
      "--from",
      folder,
      "--to",
      url,
    ];
    const { success } = Bun.spawnSync(command, { stdio: ["ignore", "inherit", "inherit"] });
    if (!success) throw new Error("mneme migrate failed");
    process.stdout.write(`moved in ${seconds(performance.now() - startedAt)} s\n`);
    return await countOf(url, "memories");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function countOf(url: string, table: (typeof TABLES)[number]): Promise<number> {
  const sql = new SQL({ url, max: 1 });
  try {
    const [row] = await sql.unsafe(`SELECT count(*)::float AS rows FROM ${table}`);
    return row.rows;
  } finally {
    await sql.close();
  }
}

/** Bytes of the tables with their indexes, per chunk. */
async function bytesPerChunk(url: string, chunks: number): Promise<Readonly<Record<string, number>>> {
  const sql = new SQL({ url, max: 1 });
  try {
    await sql.unsafe("VACUUM (FULL, ANALYZE)");
    const bytes: Record<string, number> = {};
    for (const table of TABLES) {
      const [row] = await sql.unsafe(`SELECT pg_total_relation_size('${table}')::float AS bytes`);
      bytes[table] = Math.round(row.bytes / chunks);
    }
    return bytes;
  } finally {
    await sql.close();
  }
}

/** Milliseconds until a search is answered. A node that is loading the project refuses some. */
async function firstSearchMs(node: RunningServer): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const { status, body } = await node.call("POST", "/v1/memories/search", {
      query: "the sea at night",
      mode: "fast",
    });
    if (status === 200) {
      const { results } = body as { readonly results: readonly unknown[] };
      if (results.length === 0) throw new Error("the search found nothing");
      return performance.now() - startedAt;
    }
    if (status !== 503) throw new Error(`the search was answered with ${status}: ${JSON.stringify(body)}`);
    await systemClock.sleep(RETRY_MS);
  }
}

await runMain(main);
