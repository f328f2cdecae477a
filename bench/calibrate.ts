// Fits the calibration curves of an embedder, which are in its manifest (model.json). It asks questions to personal
// stores of several sizes and to judged collections, and fits, for each combination of signals, the curve from final
// score to probability of relevance. It searches in this process, because no API request can switch off the reranker.
// `bun bench/calibrate.ts --help` lists the flags.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import type { Curve } from "../src/domain/retrieval-tuning.ts";
import { SIGNAL_COMBINATIONS } from "../src/domain/signals.ts";
import { UsageError } from "../src/kit/flags.ts";
import { type CalibrationFigures, figuresOfOtherGroups, figuresWith, fitCurve } from "./lib/calibration-fit.ts";
import { COLLECTIONS, collectionsFolder } from "./lib/collection.ts";
import { benchEmbedder, EMBEDDER_ID } from "./lib/models.ts";
import { FITTING_PERSONS, fillerMemories, readPersons } from "./lib/personal.ts";
import { runMain } from "./lib/run-main.ts";
import {
  collectionSamples,
  personalSamples,
  readSamples,
  type ScoreSample,
  writeSamples,
} from "./lib/score-samples.ts";
import { shortFigure } from "./lib/scores.ts";

const HELP = `bun bench/calibrate.ts --data FOLDER [flags]

Fits the calibration curves of the embedder that MNEME_EMBEDDER names, and prints them as in its model.json. For each
combination of signals it prints figures of the curve in use, and of fitted curves: the questions of each person and
collection are scored with a curve that was fitted to the others.

  --data FOLDER       folder of data directories; a missing one is created and filled
  --persons NAMES     persons (default: ${FITTING_PERSONS}; "none" for no persons)
  --filler N          number of unrelated memories in the largest personal store (default: 0)
  --filler-from FILE  JSONL file of these memories
  --set NAMES         collections with a train split, separated by commas (default: scifact,hotpotqa; "none" for none)
  --from FOLDER       folder of the collections (default: ${COLLECTIONS})
  --queries N         use at most N questions of each collection (default: 150)
  --samples FILE      file of the results of all questions: read if it exists, otherwise written`;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const file = flags.get("--samples");
  const samples = file !== undefined && existsSync(file) ? readSamples(file) : await collect(flags);
  if (file !== undefined && !existsSync(file)) writeSamples(file, samples);
  report(samples);
}

async function collect(flags: ReadonlyMap<string, string>): Promise<readonly ScoreSample[]> {
  const data = flags.get("--data");
  if (data === undefined) throw new UsageError("Give the folder of data directories with --data.");
  const samples: ScoreSample[] = [];
  const persons = flags.get("--persons") ?? FITTING_PERSONS;
  if (persons !== "none") {
    const count = Number(flags.get("--filler") ?? 0);
    const from = flags.get("--filler-from");
    if (count > 0 && from === undefined) throw new UsageError("Give the file of other memories with --filler-from.");
    const filler = from === undefined ? [] : await fillerMemories(from, count);
    samples.push(...(await personalSamples(readPersons(persons), filler, data)));
  }
  const sets = flags.get("--set") ?? "scifact,hotpotqa";
  if (sets === "none") return samples;
  const folder = collectionsFolder(flags.get("--from"));
  for (const set of sets.split(",")) {
    samples.push(...(await collectionSamples(set, join(folder, set), data, Number(flags.get("--queries") ?? 150))));
  }
  return samples;
}

/** Titles of the columns, by figure. */
const COLUMNS: Readonly<Record<keyof CalibrationFigures, string>> = {
  errorTop10: "error top 10",
  errorTop1: "top 1",
  medianRight: "median right",
  separationOff: "AUC off",
  separationNear: "near",
  threshold: "threshold",
  refusedOff: "refused off",
  refusedNear: "near",
};

function report(samples: readonly ScoreSample[]): void {
  const { curves } = benchEmbedder().tuning;
  const rows: string[][] = [];
  const fitted: [string, Curve][] = [];
  for (const combination of SIGNAL_COMBINATIONS) {
    const own = samples.filter((sample) => sample.combination === combination && sample.results.length > 0);
    const stores = [...Map.groupBy(own, ({ store, group }) => (store === "collection" ? group : store))];
    if (own.length === 0) continue;
    fitted.push([combination, fitCurve(own)]);
    rows.push([combination, "in use", String(own.length), ...cells(figuresWith(own, curves[combination]))]);
    rows.push([combination, "fitted", String(own.length), ...cells(figuresOfOtherGroups(own))]);
    const [, curve] = fitted.at(-1) ?? ["", curves[combination]];
    for (const [store, of] of stores) {
      rows.push([combination, store, String(of.length), ...cells(figuresWith(of, curve))]);
    }
  }
  const header = ["signals", "curve or store", "questions", ...Object.values(COLUMNS)];
  process.stdout.write(`${alignRows([header, ...rows]).join("\n")}\n\ncurves of ${EMBEDDER_ID}:\n`);
  const lines = fitted.map(([name, { slope, gapSlope, sizeSlope, offset }]) => {
    const [a, b, c, d] = [slope, gapSlope, sizeSlope, offset].map((value) => Number(value.toFixed(2)));
    return `   ${JSON.stringify(name)}: { "slope": ${a}, "gap_slope": ${b}, "size_slope": ${c}, "offset": ${d} }`;
  });
  process.stdout.write(`${lines.join(",\n")}\n`);
}

function cells(figures: CalibrationFigures): readonly string[] {
  return Object.keys(COLUMNS).map((name) => shortFigure(figures[name as keyof CalibrationFigures]));
}

await runMain(HELP, main);
