// Streaming of a language model call: text arrives immediately and no faster than it is consumed, every stream has
// exactly one end, and the connection is closed as soon as the consumer stops.

import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { countCalls } from "../../src/adapters/llm/call-metrics.ts";
import type { LlmTimeouts } from "../../src/adapters/llm/call-timer.ts";
import { Metrics } from "../../src/metrics.ts";
import type { LlmEnding, LlmFailure, LlmRequest } from "../../src/ports/language-model.ts";
import type { Respond } from "../outbound/receiver.ts";
import { delta, event } from "../support/llm.ts";
import { seeded } from "../support/seeded.ts";
import { until } from "../support/until.ts";
import {
  CHUNKED,
  failureOf,
  HEAD,
  model,
  NEVER,
  PATIENT,
  QUICK,
  rawEndpoint,
  request,
  STALLED,
  streamed,
} from "./client-helpers.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function endpoint(respond: Respond) {
  const raw = await rawEndpoint(respond);
  cleanups.push(() => raw.close());
  return raw;
}

/** Reads a stream whose endpoint sends status 200 and these bytes, then closes the connection. */
async function readOf(body: string | Uint8Array, more: Partial<LlmRequest> = {}) {
  const { baseUrl } = await endpoint((socket) => {
    socket.write(HEAD);
    socket.end(body);
  });
  return streamed(model().stream(request(baseUrl, more), NEVER));
}

const ended = (reason: unknown = "stop", fields: object = {}) =>
  event({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });
const DONE = event("[DONE]");
const USAGE = { prompt_tokens: 7, completion_tokens: 3 };

