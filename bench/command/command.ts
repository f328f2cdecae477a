// `mneme bench`: measures speed and quality on this machine with a server of its own. This file reads the
// command line, shows tables, and writes the files; the files beside it measure.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { programCommand } from "../../src/children/command.ts";
import type { CommandStart } from "../../src/cli/command-start.ts";
import { alignRows, Progress } from "../../src/cli/terminal.ts";
import { type Config, parseConfig, SETTINGS } from "../../src/config.ts";
import { MODE_NAMES, type ModeName } from "../../src/domain/ranking.ts";
import { parseCommandLine, UsageError } from "../../src/kit/flags.ts";
import { didYouMean } from "../../src/kit/nearest.ts";
import { chartSvg } from "../lib/chart.ts";
import { modesOf } from "../lib/modes.ts";
import type { Workload } from "../lib/passages.ts";
import { ANSWER_FLAGS, ANSWER_HELP, type AnswerFlags, answerFlags, connectModels } from "./answer-models.ts";
import { compareResults } from "./compare.ts";
import { readConversations } from "./conversation-files.ts";
import { benchFiltered } from "./filtered.ts";
import { type Benchmark, runBenchmark } from "./harness.ts";
import { benchIngest } from "./ingest.ts";
import { benchLoad } from "./load.ts";
import { callsOf, checkModels } from "./memory-answers.ts";
import { benchConversations, conversationWorkload, withEvidence } from "./memory-benchmarks.ts";
import { benchModes } from "./modes.ts";
import { benchQuality } from "./quality.ts";
import { sampleEvenly } from "./question-sample.ts";
import { cellsOf, headerOf, markdownOf, originOf, withoutEmptyColumns } from "./report.ts";
import { parseResult, type Result, type Table } from "./result.ts";
import { benchScale } from "./scale.ts";
import { BENCH_INDEXES } from "./vector-scale.ts";
import {
  generatedQuestions,
  generatedWorkload,
  PASSAGES_DEFAULT,
  type WorkloadSize,
  workloadFrom,
} from "./workload.ts";

/** Number of memories of `scale` if none is given. */
const SCALE_PASSAGES = 10_000;

interface BenchmarkCommand {
  readonly name: string;
  readonly summary: string;
  /**
   * Data that it can measure. `generated`: the generated corpus. `input`: what the positional argument names. `any`:
   * the generated corpus, or what `--data` names.
   */
  readonly data: "any" | "generated" | "input";
  /**
   * Name of the positional argument in the help; absent if there is none. With it, all questions are asked by default,
   * unless a language model answers them.
   */
  readonly input?: string;
  /** Whether the passages are stored before anything is measured. */
  readonly fills: boolean;
  /** Number of passages without `--passages`; absent: all of given data, or PASSAGES_DEFAULT generated ones. */
  readonly passagesDefault?: number;
  /** Whether it can also measure answers to its questions. */
  readonly answers?: boolean;
  /** Reads or generates the data. `path` is null for a generated corpus. */
  readonly prepare: (path: string | null, size: WorkloadSize, answering: Answering) => Promise<Prepared>;
}

/** What a benchmark needs for answers, besides the questions. */
interface Answering {
  readonly asked: AnswerFlags;
  readonly modes: readonly ModeName[];
  readonly config: Config;
}

interface Prepared {
  readonly workload: Workload;
  readonly measure: Benchmark["measure"];
  /** A sentence to print before anything that costs time or money. */
  readonly announcement?: string;
  /** Options that change the figures, for the result. */
  readonly options?: Readonly<Record<string, string>>;
}

