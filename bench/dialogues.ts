// Finding the turn that answers in conversations of a user with an assistant (bench/fixtures/dialogues-dev and
// dialogues-test). `bun bench/dialogues.ts --help` lists the flags.

import { Client } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { askDialogues, DEPTH, dialoguesContent, readDialogues, type Score } from "./lib/dialogues.ts";
import { moreWorkFloors } from "./lib/floors.ts";
import { mean } from "./lib/metrics.ts";
import { modesOf } from "./lib/modes.ts";
import { runMain } from "./lib/run-main.ts";
import { serve } from "./lib/served-collection.ts";

const HELP = `bun bench/dialogues.ts [flags]

Stores each conversation as one memory and asks its questions. Prints, by type of question, how often the right turns
are found. Questions that nothing answers are left out.

  --half NAME    dev (may choose weights) or test (only for figures that are reported; default)
  --mode NAMES   modes, separated by commas (default: all)
  --data FOLDER  keep the data directory here, so that the next run needs no ingest`;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const half = flags.get("--half") ?? "test";
  const dialogues = readDialogues(half);
  const server = await serve(dialoguesContent(`dialogues-${half}`, dialogues), flags.get("--data") ?? null);
  try {
    const client = new Client(server.url, server.key);
    const ndcg = new Map<string, readonly number[]>();
    for (const mode of modesOf(flags.get("--mode"))) {
      const scores = await askDialogues(client, dialogues, mode);
      ndcg.set(
        mode,
        scores.map((score) => score.ndcg),
      );
      process.stdout.write(`${mode}\n${table(scores)}\n\n`);
    }
    for (const { sentence } of moreWorkFloors(`dialogues ${half}`, ndcg)) process.stdout.write(`${sentence}\n`);
  } finally {
    await server.stop();
  }
}

function table(scores: readonly Score[]): string {
  const row = (name: string, group: readonly Score[]) => [
    name,
    String(group.length),
    mean(group.map(({ recall }) => recall)).toFixed(3),
    mean(group.map(({ ndcg }) => ndcg)).toFixed(3),
  ];
  const types = [...Map.groupBy(scores, ({ type }) => type)].map(([type, group]) => row(type, group));
  return alignRows([["type", "questions", `R@${DEPTH}`, `nDCG@${DEPTH}`], row("all", scores), ...types], true).join(
    "\n",
  );
}

await runMain(HELP, main);
