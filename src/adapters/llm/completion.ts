// Parses the response of a chat completion as it arrives: a stream of events or a single JSON object. The first
// character decides which one it is, because some endpoints send a wrong content type. Known deviations of endpoints
// are tolerated: no `[DONE]`, usage missing or on every event, events without choices, content in parts, comments, an
// error mid-stream. Reasoning inside the text is removed by answer-text.ts.

import { estimatedTokens, estimatedTokensOfBytes } from "../../domain/language-model.ts";
import { isRecord, type JsonRecord, parsedJson } from "../../kit/record.ts";
import { type LlmEnding, LlmError, type LlmRequest, type LlmUsage } from "../../ports/language-model.ts";
import { AnswerText } from "./answer-text.ts";
import { EventLines } from "./event-lines.ts";

/**
 * Maximum size in bytes of an event or JSON object, which is buffered until it is complete. Also the size that a body
 * may have besides its tokens.
 */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Maximum number of bytes of the body per requested token. OpenAI sends about 300; Azure, with its filter results on
 * each event, about 800.
 */
const TOKEN_BYTES_MAX = 1024;
/** Maximum size of a body in bytes, whatever number of tokens was requested. */
const LONGEST_ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of characters of the answer per requested token. German words and code reach 5 or 6. */
const TOKEN_CHARACTERS_MAX = 8;
/** Maximum token count that is accepted from an endpoint. Larger ones are implausible and are ignored. */
const TOKENS_MAX = 10_000_000;

/** Values of `finish_reason` which mean that the model did not finish by itself. Any other value means that it did. */
const ENDINGS: Readonly<Record<string, LlmEnding | "broken">> = {
  length: "length",
  max_tokens: "length",
  content_filter: "withheld",
  refusal: "withheld",
  error: "broken",
  abort: "broken",
};

/** Incremental parser of one response. */
export class Completion {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #events = new EventLines();
  readonly #answerText = new AnswerText();
  readonly #bytesMax: number;
  /** Pieces of the body if it is a single JSON object; null if it is a stream of events. */
  #object: string[] | null = null;
  #hasBegun = false;
  #bytes = 0;
  /** Length of the text so far, including reasoning inside it. */
  #characters = 0;
  /**
   * Number of UTF-8 bytes that the model wrote, including reasoning. If the endpoint reports no usage, it is estimated
   * from this number.
   */
  #writtenBytes = 0;
  #usage: LlmUsage | null = null;
  #ending: LlmEnding | null = null;
  #isRefused = false;
  #hasChoices = false;
  #isComplete = false;

  /** The size limits are computed from the number of tokens that the request allows. */
  constructor(private readonly request: Pick<LlmRequest, "messages" | "outputTokensMax">) {
    this.#bytesMax = Math.min(ANSWER_BYTES_MAX + request.outputTokensMax * TOKEN_BYTES_MAX, LONGEST_ANSWER_BYTES_MAX);
  }

