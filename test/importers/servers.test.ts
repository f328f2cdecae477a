// Reading from the products' own servers: paging, keys, refusals. The servers here answer in the forms that the
// documentation and the clients of the products show.

import { describe, expect, test } from "bun:test";
import type { Found } from "../../src/importers/imported.ts";
import { foundIn } from "../../src/importers/importers.ts";

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
  readonly body: any;
}

type Respond = (asked: Asked, number: number) => unknown;

/** A server that answers with what `respond` returns: a Response, or a value to send as JSON. */
function serverOf(respond: Respond) {
  let number = 0;
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const url = new URL(request.url);
      const text = await request.text();
      const asked = {
        method: request.method,
        path: url.pathname,
        query: url.searchParams,
        authorization: request.headers.get("authorization"),
        body: text === "" ? null : JSON.parse(text),
      };
      const answer = respond(asked, ++number);
      return answer instanceof Response ? answer : Response.json(answer);
    },
  });
}

async function found(from: string, url: string, environment: Record<string, string>, slept: number[] = []) {
  const all: Found[] = [];
  const clock = { now: () => 0, sleep: async (ms: number) => void slept.push(ms) };
  for await (const item of foundIn({ from, source: url, environment, clock, report: () => undefined })) all.push(item);
  return all;
}

const contents = (all: readonly Found[]) =>
  all.map((item) => (item.kind === "memory" ? item.memory.content : item.why));

describe("mem0", () => {
  const total = 230;
  const respond: Respond = ({ method, path, query, authorization, body }) => {
    if (authorization !== "Token m0-key") return Response.json({ detail: "Invalid API key" }, { status: 401 });
    expect([method, path]).toEqual(["POST", "/v3/memories/"]);
    expect(body.filters).toEqual({ OR: [{ user_id: "*" }, { agent_id: "*" }, { app_id: "*" }, { run_id: "*" }] });
    const [page, size] = [Number(query.get("page")), Number(query.get("page_size"))];
    const all = Array.from({ length: total }, (_, id) => ({ id: `m${id}`, memory: `text ${id}`, user_id: "ada" }));
    const results = all.slice((page - 1) * size, page * size);
    return { count: total, next: page * size < total ? `?page=${page + 1}` : null, previous: null, results };
  };
  test("all pages are read with the key", async () => {
    using server = serverOf(respond);
    const all = await found("mem0", server.url.origin, { MEM0_API_KEY: "m0-key" });
    expect(contents(all)).toEqual(Array.from({ length: total }, (_, id) => `text ${id}`));
    expect(all.at(-1)).toMatchObject({ memory: { userId: "ada", externalId: "mem0:m229" } });
  });
  test("a missing or wrong key is refused in words, at once", async () => {
    using server = serverOf(respond);
    const slept: number[] = [];
    expect(found("mem0", server.url.origin, {}, slept)).rejects.toThrow(
      "answered 401: Invalid API key. Set MEM0_API_KEY.",
    );
    expect(found("mem0", server.url.origin, { MEM0_API_KEY: "x" }, slept)).rejects.toThrow("Check MEM0_API_KEY.");
    expect(slept).toEqual([]);
  });
  test("a busy server is asked again after its wait", async () => {
    const slept: number[] = [];
    using server = serverOf((asked, number) =>
      number === 1 ? new Response("", { status: 429, headers: { "retry-after": "5" } }) : respond(asked, number),
    );
    expect(await found("mem0", server.url.origin, { MEM0_API_KEY: "m0-key" }, slept)).toHaveLength(total);
    expect(slept).toEqual([5000]);
  });
  test("a server that fails in the middle leaves what came before, and an error", async () => {
    using server = serverOf((asked, number) =>
      number < 2 ? respond(asked, number) : Response.json({ detail: "gone" }, { status: 403 }),
    );
    const all = await found("mem0", server.url.origin, { MEM0_API_KEY: "m0-key" });
    expect(all).toHaveLength(101);
    expect(all.at(-1)).toMatchObject({
      kind: "damaged",
      place: "after 100 records",
      why: expect.stringContaining("gone"),
    });
  });
  test("an address with a path is one list, such as that of a self-hosted server", async () => {
    using server = serverOf(({ path, query }) => {
      expect([path, query.get("user_id")]).toEqual(["/memories", "ada"]);
      return { results: [{ id: "1", memory: "self-hosted", user_id: "ada" }] };
    });
    expect(contents(await found("mem0", `${server.url.origin}/memories?user_id=ada`, {}))).toEqual(["self-hosted"]);
  });
  test("something else at the address is refused in words", async () => {
    using server = serverOf(() => new Response("<html>", { headers: { "content-type": "text/html" } }));
    expect(found("mem0", server.url.origin, {})).rejects.toThrow("did not answer with JSON");
    const gone = serverOf(() => ({}));
    const { origin } = gone.url;
    await gone.stop(true);
    expect(found("mem0", origin, {})).rejects.toThrow(`No answer from ${origin}`);
  });
});

