// Random calls of every tool in both revisions, with valid and broken arguments, and random messages. No answer is a
// 5xx, ends the server, or shows what is inside of it. MNEME_TEST_SEED repeats a run, MNEME_TEST_FUZZ sets its length.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { toolSchema } from "../../src/mcp/json-schema.ts";
import { toolsOf } from "../../src/mcp/tools.ts";
import { Chance, type Json, soundValue, spoilt } from "../support/generate.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { TEST_TIMEOUT_MS } from "../support/until.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const CALLS = Number(process.env.MNEME_TEST_FUZZ ?? 400);
/** Time for all calls of a run, in milliseconds. */
const FUZZ_TIMEOUT_MS = Math.max(TEST_TIMEOUT_MS, CALLS * 100);
/** What an answer never shows: stacks, files, SQL, code of the validator. */
const INSIDES = /\bat \S+ \(|\.ts:\d|node_modules|\/src\/|SQLITE|SELECT |mneme-test-|this is a bug/;

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ config: { mcpConnector: true } });
  await mneme.store({ content: "Something to find: the lamp of the harbour." });
});
afterAll(() => mneme.stop());

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

async function post(body: string, headers: Record<string, string>) {
  const response = await mneme.service.handle(
    new Request("http://127.0.0.1:8383/mcp", {
      method: "POST",
      body,
      headers: {
        authorization: `Bearer ${TEST_KEY}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
    }),
  );
  return { status: response.status, text: await response.text() };
}

/** Calls a tool in one of the revisions; returns the JSON-RPC answer. */
async function callTool(isLater: boolean, name: string, args: unknown) {
  const message = (meta: object) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, ...meta } });
  const { status, text } = isLater
    ? await post(message({ _meta: META }), {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      })
    : await post(message({}), {});
  // not `.`, because U+2028 can be in a line of data
  return { status, text, answer: JSON.parse(/^data: ([^\r\n]*)/m.exec(text)?.[1] ?? text) };
}

const tools = toolsOf(true).map(({ name, input }) => ({ name, schema: toolSchema(input, false) }));
const JUNK: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "\u0000",
  "\ud800",
  "../../keys",
  "%2e%2e%2f",
  "mem_00000000000000000000000000/graph",
  "x".repeat(10_000),
  [],
  [[[[]]]],
  {},
  { $or: [{ $not: {} }] },
  { __proto__: null, constructor: { name: 1 } },
];

test(
  `${CALLS} random calls get an answer that is no server error and shows no insides`,
  async () => {
    process.stdout.write(`mcp fuzz: MNEME_TEST_SEED=${SEED} MNEME_TEST_FUZZ=${CALLS}\n`);
    const chance = new Chance(SEED);
    const outcomes = { done: 0, refused: 0, protocol: 0 };
    for (let at = 0; at < CALLS; at++) {
      const { name, schema } = chance.pick(tools);
      const source = { chance, schemas: {}, named: () => undefined };
      const sound = soundValue(schema, source);
      let args = sound as Record<string, unknown>;
      if (chance.often(0.3)) {
        const field = chance.pick([...Object.keys(args), "query"]);
        args = { ...args, [field]: spoilt((args[field] ?? null) as Json, chance) };
      }
      if (chance.often(0.4)) {
        const field = chance.pick([...Object.keys(schema.properties as object), "user_id", "__proto__", "extra"]);
        args = { ...args, [field]: chance.pick(JUNK) };
      }
      if (typeof args.wait_seconds === "number") args.wait_seconds = 0; // the test would take minutes
      const called = chance.often(0.05) ? chance.pick(["", "ADD_MEMORY", "__proto__", "constructor"]) : name;
      const { status, text, answer } = await callTool(
        chance.often(0.5),
        called,
        chance.often(0.03) ? chance.pick(JUNK) : args,
      );
      const shown = { called, args, status, text: text.slice(0, 400) };
      expect(status, JSON.stringify(shown)).toBeLessThan(500);
      const { result, error } = answer;
      const message = error === undefined ? result?.content[0].text : error.message;
      if (error !== undefined || result.isError === true) expect(message, JSON.stringify(shown)).not.toMatch(INSIDES);
      if (error !== undefined) outcomes.protocol += 1;
      else if (result.isError === true) {
        expect(result._meta["mneme/error"].status, JSON.stringify(shown)).toBeWithin(400, 500);
        outcomes.refused += 1;
      } else {
        expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent);
        outcomes.done += 1;
      }
    }
    process.stdout.write(`mcp fuzz: ${JSON.stringify(outcomes)}\n`);
    expect(outcomes.done).toBeGreaterThan(0);
    expect(outcomes.refused).toBeGreaterThan(0);
  },
  FUZZ_TIMEOUT_MS,
);

test(
  "random messages get an answer that is no server error",
  async () => {
    const chance = new Chance(SEED);
    const methods = ["initialize", "ping", "tools/list", "tools/call", "server/discover", "resources/list", "x", "", 7];
    for (let at = 0; at < CALLS; at++) {
      const body = {
        jsonrpc: chance.pick(["2.0", "1.0", 2, null]),
        id: chance.pick([1, "a", null, {}, 1.5, undefined]),
        method: chance.pick(methods),
        params: chance.pick([...JUNK, { _meta: META }, { name: "ping" }, undefined]),
      };
      const text = chance.often(0.1) ? JSON.stringify(body).slice(0, chance.below(40)) : JSON.stringify(body);
      const headers = chance.often(0.5)
        ? {}
        : { "mcp-protocol-version": chance.pick(["2026-07-28", "2025-11-25", "x"]) };
      const answered = await post(text, headers);
      expect(answered.status, text).toBeLessThan(500);
      expect(answered.text, text).not.toMatch(INSIDES);
    }
    expect((await mneme.call("GET", "/v1/memories")).status).toBe(200);
  },
  FUZZ_TIMEOUT_MS,
);
