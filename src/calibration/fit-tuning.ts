// Fits weights, curves and the minimum evidence of answers for an embedder, with or without a reranker. It stores the
// judged texts, asks their questions in all combinations of signals, and fits the results.

import { Fault } from "../domain/fault.ts";
import { type CosineSpread, neutralTuning } from "../domain/neutral-tuning.ts";
import { MODE_NAMES, type ModeName } from "../domain/ranking.ts";
import type { Curve, RetrievalTuning } from "../domain/retrieval-tuning.ts";
import {
  SIGNAL_COMBINATIONS,
  type SignalCombination,
  WEIGHTED_SIGNALS,
  type WeightedSignal,
} from "../domain/signals.ts";
import { dot } from "../kit/dot.ts";
import type { Embedder, EmbedOptions } from "../ports/models.ts";
import { type EvidenceSigns, evidenceSigns } from "../retrieval/evidence.ts";
import type { Mode } from "../retrieval/modes.ts";
import { calibrate } from "../retrieval/results.ts";
import { specificsOf } from "../retrieval/specifics.ts";
import { type Asking, askingsOf, spread } from "./askings.ts";
import { fitCurve } from "./fit-curve.ts";
import { type EvidenceSample, evidenceThreshold, fitEvidence, NOTHING_FOUND } from "./fit-evidence.ts";
import { type JudgedSamples, judgedSamples, type SampleText } from "./judged-samples.ts";
import { finalScores } from "./regression.ts";
import { RememberingReranker } from "./remembering-reranker.ts";
import { SampleStore, type SampleStoreDependencies } from "./sample-store.ts";

/** The models, and what the searches need. */
export interface FitDependencies extends SampleStoreDependencies {
  /** Texts of a project, which are stored together with the judged ones. No question is about them. */
  readonly texts: readonly SampleText[];
  readonly signal: AbortSignal;
  /** Called with the number of searches so far, and their total. */
  readonly onProgress: (done: number, total: number) => void;
}

/** Minimum number of judged questions in the languages of the embedder. */
const QUESTIONS_MIN = 60;
/** Maximum number of searches with each of `TEXT_FACTORS`. */
const WEIGHING_QUESTIONS = 150;
/**
 * Maximum number of searches with each of `RERANK_FACTORS`, and with each combination of signals that has the reranker.
 * Other combinations have more, because they are faster.
 */
const RERANKED_QUESTIONS = 160;
/** Number of concurrent searches. */
const SEARCHES_AT_ONCE = 2;
/**
 * Minimum number of searches with a right result, and of searches without one. A combination of signals with fewer gets
 * no curve of its own.
 */
const CURVE_QUESTIONS_MIN = 40;
/** Factors that are tried for weights. 1 leaves the weights as they follow from the spread of cosines. */
const TEXT_FACTORS = [0.25, 0.5, 1, 2, 4];
const RERANK_FACTORS = [0.25, 0.5, 1, 2];
/** Minimum gain in mean reciprocal rank with which another factor than 1 is used. */
const GAIN_MIN = 0.02;
/** Bounds of the fitted minimum evidence. Without them, a bad fit could refuse every question, or none. */
const EVIDENCE_BOUNDS = { min: 0.02, max: 0.6 };

/** A combination of signals, and the mode with changes in which a search uses exactly these. */
interface Combination {
  readonly name: SignalCombination;
  readonly mode: ModeName;
  readonly changes: Partial<Mode>;
}

const COMBINATIONS = SIGNAL_COMBINATIONS.map((name): Combination => {
  const [text, graph, rerank] = ["text", "graph", "rerank"].map((signal) => name.split(" ").includes(signal));
  if (rerank === true) return { name, mode: graph === true ? "precise" : "balanced", changes: {} };
  return { name, mode: text === true ? "hybrid" : "fast", changes: graph === true ? { usesGraph: true } : {} };
});

/**
 * For each combination, the simpler one whose curve it gets if it has too few samples. Without a reranker, the
 * combinations with `rerank` have none.
 */
const SIMPLER: Readonly<Record<Exclude<SignalCombination, "vector">, SignalCombination>> = {
  "vector graph": "vector",
  "vector text": "vector",
  "vector text graph": "vector text",
  "vector text rerank": "vector text",
  "vector text graph rerank": "vector text rerank",
};

/** The combinations of signals of each mode, the usual ones first. */
const OF_MODE: Readonly<Record<ModeName, readonly SignalCombination[]>> = {
  fast: ["vector"],
  hybrid: ["vector text"],
  balanced: ["vector text rerank", "vector text"],
  precise: ["vector text graph rerank", "vector text rerank", "vector text graph", "vector text"],
};

