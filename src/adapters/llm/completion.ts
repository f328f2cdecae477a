// Parses a response as it arrives: a stream of events, a single JSON object, or an object per line. The first
// character distinguishes the first two, because some endpoints send a wrong content type. The protocol (such as
// openai.ts) says what an object means. Reasoning inside the text is removed by answer-text.ts.

import { estimatedTokens, estimatedTokensOfBytes } from "../../domain/language-model.ts";
import { parsedJson, recordOrNull } from "../../kit/record.ts";
import { type LlmEnding, LlmError, type LlmRequest, type LlmUsage } from "../../ports/language-model.ts";
import { AnswerText } from "./answer-text.ts";
import { EventLines } from "./event-lines.ts";
import { JsonLines } from "./json-lines.ts";
import { errorCode, type Protocol, type Reported } from "./protocol.ts";

/**
 * Maximum size in bytes of an event or JSON object, which is buffered until it is complete. A body may also have this
 * many bytes besides those of its tokens.
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

/** Incremental parser of one response. */
export class Completion {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #messages: EventLines | JsonLines;
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
  /** Token counts that the endpoint reported so far. */
  #counts: Partial<LlmUsage> = {};
  #ending: LlmEnding | null = null;
  #isRefused = false;
  #hasAnswer = false;
  #isComplete = false;

  /** The size limits are computed from the number of tokens that the request allows. */
  constructor(
    private readonly request: Pick<LlmRequest, "messages" | "outputTokensMax">,
    private readonly protocol: Protocol,
  ) {
    this.#messages = protocol.framing === "lines" ? new JsonLines() : new EventLines();
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
    if (this.#object === null) yield* this.#reportAll(this.#messages.end(), false);
    else {
      yield* this.#report(this.#object.join(""));
      this.#isComplete = this.#hasAnswer;
    }
    if (this.#isComplete) return yield* this.#flush();
    if (!this.#hasAnswer) throw new LlmError("malformed", "the endpoint's answer contains no completion");
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
    if (this.#bytes === 0) return { prompt: 0, completion: 0 };
    const { prompt, completion } = this.#counts;
    return {
      prompt: prompt ?? this.request.messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0),
      completion: completion ?? estimatedTokensOfBytes(this.#writtenBytes),
    };
  }

  *#parse(text: string): Generator<string, void> {
    if (!this.#hasBegun) {
      const first = text.trimStart()[0];
      if (first === undefined) return;
      this.#hasBegun = true;
      if (first === "{" && this.protocol.framing === "events") this.#object = [];
    }
    if (this.#object !== null) {
      if (this.#bytes > ANSWER_BYTES_MAX) throw tooLong(`${ANSWER_BYTES_MAX} bytes`);
      this.#object.push(text);
      return;
    }
    yield* this.#reportAll(this.#messages.push(text), true);
    if (this.#messages.bufferedCharacters > ANSWER_BYTES_MAX)
      throw tooLong(`${ANSWER_BYTES_MAX} characters in one event`);
  }

  // The last event may lack its blank line. It may also be cut off, so it counts only if it is valid JSON.
  *#reportAll(events: readonly string[], areTerminated: boolean): Generator<string, void> {
    for (const data of events) {
      if (this.#isComplete) return;
      if (data.trim() === "[DONE]") {
        this.#hasAnswer = true;
        this.#isComplete = true;
        return yield* this.#flush();
      }
      if (areTerminated || parsedJson(data) !== undefined) yield* this.#report(data);
    }
  }

  *#report(json: string): Generator<string, void> {
    const message = recordOrNull(parsedJson(json));
    if (message === null) throw new LlmError("malformed", "the endpoint's answer is not JSON");
    const reported = this.protocol.read(message);
    if (reported.isError) throw new LlmError("failed", `the endpoint reported an error${errorCode(message)}`);
    this.#counts = { ...this.#counts, ...reported.usage };
    if (!reported.isAnswer) return;
    this.#hasAnswer = true;
    const { ending = null, isEnd = false } = reported;
    if (ending === "broken") throw new LlmError("failed", "the endpoint aborted the answer");
    this.#ending = ending ?? this.#ending;
    // yielded as one text, so that `hasFinished` is already true when the caller receives the last text
    const text = this.#answerText.push(this.#textIn(reported)) + (ending === null ? "" : this.#answerText.end());
    if (isEnd) this.#isComplete = true;
    if (text !== "") yield text;
    if (isEnd) yield* this.#flush();
  }

  #textIn({ text = "", reasoning = "", isRefused = false }: Reported): string {
    if (isRefused) this.#isRefused = true;
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

function tooLong(bound: string): LlmError {
  return new LlmError("too_long", `the answer exceeds ${bound}`);
}
