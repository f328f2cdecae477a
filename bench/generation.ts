// Time that Mneme adds to a language model's answer. The server calls a fake endpoint that answers at once, so that the
// measured time is caused by Mneme only: from the question until the endpoint is called, and from the endpoint's first
// text until the caller receives it. `bun bench/generation.ts --help` lists the flags.

import { existsSync } from "node:fs";
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { delta, event, streamed } from "../test/support/llm.ts";
import type { RunningServer } from "../test/support/server.ts";
import { firstQuestions } from "./lib/collection.ts";
import { PASSAGES_FILE, passagesContent } from "./lib/haystack.ts";
import { percentile } from "./lib/metrics.ts";
import { modesOf } from "./lib/modes.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { rounded } from "./lib/scores.ts";
import { type ServerContent, serve } from "./lib/served-collection.ts";

const QUERIES_FILE = resolve(import.meta.dir, "../../shared/data/ir/scifact/queries.jsonl.gz");
const HELP = `bun bench/generation.ts [flags]

Measures the time that Mneme adds to an answer by a language model, with a fake endpoint that answers at once.

  --memories N    number of stored passages (default: 300)
  --passages FILE passages, BEIR format (default: ${PASSAGES_FILE})
  --queries FILE  questions, JSONL (.gz) (default: ${QUERIES_FILE})
  --questions N   questions per mode and round (default: 50)
  --rounds N      rounds per mode; the lowest figure of the rounds counts (default: 3)
  --mode NAMES    modes, separated by commas (default: fast,balanced; all: ${MODE_NAMES.join(", ")})
  --data FOLDER   keep the data directory here
  --record        write bench/results/generation.json`;
/** Number of questions that are asked first, without measuring, to warm up the JIT compiler. */
const WARM_UP_QUESTIONS = 10;
const SSE = { headers: { "content-type": "text/event-stream" } };
const FIRST_TEXT = "The sources say";

/** Times of one answer, in milliseconds. */
interface Measured {
  /** From the question until the endpoint is called. */
  readonly beforeMs: number;
  /** From the endpoint's first text until the caller receives it. */
  readonly textMs: number;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--memories": "value",
    "--passages": "value",
    "--queries": "value",
    "--questions": "value",
    "--rounds": "value",
    "--mode": "value",
    "--data": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const modes = modesOf(flags.get("--mode") ?? "fast,balanced");
  const file = flags.get("--queries") ?? QUERIES_FILE;
  if (!existsSync(file)) throw new UsageError(`No questions at ${file}; name a file with --queries.`);
  const memories = Number(flags.get("--memories") ?? 300);
  const questions = await firstQuestions(file, Number(flags.get("--questions") ?? 50));
  const rounds = Number(flags.get("--rounds") ?? 3);

  const endpoint = new Endpoint();
  try {
    const holding = withoutExtraction(await passagesContent(flags.get("--passages") ?? PASSAGES_FILE, memories));
    const environment = { MNEME_LLM_BASE_URL: endpoint.url, MNEME_LLM_MODEL: "at-once" };
    await using server = await serve(holding, flags.get("--data") ?? null, environment);
    const ways = [
      ...modes.map((mode) => ({ name: mode, ask: (question: string) => askServer(endpoint, server, question, mode) })),
      { name: "endpoint alone", ask: (question: string) => askEndpoint(endpoint, question) },
    ];
    const rows: Row[] = [];
    for (const { name, ask } of ways) {
      const measured = await measure(name, ask, questions, rounds);
      rows.push({ answers: name, memories, questions: questions.length, rounds, ...measured });
    }
    print(rows);
    if (flags.has("--record")) process.stdout.write(`written to ${writeRows("generation", rows)}\n`);
  } finally {
    await endpoint.stop();
  }
}

