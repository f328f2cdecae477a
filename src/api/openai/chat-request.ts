// Reads the body of a chat completion: which question is asked, with what history, instructions and options.

import type { Turn } from "../../answer/history.ts";
import { Fault } from "../../domain/fault.ts";
import { parseFilter } from "../../domain/filter.ts";
import { LIMITS } from "../../domain/limits.ts";
import { scopeOf } from "../../domain/memory-attributes.ts";
import { userOf, type Viewer } from "../../domain/scope.ts";
import { shortened } from "../../kit/shortened.ts";
import type { Question } from "../../services/answers.ts";
import { parseStorable } from "../body.ts";
import { askedAt, checkAsks } from "../drafts.ts";
import type { CreateChatCompletion, MnemeOptions, TextOptions } from "../schema/openai.ts";
import { modeOf } from "./chat-models.ts";
import { refused } from "./refusals.ts";
import { withoutSourceList } from "./source-list.ts";

/** A chat completion as the services understand it. */
export interface ChatRequest {
  readonly question: Question;
  /** Earlier turns, oldest first. */
  readonly history: readonly Turn[];
  /** Whether the cited sources are appended to the text. */
  readonly showsSourceList: boolean;
}

type Message = CreateChatCompletion["messages"][number];

/**
 * Reads a checked body.
 * @throws Fault `invalid_request`; `invalid_filter`; `insufficient_scope` if a confined viewer names another user
 */
export function chatRequestOf(viewer: Viewer, body: CreateChatCompletion): ChatRequest {
  const { text, history, instructions } = conversationOf(body.messages);
  const options = optionsOf(body);
  const userId = userIdOf(viewer, body.user, options.userId);
  const outputTokensMax = Math.min(
    tokensMaxOf(body.max_tokens, "max_tokens"),
    tokensMaxOf(body.max_completion_tokens, "max_completion_tokens"),
  );
  const question: Question = {
    text,
    mode: chosenMode(body.model, options.mode),
    maxSources: options.maxSources ?? LIMITS.sourcesDefault,
    filter: options.filters === undefined ? null : parseFilter(options.filters, filtersParam(body)),
    includeGraph: options.includeGraph ?? false,
    instructions,
    model: null,
    sampling: {
      ...(body.temperature != null && { temperature: body.temperature }),
      ...(Number.isFinite(outputTokensMax) && { outputTokensMax }),
    },
    ...scopeOf({ ...options, userId }),
    ...askedAt(options, "mneme"),
  };
  return { question, history, showsSourceList: options.sources_as_text === true };
}

function conversationOf(messages: readonly Message[]): {
  readonly text: string;
  readonly history: readonly Turn[];
  readonly instructions: string | null;
} {
  const instructions: string[] = [];
  const turns: Turn[] = [];
  let asked = -1;
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool" || message.role === "function") continue;
    const content = textOf(message);
    if (message.role === "system" || message.role === "developer") {
      if (content.trim() !== "") instructions.push(content);
      continue;
    }
    if (message.role === "assistant" && content.trim() === "") continue; // a call of a tool, or a picture
    turns.push({ role: message.role, content: message.role === "assistant" ? withoutSourceList(content) : content });
    asked = at;
  }
  const question = turns.pop();
  if (question?.role !== "user") {
    throw new Fault(
      "invalid_request",
      "The last message, apart from instructions, must be the user's: it is the question.",
      {
        param: "messages",
      },
    );
  }
  const param = `messages[${asked}].content`;
  checkReadable(messages[asked]?.content, param);
  checkAsks(question.content, param, "ask a question");
  checkLength(question.content, LIMITS.messageCharacters, param, "The question");
  const joined = instructions.join("\n\n");
  checkLength(joined, LIMITS.instructionsCharacters, "messages", "The instructions (system and developer messages)");
  return {
    text: question.content,
    history: turns.slice(-LIMITS.chatTurns),
    instructions: joined === "" ? null : joined,
  };
}

function textOf({ content }: Message): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  return content
    .flatMap(({ type, text }) => (TEXT_PARTS.has(type) && typeof text === "string" ? [text] : []))
    .join("\n");
}

