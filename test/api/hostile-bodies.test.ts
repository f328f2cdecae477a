// Bodies that are made to hold up or fill the server, and large ones that are legitimate, against a real server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ environment: { MNEME_EMBEDDER: ENGLISH } });
});
afterAll(() => server[Symbol.asyncDispose]());

const MB = 1_000_000;

/** Sends a body in pieces, with or without its length. Returns the answer, and how many bytes were sent until then. */
async function send(path: string, body: Uint8Array, options: { chunked?: boolean; headers?: object } = {}) {
  let sent = 0;
  const pieces = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      controller.enqueue(body.subarray(sent, sent + 64 * 1024));
      sent = Math.min(body.byteLength, sent + 64 * 1024);
      if (sent === body.byteLength) controller.close();
    },
  });
  const response = await fetch(`${server.url}/v1${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${server.key}`,
      "content-type": "application/json",
      ...(options.headers as Record<string, string>),
    },
    body: options.chunked === true ? pieces : body,
  });
  const answer = (await response.json()) as { error?: { code: string; message: string; param?: string } };
  return { status: response.status, answer, error: answer.error, sent };
}

const filled = (start: string, repeated: string, bytes: number) =>
  Buffer.from(start.padEnd(bytes, repeated).slice(0, bytes));
const keys = (bytes: number) => {
  const parts: string[] = ['{"content":"x","metadata":{"k":1'];
  for (let at = 0, length = 0; length < bytes; at++) {
    const part = `,"k${at}":1`;
    parts.push(part);
    length += part.length;
  }
  return Buffer.from(`${parts.join("")}}}`);
};

describe("a body that is made to hold up the server is refused", () => {
  for (const chunked of [false, true]) {
    const how = chunked ? "chunked" : "with a length";

    test(`95 MB of arrays in a search, ${how}: 413 after 1 MB`, async () => {
      const { status, error, sent } = await send("/memories/search", filled('{"query":', "[", 95 * MB), { chunked });
      expect([status, error?.code]).toEqual([413, "payload_too_large"]);
      if (chunked) expect(sent).toBeLessThan(8 * MB);
    });

    test(`30 MB of arrays in a memory, ${how}: 400 by depth, in the first megabytes`, async () => {
      const { status, error, sent } = await send("/memories", filled("", "[", 30 * MB), { chunked });
      expect([status, error?.code, error?.param]).toEqual([400, "invalid_request", undefined]);
      expect(error?.message).toBe("The body is nested deeper than 64 levels.");
      if (chunked) expect(sent).toBeLessThan(8 * MB);
    });

    test(`45 MB of metadata keys, ${how}: 400 by members, in the first megabytes`, async () => {
      const { status, error, sent } = await send("/memories", keys(45 * MB), { chunked });
      expect([status, error?.code, error?.param]).toEqual([400, "invalid_request", undefined]);
      expect(error?.message).toBe("The body has more than 10000 JSON members.");
      if (chunked) expect(sent).toBeLessThan(8 * MB);
    });
  }

  test("60 MB of short texts: 400 by values", async () => {
    const { status, error } = await send("/memories", filled('{"content":"x","tags":["a"', ',"a"', 60 * MB));
    expect([status, error?.message]).toEqual([400, "The body has more than 20000 JSON values."]);
  });

  test("60 MB in short texts that fill a memory: 400, with the memory that they are in", async () => {
    const texts = `{"content":"x","metadata":{"a":[${`"${"x".repeat(60_000)}",`.repeat(999)}0]}}`;
    const { status, error } = await send("/memories/batch", Buffer.from(`{"memories":[{"content":"x"},${texts}]}`));
    expect([status, error?.code, error?.param]).toEqual([400, "invalid_request", "memories[1]"]);
  });

  test("a name of 90 MB: 400", async () => {
    const { status, error } = await send(
      "/memories",
      Buffer.from(`{"${"x".repeat(90 * MB)}":"${"y".repeat(70_000)}"}`),
    );
    expect([status, error?.code]).toEqual([400, "invalid_request"]);
    expect(JSON.stringify(error).length).toBeLessThan(1000);
  });

  test("a text of 20 MB in another field than content: 400 that names the field", async () => {
    const long = "x".repeat(20 * MB);
    for (const [field, code] of [
      ["title", "invalid_request"],
      ["unknown", "invalid_request"],
    ]) {
      const { status, error } = await send("/memories", Buffer.from(`{"content":"x","${field}":"${long}"}`));
      expect([status, error?.code, error?.param]).toEqual([400, code, field]);
    }
    const { status, error } = await send("/memories", Buffer.from(`{"content":"x","metadata":{"a":"${long}"}}`));
    expect([status, error?.code, error?.param]).toEqual([400, "metadata_too_large", "metadata"]);
  });

  test("a number of 5 MB: 400 that names it", async () => {
    const { status, error } = await send("/memories", filled('{"content":"x","metadata":{"n":', "9", 5 * MB));
    expect([status, error?.code]).toEqual([400, "invalid_request"]);
    const whole = Buffer.from(`{"content":"x","metadata":{"n":${"9".repeat(5 * MB)}}}`);
    expect((await send("/memories", whole)).error).toMatchObject({ code: "invalid_request", param: "metadata.n" });
  });

  test("5 MB with a byte that is not UTF-8, with half a character at the end of a piece, or cut off: 400", async () => {
    const text = Buffer.from(`{"content":"${"é".repeat(2.5 * MB)}"}`);
    const broken = Buffer.from(text);
    broken[64 * 1024 + 1] = 0xff;
    for (const body of [broken, text.subarray(0, 4 * MB + 1), text.subarray(0, text.byteLength - 1)]) {
      const { status, error } = await send("/memories", body, { chunked: true });
      expect([status, error?.code]).toEqual([400, "invalid_request"]);
    }
  });

  test("a lone surrogate at the end of 5 MB of escapes: 400 that names the field", async () => {
    const { status, error } = await send(
      "/memories/batch",
      Buffer.from(`{"memories":[{"content":"${"\\u00e9".repeat(MB)}\\ud800"}]}`),
    );
    expect([status, error?.code, error?.param]).toEqual([400, "invalid_request", "memories[0].content"]);
  });

  test("a compressed body: 400, as before", async () => {
    const body = Bun.gzipSync(Buffer.from('{"content":"x"}'));
    const { status, error } = await send("/memories", body, { headers: { "content-encoding": "gzip" } });
    expect([status, error?.code]).toEqual([400, "invalid_request"]);
  });
});

