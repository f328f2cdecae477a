// Large and hostile bodies: how long each holds up the event loop, how much memory it takes, and how much slower a
// search beside it is. `bun bench/bodies.ts --help` lists the flags.

import { readFileSync, writeFileSync } from "node:fs";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { startServer } from "../test/support/server.ts";
import { until } from "../test/support/until.ts";
import type { Pings } from "./fixtures/pinger.ts";
import { percentile } from "./lib/metrics.ts";
import { listenerOf } from "./lib/processes.ts";
import { type Row, writeRows } from "./lib/record.ts";

const HELP = `bun bench/bodies.ts [flags]

Sends large and hostile bodies to a server, one after the other. Meanwhile another thread reads /health and searches, one
request after the other. Prints a table: status, total time, longest /health, p95 of the searches, and peak of the
server's memory above its memory before, as a multiple of the body.

  --rounds N       how often each body is sent (default: 3); the table shows the worst round
  --only TEXT      only bodies whose name contains this text
  --record         write bench/results/bodies.json`;

const MB = 1_000_000;

interface Body {
  readonly name: string;
  readonly path: string;
  readonly make: () => Buffer;
}

const filled = (start: string, repeated: string, bytes: number) =>
  Buffer.alloc(bytes, repeated).fill(start, 0, start.length);
const sentences = (bytes: number) => "The kettle boils at a hundred degrees. ".repeat(bytes / 39);

const BODIES: readonly Body[] = [
  { name: "95 MB of [ in a search", path: "/memories/search", make: () => filled('{"query":', "[", 95 * MB) },
  { name: "30 MB of [ in a memory", path: "/memories", make: () => filled("[", "[", 30 * MB) },
  { name: "45 MB of metadata keys", path: "/memories", make: () => metadataKeys(45 * MB) },
  { name: "1 MB of search members", path: "/memories/search", make: () => searchMembers() },
  {
    name: "1,000,000 values in a batch",
    path: "/memories/batch",
    make: () => Buffer.from(`{"memories":[${'{"a":""},'.repeat(490_000)}0]}`),
  },
  {
    name: "90 MB of 60 KB texts",
    path: "/memories/batch",
    make: () => Buffer.from(`{"memories":[${`{"content":"${"x".repeat(60_000)}"},`.repeat(1_500)}0]}`),
  },
  { name: "legitimate batch of 60 MB", path: "/memories/batch", make: () => batch(100, 600_000) },
  {
    name: "legitimate memory of 10 MB",
    path: "/memories",
    make: () => Buffer.from(JSON.stringify({ content: sentences(10 * MB) })),
  },
  {
    name: "legitimate memory of 100 MB",
    path: "/memories",
    make: () => Buffer.from(JSON.stringify({ content: sentences(100 * MB) })),
  },
];

function metadataKeys(bytes: number): Buffer {
  const parts = ['{"content":"x","metadata":{"k":1'];
  for (let at = 0, length = 0; length < bytes; at++) {
    parts.push(`,"k${at}":1`);
    length += parts.at(-1)?.length ?? 0;
  }
  return Buffer.from(`${parts.join("")}}}`);
}

function searchMembers(): Buffer {
  const objects = Array.from(
    { length: 9 },
    (_, at) => `{${Array.from({ length: 1_100 }, (_, key) => `"k${at}-${key}":1`)}}`,
  );
  return Buffer.from(`{"query":"x","filters":{"type":{"$in":[${objects},${"0,".repeat(400_000)}0]}}}`);
}

function batch(items: number, bytes: number): Buffer {
  const memories = Array.from({ length: items }, (_, at) => ({
    content: `${at} ${sentences(bytes)}`,
    metadata: { at },
  }));
  return Buffer.from(JSON.stringify({ memories }));
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--rounds": "value",
    "--only": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const rounds = Number(flags.get("--rounds") ?? 3);
  const only = String(flags.get("--only") ?? "");
  const rows: Row[] = [];
  for (const body of BODIES.filter(({ name }) => name.includes(only))) {
    const measured: Row[] = [];
    for (let round = 0; round < rounds; round++) measured.push(await measure(body));
    rows.push(worst(measured));
  }
  const lines = alignRows([Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(String))], true);
  process.stdout.write(`${lines.join("\n")}\n`);
  if (flags.has("--record")) writeRows("bodies", rows);
}

/** Sends one body to a fresh server, so that no earlier text is still in work. */
async function measure({ name, path, make }: Body): Promise<Row> {
  await using server = await startServer();
  await server.call("POST", "/v1/memories", { content: "The spare key is under the blue pot." });
  await until("the memory is completed", async () => {
    const { body } = await server.call("GET", "/v1/memories?status=completed");
    return (body as { readonly data: readonly unknown[] }).data.length === 1;
  });
  const pid = listenerOf(Number(new URL(server.url).port)) ?? server.pid;
  const body = make();
  const idle = await pinged(server.url, server.key, () => systemPause(2_000));
  writeFileSync(`/proc/${pid}/clear_refs`, "5"); // resets the peak
  const before = memoryOf(pid, "VmRSS");
  let status = 0;
  let ms = 0;
  const beside = await pinged(server.url, server.key, async () => {
    const startedAt = performance.now();
    const response = await fetch(`${server.url}/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
      body,
    });
    await response.arrayBuffer();
    [status, ms] = [response.status, performance.now() - startedAt];
  });
  const peak = memoryOf(pid, "VmHWM");
  const p95 = ({ searchMs }: Pings) => percentile(0.95, searchMs);
  return {
    body: name,
    status,
    ms: Math.round(ms),
    stallIdleMs: Math.round(Math.max(...idle.healthMs)),
    stallMs: Math.round(Math.max(...beside.healthMs)),
    searchIdleP95Ms: Number(p95(idle).toFixed(1)),
    searchP95Ms: Number(p95(beside).toFixed(1)),
    memoryTimesBody: Number(((peak - before) / body.byteLength).toFixed(2)),
  };
}

/** Sends requests from another thread while `work` runs. */
async function pinged(url: string, key: string, work: () => Promise<void>): Promise<Pings> {
  const worker = new Worker(new URL("fixtures/pinger.ts", import.meta.url).href);
  const next = () =>
    new Promise<Pings>((resolve) => worker.addEventListener("message", ({ data }) => resolve(data), { once: true }));
  const started = next();
  worker.postMessage({ url, key });
  await started;
  await work();
  const ended = next();
  worker.postMessage("stop");
  const pings = await ended;
  worker.terminate();
  return pings;
}

function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  const line = readFileSync(`/proc/${pid}/status`, "utf8")
    .split("\n")
    .find((text) => text.startsWith(field));
  return Number(/(\d+) kB/.exec(line ?? "")?.[1] ?? 0) * 1024;
}

function systemPause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The worst value of each column. */
function worst(measured: readonly Row[]): Row {
  const [first = {}] = measured;
  return Object.fromEntries(
    Object.entries(first).map(([column, value]) => [
      column,
      typeof value === "string" ? value : Math.max(...measured.map((row) => Number(row[column]))),
    ]),
  );
}

await main();
