// A GPU beside the CPU of the same machine: whether both compute the same, and how fast the server is with each. For
// owners of an NVIDIA GPU; docs/gpu.md says what to install. `bun bench/gpu.ts --help` lists the flags.

import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { GpuOptions } from "../src/adapters/inference/gpu/gpu-plan.ts";
import { toHalfPrecision } from "../src/adapters/inference/gpu/half-graph.ts";
import { createLanes, type Lanes, type LanesOptions } from "../src/adapters/inference/lanes.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { dot } from "../src/kit/dot.ts";
import { UsageError } from "../src/kit/flags.ts";
import { createLog } from "../src/kit/log.ts";
import type { Purpose } from "../src/ports/models.ts";
import { corpusFile, type JudgedQuery, readJudgedQueries, readPassages } from "./lib/beir.ts";
import { SCIFACT } from "./lib/collection.ts";
import { mean, ndcgAt, percentile } from "./lib/metrics.ts";
import { benchConfig, benchEmbedder, EMBEDDER_ID, MODELS_DIR } from "./lib/models.ts";
import { runMain } from "./lib/run-main.ts";

const MNEME = resolve(import.meta.dir, "../src/main.ts");
const HELP = `bun bench/gpu.ts [flags]

Compares vectors of a GPU with those of the CPU on a judged collection, also mixed in one index. Then runs
\`mneme bench modes\`, \`load\` and \`ingest\` with each of them. MNEME_EMBEDDER names the embedder.

  --model-provider NAME    the GPUs, as in docs/gpu.md (default: cuda:0)
  --onnxruntime-dir DIR    folder with the libraries of onnxruntime-gpu (default: MNEME_ONNXRUNTIME_DIR)
  --gpu-memory-max SIZE    as in docs/gpu.md
  --from FOLDER            judged collection in BEIR layout (default: ${SCIFACT})
  --passages N             at most so many passages: the relevant ones, and others (default: all)
  --graph-on-cpu           compares only, and computes the GPU's graph on the CPU: for machines without GPU
  --compare-only           compares only
  --out FOLDER             folder for the results of \`mneme bench\` (default: gpu-results)`;

/** Number of texts per call, as in ingestion. */
const TEXTS_PER_CALL = 64;
const DEPTH = 10;

/** Vectors of passages and questions, computed on the CPU or on the GPU. */
interface Vectors {
  readonly passages: readonly Float32Array[];
  readonly questions: readonly Float32Array[];
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const settings = [
    ...["--model-provider", flags.get("--model-provider") ?? "cuda:0"],
    ...["--onnxruntime-dir", "--gpu-memory-max"].flatMap((name) =>
      flags.has(name) ? [name, flags.get(name) ?? ""] : [],
    ),
  ];
  await using work = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "mneme-bench-"));
  work.defer(() => rmSync(folder, { recursive: true }));
  const isOnCpu = flags.has("--graph-on-cpu");
  const half: Partial<LanesOptions> = isOnCpu
    ? { modelsDir: convertedModel(folder), runtime: "onnxruntime", preloadsReranker: false }
    : { gpu: gpuOptions(settings) };
  await compare(flags.get("--from") ?? SCIFACT, Number(flags.get("--passages") ?? Number.MAX_VALUE), half);
  if (isOnCpu || flags.has("--compare-only")) return;
  const out = resolve(flags.get("--out") ?? "gpu-results");
  for (const what of ["modes", "load", "ingest"]) {
    const [cpu, gpu] = ["cpu", "gpu"].map((name) => join(out, what, name));
    await benchServer([what, "--out", cpu ?? "", "--model-provider", "cpu"]);
    await benchServer([what, "--out", gpu ?? "", ...settings]);
  }
  process.stdout.write(`the results are in ${out}\n`);
}

function gpuOptions(settings: readonly string[]): GpuOptions {
  const { modelProvider, onnxruntimeDir, gpuMemoryMax } = benchConfig(process.env, settings);
  return { provider: modelProvider, libraryDir: onnxruntimeDir, memoryBytesMax: gpuMemoryMax };
}

/** A folder of models that has the embedder with the graph that a GPU computes. */
function convertedModel(folder: string): string {
  const { reranker, modelPath, id } = benchEmbedder();
  for (const name of [id, reranker ?? id]) cpSync(join(MODELS_DIR, name), join(folder, name), { recursive: true });
  const graph = toHalfPrecision(readFileSync(modelPath));
  const manifest = JSON.parse(readFileSync(join(folder, id, "model.json"), "utf8"));
  manifest.sha256 = createHash("sha256").update(graph).digest("hex");
  writeFileSync(join(folder, id, manifest.file), graph);
  writeFileSync(join(folder, id, "model.json"), JSON.stringify(manifest));
  return folder;
}

