// Event streams: framing, exactly one final event, heartbeats during silence, back-pressure from slow readers, and
// hang-ups that end the work.

import { describe, expect, test } from "bun:test";
import { DATA_ONLY, type EventStreamOptions, eventStream, type SseEvent, type StreamEnd } from "../../src/api/sse.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { until } from "../support/until.ts";

const HEARTBEAT_MS = 5_000;

/** A clock that counts calls of `sleep`. */
class CountingClock extends ManualClock {
  sleeps = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps++;
    return super.sleep(ms, signal);
  }
}

/** The events of one stream as a test received them. */
interface Seen {
  readonly ends: StreamEnd[];
  readonly lateErrors: unknown[];
  readonly clock: CountingClock;
}

function open(events: AsyncIterable<SseEvent>, parts: Partial<EventStreamOptions> = {}) {
  const record: Seen = { ends: [], lateErrors: [], clock: new CountingClock() };
  const stream = eventStream({
    events,
    errorBody: (error) => ({ error: { message: error instanceof Error ? error.message : String(error) } }),
    onEnd: (end) => record.ends.push(end),
    onLateError: (error) => record.lateErrors.push(error),
    clock: record.clock,
    ...parts,
  });
  return { stream, record };
}

const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();
const named = (name: string, data: unknown = {}): SseEvent => ({ name, data });
const done = named("done");
const failed = (message: string): SseEvent => named("error", { error: { message } });

async function* saying(...events: readonly SseEvent[]): AsyncGenerator<SseEvent> {
  yield* events;
}

/** Parses a stream in exactly the format that we write; comments count as events named ":". */
function parse(text: string): readonly SseEvent[] {
  if (text === "") return [];
  expect(text.endsWith("\n\n")).toBe(true);
  return text
    .slice(0, -2)
    .split("\n\n")
    .map((block) => {
      if (block.startsWith(":")) return { name: ":", data: block.slice(1).trim() };
      const found = /^event: ([^\r\n]+)\ndata: ([^\r\n]+)$/.exec(block);
      if (found === null) throw new Error(`not an event: ${JSON.stringify(block)}`);
      return { name: found[1] ?? "", data: JSON.parse(found[2] ?? "") };
    });
}

/** A source of events that a test supplies one at a time. It counts the requests for events. */
class FedEvents implements AsyncIterable<SseEvent>, AsyncIterator<SseEvent> {
  asked = 0;
  returns = 0;
  #answer = Promise.withResolvers<IteratorResult<SseEvent>>();

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<SseEvent>> {
    this.asked++;
    this.#answer = Promise.withResolvers();
    return this.#answer.promise;
  }

  async return(): Promise<IteratorResult<SseEvent>> {
    this.returns++;
    return { done: true, value: undefined };
  }

  give(event: SseEvent): void {
    this.#answer.resolve({ done: false, value: event });
  }

  fail(error: Error): void {
    this.#answer.reject(error);
  }
}

describe("framing", () => {
  test("each event is a name line and a data line, and done comes last", async () => {
    const { stream } = open(saying(named("text", { content: "Hello" }), named("usage", { tokens_used: 0 })));
    expect(await textOf(stream)).toBe(
      'event: text\ndata: {"content":"Hello"}\n\nevent: usage\ndata: {"tokens_used":0}\n\nevent: done\ndata: {}\n\n',
    );
  });

  test("no content breaks the framing", async () => {
    for (const content of [
      "a\nb",
      "a\r\n\r\nb",
      "a\n\nevent: done\ndata: {}\n\n",
      "\u2028\u2029",
      "\0\u0085\ufeff",
      "🎉",
    ]) {
      const { stream } = open(saying(named("text", { content })));
      expect(parse(await textOf(stream))).toEqual([named("text", { content }), done]);
    }
  });

  test("without names, there are data lines only, and [DONE] comes last", async () => {
    const text = await textOf(
      open(saying(named("chunk", { a: "x\n" }), named("done", [1])), { framing: DATA_ONLY }).stream,
    );
    expect(text).toBe('data: {"a":"x\\n"}\n\ndata: [1]\n\ndata: [DONE]\n\n');
  });

  test("without names, an error is a data line, and nothing follows", async () => {
    async function* failing(): AsyncGenerator<SseEvent> {
      yield named("chunk", 1);
      throw new Error("no more");
    }
    const { stream, record } = open(failing(), { framing: DATA_ONLY });
    expect(await textOf(stream)).toBe('data: 1\n\ndata: {"error":{"message":"no more"}}\n\n');
    expect(record.ends).toEqual(["error"]);
  });

  test("half a surrogate pair arrives as an escape, not as another character", async () => {
    const { stream } = open(saying(named("text", { content: "\ud83c" })));
    expect(await textOf(stream)).toContain('{"content":"\\ud83c"}');
  });

  test("one chunk is one event", async () => {
    const { stream } = open(saying(named("text", { content: "one" }), named("text", { content: "two" })));
    const chunks: SseEvent[][] = [];
    for await (const chunk of stream) chunks.push([...parse(new TextDecoder().decode(chunk))]);
    expect(chunks).toEqual([[named("text", { content: "one" })], [named("text", { content: "two" })], [done]]);
  });

  const notEvents: readonly (readonly [string, SseEvent])[] = [
    ["a second done", named("done")],
    ["an error of the source's own", named("error")],
    ["a name of two lines", named("text\nevent: done")],
    ["an empty name", named("")],
    ["no data", { name: "text", data: undefined }],
    ["data that is no JSON", named("text", { content: 1n })],
  ];
  for (const [what, event] of notEvents) {
    test(`an invalid event ends the stream with an error, and closes the source: ${what}`, async () => {
      let isLetGo = false;
      async function* source(): AsyncGenerator<SseEvent> {
        try {
          yield named("text", { content: "a" });
          yield event;
          yield named("text", { content: "never" });
        } finally {
          isLetGo = true;
        }
      }
      const { stream, record } = open(source());
      expect(parse(await textOf(stream)).map(({ name }) => name)).toEqual(["text", "error"]);
      expect(record.ends).toEqual(["error"]);
      expect(isLetGo).toBe(true);
    });
  }
});

