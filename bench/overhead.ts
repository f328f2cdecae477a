// Overhead of the API: requests per second of GET /v1/memories/{id} (authentication, rate limit, scope, checks, row,
// text, JSON), compared with a bare Elysia route that returns a constant object. `bun bench/overhead.ts --help` lists
// the flags.

import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { startServer } from "../test/support/server.ts";
import { load } from "./lib/load.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { storeAll } from "./lib/storing.ts";

const HELP = `bun bench/overhead.ts [flags]

Measures requests per second of reading a memory, and the ratio to a bare Elysia server. Prints a table.

  --memories N     number of memories, which are read in turn (default: 200)
  --rounds N       number of rounds; each measures both servers (default: 5)
  --seconds N      duration of one measurement (default: 3)
  --connections N  concurrent connections (default: 16)
  --record         write bench/results/overhead.json`;

/** Seconds of load before the measurement, so that the JIT compiler has optimised the frequently used code. */
const WARM_UP_SECONDS = 5;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const count = Number(flags.get("--memories") ?? 200);
  const rounds = Number(flags.get("--rounds") ?? 5);
  const shape = { seconds: Number(flags.get("--seconds") ?? 3), connections: Number(flags.get("--connections") ?? 16) };

  await using mneme = await startServer();
  const kettles = Array.from({ length: count }, (_, at) => ({
    content: `Kettle ${at} boils at a hundred degrees, and a little below on a mountain.`,
    metadata: { kettle: at },
    userId: "ada",
  }));
  const paths = (await storeAll(mneme, kettles)).map(({ id }) => `/v1/memories/${String(id)}`);
  const bare = await startBare();
  try {
    const authorization = { authorization: `Bearer ${mneme.key}` };
    const port = Number(new URL(mneme.url).port);
    const row = await measure({ port, bare: bare.port, paths, authorization, count, rounds, shape });
    const lines = alignRows([Object.keys(row), Object.values(row).map(String)], true);
    process.stdout.write(`${lines.join("\n")}\n`);
    if (flags.has("--record")) writeRows("overhead", [row]);
  } finally {
    bare.child.kill();
    await bare.child.exited;
  }
}

interface Measurement {
  /** Port of Mneme. */
  readonly port: number;
  /** Port of the bare server. */
  readonly bare: number;
  readonly paths: readonly string[];
  readonly authorization: Readonly<Record<string, string>>;
  readonly count: number;
  readonly rounds: number;
  readonly shape: { readonly seconds: number; readonly connections: number };
}

/** Measures both servers alternately; returns the medians of all rounds. */
async function measure({ port, bare, paths, authorization, count, rounds, shape }: Measurement): Promise<Row> {
  const measured: { readonly bare: number; readonly mneme: number }[] = [];
  await load(port, paths, authorization, { ...shape, seconds: WARM_UP_SECONDS });
  await load(bare, paths, authorization, { ...shape, seconds: WARM_UP_SECONDS });
  for (let round = 0; round < rounds; round++) {
    const alone = await load(bare, paths, authorization, shape);
    const whole = await load(port, paths, authorization, shape);
    if (whole.others > 0) throw new Error(`${whole.others} answers did not have status 200`);
    measured.push({ bare: alone.requestsPerSecond, mneme: whole.requestsPerSecond });
  }
  const ratios = measured.map((round) => round.mneme / round.bare);
  const median = (values: readonly number[]) => percentile(0.5, values);
  return {
    memories: count,
    connections: shape.connections,
    barePerSecond: Math.round(median(measured.map((round) => round.bare))),
    mnemePerSecond: Math.round(median(measured.map((round) => round.mneme))),
    ratio: Number(median(ratios).toFixed(3)),
    ratioLeast: Number(Math.min(...ratios).toFixed(3)),
  };
}

/** Starts the bare server, and reads the port that it prints. */
async function startBare() {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "fixtures/bare-elysia.ts")], { stdout: "pipe" });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  return { child, port: Number(new TextDecoder().decode(value)) };
}

await runMain(HELP, main);
