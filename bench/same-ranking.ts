// Whether a server on PostgreSQL ranks like one with the embedded store, and whether a second node, which loads what
// the first one has computed, does so too: the same documents and questions go to all.
// `bun bench/same-ranking.ts --help` lists the flags.

import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import type { ModeName } from "../src/domain/ranking.ts";
import { recordsIn } from "../src/kit/record.ts";
import { databaseUrl, durablePostgresServer, execute } from "../test/support/postgres.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { corpusFile, firstDocuments, type JudgedQuery, readJudgedQueries } from "./lib/beir.ts";
import { collectionsFolder } from "./lib/collection.ts";
import { modesOf } from "./lib/modes.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { storeAll } from "./lib/storing.ts";

const HELP = `bun bench/same-ranking.ts [flags]

Compares the results of a server with the embedded store and of two nodes on PostgreSQL, and prints every difference.

  --set NAMES    collections, separated by commas (default: scifact,2wikimultihop)
  --from FOLDER  folder of the collections
  --docs N       first documents of each collection (default: 1000)
  --queries N    first questions of each collection (default: 100)
  --mode NAMES   modes, separated by commas (default: all)
  --record       write bench/results/same-ranking.json`;
/** Results per search. */
const DEPTH = 20;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const from = collectionsFolder(flags.get("--from"));
  const modes = modesOf(flags.get("--mode"));
  const [docs, questions] = [Number(flags.get("--docs") ?? 1_000), Number(flags.get("--queries") ?? 100)];
  const postgres = await durablePostgresServer();
  const rows: Row[] = [];
  for (const [at, set] of (flags.get("--set") ?? "scifact,2wikimultihop").split(",").entries()) {
    const folder = join(from, set);
    const database = `mneme_bench_${at}`;
    await execute(postgres, `CREATE DATABASE ${database} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`);
    const queries = (await readJudgedQueries(folder, "test")).slice(0, questions);
    rows.push(...(await compareSet(set, folder, databaseUrl(postgres, database), { docs, queries, modes })));
  }
  const header = ["set", "mode", "node", "questions", "same order", "same scores", "largest difference"];
  const shown = rows.map((row) => Object.values(row).map(String));
  process.stdout.write(`${alignRows([header, ...shown], true).join("\n")}\n`);
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("same-ranking", rows)}\n`);
}

interface Compared {
  readonly docs: number;
  readonly queries: readonly JudgedQuery[];
  readonly modes: readonly ModeName[];
}

async function compareSet(set: string, folder: string, url: string, { docs, queries, modes }: Compared) {
  const environment = { MNEME_LOG_LEVEL: "warn" };
  const onPostgres = { ...environment, MNEME_STORE: url };
  const documents = (await firstDocuments(corpusFile(folder), docs)).map((document, at) => {
    return { ...document, externalId: String(at) };
  });
  await using embedded = await startServer({ environment });
  await storeAll(embedded, documents);
  await using first = await startServer({ environment: onPostgres });
  await storeAll(first, documents);
  await using second = await startServer({ environment: onPostgres });
  const rows: Row[] = [];
  for (const mode of modes) {
    for (const [node, server] of [["first", first] as const, ["second", second] as const]) {
      let [sameOrder, sameScores, largest] = [0, 0, 0];
      for (const { text: query } of queries) {
        const [expected, found] = [await search(embedded, query, mode), await search(server, query, mode)];
        const names = (results: readonly Result[]) => results.map(({ name }) => name).join("\n");
        const isSame = names(expected) === names(found);
        if (isSame) sameOrder += 1;
        else process.stdout.write(`${set} ${mode} ${node}: other results for "${query}"\n`);
        const differences = expected.map(({ score }, at) => Math.abs(score - (found[at]?.score ?? 0)));
        if (differences.every((difference) => difference === 0)) sameScores += 1;
        largest = Math.max(largest, ...differences);
      }
      rows.push({ set, mode, node, questions: queries.length, sameOrder, sameScores, largest });
    }
  }
  return rows;
}

/** A result by its passage, because ids differ between stores. */
interface Result {
  readonly name: string;
  readonly score: number;
}

async function search(server: RunningServer, query: string, mode: ModeName): Promise<readonly Result[]> {
  const { results } = await new Client(server.url, server.key).send("POST", "/v1/memories/search", {
    ...{ query, mode, limit: DEPTH },
  });
  return recordsIn(results).map(({ content, score }) => ({ name: String(content), score: Number(score) }));
}

await runMain(HELP, main);