/** A search and its results. */
interface Sample {
  readonly asking: Asking;
  readonly combination: SignalCombination;
  /** Number of texts that the search could find. */
  readonly admissible: number;
  readonly results: readonly { readonly final: number; readonly isRelevant: boolean }[];
  /** Signs of the first results. Their scores are not calibrated yet. */
  readonly signs: readonly EvidenceSigns[];
}

/**
 * Fits weights and curves.
 * @throws Fault `invalid_state` if too few questions are in the languages of the embedder, or if the models do not tell
 *   answers from other texts
 */
export async function fitTuning(uses: FitDependencies): Promise<RetrievalTuning> {
  const { signal, onProgress } = uses;
  const samples = judgedSamples(uses.embedder.languages);
  if (samples.questions.length < QUESTIONS_MIN) {
    const languages = uses.embedder.languages.slice(0, 5).join(", ");
    throw new Fault("invalid_state", `The judged samples have too few questions in its languages (${languages}).`);
  }
  const askings = askingsOf(samples);
  const reranked = spread(askings, RERANKED_QUESTIONS);
  const answerable = askings.filter(({ store, relevant }) => relevant.size > 0 && store !== "one text");
  const weighing = spread(answerable, WEIGHING_QUESTIONS);
  const combinations = COMBINATIONS.filter(({ name }) => uses.reranker !== null || !usesReranker(name));
  const total = [
    TEXT_FACTORS.length * weighing.length,
    uses.reranker === null ? 0 : RERANK_FACTORS.length * reranked.length,
    ...combinations.map(({ name }) => (usesReranker(name) ? reranked : askings).length),
  ].reduce((sum, count) => sum + count);
  let done = 0;
  onProgress(0, total);
  const embedder = await withKnownQueries(uses.embedder, samples, signal);
  const reranker = uses.reranker && new RememberingReranker(uses.reranker);
  const store = new SampleStore({ ...uses, embedder, reranker });
  await store.store([...samples.texts, ...uses.texts], signal);
  const asker = new Asker(uses, store, () => onProgress(++done, total));

  const spreadOfCosines = await cosineSpread(embedder, store, samples);
  const neutral = neutralTuning(spreadOfCosines);
  const withText = await asker.best(neutral, TEXT_FACTORS, weighing, { mode: "hybrid" }, scaledText);
  const tuning =
    reranker === null
      ? withText
      : await asker.best(withText, RERANK_FACTORS, reranked, { mode: "balanced" }, scaledReranker);
  const found = new Map<SignalCombination, readonly Sample[]>();
  for (const combination of combinations) {
    const { name } = combination;
    found.set(name, await asker.all(tuning, usesReranker(name) ? reranked : askings, combination));
  }
  return tuningOf(tuning, found);
}

function usesReranker(name: SignalCombination): boolean {
  return name.split(" ").includes("rerank");
}

/**
 * Adds curves and evidence, fitted to the samples, to the chosen weights.
 * @throws Fault `invalid_state` if a curve is flat
 */
function tuningOf(tuning: RetrievalTuning, found: ReadonlyMap<SignalCombination, readonly Sample[]>): RetrievalTuning {
  const curves: Partial<Record<SignalCombination, Curve>> = {};
  for (const name of SIGNAL_COMBINATIONS) {
    const samples = (found.get(name) ?? []).filter(({ results }) => results.length > 0);
    const right = samples.filter(({ results }) => results.some(({ isRelevant }) => isRelevant)).length;
    const isEnough = Math.min(right, samples.length - right) >= CURVE_QUESTIONS_MIN;
    const simpler = name === "vector" ? undefined : curves[SIMPLER[name]];
    if (simpler !== undefined && !isEnough) curves[name] = simpler;
    else curves[name] = fitCurve(samples.map((sample) => ({ ...sample, kind: sample.asking.store })));
  }
  const complete = curves as Record<SignalCombination, Curve>;
  const flat = Object.values(complete).some(({ slope, gapSlope }) => !(slope + gapSlope > 0));
  if (flat) {
    throw new Fault(
      "invalid_state",
      "It does not tell texts that answer a question from others in the judged samples.",
    );
  }
  const evidenceSamples = (mode: ModeName) => {
    const name = OF_MODE[mode].find((each) => (found.get(each)?.length ?? 0) >= 2 * CURVE_QUESTIONS_MIN) ?? "vector";
    return (found.get(name) ?? []).flatMap((sample) => evidenceSample(sample, complete[name]));
  };
  const evidence = fitEvidence([...new Set(MODE_NAMES.flatMap(evidenceSamples))]);
  const threshold = (mode: ModeName) => {
    const value = evidenceThreshold(evidenceSamples(mode), evidence);
    return Math.min(EVIDENCE_BOUNDS.max, Math.max(EVIDENCE_BOUNDS.min, value));
  };
  const evidenceMin = Object.fromEntries(MODE_NAMES.map((mode) => [mode, threshold(mode)]));
  return {
    ...tuning,
    ...{ calibration: "fitted", curves: complete, evidence },
    evidenceMin: evidenceMin as Record<ModeName, number>,
  };
}