/** Embeds a collection twice, and prints how much vectors and rankings differ. */
async function compare(collection: string, passagesMax: number, half: Partial<LanesOptions>): Promise<void> {
  const questions = await readJudgedQueries(collection, "test");
  const { ids, texts } = await chosenPassages(collection, questions, passagesMax);
  const cpu = await embedAll("CPU", {}, texts, questions);
  const gpu = await embedAll("GPU", half, texts, questions);
  const mixed = {
    passages: cpu.passages.map((vector, at) => (at % 2 === 0 ? vector : (gpu.passages[at] ?? vector))),
    questions: cpu.questions.map((vector, at) => (at % 2 === 1 ? vector : (gpu.questions[at] ?? vector))),
  };
  const pairs = [
    ["CPU", "CPU", cpu.passages, cpu.questions],
    ["GPU", "GPU", gpu.passages, gpu.questions],
    ["CPU", "GPU", cpu.passages, gpu.questions],
    ["GPU", "CPU", gpu.passages, cpu.questions],
    ["alternately", "alternately", mixed.passages, mixed.questions],
  ] as const;
  const first = rankAll(ids, cpu.passages, cpu.questions);
  const rows = pairs.map(([ofPassages, ofQuestions, passages, asked]) => {
    const rankings = rankAll(ids, passages, asked);
    const ndcg = mean(questions.map(({ judgements }, at) => ndcgAt(DEPTH, rankings[at] ?? [], judgements)));
    const shared = mean(rankings.map((ranking, at) => ranking.filter((id) => first[at]?.includes(id)).length / DEPTH));
    return [ofPassages, ofQuestions, ndcg.toFixed(4), shared.toFixed(3)];
  });
  const cosines = [...cosinesOf(cpu.passages, gpu.passages), ...cosinesOf(cpu.questions, gpu.questions)];
  const figures = [Math.min(...cosines), percentile(0.01, cosines), mean(cosines)].map((value) => value.toFixed(5));
  process.stdout.write(`${EMBEDDER_ID}, ${texts.length} passages, ${questions.length} questions, vectors only\n`);
  process.stdout.write(
    `cosine of CPU and GPU: minimum ${figures[0]}, 1st percentile ${figures[1]}, mean ${figures[2]}\n`,
  );
  const header = ["passages", "questions", `nDCG@${DEPTH}`, `first ${DEPTH} shared with CPU`];
  process.stdout.write(`${alignRows([header, ...rows]).join("\n")}\n`);
}

async function chosenPassages(collection: string, questions: readonly JudgedQuery[], passagesMax: number) {
  const relevant = new Set(questions.flatMap(({ judgements }) => [...judgements.keys()]));
  const [ids, texts]: [string[], string[]] = [[], []];
  let others = Math.max(0, passagesMax - relevant.size);
  for await (const { id, title, content } of readPassages(corpusFile(collection))) {
    if (!relevant.has(id) && others-- <= 0) continue;
    ids.push(id);
    texts.push(`${title ?? ""}\n${content}`.trim());
  }
  return { ids, texts };
}

async function embedAll(
  label: string,
  options: Partial<LanesOptions>,
  passages: readonly string[],
  questions: readonly JudgedQuery[],
): Promise<Vectors> {
  const lanes = await createLanes({ modelsDir: MODELS_DIR, embedder: EMBEDDER_ID, log: createLog("warn"), ...options });
  try {
    await lanes.ready();
    refuseFallback(lanes);
    const { embed, dimensions } = lanes.embedders.default;
    const progress = new Progress(`${label}:`);
    const startedAt = performance.now();
    const embedded = async (texts: readonly string[], purpose: Purpose) => {
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += TEXTS_PER_CALL) {
        const part = texts.slice(at, at + TEXTS_PER_CALL);
        const rows = await embed(part, { purpose, priority: "ingest" });
        for (let row = 0; row < part.length; row += 1)
          vectors.push(rows.slice(row * dimensions, (row + 1) * dimensions));
        progress.show(at / texts.length, `${at} of ${texts.length} texts`);
      }
      return vectors;
    };
    const vectors = {
      passages: await embedded(passages, "passage"),
      questions: await embedded(
        questions.map(({ text }) => text),
        "query",
      ),
    };
    refuseFallback(lanes);
    progress.finish(`${label}: ${passages.length} passages in ${Math.round((performance.now() - startedAt) / 1000)} s`);
    return vectors;
  } finally {
    await lanes.close();
  }
}

function refuseFallback(lanes: Lanes): void {
  const reason = lanes.status().lanes.find(({ gpuFallback }) => gpuFallback !== null)?.gpuFallback;
  if (typeof reason === "string") throw new UsageError(`The GPU cannot be used: ${reason}.`);
}

function rankAll(ids: readonly string[], passages: readonly Float32Array[], questions: readonly Float32Array[]) {
  return questions.map((question) =>
    passages
      .map((passage, at) => ({ id: ids[at] ?? "", cosine: dot(passage, question) }))
      .sort((a, b) => b.cosine - a.cosine)
      .slice(0, DEPTH)
      .map(({ id }) => id),
  );
}

function cosinesOf(left: readonly Float32Array[], right: readonly Float32Array[]): readonly number[] {
  return left.map((vector, at) => dot(vector, right[at] ?? new Float32Array(vector.length)));
}

/** Runs `mneme bench`. */
async function benchServer(args: readonly string[]): Promise<void> {
  mkdirSync(args[args.indexOf("--out") + 1] ?? "", { recursive: true });
  process.stdout.write(`\nmneme bench ${args.join(" ")}\n`);
  const command = [process.execPath, MNEME, "bench", ...args];
  const code = await Bun.spawn(command, { stdio: ["ignore", "inherit", "inherit"] }).exited;
  if (code !== 0) throw new UsageError(`mneme bench ${args[0] ?? ""} ended with code ${code}.`);
}

await runMain(HELP, main);
