// `mneme bench` as a user runs it: wrong command lines, and a small run of each benchmark whose figures must be real.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseResult, type Result } from "../../bench/command/result.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { runMneme, spawnMneme, startMneme } from "../support/command.ts";
import { testOfAll } from "../support/extent.ts";
import { type LlmCall, startLlm, streamed } from "../support/llm.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { svgProblems } from "../support/well-formed.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-bench-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The result of a benchmark, what it printed, and the files that it wrote. */
interface BenchRun {
  readonly result: Result;
  readonly screen: string;
  readonly errors: string;
  readonly files: string[];
}

/** Runs a benchmark in a folder of its own. */
function bench(name: string, ...flags: readonly string[]): Promise<BenchRun> {
  return benchWith({}, name, ...flags);
}

async function benchWith(
  environment: Readonly<Record<string, string>>,
  name: string,
  ...flags: readonly string[]
): Promise<BenchRun> {
  const out = mkdtempSync(join(folder, `${name}-`));
  const argv = ["bench", name, "--out", out, ...flags];
  const temporary = mkdtempSync(join(folder, "tmp-"));
  const { exitCode, stdout, stderr } = await startMneme(argv, folder, {
    TMPDIR: temporary,
    MNEME_LANES: "1",
    MNEME_EMBEDDER: ENGLISH,
    ...environment,
  });
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(readdirSync(temporary)).toEqual([]); // the data directory is gone
  const files = readdirSync(out).sort();
  const [json, markdown, svg] = files.map((file) => readFileSync(join(out, file), "utf8"));
  expect(files.map((file) => file.split(".").at(-1))).toEqual(["json", "md", "svg"]);
  const result = parseResult(json ?? "", name);
  expect(svgProblems(svg ?? "")).toEqual([]);
  for (const { title } of result.tables) expect(markdown).toContain(`## ${title}\n`);
  for (const { title } of result.tables) expect(stdout).toContain(`${title}:\n`);
  expect(result.benchmark).toBe(name);
  expect(result.machine.cores).toBeGreaterThan(0);
  expect(result.models.fingerprint).not.toBe("");
  return { result, screen: stdout, errors: stderr, files: files.map((file) => join(out, file)) };
}

function rows(result: Result, table: string): Result["tables"][number]["rows"] {
  return result.tables.find(({ name }) => name === table)?.rows ?? [];
}

describe("a wrong command line is refused before anything is measured", () => {
  const cases: readonly (readonly [argv: readonly string[], message: string])[] = [
    [[], "Missing benchmark. There are modes"],
    [["mods"], "Unknown benchmark mods. Did you mean modes? There are modes"],
    [["modes", "--pasages", "1"], "Unknown flag --pasages. Did you mean --passages?"],
    [["modes", "--passages", "0"], '--passages must be an integer from 1 to 10000000, not "0".'],
    [["modes", "--questions", "many"], '--questions must be an integer from 1 to 100000, not "many".'],
    [["modes", "--mode", "slow"], "There is no mode slow; there are fast, hybrid, balanced, precise."],
    [["modes", "--data", "none"], "/none does not exist."],
    [["modes", "--compare", "none.json"], "/none.json does not exist."],
    [["modes", "--compare", "bad.json"], "/bad.json is not a result of mneme bench."],
    [["modes", "extra"], 'Unexpected argument "extra".'],
    [["quality"], "Missing FOLDER. Usage: mneme bench quality FOLDER"],
    [["quality", "a", "b"], 'Unexpected argument "b".'],
    [["quality", "a", "--data", "b"], "bench quality takes its data as FOLDER, not from --data."],
    [["quality", "none"], "/none does not exist."],
    [["filtered", "--data", "a"], "bench filtered needs a generated corpus; it has no --data."],
    [["modes", "--vectors", "5"], "bench modes has no --vectors; scale has."],
    [["modes", "--drawn-vectors"], "bench modes has no --drawn-vectors; scale has."],
    [["modes", "--index", "hnsw"], "bench modes has no --index; scale has."],
    [["scale", "--index", "hnsw"], "--index is for the vectors of --vectors, which is missing."],
    [["modes", "--vector-folder", "x"], "bench modes has no --vector-folder; scale has."],
    [["scale", "--vector-texts", "x"], "--vector-texts is for the vectors of --vectors, which is missing."],
    [["scale", "--vectors", "5", "--vector-texts", "/none/x"], "/none/x does not exist."],
    [["scale", "--vectors", "5", "--index", "ivf"], '--index must be scan or hnsw, not "ivf".'],
    [["scale", "--vectors", "0"], '--vectors must be an integer from 1 to 20000000, not "0".'],
    [["memory-benchmarks"], "Missing FILE.json. Usage: mneme bench memory-benchmarks FILE.json"],
    [["memory-benchmarks", "bad.json"], "/bad.json is neither LoCoMo (conversation, qa) nor LongMemEval"],
    [["memory-benchmarks", "."], " has no chats of BEAM"],
    [["modes", "--answers"], "bench modes has no --answers; memory-benchmarks has."],
    [["memory-benchmarks", "a", "--llm-model", "m"], "--llm-base-url and --llm-model need each other."],
    [["memory-benchmarks", "a", "--judge-model", "m"], "A judge needs --llm-base-url and --llm-model."],
    [
      ["memory-benchmarks", "a", "--llm-base-url", "ftp://x", "--llm-model", "m"],
      '--llm-base-url must be an http or https address, not "ftp://x".',
    ],
    [["load", "--seconds", "0"], '--seconds must be an integer from 1 to 600, not "0".'],
    [["modes", "--lanes", "0"], 'MNEME_LANES must be an integer from 1 to 64, not "0".'],
  ];
  writeFileSync(join(folder, "bad.json"), "{}");
  for (const [argv, message] of cases) {
    test(argv.join(" ") || "no benchmark", () => {
      const { exitCode, stdout, stderr } = runMneme(["bench", ...argv], folder);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
      expect(stderr).toContain(message);
      expect(stderr.trim().split("\n").at(-1)).toStartWith("mneme: ");
    });
  }
});

