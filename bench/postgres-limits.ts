// Two limits of a node on PostgreSQL: how many reads by id a bare route answers beside a node, and
// what a NOTIFY costs commits. `bun bench/postgres-limits.ts --help` lists the flags.

import { loadavg } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { Client } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { databaseUrl, durablePostgresServer, execute } from "../test/support/postgres.ts";
import { startServer } from "../test/support/server.ts";
import { ingestSeconds } from "./lib/documents.ts";
import { load } from "./lib/load.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `bun bench/postgres-limits.ts [flags]

Measures reads by id of a node beside a bare route, and commits with and without NOTIFY.

  --rounds N       rounds, in each of which all take turns (default: 4)
  --seconds N      seconds per measurement (default: 2)
  --connections N  concurrent connections (default: 16)
  --record         write bench/results/postgres-limits.json`;
const DATABASE = "mneme_bench";
const MEMORIES = 100;
const WARM_UP_SECONDS = 1;

/** Something that is measured for some seconds; returns how often it happened per second. */
interface Measured {
  readonly name: string;
  readonly run: (seconds: number) => Promise<number>;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--rounds": "value", "--seconds": "value", "--connections": "value" },
    ...{ "--record": "switch" },
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const number = (flag: "--rounds" | "--seconds" | "--connections", otherwise: number) =>
    Number(flags.get(flag) ?? otherwise);
  const [rounds, seconds, connections] = [number("--rounds", 4), number("--seconds", 2), number("--connections", 16)];
  const server = await durablePostgresServer();
  await execute(server, `CREATE DATABASE ${DATABASE} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`);
  const url = databaseUrl(server, DATABASE);
  const rows = [
    ...(await measureReads(url, { rounds, seconds, connections })),
    ...(await measureCommits(url, { rounds, seconds, connections })),
  ];
  const header = ["measure", "connections", "per second", "of the first"];
  const shown = rows.map((row) => Object.values(row).map(String));
  process.stdout.write(`${alignRows([header, ...shown], true).join("\n")}\n`);
  process.stdout.write(`load average of the machine: ${loadavg().map((each) => each.toFixed(1))}\n`);
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("postgres-limits", rows)}\n`);
}

interface Shape {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
}

/** Reads of memories by id: bare routes, which read the same responses from a table, and a node. */
async function measureReads(url: string, shape: Shape): Promise<readonly Row[]> {
  const environment = { MNEME_LOG_LEVEL: "warn", MNEME_STORE: url };
  await using node = await startServer({ environment });
  const contents = Array.from({ length: MEMORIES }, (_, at) => `The kettle ${at} boils at a hundred degrees.`);
  await ingestSeconds(
    node,
    contents.map((content, at) => ({ title: `Kettle ${at}`, content })),
  );
  const { data } = await new Client(node.url, node.key).send("GET", `/v1/memories?limit=${MEMORIES}`);
  const memories = data as readonly { readonly id: string }[];
  const sql = new SQL({ url, max: 1 });
  await sql.unsafe("CREATE TABLE bare (id text PRIMARY KEY, body text NOT NULL)");
  for (const memory of memories) {
    await sql.unsafe("INSERT INTO bare VALUES ($1, $2)", [memory.id, JSON.stringify(memory)]);
  }
  await sql.close();
  const bare = await Promise.all(["each", "twice", "shared"].map((how) => startBare(url, how)));
  const paths = memories.map(({ id }) => `/v1/memories/${id}`);
  const reads = (name: string, port: number, connections: number): Measured => ({
    name,
    run: async (seconds) => {
      const authorization = { authorization: `Bearer ${node.key}` };
      const { requestsPerSecond, others } = await load(port, paths, authorization, { connections, seconds });
      if (others > 0) throw new Error(`${others} answers did not have status 200`);
      return requestsPerSecond;
    },
  });
  try {
    const rows: Row[] = [];
    for (const connections of [shape.connections, 1]) {
      const measured = [
        reads("GET by id: bare route, a statement per request", bare[0]?.port ?? 0, connections),
        reads("GET by id: bare route, two statements in turn", bare[1]?.port ?? 0, connections),
        reads("GET by id: bare route, two for all that wait", bare[2]?.port ?? 0, connections),
        reads("GET by id: node", Number(new URL(node.url).port), connections),
      ];
      rows.push(...(await inTurn(measured, { ...shape, connections })));
    }
    return rows;
  } finally {
    for (const { child } of bare) child.kill();
  }
}

async function startBare(url: string, how: string) {
  const script = join(import.meta.dir, "fixtures/bare-postgres.ts");
  const child = Bun.spawn([process.execPath, script, url, how], { stdout: "pipe" });
  const { value } = await child.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  return { child, port: Number(value) };
}

/** Commits of one row each, alone and with a NOTIFY in the transaction. */
async function measureCommits(url: string, shape: Shape): Promise<readonly Row[]> {
  const sql = new SQL({ url, max: shape.connections });
  await sql.unsafe("CREATE TABLE noted (id bigint GENERATED ALWAYS AS IDENTITY, project text NOT NULL)");
  const commits = (name: string, statement: string): Measured => ({
    name,
    run: async (seconds) => {
      const startedAt = performance.now();
      let count = 0;
      const commit = async (_: unknown, connection: number) => {
        while (performance.now() - startedAt < seconds * 1_000) {
          await sql.unsafe(statement, [`project ${connection}`]);
          count += 1;
        }
      };
      await Promise.all(Array.from({ length: shape.connections }, commit));
      return count / ((performance.now() - startedAt) / 1_000);
    },
  });
  try {
    return await inTurn(
      [
        commits("commits", "INSERT INTO noted (project) VALUES ($1)"),
        commits(
          "commits with NOTIFY",
          "WITH added AS (INSERT INTO noted (project) VALUES ($1) RETURNING project) SELECT pg_notify('mneme', project) FROM added",
        ),
      ],
      shape,
    );
  } finally {
    await sql.close();
  }
}

/** Medians over rounds, in each of which all are measured one after the other. */
async function inTurn(measured: readonly Measured[], { rounds, seconds, connections }: Shape): Promise<readonly Row[]> {
  for (const { run } of measured) await run(WARM_UP_SECONDS);
  const rates = measured.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, { run }] of measured.entries()) rates[at]?.push(await run(seconds));
  }
  const medians = rates.map((each) => percentile(0.5, each));
  return measured.map(({ name }, at) => {
    const perSecond = medians[at] ?? 0;
    return {
      measure: name,
      connections,
      perSecond: Math.round(perSecond),
      ratio: (perSecond / (medians[0] ?? 1)).toFixed(2),
    };
  });
}

await runMain(main);
