// Fits the calibration curves of an embedder, which are in its manifest (model.json). It runs the train questions of
// judged collections and fits, for each combination of signals, the logistic curve from final score to probability of
// relevance. It searches in this process, in the data directories that bench/quality.ts keeps, because no API request
// can switch off the reranker. `bun bench/calibrate.ts --help` lists the flags.

import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import type { ModeName, Ranking } from "../src/domain/ranking.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { calibrationCurve, type Mode, type ScoreParts } from "../src/retrieval/modes.ts";
import { CachingReranker } from "./lib/caching-reranker.ts";
import { COLLECTIONS, collectionsFolder, type JudgedQuery, readJudgedQueries, spread } from "./lib/collection.ts";
import { finalScore, fitLogistic, probability, type Sample } from "./lib/logistic.ts";
import { benchEmbedder, wrappedRerankers } from "./lib/models.ts";
import { openRetrieval, searchAll } from "./lib/open-retrieval.ts";
import { collectionContent, type DocumentAt, documentsAt, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/calibrate.ts --data FOLDER [flags]

Fits the calibration curves of the embedder that MNEME_EMBEDDER names (model.json) and prints slope, offset, and predicted against observed relevance.

  --data FOLDER  folder of data directories, one per collection; a missing one is created and filled
  --set NAMES    collections with a train split, separated by commas (default: scifact,hotpotqa)
  --from FOLDER  folder of the collections (default: ${COLLECTIONS})
  --queries N    use at most N questions of each collection (default: 150)`;
/** Number of results per question. Fewer than any mode reranks, so that either all results were reranked or none. */
const RESULTS = 10;
const BINS = 8;
/** The combinations of signals in a final score, and a mode that produces each. */
const SIGNAL_COMBINATIONS: Readonly<
  Record<string, { readonly parts: ScoreParts; readonly mode: ModeName; readonly changes: Partial<Mode> }>
> = {
  vector: { parts: { text: false, graph: false, rerank: false }, mode: "fast", changes: {} },
  "vector graph": { parts: { text: false, graph: true, rerank: false }, mode: "fast", changes: { usesGraph: true } },
  "vector text": { parts: { text: true, graph: false, rerank: false }, mode: "hybrid", changes: {} },
  "vector text graph": {
    parts: { text: true, graph: true, rerank: false },
    mode: "precise",
    changes: { rerankDepth: 0 },
  },
  "vector text rerank": { parts: { text: true, graph: false, rerank: true }, mode: "balanced", changes: {} },
  "vector text graph rerank": { parts: { text: true, graph: true, rerank: true }, mode: "precise", changes: {} },
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
  if (data === undefined) throw new UsageError("Give the folder of data directories with --data.");
  const from = collectionsFolder(flags.get("--from"));
  const queriesMax = Number(flags.get("--queries") ?? 150);

  const samples = new Map<string, readonly Sample[]>();
  for (const set of (flags.get("--set") ?? "scifact,hotpotqa").split(",")) {
    const folder = join(from, set);
    const queries = spread(await readJudgedQueries(folder, "train"), queriesMax);
    await (await serve(await collectionContent(set, folder), data)).stop(); // creates and checks the directory, then closes it
    await using opened = await openRetrieval(join(data, set));
    const rerankers = wrappedRerankers(opened.parts.rerankers, (reranker) => new CachingReranker(reranker, null));
    const parts = { ...opened.parts, rerankers };
    const documentAt = await documentsAt(folder);
    for (const [name, sum] of Object.entries(SIGNAL_COMBINATIONS)) {
      const rankings = await searchAll(
        `${set}, ${name}`,
        { ...opened, parts },
        sum.mode,
        sum.changes,
        queries,
        RESULTS,
      );
      const found = rankings.flatMap((ranking, at) => resultsOf(ranking, sum.parts, queries[at], documentAt));
      samples.set(name, [...(samples.get(name) ?? []), ...found]);
    }
  }
  for (const [name, found] of samples) report(name, found);
}

// The final scores are recovered from the calibrated ones with the inverse curve. Questions for which the graph found
// nothing are only used for the combinations without graph.
function resultsOf(
  { results, stages }: Ranking,
  parts: ScoreParts,
  query: JudgedQuery | undefined,
  documentAt: DocumentAt,
): readonly Sample[] {
  const { tuning } = benchEmbedder();
  const isLinked = stages.some(({ name, candidates }) => name === "graph" && candidates > 0);
  if (parts.graph !== isLinked) return [];
  return results.map(({ score, memory, place }) => ({
    score: finalScore(score, calibrationCurve(parts, tuning)),
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
