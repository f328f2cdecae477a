// Finding the turn that answers in conversations of a user with an assistant (bench/fixtures/dialogues-dev and
// dialogues-test). `bun bench/dialogues.ts --help` lists the flags.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { recordsIn } from "../src/kit/record.ts";
import { type StoredSession, storedSession, turnAt } from "./command/memory-benchmarks.ts";
import { ask } from "./lib/ask.ts";
import { type Judgements, mean, ndcgAt, recallAt } from "./lib/metrics.ts";
import { modesOf } from "./lib/modes.ts";
import { runMain } from "./lib/run-main.ts";
import { ingestLines, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/dialogues.ts [flags]

Stores each conversation as one memory and asks its questions. Prints, by type of question, how often the right turns
are found. Questions that nothing answers are left out.

  --half NAME    dev (may choose weights) or test (only for figures that are reported; default)
  --mode NAMES   modes, separated by commas (default: all)
  --data FOLDER  keep the data directory here, so that the next run needs no ingest`;
/** Results per search: enough that ten different turns are among them. */
const RESULTS = 50;
const DEPTH = 10;

/** A conversation, which is stored as a memory of a user of its own, and the questions that it answers. */
interface Dialogue extends StoredSession {
  readonly questions: readonly { readonly query: string; readonly type: string; readonly judgements: Judgements }[];
}

interface Score {
  readonly type: string;
  readonly recall: number;
  readonly ndcg: number;
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const half = flags.get("--half") ?? "test";
  const dialogues = readDialogues(join(import.meta.dir, `fixtures/dialogues-${half}`));
  const lines = dialogues.map(({ passage: { id, ...memory } }) => JSON.stringify({ ...memory, externalId: id }));
  const content = {
    ...{ name: `dialogues ${half}`, directory: `dialogues-${half}` },
    ...{ externalIds: new Set(dialogues.map(({ passage }) => passage.id)) },
    fill: (server) => ingestLines(server, lines),
  } satisfies Parameters<typeof serve>[0];
  const server = await serve(content, flags.get("--data") ?? null);
  try {
    const client = new Client(server.url, server.key);
    for (const mode of modesOf(flags.get("--mode"))) {
      const scores: Score[] = [];
      for (const { passage, turns, questions } of dialogues) {
        const within = { userId: passage.id };
        for (const { query, type, judgements } of questions) {
          const { passages } = await ask(client, { query, mode, limit: RESULTS, within }, () => passage.id);
          const found = [...new Set(passages.map(({ start }) => turnAt(turns, start) ?? ""))];
          const [recall, ndcg] = [recallAt(DEPTH, found, judgements), ndcgAt(DEPTH, found, judgements)];
          scores.push({ type, recall, ndcg });
        }
      }
      process.stdout.write(`${mode}\n${table(scores)}\n\n`);
    }
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

function readDialogues(folder: string): readonly Dialogue[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return files.sort().map((name) => {
    const lines = readFileSync(join(folder, name), "utf8").trim().split("\n");
    const records = recordsIn(lines.map((line): unknown => JSON.parse(line)));
    const id = String(records[0]?.id);
    const turns = records.flatMap(({ kind, n, role, text }) =>
      kind === "turn" ? [{ id: String(n), speaker: String(role), text: String(text) }] : [],
    );
    const questions = records.flatMap(({ kind, type, query, turns: right }) => {
      if (kind !== "question" || type === "abstain" || !Array.isArray(right)) return [];
      return [
        { query: String(query), type: String(type), judgements: new Map(right.map((turn) => [String(turn), 1])) },
      ];
    });
    return { ...storedSession(id, { id, date: "", turns }), questions };
  });
}

await runMain(HELP, main);
