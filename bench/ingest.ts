// Throughput of ingestion: chunks per second of the whole server, from the first request until the last memory is
// completed. In the same run, the lanes alone embed the same chunks, for comparison. `bun bench/ingest.ts --help` lists
// the flags.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { createLanes } from "../src/adapters/inference/lanes.ts";
import { percentile } from "../src/bench/metrics.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { createLog } from "../src/kit/log.ts";
import { prepare } from "../src/preparation/prepare.ts";
import { startServer } from "../test/support/server.ts";
import { type Document, ingestSeconds, readDocuments } from "./lib/documents.ts";
import { benchEmbedder, benchTokenizer, EMBEDDER_ID, MODELS_DIR } from "./lib/models.ts";
import { type Row, writeRows } from "./lib/record.ts";

const DEFAULT_FILE = resolve(import.meta.dir, "../../shared/data/ir/scifact/corpus.jsonl.gz");
const HELP = `bun bench/ingest.ts [flags]

Measures ingest in chunks per second, and its share of the throughput of the models alone. Writes bench/results/ingest.json.

  --file PATH   BEIR corpus, JSONL (.gz) (default: ${DEFAULT_FILE})
  --docs N      documents per round (default: 500)
  --rounds N    number of rounds, each with other documents (default: 3)`;
const CALLS_AT_ONCE = 8;
const CHUNKS_PER_CALL = 64;

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--file": "value",
    "--docs": "value",
    "--rounds": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const file = flags.get("--file") ?? DEFAULT_FILE;
  if (!existsSync(file)) throw new UsageError(`${file} does not exist; give a file with --file.`);
  const docs = Number(flags.get("--docs") ?? 500);
  const rounds = Number(flags.get("--rounds") ?? 3);
  const corpus = await readDocuments(file, docs * rounds);

  const rows: Row[] = [];
  const server = await startServer({ environment: { MNEME_LOG_LEVEL: "warn" } });
  try {
    for (let round = 0; round < rounds; round++) {
      const documents = corpus.slice(round * docs, (round + 1) * docs);
      const chunks = chunksOf(documents);
      // The lanes are measured before and after the server, so that a machine that slows down meanwhile favours
      // neither.
      const before = await bareRate(chunks);
      const stored = chunks.length / (await ingestSeconds(server, documents));
      const bare = (before + (await bareRate(chunks))) / 2;
      rows.push({ round: String(round + 1), chunks: chunks.length, bare, stored, share: stored / bare });
    }
  } finally {
    await server.stop();
  }
  const shown = rows.map((row) => [
    String(row.round),
    String(row.chunks),
    Number(row.bare).toFixed(1),
    Number(row.stored).toFixed(1),
    Number(row.share).toFixed(3),
  ]);
  const header = ["round", "chunks", "bare chunks/s", "stored chunks/s", "share"];
  process.stdout.write(`${alignRows([header, ...shown]).join("\n")}\n`);
  const shares = rows.map((row) => Number(row.share));
  process.stdout.write(`median share ${percentile(0.5, shares).toFixed(3)}; written to ${writeRows("ingest", rows)}\n`);
}

/** The texts that the server embeds for these documents. */
function chunksOf(documents: readonly Document[]): readonly string[] {
  const tokenizer = benchTokenizer();
  const countTokens = (text: string) => tokenizer.count(text);
  return documents.flatMap(({ title, content }) => {
    const input = { content, title, type: null, tags: null, language: null, date: null, createdAt: null };
    const { chunks, texts } = prepare(input, { countTokens }, benchEmbedder().chunkTokens);
    return chunks.map((chunk) => texts.embeddedText(chunk));
  });
}

/** Measures two lanes alone; returns chunks per second. */
async function bareRate(chunks: readonly string[]): Promise<number> {
  const lanes = await createLanes({ modelsDir: MODELS_DIR, embedder: EMBEDDER_ID, log: createLog("warn") });
  const embed = (texts: readonly string[]) =>
    lanes.embedders.default.embed(texts, { purpose: "passage", priority: "ingest" });
  try {
    // Many small calls ensure that both lanes have started.
    await Promise.all(chunks.slice(0, 16).map((chunk) => embed([chunk])));
    const startedAt = performance.now();
    let next = 0;
    const caller = async () => {
      while (next < chunks.length) {
        const slice = chunks.slice(next, next + CHUNKS_PER_CALL);
        next += slice.length;
        await embed(slice);
      }
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, caller));
    return (chunks.length / (performance.now() - startedAt)) * 1000;
  } finally {
    await lanes.close();
  }
}

await main();
