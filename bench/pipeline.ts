// How much ingestion can do if no embedder limits it: stores memories through requests, with an embedder that returns
// drawn (pseudo-random) vectors at once, or imports projects with drawn vectors. Measures the chunks per second until
// all memories are completed, and the processor time per chunk of each process and thread of the server. The thread
// with the most time per chunk limits machines with many cores. `bun bench/pipeline.ts --help` lists the flags.

import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { fingerprintOf } from "../src/adapters/inference/model-files.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { sha256OfInputs } from "../src/ingest/imported-vectors.ts";
import { systemClock } from "../src/kit/clock.ts";
import { prepare } from "../src/preparation/prepare.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { firstDocuments } from "./lib/beir.ts";
import { importDrawnProject } from "./lib/drawn-project.ts";
import { vectorSource } from "./lib/drawn-vectors.ts";
import { generatedPassage } from "./lib/generated-corpus.ts";
import { instantEmbedderFolder } from "./lib/instant-embedder.ts";
import { benchEmbedder, benchTokenizer } from "./lib/models.ts";
import type { Passage } from "./lib/passages.ts";
import { runMain } from "./lib/run-main.ts";
import { Target } from "./lib/target.ts";
import { ThreadWatch } from "./lib/thread-watch.ts";

const HELP = `bun bench/pipeline.ts [flags]

Stores memories whose vectors are drawn, and prints chunks per second and processor time by process and thread.

  --import        import projects with vectors, instead of sending requests
  --file PATH     BEIR corpus, JSONL (.gz) (default: generated passages)
  --passages N    passages per round (default: 20000)
  --rounds N      number of rounds, each with other passages (default: 3)
  --threads N     number of threads to print (default: 12)
  --lanes N       number of lanes, which have nothing to do (default: as a server)
  --data FOLDER   data directory, which is kept (default: a temporary one)`;
/** Interval between two looks at the threads. */
const LOOK_MS = 200;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const perRound = Number(flags.get("--passages") ?? 20_000);
  const rounds = Number(flags.get("--rounds") ?? 3);
  const shown = Number(flags.get("--threads") ?? 12);
  const documents = await passagesOf(flags.get("--file"), perRound * rounds);
  const passagesOfRound = (round: number) => passagesFrom(documents, round * perRound, (round + 1) * perRound);
  const dataDir = flags.get("--data");
  const folder = instantEmbedderFolder("mneme-pipeline-");
  const server = await startServer({
    ...(dataDir === undefined ? {} : { dataDir: resolve(dataDir) }),
    environment: { MNEME_LOG_LEVEL: "warn", MNEME_LANES: flags.get("--lanes") ?? null },
    workingDirectory: folder,
  });
  const fill = flags.has("--import") ? importAll : sendAll;
  try {
    for (let round = 0; round < rounds; round++) {
      await fill(server, `round ${round + 1}`, passagesOfRound(round), shown);
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

/** The documents of a file; null for generated ones. */
async function passagesOf(file: string | undefined, count: number): Promise<readonly Passage[] | null> {
  if (file === undefined) return null;
  const documents = await firstDocuments(resolve(file), count);
  return documents.map(({ title, content }, n) => {
    return { id: `passage-${n}`, title, content, userId: null, type: null, metadata: {} };
  });
}

// Generated passages are made when they are needed, because a million of them take much memory.
function* passagesFrom(documents: readonly Passage[] | null, first: number, end: number): Generator<Passage> {
  for (let n = first; n < end; n++) yield documents?.[n] ?? generatedPassage(1, n);
}

/** Imports passages as a project, and measures from the end of the import until they are searchable. */
async function importAll(server: RunningServer, name: string, passages: Iterable<Passage>, shown: number) {
  const { projectId, chunks } = await importDrawn(server, name, passages);
  const target = new Target(server.url, server.key);
  await target.useProject(projectId);
  const watch = new ThreadWatch(server.pid);
  await untilSettled(target, watch);
  report(name, chunks, watch, shown);
}

/** Sends passages in batches; measures from the first request until all are searchable. Counts one chunk for each. */
async function sendAll(server: RunningServer, name: string, passages: Iterable<Passage>, shown: number) {
  const target = new Target(server.url, server.key);
  const all = [...passages];
  const watch = new ThreadWatch(server.pid);
  for (let first = 0; first < all.length; first += LIMITS.memoriesPerBatch) {
    await target.store(all.slice(first, first + LIMITS.memoriesPerBatch));
    watch.look();
  }
  await untilSettled(target, watch);
  report(name, all.length, watch, shown);
}

async function untilSettled(target: Target, watch: ThreadWatch): Promise<void> {
  const looking = setInterval(() => watch.look(), LOOK_MS);
  try {
    await target.untilSettled();
  } finally {
    clearInterval(looking);
    watch.look();
  }
}

function report(name: string, chunks: number, watch: ThreadWatch, shown: number): void {
  const ms = watch.ms();
  const rows = watch.spent().map(({ name: thread, ms: busyMs }) => {
    return [thread, (busyMs / chunks).toFixed(3), (busyMs / ms).toFixed(2)];
  });
  const rate = Math.round((chunks / ms) * 1000);
  process.stdout.write(`${name}: ${chunks} chunks in ${(ms / 1000).toFixed(1)} s, ${rate} chunks/s\n`);
  const lines = alignRows([["thread", "ms/chunk", "share of a core"], ...rows.slice(0, shown)]);
  process.stdout.write(`${lines.join("\n")}\n\n`);
}

/** Imports passages as a project of their own. Returns its id and its number of chunks. */
function importDrawn(server: RunningServer, name: string, passages: Iterable<Passage>) {
  const embedder = benchEmbedder();
  const tokenizer = benchTokenizer();
  const countTokens = (text: string) => tokenizer.count(text);
  return importDrawnProject(server.dataDir, {
    name,
    createdAt: systemClock.now(),
    passages,
    chunkTexts: async (batch) =>
      batch.map((passage) => {
        const given = { ...{ tags: null, language: null, date: null, createdAt: null }, ...passage };
        const prepared = prepare(given, { countTokens }, embedder.chunkTokens);
        return prepared.chunks.map((chunk) => prepared.texts.embeddedText(chunk));
      }),
    inputsSha256: sha256OfInputs,
    fingerprint: fingerprintOf(embedder),
    dimensions: embedder.dimensions,
    draw: vectorSource(1, embedder.dimensions),
  });
}

await runMain(HELP, main);