/** The sample for the evidence curve, if all texts of one person were searched; none for other kinds of stores. */
function evidenceSample({ asking, admissible, results, signs }: Sample, curve: Curve): readonly EvidenceSample[] {
  const { store, relevant, question } = asking;
  if (store !== "all texts" && store !== "other person") return [];
  const scores = calibrate(
    results.map(({ final }) => ({ finalScore: final })),
    curve,
    admissible,
  );
  const calibrated = signs.map((sign, at) => ({ ...sign, score: scores[at] ?? 0 }));
  const group = store === "other person" ? store : question.kind;
  return [{ group, isAnswerable: relevant.size > 0, signs: calibrated.length > 0 ? calibrated : [NOTHING_FOUND] }];
}

/** Runs searches, `SEARCHES_AT_ONCE` at a time. */
class Asker {
  constructor(
    private readonly uses: Pick<FitDependencies, "languageOf" | "signal">,
    private readonly store: SampleStore,
    private readonly onSearch: () => void,
  ) {}

  /**
   * The tuning scaled by the factor with which the relevant texts rank highest; by 1 if that factor gains no more than
   * `GAIN_MIN`.
   */
  async best(
    tuning: RetrievalTuning,
    factors: readonly number[],
    askings: readonly Asking[],
    { mode }: Pick<Combination, "mode">,
    scaled: (tuning: RetrievalTuning, factor: number) => RetrievalTuning,
  ): Promise<RetrievalTuning> {
    const tried: { readonly factor: number; readonly figure: number }[] = [];
    for (const factor of factors) {
      const found = await this.#each(askings, (asking) => this.#search(scaled(tuning, factor), asking, mode, {}));
      const ranks = Map.groupBy(
        askings.map(({ store, relevant }, at) => ({
          store,
          value: reciprocalRank(found[at]?.results ?? [], ({ memory }) => relevant.has(memory.externalId ?? "")),
        })),
        ({ store }) => store,
      );
      tried.push({ factor, figure: mean([...ranks.values()].map((of) => mean(of.map(({ value }) => value)))) });
    }
    const neutral = tried.find(({ factor }) => factor === 1)?.figure ?? 0;
    const best = tried.reduce((first, each) => (each.figure > first.figure ? each : first), {
      factor: 1,
      figure: neutral,
    });
    return scaled(tuning, best.figure > neutral + GAIN_MIN ? best.factor : 1);
  }

  /**
   * The results of searches with a combination of signals. Searches of an empty store are left out, and searches in
   * which one of the signals other than `vector` found nothing or another one took part.
   */
  async all(
    tuning: RetrievalTuning,
    askings: readonly Asking[],
    { name, mode, changes }: Combination,
  ): Promise<readonly Sample[]> {
    const readable = invertible(tuning);
    const found = await this.#each(askings, async (asking): Promise<Sample | null> => {
      const ranking = await this.#search(readable, asking, mode, changes);
      const foundBy = (of: WeightedSignal) =>
        of === "graph"
          ? ranking.stages.some((stage) => stage.name === "graph" && stage.candidates > 0)
          : ranking.results.some(({ signals }) => signals[of] !== undefined);
      const expected = new Set(name.split(" "));
      const isOther = WEIGHTED_SIGNALS.some((of) => of !== "vector" && foundBy(of) !== expected.has(of));
      if (isOther || ranking.admissible === 0) return null;
      const scores = ranking.results.map(({ score }) => score);
      const finals = finalScores(scores, readable.curves[name], ranking.admissible);
      const specifics = specificsOf(asking.question.text, await this.uses.languageOf(asking.question.text));
      return {
        ...{ asking, combination: name, admissible: ranking.admissible },
        results: ranking.results.map(({ memory }, at) => {
          return { final: finals[at] ?? 0, isRelevant: asking.relevant.has(memory.externalId ?? "") };
        }),
        signs: evidenceSigns(specifics, ranking.results),
      };
    });
    return found.filter((sample) => sample !== null);
  }

  #search(tuning: RetrievalTuning, { question, scope }: Asking, mode: ModeName, changes: Partial<Mode>) {
    const { text, asOf } = question;
    return this.store.search({ text, asOf, scope, mode, changes, tuning });
  }

  async #each<Result>(
    askings: readonly Asking[],
    ask: (asking: Asking) => Promise<Result>,
  ): Promise<readonly Result[]> {
    const results: Result[] = [];
    for (let first = 0; first < askings.length; first += SEARCHES_AT_ONCE) {
      this.uses.signal.throwIfAborted();
      const part = askings.slice(first, first + SEARCHES_AT_ONCE);
      results.push(
        ...(await Promise.all(
          part.map(async (asking) => {
            const result = await ask(asking);
            this.onSearch();
            return result;
          }),
        )),
      );
    }
    return results;
  }
}

