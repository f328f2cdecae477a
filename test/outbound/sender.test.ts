// The outbound sender: it sends exactly the request, returns the response's status, and ends in bounded time and memory
// whatever the other side does. internal-addresses.test.ts proves that it reaches no internal address.

import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import type { Resolve } from "../../src/adapters/outbound/guard.ts";
import { createOutboundSender, type SenderOptions } from "../../src/adapters/outbound/sender.ts";
import type { OutboundAnswer } from "../../src/ports/outbound.ts";
import { until } from "../support/until.ts";
import { CERTIFICATE, CERTIFICATE_HOST, CERTIFICATE_KEY } from "./fixtures/certificate.ts";
import { answering, listen, type Receiver, type Respond } from "./receiver.ts";

const KIB = 1024;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function receive(respond: Respond): Promise<Receiver> {
  const receiver = await listen(respond);
  cleanups.push(() => receiver.close());
  return receiver;
}

interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly options?: Partial<SenderOptions>;
}

function post(url: string, call: Call = {}): Promise<OutboundAnswer> {
  const { headers = {}, body = "{}", signal = new AbortController().signal, options = {} } = call;
  const resolve: Resolve = async () => ["127.0.0.1"];
  return createOutboundSender({ allow: AllowList.parse("127.0.0.1"), resolve, timeoutMs: 10_000, ...options }).post(
    url,
    headers,
    body,
    signal,
  );
}

const postTo = ({ port }: Receiver, call: Call = {}) => post(`http://hooks.example.com:${port}/hook?a=b#c`, call);

/** Keeps writing `part` every few milliseconds until the connection closes. */
function dribbling(head: string, part: string): Respond {
  return (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(part), 5);
    socket.on("close", () => clearInterval(timer));
  };
}