/** A fake language model endpoint that answers at once. */
class Endpoint {
  /** `performance.now()` of the last call, and of the first text of its answer. */
  calledAt = Number.NaN;
  firstTextAt = Number.NaN;
  #firstTextArrived = Promise.withResolvers<void>();
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    idleTimeout: 0,
    fetch: async (request) => {
      this.calledAt = performance.now();
      await request.arrayBuffer();
      this.#firstTextArrived = Promise.withResolvers();
      const start = (stream: ReadableStreamDefaultController) => {
        this.firstTextAt = performance.now();
        stream.enqueue(Buffer.from(event(delta(FIRST_TEXT))));
      };
      // The rest is sent after the caller has the first text, so that it does not delay it.
      const pull = async (stream: ReadableStreamDefaultController) => {
        await this.#firstTextArrived.promise;
        stream.enqueue(Buffer.from(await streamed([" so [1]."]).text()));
        stream.close();
      };
      return new Response(new ReadableStream({ start, pull }), SSE);
    },
  });

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`;
  }

  confirmFirstText(): void {
    this.#firstTextArrived.resolve();
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }
}

function askServer(endpoint: Endpoint, server: RunningServer, query: string, mode: ModeName): Promise<Measured> {
  const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
  const body = JSON.stringify({ query, mode, stream: true });
  return firstText(endpoint, new Request(`${server.url}/v1/memories/query`, { method: "POST", headers, body }));
}

// Calls the endpoint directly. This measures the time of the runtime and its connections alone.
function askEndpoint(endpoint: Endpoint, query: string): Promise<Measured> {
  return firstText(endpoint, new Request(`${endpoint.url}/chat/completions`, { method: "POST", body: query }));
}

async function firstText(endpoint: Endpoint, request: Request): Promise<Measured> {
  const startedAt = performance.now();
  const response = await fetch(request);
  let text = "";
  let measured: Measured | null = null;
  const decoder = new TextDecoder();
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true });
    if (measured !== null || !text.includes(FIRST_TEXT)) continue;
    measured = { beforeMs: endpoint.calledAt - startedAt, textMs: performance.now() - endpoint.firstTextAt };
    endpoint.confirmFirstText();
  }
  const isComplete = text.includes("event: done\n") || text.includes("data: [DONE]");
  if (measured === null || !isComplete)
    throw new Error(`the answer is incomplete (status ${response.status}): ${text}`);
  return measured;
}

async function measure(
  name: string,
  ask: (question: string) => Promise<Measured>,
  questions: readonly string[],
  rounds: number,
): Promise<Row> {
  for (const question of questions.slice(0, WARM_UP_QUESTIONS)) await ask(question);
  const progress = new Progress(`${name}:`);
  const byRound: Row[] = [];
  for (let round = 0; round < rounds; round++) {
    const measured: Measured[] = [];
    for (const question of questions) {
      measured.push(await ask(question));
      progress.show((round + measured.length / questions.length) / rounds, `round ${round + 1} of ${rounds}`);
    }
    byRound.push({
      ...summary(
        "before",
        measured.map(({ beforeMs }) => beforeMs),
      ),
      ...summary(
        "text",
        measured.map(({ textMs }) => textMs),
      ),
    });
  }
  const names = Object.keys(byRound[0] ?? {});
  const least = names.map((column) => [column, Math.min(...byRound.map((row) => Number(row[column])))] as const);
  return { ...Object.fromEntries(least), load: rounded(loadavg()[0] ?? Number.NaN, 1) };
}

function summary(name: string, ms: readonly number[]): Row {
  return { [`${name}P50Ms`]: rounded(percentile(0.5, ms), 2), [`${name}P95Ms`]: rounded(percentile(0.95, ms), 2) };
}

function print(rows: readonly Row[]): void {
  const [{ memories, questions, rounds } = {}] = rows;
  const header = ["answers", "until asked p50 ms", "p95 ms", "first text p50 ms", "p95 ms", "load"];
  const table = rows.map(({ answers, beforeP50Ms, beforeP95Ms, textP50Ms, textP95Ms, load }) =>
    [answers, beforeP50Ms, beforeP95Ms, textP50Ms, textP95Ms, load].map(String),
  );
  process.stdout.write(
    `${questions} questions in ${rounds} rounds, one caller, ${memories} memories; lowest figures of the rounds\n` +
      `${alignRows([header, ...table], true).join("\n")}\n`,
  );
}

/** The same server content, but stored without LLM extraction. */
function withoutExtraction(holding: ServerContent): ServerContent {
  const fill = async (server: RunningServer) => {
    await server.call("PUT", "/v1/project", { smart_ingestion: { enabled: false } });
    await holding.fill(server);
  };
  return { ...holding, fill };
}

await main();
