// The answer of a chat completion as it comes in: a stream of events or one JSON object, told apart by what is in it, because
// not every endpoint names it rightly. Tolerates what endpoints are known to do: no `[DONE]`, no usage or one on every event,
// no choices in an event, content in parts, comments, an error in the middle. What of a text is the answer is spoken.ts.

import { estimatedTokens, estimatedTokensOf } from "../../domain/language-model.ts";
import { type LlmEnding, LlmError, type LlmRequest, type LlmUsage } from "../../ports/language-model.ts";
import { EventLines } from "./event-lines.ts";
import { SpokenText } from "./spoken.ts";

/** Bytes of an answer at most beside what each token may take, and of one event or object, which is held until it is whole. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes that a token's event takes at most: OpenAI's take some 300, Azure's, with a verdict of its filters on each, some 800. */
const TOKEN_BYTES_MAX = 1024;
/** Bytes of any answer at most, however many tokens are asked for. */
const LONGEST_ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Characters per token that was asked for, at most: words of German or code come to 5 or 6. */
const TOKEN_CHARACTERS_MAX = 8;
/** What is believed of an endpoint's own count of tokens. */
const TOKENS_MAX = 10_000_000;

/** What `finish_reason` says of an answer that did not end by itself; anything else is the model's own end. */
const ENDINGS: Readonly<Record<string, LlmEnding | "broken">> = {
  length: "length",
  max_tokens: "length",
  content_filter: "withheld",
  refusal: "withheld",
  error: "broken",
  abort: "broken",
};

/** What one event, or the whole answer, says; everything about it is the endpoint's to leave out or get wrong. */
type Reported = { readonly [field: string]: unknown };

/** Reads an answer. */
export class Completion {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #events = new EventLines();
  readonly #spoken = new SpokenText();
  readonly #bytesMax: number;
  /** The whole body, where it is one JSON object; null: events. */
  #object: string[] | null = null;
  #hasBegun = false;
  #bytes = 0;
  /** Of the answer and what was thought in its text. */
  #characters = 0;
  /** UTF-8 of all that the model wrote: what it is charged for, where the endpoint does not say. */
  #writtenBytes = 0;
  #usage: LlmUsage | null = null;
  #ending: LlmEnding | null = null;
  #isRefused = false;
  #hasChoices = false;
  #isWhole = false;

  /** An answer of far more than the request asks for is broken off. */
  constructor(private readonly request: Pick<LlmRequest, "messages" | "outputTokensMax">) {
    this.#bytesMax = Math.min(ANSWER_BYTES_MAX + request.outputTokensMax * TOKEN_BYTES_MAX, LONGEST_ANSWER_BYTES_MAX);
  }

