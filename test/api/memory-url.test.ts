// POST /v1/memories/url and POST /v1/memories/{id}/refetch, against a real server that serves pages, redirects, and
// misbehaves.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { createOutboundFetcher } from "../../src/adapters/outbound/fetcher.ts";
import { Fault } from "../../src/domain/fault.ts";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { expectFault } from "./faults.ts";

const PAGE = (text: string) =>
  `<!doctype html><html><head><title>The lighthouse</title></head><body><h1>Keeper</h1><p>${text}</p></body></html>`;
const HTML = { "content-type": "text/html; charset=utf-8" };
const GIF = Buffer.from("GIF89a\x01\0\x01\0\xf0\0\0\x80\xff\xfe\x01\x02\x03\x04\0\0", "latin1");

let mneme: TestService;
let site: ReturnType<typeof Bun.serve>;
let slow: TcpServer;
/** What the site answers, by path. */
const pages = new Map<string, (request: Request) => Response>();
let asked: string[] = [];
beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      return pages.get(pathname)?.(request) ?? new Response("nothing here", { status: 404 });
    },
  });
  // sends a byte now and then, and never ends
  slow = createTcpServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
    const timer = setInterval(() => socket.write("x"), 20);
    socket.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  mneme = await startService({ config: { webhookAllow: AllowList.parse("127.0.0.1") } });
});
afterAll(async () => {
  await mneme.stop();
  await site.stop(true);
  slow.close();
});
beforeEach(() => {
  asked = [];
});

const at = (path: string) => `http://127.0.0.1:${site.port}${path}`;
const serve = (path: string, body: string | Uint8Array, headers: Record<string, string> = HTML, status = 200) => {
  pages.set(path, () => new Response(body, { status, headers }));
  return at(path);
};
const store = (body: unknown, headers?: Record<string, string>) =>
  mneme.call("POST", "/v1/memories/url", body, headers);
const refetch = (id: string, headers?: Record<string, string>) =>
  mneme.call("POST", `/v1/memories/${id}/refetch`, undefined, headers);
