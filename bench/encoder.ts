// Speed of the native encoder beside onnxruntime: one model, one thread, without lanes and tokeniser. bench/embedder.ts
// measures whole lanes. `bun bench/encoder.ts --help` lists the flags.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Encoder } from "../src/adapters/inference/encoder.ts";
import { NO_TELEMETRY_VARIABLE } from "../src/adapters/inference/lane-protocol.ts";
import { openWithOnnxruntime } from "../src/adapters/inference/onnxruntime-encoder.ts";
import { ModelEncoder, type TokenSequence } from "../src/adapters/native/model-encoder.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { percentile } from "./lib/metrics.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `${NO_TELEMETRY_VARIABLE}=1 bun bench/encoder.ts MODEL... [flags]

Measures native encoder and onnxruntime in turns. MODEL is the path of a model.onnx. Prints a table. Figures for one
thread are processor time, which other programs hardly change; those for two threads are the time of a call.

  --repeats N   number of measurements of each kind; the median is printed (default: 3)
  --seconds N   time of one measurement (default: 2)`;

const LENGTHS = [16, 32, 128, 256];
const QUESTION_TOKENS = 12;
/** Number of tokens of one call when throughput is measured. */
const CALL_TOKENS = 2048;
/** Token ids are spread over this many rows of the vocabulary, which both tables have. */
const IDS = 30_000;

type Runtime = Pick<Encoder, "encode">;

async function main(): Promise<void> {
  const { flags, positionals } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--repeats": "value",
    "--seconds": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  if (process.env[NO_TELEMETRY_VARIABLE] !== "1") throw new UsageError(`Set ${NO_TELEMETRY_VARIABLE}=1.`);
  if (positionals.length === 0) throw new UsageError("Name at least one model.onnx.");
  const repeats = Number(flags.get("--repeats") ?? 3);
  const milliseconds = Number(flags.get("--seconds") ?? 2) * 1000;
  for (const model of positionals) {
    const path = resolve(model);
    if (!existsSync(path)) throw new UsageError(`${path} does not exist.`);
    process.stdout.write(`${path}\n${alignRows(await measure(path, repeats, milliseconds)).join("\n")}\n`);
  }
}

/** Returns one row per length: native encoder, onnxruntime, and how many times as fast the native encoder is. */
async function measure(path: string, repeats: number, milliseconds: number): Promise<readonly (readonly string[])[]> {
  const native = ModelEncoder.open(path);
  const runtimes: readonly Runtime[] = [
    { encode: async (sequences, isUrgent) => native.encode(sequences, isUrgent) },
    await openWithOnnxruntime({ modelPath: path }, null),
  ];
  const rows: string[][] = [["", "native", "onnxruntime", "ratio"]];
  const row = async (what: string, texts: readonly TokenSequence[], isUrgent: boolean, unit: "tokens/s" | "ms") => {
    const calls: [number[], number[]] = [[], []];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      for (const [at, runtime] of runtimes.entries()) {
        calls[at as 0 | 1].push(await callMs(runtime, texts, isUrgent, milliseconds));
      }
    }
    const [ours = Number.NaN, theirs = Number.NaN] = calls.map((times) => percentile(0.5, times));
    const tokens = texts.reduce((sum, { ids }) => sum + ids.length, 0);
    const figure = (ms: number) =>
      unit === "ms" ? `${ms.toFixed(2)} ms` : `${Math.round((tokens / ms) * 1000).toLocaleString("en")} tokens/s`;
    rows.push([what, figure(ours), figure(theirs), (theirs / ours).toFixed(2)]);
  };
  for (const length of LENGTHS) {
    const texts = Array.from({ length: CALL_TOKENS / length }, (_, number) => sequence(length, number));
    await row(`texts of ${length} tokens`, texts, false, "tokens/s");
  }
  const question = [sequence(QUESTION_TOKENS, 0)];
  await row(`question of ${QUESTION_TOKENS} tokens, one thread`, question, false, "ms");
  await row(`question of ${QUESTION_TOKENS} tokens, two threads`, question, true, "ms");
  return rows;
}

/** Runs the same call again and again for a while. Returns the milliseconds of a call. */
async function callMs(
  runtime: Runtime,
  texts: readonly TokenSequence[],
  isUrgent: boolean,
  milliseconds: number,
): Promise<number> {
  await runtime.encode(texts, isUrgent); // warms up
  const times: number[] = [];
  const startedAt = performance.now();
  const cpuAt = process.cpuUsage();
  while (performance.now() - startedAt < milliseconds) {
    const callAt = performance.now();
    await runtime.encode(texts, isUrgent);
    times.push(performance.now() - callAt);
  }
  const { user, system } = process.cpuUsage(cpuAt);
  return isUrgent ? percentile(0.5, times) : (user + system) / 1000 / times.length;
}

/** Returns a text of one sequence: ids that are spread over the vocabulary. */
function sequence(length: number, number: number): TokenSequence {
  const ids = Int32Array.from({ length }, (_, at) => ((number * 997 + at) * 7919) % IDS);
  return { ids, firstLength: length };
}

await runMain(main);