describe("text", () => {
  test("is passed on before the rest was sent", async () => {
    const sockets: Socket[] = [];
    const { baseUrl } = await endpoint((socket) => {
      sockets.push(socket);
      socket.write(HEAD + event(delta("one ")));
    });
    const fragments = model().stream(request(baseUrl), NEVER);
    expect(await fragments.next()).toEqual({ value: { type: "text", text: "one " }, done: false });
    sockets[0]?.write(event(delta("two")));
    expect(await fragments.next()).toEqual({ value: { type: "text", text: "two" }, done: false });
    sockets[0]?.write(ended() + event({ choices: [], usage: USAGE }) + DONE);
    expect(await fragments.next()).toEqual({
      value: { type: "usage", usage: { prompt: 7, completion: 3 }, ending: "model" },
      done: false,
    });
    expect((await fragments.next()).done).toBe(true);
  });

  test("is the same wherever the parts are cut", async () => {
    const body = Buffer.from(event(delta("ü€😀")) + ended());
    const { baseUrl } = await endpoint((socket, head) => {
      const at = Number(/^POST \/v1\/(\d+)\//.exec(head)?.[1]);
      socket.setNoDelay(true);
      socket.write(Buffer.concat([Buffer.from(HEAD), body.subarray(0, at)]), () => socket.end(body.subarray(at)));
    });
    const texts = await Promise.all(
      Array.from({ length: body.length }, async (_, at) => {
        const { texts } = await streamed(model().stream(request(`${baseUrl}/${at}`), NEVER));
        return texts.join("");
      }),
    );
    expect(new Set(texts)).toEqual(new Set(["ü€😀"]));
  });

  const cases: readonly (readonly [name: string, body: string, text: string])[] = [
    [
      "with CRLF, comments, other fields and no space",
      `: hi\r\n\r\nevent: x\r\nid: 1\r\ndata:${data(delta("a"))}\r\n\r\n${ended()}`,
      "a",
    ],
    ["with lines that end with CR only", (event(delta("a")) + ended()).replaceAll("\n", "\r"), "a"],
    ["without [DONE]", event(delta("a")) + ended(), "a"],
    ["without a finish reason, but with [DONE]", event(delta("a")) + DONE, "a"],
    [
      "with empty finish reasons before the end",
      event({ choices: [{ delta: { content: "a" }, finish_reason: "" }] }) + event(delta("b")) + DONE,
      "ab",
    ],
    [
      "with a first event that has only a role",
      event({ choices: [{ delta: { role: "assistant" } }] }) + event(delta("a")) + DONE,
      "a",
    ],
    ["with null as content", event({ choices: [{ delta: { content: null } }] }) + event(delta("a")) + DONE, "a"],
    ["with empty choices, and none", event({ choices: [] }) + event({ id: 1 }) + event(delta("a")) + DONE, "a"],
    [
      "in parts, one of them reasoning",
      event({
        choices: [
          {
            delta: {
              content: [
                { type: "thinking", text: "hm" },
                { type: "text", text: "a" },
              ],
            },
          },
        ],
      }) + DONE,
      "a",
    ],
    [
      "after reasoning",
      event({ choices: [{ delta: { reasoning_content: "hm" } }] }) +
        event({ choices: [{ delta: { reasoning: "hm", content: "" } }] }) +
        event(delta("a")) +
        DONE,
      "a",
    ],
    [
      "after reasoning in the text",
      event(delta("<th")) + event(delta("ink>hm</think")) + event(delta(">\n\na")) + DONE,
      "a",
    ],
    ["that ends like the beginning of a tag", event(delta("<th")) + ended(), "<th"],
    [
      "with tool calls",
      event({ choices: [{ delta: { tool_calls: [{ function: { name: "rm", arguments: "{}" } }] } }] }) +
        event(delta("a")) +
        ended("tool_calls"),
      "a",
    ],
    ["as one object", JSON.stringify({ choices: [{ message: { content: "a" } }] }), "a"],
    [
      "with a character in two events",
      `data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude00"}}]}\n\n${DONE}`,
      "😀",
    ],
    ["that is empty", ended(), ""],
    ["over a connection that was cut after its end", `${event(delta("a"))}${ended()}data: {"choi`, "a"],
  ];
  for (const [name, body, text] of cases) {
    test(`${name}: is parsed`, async () => {
      const { texts, end } = await readOf(body);
      expect({ text: texts.join(""), end }).toMatchObject({ text, end: { ending: "model" } });
    });
  }
});

describe("usage comes once, at the end", () => {
  const cases: readonly (readonly [name: string, body: string, usage: object])[] = [
    [
      "if none is reported: estimated, reasoning included",
      event(delta("<think>1234</think>eight by")) + DONE,
      { prompt: 6, completion: 7 },
    ],
    [
      "with the last event",
      event(delta("a")) + event({ choices: [], usage: USAGE }) + DONE,
      { prompt: 7, completion: 3 },
    ],
    [
      "with every event: the last counts",
      event({ ...delta("a"), usage: { prompt_tokens: 7, completion_tokens: 1 } }) +
        event({ ...delta("b"), usage: USAGE }) +
        DONE,
      { prompt: 7, completion: 3 },
    ],
    [
      "after the finish reason",
      event(delta("a")) + ended() + event({ choices: [], usage: USAGE }) + DONE,
      { prompt: 7, completion: 3 },
    ],
  ];
  for (const [name, body, usage] of cases) {
    test(name, async () => expect((await readOf(body)).end?.usage).toEqual(usage as never));
  }
});

describe("why a text ended", () => {
  const refusal = event({ choices: [{ delta: { refusal: "I can't." } }] });
  const cases: readonly (readonly [name: string, body: string, ending: LlmEnding, text: string])[] = [
    ["by itself", event(delta("a")) + ended("stop"), "model", "a"],
    ["at its length", event(delta("a")) + ended("length"), "length", "a"],
    ["by a filter", event(delta("a")) + ended("content_filter"), "withheld", "a"],
    ["with a refusal, whose text is the answer", refusal + ended("stop"), "withheld", "I can't."],
    ["for an unknown reason", event(delta("a")) + ended("constructor"), "model", "a"],
  ];
  for (const [name, body, ending, text] of cases) {
    test(name, async () => {
      const { texts, end } = await readOf(body);
      expect([texts.join(""), end?.ending]).toEqual([text, ending]);
    });
  }
});

describe("an incomplete stream fails after the text that it contained", () => {
  const cases: readonly (readonly [name: string, respond: Respond, reason: LlmFailure, text: string])[] = [
    ["closed without an end", bytes(HEAD + event(delta("a"))), "failed", "a"],
    ["closed within an event", bytes(`${HEAD}${event(delta("a"))}data: {"choices":[{"de`), "failed", "a"],
    ["closed within a chunked body", bytes(`${CHUNKED}${inChunk(event(delta("a")))}`), "failed", "a"],
    ["reset", (socket) => socket.write(HEAD + event(delta("a")), () => socket.resetAndDestroy()), "failed", "a"],
    ["silent in the middle", (socket) => socket.write(HEAD + event(delta("a"))), "timed_out", "a"],
    ["silent before the first byte", () => undefined, "timed_out", ""],
    ["silent after the headers", (socket) => socket.write(HEAD), "timed_out", ""],
    [
      "with an error in the middle",
      bytes(HEAD + event(delta("a")) + event({ error: { code: "boom" } })),
      "failed",
      "a",
    ],
    ["with an error of an older server", bytes(HEAD + event(delta("a")) + event({ object: "error" })), "failed", "a"],
    [
      "with an error that is a string",
      bytes(HEAD + event(delta("a")) + event({ error: "out of memory" })),
      "failed",
      "a",
    ],
    ["aborted by its server", bytes(HEAD + event(delta("a")) + ended("abort")), "failed", "a"],
    ["with nonsense in the middle", bytes(HEAD + event(delta("a")) + event("{oops")), "malformed", "a"],
    ["with an HTML page", bytes(`${HEAD}<html><body>Welcome</body></html>`), "malformed", ""],
    ["with random bytes", bytes(Buffer.concat([Buffer.from(HEAD), randomBytes(10_000)])), "malformed", ""],
    ["with an empty body", bytes(HEAD), "malformed", ""],
    ["with far more text", bytes(HEAD + event(delta("a")) + event(delta("x".repeat(900)))), "too_long", "a"],
    ["with one huge event", bytes(`${HEAD}${event(delta("a"))}data: ${"x".repeat(5 * 1024 * 1024)}`), "too_long", "a"],
    ["with status 401", bytes("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"), "refused", ""],
    ["with status 404", bytes("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), "refused", ""],
    ["with status 500", bytes("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), "failed", ""],
  ];
  for (const [name, respond, reason, text] of cases) {
    test(`${name}: ${reason}`, async () => {
      const { baseUrl } = await endpoint(respond);
      const timeouts = reason !== "timed_out" ? PATIENT : text === "" ? QUICK : STALLED;
      const { texts, failure } = await streamed(model({ timeouts }).stream(request(baseUrl), NEVER));
      expect([texts.join(""), failure?.reason]).toEqual([text, reason]);
      if (text !== "") expect(failure?.usage).toEqual({ prompt: 6, completion: expect.any(Number) as number });
    });
  }

  test("without a connection: fails within the connection timeout, resolving and TLS included", async () => {
    const timeouts = { ...PATIENT, connectMs: 100 };
    const unresolved = model({ timeouts, resolve: () => new Promise(() => undefined) });
    const asked = request("http://llm.example/v1", {}, { isTrusted: false });
    const message = "no connection was established within 0.1 s";
    expect(await failureOf(unresolved.complete(asked, NEVER))).toMatchObject({ reason: "timed_out", message });
    const { baseUrl } = await endpoint(() => undefined);
    const encrypted = request(baseUrl.replace("http:", "https:"));
    expect(await failureOf(model({ timeouts }).complete(encrypted, NEVER))).toMatchObject({
      reason: "timed_out",
      message,
    });
  });
});

describe("a slow reader", () => {
  test("gets no more than it takes, and the endpoint's timeouts do not apply meanwhile", async () => {
    const line = (at: number) => `${at} ${"x".repeat(1_000)}\n`;
    const count = 30_000;
    let sent = 0;
    const { baseUrl } = await endpoint((socket) => {
      socket.write(HEAD);
      const pump = () => {
        for (; sent < count; sent++) {
          if (socket.write(event(delta(line(sent))))) continue;
          sent++;
          socket.once("drain", pump);
          return;
        }
        socket.end(ended());
      };
      pump();
    });
    const timeouts = STALLED;
    const asked = request(baseUrl, { outputTokensMax: 4_000_000 });
    const fragments = model({ timeouts }).stream(asked, NEVER);
    expect((await fragments.next()).value).toEqual({ type: "text", text: line(0) });
    let [seen, looks] = [-1, 0];
    // so many checks without progress take longer than the idle timeout
    const enough = timeouts.idleMs / 15;
    await until("nothing more is sent", () => {
      looks = sent === seen ? looks + 1 : 0;
      seen = sent;
      return looks >= enough;
    });
    expect(sent).toBeLessThan(count / 2);
    let at = 1;
    for await (const fragment of fragments) {
      if (fragment.type === "text" && fragment.text !== line(at++)) throw new Error(`line ${at - 1} is another`);
    }
    expect(at).toBe(count);
  });

  test("is ended by the timeout for the whole call", async () => {
    const raw = await endpoint((socket) => socket.write(HEAD + event(delta("a")) + event(delta("b"))));
    const fragments = model({ timeouts: { ...PATIENT, totalMs: 200 } }).stream(request(raw.baseUrl), NEVER);
    const read = async () => {
      await fragments.next(); // on a machine that stood still, the time is over before
      await until("the connection is closed", () => raw.open() === 0);
      await fragments.next();
    };
    expect((await failureOf(read())).reason).toBe("timed_out");
    await until("the connection is closed", () => raw.open() === 0);
  });
});

describe("a consumer that stops reading", () => {
  const talking: Respond = (socket) => socket.write(HEAD + event(delta("a")) + event(delta("b")));

  test("by leaving the loop closes the connection", async () => {
    const raw = await endpoint(talking);
    for await (const fragment of model().stream(request(raw.baseUrl), NEVER)) {
      expect(fragment).toEqual({ type: "text", text: "a" });
      break;
    }
    await until("the connection is closed", () => raw.open() === 0);
  });

  for (const [name, respond] of [
    ["silent endpoint", () => undefined],
    ["stalled stream", talking],
  ] as const) {
    test(`by return() while a ${name} is pending closes the connection, and the pending request ends`, async () => {
      const raw = await endpoint(respond);
      const fragments = model().stream(request(raw.baseUrl), NEVER);
      const pending = [fragments.next(), fragments.next(), fragments.next()];
      await until("the endpoint is asked", () => raw.received() !== "");
      await fragments.return();
      expect((await Promise.all(pending)).at(-1)).toEqual({ value: undefined, done: true });
      await until("the connection is closed", () => raw.open() === 0);
      expect(await fragments.next()).toEqual({ value: undefined, done: true });
    });
  }

  test("by the signal closes the connection, and the next fragment is the error with the usage", async () => {
    const raw = await endpoint(talking);
    const stop = new AbortController();
    const fragments = model().stream(request(raw.baseUrl), stop.signal);
    await fragments.next();
    stop.abort();
    await until("the connection is closed", () => raw.open() === 0);
    const failure = await failureOf(fragments.next());
    expect(failure).toMatchObject({ reason: "stopped", usage: { prompt: 6, completion: 1 } });
    expect(await fragments.next()).toEqual({ value: undefined, done: true });
  });

  test("before the first fragment was requested has sent nothing", async () => {
    const raw = await endpoint(talking);
    await model().stream(request(raw.baseUrl), NEVER).return();
    expect(raw.connections()).toBe(0);
  });

  test("is counted with the tokens so far", async () => {
    const raw = await endpoint(talking);
    const metrics = new Metrics();
    for await (const _ of countCalls(model(), metrics).stream(request(raw.baseUrl), NEVER)) break;
    const lines = (await metrics.text()).split("\n");
    expect(lines).toContain('mneme_llm_calls_total{outcome="stopped"} 1');
    expect(lines).toContain('mneme_llm_tokens_total{kind="prompt"} 6');
    expect(lines).toContain('mneme_llm_first_text_seconds_count{purpose="ingestion"} 1');
  });

  test("a thousand times, at any point and in any way, leaves no connection, timer or memory behind", async () => {
    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_123);
    const random = seeded(seed);
    const timers = new Set<Timer>();
    const raw = await endpoint((socket) => {
      let at = 0;
      const pieces = [
        HEAD.slice(0, 20),
        HEAD.slice(20),
        ...Array.from({ length: 20 }, (_, n) => event(delta(`${n} `))),
      ];
      const timer = setInterval(() => {
        const piece = pieces[at++];
        if (piece !== undefined && socket.writable) socket.write(piece);
      }, 1);
      timers.add(timer);
      socket.on("close", () => {
        clearInterval(timer);
        timers.delete(timer);
      });
    });
    const client = model();
    const hangUp = async () => {
      const stop = new AbortController();
      const fragments = client.stream(request(raw.baseUrl), stop.signal);
      const [after, how] = [Math.floor(random() * 12), random()];
      for (let at = 0; at < after; at++) await fragments.next();
      if (how < 0.3) await fragments.return();
      else if (how < 0.6) {
        const pending = fragments.next();
        await fragments.return();
        await pending;
      } else {
        const pending = how < 0.8 ? fragments.next() : null;
        stop.abort();
        expect((await failureOf(pending ?? fragments.next())).reason).toBe("stopped");
      }
    };
    const round = async (calls: number) => {
      let left = calls;
      const worker = async () => {
        while (left-- > 0) await hangUp();
      };
      await Promise.all(Array.from({ length: 50 }, worker));
      await until(`all connections are closed (seed ${seed})`, () => raw.open() === 0 && timers.size === 0);
      Bun.gc(true);
      return process.memoryUsage().heapUsed;
    };
    const before = await round(200);
    const after = await round(1_000);
    // a call that is not released keeps buffers of about 20 KB
    expect(after - before).toBeLessThan(10 * 1024 * 1024);
    expect(raw.connections()).toBeGreaterThan(900);
  });
});

describe("a failure before the answer begins", () => {
  /**
   * Sends a query to an endpoint that answers the n-th request with `ways[n]`, and all requests after the last entry
   * with that entry. Waits take no time; `waits` records their lengths in milliseconds.
   */
  async function query(ways: readonly Respond[], more: Partial<LlmRequest> = {}, timeouts: Partial<LlmTimeouts> = {}) {
    const waits: number[] = [];
    let asked = 0;
    const raw = await endpoint((socket, head) => ways[Math.min(asked++, ways.length - 1)]?.(socket, head));
    const clock = {
      now: () => Date.parse("2026-11-21T12:00:00Z"),
      sleep: async (ms: number) => void waits.push(ms),
    };
    const client = model({ clock, random: () => 0.5, timeouts: { ...PATIENT, ...timeouts } });
    const came = await streamed(client.stream(request(raw.baseUrl, { purpose: "query", ...more }), NEVER));
    return { text: came.texts.join(""), failure: came.failure, waits, asked };
  }
  const failing = (status: number, header = ""): Respond => {
    return bytes(`HTTP/1.1 ${status} No\r\n${header}Content-Length: 0\r\n\r\n`);
  };
  const good = bytes(HEAD + event(delta("fine")) + ended());

  for (const [name, way] of [
    ["status 429", failing(429)],
    ["status 502", failing(502)],
    ["status 503", failing(503)],
    ["a connection that is closed", (socket: Socket) => socket.destroy()],
    ["a connection that is reset", (socket: Socket) => socket.resetAndDestroy()],
    ["headers that are cut off", bytes("HTTP/1.1 200 OK\r\nConte")],
  ] as const) {
    test(`${name}: is retried twice, with growing waits`, async () => {
      expect(await query([way, good])).toMatchObject({ text: "fine", waits: [375], asked: 2 });
      expect(await query([way, way, good])).toMatchObject({ text: "fine", waits: [375, 750], asked: 3 });
      expect(await query([way])).toMatchObject({ text: "", waits: [375, 750], asked: 3 });
    });
  }

  test("no listener: is retried, then unreachable", async () => {
    const raw = await endpoint(good);
    raw.close();
    const waits: number[] = [];
    const client = model({ clock: { now: () => 0, sleep: async (ms) => void waits.push(ms) }, random: () => 0 });
    const failure = await failureOf(client.complete(request(raw.baseUrl, { purpose: "query" }), NEVER));
    expect(failure.reason).toBe("unreachable");
    expect(waits).toEqual([500, 1_000]);
  });

  test("a wait that the endpoint requests, in seconds or as a date, is obeyed if it is short", async () => {
    expect((await query([failing(429, "Retry-After: 10\r\n"), good])).waits).toEqual([10_000]);
    const date = "Retry-After: Sat, 21 Nov 2026 12:00:03 GMT\r\n";
    expect((await query([failing(503, date), good])).waits).toEqual([3_000]);
    const long = await query([failing(429, "Retry-After: 11\r\n"), good]);
    expect(long).toMatchObject({ asked: 1, waits: [], failure: { reason: "rate_limited", retryAfterMs: 11_000 } });
    const late = await query([failing(503, "Retry-After: 6\r\n"), good], {}, { totalMs: 5_000 });
    expect(late).toMatchObject({ asked: 1, waits: [], failure: { reason: "failed", retryAfterMs: 6_000 } });
  });

  test("other statuses, silence and an incomplete answer are not retried", async () => {
    for (const way of [failing(401), failing(404), failing(500), failing(504)]) {
      expect(await query([way, good])).toMatchObject({ asked: 1, waits: [] });
    }
    expect(await query([() => undefined, good], {}, QUICK)).toMatchObject({ asked: 1, waits: [] });
    expect(await query([bytes(HEAD), good])).toMatchObject({ asked: 1, failure: { reason: "malformed" } });
    const half = await query([bytes(HEAD + event(delta("half"))), good]);
    expect(half).toMatchObject({ text: "half", asked: 1, failure: { reason: "failed" } });
  });

  test("of ingestion is left to ingestion's own backoff", async () => {
    const came = await query([failing(429, "Retry-After: 1\r\n"), good], { purpose: "ingestion" });
    expect(came).toMatchObject({ asked: 1, waits: [], failure: { reason: "rate_limited", retryAfterMs: 1_000 } });
  });

  test("the signal ends a wait", async () => {
    const raw = await endpoint(failing(503, "Retry-After: 9\r\n"));
    const stop = new AbortController();
    const client = model();
    const asked = failureOf(client.complete(request(raw.baseUrl, { purpose: "query" }), stop.signal));
    await until("it was refused", () => raw.connections() === 1 && raw.open() === 0);
    stop.abort();
    expect((await asked).reason).toBe("stopped");
    expect(raw.connections()).toBe(1);
  });
});

function data(value: object): string {
  return JSON.stringify(value);
}

/** Sends these bytes and closes the connection. */
function bytes(answer: string | Uint8Array): Respond {
  return (socket) => socket.end(answer);
}

function inChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function randomBytes(count: number): Buffer {
  const random = seeded(7);
  return Buffer.from(Array.from({ length: count }, () => Math.floor(random() * 256)));
}
