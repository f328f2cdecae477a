// Corrections that somebody notes days later, with other words: whether searches and answers follow them, and keep the
// older note of a pair if both hold. `bun bench/corrections.ts --help` lists the flags.

import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { DAY_MS } from "../src/kit/clock.ts";
import { type JsonRecord, recordsIn } from "../src/kit/record.ts";
import { type CorrectionPair, correctionPairs } from "./lib/correction-pairs.ts";
import { modesOf } from "./lib/modes.ts";
import { runMain } from "./lib/run-main.ts";
import { countedShare } from "./lib/scores.ts";
import { ingestLines, type ServerContent, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/corrections.ts [flags]

Stores the notes of bench/fixtures/corrections, those of a language for one user, and asks their questions. Prints, for
each mode, the share of

  newest first   corrections whose newer note is the first result
  newest only    corrections that are answered with the newer note, and without the older one
  kept           pairs of which both hold that are answered with the older note

  --set NAME      dev, whose pairs may be looked at, or test (default: test)
  --mode NAMES    modes, separated by commas (default: balanced)
  --minutes       without days: the newer notes are stored after the older ones
  --data FOLDER   keep data directories here, so that the next run needs no ingest
  --show          list the pairs that are wrong`;

interface Asked extends CorrectionPair {
  /** Text of the first result of a search. */
  readonly first: string;
  readonly answer: string;
  readonly state: string;
  readonly cited: readonly string[];
}

/** The day of the first older note, and of the first newer one. Pairs follow each other by a day. */
const DAYS = [Date.parse("2026-02-01T09:00:00Z"), Date.parse("2026-07-01T09:00:00Z")] as const;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const set = flags.get("--set") ?? "test";
  const pairs = correctionPairs(join(import.meta.dir, "fixtures/corrections", `${set}.tsv`));
  await using server = await serve(contentOf(set, pairs, !flags.has("--minutes")), flags.get("--data") ?? null);
  const client = new Client(server.url, server.key);
  await untilRelated(client);
  const rows: string[][] = [["mode", ...MEASURES.keys()]];
  for (const mode of modesOf(flags.get("--mode") ?? "balanced")) {
    const progress = new Progress(`${mode}:`);
    const asked: Asked[] = [];
    for (const pair of pairs) {
      asked.push(await ask(client, pair, mode));
      progress.show(asked.length / pairs.length, `${asked.length} pairs`);
    }
    progress.finish(`${mode}: ${asked.length} pairs`);
    rows.push([mode, ...[...MEASURES.values()].map((measure) => countedShare(asked.flatMap(measure)))]);
    if (flags.has("--show")) for (const each of asked) if (!isRight(each)) process.stdout.write(shown(each));
  }
  process.stdout.write(`${alignRows(rows).join("\n")}\n`);
}

function contentOf(set: string, pairs: readonly CorrectionPair[], hasDays: boolean): ServerContent {
  const lines = DAYS.flatMap((first, which) =>
    pairs.map(({ language, older, newer }, at) => ({
      ...{ content: which === 0 ? older : newer, userId: language, externalId: `${set}-${which}-${at}` },
      ...(hasDays && { occurred_at: new Date(first + at * DAY_MS).toISOString() }),
    })),
  );
  const name = `corrections-${set}${hasDays ? "" : "-minutes"}`;
  return {
    ...{ name, directory: name, externalIds: new Set(lines.map(({ externalId }) => externalId)) },
    fill: async (server) => {
      // one half after the other, so that newer notes are newer even without a day
      for (const half of [lines.slice(0, pairs.length), lines.slice(pairs.length)]) {
        await ingestLines(
          server,
          half.map((line) => JSON.stringify(line)),
        );
      }
    },
  };
}

/** Waits until the relations of all notes are found. */
async function untilRelated(client: Client): Promise<void> {
  for (;;) {
    const response = await fetch(`${client.url}/metrics`);
    if (/^mneme_relations_waiting 0$/m.test(await response.text())) return;
    await client.clock.sleep(100);
  }
}

async function ask(client: Client, pair: CorrectionPair, mode: string): Promise<Asked> {
  const asked = { query: pair.question, userId: pair.language, mode };
  const [first] = recordsIn((await client.send("POST", "/v1/memories/search", { ...asked, limit: 1 })).results);
  const body = await client.send("POST", "/v1/memories/query", asked);
  const cited = recordsIn(body.sources).filter((source: JsonRecord) => source.cited === true);
  return {
    ...{ ...pair, first: String(first?.content), answer: String(body.answer), state: String(body.answer_state) },
    cited: cited.map(({ content }) => String(content)),
  };
}

function isRight({ isCorrection, state, answer, value, cited, older, newer }: Asked): boolean {
  if (state !== "answered" || !answer.toLowerCase().includes(value.toLowerCase())) return false;
  return isCorrection ? cited.includes(newer) && !cited.includes(older) : cited.includes(older);
}

const MEASURES: ReadonlyMap<string, (asked: Asked) => readonly boolean[]> = new Map([
  ["newest first", (each) => (each.isCorrection ? [each.first === each.newer] : [])],
  ["newest only", (each) => (each.isCorrection ? [isRight(each)] : [])],
  ["kept", (each) => (each.isCorrection ? [] : [isRight(each)])],
]);

function shown({ isCorrection, language, older, newer, question, state, answer, first }: Asked): string {
  const kind = isCorrection ? "correction" : "both hold";
  return `${kind} ${language}: ${question}\n    ${older} | ${newer}\n    first: ${first}\n    ${state}: ${answer}\n`;
}

await runMain(HELP, main);
