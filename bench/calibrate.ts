// What does a score mean? Asks the train questions of judged collections through the public interface, and fits, per mode,
// the logistic curve that turns a final score into the probability that a result is relevant: the constants of
// `calibration` in src/retrieval/modes.ts. `bun bench/calibrate.ts --help` names the flags.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Client, isRecord } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import type { ModeName } from "../src/domain/ranking.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { MODES } from "../src/retrieval/modes.ts";
import { startServer } from "../test/support/server.ts";
import { type JudgedQuery, readJudgedQueries } from "./lib/collection.ts";
import { type DocumentOf, documentNames, ingestCollection } from "./lib/served-collection.ts";

const COLLECTIONS = resolve(import.meta.dir, "../../shared/data/ir");
const HELP = `bun bench/calibrate.ts [flags]
  --set NAMES    collections with a train split, by comma (scifact,hotpotqa)
  --from FOLDER  where they are (${COLLECTIONS})
  --queries N    at most so many questions of each (400)`;
const RESULTS = 10;
const BINS = 8;
const NEWTON_STEPS = 50;

/** A result: its final score before calibration, and whether it is relevant. */
interface Sample {
  readonly score: number;
  readonly isRelevant: boolean;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--set": "value",
    "--from": "value",
    "--queries": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const from = flags.get("--from") ?? COLLECTIONS;
  if (!existsSync(from)) throw new UsageError(`No collections at ${from}; name their folder with --from.`);
  const queriesMax = Number(flags.get("--queries") ?? 400);

  const modes = Object.keys(MODES) as ModeName[];
  const samples = new Map<ModeName, Sample[]>(modes.map((mode) => [mode, []]));
  for (const set of (flags.get("--set") ?? "scifact,hotpotqa").split(",")) {
    const folder = join(from, set);
    const queries = (await readJudgedQueries(folder, "train")).slice(0, queriesMax);
    await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "warn" } });
    await ingestCollection(server, set, folder);
    const client = new Client(server.url, server.key);
    const documents = await documentNames(client, folder);
    for (const [mode, found] of samples) {
      for (const query of queries) found.push(...(await ask(client, mode, query, documents)));
    }
  }
  for (const [mode, found] of samples) report(mode, found);
}

async function ask(
  client: Client,
  mode: ModeName,
  query: JudgedQuery,
  documents: DocumentOf,
): Promise<readonly Sample[]> {
  const answer = await client.send("POST", "/v1/memories/search", {
    query: query.text,
    mode,
    limit: RESULTS,
    explain: true,
  });
  const results = Array.isArray(answer.results) ? answer.results.filter(isRecord) : [];
  return results.map((result) => ({
    score: finalScore(mode, result.explain),
    isRelevant: query.judgements.has(documents(result)),
  }));
}

// The final score of retrieval/rank.ts, put together again from what `explain` shows.
function finalScore(mode: ModeName, explain: unknown): number {
  const signals = isRecord(explain) && isRecord(explain.signals) ? explain.signals : {};
  const signal = (name: string) => (isRecord(signals[name]) ? Number(signals[name].score) : 0);
  return signal("vector") + MODES[mode].wordsWeight * signal("text") + MODES[mode].rerankWeight * signal("rerank");
}

function report(mode: ModeName, samples: readonly Sample[]): void {
  const { slope, offset } = fitLogistic(samples);
  process.stdout.write(
    `\n${mode}: ${samples.length} results, slope ${slope.toFixed(2)}, offset ${offset.toFixed(2)}\n`,
  );
  const sorted = [...samples].sort((left, right) => left.score - right.score);
  const rows = Array.from({ length: BINS }, (_, bin) => {
    const part = sorted.slice((bin * sorted.length) / BINS, ((bin + 1) * sorted.length) / BINS);
    const predicted = part.reduce((sum, { score }) => sum + probability(slope * score + offset), 0) / part.length;
    const observed = part.filter(({ isRelevant }) => isRelevant).length / part.length;
    return [predicted.toFixed(3), observed.toFixed(3)];
  });
  process.stdout.write(`${alignRows([["predicted", "observed"], ...rows], true).join("\n")}\n`);
}

/** Maximum likelihood of P(relevant) = 1 / (1 + exp(-(slope * score + offset))), by Newton's method. */
function fitLogistic(samples: readonly Sample[]): { readonly slope: number; readonly offset: number } {
  let slope = 1;
  let offset = 0;
  for (let step = 0; step < NEWTON_STEPS; step++) {
    let [gradientSlope, gradientOffset, curvatureSlope, curvatureMixed, curvatureOffset] = [0, 0, 0, 0, 0];
    for (const { score, isRelevant } of samples) {
      const predicted = probability(slope * score + offset);
      const error = Number(isRelevant) - predicted;
      const weight = predicted * (1 - predicted);
      gradientSlope += error * score;
      gradientOffset += error;
      curvatureSlope += weight * score * score;
      curvatureMixed += weight * score;
      curvatureOffset += weight;
    }
    const determinant = curvatureSlope * curvatureOffset - curvatureMixed ** 2;
    if (!(determinant > 0)) break; // every result is of one kind: there is no curve to fit
    slope += (curvatureOffset * gradientSlope - curvatureMixed * gradientOffset) / determinant;
    offset += (curvatureSlope * gradientOffset - curvatureMixed * gradientSlope) / determinant;
  }
  return { slope, offset };
}

function probability(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

await main();
