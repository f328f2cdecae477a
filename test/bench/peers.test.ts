// The comparison with other engines, without the engines: its figures, its steps and what it says if something is
// missing. bench/peers/run.ts runs the engines.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thisMachine } from "../../bench/lib/machine.ts";
import { prepareCollection } from "../../bench/peers/collection.ts";
import { ENGINES, enginesNamed } from "../../bench/peers/engines.ts";
import { pythonProgram } from "../../bench/peers/environment.ts";
import { type Asked, type Build, comparisonChart, markdownOf, rowsOf } from "../../bench/peers/report.ts";
import { adapterSources, inputsHash, runStep, type Step, StepResults } from "../../bench/peers/steps.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { until } from "../support/until.ts";

const PEERS = join(import.meta.dir, "../../bench/peers");
const PYTHON = join(PEERS, "python");
const MIB = 2 ** 20;

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "mneme-peers-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function engineOf(module: string) {
  const engine = ENGINES.find((each) => each.module === module);
  if (engine === undefined) throw new Error(`no engine ${module}`);
  return engine;
}

const BUILD: Build = {
  version: "1.2",
  setting: "As it comes.",
  modes: ["hybrid"],
  uses_vectors: true,
  seconds: 3,
  disk_bytes: 5 * MIB,
};

function round(found: readonly (readonly string[])[], ms: number): Asked {
  return {
    open_seconds: 0.1,
    found,
    times_ms: [ms, ms, 10 * ms],
    clients: 8,
    concurrent_seconds: 2,
    concurrent_times_ms: [ms, 2 * ms, 3 * ms, 4 * ms],
    memory_bytes: ms * MIB,
  };
}

const QUESTIONS = [
  { judgements: new Map([["a", 1]]) },
  {
    judgements: new Map([
      ["b", 1],
      ["c", 1],
    ]),
  },
];

describe("figures", () => {
  const rounds = [
    round(
      [
        ["x", "a"],
        ["b", "c"],
      ],
      5,
    ),
    round(
      [
        ["x", "a"],
        ["b", "c"],
      ],
      1,
    ),
    round([["a"], []], 2),
  ];
  const measured = { engine: engineOf("chroma"), build: BUILD, asked: new Map([["hybrid", rounds]]) };

  test("are medians of the rounds for speed and means for quality", () => {
    const [row] = rowsOf(measured, QUESTIONS, true, 60);
    const second = 1 / Math.log2(3); // the gain of rank 2
    expect(row).toEqual({
      ...{ engine: "Chroma", kind: "peer", version: "1.2", mode: "hybrid", rounds: 3 },
      ndcg_10: Number((((second + 1) / 2) * (2 / 3) + (1 / 2) * (1 / 3)).toFixed(4)),
      recall_5: Number((2 / 3 + 0.5 / 3).toFixed(4)),
      ...{ p50_ms: 2, p95_ms: 20, per_second: 2, concurrent_p50_ms: 4, concurrent_p95_ms: 8 },
      ...{ memory_mib: 2, disk_mib: 5, index_s: 3, build_s: 63 },
    });
  });

  test("of two rounds are between them", () => {
    const asked = new Map([["hybrid", rounds.slice(0, 2)]]);
    expect(rowsOf({ ...measured, asked }, QUESTIONS, true, 60)[0]).toMatchObject({ p50_ms: 3, p95_ms: 30 });
  });

  test("count the embedding of the passages only for engines that use the vectors", () => {
    const own = { ...measured, build: { ...BUILD, uses_vectors: false } };
    expect(rowsOf(own, QUESTIONS, true, 60)[0]?.build_s).toBe(3);
  });

  test("have no quality without judgements, and no row for a mode that was not measured", () => {
    expect(rowsOf(measured, QUESTIONS, false, 60)[0]?.ndcg_10).toBeNull();
    expect(rowsOf({ ...measured, asked: new Map([["hybrid", []]]) }, QUESTIONS, true, 60)).toEqual([]);
  });

  test("give a question whose answers are missing no credit", () => {
    const asked = new Map([["hybrid", [round([["a"]], 1)]]]);
    expect(rowsOf({ ...measured, asked }, QUESTIONS, true, 60)[0]?.ndcg_10).toBe(0.5);
  });

  test("stand in the page with settings and failures, and the chart shows every row", () => {
    const mneme = { engine: engineOf("mneme"), build: BUILD, asked: new Map([["fast", rounds]]) };
    const comparison = {
      ...{
        collection: "small <set>",
        passages: 1_200,
        questions: 2,
        isJudged: true,
        clients: 8,
        seconds: 5,
        rounds: 3,
      },
      ...{ date: "2026-11-24T00:00:00Z", machine: thisMachine(), embedding_seconds: 60 },
      versions: { mneme: "0.1.0", commit: null, bun: "1.0" },
      rows: [measured, mneme].flatMap((each) => rowsOf(each, QUESTIONS, true, 60)),
      settings: { "Chroma 1.2": "As it comes." },
      failures: { mem0: "build-mem0: no space left" },
    };
    const page = markdownOf(comparison, "chart.svg");
    expect(page).toContain("| Chroma | hybrid | .710 | .833 | 2.00 | 20.0 | 2.00 | 8.00 | 2 | 5.00 | 63.0 |");
    expect(page).toContain("- **Chroma 1.2**: As it comes.");
    expect(page).toContain("- mem0: build-mem0: no space left");
    expect(page.indexOf("| Mneme |")).toBeLessThan(page.indexOf("| Chroma |"));
    const chart = comparisonChart(comparison);
    expect(chart).toContain("Mneme: fast");
    expect(chart).toContain("Chroma: hybrid");
    expect(chart).toContain("small &#60;set&#62;");
    expect(chart).not.toMatch(/NaN|undefined|Infinity/);
    expect(comparisonChart({ ...comparison, isJudged: false })).not.toContain("nDCG");
  });
});