describe("a large body that is legitimate is accepted", () => {
  test("a batch of 60 MB: every text comes back as it was sent", async () => {
    const texts = Array.from({ length: 100 }, (_, at) => `Memory ${at}: "é\n€😀" ${"words and more. ".repeat(37_000)}`);
    const memories = texts.map((content, at) => ({ content, metadata: { at }, externalId: `large-${at}` }));
    const { status, answer } = await send("/memories/batch", Buffer.from(JSON.stringify({ memories })));
    expect(status).toBe(202);
    const { data, accepted } = answer as unknown as {
      data: { memory: { id: string; content: string; metadata: object } }[];
      accepted: number;
    };
    expect(accepted).toBe(100);
    expect(data.every(({ memory }, at) => memory.content === texts[at])).toBeTrue();
    expect(data.map(({ memory }) => memory.metadata)).toEqual(texts.map((_, at) => ({ at })));
    const stored = await server.call("GET", `/v1/memories/${data[99]?.memory.id}`);
    expect((stored.body as { content: string }).content === texts[99]).toBeTrue();
  });

  test("under one Idempotency-Key it is stored once, however its JSON is written", async () => {
    const content = `Kettle. ${"é 😀 words. ".repeat(200_000)}`;
    const headers = { "idempotency-key": "large-body" };
    const plain = Buffer.from(JSON.stringify({ content, metadata: { a: 1, b: [2] } }));
    const escaped = JSON.stringify({ metadata: { b: [2], a: 1 }, content }, null, 2).replaceAll("é", "\\u00e9");
    const first = await send("/memories", plain, { headers });
    const second = await send("/memories", Buffer.from(escaped), { headers, chunked: true });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.answer).toEqual(first.answer);
    const other = Buffer.from(JSON.stringify({ content: `${content}!`, metadata: { a: 1, b: [2] } }));
    expect((await send("/memories", other, { headers })).error?.code).toBe("idempotency_conflict");
  });
});
