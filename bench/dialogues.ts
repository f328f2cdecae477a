// Finding the turn that answers in conversations of a user with an assistant (bench/fixtures/dialogues-dev and
// dialogues-test). `bun bench/dialogues.ts --help` lists the flags.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { isRecord, type JsonRecord, recordsIn } from "../src/kit/record.ts";
import { mean, ndcgAt, recallAt } from "./lib/metrics.ts";
import { modesOf } from "./lib/modes.ts";
import { runMain } from "./lib/run-main.ts";
import { ingestLines, memoryNames, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/dialogues.ts [flags]

Stores each conversation as one memory and asks its questions. Prints, by type of question, how often the right turns
are found. Questions that nothing answers are left out.

  --half NAME    dev (may choose weights) or test (only for figures that are reported; default)
  --mode NAMES   modes, separated by commas (default: all)
  --data FOLDER  keep the data directory here, so that the next run needs no ingest`;
/** Results per search: enough that ten different turns are among them. */
const RESULTS = 50;
const DEPTH = 10;

interface Dialogue {
  readonly id: string;
  readonly content: string;
  /** Turns with the code point at which each begins, ascending. */
  readonly turns: readonly { readonly number: string; readonly start: number }[];
  readonly questions: readonly JsonRecord[];
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const half = flags.get("--half") ?? "test";
  const dialogues = readDialogues(join(import.meta.dir, `fixtures/dialogues-${half}`));
  const lines = dialogues.map(({ id, content }) => {
    return JSON.stringify({ content, type: "conversation", externalId: id, userId: id });
  });
  const content = {
    ...{ name: `dialogues ${half}`, directory: `dialogues-${half}` },
    ...{ externalIds: new Set(dialogues.map(({ id }) => id)), fill: (server) => ingestLines(server, lines) },
  } satisfies Parameters<typeof serve>[0];
  const server = await serve(content, flags.get("--data") ?? null);
  try {
    const client = new Client(server.url, server.key);
    const nameOf = await memoryNames(client);
    for (const mode of modesOf(flags.get("--mode"))) {
      const scores: Score[] = [];
      for (const dialogue of dialogues) {
        for (const { query, type, turns } of dialogue.questions) {
          const reply = await client.send("POST", "/v1/memories/search", {
            ...{ query, mode, userId: dialogue.id, limit: RESULTS },
          });
          const found = recordsIn(reply.results).filter((result) => nameOf(result) === dialogue.id);
          scores.push(scored(String(type), dialogue, found, turns));
        }
      }
      process.stdout.write(`${mode}\n${table(scores)}\n\n`);
    }
  } finally {
    await server.stop();
  }
}

interface Score {
  readonly type: string;
  readonly recall: number;
  readonly ndcg: number;
}

function scored(type: string, dialogue: Dialogue, results: readonly JsonRecord[], right: unknown): Score {
  const judgements = new Map((Array.isArray(right) ? right : []).map((turn) => [String(turn), 1]));
  const found = [...new Set(results.map(({ metadata }) => turnOf(dialogue, metadata)))];
  return { type, recall: recallAt(DEPTH, found, judgements), ndcg: ndcgAt(DEPTH, found, judgements) };
}

function turnOf({ turns }: Dialogue, metadata: unknown): string {
  const chunk = isRecord(metadata) && isRecord(metadata._chunk) ? metadata._chunk : {};
  return turns.findLast(({ start }) => start <= Number(chunk.start))?.number ?? "";
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

/** Each conversation as a memory with a line per turn, and the questions that it answers. */
function readDialogues(folder: string): readonly Dialogue[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return files.sort().map((name) => {
    const lines = readFileSync(join(folder, name), "utf8").trim().split("\n");
    const records = recordsIn(lines.map((line): unknown => JSON.parse(line)));
    let content = "";
    const turns = records
      .filter(({ kind }) => kind === "turn")
      .map(({ n, role, text }) => {
        const turn = { number: String(n), start: [...content].length };
        content += `${String(role)}: ${String(text).replace(/\s+/g, " ").trim()}\n`;
        return turn;
      });
    const questions = records.filter(({ kind, type }) => kind === "question" && type !== "abstain");
    return { id: String(records[0]?.id), content, turns, questions };
  });
}

await runMain(HELP, main);