describe("steps", () => {
  const stepOf = (script: string, inputs = "1"): Step => ({
    ...{ name: `step ${inputsHash([script])}`, command: ["bash", "-c", script], environment: {}, inputs },
  });
  const silent = () => undefined;

  test("keep their result, for the same inputs only", async () => {
    const results = new StepResults(join(root, "kept"));
    const step = stepOf(`echo '{"passages": 3}' > "$PEERS_RESULT"`);
    expect(results.read(step)).toBeNull();
    expect(await runStep(step, 60_000, results, silent)).toEqual({ isDone: true, result: { passages: 3 } });
    expect(results.read(step)).toEqual({ passages: 3 });
    expect(results.read({ ...step, inputs: "2" })).toBeNull();
    results.remove(step.name);
    expect(results.read(step)).toBeNull();
  });

  test("that fail say why, and leave no result", async () => {
    const results = new StepResults(join(root, "failed"));
    const fails = stepOf("echo 'Traceback' >&2; echo 'no such module' >&2; exit 3");
    expect(await runStep(fails, 60_000, results, silent)).toEqual({ isDone: false, why: "Traceback | no such module" });
    expect(await runStep(stepOf("exit 4"), 60_000, results, silent)).toEqual({
      ...{ isDone: false, why: "ended with status 4" },
    });
    expect(await runStep(stepOf("true"), 60_000, results, silent)).toEqual({
      ...{ isDone: false, why: "ended with status 0" },
    });
    const noObject = await runStep(stepOf('echo 5 > "$PEERS_RESULT"'), 60_000, results, silent);
    expect(noObject).toEqual({ isDone: false, why: "wrote no JSON object" });
    expect(results.read(fails)).toBeNull();
  });

  test("that take too long are ended with everything that they started", async () => {
    const results = new StepResults(join(root, "late"));
    const pidFile = join(root, "late.pid");
    // setsid: a process group of its own, as step.py makes it
    const script = `sleep 600 & echo $! > ${pidFile}; wait`;
    const step = { ...stepOf(script), command: ["setsid", "bash", "-c", script] };
    expect(await runStep(step, 5_000, results, silent)).toEqual({ isDone: false, why: "took longer than 5 s" });
    const pid = Number(readFileSync(pidFile, "utf8"));
    await until("the step's child is gone", () => !existsSync(`/proc/${pid}`) || isZombie(pid));
  });

  test("are repeated if the module of their engine changes, or one that it extends", () => {
    const sources = adapterSources(PYTHON, "lancedb_indexed");
    for (const name of ["engine.py", "step.py", "engines/lancedb_scan.py", "engines/lancedb_indexed.py"]) {
      expect(sources).toContain(readFileSync(join(PYTHON, name), "utf8"));
    }
  });
});

