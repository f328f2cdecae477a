// Conversations of a user with an assistant (bench/fixtures/dialogues-dev and dialogues-test), as memories, with their
// questions, and how well a search finds the turns that answer.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../src/cli/client.ts";
import type { ModeName } from "../../src/domain/ranking.ts";
import { recordsIn } from "../../src/kit/record.ts";
import { type StoredSession, storedSession, turnAt } from "../command/memory-benchmarks.ts";
import { ask } from "./ask.ts";
import { type Judgements, ndcgAt, recallAt } from "./metrics.ts";
import { ingestLines, type ServerContent } from "./served-collection.ts";

/** Results per search: enough that ten different turns are among them. */
const RESULTS = 50;
/** Number of different turns that are judged. */
export const DEPTH = 10;

/** A conversation, which is stored as a memory of a user of its own, and the questions that it answers. */
export interface Dialogue extends StoredSession {
  readonly questions: readonly { readonly query: string; readonly type: string; readonly judgements: Judgements }[];
}

/** How well a search found the turns that answer one question. */
export interface Score {
  readonly type: string;
  readonly recall: number;
  readonly ndcg: number;
}

/** The conversations of a half (`dev` or `test`), in the order of their names. */
export function readDialogues(half: string): readonly Dialogue[] {
  const folder = join(import.meta.dir, `../fixtures/dialogues-${half}`);
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

/** Asks all questions of the conversations, which are stored on a server. */
export async function askDialogues(
  client: Client,
  dialogues: readonly Dialogue[],
  mode: ModeName,
): Promise<readonly Score[]> {
  const scores: Score[] = [];
  for (const { passage, turns, questions } of dialogues) {
    const within = { userId: passage.id };
    for (const { query, type, judgements } of questions) {
      const { passages } = await ask(client, { query, mode, limit: RESULTS, within }, () => passage.id);
      const found = [...new Set(passages.map(({ start }) => turnAt(turns, start) ?? ""))];
      scores.push({ type, recall: recallAt(DEPTH, found, judgements), ndcg: ndcgAt(DEPTH, found, judgements) });
    }
  }
  return scores;
}

/** The content of a server with conversations. @param name of the content and of its folder */
export function dialoguesContent(name: string, dialogues: readonly Dialogue[]): ServerContent {
  const lines = dialogues.map(({ passage: { id, ...memory } }) => JSON.stringify({ ...memory, externalId: id }));
  return {
    ...{ name, directory: name, externalIds: new Set(dialogues.map(({ passage }) => passage.id)) },
    fill: (server) => ingestLines(server, lines),
  };
}
