// Embedders and rerankers that other servers compute.

import { createHash } from "node:crypto";
import { Fault } from "../../domain/fault.ts";
import type { AddedModel, AddedTask, RemoteModel, RemoteProbes } from "../../domain/installed-model.ts";
import { estimatedTokens, unitsWithin } from "../../domain/language-model.ts";
import { NEUTRAL_TUNING, neutralTuning } from "../../domain/neutral-tuning.ts";
import { dot } from "../../kit/dot.ts";
import { logitOf } from "../../kit/logistic.ts";
import type {
  Embedder,
  EmbedOptions,
  ExaminedModel,
  FoundModel,
  Purpose,
  RemoteModels,
  Reranker,
} from "../../ports/models.ts";
import { RemoteEndpoints, type RemoteEndpointsDependencies, RemoteFailure } from "./endpoint.ts";
import { BadAnswer, EMBED_FORMS, NOT_A_NUMBER, RERANK_FORMS } from "./forms.ts";
import { checkDifferent, checkSame, decodedProbes, encodedProbes, PAIRS, PROBE_TEXTS } from "./probes.ts";

/** Maximum number of texts of a request. The 2 probes make 32, the default of text-embeddings-inference. */
const BATCH_TEXTS = 30;
/** Maximum number of characters of the texts of a request. */
const BATCH_CHARACTERS = 200_000;
/** Maximum number of dimensions. */
const DIMENSIONS_MAX = 8_192;
/** Default maximum number of tokens of a text that are sent. A server whose model reads fewer may cut it. */
const TOKENS_MAX = 512;
/** Seconds until a caller should try again. */
const RETRY_SECONDS = 10;
/** Probabilities are kept this far from 0 and 1, so that their logits are finite. */
const PROBABILITY_MARGIN = 1e-6;

/** The remote models of this node. */
export function createRemoteModels(uses: RemoteEndpointsDependencies): RemoteModels {
  const endpoints = new RemoteEndpoints(uses);
  return {
    examine: async (id, remote, task) => {
      try {
        return task === "embed"
          ? await examineEmbedder(endpoints, id, remote)
          : await examineReranker(endpoints, remote);
      } catch (error) {
        if (error instanceof RemoteFailure) throw new Fault("model_unavailable", error.message, { cause: error });
        throw error;
      }
    },
    open: (row) => openModel(endpoints, row),
    problem: (row) => (row.remote === null ? null : endpoints.problem(row.remote)),
    refusal: ({ api, says_purpose }, task: AddedTask) => {
      if (task === "rerank" && RERANK_FORMS[api] === undefined) return `Servers with the API ${api} have no rerankers.`;
      if (says_purpose !== true || EMBED_FORMS[api].purposeFields !== null) return null;
      return `Servers with the API ${api} cannot be told what a text is: use 'prefixes' if the model needs it.`;
    },
  };
}

async function examineEmbedder(endpoints: RemoteEndpoints, id: string, remote: RemoteModel): Promise<ExaminedModel> {
  const pairs = PAIRS.flat();
  const vectorsOf = async (purpose: Purpose) => {
    const texts = [...PROBE_TEXTS, ...pairs];
    const vectors = await requestVectors(endpoints, remote, texts, null, { purpose, priority: "query" });
    checkProbes(vectors);
    return vectors;
  };
  const [queries, passages] = [await vectorsOf("query"), await vectorsOf("passage")];
  const dimensions = queries[0]?.length ?? 0;
  if (passages[0]?.length !== dimensions) throw new RemoteFailure("The endpoint sent vectors of two lengths.", false);
  const missing = new Float32Array(dimensions);
  const cosine = (question: number, passage: number) =>
    dot(
      queries[PROBE_TEXTS.length + 2 * question] ?? missing,
      passages[PROBE_TEXTS.length + 2 * passage + 1] ?? missing,
    );
  const cosines = PAIRS.flatMap((_, question) =>
    PAIRS.map((__, passage) => ({ isPair: question === passage, cosine: cosine(question, passage) })),
  );
  const mean = (isPair: boolean) => {
    const of = cosines.filter((one) => one.isPair === isPair);
    return of.reduce((sum, one) => sum + one.cosine, 0) / of.length;
  };
  const probes: RemoteProbes = {
    query: encodedProbes(queries.slice(0, PROBE_TEXTS.length)),
    passage: encodedProbes(passages.slice(0, PROBE_TEXTS.length)),
    spread: { related: mean(true), unrelated: mean(false) },
  };
  const { prefixes, tokens_max, says_purpose } = remote;
  const hasSending = prefixes !== undefined || tokens_max !== undefined || says_purpose === true;
  const sending = hasSending ? [{ prefixes, tokens_max, says_purpose }] : [];
  const known = [id, remote.api, remote.model, dimensions, probes.query, probes.passage, ...sending];
  const identity = JSON.stringify(known);
  const fingerprint = createHash("sha256").update(identity).digest("hex");
  return { dimensions, tokensMax: tokensMaxOf(remote), fingerprint, probes };
}