function isZombie(pid: number): boolean {
  return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

describe("engines", () => {
  test("have a module each, whose docstring says how they are set", () => {
    const modules = readdirSync(join(PYTHON, "engines")).filter((file) => /^[a-z].*\.py$/.test(file));
    expect(modules.toSorted()).toEqual(ENGINES.map(({ module }) => `${module}.py`).toSorted());
    for (const file of modules) expect(readFileSync(join(PYTHON, "engines", file), "utf8")).toMatch(/^"""\S/);
  });

  test("are installed in pinned versions whose licence is stated", () => {
    for (const name of ["requirements.txt", "requirements-txtai.txt"]) {
      const packages = readFileSync(join(PYTHON, name), "utf8")
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
      for (const line of packages) expect(line).toMatch(/^[\w.-]+(\[\w+\])?==[\d.]+ +# \S/);
    }
  });

  test("are chosen by name; an unknown name is refused", () => {
    expect(enginesNamed("bm25s_words,mneme").map(({ module }) => module)).toEqual(["mneme", "bm25s_words"]);
    expect(enginesNamed(undefined)).toEqual(ENGINES);
    expect(() => enginesNamed("mneme,nothing")).toThrow("Unknown engine nothing");
  });

  test("need Python, and the message says which", () => {
    expect(() => pythonProgram(() => null)).toThrow(UsageError);
    expect(() => pythonProgram(() => null)).toThrow("install Python 3.11");
    // a program that is no Python, or too old
    expect(() => pythonProgram(() => "/bin/false")).toThrow("Python is missing");
  });
});

describe("collections", () => {
  const write = (name: string, files: Readonly<Record<string, readonly string[]>>) => {
    const folder = join(root, name);
    mkdirSync(join(folder, "qrels"), { recursive: true });
    for (const [file, lines] of Object.entries(files)) writeFileSync(join(folder, file), `${lines.join("\n")}\n`);
    return folder;
  };
  const corpus = [
    JSON.stringify({ _id: "a", title: "Ferry", text: "The ferry leaves at nine." }),
    JSON.stringify({ _id: "empty", title: "", text: "" }),
    JSON.stringify({ _id: "b", text: "The bakery opens at six." }),
  ];
  const queries = [JSON.stringify({ _id: "1", text: "When?" }), JSON.stringify({ _id: "2", text: "Where?" })];
  const qrels = ["query-id\tcorpus-id\tscore", "1\ta\t1"];

  test("become files for the steps; only judged questions are asked", async () => {
    const from = write("judged", { "corpus.jsonl": corpus, "queries.jsonl": queries, "qrels/test.tsv": qrels });
    const work = join(root, "work");
    const { passages, questions, isJudged } = await prepareCollection(from, work, Infinity, Infinity);
    expect([passages, questions.map(({ id }) => id), isJudged]).toEqual([2, ["1"], true]);
    expect(readFileSync(join(work, "passages.jsonl"), "utf8").split("\n").slice(0, 2)).toEqual([
      '{"_id":"a","title":"Ferry","text":"The ferry leaves at nine."}',
      '{"_id":"b","title":"","text":"The bakery opens at six."}',
    ]);
    expect(readFileSync(join(work, "questions.jsonl"), "utf8")).toBe('{"id":"1","text":"When?"}\n');
  });

  test("without judgements are asked all questions", async () => {
    const from = write("unjudged", { "corpus.jsonl": corpus, "queries.jsonl": queries });
    const { questions, isJudged } = await prepareCollection(from, join(root, "work-u"), Infinity, Infinity);
    expect([questions.length, isJudged]).toEqual([2, false]);
  });

  test("that change lose the vectors of their old passages", async () => {
    const from = write("changing", { "corpus.jsonl": corpus, "queries.jsonl": queries });
    const work = join(root, "work-c");
    const first = await prepareCollection(from, work, Infinity, Infinity);
    writeFileSync(join(work, "vectors.npy"), "vectors");
    await prepareCollection(from, work, Infinity, Infinity);
    expect(existsSync(join(work, "vectors.npy"))).toBe(true);
    const second = await prepareCollection(from, work, 1, Infinity);
    expect(existsSync(join(work, "vectors.npy"))).toBe(false);
    expect(second.passagesHash).not.toBe(first.passagesHash);
    expect(second.questionsHash).toBe(first.questionsHash);
  });

  test("are refused if a file is missing, nothing is in them, or questions belong to users", async () => {
    const prepare = (from: string) => prepareCollection(from, join(root, "work-r"), Infinity, Infinity);
    await expect(prepare(join(root, "nowhere"))).rejects.toThrow("does not exist; --from takes a folder");
    const empty = write("empty", { "corpus.jsonl": corpus.slice(1, 2), "queries.jsonl": queries });
    await expect(prepare(empty)).rejects.toThrow("has no passages");
    const nobody = write("no-questions", {
      ...{ "corpus.jsonl": corpus, "queries.jsonl": queries, "qrels/test.tsv": ["query-id\tcorpus-id\tscore"] },
    });
    await expect(prepare(nobody)).rejects.toThrow("has no questions");
    const owned = JSON.stringify({ _id: "1", text: "When?", metadata: { userId: "u" } });
    const users = write("users", { "corpus.jsonl": corpus, "queries.jsonl": [owned] });
    await expect(prepare(users)).rejects.toThrow("belong to users");
  });
});

test("the command says what is missing", () => {
  const run = (...args: string[]) =>
    Bun.spawnSync([process.execPath, join(PEERS, "run.ts"), ...args], { stderr: "pipe", stdout: "pipe" });
  const without = run();
  expect([without.exitCode, without.stderr.toString()]).toEqual([
    2,
    "Missing --from FOLDER: a collection in BEIR layout. See --help.\n",
  ]);
  expect(run("--from", join(root, "nowhere"), "--work", join(root, "w")).stderr.toString()).toContain("does not exist");
  expect(run("--from", root, "--rounds", "0").stderr.toString()).toBe("--rounds must be a number above 0.\n");
  expect(run("--from", root, "--engines", "oracle").stderr.toString()).toContain("Unknown engine oracle");
});
