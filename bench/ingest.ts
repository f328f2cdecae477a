// Throughput of ingestion: chunks per second of the whole server, from the first request until the last memory is
// completed. In the same run, the models embed the same chunks without a server, for comparison.
// `bun bench/ingest.ts --help` lists the flags.

import { existsSync } from "node:fs";
import { alignRows } from "../src/cli/terminal.ts";
import { UsageError } from "../src/kit/flags.ts";
import { createLog } from "../src/kit/log.ts";
import { startServer } from "../test/support/server.ts";
import { bareIngestRate } from "./command/run.ts";
import { startBareModels } from "./lib/bare-models.ts";
import { corpusFile, firstDocuments } from "./lib/beir.ts";
import { SCIFACT } from "./lib/collection.ts";
import { percentile } from "./lib/metrics.ts";
import { benchConfig } from "./lib/models.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { ingestSeconds } from "./lib/storing.ts";

const DEFAULT_FILE = corpusFile(SCIFACT);
const HELP = `bun bench/ingest.ts [flags]

Measures ingest in chunks per second, and its share of the throughput of the models alone. Writes bench/results/ingest.json.

  --file PATH   BEIR corpus, JSONL (.gz) (default: ${DEFAULT_FILE})
  --docs N      documents per round (default: 500)
  --rounds N    number of rounds, each with other documents (default: 3)`;
/** Number of chunks that are embedded before the first measurement, to warm the models up. */
const WARM_UP_CHUNKS = 16;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const file = flags.get("--file") ?? DEFAULT_FILE;
  if (!existsSync(file)) throw new UsageError(`${file} does not exist; give a file with --file.`);
  const docs = Number(flags.get("--docs") ?? 500);
  const rounds = Number(flags.get("--rounds") ?? 3);
  const corpus = await firstDocuments(file, docs * rounds);

  const rows: Row[] = [];
  await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "warn" } });
  const models = await startBareModels({ config: benchConfig(), log: createLog("warn") });
  try {
    for (let round = 0; round < rounds; round++) {
      const documents = corpus.slice(round * docs, (round + 1) * docs);
      const chunks = (await models.chunkTexts(documents)).flat();
      if (round === 0) await bareIngestRate(models, chunks.slice(0, WARM_UP_CHUNKS));
      // The models alone are measured before and after the server, so that a machine that slows down meanwhile favours
      // neither.
      const before = await bareIngestRate(models, chunks);
      const stored = chunks.length / (await ingestSeconds(server, documents));
      const bare = (before + (await bareIngestRate(models, chunks))) / 2;
      rows.push({ round: String(round + 1), chunks: chunks.length, bare, stored, share: stored / bare });
    }
  } finally {
    await models.close();
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

await runMain(HELP, main);
