// Speed of the models alone: throughput and latency of the lanes, without server and stores. The figures are an upper
// limit for ingestion and search, and show how well src/adapters/inference/schedule.ts works. `bun bench/embedder.ts
// --help` lists the flags.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { MODEL_RUNTIMES } from "../src/adapters/inference/lane-protocol.ts";
import { createLanes } from "../src/adapters/inference/lanes.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { readLines } from "../src/kit/lines.ts";
import { createLog } from "../src/kit/log.ts";
import type { Tokenizer } from "../src/kit/tokenizer.ts";
import type { Embedder, Reranker } from "../src/ports/models.ts";
import { percentile } from "./lib/metrics.ts";
import { benchTokenizer, EMBEDDER_ID, MODELS_DIR } from "./lib/models.ts";
import { runMain } from "./lib/run-main.ts";

const DEFAULT_FILE = resolve(import.meta.dir, "../../shared/data/ir/scifact/corpus.jsonl.gz");
const HELP = `bun bench/embedder.ts [flags]

Measures throughput, latency and memory of embedder and reranker, idle and under ingest load. Prints a table.
MNEME_EMBEDDER names the embedder.

  --file PATH   texts: JSONL (.gz) with "text" and optional "title" (default: ${DEFAULT_FILE})
  --texts N     number of texts (default: 1000)
  --lanes N     number of lane processes (default: 2)
  --runtime R   runtime of the models, one of ${MODEL_RUNTIMES.join(", ")} (default: auto)
  --queries N   measured queries of each kind (default: 300)`;

/** Number of texts per call, as in ingestion. */
const TEXTS_PER_CALL = 64;
/** Number of concurrent calls; several, so that the lanes never wait for the bench. */
const CALLS_AT_ONCE = 4;
const INGEST = { purpose: "passage", priority: "ingest" } as const;
const WARM_UP = 20;
const RERANKED = 20;
const RERANKS = 20;

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--file": "value",
    "--texts": "value",
    "--lanes": "value",
    "--runtime": "value",
    "--queries": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const file = flags.get("--file") ?? DEFAULT_FILE;
  if (!existsSync(file)) throw new UsageError(`${file} does not exist; give a file with --file.`);
  const texts = await readTexts(file, Number(flags.get("--texts") ?? 1000));
  const queryCount = Number(flags.get("--queries") ?? 300);
  const wanted = flags.get("--runtime") ?? "auto";
  const runtime = MODEL_RUNTIMES.find((known) => known === wanted);
  if (runtime === undefined) throw new UsageError(`--runtime must be one of ${MODEL_RUNTIMES.join(", ")}.`);

  const tokenizer = benchTokenizer();
  const lanes = await createLanes({
    modelsDir: MODELS_DIR,
    embedder: EMBEDDER_ID,
    lanes: Number(flags.get("--lanes") ?? 2),
    runtime,
    log: createLog("warn"),
  });
  const embedder = lanes.embedders.default;
  const reranker = lanes.rerankers.for(embedder);
  const startedAt = performance.now();
  await lanes.ready();
  const rows: [what: string, figure: string][] = [["first lane ready", `${ms(performance.now() - startedAt)}`]];
  await embedder.embed(texts.slice(0, WARM_UP), INGEST);

  const short = queriesOf(texts, tokenizer, 16);
  const long = queriesOf(texts, tokenizer, 128);
  rows.push(["query of 16 tokens, idle", latencies(await askInTurn(embedder, short, queryCount))]);
  rows.push(["query of 128 tokens, idle", latencies(await askInTurn(embedder, long, queryCount))]);
  rows.push([`rerank of ${RERANKED} x 128, idle`, latencies(await rerankInTurn(reranker, texts))]);
  rows.push(["ingest alone", rate(await ingest(embedder, texts), texts, embedder, tokenizer)]);

  // The background load must last until the measurements made under it have ended.
  let isMeasuring = true;
  const background = (async () => {
    while (isMeasuring) await ingest(embedder, texts);
  })();
  await embedder.embed(texts.slice(0, WARM_UP), INGEST);
  rows.push(["query of 16 tokens, under ingest", latencies(await askInTurn(embedder, short, queryCount))]);
  rows.push([`rerank of ${RERANKED} x 128, under ingest`, latencies(await rerankInTurn(reranker, texts))]);
  isMeasuring = false;
  await background;

  for (const lane of lanes.status().lanes) {
    rows.push([`memory of ${lane.name}`, `${Math.round(lane.rssBytes / 2 ** 20)} MiB`]);
  }
  await lanes.close();
  process.stdout.write(`${alignRows(rows).join("\n")}\n`);
}

async function readTexts(file: string, count: number): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const line of readLines(file)) {
    const { title = "", text = "" } = JSON.parse(line.text) as { readonly title?: string; readonly text?: string };
    texts.push(`${title} ${text}`.trim());
    if (texts.length === count) break;
  }
  return texts;
}

/** Makes queries from the beginnings of the texts, each with about `tokens` tokens, including special tokens. */
function queriesOf(texts: readonly string[], tokenizer: Tokenizer, tokens: number): readonly string[] {
  return texts.flatMap((text) => {
    const words = text.split(" ");
    const wordsPerToken = words.length / tokenizer.count(text);
    const query = words.slice(0, Math.round((tokens - 2) * wordsPerToken)).join(" ");
    return tokenizer.count(text) >= tokens ? [query] : [];
  });
}

/** Runs `count` queries one after the other; returns the milliseconds of each. */
async function askInTurn(embedder: Embedder, queries: readonly string[], count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const startedAt = performance.now();
    await embedder.embed([queries[n % queries.length] ?? ""], { purpose: "query", priority: "query" });
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function rerankInTurn(reranker: Reranker | null, texts: readonly string[]): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; n < RERANKS; n += 1) {
    const startedAt = performance.now();
    await reranker?.score(`what is known about question ${n}`, texts.slice(0, RERANKED));
    times.push(performance.now() - startedAt);
  }
  return times;
}

/** Embeds all texts; returns the milliseconds that this took. */
async function ingest(embedder: Embedder, texts: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < texts.length) {
      const from = next;
      next += TEXTS_PER_CALL;
      await embedder.embed(texts.slice(from, from + TEXTS_PER_CALL), INGEST);
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
  return performance.now() - startedAt;
}

function rate(elapsedMs: number, texts: readonly string[], embedder: Embedder, tokenizer: Tokenizer): string {
  const tokens = texts.reduce((sum, text) => sum + tokenizer.encode(text, embedder.tokensMax).length, 0);
  const perSecond = (count: number) => Math.round((count / elapsedMs) * 1000).toLocaleString("en");
  return `${perSecond(texts.length)} texts/s, ${perSecond(tokens)} tokens/s (${Math.round(tokens / texts.length)} per text)`;
}

function latencies(times: readonly number[]): string {
  return `p50 ${ms(percentile(0.5, times))}, p95 ${ms(percentile(0.95, times))}`;
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}

await runMain(main);
