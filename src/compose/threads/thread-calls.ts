// Calls between two threads, over a port for messages. Each end can call the other one, send it notes, and answer its
// calls. A call takes only 3 to 8 µs for both ends together (Bun 1.4.5, 2 cores), so a thread can ask the main thread
// for everything that all threads must share.

import { receivedError, type SentError, sentError } from "./thread-errors.ts";

/** What both a Worker and its parent's port can do. */
export interface MessageEnd {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  on(event: "message", listener: (message: Message) => void): unknown;
}

/** A call of the other end that is being answered. */
export interface ReceivedCall {
  /** Number of the call. With this number, the caller gives back what the call has given it. */
  readonly id: number;
  /** Aborts when the caller gives up, or when its thread has ended. */
  readonly signal: AbortSignal;
  /** Sends a part of the answer before its end. */
  emit(part: unknown, transfer?: readonly ArrayBuffer[]): void;
  /** Sets what is called with each message that the caller sends to this call. Call it before the first `await`. */
  listen(listener: (message: unknown) => void): void;
}

/** Answers calls, by their names. */
export type Answers = Readonly<Record<string, (given: never, call: ReceivedCall) => unknown>>;

/** How to call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with each part of the answer before its end, and a function that sends a message to the call. */
  readonly onPart?:
    | ((part: never, send: (message: unknown, transfer?: readonly ArrayBuffer[]) => void) => void)
    | undefined;
  /** Called when the call begins, with a function that sends a message to it. */
  readonly onBegin?: ((send: (message: unknown) => void) => void) | undefined;
  /** Memory that is handed over instead of being copied. */
  readonly transfer?: readonly ArrayBuffer[] | undefined;
  /** Whether the call gives the caller something, which it holds until it notes `release` with the call's number. */
  readonly holds?: boolean | undefined;
}

/** What a message means. `part`: to the caller, before the end of its call; `more`: to the thread that answers. */
type Kind = "call" | "note" | "result" | "failure" | "abort" | "part" | "more";
type Message = readonly [kind: Kind, callId: number, first?: unknown, second?: unknown];

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly onPart: CallOptions["onPart"];
}

/** One end of the calls between two threads. */
export class ThreadCalls {
  readonly #waiting = new Map<number, Waiting>();
  readonly #answering = new Map<number, AnsweredCall>();
  #lastId = 0;
  #isEnded = false;

  /** @param onFailure receives errors of notes, which nobody waits for */
  constructor(
    private readonly end: MessageEnd,
    private readonly answers: Answers,
    private readonly onFailure: (error: unknown) => void,
  ) {
    end.on("message", (message) => this.#receive(message));
  }

  /** Calls the other end. @throws what it throws; the abort reason of `signal`; Error if its thread has ended */
  call<Result>(
    name: string,
    given: unknown,
    { signal, onPart, onBegin, transfer, holds = false }: CallOptions = {},
  ): Promise<Result> {
    if (this.#isEnded) return Promise.reject(ended());
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject, onPart });
    this.end.postMessage(["call", id, name, given], transfer);
    onBegin?.((message) => this.end.postMessage(["more", id, message]));
    if (signal === undefined) return promise as Promise<Result>;
    const abort = () => {
      if (!this.#waiting.delete(id)) return;
      // The other end may have answered before it learns of this.
      if (holds) this.#waiting.set(id, { resolve: () => this.note("release", id), reject: () => undefined, onPart });
      this.end.postMessage(["abort", id]);
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", abort)) as Promise<Result>;
  }

  /** Tells the other end something. Messages arrive in the order in which they were sent. */
  note(name: string, given: unknown): void {
    if (!this.#isEnded) this.end.postMessage(["note", 0, name, given]);
  }

  /** Ends all calls: those of this end fail, those of the other end are aborted. Its thread has ended. */
  close(): void {
    this.#isEnded = true;
    for (const { reject } of this.#waiting.values()) reject(ended());
    this.#waiting.clear();
    for (const call of this.#answering.values()) call.abort();
    this.#answering.clear();
  }

  #receive([kind, id, first, second]: Message): void {
    switch (kind) {
      case "call":
        void this.#answer(id, first as string, second);
        return;
      case "note":
        void this.#take(first as string, second);
        return;
      case "result":
        this.#settle(id)?.resolve(first);
        return;
      case "failure":
        this.#settle(id)?.reject(receivedError(first as SentError));
        return;
      case "abort":
        this.#answering.get(id)?.abort();
        return;
      case "part":
        this.#waiting
          .get(id)
          ?.onPart?.(first as never, (message, transfer) => this.end.postMessage(["more", id, message], transfer));
        return;
      case "more":
        this.#answering.get(id)?.add(first);
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  async #answer(id: number, name: string, given: unknown): Promise<void> {
    const call = new AnsweredCall(id, (part, transfer) => this.end.postMessage(["part", id, part], transfer));
    this.#answering.set(id, call);
    try {
      const result = await this.answers[name]?.(given as never, call);
      this.end.postMessage(["result", id, result]);
    } catch (error) {
      this.end.postMessage(["failure", id, sentError(error)]);
    } finally {
      this.#answering.delete(id);
    }
  }

  async #take(name: string, given: unknown): Promise<void> {
    try {
      await this.answers[name]?.(given as never, new AnsweredCall(0, () => undefined));
    } catch (error) {
      this.onFailure(error);
    }
  }
}

class AnsweredCall implements ReceivedCall {
  #controller: AbortController | null = null;
  #isAborted = false;
  #listener: (message: unknown) => void = () => undefined;

  constructor(
    readonly id: number,
    readonly emit: ReceivedCall["emit"],
  ) {}

  // A getter, because most calls need no signal, and creating one takes as long as the rest of a call.
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort(aborted());
    return this.#controller.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort(aborted());
  }

  listen(listener: (message: unknown) => void): void {
    this.#listener = listener;
  }

  add(message: unknown): void {
    this.#listener(message);
  }
}

function aborted(): DOMException {
  return new DOMException("the caller gave up", "AbortError");
}

function ended(): Error {
  return new Error("the other thread has ended");
}
