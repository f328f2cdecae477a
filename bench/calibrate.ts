// What does a score mean? Asks the train questions of judged collections, and fits, for each sum of parts that a final score can
// be, the logistic curve that turns it into the probability that a result is relevant: the constants of src/retrieval/modes.ts. In
// this process over kept data directories, since no request can ask for a mode without its reranker.
// `bun bench/calibrate.ts --help` names the flags.

import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import type { Ranking } from "../src/domain/ranking.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { calibrationCurve, MODES, type Mode, type ScoreParts } from "../src/retrieval/modes.ts";
import { COLLECTIONS, collectionsFolder, type JudgedQuery, readJudgedQueries, spread } from "./lib/collection.ts";
import { finalScore, fitLogistic, probability, type Sample } from "./lib/logistic.ts";
import { askOpened, openRetrieval } from "./lib/opened.ts";
import { RememberingReranker } from "./lib/remembering-reranker.ts";
import { collectionHolding, type DocumentAt, documentsAt, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/calibrate.ts --data FOLDER [flags]
  --data FOLDER  kept data directories, one per collection; filled where they are not there
  --set NAMES    collections with a train split, by comma (scifact,hotpotqa)
  --from FOLDER  where they are (${COLLECTIONS})
  --queries N    at most so many questions of each (150)`;
/** Fewer than any mode reranks, so that all of them have a final score of the same kind. */
const RESULTS = 10;
const BINS = 8;
/** What a final score can be the sum of, and how such a score comes about. */
const SUMS: Readonly<Record<string, { readonly parts: ScoreParts; readonly mode: Mode }>> = {
  cosine: { parts: { text: false, graph: false, rerank: false }, mode: MODES.fast },
  "cosine, graph": { parts: { text: false, graph: true, rerank: false }, mode: { ...MODES.fast, usesGraph: true } },
  "cosine, words": { parts: { text: true, graph: false, rerank: false }, mode: { ...MODES.balanced, rerankDepth: 0 } },
  "cosine, words, graph": {
    parts: { text: true, graph: true, rerank: false },
    mode: { ...MODES.precise, rerankDepth: 0 },
  },
  "cosine, words, reranker": { parts: { text: true, graph: false, rerank: true }, mode: MODES.balanced },
  "cosine, words, graph, reranker": { parts: { text: true, graph: true, rerank: true }, mode: MODES.precise },
};

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--data": "value",
    "--set": "value",
    "--from": "value",
    "--queries": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const data = flags.get("--data");
  if (data === undefined) throw new UsageError("Name the folder of kept data directories with --data.");
  const from = collectionsFolder(flags.get("--from"));
  const queriesMax = Number(flags.get("--queries") ?? 150);

  const samples = new Map<string, readonly Sample[]>();
  for (const set of (flags.get("--set") ?? "scifact,hotpotqa").split(",")) {
    const folder = join(from, set);
    const queries = spread(await readJudgedQueries(folder, "train"), queriesMax);
    await (await serve(await collectionHolding(set, folder), data)).stop(); // it is there, whole, and shut in good order
    await using opened = await openRetrieval(join(data, set));
    const parts = { ...opened.parts, reranker: new RememberingReranker(opened.parts.reranker, null) };
    const documentAt = await documentsAt(folder);
    for (const [name, sum] of Object.entries(SUMS)) {
      const rankings = await askOpened(`${set}, ${name}`, { ...opened, parts }, sum.mode, queries, RESULTS);
      const found = rankings.flatMap((ranking, at) => resultsOf(ranking, sum.parts, queries[at], documentAt));
      samples.set(name, [...(samples.get(name) ?? []), ...found]);
    }
  }
  for (const [name, found] of samples) report(name, found);
}

// Final scores are taken back out of the calibrated ones, so that whatever a search makes them of is in them. A question that names
// nothing has no part of the graph's: it is left to the sums without.
function resultsOf(
  { results, stages }: Ranking,
  parts: ScoreParts,
  query: JudgedQuery | undefined,
  documentAt: DocumentAt,
): readonly Sample[] {
  const isLinked = stages.some(({ name, candidates }) => name === "graph" && candidates > 0);
  if (parts.graph !== isLinked) return [];
  return results.map(({ score, memory, place }) => ({
    score: finalScore(score, calibrationCurve(parts)),
    isRelevant: query?.judgements.has(documentAt(memory.externalId ?? memory.id, place.start)) ?? false,
  }));
}

function report(name: string, samples: readonly Sample[]): void {
  if (samples.length === 0) return void process.stdout.write(`\n${name}: no results to fit a curve to\n`);
  const curve = fitLogistic(samples);
  process.stdout.write(
    `\n${name}: ${samples.length} results, slope ${curve.slope.toFixed(2)}, offset ${curve.offset.toFixed(2)}\n`,
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
