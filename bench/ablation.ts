// Ablation of the precise mode: runs the test questions of judged collections, each time with another part of the mode
// switched off. It searches in this process, in the data directories that bench/quality.ts keeps, because no API
// request can switch off a part. `bun bench/ablation.ts --help` lists the flags.

import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import type { Ranking } from "../src/domain/ranking.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import type { Mode } from "../src/retrieval/modes.ts";
import { CachingReranker } from "./lib/caching-reranker.ts";
import { COLLECTIONS, collectionNames, collectionsFolder, readJudgedQueries, spread } from "./lib/collection.ts";
import { pairedDifference } from "./lib/intervals.ts";
import { wrappedRerankers } from "./lib/models.ts";
import { openRetrieval, searchAll } from "./lib/open-retrieval.ts";
import { lastRows, type Row, sameRow, writeRows } from "./lib/record.ts";
import { rounded, type Scores, scoreColumns, scoresOf, signed } from "./lib/scores.ts";
import { collectionContent, type DocumentAt, documentsAt, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/ablation.ts --data FOLDER [flags]

Measures how much each part of the precise mode contributes: nDCG@10 and recall with the part switched off, and the paired
difference with its 95 % interval. Writes bench/results/ablation.json.

  --data FOLDER  folder of data directories, one per collection; a missing one is created and filled
  --set NAMES    collections, separated by commas (default: all in ${COLLECTIONS})
  --from FOLDER  folder of the collections
  --queries N    use at most N questions of each collection, evenly spread`;

/**
 * The whole mode, and variants of it that lack one part. There is no variant without smoothing of turn vectors, because
 * smoothing happens at ingestion.
 */
const VARIANTS: Readonly<Record<string, Partial<Mode>>> = {
  whole: {},
  "without words": { textWeight: 0, textCandidates: 0 },
  "without text candidates": { textCandidates: 0 },
  "without graph": { usesGraph: false },
  "without reranker": { rerankDepth: 0 },
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
  const sets = collectionNames(from, flags.get("--set"));
  const queriesMax = Number(flags.get("--queries") ?? Number.POSITIVE_INFINITY);

  const rows: Row[] = [];
  for (const set of sets) {
    const folder = join(from, set);
    const queries = spread(await readJudgedQueries(folder, "test"), queriesMax);
    await (await serve(await collectionContent(set, folder), data)).stop(); // creates and checks the directory, then closes it
    await using opened = await openRetrieval(join(data, set));
    const rerankers = wrappedRerankers(opened.parts.rerankers, (reranker) => new CachingReranker(reranker, null));
    const parts = { ...opened.parts, rerankers };
    const documentAt = await documentsAt(folder);
    const judged = new Map<string, Scores>();
    for (const [variant, without] of Object.entries(VARIANTS)) {
      const label = `${set} ${variant}`;
      const rankings = await searchAll(label, { ...opened, parts }, "precise", without, queries, LIMITS.searchResults);
      judged.set(
        variant,
        scoresOf(
          queries,
          rankings.map((ranking) => documentsOf(ranking, documentAt)),
        ),
      );
    }
    rows.push(...rowsOf(set, queries.length, judged));
  }
  const before = lastRows("ablation");
  print(rows, before);
  const kept = before.filter((row) => sameRow(rows, row, ["set", "variant"]) === undefined);
  process.stdout.write(`written to ${writeRows("ablation", [...kept, ...rows])}\n`);
}

// The documents of a ranking, best first. A document with several passages has the rank of its best passage.
function documentsOf({ results }: Ranking, documentAt: DocumentAt): readonly string[] {
  return [...new Set(results.map(({ memory, place }) => documentAt(memory.externalId ?? memory.id, place.start)))];
}

function rowsOf(set: string, queries: number, judged: ReadonlyMap<string, Scores>): readonly Row[] {
  const whole = judged.get("whole");
  if (whole === undefined) throw new Error("the whole mode was not measured");
  return [...judged].map(([variant, scores]) => {
    const change = pairedDifference(scores.ndcg, whole.ndcg);
    return {
      set,
      variant,
      queries,
      ...scoreColumns(scores),
      change: rounded(change.mean, 4),
      changeLow: rounded(change.low, 4),
      changeHigh: rounded(change.high, 4),
    };
  });
}

function print(rows: readonly Row[], before: readonly Row[]): void {
  const columns = ["nDCG@10", "R@2", "R@5", "R@10", "R@100"];
  const body = rows.map((row) => {
    const last = sameRow(before, row, ["set", "variant", "queries"]);
    const change = `${signed(Number(row.change))} (${signed(Number(row.changeLow))} to ${signed(Number(row.changeHigh))})`;
    return [
      String(row.set),
      String(row.variant),
      String(row.queries),
      ...columns.map((column) => Number(row[column]).toFixed(4)),
      row.variant === "whole" ? "" : change,
      last === undefined ? "" : signed(Number(row["nDCG@10"]) - Number(last["nDCG@10"]), 4),
    ];
  });
  const header = ["set", "precise", "queries", ...columns, "change of nDCG@10", "since last run"];
  process.stdout.write(`${alignRows([header, ...body], true).join("\n")}\n`);
}

await main();
