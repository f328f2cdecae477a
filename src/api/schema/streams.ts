// Schemas of the events in streamed answers. In the OpenAPI document, the schema under `text/event-stream` describes a
// single event: its fields are the fields of the event, and `data` is the parsed JSON.

import { type TSchema, Type } from "@sinclair/typebox";
import { Text } from "../check.ts";
import { ErrorAnswer } from "./errors.ts";
import { AnswerState, Evidence, SearchResult, TokensUsed } from "./memories.ts";
import { ChatCompletionChunk, OpenAiErrorAnswer } from "./openai.ts";

function NamedEvent<Data extends TSchema>(id: string, event: string, data: Data, description: string) {
  return Type.Object({ event: Type.Literal(event), data }, { $id: id, description });
}

const TextEvent = NamedEvent("TextEvent", "text", Type.Object({ content: Text() }), "a piece of the answer");
const SourcesEvent = NamedEvent(
  "SourcesEvent",
  "sources",
  Type.Array(SearchResult),
  "the passages behind the answer, cited ones first",
);
const UsageEvent = NamedEvent(
  "UsageEvent",
  "usage",
  Type.Object({ ...TokensUsed.properties, answer_state: AnswerState, evidence: Type.Optional(Evidence) }),
  "tokens of the language model, the state of the answer, and the evidence of a query",
);
const DoneEvent = NamedEvent("DoneEvent", "done", Type.Object({}, { maxProperties: 0 }), "the answer is complete");
const ErrorEvent = NamedEvent("ErrorEvent", "error", ErrorAnswer, "a failure, instead of the remaining events");

/** One event of a streamed answer. */
export const StreamEvent = Type.Union([TextEvent, SourcesEvent, UsageEvent, DoneEvent, ErrorEvent], {
  $id: "StreamEvent",
  description:
    "one Server-Sent Event: any number of `text`, then `sources`, `usage` and `done`; after a failure `error` instead of the remaining ones",
});

/** One event of a streamed chat completion. The events have no names. */
export const ChatCompletionEvent = Type.Object(
  { data: Type.Union([ChatCompletionChunk, Type.Literal("[DONE]"), OpenAiErrorAnswer]) },
  {
    $id: "ChatCompletionEvent",
    description:
      "one Server-Sent Event without a name: any number of chunks, then `[DONE]`, which is not JSON; after a failure an error instead of the remaining ones",
  },
);
