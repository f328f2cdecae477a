// Every tool over HTTP, with the official client in both revisions of the protocol.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { CLIENTS, connectHttp, listen, type Peer } from "../support/mcp.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";

const NAMES = [
  "add_memory",
  "search_memories",
  "ask_memories",
  "get_memory",
  "list_memories",
  "update_memory",
  "delete_memory",
  "get_profile",
];
const WRITING = ["add_memory", "update_memory", "delete_memory"];

let mneme: TestService;
let server: ReturnType<typeof listen>;

beforeAll(async () => {
  mneme = await startService();
  server = listen(mneme);
});
afterAll(async () => {
  await server.stop();
  await mneme.stop();
});

describe.each([...CLIENTS])("a client of %s", (name) => {
  let peer: Peer;
  const userId = `ada of ${name}`;

  beforeAll(async () => {
    peer = await connectHttp(name, server.url, TEST_KEY);
  });
  afterAll(() => peer.close());

  test("is told what the memory is for", () => {
    expect(peer.instructions).toContain("long-term memory");
  });

  test("sees eight tools in a stable order, with schemas, titles and annotations", async () => {
    const tools = await peer.tools();
    expect(tools.map((tool) => tool.name)).toEqual(NAMES);
    for (const tool of tools) {
      expect(tool.description.length).toBeGreaterThan(40);
      expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(tool.outputSchema).toMatchObject({ type: "object" });
      const { title, ...hints } = tool.annotations;
      expect(title).toBe(tool.title);
      expect(Object.keys(hints).sort()).toEqual(["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"]);
      expect(hints.readOnlyHint).toBe(!WRITING.includes(tool.name));
      expect(hints.openWorldHint).toBe(false);
    }
    expect(JSON.stringify(tools)).not.toContain("$ref");
    expect(await peer.tools()).toEqual(tools);
  });

  test("stores, finds, reads, lists, asks, corrects and forgets", async () => {
    const added = await peer.done("add_memory", {
      content: "Ada keeps the spare key under the blue pot.",
      userId,
      tags: ["home"],
      metadata: { room: "porch" },
    });
    expect(added).toMatchObject({ status: "completed", searchable: true });
    expect(added.note).toBeUndefined();
    const { memory_id } = added;

    const found = await peer.done("search_memories", { query: "where is the spare key?", userId, limit: 3 });
    expect(found.total_results).toBe(1);
    expect(found.results[0]).toMatchObject({
      memory_id,
      content: "Ada keeps the spare key under the blue pot.",
      userId,
      tags: ["home"],
      metadata: { room: "porch" },
    });

    const read = await peer.done("get_memory", { memory_id });
    expect(read).toMatchObject({
      memory_id,
      status: "completed",
      content: "Ada keeps the spare key under the blue pot.",
    });
    const listed = await peer.done("list_memories", { userId });
    expect(listed).toMatchObject({ has_more: false, memories: [{ memory_id }] });

    const answered = await peer.done("ask_memories", { query: "where is the spare key?", userId });
    expect(answered.answer).toContain("under the blue pot. [1]");
    expect(answered.answer_state).toBe("answered");
    expect(answered.sources[0]).toMatchObject({ n: 1, memory_id });

    const corrected = await peer.done("update_memory", {
      memory_id,
      content: "Ada keeps the spare key in the mailbox.",
    });
    expect(corrected).toMatchObject({ memory_id, status: "completed", searchable: true });
    const again = await peer.done("search_memories", { query: "where is the spare key?", userId });
    expect(again.results.map((result: { content: string }) => result.content)).toEqual([
      "Ada keeps the spare key in the mailbox.",
    ]);

    expect(await peer.done("delete_memory", { memory_id })).toEqual({ memory_id, deleted: true, purged: false });
    expect((await peer.done("search_memories", { query: "spare key", userId })).results).toEqual([]);
    const gone = await peer.call("get_memory", { memory_id });
    expect(gone).toMatchObject({ isError: true, error: { code: "memory_not_found", status: 404 } });
    expect(gone.text).toContain(memory_id);
  });

  test("memories of an agent and a session are found, asked, listed and profiled within them only", async () => {
    const place = { userId, agentId: "cook", sessionId: "tuesday" };
    const { memory_id } = await peer.done("add_memory", { content: "The stew needs more thyme.", ...place });
    await peer.done("add_memory", { content: "The stew needs a bigger pot.", userId, agentId: "smith" });
    const shown = { memory_id, agentId: "cook", sessionId: "tuesday" };
    for (const scope of [place, { agentId: "cook" }, { sessionId: "tuesday" }]) {
      const searched = await peer.done("search_memories", { query: "what does the stew need?", ...scope });
      const asked = await peer.done("ask_memories", { query: "what does the stew need?", ...scope });
      const listed = await peer.done("list_memories", scope);
      const profile = await peer.done("get_profile", scope);
      for (const found of [searched.results, asked.sources, listed.memories, profile.memories]) {
        expect(found).toMatchObject([shown]);
      }
    }
    const moved = await peer.done("update_memory", { memory_id, agentId: "smith", sessionId: null });
    expect(moved).toMatchObject({ memory_id, searchable: true });
    expect((await peer.done("list_memories", { agentId: "smith", userId })).memories).toHaveLength(2);
    expect((await peer.done("list_memories", { sessionId: "tuesday" })).memories).toEqual([]);
  });

  test("results have no fields that their schemas do not name", async () => {
    await peer.done("add_memory", { content: "A note about schemas.", userId, occurred_at: "2026-01-01" });
    const named = new Map((await peer.tools()).map(({ name, outputSchema }) => [name, outputSchema]));
    for (const [tool, args, list] of [
      ["search_memories", { query: "a note about schemas", userId }, "results"],
      ["ask_memories", { query: "what is the note about?", userId }, "sources"],
      ["list_memories", { userId }, "memories"],
      ["get_profile", { userId }, "memories"],
    ] as const) {
      const data = await peer.done(tool, args);
      const { properties } = named.get(tool);
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(data)));
      expect(data[list].length).toBeGreaterThan(0);
      for (const item of data[list]) {
        expect(Object.keys(properties[list].items.properties)).toEqual(expect.arrayContaining(Object.keys(item)));
      }
    }
  });

  test("the structured content and the text of a result are the same", async () => {
    for (const [tool, args] of [
      ["search_memories", { query: "anything", userId }],
      ["list_memories", {}],
      ["get_profile", { userId }],
    ] as const) {
      const { text, data } = await peer.call(tool, args);
      expect(JSON.parse(text)).toEqual(data);
    }
  });
});