  /** Takes a part of the body, and gives the texts in it, none of them empty. @throws LlmError `too_long`, `malformed`, `failed` */
  *take(bytes: Uint8Array): Generator<string, void> {
    this.#bytes += bytes.byteLength;
    if (this.#bytes > this.#bytesMax) throw tooLong(`${this.#bytesMax} bytes`);
    yield* this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * The body has come to its end.
   * @throws LlmError `malformed` when there was no answer in it, `failed` when it was not whole, `too_long`
   */
  *end(): Generator<string, void> {
    yield* this.#take(this.#decoder.decode());
    if (this.#isWhole) return;
    if (this.#object === null) yield* this.#reportAll(this.#events.end(), false);
    else {
      yield* this.#report(this.#object.join(""));
      this.#isWhole = this.#hasChoices;
    }
    if (this.#isWhole) return yield* this.#held();
    if (!this.#hasChoices) throw new LlmError("malformed", "the endpoint's answer holds no completion");
    if (!this.hasFinished) throw new LlmError("failed", "the answer broke off before the model had ended");
  }

  /** Whether the model said that it has ended: what is missing then is usage at most. */
  get hasFinished(): boolean {
    return this.#ending !== null || this.#isWhole;
  }

  /** Whether nothing more is to come. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Why the text ended. */
  get ending(): LlmEnding {
    return this.#isRefused ? "withheld" : (this.#ending ?? "model");
  }

  /** As the endpoint says, else estimated; of a broken answer too. Nothing where no answer began. */
  get usage(): LlmUsage {
    if (this.#usage !== null) return this.#usage;
    if (this.#bytes === 0) return { prompt: 0, completion: 0 };
    const prompt = this.request.messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
    return { prompt, completion: estimatedTokensOf(this.#writtenBytes) };
  }

  *#take(text: string): Generator<string, void> {
    if (!this.#hasBegun) {
      const first = text.trimStart()[0];
      if (first === undefined) return;
      this.#hasBegun = true;
      if (first === "{") this.#object = [];
    }
    if (this.#object !== null) {
      if (this.#bytes > ANSWER_BYTES_MAX) throw tooLong(`${ANSWER_BYTES_MAX} bytes`);
      this.#object.push(text);
      return;
    }
    yield* this.#reportAll(this.#events.take(text), true);
    if (this.#events.held > ANSWER_BYTES_MAX) throw tooLong(`${ANSWER_BYTES_MAX} characters in one event`);
  }

  // An event that its blank line does not end may be cut off in the middle: then it is as if it had not begun.
  *#reportAll(events: readonly string[], areEnded: boolean): Generator<string, void> {
    for (const data of events) {
      if (data.trim() === "[DONE]") {
        this.#hasChoices = true;
        this.#isWhole = true;
        return yield* this.#held();
      }
      if (areEnded || parsed(data) !== undefined) yield* this.#report(data);
    }
  }

  *#report(json: string): Generator<string, void> {
    const reported = objectOf(parsed(json));
    if (reported === null) throw new LlmError("malformed", "the endpoint's answer is not JSON");
    if (isError(reported)) throw new LlmError("failed", `the endpoint reported an error${errorCode(reported)}`);
    this.#usage = usageOf(reported) ?? this.#usage;
    const choice = Array.isArray(reported.choices) ? objectOf(reported.choices[0]) : null;
    if (choice === null) return;
    this.#hasChoices = true;
    const ending = endingOf(choice.finish_reason);
    if (ending === "broken") throw new LlmError("failed", "the endpoint broke the answer off");
    this.#ending = ending ?? this.#ending;
    // one text, so that the last one is out once the model is known to have ended
    const text = this.#spoken.take(this.#written(choice)) + (ending === null ? "" : this.#spoken.end());
    if (text !== "") yield text;
  }

  #written(choice: Reported): string {
    const message = objectOf(choice.delta) ?? objectOf(choice.message);
    const refusal = textOf(message?.refusal);
    if (refusal !== "") this.#isRefused = true;
    const text = textOf(message?.content) || refusal || textOf(choice.text);
    const thought = textOf(message?.reasoning_content) || textOf(message?.reasoning);
    this.#writtenBytes += Buffer.byteLength(text, "utf8") + Buffer.byteLength(thought, "utf8");
    this.#characters += text.length;
    const { outputTokensMax } = this.request;
    if (this.#characters > outputTokensMax * TOKEN_CHARACTERS_MAX) {
      throw new LlmError("too_long", `the answer is far beyond the ${outputTokensMax} tokens that were asked for`);
    }
    return text;
  }

  *#held(): Generator<string, void> {
    const text = this.#spoken.end();
    if (text !== "") yield text;
  }
}

/**
 * The code that the body of an error names, to stand behind a sentence: ` (model_not_found)`. Empty where there is none: the
 * message itself may repeat keys and texts.
 */
export function errorCode(body: unknown): string {
  const error = objectOf(objectOf(body)?.error) ?? objectOf(body);
  const code = [error?.code, error?.type].find((name) => typeof name === "string" && /^[a-z][a-z_]{2,40}$/.test(name));
  return code === undefined ? "" : ` (${code})`;
}

/** The value of a JSON text; undefined for what is none. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function tooLong(bound: string): LlmError {
  return new LlmError("too_long", `the answer is beyond ${bound}`);
}

// `{"error": …}` nearly everywhere, `{"object": "error", …}` from older servers.
function isError({ error, object }: Reported): boolean {
  return (error !== undefined && error !== null) || object === "error";
}

// null: not at its end. Some servers send an empty reason, or the word null, with every event.
function endingOf(reason: unknown): LlmEnding | "broken" | null {
  if (typeof reason !== "string" || reason === "" || reason === "null") return null;
  return Object.hasOwn(ENDINGS, reason) ? (ENDINGS[reason] ?? "model") : "model";
}

function objectOf(value: unknown): Reported | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Reported) : null;
}

// Parts of other types are images, and what the model thought.
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part) => {
    const { type = "text", text } = objectOf(part) ?? {};
    return type === "text" || type === "output_text" ? text : "";
  });
  return texts.filter((text) => typeof text === "string").join("");
}

function usageOf({ usage }: Reported): LlmUsage | null {
  const counts = objectOf(usage);
  if (counts === null) return null;
  const [prompt, completion] = [counts.prompt_tokens, counts.completion_tokens ?? 0];
  return isCount(prompt) && isCount(completion) ? { prompt, completion } : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= TOKENS_MAX;
}
