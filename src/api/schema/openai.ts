// Requests and answers of the routes that clients of OpenAI call: /v1/models, /v1/chat/completions, /v1/embeddings.
// Fields that OpenAI defines have its names and meanings; `mneme` holds what is added.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { MODE_NAMES } from "../../domain/ranking.ts";
import { FAULT_CODES } from "../catalogue.ts";
import { Text } from "../check.ts";
import { CHAT_MODELS } from "../openai/chat-models.ts";
import { ERROR_TYPES } from "../openai/errors.ts";
import { scopeFields, scopeParameters } from "./attributes.ts";
import {
  AskedTimeZone,
  AsOf,
  Body,
  CallerId,
  Filters,
  JsonMap,
  MaxSources,
  Mode,
  Nullable,
  OneOf,
  Optional,
  Query,
} from "./fields.ts";
import { AnswerState, SearchResult } from "./memories.ts";

const IGNORED = "accepted and ignored";

/** An optional field that is accepted, checked by type, and has no effect. */
function Ignored(schema: TSchema) {
  return Optional(Type.Unsafe<unknown>({ ...schema, description: IGNORED }));
}

/** The body of every error on these routes. */
export const OpenAiErrorAnswer = Type.Object(
  {
    error: Type.Object({
      message: Text({ description: "what is wrong, and what would be right" }),
      type: OneOf(ERROR_TYPES),
      param: Nullable(Text({ description: "the field that is wrong" })),
      code: OneOf(FAULT_CODES, "see the table of error codes"),
      retry_after_seconds: Type.Optional(Type.Integer()),
    }),
  },
  { $id: "OpenAiError" },
);

/** A model. */
export const Model = Type.Object(
  {
    id: Text(),
    object: Type.Literal("model"),
    created: Type.Integer({ description: "Unix seconds" }),
    owned_by: Text(),
    mneme: Type.Object({
      task: OneOf(["chat", "embeddings"]),
      dimensions: Nullable(Type.Integer({ description: "of an embedding model" })),
      tokens_max: Nullable(Type.Integer({ description: "tokens that an embedding model reads of a text" })),
    }),
  },
  { $id: "Model" },
);
/** The list of models. */
export const ModelList = Type.Object({ object: Type.Literal("list"), data: Type.Array(Model) }, { $id: "ModelList" });

/** A part of a message. Of parts that are not texts, only the type is checked. */
const ContentPart = Type.Object({ type: Text(), text: Type.Optional(Nullable(Text())) });
const NOTHING = "null or empty: tools are not supported";

const ChatMessage = Body({
  role: OneOf(
    ["system", "developer", "user", "assistant", "tool", "function"],
    "`system` and `developer` hold instructions, results of tools are skipped; the last other message must be the user's, and is the question",
  ),
  content: Optional(
    Type.Union([Text(), Type.Array(ContentPart)], {
      description:
        "a text, or parts: those of the types text, input_text and output_text are joined, others are skipped in earlier messages and refused in the question",
    }),
  ),
  name: Ignored(Text()),
  refusal: Ignored(Text()),
  annotations: Ignored(Type.Array(Type.Unknown())),
  reasoning_content: Ignored(Text()),
  audio: Ignored(Type.Unknown()),
  function_call: Ignored(Type.Unknown()),
  tool_calls: Ignored(Type.Array(Type.Unknown())),
  tool_call_id: Ignored(Text()),
});

/** What is added to OpenAI's request; the same fields as those of queryMemories. */
const MnemeOptions = Body({
  filters: Type.Optional(Filters),
  mode: Optional(Mode),
  maxSources: Optional(MaxSources),
  ...scopeFields,
  asOf: Optional(AsOf),
  time_zone: Optional(AskedTimeZone),
  includeGraph: Optional(Type.Boolean({ default: false, description: "adds neighbours from the knowledge graph" })),
  sources_as_text: Optional(
    Type.Boolean({
      default: false,
      description: "appends the cited sources to the text, for clients without citations",
    }),
  ),
});
/** Checked options of a completion. */
export type MnemeOptions = Static<typeof MnemeOptions>;

const TrueOrFalse = OneOf(["true", "false"]);
/** The same options for clients that cannot send `mneme`. All are texts, because OpenAI's `metadata` has only texts. */
const TextOptions = Body({
  filters: Type.Optional(Text({ maxLength: LIMITS.filterTextCharacters, description: "the filters as JSON" })),
  mode: Type.Optional(OneOf(MODE_NAMES)),
  maxSources: Type.Optional(Text({ minLength: 1, maxLength: 2, description: `a number, 1 to ${LIMITS.sources}` })),
  ...Query(scopeParameters).properties,
  asOf: Type.Optional(AsOf),
  time_zone: Type.Optional(AskedTimeZone),
  includeGraph: Type.Optional(TrueOrFalse),
  sources_as_text: Type.Optional(TrueOrFalse),
});
/** Checked options of a completion, as texts. */
export type TextOptions = Static<typeof TextOptions>;