describe("a request", () => {
  test("is a POST to path and query with host name, headers and body, on a connection of its own", async () => {
    const receiver = await receive(answering(200));
    const body = '{"title":"Grüße 🌍"}';
    const headers = { "content-type": "application/json", "webhook-id": "dlv_1" };
    expect(await postTo(receiver, { headers, body })).toMatchObject({ statusCode: 200, error: null });
    const [head = "", sent = ""] = Buffer.from(receiver.received(), "latin1").toString().split("\r\n\r\n");
    const [requestLine, ...lines] = head.toLowerCase().split("\r\n");
    expect(requestLine).toBe("post /hook?a=b http/1.1");
    expect(lines.sort()).toEqual([
      "connection: close",
      `content-length: ${Buffer.byteLength(body)}`,
      "content-type: application/json",
      `host: hooks.example.com:${receiver.port}`,
      "webhook-id: dlv_1",
    ]);
    expect(sent).toBe(body);
  });

  test("has its own connection, and none stays open", async () => {
    const receiver = await receive((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    for (let call = 0; call < 2; call++) expect((await postTo(receiver)).statusCode).toBe(200);
    expect(receiver.connections()).toBe(2);
    await until("the connections to be closed", () => receiver.open() === 0);
  });

  test("reaches a name with several addresses if one of them answers", async () => {
    const receiver = await receive(answering(204));
    const options = { allow: AllowList.parse("127.0.0.0/8"), resolve: async () => ["127.0.0.9", "127.0.0.1"] };
    expect(await postTo(receiver, { options })).toMatchObject({ statusCode: 204, error: null });
  });
});

describe("responses", () => {
  for (const status of [200, 201, 204, 301, 302, 304, 307, 308, 400, 404, 410, 429, 500, 503]) {
    test(`${status} is returned as it is`, async () => {
      const receiver = await receive(answering(status, ["Location: /elsewhere"]));
      const answer = await postTo(receiver);
      expect(answer).toMatchObject({ statusCode: status, error: null });
      expect(Number.isInteger(answer.ms) && answer.ms >= 0).toBe(true);
      expect(receiver.connections()).toBe(1);
    });
  }

  test("interim responses are skipped", async () => {
    const receiver = await receive((socket) =>
      socket.end("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"),
    );
    expect(await postTo(receiver)).toMatchObject({ statusCode: 410, error: null });
  });

  test("a protocol switch counts as response and ends the connection", async () => {
    const receiver = await receive((socket) =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
    );
    expect(await postTo(receiver)).toMatchObject({ statusCode: 101, error: null });
    await until("the connection to be closed", () => receiver.open() === 0);
  });

  test("a body up to the limit is read completely", async () => {
    const receiver = await receive(answering(200, [], "x".repeat(64 * KIB)));
    expect(await postTo(receiver)).toMatchObject({ statusCode: 200, error: null });
  });

  test("a body beyond the limit is cut off, and the status counts", async () => {
    // the server sends chunks of 64 KiB without end
    const receiver = await receive(
      dribbling("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", `10000\r\n${"x".repeat(64 * KIB)}\r\n`),
    );
    expect(await postTo(receiver)).toMatchObject({ statusCode: 200, error: null });
    await until("the connection to be closed", () => receiver.open() === 0);
  });

  test("a compressed body counts with its compressed size and is not decompressed", async () => {
    const bomb = Bun.gzipSync(Buffer.alloc(20 * KIB * KIB));
    const receiver = await receive((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      // The body is never completed, so the call times out. A sender that decompresses would exceed the size limit
      // first.
      socket.write(bomb.subarray(0, -1));
    });
    const answer = await postTo(receiver, { options: { timeoutMs: 500 } });
    expect(bomb.length).toBeLessThan(64 * KIB);
    expect(answer).toMatchObject({ statusCode: null, error: "timed out after 0.5 s" });
  });
});

describe("without a complete response", () => {
  const cut = "connection closed before a complete answer arrived";
  const cases: readonly (readonly [what: string, respond: Respond, error: string])[] = [
    ["a connection that is reset", (socket) => socket.resetAndDestroy(), cut],
    ["a connection that is closed without a response", (socket) => socket.end(), cut],
    ["a body that ends early", (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), cut],
    [
      "a chunked body that ends early",
      (socket) => socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
      cut,
    ],
    [
      "a response that is not HTTP",
      (socket) => socket.end("220 mail.example.com ESMTP\r\n\r\n"),
      "the answer is not HTTP",
    ],
    [
      "endless headers",
      dribbling("HTTP/1.1 200 OK\r\n", `x-long: ${"x".repeat(32 * KIB)}\r\n`),
      "the response headers are too large",
    ],
  ];
  for (const [what, respond, error] of cases) {
    test(`${what} is an error`, async () => {
      const receiver = await receive(respond);
      expect(await postTo(receiver)).toMatchObject({ statusCode: null, error });
      expect(receiver.connections()).toBe(1);
    });
  }

  test("a closed port is reported as a refused connection", async () => {
    const { port, close } = await listen(answering(200));
    close();
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ statusCode: null, error: "connection refused" });
  });

  test("a port that is closed on every address of a name is reported as a refused connection", async () => {
    const { port, close } = await listen(answering(200));
    close();
    const options = { allow: AllowList.parse("127.0.0.0/8"), resolve: async () => ["127.0.0.9", "127.0.0.1"] };
    const answer = await post(`http://hooks.example.com:${port}/`, { options });
    expect(answer).toMatchObject({ statusCode: null, error: "connection refused" });
  });

  test("headers that HTTP forbids are reported, not thrown, and nothing is sent", async () => {
    const receiver = await receive(answering(200));
    const answer = await postTo(receiver, { headers: { "x-split": "a\r\nx-other: b" } });
    expect(answer).toMatchObject({ statusCode: null, error: "the connection failed" });
    expect(receiver.connections()).toBe(0);
  });
});

describe("deadline", () => {
  const quick = { timeoutMs: 150 };
  const silent: Respond = () => undefined;
  const cases: readonly (readonly [what: string, respond: Respond])[] = [
    ["never answers", silent],
    ["dribbles interim answers", dribbling("", "HTTP/1.1 103 Early Hints\r\n\r\n")],
    ["dribbles headers", dribbling("HTTP/1.1 200 OK\r\n", "x: y\r\n")],
    ["dribbles a body of known length", dribbling("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", "x")],
    ["dribbles a body of unknown length", dribbling("HTTP/1.1 200 OK\r\n\r\n", "x")],
  ];
  for (const [what, respond] of cases) {
    test(`a server that ${what} is abandoned at the deadline`, async () => {
      const receiver = await receive(respond);
      const answer = await postTo(receiver, { options: quick });
      expect(answer).toMatchObject({ statusCode: null, error: "timed out after 0.15 s" });
      await until("the connection to be closed", () => receiver.open() === 0);
    });
  }

  test("name resolution counts, and a name that resolves too late is not called", async () => {
    const receiver = await receive(answering(200));
    const found = Promise.withResolvers<string[]>();
    const answer = await postTo(receiver, { options: { ...quick, resolve: () => found.promise } });
    expect(answer).toMatchObject({ statusCode: null, error: "timed out after 0.15 s" });
    found.resolve(["127.0.0.1"]);
    // a later call has succeeded, so the resolution that came too late would have led to a connection by now
    expect((await postTo(receiver)).statusCode).toBe(200);
    expect(receiver.connections()).toBe(1);
  });
});