const BENCHMARKS: readonly BenchmarkCommand[] = [
  {
    name: "modes",
    summary: "Latency of each mode and stage, idle and while memories are ingested",
    data: "any",
    fills: true,
    prepare: preparing(benchModes),
  },
  {
    name: "load",
    summary: "Questions per second of each mode, and latency at 25 to 200 % of it",
    data: "any",
    fills: true,
    prepare: preparing(benchLoad),
  },
  {
    name: "ingest",
    summary: "Chunks per second, and time until a memory is searchable",
    data: "any",
    fills: false,
    prepare: preparing(benchIngest),
  },
  {
    name: "filtered",
    summary: "Searches within filters that admit 100 % to 0.1 % of the memories",
    data: "generated",
    fills: true,
    prepare: preparing(benchFiltered),
  },
  {
    name: "scale",
    summary: `Latency, memory, disk and start with ${SCALE_PASSAGES.toLocaleString("en")} memories or more`,
    data: "generated",
    fills: false,
    passagesDefault: SCALE_PASSAGES,
    prepare: async (_path, size) => {
      // passages are generated while they are stored, because a million of them would not fit into memory
      const count = size.passagesMax ?? SCALE_PASSAGES;
      const workload = {
        name: "generated",
        passages: [],
        questions: generatedQuestions({ ...size, passagesMax: count }),
      };
      const { index = "scan", areVectorsDrawn = false } = size;
      return { workload, measure: (run) => benchScale(run, { ...size, count, index, areVectorsDrawn }) };
    },
  },
  {
    name: "quality",
    summary: "nDCG@10, R@5, R@10 and MRR of each mode on a BEIR folder",
    data: "input",
    input: "FOLDER",
    fills: true,
    prepare: preparing(benchQuality),
  },
  {
    name: "memory-benchmarks",
    summary: "Evidence found in long conversations, and answers: LoCoMo, LongMemEval or BEAM",
    data: "input",
    input: "FILE.json",
    fills: true,
    answers: true,
    prepare: prepareConversations,
  },
];

/**
 * Settings of the server that come from flags and the environment. The others have the values that `benchCommand` sets,
 * or their defaults.
 */
const TAKEN_SETTINGS = [
  ...[SETTINGS.embedder, SETTINGS.lanes, SETTINGS.modelsDir, SETTINGS.modelRuntime, SETTINGS.httpThreads],
  ...[SETTINGS.modelProvider, SETTINGS.onnxruntimeDir, SETTINGS.gpuMemoryMax],
  // these change calls to a language model, but cause none
  ...[SETTINGS.llmContextTokens, SETTINGS.llmFirstByteTimeoutMs, SETTINGS.llmIdleTimeoutMs, SETTINGS.llmTimeoutMs],
];
/**
 * Environment variables that the server inherits: those that any program needs, those that say where this program keeps
 * its files, and those that choose GPUs and their libraries.
 */
const TAKEN_VARIABLES = [
  ...["PATH", "HOME", "TMPDIR", "LANG", "XDG_CACHE_HOME", "MNEME_CACHE_DIR", "MNEME_NATIVE_PATH"],
  ...["LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"],
];
const QUESTIONS_DEFAULT = 200;
const PASSAGES_MAX = 10_000_000;
const QUESTIONS_MAX = 100_000;
const VECTORS_MAX = 20_000_000;
/** Flags that say how the vectors of `--vectors` are measured. */
const VECTOR_FLAGS = ["--index", "--vector-texts", "--vector-folder"] as const;
/** Duration of a measurement under load, in seconds. */
const SECONDS_DEFAULT = 5;
const SECONDS_MAX = 600;
const SEED_MAX = 2 ** 31;

/** Help for bench, as `[flag, description]`. */
export const BENCH_HELP: readonly (readonly [string, string])[] = [
  ...BENCHMARKS.map(
    ({ name, input, summary }) => [`bench ${[name, input].filter(Boolean).join(" ")}`, summary] as const,
  ),
  ["--passages NUMBER", `Number of passages to store (default: ${PASSAGES_DEFAULT}; all of given data)`],
  ["--drawn-vectors", "scale: import the memories with pseudo-random vectors, so that no embedder is waited for"],
  ["--vectors NUMBER", "scale: also measure the vector index alone, with this number of pseudo-random vectors"],
  ["--index scan|hnsw", "scale: search these vectors by the scan (default), or by the scan and then by the graph"],
  ["--vector-texts FILE", "scale: take the vectors of these passages (JSONL, .gz) and copies of them instead"],
  ["--vector-folder FOLDER", "scale: keep that index there; a run that was interrupted goes on when it is repeated"],
  [
    "--questions NUMBER",
    `Maximum number of questions (default: ${QUESTIONS_DEFAULT}; all of a FOLDER or FILE without a language model)`,
  ],
  ["--data PATH", "BEIR folder, or JSONL file (.gz) of passages (default: a generated corpus)"],
  ["--seed NUMBER", "Seed of the generated corpus (default: 1)"],
  ["--mode NAMES", `Modes, separated by commas (default: ${MODE_NAMES.join(",")})`],
  ["--seconds NUMBER", `Duration of one measurement of load (default: ${SECONDS_DEFAULT})`],
  ["--out FOLDER", "Folder for the JSON, Markdown and SVG files (default: the working directory)"],
  ["--compare FILE", "Also print the ratios to an earlier JSON file"],
  ["--json", "Print the result as JSON instead of tables"],
  ...ANSWER_HELP,
  ...TAKEN_SETTINGS.map(
    ({ flag, placeholder }) => [`${flag} ${placeholder}`, "Setting of the server, as for serve"] as const,
  ),
];