/** Body of createChatCompletion. */
export const CreateChatCompletion = Body({
  model: OneOf(CHAT_MODELS, "the search mode; `mneme` is the project's `default_mode`"),
  messages: Type.Array(ChatMessage, { minItems: 1, maxItems: LIMITS.completionMessages }),
  stream: Optional(Type.Boolean({ default: false, description: "true: Server-Sent Events" })),
  stream_options: Optional(
    Body({
      include_usage: Optional(Type.Boolean({ description: "true: the last chunk has the usage" })),
      include_obfuscation: Ignored(Type.Boolean()),
    }),
  ),
  user: Optional({ ...CallerId, description: "the `userId` whose memories are searched; default: the whole project" }),
  mneme: Optional(MnemeOptions),
  metadata: Optional({ ...TextOptions, description: "the options of `mneme` as texts" }),
  temperature: Optional(Type.Number({ minimum: 0, maximum: 2, description: "of the language model" })),
  max_tokens: Optional(
    Type.Integer({
      minimum: -1,
      description: "of the language model's answer; at most the project's limit, which -1 stands for",
    }),
  ),
  max_completion_tokens: Optional(Type.Integer({ minimum: -1, description: "the newer name of `max_tokens`" })),
  n: Optional(Type.Integer({ minimum: 1, maximum: 1, description: "one answer only" })),
  logprobs: Optional(Type.Literal(false, { description: "not supported" })),
  response_format: Optional(Body({ type: Type.Literal("text", { description: "text only" }) })),
  modalities: Optional(Type.Array(Type.Literal("text"), { description: "text only" })),
  tools: Optional(Type.Array(Type.Unknown(), { maxItems: 0, description: NOTHING })),
  functions: Optional(Type.Array(Type.Unknown(), { maxItems: 0, description: NOTHING })),
  tool_choice: Optional(OneOf(["none", "auto"], IGNORED)),
  function_call: Optional(OneOf(["none", "auto"], IGNORED)),
  audio: Type.Optional(Type.Null({ description: "not supported" })),
  moderation: Type.Optional(Type.Null({ description: "not supported" })),
  top_logprobs: Type.Optional(Type.Null({ description: "not supported" })),
  web_search_options: Type.Optional(Type.Null({ description: "not supported" })),
  frequency_penalty: Ignored(Type.Number()),
  logit_bias: Ignored(JsonMap),
  parallel_tool_calls: Ignored(Type.Boolean()),
  prediction: Ignored(JsonMap),
  presence_penalty: Ignored(Type.Number()),
  prompt_cache_key: Ignored(Text()),
  prompt_cache_options: Ignored(JsonMap),
  prompt_cache_retention: Ignored(Text()),
  reasoning_effort: Ignored(Text()),
  safety_identifier: Ignored(Text()),
  seed: Ignored(Type.Integer()),
  service_tier: Ignored(Text()),
  stop: Ignored(Type.Union([Text(), Type.Array(Text())])),
  store: Ignored(Type.Boolean()),
  top_p: Ignored(Type.Number()),
  verbosity: Ignored(Text()),
});
/** A checked body of createChatCompletion. */
export type CreateChatCompletion = Static<typeof CreateChatCompletion>;

const Annotation = Type.Object({
  type: Type.Literal("url_citation"),
  url_citation: Type.Object({
    start_index: Type.Integer({ description: "of the mark [n] in the text, in code points" }),
    end_index: Type.Integer({ description: "behind the mark" }),
    title: Text(),
    url: Text({ description: "`metadata.url` of the memory, or the path of the memory in this API" }),
  }),
});
const Sources = Type.Object({ sources: Type.Array(SearchResult), answer_state: AnswerState });
const FinishReason = OneOf(["stop", "length", "content_filter"]);
const CompletionUsage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer({ description: "0 without a language model" }),
});
const head = {
  id: Text({ description: "the id of the completion" }),
  created: Type.Integer({ description: "Unix seconds" }),
  model: Text(),
};

/** Answer of createChatCompletion. */
export const ChatCompletion = Type.Object(
  {
    ...head,
    object: Type.Literal("chat.completion"),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: Type.Object({
          role: Type.Literal("assistant"),
          content: Text(),
          refusal: Type.Null(),
          annotations: Type.Array(Annotation),
        }),
        logprobs: Type.Null(),
        finish_reason: FinishReason,
      }),
    ),
    usage: CompletionUsage,
    mneme: Sources,
  },
  { $id: "ChatCompletion" },
);

/** One chunk of a streamed completion. */
export const ChatCompletionChunk = Type.Object(
  {
    ...head,
    object: Type.Literal("chat.completion.chunk"),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        delta: Type.Object({
          role: Type.Optional(Type.Literal("assistant")),
          content: Type.Optional(Text()),
          annotations: Type.Optional(Type.Array(Annotation)),
        }),
        logprobs: Type.Null(),
        finish_reason: Nullable(FinishReason),
      }),
    ),
    usage: Type.Optional(Nullable(CompletionUsage)),
    mneme: Type.Optional(Sources),
  },
  { $id: "ChatCompletionChunk" },
);

const EmbeddedText = Text({ minLength: 1 });

/** Body of createEmbeddings. */
export const CreateEmbeddings = Body({
  model: Text({ minLength: 1, description: "id of an embedding model; `GET /models` lists them" }),
  input: Type.Union([EmbeddedText, Type.Array(EmbeddedText, { minItems: 1, maxItems: LIMITS.embeddedTexts })], {
    description: "a text, or several",
  }),
  encoding_format: Optional(OneOf(["float", "base64"], "`base64`: 32-bit floats, little-endian; default `float`")),
  dimensions: Optional(Type.Integer({ minimum: 1, description: "only the length of the model's vectors" })),
  input_type: Optional(
    OneOf(["query", "passage"], "what the texts are for, which decides their prefix; default `passage`"),
  ),
  truncate: Optional(
    Type.Boolean({ default: false, description: "true: cuts off texts that are too long for the model" }),
  ),
  user: Optional({ ...CallerId, description: "has no effect, as nothing is stored or read" }),
});

/** Answer of createEmbeddings. */
export const Embeddings = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(
      Type.Object({
        object: Type.Literal("embedding"),
        index: Type.Integer(),
        embedding: Type.Union([Type.Array(Type.Number()), Text({ description: "base64" })]),
      }),
    ),
    model: Text(),
    usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
  },
  { $id: "Embeddings" },
);