async function examineReranker(endpoints: RemoteEndpoints, remote: RemoteModel): Promise<ExaminedModel> {
  const [question] = PAIRS[0];
  await requestScores(
    endpoints,
    remote,
    question,
    PAIRS.map(([, passage]) => passage),
    undefined,
  );
  return { dimensions: null, tokensMax: tokensMaxOf(remote), fingerprint: null, probes: null };
}

function openModel(endpoints: RemoteEndpoints, row: AddedModel): FoundModel {
  const { id, remote, task, languages, tokensMax, dimensions, fingerprint } = row;
  if (remote === null) throw new Error(`the remote model ${id} has no address: this is a bug in Mneme`);
  if (task === "rerank") {
    const reranker: Reranker = {
      ...{ languages, isRemote: true },
      score: (query, passages, { signal, onBegin, deadlineMs = Number.POSITIVE_INFINITY } = {}) => {
        onBegin?.();
        return asFault(id, () => scoresInTime(endpoints, remote, query, passages, { signal, deadlineMs }));
      },
    };
    return { task: "rerank", reranker, references: [] };
  }
  const probes = remote.probes ?? null;
  if (dimensions === null || fingerprint === null || probes === null) {
    throw new Error("The model has not been reached yet.");
  }
  const known = { query: decodedProbes(probes.query), passage: decodedProbes(probes.passage) };
  const embedder: Embedder = {
    ...{ id, dimensions, fingerprint, languages, tokensMax: tokensMax ?? TOKENS_MAX, isRemote: true },
    tuning: probes.spread === undefined ? NEUTRAL_TUNING : neutralTuning(probes.spread),
    embed: (texts, options) => {
      options.onBegin?.();
      return asFault(id, () => embedAll(endpoints, remote, texts, known[options.purpose], dimensions, options));
    },
    countTokens: async (texts) => texts.map(estimatedTokens),
  };
  return { task: "embed", embedder, reranker: null, references: [] };
}

async function embedAll(
  endpoints: RemoteEndpoints,
  remote: RemoteModel,
  texts: readonly string[],
  known: readonly Float32Array[],
  dimensions: number,
  options: EmbedOptions,
): Promise<Float32Array> {
  const vectors = new Float32Array(texts.length * dimensions);
  let at = 0;
  for (const batch of batchesOf(texts)) {
    for (const vector of await requestVectors(endpoints, remote, batch, known, options)) {
      vectors.set(vector, at * dimensions);
      at++;
    }
  }
  return vectors;
}

/** Unit vectors of texts. With `known`, the probe texts are sent too, and must get these vectors again. */
function requestVectors(
  endpoints: RemoteEndpoints,
  remote: RemoteModel,
  texts: readonly string[],
  known: readonly Float32Array[] | null,
  { purpose, priority, signal }: Pick<EmbedOptions, "purpose" | "priority" | "signal">,
): Promise<readonly Float32Array[]> {
  const form = EMBED_FORMS[remote.api];
  const [before, after] = PROBE_TEXTS;
  const sent = known === null ? texts : [before, ...texts, after];
  return endpoints.call({
    ...{ remote, priority, signal, path: form.path },
    body: {
      ...form.body(
        remote.model,
        sent.map((text) => sendable(`${remote.prefixes?.[purpose] ?? ""}${text}`, remote)),
        purpose,
      ),
      ...(remote.says_purpose === true && form.purposeFields?.(purpose)),
    },
    read: (answer) => {
      const vectors = form.vectors(answer, sent.length).map((numbers) => unitVector(numbers));
      const lengths = new Set(vectors.map(({ length }) => length));
      const expected = known?.[0]?.length;
      if (lengths.size > 1) throw new BadAnswer("sent vectors of different lengths");
      const [length] = lengths;
      if (expected !== undefined && length !== expected) {
        throw new BadAnswer(
          `sent vectors of ${length} dimensions instead of ${expected}: add what it serves under another id`,
        );
      }
      if (known === null) return vectors;
      checkSame(vectors, known);
      return vectors.slice(1, -1);
    },
    tokens: (answer) => form.tokens(answer),
  });
}