/**
 * Runs `mneme bench`, and writes the files of its result; returns the text to print.
 * @throws UsageError for a wrong command line, or data in another format; Error if a language model cannot be used, or
 *   a measurement fails or is interrupted
 */
export async function benchCommand(argv: readonly string[], start: CommandStart): Promise<string> {
  const [name, ...rest] = argv;
  const names = BENCHMARKS.map((known) => known.name);
  const benchmark = BENCHMARKS.find((known) => known.name === name);
  if (benchmark === undefined) {
    const wrong = name === undefined || name.startsWith("-") ? "Missing benchmark." : `Unknown benchmark ${name}.`;
    throw new UsageError(`${wrong}${didYouMean(name ?? "", names)} There are ${names.join(", ")}.`);
  }
  const { flags, positionals } = parseCommandLine(rest, {
    ...{ "--passages": "value", "--questions": "value", "--data": "value", "--seed": "value", "--mode": "value" },
    ...{ "--seconds": "value", "--vectors": "value", "--index": "value", "--drawn-vectors": "switch" },
    ...{ "--vector-texts": "value", "--vector-folder": "value" },
    ...{ "--out": "value", "--compare": "value", "--json": "switch" },
    ...ANSWER_FLAGS,
    ...Object.fromEntries(TAKEN_SETTINGS.map(({ flag }) => [flag ?? "", "value"] as const)),
  });
  const data = dataOf(benchmark, positionals, flags, start.place.workingDirectory);
  // everything that can be wrong is checked before minutes of work
  const compared = earlierResult(flags.get("--compare"), start.place.workingDirectory);
  const modes = modesOf(flags.get("--mode"));
  const seed = wholeNumber(flags, "--seed", 0, SEED_MAX) ?? 1;
  const seconds = wholeNumber(flags, "--seconds", 1, SECONDS_MAX) ?? SECONDS_DEFAULT;
  const out = resolve(start.place.workingDirectory, flags.get("--out") ?? ".");
  mkdirSync(out, { recursive: true });
  const taken = takenSettings(flags, start.environment);
  const asked = answersOf(benchmark, flags, start);
  const size = sizeOf(benchmark, flags, seed, asked, start.place.workingDirectory);
  // settings of another server must not apply, and the folder of this program has no mneme.toml
  const config = parseConfig([], taken, { ...start.place, workingDirectory: import.meta.dir });
  const prepared = await benchmark.prepare(data, size, { asked, modes, config });
  const { workload, measure } = prepared;
  if (prepared.announcement !== undefined) process.stderr.write(`${prepared.announcement}\n`);
  const display = new Display();
  const result = await runBenchmark(
    { name: benchmark.name, fills: benchmark.fills, measure },
    {
      place: start.place,
      configFor: (dataDir, place) => parseConfig([], { ...taken, MNEME_DATA_DIR: dataDir }, place),
      command: [...programCommand(), "bench", "server"],
      environment: {
        ...takenVariables(start.environment),
        ...taken,
        ...{ MNEME_HOST: "127.0.0.1", MNEME_PORT: "0", MNEME_RATE_LIMITS: "off", MNEME_LOG_LEVEL: "warn" },
        MNEME_QUERY_CACHE: "off",
      },
      workload,
      modes,
      seed,
      seconds,
      options: {
        // scale has no list of passages
        passages: workload.passages.length === 0 ? size.passagesMax : workload.passages.length,
        questions: workload.questions.length,
        ...(size.vectors === null ? {} : { vectors: size.vectors }),
        ...(size.index === undefined ? {} : { index: size.index }),
        ...(size.vectorTexts === undefined ? {} : { vector_texts: basename(size.vectorTexts) }),
        ...(size.areVectorsDrawn === true ? { drawn_vectors: "yes" } : {}),
        ...{ seed, seconds, modes: modes.join(","), ...prepared.options },
      },
      progress: (label, share, note) => display.show(label, share, note),
      interrupted: interruption(),
    },
  );
  display.end();
  const files = writeFiles(out, result);
  if (flags.has("--json")) return JSON.stringify(result, null, 2);
  return [...screenOf(result), ...comparedLines(compared, result), "", `Written: ${files.join(", ")}`].join("\n");
}