/**
 * The embedder with the vectors of all questions in memory, so that each is computed once. It works at the priority of
 * ingestion, so that it does not delay the searches of people.
 */
async function withKnownQueries(
  embedder: Embedder,
  { questions }: JudgedSamples,
  signal: AbortSignal,
): Promise<Embedder> {
  const known = new Map<string, Float32Array>();
  const texts = [...new Set(questions.map(({ text }) => text))];
  for (let first = 0; first < texts.length; first += QUERIES_AT_ONCE) {
    const batch = texts.slice(first, first + QUERIES_AT_ONCE);
    const vectors = await embedder.embed(batch, { purpose: "query", priority: "ingest", signal });
    for (const [at, text] of batch.entries()) {
      known.set(text, vectors.slice(at * embedder.dimensions, (at + 1) * embedder.dimensions));
    }
  }
  const embed = async (asked: readonly string[], options: EmbedOptions) => {
    const vector = options.purpose === "query" && asked.length === 1 ? known.get(asked[0] ?? "") : undefined;
    if (vector === undefined) return embedder.embed(asked, { ...options, priority: "ingest" });
    options.onBegin?.();
    return vector;
  };
  return { ...embedder, embed };
}

/** Number of questions that are embedded together. */
const QUERIES_AT_ONCE = 16;

/** Mean cosines of questions with texts that answer them, and with texts of the same owner that do not. */
async function cosineSpread(
  embedder: Embedder,
  store: SampleStore,
  { texts, questions }: JudgedSamples,
): Promise<CosineSpread> {
  const related: number[] = [];
  const unrelated: number[] = [];
  for (const [at, { text, owner, answers }] of questions.entries()) {
    const [answer] = answers;
    const right = answer === undefined ? undefined : store.vectorOf(answer);
    const others = texts.filter((each) => each.owner === owner && !answers.includes(each.id));
    const wrong = store.vectorOf(others[at % others.length]?.id ?? "");
    if (right === undefined || wrong === undefined) continue;
    const query = await embedder.embed([text], { purpose: "query", priority: "ingest" });
    related.push(dot(query, right));
    unrelated.push(dot(query, wrong));
  }
  return { related: mean(related), unrelated: mean(unrelated) };
}

/** Multiplies the weights of full text and graph by a factor. */
function scaledText(tuning: RetrievalTuning, factor: number): RetrievalTuning {
  return withWeights(tuning, (weights) => ({
    ...weights,
    textWeight: weights.textWeight * factor,
    graphWeight: weights.graphWeight * factor,
  }));
}

/** Multiplies the weight of the reranker by a factor. */
function scaledReranker(tuning: RetrievalTuning, factor: number): RetrievalTuning {
  return withWeights(tuning, (weights) => ({ ...weights, rerankWeight: weights.rerankWeight * factor }));
}

type Weights = RetrievalTuning["weights"][ModeName];

function withWeights(tuning: RetrievalTuning, change: (weights: Weights) => Weights): RetrievalTuning {
  const weights = Object.fromEntries(MODE_NAMES.map((mode) => [mode, change(tuning.weights[mode])]));
  return { ...tuning, weights: weights as Record<ModeName, Weights> };
}

/**
 * The same weights with curves that can be inverted: final scores are computed from the calibrated scores of searches.
 * The curves are neither flat nor so steep that probabilities round to 1.
 */
function invertible(tuning: RetrievalTuning): RetrievalTuning {
  const weights = Object.values(tuning.weights.precise);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const curve: Curve = { slope: LOGITS / sum, gapSlope: 0, sizeSlope: 0, offset: 0 };
  const curves = Object.fromEntries(SIGNAL_COMBINATIONS.map((name) => [name, curve]));
  return { ...tuning, curves: curves as Record<SignalCombination, Curve> };
}

/** Maximum logit of an invertible curve: a probability of 1 − 6e-6. */
const LOGITS = 12;

function reciprocalRank<Result>(results: readonly Result[], isRight: (result: Result) => boolean): number {
  const at = results.findIndex(isRight);
  return at === -1 ? 0 : 1 / (at + 1);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
