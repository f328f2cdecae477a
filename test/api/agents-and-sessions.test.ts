// agentId and sessionId: scopes of memories and chats beside the user. Random memories and requests are compared with
// the simplest possible implementation: no scope may be ignored, in any operation, alone or with others.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { seeded } from "../support/seeded.ts";
import { startService, type TestService } from "../support/service.ts";
import { expectFault } from "./faults.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_123);
const MEMORIES = 60;
const ROUNDS = 60;
const SCOPES = ["userId", "agentId", "sessionId"] as const;
type Scope = { readonly [Name in (typeof SCOPES)[number]]?: string };
type Stored = Scope & { readonly id: string };

/** The same names for users, agents and sessions, so that one cannot pass for another. */
const NAMES = ["x", "y", "X", "x y"];

let mneme: TestService;
let stored: readonly Stored[];
const random = seeded(SEED);
const below = (count: number) => Math.floor(random() * count);
const anyScope = (chance: number): Scope =>
  Object.fromEntries(SCOPES.filter(() => random() < chance).map((name) => [name, NAMES[below(NAMES.length)] ?? "x"]));
const within = (scope: Scope, memory: Scope) =>
  SCOPES.every((name) => scope[name] === undefined || memory[name] === scope[name]);
const parametersOf = (parameters: Readonly<Record<string, string | number>>) =>
  new URLSearchParams(Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]));