/** Scores of passages; NaN for all if they do not come by the deadline. */
async function scoresInTime(
  endpoints: RemoteEndpoints,
  remote: RemoteModel,
  query: string,
  passages: readonly string[],
  { signal, deadlineMs }: { readonly signal: AbortSignal | undefined; readonly deadlineMs: number },
): Promise<Float32Array> {
  const late = new AbortController();
  const timer = Number.isFinite(deadlineMs) ? setTimeout(() => late.abort(), deadlineMs) : undefined;
  const signals = AbortSignal.any(signal === undefined ? [late.signal] : [signal, late.signal]);
  try {
    return Float32Array.from(await requestScores(endpoints, remote, query, passages, signals));
  } catch (error) {
    if (!late.signal.aborted || signal?.aborted === true) throw error;
    return new Float32Array(passages.length).fill(Number.NaN);
  } finally {
    clearTimeout(timer);
  }
}

async function requestScores(
  endpoints: RemoteEndpoints,
  remote: RemoteModel,
  query: string,
  passages: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly number[]> {
  const form = RERANK_FORMS[remote.api];
  if (form === undefined) throw new RemoteFailure(`Servers with the API ${remote.api} have no rerankers.`, false);
  const scores: number[] = [];
  for (const batch of batchesOf(passages)) {
    const body = form.body(
      remote.model,
      sendable(query, remote),
      batch.map((text) => sendable(text, remote)),
    );
    const call = { remote, signal, path: form.path, body, priority: "query", tokens: () => null } as const;
    scores.push(...(await endpoints.call({ ...call, read: (answer) => form.scores(answer, batch.length) })));
  }
  const areProbabilities = form.areProbabilities && scores.every((score) => score >= 0 && score <= 1);
  return areProbabilities ? scores.map((score) => logitOf(score, PROBABILITY_MARGIN)) : scores;
}

function checkProbes(vectors: readonly Float32Array[]): void {
  try {
    checkDifferent(vectors.slice(0, PROBE_TEXTS.length));
  } catch (error) {
    if (error instanceof BadAnswer) throw new RemoteFailure(`The endpoint ${error.message}.`, false);
    throw error;
  }
}

async function asFault<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RemoteFailure)) throw error;
    const message = `The model ${id} cannot be used at the moment. ${error.message}`;
    throw new Fault("model_unavailable", message, { retryAfterSeconds: RETRY_SECONDS, cause: error });
  }
}

function unitVector(numbers: unknown): Float32Array {
  if (typeof numbers === "string")
    throw new BadAnswer("sent vectors as text instead of lists of numbers: check the API");
  if (!Array.isArray(numbers) || numbers.length === 0 || numbers.length > DIMENSIONS_MAX) {
    throw new BadAnswer("sent something that is not a vector");
  }
  if (!numbers.every((number) => typeof number === "number" && Number.isFinite(number))) {
    throw new BadAnswer(NOT_A_NUMBER);
  }
  const length = Math.hypot(...numbers);
  if (!Number.isFinite(length) || length === 0) throw new BadAnswer("sent a vector without a direction");
  return Float32Array.from(numbers, (number) => number / length);
}

/** A text that every server accepts: not empty, and not much longer than what a model reads. */
function sendable(text: string, remote: Pick<RemoteModel, "tokens_max">): string {
  const cut = text.slice(0, unitsWithin(text, tokensMaxOf(remote))).toWellFormed();
  return cut.trim() === "" ? "." : cut;
}

function tokensMaxOf({ tokens_max }: Pick<RemoteModel, "tokens_max">): number {
  return tokens_max ?? TOKENS_MAX;
}

function* batchesOf(texts: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (batch.length === BATCH_TEXTS || (batch.length > 0 && characters + text.length > BATCH_CHARACTERS)) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push(text);
    characters += text.length;
  }
  if (batch.length > 0) yield batch;
}
