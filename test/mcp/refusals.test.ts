// What /mcp refuses, and how: requests of another form, keys, hosts and origins, unknown tools, wrong arguments. No
// refusal is a 5xx or shows more than its public message.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { parseHosts } from "../../src/mcp/hosts.ts";
import { CLIENTS, connectHttp, listen, type Peer } from "../support/mcp.ts";
import { SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let mneme: TestService;
let server: ReturnType<typeof listen>;
let clock: SettableClock;

beforeAll(async () => {
  clock = new SettableClock();
  mneme = await startService({
    clock,
    config: { rateLimits: RATE_LIMITS, mcpHosts: ["mneme.example"], corsOrigins: ["https://app.example"] },
  });
  server = listen(mneme);
});
afterAll(async () => {
  await server.stop();
  await mneme.stop();
});

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const HEADERS = {
  authorization: `Bearer ${TEST_KEY}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** Sends a message as it is. */
async function post(body: unknown, headers: Record<string, string | null> = {}, method = "POST") {
  clock.advance(61_000); // empties the windows of the rate limits
  const given = Object.entries({ ...HEADERS, ...headers }).filter((pair): pair is [string, string] => pair[1] !== null);
  const response = await fetch(`${server.url}/mcp`, {
    method,
    headers: Object.fromEntries(given),
    ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe("the door", () => {
  test("answers 401 with WWW-Authenticate without a valid key", async () => {
    for (const authorization of [null, "Bearer ctx_wrong", "Basic abc", "Token ctx_wrong"]) {
      const { status, headers, text } = await post(LIST, { authorization });
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe("Bearer");
      expect(JSON.parse(text).error.code).toMatch(/^(missing|invalid)_api_key$/);
    }
  });

  test("answers 403 to unknown host names and foreign origins, before it reads the key", async () => {
    for (const headers of [
      { host: "rebound.attacker.example" },
      { host: "127.0.0.1.attacker.example:80" },
      { host: "mneme.example.attacker.example" },
      { origin: "https://attacker.example" },
      { origin: "null" },
      { origin: "http://localhost:1" },
      { host: "mneme.example", origin: "https://mneme.example.attacker.example" },
    ]) {
      const { status, text } = await post(LIST, { authorization: null, ...headers });
      expect({ status, headers }).toEqual({ status: 403, headers });
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32000 } });
      expect(text).toMatch(/MNEME_MCP_HOSTS|MNEME_CORS_ORIGINS/);
      expect(text).not.toContain("attacker");
    }
  });

  test("answers under addresses, localhost and allowed names, and to its own pages and allowed origins", async () => {
    for (const headers of [
      {},
      { host: "localhost:8383" },
      { host: "LOCALHOST" },
      { host: "[::1]:8383" },
      { host: "192.168.1.7:8383" },
      { host: "mneme.example" },
      { host: "Mneme.Example:443", origin: "https://mneme.example:443" },
      { origin: "https://app.example" },
      { host: "127.0.0.1:8383", origin: "http://127.0.0.1:8383" },
    ]) {
      const { status } = await post(LIST, headers);
      expect({ status, headers }).toEqual({ status: 200, headers });
    }
  });

  test("the setting takes names and *, and nothing else", () => {
    expect(parseHosts(" a.example, B_c ,*,")).toEqual(["a.example", "b_c", "*"]);
    for (const bad of ["http://a", "a:1", "a/b", "-a", "a b", "[::1]"]) {
      expect(() => parseHosts(bad)).toThrow("is not a host name");
    }
  });

  test("takes only POST with JSON of a limited size", async () => {
    for (const method of ["GET", "DELETE", "PUT"]) {
      const { status, headers } = await post(null, {}, method);
      expect(status).toBe(405);
      expect(headers.get("allow")).toBe("POST");
    }
    expect((await post(LIST, { "content-type": "text/plain" })).status).toBe(415);
    expect((await post(`{"a": "${"x".repeat(1024 * 1024)}"}`)).status).toBe(413);
    expect((await post(`${"[".repeat(65)}${"]".repeat(65)}`)).status).toBe(400);
    expect((await post('{"half": ')).status).toBe(400);
    expect((await post('"\\u0000"')).status).toBe(400);
  });

  test("refuses what is no message, batches and unknown revisions with JSON-RPC errors", async () => {
    for (const [body, headers] of [
      [{ hello: 1 }, {}],
      [[LIST, LIST], {}],
      [[LIST], { "mcp-protocol-version": "2025-03-26" }],
      [[], {}],
      ["null", {}],
      [LIST, { "mcp-protocol-version": "2020-01-01" }],
      [LIST, { "mcp-protocol-version": "2026-07-28" }], // without the fields that this revision requires
    ] as const) {
      const { status, text } = await post(body, headers);
      expect({ body, status }).toEqual({ body, status: 400 });
      expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) } });
    }
    expect((await post([LIST])).text).toContain("not a batch");
  });

  test("offers the newest earlier revision to a client of an older one", async () => {
    const versions: string[] = [];
    for (const protocolVersion of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01"]) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: "c", version: "1" } };
      const { status, text } = await post({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      expect(status).toBe(200);
      versions.push(/"protocolVersion":"([^"]+)"/.exec(text)?.[1] ?? "");
    }
    expect(versions).toEqual(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2025-11-25"]);
  });

  test("has the request id and the rate limit of the endpoint in its headers", async () => {
    const { headers } = await post(LIST, { "x-request-id": "from-a-test" });
    expect(headers.get("x-request-id")).toBe("from-a-test");
    expect(headers.get("x-ratelimit-limit")).toBe("600");
  });

  test("is counted apart from the operations that the tools call", async () => {
    const peer = await connectHttp("2026-07-28", server.url, TEST_KEY);
    await peer.done("search_memories", { query: "anything" });
    await peer.close();
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/mneme_http_requests_total\{operation="mcp",status="200"\} \d/);
    expect(metrics).toMatch(/mneme_http_requests_total\{operation="searchMemories",status="200"\} 1\n/);
  });

  test("does not hold streams open for clients that want to be told of changes", async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { filter: { toolsListChanged: true }, notifications: { toolsListChanged: true }, _meta };
    const { text } = await post(
      { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" },
    );
    expect(text).toContain('"error"');
  });
});

describe.each([...CLIENTS])("a tool called by a client of %s", (name) => {
  let peer: Peer;
  beforeAll(async () => {
    peer = await connectHttp(name, server.url, TEST_KEY);
  });
  afterAll(() => peer.close());

  test("that is unknown is an error of the protocol that names it and the tools", async () => {
    clock.advance(61_000);
    await expect(peer.call("remember_everything")).rejects.toThrow(
      "There is no tool 'remember_everything'. The tools are add_memory, search_memories",
    );
  });

  test("with wrong, missing or unknown arguments says which", async () => {
    for (const [tool, args, message] of [
      ["search_memories", {}, "'query' is required"],
      ["search_memories", { query: 7 }, "'query' must be a string"],
      ["search_memories", { query: "a", user_id: "ada" }, "Did you mean 'userId'?"],
      ["search_memories", { query: "a", limit: 101 }, "'limit' must be an integer of 1 to 100"],
      ["search_memories", { query: "a", limit: "101" }, "'limit' must be an integer of 1 to 100"],
      ["search_memories", { query: "a", limit: "five" }, "'limit' must be an integer of 1 to 100"],
      ["search_memories", { query: null }, "'query' must be a string"],
      ["search_memories", { query: "a", filters: "{broken" }, "filters"],
      ["search_memories", { query: "a", user_id: null }, "Did you mean 'userId'?"],
      ["search_memories", { query: "a", max_tokens: 249 }, "'max_tokens' must be an integer"],
      ["search_memories", { query: "a", mode: "best" }, "'mode' must be one of"],
      ["search_memories", { query: "a", filters: { colour: 1 } }, "colour"],
      ["search_memories", { query: "  " }, "say what to search for"],
      ["search_memories", { query: "a", explain: true }, "Unknown field 'explain'"],
      ["ask_memories", { query: "a", stream: true }, "Unknown field 'stream'"],
      ["add_memory", { content: "" }, "'content'"],
      ["add_memory", { content: ["a"] }, "'content' must be a string"],
      ["add_memory", { content: "a", wait_seconds: 51 }, "'wait_seconds'"],
      ["add_memory", { content: "a", expires_at: "yesterday" }, "'expires_at'"],
      ["add_memory", { content: "a", metadata: { _x: 1 } }, "_x"],
      ["add_memory", { content: "a", idempotency_key: "ключ\r\nX-Y: 1" }, "Idempotency-Key"],
      ["get_memory", { memory_id: "mem_1/../../keys" }, "There is no memory"],
      ["get_memory", { memory_id: "mem_1?x=1#y" }, "There is no memory"],
      ["get_memory", { memory_id: ".." }, "There is no memory"],
      ["list_memories", { cursor: "broken" }, "cursor"],
      ["update_memory", { memory_id: "mem_00000000000000000000000000" }, "at least one"],
      ["delete_memory", { memory_id: "mem_00000000000000000000000000" }, "There is no memory"],
      ["get_profile", { userId: "" }, "'userId'"],
    ] as const) {
      clock.advance(61_000);
      const result = await peer.call(tool, args);
      expect({ tool, args, isError: result.isError }).toEqual({ tool, args, isError: true });
      expect(result.text).toContain(message);
      expect(result.error.status).toBeWithin(400, 500);
      expect(result.data).toBeUndefined();
    }
  });

  test("counts for the rate limit of its operation", async () => {
    clock.advance(61_000);
    const limit = 60;
    for (let at = 0; at < limit; at++) await peer.call("search_memories", { query: " " });
    const refused = await peer.call("search_memories", { query: "one too many" });
    expect(refused).toMatchObject({ isError: true, error: { code: "rate_limit_exceeded", status: 429 } });
    expect(refused.text).toContain("POST /memories/search allows 60 requests per minute");
    const overHttp = await mneme.call("POST", "/v1/memories/search", { query: "the same window" });
    expect(overHttp.status).toBe(429);
    clock.advance(61_000);
  });

  test("may be given up: the server goes on, and what it stored stays", async () => {
    clock.advance(61_000);
    const content = `given up by ${name}`;
    const abort = new AbortController();
    const given = peer.call("add_memory", { content, userId: name }, { signal: abort.signal });
    const stored = until("the memory is stored", async () => {
      const { body } = await mneme.call("GET", `/v1/memories?userId=${encodeURIComponent(name)}`);
      return body.data[0]?.content === content;
    });
    const ended = given.then(
      () => "answered",
      () => "given up",
    );
    await stored;
    abort.abort();
    expect(["answered", "given up"]).toContain(await ended);
    clock.advance(61_000);
    expect((await peer.done("list_memories", { userId: name })).memories).toHaveLength(1);
  });
});
