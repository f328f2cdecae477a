// Time until the first text of a streamed answer: POST /v1/chat/completions beside POST /v1/memories/query, whose work
// is the same. `bun bench/openai.ts --help` lists the flags.

import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { until } from "../test/support/until.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `bun bench/openai.ts [flags]

Measures the time from a request to the first text of its stream, in milliseconds, on both routes in turn. Answers are
quoted sentences. Prints a table.

  --memories N   number of memories (default: 200)
  --rounds N     number of questions; each is asked on both routes (default: 300)
  --mode MODE    mode of the searches (default: fast)
  --record       write bench/results/openai.json`;

/** Questions before the measurement, so that the JIT compiler has optimised the frequently used code. */
const WARM_UP_ROUNDS = 50;
const PLACES = ["Skarn", "Holm", "Vik", "Nes", "Berg", "Dal", "Sund", "Fjord"];

/** A route, with its body for a question and the mark of its first text. */
interface Route {
  readonly path: string;
  readonly body: (question: string) => object;
  readonly isText: (received: string) => boolean;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--memories": "value",
    "--rounds": "value",
    "--mode": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const memories = Number(flags.get("--memories") ?? 200);
  const rounds = Number(flags.get("--rounds") ?? 300);
  const mode = flags.get("--mode") ?? "fast";
  await using server = await startServer();
  await storeMemories(server, memories);
  const routes: readonly [Route, Route] = [
    {
      path: "/v1/memories/query",
      body: (query) => ({ query, mode, stream: true }),
      isText: (received) => received.includes("event: text"),
    },
    {
      path: "/v1/chat/completions",
      body: (content) => ({ model: `mneme/${mode}`, messages: [{ role: "user", content }], stream: true }),
      isText: (received) => /"content":"[^"]/.test(received),
    },
  ];
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await askBoth(server, routes, round, memories);
  const times: (readonly [number, number])[] = [];
  for (let round = 0; round < rounds; round++) times.push(await askBoth(server, routes, round, memories));
  const row = rowOf(times, { memories, mode });
  process.stdout.write(`${alignRows([Object.keys(row), Object.values(row).map(String)], true).join("\n")}\n`);
  if (flags.has("--record")) writeRows("openai", [row]);
}

async function storeMemories(server: RunningServer, count: number): Promise<void> {
  for (let at = 0; at < count; at += 100) {
    const memories = Array.from({ length: Math.min(100, count - at) }, (_, index) => {
      const place = PLACES[(at + index) % PLACES.length];
      return {
        content: `The lighthouse number ${at + index} of ${place} was built in ${1800 + ((at + index) % 150)}.`,
      };
    });
    await server.call("POST", "/v1/memories/batch", { memories });
  }
  await until(
    "all memories are completed",
    async () => {
      const { body } = await server.call("GET", "/v1/memories?status=processing&limit=1");
      return (body as { readonly data: readonly unknown[] }).data.length === 0;
    },
    600_000,
  );
}

/** Asks one question on both routes, which take turns in being first. Returns the times in the order of `routes`. */
async function askBoth(
  server: RunningServer,
  routes: readonly [Route, Route],
  round: number,
  memories: number,
): Promise<readonly [number, number]> {
  const number = round % memories;
  const question = `When was the lighthouse number ${number} of ${PLACES[number % PLACES.length]} built?`;
  const [first, second] = routes;
  if (round % 2 === 0) return [await firstText(server, first, question), await firstText(server, second, question)];
  const later = await firstText(server, second, question);
  return [await firstText(server, first, question), later];
}

async function firstText(server: RunningServer, { path, body, isText }: Route, question: string): Promise<number> {
  const asked = JSON.stringify(body(question));
  const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
  const startedAt = performance.now();
  const response = await fetch(server.url + path, { method: "POST", headers, body: asked });
  const decoder = new TextDecoder();
  let received = "";
  let ms: number | null = null;
  for await (const part of response.body ?? []) {
    received += decoder.decode(part, { stream: true });
    if (ms === null && isText(received)) ms = performance.now() - startedAt;
  }
  if (ms === null) throw new Error(`${path} answered ${response.status} without a text: ${received.slice(0, 500)}`);
  return ms;
}

function rowOf(times: readonly (readonly [number, number])[], setting: Row): Row {
  const at = (p: number, values: readonly number[]) => Number(percentile(p, values).toFixed(2));
  const [own, openai] = [times.map(([ms]) => ms), times.map(([, ms]) => ms)];
  return {
    ...setting,
    rounds: times.length,
    queryP50Ms: at(0.5, own),
    completionP50Ms: at(0.5, openai),
    queryP95Ms: at(0.95, own),
    completionP95Ms: at(0.95, openai),
    differenceP50Ms: at(
      0.5,
      times.map(([before, after]) => after - before),
    ),
  };
}

await runMain(main);
