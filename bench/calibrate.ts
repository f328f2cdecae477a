// What does a score mean? Asks the train questions of judged collections through the public interface, and fits, per mode,
// the logistic curve that turns a final score into the probability that a result is relevant: the constants of
// `calibration` in src/retrieval/modes.ts. `bun bench/calibrate.ts --help` names the flags.

import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { MODES } from "../src/retrieval/modes.ts";
import { type Asked, ask, missedReranker } from "./lib/ask.ts";
import { COLLECTIONS, collectionsFolder, type JudgedQuery, readJudgedQueries } from "./lib/collection.ts";
import { finalScore, fitLogistic, probability, type Sample } from "./lib/logistic.ts";
import { collectionHolding, documentNames, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/calibrate.ts [flags]
  --set NAMES    collections with a train split, by comma (scifact,hotpotqa)
  --from FOLDER  where they are (${COLLECTIONS})
  --data FOLDER  keep each server's data directory here, as bench/quality.ts does
  --queries N    at most so many questions of each (400)`;
/** Fewer than any mode reranks, so that all of them have a final score of the same kind. */
const RESULTS = 10;
const BINS = 8;

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--set": "value",
    "--from": "value",
    "--data": "value",
    "--queries": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const from = collectionsFolder(flags.get("--from"));
  const queriesMax = Number(flags.get("--queries") ?? 400);

  const samples = new Map<ModeName, Sample[]>(MODE_NAMES.map((mode) => [mode, []]));
  let unreranked = 0;
  for (const set of (flags.get("--set") ?? "scifact,hotpotqa").split(",")) {
    const folder = join(from, set);
    const queries = (await readJudgedQueries(folder, "train")).slice(0, queriesMax);
    await using server = await serve(await collectionHolding(set, folder), flags.get("--data") ?? null);
    const client = new Client(server.url, server.key);
    const documentOf = await documentNames(client, folder);
    for (const [mode, found] of samples) {
      const progress = new Progress(`${set} ${mode}:`);
      for (const [at, query] of queries.entries()) {
        const within = query.userId === null ? {} : { userId: query.userId };
        const asked = await ask(client, { query: query.text, mode, limit: RESULTS, within }, documentOf);
        // without the reranker, which a busy machine gives up, scores lack a part and mean something else
        if (missedReranker(asked)) unreranked += 1;
        else found.push(...samplesOf(mode, asked, query));
        progress.show(at / queries.length, `${at} of ${queries.length} questions`);
      }
    }
  }
  for (const [mode, found] of samples) report(mode, found);
  if (unreranked > 0) process.stdout.write(`\n${unreranked} answers came without the reranker and were left out\n`);
}

// Final scores are taken back out of the calibrated ones, so that whatever a mode makes them of is in them.
function samplesOf(mode: ModeName, { passages }: Asked, { judgements }: JudgedQuery): readonly Sample[] {
  return passages.map(({ score, document }) => ({
    score: finalScore(score, MODES[mode].calibration),
    isRelevant: judgements.has(document),
  }));
}

function report(mode: ModeName, samples: readonly Sample[]): void {
  if (samples.length === 0) return void process.stdout.write(`\n${mode}: no results to fit a curve to\n`);
  const curve = fitLogistic(samples);
  process.stdout.write(
    `\n${mode}: ${samples.length} results, slope ${curve.slope.toFixed(2)}, offset ${curve.offset.toFixed(2)}\n`,
  );
  const sorted = [...samples].sort((left, right) => left.score - right.score);
  const rows = Array.from({ length: BINS }, (_, bin) => {
    const part = sorted.slice((bin * sorted.length) / BINS, ((bin + 1) * sorted.length) / BINS);
    const predicted = part.reduce((sum, { score }) => sum + probability(score, curve), 0) / part.length;
    const observed = part.filter(({ isRelevant }) => isRelevant).length / part.length;
    return [predicted.toFixed(3), observed.toFixed(3)];
  });
  process.stdout.write(`${alignRows([["predicted", "observed"], ...rows], true).join("\n")}\n`);
}

await main();