describe("abort", () => {
  test("ends a call that waits for its response", async () => {
    const receiver = await receive(() => undefined);
    const stop = new AbortController();
    const answer = postTo(receiver, { signal: stop.signal });
    await until("the request to arrive", () => receiver.received().endsWith("{}"));
    stop.abort();
    expect(await answer).toMatchObject({ statusCode: null, error: "stopped" });
    await until("the connection to be closed", () => receiver.open() === 0);
  });

  test("ends a call in the middle of a body without a length", async () => {
    const receiver = await receive((socket) => socket.write("HTTP/1.1 200 OK\r\n\r\nabc"));
    const stop = new AbortController();
    const answer = postTo(receiver, { signal: stop.signal });
    await until("the request to arrive", () => receiver.received().endsWith("{}"));
    stop.abort();
    expect(await answer).toMatchObject({ statusCode: null, error: "stopped" });
  });

  test("before the start prevents the call", async () => {
    const receiver = await receive(answering(200));
    expect(await postTo(receiver, { signal: AbortSignal.abort() })).toMatchObject({
      statusCode: null,
      error: "stopped",
    });
    expect(receiver.connections()).toBe(0);
  });
});

describe("TLS and environment", () => {
  async function receiveTls(): Promise<number> {
    const server = createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (socket) => {
      socket.on("error", () => socket.destroy());
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    });
    server.on("tlsClientError", () => undefined);
    cleanups.push(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const place = server.address();
    if (place === null || typeof place === "string") throw new Error("the server has no port");
    return place.port;
  }

  async function postInProcess(url: string, env: Readonly<Record<string, string>>): Promise<OutboundAnswer> {
    const posting = Bun.spawn([process.execPath, join(import.meta.dir, "fixtures/posting.ts"), url, "127.0.0.1"], {
      env: { PATH: process.env.PATH ?? "", ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([posting.stdout.text(), posting.stderr.text()]);
    if ((await posting.exited) !== 0) throw new Error(`the posting process failed: ${stderr}`);
    return JSON.parse(stdout);
  }

  test("an untrusted certificate is refused", async () => {
    const answer = await post(`https://${CERTIFICATE_HOST}:${await receiveTls()}/`);
    expect(answer).toMatchObject({ statusCode: null, error: "the certificate is not valid" });
  });

  test("the environment cannot switch verification off", async () => {
    const url = `https://${CERTIFICATE_HOST}:${await receiveTls()}/`;
    expect(await postInProcess(url, { NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toMatchObject({
      statusCode: null,
      error: "the certificate is not valid",
    });
  });

  test("a certificate that the operator trusts is accepted, for its own host only", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-outbound-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "ca.pem"), CERTIFICATE);
    const env = { NODE_EXTRA_CA_CERTS: join(folder, "ca.pem") };
    const port = await receiveTls();
    expect(await postInProcess(`https://${CERTIFICATE_HOST}:${port}/`, env)).toMatchObject({
      statusCode: 200,
      error: null,
    });
    for (const host of ["other.example.test", "127.0.0.1"]) {
      expect(await postInProcess(`https://${host}:${port}/`, env)).toMatchObject({
        statusCode: null,
        error: "the certificate is for another host",
      });
    }
  });

  test("proxies from the environment are ignored", async () => {
    const receiver = await receive(answering(200));
    const proxy = await receive(answering(502));
    const address = `http://127.0.0.1:${proxy.port}`;
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    const env = { ...Object.fromEntries(names.map((name) => [name, address])), NODE_USE_ENV_PROXY: "1" };
    expect(await postInProcess(`http://hooks.example.com:${receiver.port}/`, env)).toMatchObject({ statusCode: 200 });
    const port = await receiveTls();
    expect((await postInProcess(`https://${CERTIFICATE_HOST}:${port}/`, env)).error).toBe(
      "the certificate is not valid",
    );
    expect([receiver.connections(), proxy.connections()]).toEqual([1, 0]);
  });
});
