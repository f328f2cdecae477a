// How many corrections the judge of relations finds, and how many other pairs it takes for corrections. With a server,
// also whether its searches and answers follow them.

import { judgeByRules } from "../src/relations/judge.ts";
import { type RelationPair, relationPairs } from "./lib/relation-pairs.ts";

const HELP = `Usage: bun bench/relations.ts [--server URL --key KEY]

Judges the pairs of bench/fixtures/relations. With a server, stores the two sentences of each pair for a user of its own,
and asks the questions of the corrections.`;

type Call = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

function judge(pairs: readonly RelationPair[]): string {
  const superseding = pairs.filter(({ language, older, newer }) => {
    return judgeByRules({ text: older, language }, { text: newer, language })?.kind === "supersedes";
  });
  const corrections = pairs.filter(({ isCorrection }) => isCorrection);
  const found = superseding.filter(({ isCorrection }) => isCorrection);
  const wrong = superseding.length - found.length;
  return `corrections found ${found.length} of ${corrections.length}, wrong ${wrong} of ${pairs.length - corrections.length}`;
}

/** Stores one sentence of each pair and returns their ids when all are completed. */
async function store(call: Call, pairs: readonly RelationPair[], users: string, which: "older" | "newer") {
  const ids: string[] = [];
  for (const [at, pair] of pairs.entries()) {
    const body = { content: pair[which], userId: `${users}-${at}`, language: pair.language };
    ids.push(String((await call("POST", "/v1/memories", body)).id));
  }
  for (const id of ids) {
    while ((await call("GET", `/v1/memories/${id}`)).status === "processing") await Bun.sleep(100);
  }
  return ids;
}

async function ask(call: Call, name: string, pairs: readonly RelationPair[]): Promise<string> {
  const users = `${name}-${crypto.randomUUID()}`;
  const older = await store(call, pairs, users, "older");
  const newer = await store(call, pairs, users, "newer");
  await Bun.sleep(10_000); // twice the time within which relations are promised
  const counts = { superseded: 0, wrong: 0, newestFirst: 0, answered: 0 };
  for (const [at, pair] of pairs.entries()) {
    const isSuperseded = (await call("GET", `/v1/memories/${older[at]}`)).superseded_by === newer[at];
    counts[pair.isCorrection ? "superseded" : "wrong"] += Number(isSuperseded);
    if (!pair.isCorrection) continue;
    const asked = { query: pair.question, userId: `${users}-${at}` };
    const { results } = await call("POST", "/v1/memories/search", asked);
    counts.newestFirst += Number((results as { memory_id: string }[])[0]?.memory_id === newer[at]);
    const answer = String((await call("POST", "/v1/memories/query", asked)).answer);
    const isStale = answer.includes(pair.gone) && !pair.newer.includes(pair.gone);
    counts.answered += Number(answer.includes(pair.holds) && !isStale);
  }
  const corrections = pairs.filter(({ isCorrection }) => isCorrection).length;
  return `of ${corrections} corrections: superseded ${counts.superseded}, newest first ${counts.newestFirst}, answered with the newest only ${counts.answered}; wrong ${counts.wrong} of ${pairs.length - corrections}`;
}

function caller(server: string, key: string): Call {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${server}${path}`, {
      ...{ method, headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
}

const value = (flag: string) => process.argv[process.argv.indexOf(flag) + 1] ?? "";
if (process.argv.includes("--help")) console.log(HELP);
else {
  for (const name of ["dev", "test"]) {
    console.log(`${name}: ${judge(relationPairs(name))}`);
    if (!process.argv.includes("--server")) continue;
    console.log(`${name}: ${await ask(caller(value("--server"), value("--key")), name, relationPairs(name))}`);
  }
}