describe("the end", () => {
  test("of an empty stream is done", async () => {
    const { stream, record } = open(saying());
    expect(parse(await textOf(stream))).toEqual([done]);
    expect(record.ends).toEqual(["done"]);
  });

  const said = [named("text", { content: "a" }), named("sources", []), named("usage", { tokens_used: 3 })];
  for (const before of [0, 1, 3]) {
    test(`is one error event when the work fails after ${before} of 3 events`, async () => {
      async function* failing(): AsyncGenerator<SseEvent> {
        yield* said.slice(0, before);
        throw new Error("the model went away");
      }
      const { stream, record } = open(failing());
      expect(parse(await textOf(stream))).toEqual([...said.slice(0, before), failed("the model went away")]);
      expect(record).toMatchObject({ ends: ["error"], lateErrors: [] });
    });
  }

  test("is an error event when requesting an event throws synchronously", async () => {
    const events: AsyncIterable<SseEvent> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          throw new Error("at once");
        },
      }),
    };
    expect(parse(await textOf(open(events).stream))).toEqual([failed("at once")]);
  });

  test("leaves no listener and no timer behind", async () => {
    const hangUp = new AbortController();
    const { stream, record } = open(saying(named("text")), { signal: hangUp.signal });
    await textOf(stream);
    hangUp.abort();
    record.clock.advance(HEARTBEAT_MS);
    expect(record).toMatchObject({ ends: ["done"], lateErrors: [] });
  });
});

describe("heartbeats", () => {
  test("fill a wait every 5 s, before the first event and between events, and lose none", async () => {
    const events = new FedEvents();
    const { stream, record } = open(events);
    const reader = stream.getReader();
    const read = async () => parse(new TextDecoder().decode((await reader.read()).value))[0];

    for (let beat = 0; beat < 3; beat++) {
      const heard = read();
      await until("the stream waits", () => record.clock.sleeps > beat);
      record.clock.advance(HEARTBEAT_MS);
      expect(await heard).toEqual({ name: ":", data: "keep-alive" });
    }
    expect(events.asked).toBe(1);

    const first = read();
    events.give(named("text", { content: "at last" }));
    expect(await first).toEqual(named("text", { content: "at last" }));

    const sleeps = record.clock.sleeps;
    const heard = read();
    await until("the stream waits again", () => record.clock.sleeps > sleeps);
    record.clock.advance(HEARTBEAT_MS);
    expect(await heard).toEqual({ name: ":", data: "keep-alive" });
    await reader.cancel();
  });

  test("are not sent early", async () => {
    const events = new FedEvents();
    const { stream, record } = open(events);
    const reader = stream.getReader();
    const heard = reader.read();
    await until("the stream waits", () => record.clock.sleeps > 0);
    record.clock.advance(HEARTBEAT_MS - 1);
    events.give(named("text"));
    expect(parse(new TextDecoder().decode((await heard).value))).toEqual([named("text")]);
    await reader.cancel();
  });

  test("have the configured interval", async () => {
    const { stream, record } = open(new FedEvents(), { heartbeatMs: 20 });
    const reader = stream.getReader();
    const heard = reader.read();
    await until("the stream waits", () => record.clock.sleeps > 0);
    record.clock.advance(20);
    expect(new TextDecoder().decode((await heard).value)).toBe(": keep-alive\n\n");
    await reader.cancel();
  });

  test("a failure between two heartbeats is reported to the next read", async () => {
    const events = new FedEvents();
    const { stream, record } = open(events);
    const reader = stream.getReader();
    const heard = reader.read();
    await until("the stream waits", () => record.clock.sleeps > 0);
    record.clock.advance(HEARTBEAT_MS);
    await heard;
    events.fail(new Error("meanwhile"));
    expect(parse(new TextDecoder().decode((await reader.read()).value))).toEqual([failed("meanwhile")]);
    expect((await reader.read()).done).toBe(true);
    expect(record).toMatchObject({ ends: ["error"], lateErrors: [] });
  });
});

