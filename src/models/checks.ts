// Checks whether a model computes what its manifest says, by letting it compute. `models test` shows the result, and a
// model is added only if all checks pass.

import type { Clock } from "../kit/clock.ts";
import type { Embedder, FoundModel, Reader, Reference, Reranker } from "../ports/models.ts";

/** A check and its result. */
export interface ModelCheck {
  readonly name: string;
  readonly ok: boolean;
  /** One sentence. */
  readonly message: string;
}

/** The checks of a model, with the time that they took. */
export interface CheckedModel {
  readonly ms: number;
  readonly checks: readonly ModelCheck[];
}

/** Texts that any model can read, of different lengths. */
const PROBES = [
  "What does this model compute?",
  "The spare key is under the blue flower pot beside the door.",
  "Le train pour Zurich part à huit heures du matin.",
] as const;

/** Maximum difference between a vector's length and 1. */
const LENGTH_TOLERANCE = 5e-3;
/**
 * Maximum distance of two vectors of the same text, and maximum difference of two logits of the same pair. Models with
 * 8-bit integers round differently in batches of another size, see open-encoder.ts in adapters/inference.
 */
const SAME = { vector: 0.25, logit: 0.4 };
/** Minimum distance of the vectors of different texts. */
const DIFFERENT_MIN = 1e-3;

/**
 * Runs all checks. A check that cannot run fails. If the first one fails, the others are left out, because they would
 * fail for the same reason.
 */
export async function checkModel(found: FoundModel, clock: Clock): Promise<CheckedModel> {
  const startMs = clock.now();
  const checks: ModelCheck[] = [];
  const run = async (name: string, check: () => Promise<string>) => {
    if (checks[0]?.ok === false) return;
    try {
      checks.push({ name, ok: true, message: await check() });
    } catch (error) {
      checks.push({ name, ok: false, message: error instanceof Error ? causeOf(error) : String(error) });
    }
  };
  if (found.task === "embed") await checkEmbedder(found.embedder, found.references, run);
  else if (found.task === "read") await checkReader(found.reader, found.references, run);
  else await checkReranker(found.reranker, found.references, run);
  return { ms: clock.now() - startMs, checks };
}

/** The checks that failed. */
export function failedChecks({ checks }: CheckedModel): readonly ModelCheck[] {
  return checks.filter(({ ok }) => !ok);
}

type Run = (name: string, check: () => Promise<string>) => Promise<void>;

async function checkEmbedder(embedder: Embedder, references: readonly Reference[], run: Run): Promise<void> {
  const { dimensions } = embedder;
  const vectorsOf = async (texts: readonly string[], purpose: Reference["purpose"] = "passage") =>
    rowsOf(await embedder.embed(texts, { purpose, priority: "query" }), dimensions);
  let together: readonly Float32Array[] = [];
  await run("vectors", async () => {
    together = await vectorsOf(PROBES);
    const bad = together.find((vector) => Math.abs(Math.hypot(...vector) - 1) > LENGTH_TOLERANCE);
    if (bad !== undefined) throw new Error(`A vector has the length ${Math.hypot(...bad).toFixed(3)} instead of 1.`);
    return `It computes vectors of ${dimensions} dimensions and unit length.`;
  });
  await run("differences", async () => {
    const [first, second] = together;
    const apart = distance(first, second);
    if (!(apart > DIFFERENT_MIN)) throw new Error("It computes the same vector for different texts.");
    return `Vectors of different texts are ${apart.toFixed(2)} apart.`;
  });
  await run("batches", async () => {
    for (const [at, text] of PROBES.entries()) {
      const apart = distance((await vectorsOf([text]))[0], together[at]);
      if (!(apart <= SAME.vector)) {
        throw new Error(`The vector of a text depends on the texts beside it: they are ${apart.toFixed(2)} apart.`);
      }
    }
    return "The vector of a text does not depend on the texts beside it.";
  });
  await run("references", async () => {
    for (const { text, purpose, values } of references) {
      const apart = distance((await vectorsOf([text], purpose))[0], Float32Array.from(values));
      if (!(apart <= SAME.vector)) {
        throw new Error(`The vector of ${JSON.stringify(text)} is ${apart.toFixed(2)} away from its reference.`);
      }
    }
    return referencesSentence(references.length);
  });
}

async function checkReranker(reranker: Reranker, references: readonly Reference[], run: Run): Promise<void> {
  const [query, ...passages] = PROBES;
  let together: Float32Array = new Float32Array();
  await run("scores", async () => {
    together = await reranker.score(query, passages);
    if (!together.every(Number.isFinite)) throw new Error("A score is not a number.");
    return "It computes one number per passage.";
  });
  await run("batches", async () => {
    for (const [at, passage] of passages.entries()) {
      const [alone] = await reranker.score(query, [passage]);
      const apart = Math.abs((alone ?? Number.NaN) - (together[at] ?? Number.NaN));
      if (!(apart <= SAME.logit)) throw new Error("The score of a passage depends on the passages beside it.");
    }
    return "The score of a passage does not depend on the passages beside it.";
  });
  await run("references", async () => {
    for (const { text, passage, values } of references) {
      const [logit] = await reranker.score(text, [passage ?? ""]);
      const apart = Math.abs((logit ?? Number.NaN) - (values[0] ?? Number.NaN));
      if (!(apart <= SAME.logit)) {
        throw new Error(`The score of ${JSON.stringify(passage)} is ${apart.toFixed(2)} away from its reference.`);
      }
    }
    return referencesSentence(references.length);
  });
}

async function checkReader(reader: Reader, references: readonly Reference[], run: Run): Promise<void> {
  const [question, ...passages] = PROBES;
  await run("readings", async () => {
    const readings = await reader.read(question, passages);
    if (!readings.every(Number.isFinite)) throw new Error("A logit is not a number.");
    return "It computes logits and a span per passage.";
  });
  await run("references", async () => {
    for (const { text, passage, values } of references) {
      const reading = await reader.read(text, [passage ?? ""]);
      const apart = Math.max(...values.map((value, at) => Math.abs((reading[at] ?? Number.NaN) - value)));
      if (!(apart <= SAME.logit)) {
        throw new Error(`A logit of ${JSON.stringify(passage)} is ${apart.toFixed(2)} away from its reference.`);
      }
    }
    return referencesSentence(references.length);
  });
}

function referencesSentence(count: number): string {
  return count === 0 ? "Its folder has no references." : `It reproduces its ${count} references.`;
}

/** A fault of the lanes has the reason in its cause. */
function causeOf(error: Error): string {
  return typeof error.cause === "string" ? error.cause : error.message;
}

function rowsOf(values: Float32Array, width: number): readonly Float32Array[] {
  return Array.from({ length: values.length / width }, (_, row) => values.subarray(row * width, (row + 1) * width));
}

/** The Euclidean distance; NaN if a vector is missing or they differ in length. */
function distance(left: Float32Array | undefined, right: Float32Array | undefined): number {
  if (left === undefined || left.length !== right?.length) return Number.NaN;
  return Math.hypot(...left.map((value, at) => value - (right[at] ?? 0)));
}