/** Types of parts that are texts, in OpenAI's chat completions and in its API of responses. */
const TEXT_PARTS: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

/** Refuses a question with parts that cannot be read. @throws Fault `invalid_request` */
function checkReadable(content: Message["content"], param: string): void {
  if (!Array.isArray(content)) return;
  for (const [at, { type, text }] of content.entries()) {
    if (TEXT_PARTS.has(type) && typeof text === "string") continue;
    const field = `${param}[${at}].${TEXT_PARTS.has(type) ? "text" : "type"}`;
    const shown = JSON.stringify(shortened(type));
    throw refused(`Only texts can be read, not ${shown}: images, audio and files are not supported.`, field);
  }
}

/**
 * Maximum number of tokens of the answer; infinite for an absent value and -1.
 * @throws Fault `invalid_request` for 0
 */
function tokensMaxOf(value: number | null | undefined, param: string): number {
  if (value === 0) throw new Fault("invalid_request", `'${param}' must be at least 1, or -1 for no limit.`, { param });
  return value === undefined || value === null || value === -1 ? Number.POSITIVE_INFINITY : value;
}

// Refuses a text with too many code points, which the schemas count, too.
function checkLength(text: string, charactersMax: number, param: string, what: string): void {
  if (text.length <= charactersMax) return;
  const characters = text.length > charactersMax * 2 ? text.length : [...text].length;
  if (characters <= charactersMax) return;
  throw new Fault("invalid_request", `${what} must have at most ${charactersMax} characters, not ${characters}.`, {
    param,
  });
}

/** The options from `mneme` and from `metadata`. @throws Fault `invalid_request` if one is given in both */
function optionsOf({ mneme, metadata }: CreateChatCompletion): MnemeOptions {
  if (metadata == null) return mneme ?? {};
  const given: Readonly<Record<string, unknown>> = mneme ?? {};
  const twice = Object.keys(metadata).find((name) => given[name] !== undefined && given[name] !== null);
  if (twice !== undefined) {
    throw new Fault("invalid_request", `'${twice}' is given in 'mneme' and in 'metadata'. Give it once.`, {
      param: `metadata.${twice}`,
    });
  }
  return { ...mneme, ...optionsFromTexts(metadata) };
}

function optionsFromTexts({ filters, maxSources, includeGraph, sources_as_text, ...texts }: TextOptions): MnemeOptions {
  return {
    ...texts,
    ...(filters !== undefined && { filters: filtersFromText(filters) }),
    ...(maxSources !== undefined && { maxSources: maxSourcesFromText(maxSources) }),
    ...(includeGraph !== undefined && { includeGraph: includeGraph === "true" }),
    ...(sources_as_text !== undefined && { sources_as_text: sources_as_text === "true" }),
  };
}

function filtersFromText(text: string): unknown {
  const param = "metadata.filters";
  try {
    return parseStorable(text, param);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid_filter", `'${param}' must be a JSON object, written as text.`, { param, cause });
  }
}

function maxSourcesFromText(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= LIMITS.sources) return number;
  const param = "metadata.maxSources";
  throw new Fault("invalid_request", `'${param}' must be an integer of 1 to ${LIMITS.sources}, written as text.`, {
    param,
  });
}

function filtersParam({ metadata }: CreateChatCompletion): string {
  return metadata?.filters === undefined ? "mneme.filters" : "metadata.filters";
}

function userIdOf(
  viewer: Viewer,
  user: string | null | undefined,
  userId: string | null | undefined,
): string | undefined {
  if (user != null && userId != null && user !== userId) {
    throw new Fault("invalid_request", "'user' and 'userId' name two users. Name one.", { param: "user" });
  }
  return userOf(viewer, user ?? userId, user == null ? "userId" : "user");
}

function chosenMode(model: string, asked: MnemeOptions["mode"]): Question["mode"] {
  const mode = modeOf(model);
  if (mode === null || asked == null || asked === mode) return mode ?? asked ?? null;
  throw new Fault(
    "invalid_request",
    `The model '${model}' searches in another mode than 'mode': use the model 'mneme'.`,
    {
      param: "mneme.mode",
    },
  );
}