  /**
   * Parses the next part of the body and yields its texts, none of them empty.
   * @throws LlmError `too_long` beyond the size limits, `malformed` if an event is not JSON, `failed` if the endpoint
   *   reports an error
   */
  *push(bytes: Uint8Array): Generator<string, void> {
    this.#bytes += bytes.byteLength;
    if (this.#bytes > this.#bytesMax) throw tooLong(`${this.#bytesMax} bytes`);
    yield* this.#parse(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * Parses the end of the body and yields the text that was still held back.
   * @throws LlmError `malformed` if the body contained no completion, `failed` if it was cut off, `too_long` beyond the
   *   size limits
   */
  *end(): Generator<string, void> {
    yield* this.#parse(this.#decoder.decode());
    if (this.#isComplete) return;
    if (this.#object === null) yield* this.#reportAll(this.#events.end(), false);
    else {
      yield* this.#report(this.#object.join(""));
      this.#isComplete = this.#hasChoices;
    }
    if (this.#isComplete) return yield* this.#flush();
    if (!this.#hasChoices) throw new LlmError("malformed", "the endpoint's answer contains no completion");
    if (!this.hasFinished) throw new LlmError("failed", "the answer ended before the model had finished");
  }

  /** Whether the model reported its end. After that, at most the usage is missing. */
  get hasFinished(): boolean {
    return this.#ending !== null || this.#isComplete;
  }

  /** Whether the response is complete, so that nothing more needs to be read. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Why the answer ended. */
  get ending(): LlmEnding {
    return this.#isRefused ? "withheld" : (this.#ending ?? "model");
  }

  /**
   * Token counts as reported by the endpoint, otherwise estimated, also for a cut-off answer. Zero if no answer began.
   */
  get usage(): LlmUsage {
    if (this.#usage !== null) return this.#usage;
    if (this.#bytes === 0) return { prompt: 0, completion: 0 };
    const prompt = this.request.messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
    return { prompt, completion: estimatedTokensOfBytes(this.#writtenBytes) };
  }

  *#parse(text: string): Generator<string, void> {
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
    yield* this.#reportAll(this.#events.push(text), true);
    if (this.#events.bufferedCharacters > ANSWER_BYTES_MAX)
      throw tooLong(`${ANSWER_BYTES_MAX} characters in one event`);
  }

  // The last event may lack its blank line. It may also be cut off, so it counts only if it is valid JSON.
  *#reportAll(events: readonly string[], areTerminated: boolean): Generator<string, void> {
    for (const data of events) {
      if (data.trim() === "[DONE]") {
        this.#hasChoices = true;
        this.#isComplete = true;
        return yield* this.#flush();
      }
      if (areTerminated || parsedJson(data) !== undefined) yield* this.#report(data);
    }
  }

  *#report(json: string): Generator<string, void> {
    const reported = objectOf(parsedJson(json));
    if (reported === null) throw new LlmError("malformed", "the endpoint's answer is not JSON");
    if (isError(reported)) throw new LlmError("failed", `the endpoint reported an error${errorCode(reported)}`);
    this.#usage = usageOf(reported) ?? this.#usage;
    const choice = Array.isArray(reported.choices) ? objectOf(reported.choices[0]) : null;
    if (choice === null) return;
    this.#hasChoices = true;
    const ending = endingOf(choice.finish_reason);
    if (ending === "broken") throw new LlmError("failed", "the endpoint aborted the answer");
    this.#ending = ending ?? this.#ending;
    // yielded as one text, so that `hasFinished` is already true when the caller receives the last text
    const text = this.#answerText.push(this.#textOfChoice(choice)) + (ending === null ? "" : this.#answerText.end());
    if (text !== "") yield text;
  }

  #textOfChoice(choice: JsonRecord): string {
    const message = objectOf(choice.delta) ?? objectOf(choice.message);
    const refusal = textOf(message?.refusal);
    if (refusal !== "") this.#isRefused = true;
    const text = textOf(message?.content) || refusal || textOf(choice.text);
    const reasoning = textOf(message?.reasoning_content) || textOf(message?.reasoning);
    this.#writtenBytes += Buffer.byteLength(text, "utf8") + Buffer.byteLength(reasoning, "utf8");
    this.#characters += text.length;
    const { outputTokensMax } = this.request;
    if (this.#characters > outputTokensMax * TOKEN_CHARACTERS_MAX) {
      throw new LlmError("too_long", `the answer is much longer than the ${outputTokensMax} tokens requested`);
    }
    return text;
  }

  *#flush(): Generator<string, void> {
    const text = this.#answerText.end();
    if (text !== "") yield text;
  }
}

/**
 * The error code in an error body, formatted to follow a sentence: ` (model_not_found)`; empty if there is none. The
 * error's message is left out because it may repeat keys and texts.
 */
export function errorCode(body: unknown): string {
  const error = objectOf(objectOf(body)?.error) ?? objectOf(body);
  const code = [error?.code, error?.type].find((name) => typeof name === "string" && /^[a-z][a-z_]{2,40}$/.test(name));
  return code === undefined ? "" : ` (${code})`;
}

function tooLong(bound: string): LlmError {
  return new LlmError("too_long", `the answer exceeds ${bound}`);
}

// Nearly every server sends `{"error": …}`; older ones send `{"object": "error", …}`.
function isError({ error, object }: JsonRecord): boolean {
  return (error !== undefined && error !== null) || object === "error";
}

// Returns null while the answer continues. Some servers send an empty reason, or the word "null", with every event.
function endingOf(reason: unknown): LlmEnding | "broken" | null {
  if (typeof reason !== "string" || reason === "" || reason === "null") return null;
  return Object.hasOwn(ENDINGS, reason) ? (ENDINGS[reason] ?? "model") : "model";
}

function objectOf(value: unknown): JsonRecord | null {
  return isRecord(value) ? value : null;
}

// Skips parts of other types: images, and the model's reasoning.
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part) => {
    const { type = "text", text } = objectOf(part) ?? {};
    return type === "text" || type === "output_text" ? text : "";
  });
  return texts.filter((text) => typeof text === "string").join("");
}

function usageOf({ usage }: JsonRecord): LlmUsage | null {
  const counts = objectOf(usage);
  if (counts === null) return null;
  const [prompt, completion] = [counts.prompt_tokens, counts.completion_tokens ?? 0];
  return isCount(prompt) && isCount(completion) ? { prompt, completion } : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= TOKENS_MAX;
}
