// Streamed answers: the events of queries and chat messages, and the chunks of chat completions.

import type { ChatCompletionChunk, ErrorEvent, QueryResult, SearchResult, StreamEvent } from "./core/index.ts";
import { apiError, errorParts, MnemeError, StreamError } from "./errors.ts";
import { BrokenStream, readEvents, type SentEvent } from "./sse.ts";
import type { OpenStream } from "./transport.ts";

/** An event of a streamed answer. Failures are thrown, so that no event stands for one. */
export type AnswerEvent = Exclude<StreamEvent, ErrorEvent>;

/** Longest silence in a stream in milliseconds. The server sends a sign of life every 5 s. */
const SILENCE_MS_MAX = 30_000;

/** A stream that can be read once. Leaving the loop ends the connection, and with it the work of the server. */
abstract class AnswerReader<Event> implements AsyncIterable<Event> {
  /** Id of the request in the server's log. */
  readonly requestId: string | null;
  readonly #stream: OpenStream;
  #isRead = false;

  constructor(stream: OpenStream) {
    this.#stream = stream;
    this.requestId = stream.requestId;
  }

  /**
   * The events as they arrive.
   * @throws StreamError if the stream breaks off or is damaged; ApiError if the server reports a failure; MnemeError if
   *   it was read before
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    if (this.#isRead) throw new MnemeError("A stream can be read only once.");
    this.#isRead = true;
    let text = "";
    try {
      for await (const sent of readEvents(this.#stream.body, SILENCE_MS_MAX)) {
        const event = this.eventOf(sent, text);
        if (this.hasEnded) return;
        if (event === null) continue;
        text += this.textOf(event);
        yield event;
        if (this.isEnd(event)) return;
      }
      throw new BrokenStream("it ended before the answer was complete");
    } catch (error) {
      if (error instanceof MnemeError || isAbort(error)) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new StreamError(`The stream broke off: ${reason}.`, text, { cause: error });
    } finally {
      this.#stream.close();
    }
  }

  /** Ends the connection without reading the rest. */
  cancel(): void {
    this.#isRead = true;
    this.#stream.close();
  }

  /** Whether the stream has said without an event that it is complete: by `[DONE]`. */
  protected hasEnded = false;
  /** Converts an event; null if this version does not know it. */
  protected abstract eventOf(sent: SentEvent, textSoFar: string): Event | null;
  protected abstract textOf(event: Event): string;
  protected abstract isEnd(event: Event): boolean;

  protected parsed(data: string, textSoFar: string): unknown {
    try {
      return JSON.parse(data);
    } catch (error) {
      throw new StreamError(`The stream has a damaged event: ${data.slice(0, 100)}`, textSoFar, { cause: error });
    }
  }

  /** Throws the failure that the server reports. */
  protected fail(body: unknown): never {
    throw apiError(errorParts({ status: 500, requestId: this.requestId, retryAfter: null }, body));
  }
}

/** The answer to a query or a chat message, as it is written. */
export class AnswerStream extends AnswerReader<AnswerEvent> {
  /** Reads the rest, and returns the whole answer. */
  async result(): Promise<QueryResult> {
    let answer = "";
    let sources: SearchResult[] = [];
    let usage: QueryResult["usage"] & Pick<QueryResult, "answer_state" | "evidence"> = { tokens_used: 0 };
    for await (const event of this) {
      if (event.event === "text") answer += event.data.content;
      else if (event.event === "sources") sources = event.data;
      else if (event.event === "usage") usage = event.data;
    }
    const { tokens_used, ...more } = usage;
    return { answer, ...more, sources, usage: { tokens_used } };
  }

  protected eventOf({ name, data }: SentEvent, textSoFar: string): AnswerEvent | null {
    if (name === "error") this.fail(this.parsed(data, textSoFar));
    if (!["text", "sources", "usage", "done"].includes(name)) return null;
    const event = { event: name, data: this.parsed(data, textSoFar) } as AnswerEvent;
    if (isSound(event)) return event;
    throw new StreamError(`The stream has a damaged event: ${name} ${data.slice(0, 100)}`, textSoFar);
  }

  protected textOf(event: AnswerEvent): string {
    return event.event === "text" ? event.data.content : "";
  }

  protected isEnd(event: AnswerEvent): boolean {
    return event.event === "done";
  }
}

/** A chat completion, as it is written. */
export class CompletionStream extends AnswerReader<ChatCompletionChunk> {
  protected eventOf({ data }: SentEvent, textSoFar: string): ChatCompletionChunk | null {
    if (data === "[DONE]") {
      this.hasEnded = true;
      return null;
    }
    const chunk = this.parsed(data, textSoFar) as ChatCompletionChunk;
    if (typeof chunk === "object" && chunk !== null && "error" in chunk) this.fail(chunk);
    if (Array.isArray(chunk?.choices)) return chunk;
    throw new StreamError(`The stream has a damaged chunk: ${data.slice(0, 100)}`, textSoFar);
  }

  protected textOf({ choices }: ChatCompletionChunk): string {
    return choices.map(({ delta }) => delta.content ?? "").join("");
  }

  protected isEnd(): boolean {
    return false;
  }
}

function isSound({ event, data }: AnswerEvent): boolean {
  if (event === "text") return typeof data?.content === "string";
  if (event === "sources") return Array.isArray(data);
  if (event === "usage") return typeof data?.tokens_used === "number";
  return true;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
