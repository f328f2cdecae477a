// Callers who read an answer of a language model slowly. Mneme reads from the endpoint no faster than they do, and
// stops at the timeout of a whole answer.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { CHUNKED, rawEndpoint } from "../llm/client-helpers.ts";
import type { Receiver } from "../outbound/receiver.ts";
import { openStream, type StreamedEvent } from "../support/event-stream.ts";
import { delta, event, streamed } from "../support/llm.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

/**
 * Number of lines of an answer. All lines together have about 8 million characters, the maximum that a project can ask
 * for, of three bytes each: more than the buffers of connections can store.
 */
const LINES = 1_500;
const LINE = `${"字".repeat(5_000)}\n`;
const ASKED = { query: "Where does the goat of Hul sleep?", mode: "fast", stream: true };
const WHOLE_MS = 3_000;

/** An endpoint that sends an answer of `lines` lines, as fast as Mneme reads them, and then its end. */
class LongAnswerEndpoint {
  sent = 0;
  #endpoint: Receiver | null = null;

  async open(lines: number): Promise<string> {
    const end = await streamed([]).text();
    const opened = await rawEndpoint((socket) => {
      this.sent = 0;
      socket.write(CHUNKED);
      const pump = () => {
        while (this.sent < lines) {
          this.sent++;
          if (!socket.write(chunk(event(delta(LINE))))) return void socket.once("drain", pump);
        }
        socket.end(`${chunk(end)}0\r\n\r\n`);
      };
      pump();
    });
    this.#endpoint = opened;
    return opened.baseUrl;
  }

  /** Number of connections that are open now. */
  get calls(): number {
    return this.#endpoint?.open() ?? 0;
  }

  /** Waits until nothing more is sent for a while. */
  async untilIdle(): Promise<void> {
    let [seen, looks] = [-1, 0];
    await until("nothing more is sent", () => {
      looks = this.sent === seen ? looks + 1 : 0;
      seen = this.sent;
      return looks >= 25;
    });
  }

  close(): void {
    this.#endpoint?.close();
  }
}

async function serviceOf(baseUrl: string, llmTimeoutMs: number): Promise<TestService> {
  const llm = { llmBaseUrl: baseUrl, llmModel: "small", llmTimeoutMs, llmContextTokens: 2_000_000 };
  const mneme = await startService({ config: llm });
  const settings = { llm: { max_output_tokens: 1_000_000 }, smart_ingestion: { enabled: false }, min_evidence: 0 };
  await mneme.call("PUT", "/v1/project", settings);
  await mneme.store({ content: "The goat of Hul sleeps in the bell tower." });
  return mneme;
}

describe("an answer that is read slowly", () => {
  const endpoint = new LongAnswerEndpoint();
  let mneme: TestService;
  beforeAll(async () => {
    mneme = await serviceOf(await endpoint.open(LINES), 300_000);
  });
  afterAll(async () => {
    await mneme.stop();
    endpoint.close();
  });

  test("slows the endpoint, and is complete when reading continues", async () => {
    const reader = await openStream(mneme, "/v1/memories/query", ASKED);
    const first = await reader.next();
    await endpoint.untilIdle();
    expect(endpoint.sent).toBeLessThan(LINES / 2);
    expectWhole([first, ...(await reader.rest())]);
  });

  test("also over a connection", async () => {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      fetch: (asked) => mneme.service.handle(asked),
    });
    const body = JSON.stringify(ASKED);
    const head = [
      "POST /v1/memories/query HTTP/1.1",
      ...["Host: mneme.test", `Authorization: Bearer ${TEST_KEY}`, "Content-Type: application/json"],
      ...[`Content-Length: ${Buffer.byteLength(body)}`, "Connection: close"],
    ];
    const parts: Buffer[] = [];
    const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect(server.port ?? 0, "127.0.0.1", () => socket.write(`${head.join("\r\n")}\r\n\r\n${body}`));
    try {
      socket.on("data", (part) => {
        if (parts.length === 0) socket.pause();
        parts.push(Buffer.from(part));
      });
      socket.on("error", reject);
      socket.on("close", () => resolve());
      await until("the answer has begun", () => parts.length > 0);
      await endpoint.untilIdle();
      expect(endpoint.sent).toBeLessThan(LINES);
      socket.resume();
      await ended;
      const text = Buffer.concat(parts).toString("latin1");
      expect(text).toStartWith("HTTP/1.1 200 OK");
      expect(text.match(/event: text\n/g)).toHaveLength(LINES);
      expect(text.match(/event: done\n/g)).toHaveLength(1);
    } finally {
      socket.destroy();
      await server.stop(true);
    }
  });
});

describe("an answer that is read too slowly", () => {
  const endpoint = new LongAnswerEndpoint();
  let mneme: TestService;
  beforeAll(async () => {
    mneme = await serviceOf(await endpoint.open(LINES), WHOLE_MS);
  });
  afterAll(async () => {
    await mneme.stop();
    endpoint.close();
  });

  test("is aborted after the time for a whole answer, and ends with an error", async () => {
    const reader = await openStream(mneme, "/v1/memories/query", ASKED);
    expect((await reader.next())?.name).toBe("text");
    await until("nobody listens to the endpoint any more", () => endpoint.calls === 0);
    const rest = await reader.rest();
    const last = rest.at(-1);
    expect([last?.name, last?.data.error.code]).toEqual(["error", "llm_timeout"]);
    expect(rest.slice(0, -1).every(({ name }) => name === "text")).toBeTrue();
    expect(rest.length).toBeLessThan(LINES);
  });
});

function expectWhole(events: readonly (StreamedEvent | null)[]): void {
  expect(events.slice(-3).map((event) => event?.name)).toEqual(["sources", "usage", "done"]);
  expect(
    events
      .slice(0, -3)
      .map((event) => event?.data.content)
      .join(""),
  ).toBe(LINE.repeat(LINES));
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}