const uploads = () =>
  readdirSync(join(mneme.dataDir, "uploads"), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
const count = async () => (await mneme.call("GET", "/v1/usage")).body.documents.used;

describe("a page", () => {
  test("is stored with its text, title, URL and attributes, and found", async () => {
    const url = serve("/harbour/lighthouse", PAGE("The lamp is lit at dusk by the keeper's daughter."));
    const { status, body } = await store({ url, userId: "ada", agentId: "reader", tags: ["sea"], metadata: { n: 1 } });
    expect([status, body.status, body.content]).toEqual([202, "processing", ""]);
    const bytes = expect.any(Number);
    expect(body.source).toEqual({ filename: "lighthouse.html", media_type: "text/html", bytes, url, is_kept: false });
    await mneme.settled(body.id);
    const stored = (await mneme.call("GET", `/v1/memories/${body.id}`)).body;
    expect(stored).toMatchObject({ status: "completed", title: "The lighthouse", userId: "ada", agentId: "reader" });
    expect(stored).toMatchObject({ tags: ["sea"], metadata: { n: 1 }, source: { url } });
    expect(stored.content).toContain("The lamp is lit at dusk");
    const found = await mneme.call("POST", "/v1/memories/search", { query: "who lights the lamp?", userId: "ada" });
    expect(found.body.results[0].memory_id).toBe(body.id);
    expect(asked).toEqual(["/harbour/lighthouse"]);
  });

  test("in any format of uploads, named by its server, compressed or not, after redirects", async () => {
    const json = { "content-type": "application/json", "content-disposition": 'attachment; filename="../logs.json"' };
    const cases: [url: string, source: object, text: string][] = [
      [
        serve("/a", "plain words about anchors", { "content-type": "text/plain" }),
        { filename: "a.txt", media_type: "text/plain" },
        "anchors",
      ],
      [
        serve("/b", '{"depth": "nine fathoms"}', json),
        { filename: "logs.json", media_type: "application/json" },
        "fathoms",
      ],
      [
        serve("/c.md", gzipSync("# Tides\n\nSpring tide on Monday."), {
          "content-type": "text/markdown",
          "content-encoding": "gzip",
        }),
        { filename: "c.md", media_type: "text/markdown" },
        "Spring tide",
      ],
    ];
    for (const [url, source, text] of cases) {
      const { status, body } = await store({ url });
      expect([url, status, body.source]).toEqual([
        url,
        202,
        { ...source, bytes: expect.any(Number), url, is_kept: false },
      ]);
      await mneme.settled(body.id);
      expect((await mneme.call("GET", `/v1/memories/${body.id}`)).body.content).toContain(text);
    }
    const target = serve("/target", PAGE("Moved, but found."));
    pages.set("/one", () => new Response(null, { status: 301, headers: { location: "/two" } }));
    pages.set("/two", () => new Response(null, { status: 307, headers: { location: target } }));
    const { body } = await store({ url: at("/one") });
    await mneme.settled(body.id);
    const stored = (await mneme.call("GET", `/v1/memories/${body.id}`)).body;
    expect([stored.status, stored.source.url]).toEqual(["completed", at("/one")]);
  });

  test("with a known externalId updates its memory: 202 if it has changed, otherwise 200", async () => {
    const url = serve("/news", PAGE("The ferry is late."));
    const first = await store({ url, externalId: "news" });
    await mneme.settled(first.body.id);
    const again = await store({ url, externalId: "news", tags: ["ferry"] });
    expect([again.status, again.body.id, again.body.tags]).toEqual([200, first.body.id, ["ferry"]]);
    expect(again.body.content).toContain("The ferry is late.");
    serve("/news", PAGE("The ferry is on time."));
    expect((await store({ url, externalId: "news" })).status).toBe(202);
    await mneme.settled(first.body.id);
    expect((await mneme.call("GET", `/v1/memories/${first.body.id}`)).body.content).toContain("on time");
    await until("the fetched files are removed", () => uploads().length === 0); // after the memory is completed
  });

  test("is fetched once for a repeated Idempotency-Key", async () => {
    const url = serve("/once", PAGE("Fetched once."));
    const headers = { "idempotency-key": "url-1" };
    const [first, second] = [await store({ url }, headers), await store({ url }, headers)];
    expect([first.status, second.status, second.body.id]).toEqual([202, 202, first.body.id]);
    expect(asked).toEqual(["/once"]);
    await mneme.settled(first.body.id);
  });
});

describe("refetch", () => {
  test("changes nothing while the page stays the same, and processes a changed one again", async () => {
    const url = serve("/weather", PAGE("Fog until noon."));
    const { body } = await store({ url, title: "Weather", userId: "ada" });
    await mneme.settled(body.id);
    const read = async () => {
      const { relations: _, ...memory } = (await mneme.call("GET", `/v1/memories/${body.id}`)).body;
      return memory;
    };
    const before = await read();
    const same = await refetch(body.id);
    expect([same.status, same.body]).toEqual([200, before]);
    expect(await read()).toEqual(before);
    serve("/weather", PAGE("Sun after noon."));
    const changed = await refetch(body.id);
    expect([changed.status, changed.body.status, changed.body.source.url]).toEqual([202, "processing", url]);
    await mneme.settled(body.id);
    const after = (await mneme.call("GET", `/v1/memories/${body.id}`)).body;
    expect(after).toMatchObject({ status: "completed", title: "Weather", userId: "ada" });
    expect(after.content).toContain("Sun after noon.");
    const { results } = (await mneme.call("POST", "/v1/memories/search", { query: "fog", userId: "ada" })).body;
    expect(JSON.stringify(results)).not.toContain("Fog until noon");
    await until("the fetched files are removed", () => uploads().length === 0);
  });

  test("that fails leaves the memory as it was", async () => {
    const url = serve("/fragile", PAGE("Still here."));
    const { body } = await store({ url });
    await mneme.settled(body.id);
    const before = (await mneme.call("GET", `/v1/memories/${body.id}`)).body;
    serve("/fragile", "gone", HTML, 410);
    expectFault(await refetch(body.id), 422, "fetch_failed", "url");
    expect((await mneme.call("GET", `/v1/memories/${body.id}`)).body).toEqual(before);
  });

  test("is refused for a memory without URL, an unknown one, and another user's", async () => {
    const { body: plain } = await mneme.store({ content: "No page." });
    expectFault(await refetch(plain.id), 409, "invalid_state");
    expectFault(await refetch("mem_00000000000000000000000000"), 404, "memory_not_found", "id");
    const url = serve("/private", PAGE("Ada's page."));
    const { body } = await store({ url, userId: "ada" });
    await mneme.settled(body.id);
    asked = [];
    const authorization = `Bearer ${mneme.addKey(["*"], undefined, { userId: "bob" })}`;
    expectFault(await refetch(body.id, { authorization }), 404, "memory_not_found", "id");
    expectFault(await store({ url, userId: "ada" }, { authorization }), 403, "insufficient_scope", "userId");
    const own = await store({ url }, { authorization });
    expect([own.status, own.body.userId]).toEqual([202, "bob"]);
    await mneme.settled(own.body.id);
    const reader = `Bearer ${mneme.addKey(["memories:read"])}`;
    asked = [];
    expectFault(await store({ url }, { authorization: reader }), 403, "insufficient_scope");
    expectFault(await refetch(body.id, { authorization: reader }), 403, "insufficient_scope");
    expect(asked).toEqual([]);
  });
});

describe("refused, and nothing is stored or left on disk", () => {
  test("addresses that are not public, in any notation, and by redirect; wrong URLs; unknown fields", async () => {
    const closed = await startService({ waitsForModels: false });
    const inside = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1"];
    try {
      for (const host of [...inside, "169.254.169.254", "localhost", "no-such-host.invalid", "0.0.0.0"]) {
        const answer = await closed.call("POST", "/v1/memories/url", { url: `http://${host}:${site.port}/a` });
        expectFault(answer, 400, "unsafe_url", "url");
      }
    } finally {
      await closed.stop();
    }
    expect(asked).toEqual([]);
    for (const url of [
      "file:///etc/passwd",
      "ftp://1.1.1.1/",
      "javascript:1",
      "http://u:p@1.1.1.1/",
      "nonsense",
      "http://",
    ]) {
      expectFault(await store({ url }), 400, "unsafe_url", "url");
    }
    pages.set("/inside", () => new Response(null, { status: 302, headers: { location: "http://10.0.0.1/secret" } }));
    pages.set(
      "/meta",
      () => new Response(null, { status: 302, headers: { location: "http://169.254.169.254/latest" } }),
    );
    pages.set("/file", () => new Response(null, { status: 302, headers: { location: "file:///etc/passwd" } }));
    for (const path of ["/inside", "/meta", "/file"]) {
      const answer = await store({ url: at(path) });
      expectFault(answer, 400, "unsafe_url", "url");
      expect(answer.body.error.message).toContain("redirects");
    }
    expectFault(await store({}), 400, "invalid_request", "url");
    expectFault(await store({ url: "" }), 400, "invalid_request", "url");
    expectFault(await store({ url: at("/a"), content: "x" }), 400, "invalid_request", "content");
  });

  test("errors of the site, loops, empty pages, wrong formats, damaged and cut bodies", async () => {
    const before = await count();
    pages.set("/loop", () => new Response(null, { status: 302, headers: { location: "/loop" } }));
    const cases: [url: string, status: number, code: string, says: string][] = [
      [at("/nowhere"), 422, "fetch_failed", "status 404"],
      [serve("/broken", "x", HTML, 500), 422, "fetch_failed", "status 500"],
      [at("/loop"), 422, "fetch_failed", "redirects more than 5 times"],
      [serve("/empty", ""), 422, "fetch_failed", "empty"],
      [serve("/image.gif", GIF, { "content-type": "image/gif" }), 415, "unsupported_media_type", "not supported"],
      [serve("/zip", "not gzip at all", { ...HTML, "content-encoding": "gzip" }), 422, "fetch_failed", "damaged"],
      [serve("/odd", "x", { ...HTML, "content-encoding": "compress" }), 422, "fetch_failed", "encoding"],
      ["http://127.0.0.1:9/", 422, "fetch_failed", "refused"],
    ];
    for (const [url, status, code, says] of cases) {
      const answer = await store({ url });
      expect([url, answer.status, answer.body.error.code]).toEqual([url, status, code]);
      expect(answer.body.error.message).toContain(says);
    }
    expect(asked.filter((path) => path === "/loop")).toHaveLength(6);
    expect([await count(), uploads()]).toEqual([before, []]);
  });

  test("by an operator who has switched it off", async () => {
    const config = { webhookAllow: AllowList.parse("127.0.0.1"), fetchUrls: false };
    const off = await startService({ config, waitsForModels: false });
    try {
      expectFault(await off.call("POST", "/v1/memories/url", { url: at("/a") }), 400, "unsafe_url", "url");
      expect(asked).toEqual([]);
    } finally {
      await off.stop();
    }
  });
});

describe("the fetcher", () => {
  const fetcher = (more: object = {}) => createOutboundFetcher({ allow: AllowList.parse("127.0.0.1"), ...more });
  const refusal = async (work: Promise<unknown>) =>
    work.then(
      () => "fetched",
      (error: unknown) => (error instanceof Fault ? `${error.code}: ${error.message}` : `no fault: ${error}`),
    );
  const never = new AbortController().signal;

  test("stops at its size, also of what a compressed body becomes", async () => {
    let received = 0;
    const write = async (piece: Uint8Array) => {
      received += piece.byteLength;
    };
    const bomb = serve("/bomb", gzipSync(new Uint8Array(64 * 1024 * 1024)), { ...HTML, "content-encoding": "gzip" });
    const plain = serve("/large", "x".repeat(200_000));
    for (const url of [bomb, plain]) {
      received = 0;
      expect(await refusal(fetcher({ bodyBytesMax: 100_000 }).fetch(url, write, never))).toStartWith(
        "payload_too_large",
      );
      expect(received).toBeLessThanOrEqual(100_000);
    }
    expect(await refusal(fetcher({ bodyBytesMax: 200_000 }).fetch(plain, write, never))).toBe("fetched");
  });

  test("gives up a server that never ends, one that never answers, and a caller who hangs up", async () => {
    const { port } = slow.address() as { port: number };
    const write = async () => undefined;
    const endless = fetcher({ timeoutMs: 150 }).fetch(`http://127.0.0.1:${port}/`, write, never);
    expect(await refusal(endless)).toContain("took longer than 0.15 s");
    const silent = createTcpServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port: mute } = silent.address() as { port: number };
    expect(await refusal(fetcher({ timeoutMs: 150 }).fetch(`http://127.0.0.1:${mute}/`, write, never))).toContain(
      "took longer",
    );
    const caller = new AbortController();
    const hungUp = fetcher().fetch(`http://127.0.0.1:${port}/`, async () => caller.abort(), caller.signal);
    expect(await refusal(hungUp)).toContain("hung up");
    silent.close();
  });

  test("does not take a body that ends before its announced length", async () => {
    const cut = createTcpServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.end("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nonly this");
    });
    await new Promise<void>((resolve) => cut.listen(0, "127.0.0.1", resolve));
    const { port } = cut.address() as { port: number };
    expect(await refusal(fetcher().fetch(`http://127.0.0.1:${port}/`, async () => undefined, never))).toStartWith(
      "fetch_failed",
    );
    cut.close();
  });

  test("checks the addresses of a name when it connects", async () => {
    const to = createOutboundFetcher({ allow: AllowList.parse(""), resolve: async () => ["10.0.0.1"] });
    expect(await refusal(to.fetch("http://inside.example/", async () => undefined, never))).toStartWith("unsafe_url");
  });
});
