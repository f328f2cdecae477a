// Large and hostile bodies: how long each holds up the event loop, how much memory it takes, and how much slower a
// search beside it is. `bun bench/bodies.ts --help` lists the flags.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { startServer } from "../test/support/server.ts";
import { until } from "../test/support/until.ts";
import type { Pings } from "./fixtures/pinger.ts";
import { percentile } from "./lib/metrics.ts";
import { listenerOf } from "./lib/processes.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { LOOP_FILE_VARIABLE, stallsSince } from "./lib/stalls.ts";

const HELP = `bun bench/bodies.ts [flags]

Sends large and hostile bodies to a server, one after the other. Meanwhile another thread reads /health and searches, one
request after the other. Prints a table.

A real client sends from another machine, so its work must not take processor time from the server here. Therefore
another process of the lowest priority (nice 19) sends the body, which it has in memory, at the rate of a network
connection. The server and the searches get a processor before it. Prints:

  status, ms               of the answer, with its whole body
  healthIdleMs, healthMs   longest /health before and beside the body
  stallMs                  longest time between two ticks of the server's event loop
  stallOwnMs               the same without the time that its thread waited for a processor, which others used
  searchIdleP95Ms, …P95Ms  p95 of the searches before and beside the body
  peakMB, timesBody        peak of the server's memory above its memory before; the same as a multiple of the body

Event loop and memory are also watched for the three seconds after the answer, in which the text is read again and
prepared.

  --rate MB/S      rate of the sender (default: 125, a connection of 1 Gbit/s); 0 is as fast as possible
  --rounds N       how often each body is sent (default: 3); the table shows the worst round
  --only TEXTS     only bodies whose name contains one of these texts, which are separated by commas
  --record         write bench/results/bodies.json`;

const MB = 1_000_000;
/** How long the event loop is watched after an answer. */
const WATCHED_AFTER_MS = 3_000;
const MAIN = join(import.meta.dir, "../src/main.ts");

const IMPORT = "mneme import";

/** Priority of the process that sends a body: the lowest. */
const NICENESS = 19;
const LOWEST = ["nice", "-n", String(NICENESS)];

