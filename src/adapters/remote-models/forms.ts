// What requests to each kind of server look like, and what their answers say.

import type { RemoteApi } from "../../domain/installed-model.ts";
import { counted } from "../../kit/counted.ts";
import { isRecord, type JsonRecord } from "../../kit/record.ts";
import type { Purpose } from "../../ports/models.ts";

/** An answer that does not have the form of its API. The message ends the sentence "The endpoint …". */
export class BadAnswer extends Error {
  override readonly name = "BadAnswer";
}

/** Ends the sentence "The endpoint …". Models that overflow compute NaN, which servers send as such or as null. */
export const NOT_A_NUMBER =
  "sent a vector with something that is not a number: the model may overflow in half precision";
const OTHER_FORM = "sent an answer of another form: check the address and the API";

/** How vectors are asked for. */
export interface EmbedForm {
  /** Appended to the base URL. */
  readonly path: string;
  body(model: string, texts: readonly string[], purpose: Purpose): JsonRecord;
  /** Fields that say what texts are, for models that need to know; null if the API has none. */
  readonly purposeFields: ((purpose: Purpose) => JsonRecord) | null;
  /** One list of numbers per text, in the order of the texts; not checked further. @throws BadAnswer */
  vectors(answer: unknown, texts: number): readonly unknown[];
  /** Number of tokens that the endpoint counted; null if it says none. */
  tokens(answer: unknown): number | null;
}

/** How scores are asked for. */
export interface RerankForm {
  readonly path: string;
  body(model: string, query: string, passages: readonly string[]): JsonRecord;
  /** One score per passage, in the order of the passages. @throws BadAnswer */
  scores(answer: unknown, passages: number): readonly number[];
  /** Whether scores from 0 to 1 are probabilities; otherwise they are logits. */
  readonly areProbabilities: boolean;
}

const openAi: EmbedForm = {
  path: "/embeddings",
  body: (model, input) => ({ model, input, encoding_format: "float" }),
  purposeFields: (purpose) => ({ input_type: purpose }),
  vectors: (answer, texts) => inOrder(listIn(answer, "data"), texts).map(({ embedding }) => embedding),
  tokens: (answer) => countIn(fieldOf(answer, "usage"), "prompt_tokens", "total_tokens"),
};

/** The forms of embedders, by API. */
export const EMBED_FORMS: Readonly<Record<RemoteApi, EmbedForm>> = {
  openai: openAi,
  jina: {
    ...openAi,
    body: (model, input) => ({ model, input }),
    purposeFields: (purpose) => ({ task: `retrieval.${purpose}` }),
  },
  tei: {
    path: "/embed",
    body: (_model, inputs) => ({ inputs, normalize: true, truncate: true }),
    purposeFields: (purpose) => ({ prompt_name: purpose }),
    vectors: (answer, texts) => ofLength(answer, texts),
    tokens: () => null,
  },
  ollama: {
    path: "/api/embed",
    body: (model, input) => ({ model, input, truncate: true }),
    purposeFields: null,
    vectors: (answer, texts) => ofLength(fieldOf(answer, "embeddings"), texts),
    tokens: (answer) => countIn(answer, "prompt_eval_count"),
  },
  cohere: {
    path: "/v2/embed",
    body: (model, texts, purpose) => ({
      model,
      texts,
      input_type: purpose === "query" ? "search_query" : "search_document",
      embedding_types: ["float"],
      truncate: "END",
    }),
    purposeFields: () => ({}), // `body` has it already
    vectors: (answer, texts) => {
      const embeddings = fieldOf(answer, "embeddings");
      return ofLength(isRecord(embeddings) ? embeddings.float : embeddings, texts);
    },
    tokens: (answer) => countIn(fieldOf(fieldOf(answer, "meta"), "billed_units"), "input_tokens"),
  },
};

const jina: RerankForm = {
  path: "/rerank",
  body: (model, query, documents) => ({ model, query, documents, top_n: documents.length, return_documents: false }),
  scores: (answer, passages) => scoresIn(listIn(answer, "results"), passages, "relevance_score"),
  areProbabilities: true,
};

/** The forms of rerankers, by API; the others have none. */
export const RERANK_FORMS: Readonly<Partial<Record<RemoteApi, RerankForm>>> = {
  jina,
  cohere: {
    ...jina,
    path: "/v2/rerank",
    body: (model, query, documents) => ({ model, query, documents, top_n: documents.length }),
  },
  tei: {
    path: "/rerank",
    body: (_model, query, texts) => ({ query, texts, raw_scores: true, truncate: true }),
    scores: (answer, passages) => scoresIn(recordsOf(answer), passages, "score"),
    areProbabilities: false,
  },
};

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function recordsOf(value: unknown): readonly JsonRecord[] {
  if (Array.isArray(value) && value.every(isRecord)) return value;
  throw new BadAnswer(OTHER_FORM);
}

function listIn(answer: unknown, name: string): readonly JsonRecord[] {
  return recordsOf(fieldOf(answer, name));
}

function ofLength(list: unknown, length: number): readonly unknown[] {
  if (!Array.isArray(list)) throw new BadAnswer(OTHER_FORM);
  if (list.length !== length)
    throw new BadAnswer(
      `sent ${counted(list.length, "result")} for ${length} texts: see its limit of texts per request`,
    );
  return list;
}

// Servers may send results in any order, with the number of the input as `index`.
function inOrder(items: readonly JsonRecord[], length: number): readonly JsonRecord[] {
  ofLength(items, length);
  if (items.every(({ index }) => index === undefined)) return items;
  const placed = new Array<JsonRecord | undefined>(length);
  for (const item of items) if (Number.isInteger(item.index)) placed[Number(item.index)] = item;
  return placed.slice(0, length).map((item) => {
    if (item === undefined) throw new BadAnswer("numbered its results wrongly");
    return item;
  });
}

function scoresIn(items: readonly JsonRecord[], passages: number, name: string): readonly number[] {
  return inOrder(items, passages).map((item) => {
    const score = item[name];
    if (typeof score !== "number" || !Number.isFinite(score)) throw new BadAnswer("sent a score that is no number");
    return score;
  });
}

function countIn(counts: unknown, ...names: readonly string[]): number | null {
  const found = names.map((name) => fieldOf(counts, name)).find((count) => Number.isSafeInteger(count));
  return found === undefined ? null : Math.max(0, Number(found));
}