describe("a slow reader", () => {
  test("slows the work: no event is produced before it is requested", async () => {
    let made = 0;
    async function* counting(): AsyncGenerator<SseEvent> {
      while (made < 10) {
        made++;
        yield named("text", { content: String(made) });
      }
    }
    const { stream } = open(counting());
    const reader = stream.getReader();
    await new Promise(setImmediate);
    expect(made).toBe(0);
    for (let reads = 1; reads <= 10; reads++) {
      await reader.read();
      await new Promise(setImmediate);
      expect(made).toBe(reads);
    }
    await reader.read();
    expect((await reader.read()).done).toBe(true);
  });
});

describe("a caller who hangs up", () => {
  test("ends the work in the same turn, by cancelling the stream", async () => {
    const events = new FedEvents();
    const { stream, record } = open(events);
    const reader = stream.getReader();
    const first = reader.read();
    await until("the stream waits", () => events.asked === 1);
    events.give(named("text"));
    await first;
    const cancelled = reader.cancel();
    expect([events.returns, record.ends]).toEqual([1, ["aborted"]]);
    await cancelled;
  });

  test("ends the work in the same turn, by the signal, while an event is awaited", async () => {
    const events = new FedEvents();
    const hangUp = new AbortController();
    const { stream, record } = open(events, { signal: hangUp.signal });
    const reader = stream.getReader();
    const read = reader.read();
    await until("the stream waits", () => events.asked === 1);
    hangUp.abort();
    expect([events.returns, record.ends]).toEqual([1, ["aborted"]]);
    expect(await read).toEqual({ done: true, value: undefined });
    events.give(named("text"));
    await reader.cancel();
    expect(record).toMatchObject({ ends: ["aborted"], lateErrors: [] });
  });

  test("lets a generator clean up", async () => {
    let isLetGo = false;
    async function* source(): AsyncGenerator<SseEvent> {
      try {
        for (;;) yield named("text");
      } finally {
        isLetGo = true;
      }
    }
    const reader = open(source()).stream.getReader();
    await reader.read();
    await reader.cancel();
    expect(isLetGo).toBe(true);
  });

  test("before the start, starts nothing", async () => {
    let isStarted = false;
    async function* source(): AsyncGenerator<SseEvent> {
      isStarted = true;
      yield named("text");
    }
    const { stream, record } = open(source(), { signal: AbortSignal.abort() });
    expect(await textOf(stream)).toBe("");
    expect([isStarted, record.ends]).toEqual([false, ["aborted"]]);
  });

  test("gets no late error, but the log does", async () => {
    const events = new FedEvents();
    const { stream, record } = open(events);
    const reader = stream.getReader();
    const read = reader.read();
    await until("the stream waits", () => events.asked === 1);
    await reader.cancel();
    await read;
    const late = new Error("the model call was aborted");
    events.fail(late);
    await until("the late error", () => record.lateErrors.length > 0);
    expect(record).toMatchObject({ ends: ["aborted"], lateErrors: [late] });
  });

  test("in the same turn in which the work fails: no error event is written", async () => {
    const events = new FedEvents();
    const hangUp = new AbortController();
    let bodies = 0;
    const errorBody = () => {
      bodies++;
      return {};
    };
    const { stream, record } = open(events, { signal: hangUp.signal, errorBody });
    const read = stream.getReader().read();
    await until("the stream waits", () => events.asked === 1);
    const late = new Error("at the same time");
    events.fail(late);
    hangUp.abort();
    expect(await read).toEqual({ done: true, value: undefined });
    await until("the late error", () => record.lateErrors.length > 0);
    expect([bodies, record.ends, record.lateErrors]).toEqual([0, ["aborted"], [late]]);
  });

  test("is noticed over HTTP while the work waits", async () => {
    const events = new FedEvents();
    const ended = Promise.withResolvers<StreamEnd>();
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) =>
        new Response(
          open(events, { signal: request.signal, onEnd: ended.resolve, clock: systemClock, heartbeatMs: 10 }).stream,
          { headers: { "content-type": "text/event-stream" } },
        ),
    });
    const hangUp = new AbortController();
    const response = await fetch(server.url, { signal: hangUp.signal });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toStartWith(": keep-alive\n\n");
    hangUp.abort();
    expect(await ended.promise).toBe("aborted");
    expect(events.returns).toBe(1);
  });
});