interface Body {
  readonly name: string;
  readonly method?: "POST" | "PUT";
  /** Path without `/v1`, in which `:memory` and `:chat` stand for ids. Or IMPORT, for a file of `mneme import`. */
  readonly path: string;
  readonly make: () => Buffer | FormData;
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
  { name: "100,000 tiny memories", path: "/memories/batch", make: () => batch(100_000, 0) },
  { name: "1,000 memories of 60 KB", path: "/memories/batch", make: () => batch(1_000, 60_000) },
  { name: "100 memories of 60 KB", path: "/memories/batch", make: () => batch(100, 60_000) },
  { name: "batch of 60 MB", path: "/memories/batch", make: () => batch(100, 600_000) },
  // shows what any body takes, because searches beside it also raise the memory of a new server
  { name: "memory of 100 KB", path: "/memories", make: () => memory(sentences(0.1 * MB)) },
  { name: "memory of 10 MB", path: "/memories", make: () => memory(sentences(10 * MB)) },
  { name: "memory of 60 MB", path: "/memories", make: () => memory(sentences(60 * MB)) },
  { name: "memory of 100 MB", path: "/memories", make: () => memory(sentences(100 * MB)) },
  { name: "memory of 100 MB with umlauts", path: "/memories", make: () => memory(umlauts(100 * MB)) },
  { name: "100 MB of \\u00e9", path: "/memories", make: () => escapes("\\u00e9", 100 * MB) },
  { name: "100 MB of \\n", path: "/memories", make: () => escapes("\\n", 100 * MB) },
  { name: "new text of 100 MB", method: "PUT", path: "/memories/:memory", make: () => memory(sentences(100 * MB)) },
  { name: "upload of 100 MB", path: "/memories/upload", make: () => form(sentences(100 * MB)) },
  { name: "import of 60 MB", path: IMPORT, make: () => Buffer.from(`${memory(sentences(600_000))}\n`.repeat(100)) },
  {
    name: "longest message",
    path: "/chats/:chat/messages",
    make: () => Buffer.from(JSON.stringify({ message: sentences(LIMITS.messageCharacters) })),
  },
  {
    name: "longest query",
    path: "/memories/search",
    make: () => Buffer.from(JSON.stringify({ query: sentences(LIMITS.queryCharacters) })),
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

const memory = (content: string) => Buffer.from(JSON.stringify({ content }));
const umlauts = (bytes: number) => "Der Käse reift im Keller. ".repeat(bytes / 27);
const escapes = (sequence: string, bytes: number) =>
  Buffer.from(`{"content":"x${sequence.repeat(bytes / sequence.length - 10)}"}`);

function form(text: string): FormData {
  const fields = new FormData();
  fields.set("file", new File([text], "notes.txt"));
  return fields;
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
    "--rate": "value",
    "--rounds": "value",
    "--only": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const bytesPerSecond = Number(flags.get("--rate") ?? 125) * MB;
  const rounds = Number(flags.get("--rounds") ?? 3);
  const only = String(flags.get("--only") ?? "").split(",");
  const rows: Row[] = [];
  for (const body of BODIES.filter(({ name }) => only.some((text) => name.includes(text)))) {
    const measured: Row[] = [];
    for (let round = 0; round < rounds; round++) measured.push(await measure(body, bytesPerSecond));
    rows.push(worst(measured));
  }
  const lines = alignRows([Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(String))], true);
  const rate = bytesPerSecond === 0 ? "as fast as possible" : `${bytesPerSecond / MB} MB/s`;
  process.stdout.write(`${lines.join("\n")}\n\nThe sender was a process of priority nice ${NICENESS}, at ${rate}.\n`);
  if (flags.has("--record")) writeRows("bodies", rows);
}

/** Sends one body to a fresh server, so that no earlier text is still in work. */
async function measure({ name, method = "POST", path, make }: Body, bytesPerSecond: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), "mneme-bench-bodies-"));
  const loopFile = join(folder, "loop");
  writeFileSync(loopFile, "");
  const watched = [process.execPath, "--preload", join(import.meta.dir, "fixtures/loop-watch.ts"), MAIN];
  await using server = await startServer({ command: watched, environment: { [LOOP_FILE_VARIABLE]: loopFile } });
  const memoryId = await idOf(server.call("POST", "/v1/memories", { content: "The key is under the blue pot." }));
  const chatId = await idOf(server.call("POST", "/v1/chats", {}));
  await until("the memory is completed", async () => {
    const { body } = await server.call("GET", "/v1/memories?status=completed");
    return (body as { readonly data: readonly unknown[] }).data.length === 1;
  });
  const pid = listenerOf(Number(new URL(server.url).port)) ?? server.pid;
  const body = make();
  const bodyBytes = body instanceof FormData ? (body.get("file") as File).size : body.byteLength;
  const message = new Response(
    body,
    body instanceof FormData ? {} : { headers: { "content-type": "application/json" } },
  );
  const file = join(folder, "body");
  writeFileSync(file, await message.bytes());
  const at = path.replace(":memory", memoryId).replace(":chat", chatId);
  const type = message.headers.get("content-type") ?? "";
  const request = [`${server.url}/v1${at}`, method, server.key, type, file, String(bytesPerSecond)];
  const sender = path === IMPORT ? null : await startSender(request);
  const idle = await pinged(server.url, server.key, () => systemPause(2_000));
  writeFileSync(`/proc/${pid}/clear_refs`, "5"); // resets the peak
  const before = memoryOf(pid, "VmRSS");
  let status = 0;
  let ms = 0;
  const sentAt = performance.timeOrigin + performance.now();
  const beside = await pinged(server.url, server.key, async () => {
    const startedAt = performance.now();
    if (sender === null) status = await imported(server, file);
    else ({ status, ms } = await sender());
    ms ||= performance.now() - startedAt;
  });
  await systemPause(WATCHED_AFTER_MS);
  const peak = memoryOf(pid, "VmHWM") - before;
  const stalls = stallsSince(loopFile, sentAt);
  rmSync(folder, { recursive: true, force: true });
  const p95 = ({ searchMs }: Pings) => percentile(0.95, searchMs);
  return {
    body: name,
    status,
    ms: Math.round(ms),
    healthIdleMs: Math.round(Math.max(...idle.healthMs)),
    healthMs: Math.round(Math.max(...beside.healthMs)),
    stallMs: Math.round(Math.max(0, ...stalls.map(({ wallMs }) => wallMs))),
    stallOwnMs: Math.round(Math.max(0, ...stalls.map(({ wallMs, waitedMs }) => wallMs - waitedMs))),
    searchIdleP95Ms: Number(p95(idle).toFixed(1)),
    searchP95Ms: Number(p95(beside).toFixed(1)),
    peakMB: Number((peak / MB).toFixed(1)),
    timesBody: Number((peak / bodyBytes).toFixed(2)),
  };
}

/** Runs `mneme import`. Returns its exit code. */
async function imported({ url, key }: { url: string; key: string }, file: string): Promise<number> {
  const child = Bun.spawn([...LOWEST, process.execPath, MAIN, "import", file, "--url", url, "--key", key], {
    stdout: "ignore",
    stderr: "inherit",
  });
  return child.exited;
}

/** Starts a process that has a request in memory; the result sends it. */
async function startSender(
  request: readonly string[],
): Promise<() => Promise<{ readonly status: number; readonly ms: number }>> {
  const script = join(import.meta.dir, "fixtures/sender.ts");
  const child = Bun.spawn([...LOWEST, process.execPath, script, ...request], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = readLines(child.stdout);
  await lines.next(); // it is ready
  return async () => {
    child.stdin.write("send\n");
    await child.stdin.end();
    const { value = "" } = await lines.next();
    await child.exited;
    return JSON.parse(value);
  };
}

async function* readLines(output: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  let pending = "";
  for await (const bytes of output) {
    const lines = (pending + Buffer.from(bytes).toString()).split("\n");
    pending = lines.pop() ?? "";
    yield* lines;
  }
}

async function idOf(call: Promise<{ readonly body: unknown }>): Promise<string> {
  return ((await call).body as { readonly id: string }).id;
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