/** Signals within this time (in milliseconds) after the first one are the same: npx repeats them. */
const SAME_SIGNAL_MS = 1_000;

// Resolves at the first SIGINT or SIGTERM, so that the server stops and the data directory is removed. A clearly later
// signal ends the process at once.
function interruption(): Promise<Error> {
  return new Promise((resolve) => {
    let firstAtMs: number | null = null;
    const onSignal = () => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > SAME_SIGNAL_MS) process.exit(130);
      resolve(new Error("Interrupted; nothing was written."));
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  });
}

/** Shows the progress of the step that runs. */
class Display {
  #label = "";
  #progress: Progress | null = null;

  show(label: string, share: number, note: string): void {
    if (label !== this.#label) {
      this.end();
      this.#label = label;
      this.#progress = new Progress(`${label}:`);
    }
    if (share < 1) this.#progress?.show(share, note);
    else this.#progress?.finish(`${label}: ${note}`);
  }

  end(): void {
    this.#progress?.clear();
    this.#label = "";
  }
}

function screenOf(result: Result): readonly string[] {
  const { machine, versions } = originOf(result);
  return [
    `mneme bench ${result.benchmark}, ${Math.round(result.seconds)} s`,
    machine,
    versions,
    ...result.tables.flatMap((table) => ["", ...tableLines(table)]),
    "",
    ...result.notes,
  ];
}

function tableLines(table: Table): readonly string[] {
  const shown = withoutEmptyColumns(table);
  return [`${table.title}:`, ...alignRows([headerOf(shown), ...cellsOf(shown)], true)];
}

function comparedLines(earlier: Result | null, result: Result): readonly string[] {
  if (earlier === null) return [];
  const { warnings, tables } = compareResults(earlier, result);
  const header = `Compared with the run of ${earlier.started_at} (${originOf(earlier).versions}):`;
  return [
    "",
    header,
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...tables.flatMap((table) => ["", ...tableLines(table)]),
  ];
}

function writeFiles(folder: string, result: Result): readonly string[] {
  const stem = `mneme-bench-${result.benchmark}-${result.started_at.slice(0, 19).replace(/[:-]/g, "").replace("T", "-")}`;
  const { machine, versions } = originOf(result);
  const contents = {
    json: `${JSON.stringify(result, null, 2)}\n`,
    md: markdownOf(result, `${stem}.svg`),
    svg: chartSvg(result.chart, [machine, versions]),
  };
  return Object.entries(contents).map(([extension, content]) => {
    const path = join(folder, `${stem}.${extension}`);
    writeFileSync(path, content);
    return path;
  });
}

function earlierResult(file: string | undefined, folder: string): Result | null {
  if (file === undefined) return null;
  const path = resolve(folder, file);
  if (!existsSync(path)) throw new UsageError(`${path} does not exist.`);
  return parseResult(readFileSync(path, "utf8"), path);
}

function preparing(measure: Benchmark["measure"]): BenchmarkCommand["prepare"] {
  return async (path, size) => {
    return { workload: path === null ? generatedWorkload(size) : await workloadFrom(path, size), measure };
  };
}

async function prepareConversations(
  path: string | null,
  { questionsMax, seed }: WorkloadSize,
  { asked, modes, config }: Answering,
): Promise<Prepared> {
  const conversations = readConversations(path ?? "");
  const candidates = asked.kind === "none" ? withEvidence(conversations.questions) : conversations.questions;
  const questions = sampleEvenly(candidates, questionsMax, seed);
  const models = asked.kind === "models" ? connectModels(asked, config) : null;
  const benchmark = { conversations, questions, answers: asked.kind === "none" ? "none" : models } as const;
  const workload = conversationWorkload(benchmark);
  const prepared = { workload, measure: (run) => benchConversations(run, benchmark) } satisfies Prepared;
  if (models === null) return prepared;
  const { answers, verdicts, questions: count } = callsOf(questions, modes.length);
  const { llm, judge } = models;
  await checkModels(models);
  return {
    ...prepared,
    announcement: `${count} questions in ${modes.length} modes and without memory: at most ${answers} calls to ${llm.model}, and ${verdicts} to the judge ${judge.model}. Interrupt now if that is too much.`,
    options: { llm: llm.model, judge: judge.model },
  };
}

function answersOf({ name, answers }: BenchmarkCommand, flags: ReadonlyMap<string, string>, start: CommandStart) {
  const [given] = Object.keys(ANSWER_FLAGS).filter((flag) => flags.has(flag));
  if (given !== undefined && answers !== true)
    throw new UsageError(`bench ${name} has no ${given}; memory-benchmarks has.`);
  return answerFlags(flags, start);
}