const SMALL = ["--passages", "30", "--questions", "3"];

testOfAll("modes measures each named mode, idle and under ingestion, beside the models alone", async () => {
  const modes = ["fast", "precise"];
  const { result, files } = await bench("modes", ...SMALL, "--mode", modes.join(","));
  const latency = rows(result, "latency");
  expect(latency.map(({ mode, load }) => `${mode} ${load}`).sort()).toEqual(
    modes.flatMap((mode) => [`${mode} idle`, `${mode} ingest`]).sort(),
  );
  for (const row of latency) {
    expect(row).toMatchObject({ questions: 3, failed: 0, found: 1 });
    const [p50, p95, p99, limit] = [row.p50, row.p95, row.p99, row.limit_p50].map(Number);
    expect([Number(p50) > 0, Number(p50) <= Number(p95), Number(p95) <= Number(p99), Number(limit) > 0]).toEqual([
      ...[true, true, true, true],
    ]);
    expect(Number(row.ingest_rate) > 0).toBe(row.load === "ingest");
  }
  const stages = rows(result, "stages");
  const stagesOf = (mode: string) => new Set(stages.filter((row) => row.mode === mode).map(({ stage }) => stage));
  expect(stagesOf("fast").has("rerank")).toBeFalse();
  expect(stagesOf("precise").has("rerank")).toBeTrue();
  for (const mode of modes) for (const stage of ["embed", "vector", "rest"]) expect(stagesOf(mode)).toContain(stage);

  const other = { ...result, machine: { ...result.machine, cpu: "Another" } };
  const [json = ""] = files;
  writeFileSync(json, JSON.stringify(other));
  const { screen } = await bench("modes", "--passages", "20", "--questions", "2", "--mode", "fast", "--compare", json);
  expect(screen).toContain(
    "Warning: The machines differ, so ratios tell little about the program. CPU: Another then, ",
  );
  expect(screen).toContain("Warning: The options differ. passages: 30 then, 20 now");
  expect(screen).toContain("Latency of a search, now / then:\n");
});

testOfAll("load measures closed and open loops beside the models alone", async () => {
  const { result } = await bench("load", ...SMALL, "--mode", "fast", "--seconds", "1");
  const [capacity] = rows(result, "capacity");
  expect(capacity?.mode).toBe("fast");
  expect(Number(capacity?.capacity)).toBeGreaterThan(1);
  expect(Number(capacity?.limit)).toBeGreaterThan(1);
  const [closed, open] = [rows(result, "closed"), rows(result, "open")];
  expect(closed.map(({ clients }) => clients)).toEqual([1, 4, 16, 64]);
  expect(open.map(({ load }) => load)).toEqual([25, 50, 75, 90, 100, 110, 200]);
  for (const row of [...closed, ...open]) {
    expect(Number(row.answers)).toBeGreaterThan(0);
    expect(Number(row.p50)).toBeGreaterThan(0);
  }
  // arrivals are scheduled, so their number does not depend on the answers
  for (const { offered, answers, failed } of open) {
    expect(Math.abs(Number(answers) + Number(failed) - Math.floor(Number(offered)))).toBeLessThanOrEqual(1);
  }
});

