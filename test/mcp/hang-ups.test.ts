// Clients that vanish during a call, and clients that wait for a long one.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { createLog } from "../../src/kit/log.ts";
import { createBridge } from "../../src/mcp/bridge.ts";
import { createMcpServer } from "../../src/mcp/server.ts";
import { toolsOf } from "../../src/mcp/tools.ts";
import { type LlmStub, startLlm, trickling } from "../support/llm.ts";
import { CLIENTS, connectHttp, listen } from "../support/mcp.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const NO_PROFILES = { of: () => Promise.reject(new Error("there are no profiles")) };

describe("a client that vanishes", () => {
  let mneme: TestService;
  let llm: LlmStub;
  let server: ReturnType<typeof listen>;
  beforeAll(async () => {
    llm = startLlm(trickling(["The lamp ", "is "], { stays: true }));
    // the model's silence must not end the calls of these tests
    const patient = { llmFirstByteTimeoutMs: 600_000, llmIdleTimeoutMs: 600_000, llmTimeoutMs: 600_000 };
    mneme = await startService({ config: { ...patient, llmBaseUrl: llm.baseUrl, llmModel: "small" } });
    await mneme.call("PUT", "/v1/project", { smart_ingestion: { enabled: false }, min_evidence: 0 });
    await mneme.store({ content: "The lamp is in the hall." });
    server = listen(mneme);
  });
  afterAll(async () => {
    await server.stop();
    await mneme.stop();
    await llm.stop();
  });

  test.each([...CLIENTS])("with %s ends the call of the language model, and the server goes on", async (name) => {
    for (let round = 0; round < 5; round++) {
      const peer = await connectHttp(name, server.url, TEST_KEY);
      const abort = new AbortController();
      const asked = peer.call("ask_memories", { query: "where is the lamp?" }, { signal: abort.signal }).then(
        () => "answered",
        () => "given up",
      );
      await until("the language model is called", async () => llm.underWay() > 0);
      if (round % 2 === 0) abort.abort();
      else await peer.close();
      expect(await asked).toBe("given up");
      // 2025-11-25 cancels with a message of its own, which a server without sessions cannot relate to the call; the
      // end of the connection ends it
      if (name !== "2026-07-28") await peer.close();
      await until("the call of the language model has ended", async () => llm.underWay() === 0);
      await peer.close();
    }
    expect((await mneme.call("GET", "/v1/memories")).status).toBe(200);
  });

  test("without a word, in the middle of a request, leaves nothing behind", async () => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "ask_memories", arguments: { query: "where is the lamp?" } },
    });
    const head = [
      "POST /mcp HTTP/1.1",
      `Host: ${new URL(server.url).host}`,
      `Authorization: Bearer ${TEST_KEY}`,
      "Content-Type: application/json",
      "Accept: application/json, text/event-stream",
    ];
    for (const sent of [body.slice(0, 20), body]) {
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port: Number(new URL(server.url).port),
        socket: { data: () => undefined },
      });
      socket.write(`${[...head, `Content-Length: ${body.length}`].join("\r\n")}\r\n\r\n${sent}`);
      if (sent === body) await until("the language model is called", async () => llm.underWay() > 0);
      socket.terminate();
    }
    await until("the call of the language model has ended", async () => llm.underWay() === 0);
    expect((await mneme.call("GET", "/v1/memories")).status).toBe(200);
  });
});

test.each(["the server", "the process that it started"])(
  "a client that asks %s for progress gets it until the call ends",
  async (whom) => {
    const found = { results: [], total_results: 0 };
    const result = { structuredContent: found, content: [{ type: "text", text: JSON.stringify(found) }] };
    const answered = Promise.withResolvers<void>();
    const call = () => answered.promise.then(() => found);
    const send = async () => {
      await answered.promise;
      return Response.json({ jsonrpc: "2.0", id: 1, result });
    };
    const server =
      whom === "the server"
        ? createMcpServer(
            {
              tools: toolsOf(false),
              settled: async () => null,
              profiles: NO_PROFILES,
              log: createLog("error"),
              progressMs: 1,
            },
            {
              principal: { projectId: "prj_x" as never, keyId: "key_x" as never, userId: null, scopes: ["*"] },
              operations: () => ({ call }),
              requestId: "one",
              origin: "http://127.0.0.1",
            },
          )
        : createBridge({ url: "http://127.0.0.1", key: null, send, progressMs: 1 }, (error) => {
            throw error;
          });
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "waiting", version: "1.0.0" });
    await Promise.all([server.connect(serverSide as never), client.connect(clientSide)]);
    const progress: number[] = [];
    const called = client.callTool(
      { name: "search_memories", arguments: { query: "slow" } },
      { onprogress: (message) => progress.push(message.progress) },
    );
    await until("three messages have come", async () => progress.length >= 3);
    answered.resolve();
    expect(await called).toMatchObject({ structuredContent: found });
    expect(progress.slice(0, 3)).toEqual([1, 2, 3]);
    await client.close();
  },
);

test("a bug in a tool is logged and answered without its details", async () => {
  const server = createMcpServer(
    { tools: toolsOf(false), settled: async () => null, profiles: NO_PROFILES, log: createLog("silent") },
    {
      principal: { projectId: "prj_x" as never, keyId: "key_x" as never, userId: null, scopes: ["*"] },
      operations: () => ({ call: () => Promise.reject(new Error("/a/path and a secret")) }),
      requestId: "one",
      origin: "http://127.0.0.1",
    },
  );
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "unlucky", version: "1.0.0" });
  await Promise.all([server.connect(serverSide as never), client.connect(clientSide)]);
  const result = await client.callTool({ name: "list_memories", arguments: {} });
  expect(result.isError).toBe(true);
  expect(JSON.stringify(result)).toContain("Something went wrong inside the server");
  expect(JSON.stringify(result)).not.toMatch(/secret|a\/path/);
  await client.close();
});
