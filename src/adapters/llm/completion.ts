// The answer of a chat completion as it comes in: a stream of events or one JSON object, told apart by what is in it, because
// not every endpoint names it rightly. Tolerates what endpoints are known to do: no `[DONE]`, no usage or one on every event,
// no choices in an event, content in parts, comments, an error in the middle.

import { estimatedTokens } from "../../domain/language-model.ts";
import { LlmError, type LlmUsage } from "../../ports/language-model.ts";
import { EventLines } from "./event-lines.ts";

/** Bytes of an answer at most: reasoning that is streamed along is many times the answer itself. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Characters per token that was asked for, at most: words of German or code come to 5 or 6. */
const TOKEN_CHARACTERS_MAX = 8;
/** What is believed of an endpoint's own count of tokens. */
const TOKENS_MAX = 10_000_000;

/** What one event, or the whole answer, says; everything about it is the endpoint's to leave out or get wrong. */
type Reported = { readonly [field: string]: unknown };

/** Collects an answer. */
export class Completion {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #events = new EventLines();
  /** The whole body, where it is one JSON object; null: events. */
  #object: string[] | null = null;
  #hasBegun = false;
  #bytes = 0;
  #text: string[] = [];
  #characters = 0;
  #usage: LlmUsage | null = null;
  #hasFinished = false;
  #hasChoices = false;

  /** @param outputTokensMax what was asked for; an answer of far more is broken off. */
  constructor(private readonly outputTokensMax: number) {}

  /** Takes a part of the body; true: the answer is whole. @throws LlmError `too_long`, `malformed`, `failed` */
  part(bytes: Uint8Array): boolean {
    this.#bytes += bytes.byteLength;
    if (this.#bytes > ANSWER_BYTES_MAX)
      throw new LlmError("too_long", `the answer is beyond ${ANSWER_BYTES_MAX} bytes`);
    return this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * The body has come to its end.
   * @throws LlmError `malformed` when there was no answer in it, `too_long`, `failed`
   */
  end(): void {
    if (this.#take(this.#decoder.decode())) return;
    if (this.#object !== null) this.#report(this.#object.join(""));
    else this.#reportAll(this.#events.end());
    if (!this.#hasChoices) throw new LlmError("malformed", "the endpoint's answer holds no completion");
  }

  /** Whether the model said that it has ended: what is missing then is usage at most. */
  get hasFinished(): boolean {
    return this.#hasFinished;
  }

  get text(): string {
    return this.#text.join("");
  }

  /** As the endpoint says, else estimated; of a broken answer too. Nothing where no answer began. */
  usage(promptTokens: number): LlmUsage {
    if (this.#usage !== null) return this.#usage;
    return this.#bytes === 0
      ? { prompt: 0, completion: 0 }
      : { prompt: promptTokens, completion: estimatedTokens(this.text) };
  }

  #take(text: string): boolean {
    if (!this.#hasBegun) {
      const first = text.trimStart()[0];
      if (first === undefined) return false;
      this.#hasBegun = true;
      if (first === "{") this.#object = [];
    }
    if (this.#object === null) return this.#reportAll(this.#events.take(text));
    this.#object.push(text);
    return false;
  }

  #reportAll(events: readonly string[]): boolean {
    for (const data of events) {
      if (data.trim() === "[DONE]") {
        this.#hasChoices = true;
        return true;
      }
      this.#report(data);
    }
    return false;
  }

  #report(json: string): void {
    const reported = objectOf(parsed(json));
    if (reported === null) throw new LlmError("malformed", "the endpoint's answer is not JSON");
    if (reported.error !== undefined && reported.error !== null) {
      throw new LlmError("failed", `the endpoint reported an error${errorCode(reported)}`);
    }
    this.#usage = usageOf(reported) ?? this.#usage;
    const choice = Array.isArray(reported.choices) ? objectOf(reported.choices[0]) : null;
    if (choice === null) return;
    this.#hasChoices = true;
    if (typeof choice.finish_reason === "string") this.#hasFinished = true;
    const text = textOf((objectOf(choice.delta) ?? objectOf(choice.message))?.content) || textOf(choice.text);
    this.#text.push(text);
    this.#characters += text.length;
    if (this.#characters > this.outputTokensMax * TOKEN_CHARACTERS_MAX) {
      throw new LlmError("too_long", `the answer is far beyond the ${this.outputTokensMax} tokens that were asked for`);
    }
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

function objectOf(value: unknown): Reported | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Reported) : null;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part) => objectOf(part)?.text);
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