testOfAll("ingest measures chunks per second beside the bare embedder, and single memories", async () => {
  const { result } = await bench("ingest", "--passages", "45", "--questions", "1");
  const throughput = rows(result, "throughput");
  expect(throughput.map(({ round }) => round)).toEqual([1, 2, 3]);
  for (const { chunks, stored, limit } of throughput) {
    expect(Number(chunks)).toBeGreaterThanOrEqual(15);
    expect([Number(stored) > 0, Number(limit) > 0]).toEqual([true, true]);
  }
  const single = rows(result, "searchable");
  expect(single.map(({ load }) => load)).toEqual(["idle", "under ingestion"]);
  for (const { p50, p95 } of single) expect(Number(p95)).toBeGreaterThanOrEqual(Number(p50));
});

test("quality measures rankings on the judged questions of a folder", async () => {
  const beir = join(folder, "kitchen");
  mkdirSync(join(beir, "qrels"), { recursive: true });
  const texts = [
    "The kettle boils at a hundred degrees.",
    "Bees sleep in winter.",
    "The train to Riga leaves at noon.",
  ];
  const lines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
  writeFileSync(join(beir, "corpus.jsonl"), lines(texts.map((text, at) => ({ _id: `d${at}`, text }))));
  const questions = ["When does the kettle boil?", "What do bees do in winter?", "When does the train leave?"];
  writeFileSync(join(beir, "queries.jsonl"), lines(questions.map((text, at) => ({ _id: `q${at}`, text }))));
  // the answer to the third question is judged to be a passage about something else
  writeFileSync(join(beir, "qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq0\td0\t1\nq1\td1\t1\nq2\td0\t1\n");
  const { result } = await bench("quality", beir);
  const quality = rows(result, "quality");
  expect(quality.map(({ mode }) => mode)).toEqual([...MODE_NAMES]);
  for (const { questions: asked, ndcg, mrr } of quality) {
    expect(asked).toBe(3);
    // two of three answers are first, and the third is second or third
    expect(Number(ndcg)).toBeGreaterThan(2 / 3);
    expect(Number(ndcg)).toBeLessThan(0.9);
    expect(Number(mrr)).toBeLessThan(0.9);
  }
});

testOfAll("filtered measures latency and recall within filters", async () => {
  const { result } = await bench("filtered", "--passages", "120", "--questions", "4", "--mode", "fast,hybrid");
  const found = rows(result, "filtered");
  expect(found.map(({ mode, share, memories }) => [mode, share, memories])).toEqual(
    ["fast", "hybrid"].flatMap((mode) => [
      [mode, 1, 120],
      [mode, 0.1, 100],
      [mode, 0.01, 10],
      [mode, 0.001, 1],
    ]),
  );
  for (const { outside, p50 } of found) {
    expect(outside).toBe(0);
    expect(Number(p50)).toBeGreaterThan(0);
  }
  for (const { mode, recall } of found) {
    if (mode === "fast") expect(Number(recall)).toBeGreaterThan(0.95);
    else expect(recall).toBeNull();
  }
});

testOfAll(
  "scale measures size, start and latency at two sizes, and the index alone with pseudo-random vectors",
  async () => {
    const flags = ["--passages", "60", "--questions", "3", "--mode", "fast", "--vectors", "3000", "--index", "hnsw"];
    const { result, screen } = await bench("scale", ...flags);
    const sizes = rows(result, "size");
    expect(sizes.map(({ memories }) => memories)).toEqual([6, 60]);
    for (const row of sizes) {
      for (const key of ["ingest_rate", "start_s", "disk", "data"]) expect(Number(row[key])).toBeGreaterThan(0);
      if (process.platform === "linux") expect(Number(row.memory)).toBeGreaterThan(50);
    }
    // a byte for each of 384 components, and at least 100 bytes of text
    expect(Number(sizes[1]?.data)).toBeGreaterThan((60 * 484) / 2 ** 20);
    expect(rows(result, "latency").map(({ memories, mode }) => [memories, mode])).toEqual([
      [6, "fast"],
      [60, "fast"],
    ]);
    expect(result.options.vectors).toBe(3_000);
    expect(screen).toContain("No model computed its vectors");
    const [vectors] = rows(result, "vectors");
    expect(vectors?.chunks).toBe(3_000);
    // 384 components of 2 bytes, and a head
    expect(Number(vectors?.disk_chunk)).toBeGreaterThan(790);
    const searches = rows(result, "vector_latency");
    const [same, other] = ["same field", "other field"];
    const shares = (index: string) => [same, other].flatMap((of) => [1, 0.1, 0.01].map((share) => [index, of, share]));
    expect(searches.map(({ index, questions, share }) => [index, questions, share])).toEqual([
      ...shares("scan"),
      ...shares("hnsw"),
    ]);
    const [graph] = rows(result, "vector_graph");
    for (const key of ["build_s", "load_s"]) expect(Number(graph?.[key])).toBeGreaterThan(0);
    // Below 1, because rounding the stored vectors to 16 bits changes the order of nearly equal neighbours.
    for (const { recall } of searches) expect(Number(recall)).toBeGreaterThanOrEqual(0.98);
    for (const { p50 } of searches) expect(Number(p50)).toBeGreaterThan(0);
  },
);

/** A conversation in the shape of LoCoMo: six sessions, in each of which Bo says one thing. */
function writeLocomo(): string {
  const days = [
    "The kettle broke.",
    "I adopted a cat named Miso.",
    "We fly to Riga.",
    "My sister paints.",
    "I sold the car.",
    "I learn Greek.",
  ];
  const conversation = Object.fromEntries(
    days.flatMap((text, at) => [
      [`session_${at + 1}_date_time`, `1:56 pm on ${at + 1} May, 2023`],
      [
        `session_${at + 1}`,
        [
          { speaker: "Ada", dia_id: `D${at + 1}:1`, text: "Hello, how are you today?" },
          { speaker: "Bo", dia_id: `D${at + 1}:2`, text },
        ],
      ],
    ]),
  );
  const qa = [
    { question: "What is the name of Bo's cat?", answer: "Miso", evidence: ["D2:2"], category: 4 },
    { question: "Where does Bo fly to?", answer: "Riga", evidence: ["D3:2"], category: 4 },
    { question: "What did Bo never say?", adversarial_answer: "Riga", evidence: ["D3:2"], category: 5 },
    { question: "What has no evidence?", evidence: [], category: 1 },
  ];
  const file = join(folder, "locomo.json");
  writeFileSync(file, JSON.stringify([{ sample_id: "ada", conversation, qa }]));
  return file;
}

test("memory-benchmarks finds the evidence in a conversation by session and turn, and judges extractive answers", async () => {
  const { result, screen } = await bench("memory-benchmarks", writeLocomo(), "--mode", "fast,precise", "--answers");
  const evidence = rows(result, "evidence");
  expect(evidence.map(({ mode, questions }) => [mode, questions])).toEqual([
    ["random order", 2],
    ["fast", 2],
    ["precise", 2],
  ]);
  expect(evidence[0]).toMatchObject({ session_recall_5: 0.8333, turn_recall_5: 0.4167 });
  for (const row of evidence.slice(1)) {
    expect(row).toMatchObject({ session_recall_5: 1, turn_recall_5: 1 });
    expect(Number(row.context_tokens)).toBeGreaterThan(10);
  }
  // six sessions: ten of them are all
  for (const row of evidence) expect([row.session_recall_10, row.session_ndcg]).toEqual([null, null]);
  expect(screen).toContain("Warning: 2 of 2 questions are about users with at most 10 sessions.");
  expect(screen).toContain("Left out of the evidence: 1 questions of the file without an answer.");
  expect(screen).toContain("Left out of the evidence: 1 questions of the file without evidence.");

  const answers = rows(result, "answers");
  expect(answers.map(({ mode }) => mode)).toEqual(["fast", "precise"]);
  for (const row of answers) {
    expect(row).toMatchObject({
      questions: 2,
      accuracy: 1,
      unanswerable: 1,
      tokens: 0,
      judge_failures: 0,
      failed: 0,
    });
  }
  expect(result.prompts).toBeUndefined();
  expect(screen).toContain("The answers are extractive");
  expect(screen).toContain("1 questions were not asked for answers");
});

/**
 * A model that knows the cat without any memory, and a judge that says something else than yes or no about Riga. The
 * first message tells what is asked for: a verdict, or an answer without or with sources.
 */
function answeringLocomo({ body }: LlmCall): Response {
  const [system = "", user = ""] = body.messages.map(({ content }) => content);
  const usage = { prompt: 90, completion: 10 };
  if (system.includes("one condition")) {
    const answer = /<answer>(.*)<\/answer>/.exec(user)?.[1] ?? "";
    const condition = /<condition>(.*)<\/condition>/.exec(user)?.[1] ?? "";
    if (condition.includes("not known")) return streamed([/not/i.test(answer) ? "yes" : "no"], usage);
    if (condition.includes("hall shelf")) return streamed(["Yes."], usage);
    const gold = condition.split(": ")[1] ?? "";
    if (gold === "Riga" && answer.includes(gold)) return streamed(["Maybe."], usage);
    return streamed([answer.includes(gold) ? "yes" : "no"], usage);
  }
  if (system.includes("cannot see")) return streamed([user.includes("cat") ? "Miso" : "I do not know."], usage);
  const asked = /<question>([^<]*)<\/question>/.exec(user)?.[1] ?? "";
  if (asked.includes("cat")) return streamed(["The cat is Miso [1]."], usage);
  return streamed([asked.includes("fly") ? "To Riga [1]." : "That is not in the texts."], usage);
}

test("memory-benchmarks lets a language model answer with and without memory, and another one judge both", async () => {
  const llm = startLlm(answeringLocomo);
  const models = ["--llm-base-url", llm.baseUrl, "--llm-model", "writer-1", "--judge-model", "judge-1"];
  const { result, screen, errors, files } = await benchWith(
    { MNEME_LLM_API_KEY: "secret-of-the-model" },
    ...(["memory-benchmarks", writeLocomo(), "--mode", "fast", ...models] as const),
  );
  await llm.stop();
  // two questions with an answer and one without
  expect(errors).toContain(
    "3 questions in 1 modes and without memory: at most 6 calls to writer-1, and 6 to the judge",
  );
  const [alone, fast] = rows(result, "answers");
  const common = { questions: 2, unanswerable: 1, rightly_refused: 1, failed: 0 };
  expect(alone).toMatchObject({
    mode: "no memory",
    ...common,
    accuracy: 0.5,
    refused: 1,
    judge_failures: 0,
    tokens: 100,
  });
  expect(fast).toMatchObject({ mode: "fast", ...common, accuracy: 0.5, refused: 0, judge_failures: 1 });
  expect(rows(result, "answer_categories").map(({ mode, category }) => `${mode}, ${category}`)).toEqual([
    ...["no memory, single-hop", "no memory, adversarial", "fast, single-hop", "fast, adversarial"],
  ]);

  // storing the conversation called no model, and all answers had the same judge
  const judged = llm.calls.filter(({ body }) => body.model === "judge-1");
  const written = llm.calls.filter(({ body }) => body.model === "writer-1");
  expect([judged.length, written.length <= 7]).toEqual([2 + 6, true]);
  expect(new Set(judged.map(({ body }) => `${body.temperature} ${body.messages[0]?.content}`)).size).toBe(1);
  for (const { headers } of llm.calls) expect(headers.get("authorization")).toBe("Bearer secret-of-the-model");
  expect(result.options).toMatchObject({ llm: "writer-1", judge: "judge-1" });
  expect(result.prompts?.judge).toContain(judged[0]?.body.messages[0]?.content ?? "no prompt");
  expect(readFileSync(files[1] ?? "", "utf8")).toContain("## Prompt: judge\n");
  const texts = [screen, errors, ...files.map((file) => readFileSync(file, "utf8"))];
  for (const text of texts) expect(text).not.toContain("secret-of-the-model");
});

test("an interrupted run stops its server and leaves nothing behind", async () => {
  const temporary = mkdtempSync(join(folder, "interrupted-"));
  const argv = ["bench", "modes", "--passages", "5000", "--out", temporary];
  const child = spawnMneme(argv, folder, { TMPDIR: temporary });
  const dataOf = () => readdirSync(temporary).flatMap((name) => (name.startsWith("mneme-bench-") ? [name] : []));
  const isFilling = () => dataOf().some((name) => existsSync(join(temporary, name, "data/mneme.sqlite")));
  await until("the server has opened its data directory", isFilling);
  child.kill("SIGINT");
  expect(await child.exited).toBe(1);
  expect(readdirSync(temporary)).toEqual([]);
});

testOfAll("scale with drawn vectors measures all memories at once", async () => {
  const flags = ["--passages", "300", "--questions", "3", "--mode", "fast,hybrid", "--drawn-vectors"];
  const { result, screen } = await bench("scale", ...flags);
  expect(rows(result, "size").map(({ memories }) => memories)).toEqual([300]);
  expect(rows(result, "latency").map(({ memories, mode }) => [memories, mode])).toEqual([
    [300, "fast"],
    [300, "hybrid"],
  ]);
  expect(result.options.drawn_vectors).toBe("yes");
  expect(screen).toContain("the ranking means nothing");
});