test("supermemory: all pages of documents are read with their content", async () => {
  using server = serverOf(({ method, path, authorization, body }) => {
    expect([method, path, authorization]).toEqual(["POST", "/v3/documents/list", "Bearer sm-key"]);
    expect(body).toMatchObject({ includeContent: true, limit: 100 });
    const documents = [{ id: `d${body.page}`, content: `document ${body.page}`, containerTags: ["u"] }];
    return { memories: documents, pagination: { currentPage: body.page, limit: 100, totalItems: 3, totalPages: 3 } };
  });
  const all = await found("supermemory", server.url.origin, { SUPERMEMORY_API_KEY: "sm-key" });
  expect(contents(all)).toEqual(["document 1", "document 2", "document 3"]);
});

test("hindsight: all memories of all banks are read, and belong to their bank", async () => {
  const banks: Record<string, number> = { ada: 150, "bob/x": 1, none: 0 };
  using server = serverOf(({ path, query }) => {
    const [limit, offset] = [Number(query.get("limit")), Number(query.get("offset"))];
    if (path === "/v1/default/banks") {
      const all = Object.keys(banks).map((bank_id) => ({ bank_id }));
      return { banks: all.slice(offset, offset + limit), total: all.length, limit, offset };
    }
    const bank = decodeURIComponent(/^\/v1\/default\/banks\/([^/]+)\/memories\/list$/.exec(path)?.[1] ?? "");
    const total = banks[bank] ?? 0;
    const items = Array.from({ length: total }, (_, at) => ({ id: `${bank}-${at}`, text: `${bank} ${at}` }));
    return { items: items.slice(offset, offset + limit), total, limit, offset };
  });
  const all = await found("hindsight", server.url.origin, {});
  expect(all).toHaveLength(151);
  expect(all[149]).toMatchObject({ memory: { content: "ada 149", userId: "ada", externalId: "hindsight:ada-149" } });
  expect(all[150]).toMatchObject({ memory: { userId: "bob/x" } });
});

test("zep: threads with their messages, and the texts and facts of graphs, belong to their users", async () => {
  const pages = (items: readonly object[], { query }: Asked) => {
    const at = Number(query.get("cursor") ?? 0);
    return { items: items.slice(at, at + 1), ...(at + 1 < items.length && { next_cursor: String(at + 1) }) };
  };
  const lists: Record<string, readonly object[]> = {
    "POST /api/v4/users/list": [
      { uuid: "u-1", user_id: "ada" },
      { uuid: "u-2", user_id: "bob" },
    ],
    "GET /api/v4/threads": [
      { uuid: "t-1", thread_id: "tea", user_uuid: "u-1" },
      { uuid: "t-2", thread_id: "cup", user_uuid: "u-2" },
    ],
    "GET /api/v4/threads/t-1/messages": [
      { uuid: "m-1", role: "user", content: "Tea?", reference_time: "2026-09-01T00:00:00Z" },
      { uuid: "m-2", role: "assistant", content: "Yes." },
    ],
    "GET /api/v4/threads/t-2/messages": [],
    "POST /api/v4/graphs/list": [
      { uuid: "g-1", type: "user", user_uuid: "u-1" },
      { uuid: "g-2", type: "standard", graph_id: "wiki" },
    ],
    "POST /api/v4/graphs/g-1/episodes/list": [
      { uuid: "e-1", content: "Tea?", thread_uuid: "t-1" },
      { uuid: "e-2", content: "Ada drinks tea.", source: "text" },
    ],
    "POST /api/v4/graphs/g-1/edges/list": [{ uuid: "x-1", fact: "Ada likes tea", valid_at: "2026-09-01T00:00:00Z" }],
    "POST /api/v4/graphs/g-2/episodes/list": [{ uuid: "e-3", content: "Tea is a plant.", source: "text" }],
    "POST /api/v4/graphs/g-2/edges/list": [],
  };
  using server = serverOf((asked) => {
    expect(asked.authorization).toBe("Api-Key z_key");
    const list = lists[`${asked.method} ${asked.path}`];
    return list === undefined ? Response.json({ message: "not found" }, { status: 404 }) : pages(list, asked);
  });
  const all = await found("zep", server.url.origin, { ZEP_API_KEY: "z_key" });
  const memories = all.flatMap((item) => (item.kind === "memory" ? [item.memory] : []));
  expect(memories.map(({ userId, externalId, type }) => [userId, externalId, type])).toEqual([
    ["ada", "zep:thread:tea", "conversation"],
    ["ada", "zep:e-2", undefined],
    ["ada", "zep:x-1", undefined],
    ["wiki", "zep:e-3", undefined],
  ]);
  expect(all.filter(({ kind }) => kind !== "memory")).toMatchObject([
    { kind: "skipped", why: "thread without messages" },
  ]);
});