/**
 * Path of the file or folder with the data; null for a generated corpus.
 * @throws UsageError if the benchmark needs a path and there is none, or has no use for one that is given
 */
function dataOf(
  { name, data, input }: BenchmarkCommand,
  [given, surplus]: readonly string[],
  flags: ReadonlyMap<string, string>,
  folder: string,
): string | null {
  const unexpected = data === "input" ? surplus : given;
  if (unexpected !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(unexpected)}.`);
  const named = flags.get("--data");
  if (named !== undefined && data === "generated") {
    throw new UsageError(`bench ${name} needs a generated corpus; it has no --data.`);
  }
  if (named !== undefined && data === "input") {
    throw new UsageError(`bench ${name} takes its data as ${input}, not from --data.`);
  }
  if (data === "input" && given === undefined) {
    throw new UsageError(`Missing ${input}. Usage: mneme bench ${name} ${input}`);
  }
  const path = given ?? named;
  return path === undefined ? null : resolve(folder, path);
}

function sizeOf(
  { name, data, passagesDefault }: BenchmarkCommand,
  flags: ReadonlyMap<string, string>,
  seed: number,
  asked: AnswerFlags,
  folder: string,
): WorkloadSize {
  for (const flag of ["--vectors", "--drawn-vectors", ...VECTOR_FLAGS]) {
    if (flags.has(flag) && name !== "scale") throw new UsageError(`bench ${name} has no ${flag}; scale has.`);
  }
  for (const flag of VECTOR_FLAGS) {
    if (flags.has(flag) && !flags.has("--vectors")) {
      throw new UsageError(`${flag} is for the vectors of --vectors, which is missing.`);
    }
  }
  // calls to a language model cost money, so nobody makes thousands of them by default
  const questionsDefault = data === "input" && asked.kind !== "models" ? QUESTIONS_MAX : QUESTIONS_DEFAULT;
  return {
    passagesMax: wholeNumber(flags, "--passages", 1, PASSAGES_MAX) ?? passagesDefault ?? null,
    questionsMax: wholeNumber(flags, "--questions", 1, QUESTIONS_MAX) ?? questionsDefault,
    seed,
    vectors: wholeNumber(flags, "--vectors", 1, VECTORS_MAX),
    ...indexOf(flags),
    ...pathsOf(flags, folder),
    areVectorsDrawn: flags.has("--drawn-vectors"),
  };
}

function indexOf(flags: ReadonlyMap<string, string>): Pick<WorkloadSize, "index"> {
  const named = flags.get("--index");
  if (named === undefined) return {};
  const index = BENCH_INDEXES.find((each) => each === named);
  if (index === undefined) {
    throw new UsageError(`--index must be ${BENCH_INDEXES.join(" or ")}, not ${JSON.stringify(named)}.`);
  }
  return { index };
}

function pathsOf(
  flags: ReadonlyMap<string, string>,
  folder: string,
): Pick<WorkloadSize, "vectorTexts" | "vectorFolder"> {
  const path = (flag: string) => {
    const named = flags.get(flag);
    return named === undefined ? undefined : resolve(folder, named);
  };
  const [vectorTexts, vectorFolder] = [path("--vector-texts"), path("--vector-folder")];
  if (vectorTexts !== undefined && !existsSync(vectorTexts)) throw new UsageError(`${vectorTexts} does not exist.`);
  return {
    ...(vectorTexts === undefined ? {} : { vectorTexts }),
    ...(vectorFolder === undefined ? {} : { vectorFolder }),
  };
}

function wholeNumber(flags: ReadonlyMap<string, string>, flag: string, least: number, most: number): number | null {
  const text = flags.get(flag);
  if (text === undefined) return null;
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`${flag} must be an integer from ${least} to ${most}, not ${JSON.stringify(text)}.`);
}

// A server of a benchmark must never reach the data of another one, so only `TAKEN_SETTINGS` are taken over.
function takenSettings(
  flags: ReadonlyMap<string, string>,
  environment: CommandStart["environment"],
): Readonly<Record<string, string>> {
  const taken = TAKEN_SETTINGS.flatMap(({ flag, environment: name }) => {
    const value = flags.get(flag ?? "") ?? environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(taken);
}

function takenVariables(environment: CommandStart["environment"]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    TAKEN_VARIABLES.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
