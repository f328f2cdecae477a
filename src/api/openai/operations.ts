// The operations that clients of OpenAI call: models, chat completions and (in embeddings.ts) embeddings.

import { type AnswerEvent, AnswerSoFar } from "../../answer/events.ts";
import { Fault } from "../../domain/fault.ts";
import type { MemoryId } from "../../domain/ids.ts";
import type { Viewer } from "../../domain/scope.ts";
import type { Clock } from "../../kit/clock.ts";
import type { AnswerRun, AnswerService } from "../../services/answers.ts";
import type { MemoryService } from "../../services/memories.ts";
import type { InstalledEmbedder } from "../../services/project-models.ts";
import { type Answer, EventBody, type Operation, reading, type WrittenAnswer, writing } from "../operation.ts";
import { NoQuery } from "../schema/fields.ts";
import * as schema from "../schema/openai.ts";
import type { SseEvent } from "../sse.ts";
import { sourceView, type View } from "../views.ts";
import { CHAT_MODELS } from "./chat-models.ts";
import { chatRequestOf } from "./chat-request.ts";
import {
  type Completion,
  CompletionChunks,
  type CompletionHead,
  type CompletionStyle,
  completionView,
} from "./completion.ts";
import { type EmbeddingsDependencies, embeddingsOperation } from "./embeddings.ts";
import { explainChatRefusal, unknownModel } from "./refusals.ts";

/** What the operations call. */
export interface OpenAiDependencies extends EmbeddingsDependencies {
  readonly answers: AnswerService;
  readonly memories: MemoryService;
  readonly clock: Clock;
}

/** When the models were created, in Unix seconds: the day of Mneme's first version. OpenAI requires a time. */
const MODELS_CREATED = Date.UTC(2026, 10, 21) / 1_000;

/** The operations on /v1/models, /v1/chat/completions and /v1/embeddings. */
export function openAiOperations(uses: OpenAiDependencies): readonly Operation[] {
  const { answers, memories, projectModels, clock } = uses;
  const model = (id: string): Answer => {
    const found = modelsOf(projectModels.installed()).find((one) => one.id === id);
    if (found === undefined)
      throw unknownModel(
        id,
        modelsOf(projectModels.installed()).map((one) => one.id),
      );
    return { status: 200, body: found };
  };

  return [
    reading({
      name: "listModels",
      group: "OpenAI",
      summary: "List the models: those for chat completions, then the installed embedding models.",
      method: "GET",
      path: "/v1/models",
      scope: "memories:read",
      query: NoQuery,
      answers: { 200: schema.ModelList },
      conventions: "openai",
      read: async () => ({ status: 200, body: { object: "list", data: modelsOf(projectModels.installed()) } }),
    }),

    reading({
      name: "getModel",
      group: "OpenAI",
      summary: "Read a model.",
      method: "GET",
      path: "/v1/models/:id",
      scope: "memories:read",
      query: NoQuery,
      answers: { 200: schema.Model },
      faults: ["model_not_found"],
      conventions: "openai",
      read: async ({ params }) => model(params.id ?? ""),
    }),

    reading({
      name: "getModelByParts",
      group: "OpenAI",
      summary: "Read a model whose id has a slash that is not percent-encoded, such as `mneme/fast`.",
      method: "GET",
      path: "/v1/models/:id/:mode",
      scope: "memories:read",
      query: NoQuery,
      answers: { 200: schema.Model },
      faults: ["model_not_found"],
      conventions: "openai",
      read: async ({ params }) => model(`${params.id}/${params.mode}`),
    }),

    writing({
      name: "createChatCompletion",
      group: "OpenAI",
      summary: "Answer the last message from the stored memories, with citations.",
      method: "POST",
      path: "/v1/chat/completions",
      scope: "query",
      query: NoQuery,
      body: schema.CreateChatCompletion,
      answers: { 200: schema.ChatCompletion },
      streams: "when asked",
      faults: [
        "invalid_filter",
        "model_not_found",
        "query_quota_exceeded",
        "model_unavailable",
        "llm_error",
        "llm_timeout",
      ],
      isIdempotent: true,
      conventions: "openai",
      explainRefusal: explainChatRefusal,
      write: async (call) => {
        const { principal, body } = call;
        const { question, history, ...asked } = chatRequestOf(principal, body);
        const head = {
          id: `chatcmpl-${crypto.randomUUID()}`,
          created: Math.floor(clock.now() / 1_000),
          model: body.model,
        };
        const run = await answers.ask(principal, question, call, history);
        return writtenCompletion(run, head, styleOf(body, asked));
      },
      replay: async ({ status, body: remembered }, { principal, body }) => {
        const completion = remembered as Completion;
        const asked = body as schema.CreateChatCompletion;
        const { question, ...rest } = chatRequestOf(principal, asked);
        await checkSources(memories, { ...principal, userId: question.userId ?? null }, completion);
        const style = styleOf(asked, rest);
        const isStreamed = asked.stream === true;
        const whole = () => completionView(completion, style);
        return { status, body: isStreamed ? new EventBody(replayedCompletion(completion, style)) : whole() };
      },
    }),

    embeddingsOperation(uses),
  ];
}

