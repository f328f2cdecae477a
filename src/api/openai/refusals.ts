// Explains why a body is refused, where the schema alone would give an unclear message: unsupported parameters of
// OpenAI, unknown models, and tokens instead of texts.

import { Fault } from "../../domain/fault.ts";
import { shortened } from "../../kit/shortened.ts";
import { CHAT_MODELS } from "./chat-models.ts";

type Fields = Readonly<Record<string, unknown>>;

const TOOLS = "Tools and functions are not supported: answers come from the memories, and nothing is called.";
const TEXT_ANSWERS = "Answers are text: other modalities are not supported.";
const ANY_SCHEMA = "Answers are text with citations: JSON and other formats are not supported.";
const PROBABILITIES = "Log probabilities are not supported: quoted answers have none.";

/** Parameters that are refused unless they have a value without effect, with the reason. */
const UNSUPPORTED: readonly (readonly [name: string, isHarmless: (value: unknown) => boolean, reason: string])[] = [
  ["tools", isEmptyList, TOOLS],
  ["functions", isEmptyList, TOOLS],
  ["tool_choice", isOneOf("none", "auto"), TOOLS],
  ["function_call", isOneOf("none", "auto"), TOOLS],
  ["n", isOneOf(1), "One answer is given per request: 'n' must be 1."],
  ["logprobs", isOneOf(false), PROBABILITIES],
  ["top_logprobs", isOneOf(), PROBABILITIES],
  ["response_format", (value) => fieldsOf(value).type === "text", ANY_SCHEMA],
  ["modalities", (value) => Array.isArray(value) && value.every((one) => one === "text"), TEXT_ANSWERS],
  ["audio", isOneOf(), TEXT_ANSWERS],
  ["web_search_options", isOneOf(), "The web is not searched: answers come from the memories."],
  ["moderation", isOneOf(), "Moderation is not supported."],
];

/** The reason why the body of a chat completion is refused; null if the schema's own message is clear. */
export function explainChatRefusal(body: unknown): Fault | null {
  const fields = fieldsOf(body);
  const { model } = fields;
  if (typeof model === "string" && !CHAT_MODELS.includes(model)) return unknownModel(model, CHAT_MODELS);
  for (const [name, isHarmless, reason] of UNSUPPORTED) {
    const value = fields[name];
    if (value !== undefined && value !== null && !isHarmless(value)) return refused(reason, name);
  }
  return null;
}

/** The reason why the body of an embeddings request is refused; null if the schema's own message is clear. */
export function explainEmbeddingsRefusal(body: unknown): Fault | null {
  const { input } = fieldsOf(body);
  const isOfTokens = Array.isArray(input) && input.some((one) => typeof one === "number" || Array.isArray(one));
  if (!isOfTokens) return null;
  return new Fault(
    "invalid_request",
    "'input' must be texts: numbers of tokens cannot be read, because they belong to the tokeniser of another model.",
    { param: "input" },
  );
}

/** The error for a model that an operation does not have. */
export function unknownModel(model: string, known: readonly string[]): Fault {
  return new Fault(
    "model_not_found",
    `There is no model ${JSON.stringify(shortened(model))} for this operation. There are: ${known.join(", ")}.`,
    { param: "model" },
  );
}

/** The error for a field that is not supported. */
export function refused(reason: string, param: string): Fault {
  return new Fault("invalid_request", `'${param}' is not supported. ${reason}`, { param });
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isOneOf(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