const call = async (method: string, target: string, body?: object) => {
  const answer = await mneme.call(method, target, body);
  if (answer.status >= 300) throw new Error(`${method} ${target}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
};
const found = (answer: { readonly results: readonly { readonly memory_id: string }[] }) =>
  [...new Set(answer.results.map(({ memory_id }) => memory_id))].sort();
const expected = (scope: Scope, more: (memory: Stored) => boolean = () => true) =>
  stored
    .filter((memory) => within(scope, memory) && more(memory))
    .map(({ id }) => id)
    .sort();

beforeAll(async () => {
  mneme = await startService({ countsWords: true });
  const scopes = Array.from({ length: MEMORIES }, () => anyScope(0.7));
  const memories = scopes.map((scope, at) => ({ content: `Boat ${at} is moored at the quay.`, ...scope }));
  const { data } = await call("POST", "/v1/memories/batch", { memories });
  stored = data.map(({ memory }: { memory: Stored }, at: number) => ({ ...scopes[at], id: memory.id }));
  for (const { id } of stored) await mneme.settled(id);
});
afterAll(() => mneme.stop());

describe(`every operation answers within its scope (seed ${SEED})`, () => {
  test("lists and searches, by POST and by GET, in each mode, with and without a filter", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const scope = anyScope(0.4);
      const mode = (["fast", "hybrid", "balanced", "precise"] as const)[round % 4] ?? "fast";
      const list = await call("GET", `/v1/memories?${parametersOf({ ...scope, limit: 100 })}`);
      expect([scope, list.data.map(({ id }: Stored) => id).sort()]).toEqual([scope, expected(scope)]);
      const question = { query: "boat at the quay", mode, limit: 100, ...scope };
      expect([question, found(await call("POST", "/v1/memories/search", question))]).toEqual([
        question,
        expected(scope),
      ]);
      expect(found(await call("GET", `/v1/memories/search?${parametersOf(question)}`))).toEqual(expected(scope));
      const filters = { sessionId: { $ne: "x" } };
      const explained = await call("POST", "/v1/memories/search", { ...question, filters, explain: true });
      const admitted = expected(scope, ({ sessionId }) => sessionId !== "x");
      expect([question, found(explained), explained.explain.admissible]).toEqual([question, admitted, admitted.length]);
    }
  });

  test("queries and chats answer from memories of the scope only", async () => {
    for (let round = 0; round < ROUNDS / 4; round++) {
      const scope = anyScope(0.5);
      const allowed = new Set(expected(scope));
      const { sources } = await call("POST", "/v1/memories/query", {
        query: "Where are boats moored?",
        mode: "hybrid",
        maxSources: 50,
        ...scope,
      });
      const chat = await call("POST", "/v1/chats", scope);
      const none = { userId: null, agentId: null, sessionId: null };
      expect(chat).toMatchObject({ ...none, ...scope });
      const { message } = await call("POST", `/v1/chats/${chat.id}/messages`, {
        message: "Where are boats moored?",
        mode: "hybrid",
        maxSources: 50,
      });
      for (const all of [sources, message.sources]) {
        const outside = all.filter(({ memory_id }: { memory_id: string }) => !allowed.has(memory_id));
        expect([scope, outside]).toEqual([scope, []]);
        expect(all.length > 0).toBe(allowed.size > 0);
      }
    }
  });

  test("chat completions take the scope from `mneme` and from `metadata`", async () => {
    for (const scope of [{ agentId: "x" }, { sessionId: "y" }, { agentId: "x", sessionId: "x" }, { agentId: "none" }]) {
      const allowed = new Set(expected(scope));
      const ask = { model: "mneme/fast", messages: [{ role: "user", content: "Where are boats moored?" }] };
      for (const more of [{ mneme: { ...scope, maxSources: 50 } }, { metadata: { ...scope, maxSources: "50" } }]) {
        const answer = await call("POST", "/v1/chat/completions", { ...ask, ...more });
        const sources: readonly { memory_id: string }[] =
          answer.choices[0].message.mneme?.sources ?? answer.mneme.sources;
        expect(sources.filter(({ memory_id }) => !allowed.has(memory_id))).toEqual([]);
        expect([scope, sources.length > 0]).toEqual([scope, allowed.size > 0]);
      }
    }
  });

  test("chats are listed by their scope", async () => {
    const chats: Stored[] = [];
    for (let count = 0; count < 20; count++) {
      const scope = anyScope(0.6);
      chats.push({ ...scope, id: (await call("POST", "/v1/chats", { ...scope, title: "listed" })).id });
    }
    for (let round = 0; round < 20; round++) {
      const scope = anyScope(0.5);
      const { data } = await call("GET", `/v1/chats?${parametersOf({ ...scope, limit: 100 })}`);
      const listed = data.filter(({ title }: { title: string | null }) => title === "listed");
      const wanted = chats.filter((chat) => within(scope, chat)).map(({ id }) => id);
      expect([scope, listed.map(({ id }: Stored) => id).sort()]).toEqual([scope, wanted.sort()]);
    }
  });
});

describe("a change of agent or session", () => {
  test("counts for searches at once, and null clears it", async () => {
    const made = await mneme.store({ content: "The gate code is 4711.", agentId: "porter", sessionId: "monday" });
    const { id } = made.body;
    const finds = async (scope: Scope) =>
      found(await call("POST", "/v1/memories/search", { query: "gate code", mode: "fast", ...scope })).includes(id);
    expect([await finds({ agentId: "porter" }), await finds({ sessionId: "monday" })]).toEqual([true, true]);
    const moved = await call("PUT", `/v1/memories/${id}`, { agentId: "guard", sessionId: null });
    expect(moved).toMatchObject({ agentId: "guard", sessionId: null, content: "The gate code is 4711." });
    expect([await finds({ agentId: "porter" }), await finds({ agentId: "guard" })]).toEqual([false, true]);
    expect([await finds({ sessionId: "monday" }), await finds({})]).toEqual([false, true]);
  });

  test("removes the memory from the sources of a chat with the former agent", async () => {
    const { body: memory } = await mneme.store({ content: "The safe opens with a brass key.", agentId: "porter" });
    const chat = await call("POST", "/v1/chats", { agentId: "porter" });
    await call("POST", `/v1/chats/${chat.id}/messages`, { message: "What opens the safe?", mode: "fast" });
    const sources = async () =>
      (await call("GET", `/v1/chats/${chat.id}`)).messages.flatMap((message: { sources: { memory_id: string }[] }) =>
        message.sources.map(({ memory_id }) => memory_id),
      );
    expect(await sources()).toContain(memory.id);
    await call("PUT", `/v1/memories/${memory.id}`, { agentId: "guard" });
    expect(await sources()).not.toContain(memory.id);
  });

  test("with an externalId updates the memory of the same user, whatever its agent was", async () => {
    const first = await mneme.store({ content: "Tide table", externalId: "tide", agentId: "porter" });
    const { body, status } = await mneme.call("POST", "/v1/memories", {
      content: "Tide table",
      externalId: "tide",
      agentId: "guard",
    });
    expect([status, body.id, body.agentId]).toEqual([200, first.body.id, "guard"]);
  });
});

test("results name agent and session of their memory", async () => {
  await mneme.store({ content: "The ferry leaves at nine.", agentId: "porter", sessionId: "ferry" });
  const { results } = await call("POST", "/v1/memories/search", { query: "ferry at nine", sessionId: "ferry" });
  expect(results.map(({ metadata }: { metadata: { _memory: Scope } }) => metadata._memory)).toMatchObject([
    { agentId: "porter", sessionId: "ferry", userId: null },
  ]);
});

test("a key that is confined to a user finds other users' memories with no agent or session", async () => {
  const key = await mneme.addKey(["*"], undefined, { userId: "x" });
  const headers = { authorization: `Bearer ${key}` };
  for (const scope of [{}, { agentId: "x" }, { sessionId: "y" }, { agentId: "x", sessionId: "y" }] as const) {
    const question = { query: "boat at the quay", mode: "hybrid", limit: 100, ...scope };
    const { body } = await mneme.call("POST", "/v1/memories/search", question, headers);
    expect([scope, found(body)]).toEqual([scope, expected({ ...scope, userId: "x" })]);
  }
});

test("a scope that is empty, too long or of another type is refused", async () => {
  for (const name of ["agentId", "sessionId"]) {
    for (const value of ["", "u".repeat(257), 7]) {
      const question = { query: "boat", [name]: value };
      expectFault(await mneme.call("POST", "/v1/memories/search", question), 400, "invalid_request", name);
      expectFault(await mneme.call("POST", "/v1/memories/query", question), 400, "invalid_request", name);
      expectFault(await mneme.call("POST", "/v1/chats", { [name]: value }), 400, "invalid_request", name);
    }
    for (const list of ["memories", "chats"]) {
      expectFault(await mneme.call("GET", `/v1/${list}?${name}=`), 400, "invalid_request", name);
    }
  }
  const misspelt = await mneme.call("POST", "/v1/memories/search", { query: "boat", agent_id: "x" });
  expectFault(misspelt, 400, "invalid_request", "agent_id");
  expect(misspelt.body.error.message).toContain("'agentId'");
});