function styleOf(
  { stream_options }: schema.CreateChatCompletion,
  { showsSourceList }: Pick<CompletionStyle, "showsSourceList">,
): CompletionStyle {
  return { showsSourceList, includesUsage: stream_options?.include_usage === true };
}

function writtenCompletion(run: AnswerRun, head: CompletionHead, style: CompletionStyle): WrittenAnswer {
  const answer = new AnswerSoFar();
  const chunks = new CompletionChunks(head, style);
  const completion = (): Completion => {
    const { answer: text, sources, state, ending } = answer.whole();
    const tokens = run.spent();
    return { ...head, answer: text, sources: sources.map(sourceView), state, tokens, ending: ending ?? null };
  };
  return {
    events: completionEvents(run.events, answer, chunks),
    store: async (tx) => {
      await run.count(tx);
      return { status: 200, body: completionView(completion(), style), remembered: completion() };
    },
    lastEvents: () => chunks.end(completion()),
    interrupt: run.count,
    release: run.release,
  };
}

async function* completionEvents(
  events: AsyncIterable<AnswerEvent>,
  answer: AnswerSoFar,
  chunks: CompletionChunks,
): AsyncGenerator<SseEvent> {
  for await (const event of events) {
    answer.add(event);
    if (event.type === "text") yield* chunks.text(event.content);
  }
}

async function* replayedCompletion(completion: Completion, style: CompletionStyle): AsyncGenerator<SseEvent> {
  const chunks = new CompletionChunks(completion, style);
  yield* chunks.text(completion.answer);
  yield* chunks.end(completion);
}

/** Refuses to repeat an answer that quotes what the caller may no longer see. @throws Fault `idempotency_conflict` */
async function checkSources(memories: MemoryService, viewer: Viewer, { sources }: Completion): Promise<void> {
  for (const id of new Set(sources.map(({ memory_id }) => memory_id as MemoryId))) {
    if (await memories.isVisible(viewer, id)) continue;
    const param = "Idempotency-Key";
    throw new Fault(
      "idempotency_conflict",
      `This ${param} belongs to an answer whose sources were deleted since; use a new key to ask again.`,
      { param },
    );
  }
}

function modelsOf(embedders: readonly InstalledEmbedder[]): readonly View<typeof schema.Model>[] {
  const head = { object: "model", created: MODELS_CREATED, owned_by: "mneme" } as const;
  return [
    ...CHAT_MODELS.map((id) => ({ id, ...head, mneme: { task: "chat", dimensions: null, tokens_max: null } }) as const),
    ...embedders.map(
      ({ id, dimensions, tokensMax }) =>
        ({ id, ...head, mneme: { task: "embeddings", dimensions, tokens_max: tokensMax } }) as const,
    ),
  ];
}
