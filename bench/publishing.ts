// How long the index takes to publish a short memory while it has other work in the same project: nothing, a large
// memory that is published in parts, or the erasing of files after a purge. The project has memories of random vectors.
// `bun bench/publishing.ts --help` lists the flags.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedChunkIndex } from "../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../src/adapters/embedded/duckdb/archive.ts";
import { Quarantine } from "../src/adapters/embedded/quarantine.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import type { Chunk } from "../src/domain/chunk.ts";
import type { MemoryKey, ProjectId } from "../src/domain/ids.ts";
import { systemClock } from "../src/kit/clock.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { createLog } from "../src/kit/log.ts";
import type { ProjectIndex, Publication } from "../src/ports/chunk-index.ts";
import { seeded } from "../test/support/seeded.ts";
import { percentile } from "./lib/metrics.ts";
import { randomVectors } from "./lib/random-vectors.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `bun bench/publishing.ts [flags]

Measures how long publications of short memories take while the index has other work.

  --chunks N  chunks of the project (default: 130000)
  --large N   chunks of the memory that is published in parts (default: 60000, a text of 60 MiB)
  --purged N  memories of ten chunks that are purged, out of all parts of the project (default: 5)
  --record    write bench/results/publishing.json`;
const MODEL = { fingerprint: "random", dimensions: 384 };
const PROJECT = "prj_00000000000000000000000001" as ProjectId;
const CHUNKS_PER_MEMORY = 10;
const WORDS_PER_CHUNK = 120;
const MEMORIES_PER_ROUND = 50;
/** Time without other work that is measured. */
const IDLE_MS = 3_000;
/** Numbers of the large memory and of short ones, behind those of the project. */
const LARGE = 1_000_000;
const FIRST_SHORT = LARGE + 1;
/** Time between the end of a publication and the next one. */
const PAUSE_MS = 20;

const random = seeded(20_261_123);
const vocabulary = Array.from({ length: 20_000 }, (_, at) => `w${Math.floor(random() * 1e9).toString(36)}${at % 7}`);

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--chunks": "value", "--large": "value", "--purged": "value", "--record": "switch" },
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const number = (flag: string, otherwise: number) => Number(flags.get(flag) ?? otherwise);
  const [chunks, large, purged] = [number("--chunks", 130_000), number("--large", 60_000), number("--purged", 5)];
  const folder = mkdtempSync(join(tmpdir(), "mneme-publishing-"));
  const { index, close } = await openIndex(folder);
  try {
    const memories = Math.ceil(chunks / CHUNKS_PER_MEMORY);
    const project = await index.project(PROJECT);
    await fill(project, memories);
    await index.compact(); // the first one of a process looks at all files
    const rows = [await measure("nothing", project, systemClock.sleep(IDLE_MS))];
    const publication = publicationOf(LARGE, large);
    rows.push(await measure("large memory", project, allParts(project.publishInParts(publication))));
    const keys = Array.from({ length: purged }, (_, n) => keyOf(Math.floor((n * memories) / purged)));
    await project.retract(keys);
    await index.purge(keys);
    rows.push(await measure("erasing", project, index.compact()));
    const columns = ["other work", "seconds", "publications", "p50 ms", "p95 ms", "max ms"];
    const shown = rows.map((row) => Object.values(row).map(String));
    process.stdout.write(`${alignRows([columns, ...shown], true).join("\n")}\n`);
    const written = rows.map((row): Row => ({ chunks, large, purged, ...row }));
    if (flags.has("--record")) process.stdout.write(`written to ${writeRows("publishing", written)}\n`);
  } finally {
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

let shortMemories = 0;

/** Publishes short memories until the other work has ended. */
async function measure(otherWork: string, project: ProjectIndex, work: Promise<unknown>) {
  const startedAt = performance.now();
  let isWorking = true;
  const ended = work.finally(() => {
    isWorking = false;
  });
  const ms: number[] = [];
  while (isWorking) {
    const publication = publicationOf(FIRST_SHORT + shortMemories++, 1);
    await systemClock.sleep(PAUSE_MS);
    const publishedAt = performance.now();
    await project.publish([publication]);
    ms.push(performance.now() - publishedAt);
  }
  await ended;
  const seconds = Number(((performance.now() - startedAt) / 1_000).toFixed(1));
  const at = (share: number) => Math.round(percentile(share, ms));
  const maxMs = Math.round(Math.max(...ms));
  return { otherWork, seconds, publications: ms.length, p50Ms: at(0.5), p95Ms: at(0.95), maxMs };
}

async function allParts(parts: AsyncIterable<void>): Promise<void> {
  for await (const _ of parts) await systemClock.sleep(0);
}

async function openIndex(folder: string) {
  const log = createLog("warn");
  const directory = join(folder, "projects");
  mkdirSync(directory);
  const archive = await Archive.open({ path: join(folder, "memories.duckdb"), log });
  let nextChunkKey = 1n;
  const index = new EmbeddedChunkIndex({
    ...{ directory, archive, log, models: [MODEL] },
    quarantine: new Quarantine(join(folder, "quarantine"), systemClock),
    reserveChunkKeys: (count) => {
      nextChunkKey += BigInt(count);
      return nextChunkKey - BigInt(count);
    },
  });
  const close = async () => {
    await index.close();
    await archive.close();
  };
  return { index, close };
}

async function fill(project: ProjectIndex, memories: number): Promise<void> {
  const progress = new Progress("filling:");
  for (let first = 0; first < memories; first += MEMORIES_PER_ROUND) {
    progress.show(first / memories, `${first} of ${memories} memories`);
    const count = Math.min(MEMORIES_PER_ROUND, memories - first);
    await project.publish(Array.from({ length: count }, (_, at) => publicationOf(first + at, CHUNKS_PER_MEMORY)));
  }
  progress.finish(`filled: ${memories} memories`);
}

function keyOf(memory: number): MemoryKey {
  return BigInt(memory + 1) as MemoryKey;
}

function publicationOf(memory: number, chunkCount: number): Publication {
  const passages = Array.from({ length: chunkCount }, () =>
    // The product makes some words much more frequent than others.
    Array.from({ length: WORDS_PER_CHUNK }, () => vocabulary[Math.floor(random() * random() * vocabulary.length)]).join(
      " ",
    ),
  );
  let end = 0;
  const chunks = passages.map((passage, ordinal): Chunk => {
    const start = end;
    end += passage.length + 1;
    return { ordinal, start, end: end - 1, tokens: WORDS_PER_CHUNK, headings: [] };
  });
  const passage = ({ ordinal }: Chunk) => passages[ordinal] ?? "";
  const contextText = (chunk: Chunk) => (chunkCount === 1 ? null : `${passage(chunk)} ${passages[0]}`);
  const vectors = randomVectors(random, chunkCount, MODEL.dimensions);
  return {
    ...{ memoryKey: keyOf(memory), version: 1, content: passages.join("\n"), language: "en", chunks },
    texts: { passage, embeddedText: passage, searchText: passage, contextText },
    vectors: [{ fingerprint: MODEL.fingerprint, vectors }],
    entities: { title: null, phrases: [] },
  };
}

await runMain(main);
