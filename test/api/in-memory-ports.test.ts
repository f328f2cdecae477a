// The main flows through the API on the ports of test/in-memory/. These answer asynchronously on purpose: no code
// between the API and the ports may depend on synchronous answers, or on DuckDB and the native core.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import type { Script } from "../in-memory/language-model.ts";
import { inMemoryPorts } from "../in-memory/ports.ts";
import { expectWholeAnswer, openStream } from "../support/event-stream.ts";
import { fileForm, formRequest } from "../support/forms.ts";
import { type Answered, SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { receiveWebhooks, verified, type WebhookReceiver } from "../support/webhook-receiver.ts";

const clock = new SettableClock();
let mneme: TestService;
let receiver: WebhookReceiver;
/** Decides how calls of the language model end. Tests change it. */
let script: Script;
const answering: Script = () => ({ texts: ["The ferry leaves ", "at nine [1]."], usage: { prompt: 9, completion: 4 } });

beforeAll(async () => {
  script = answering;
  receiver = receiveWebhooks();
  mneme = await startService({
    clock,
    ports: inMemoryPorts((request) => script(request)),
    config: {
      webhookAllow: AllowList.parse("127.0.0.1"),
      ...{ llmBaseUrl: "http://model.example/v1", llmModel: "scripted" },
    },
  });
  await mneme.call("PUT", "/v1/project", { smart_ingestion: { enabled: false } });
});
afterAll(async () => {
  await mneme.stop();
  await receiver.stop();
});

const get = (path: string) => mneme.call("GET", path);
const search = (query: string, more: object = {}) => mneme.call("POST", "/v1/memories/search", { query, ...more });
const contentsOf = ({ body }: Answered): readonly string[] =>
  body.results.map(({ content }: { readonly content: string }) => content);

describe("memories", () => {
  test("are stored, found, changed, listed and deleted", async () => {
    const stored = await mneme.store({
      content: "The ferry to Lund leaves at nine from pier two.",
      tags: ["crossing"],
    });
    expect(stored.body).toMatchObject({ status: "completed", tags: ["crossing"], extraction: "local" });
    const { id } = stored.body;
    expect(contentsOf(await search("ferry to Lund"))[0]).toContain("pier two");
    expect(contentsOf(await search("ferry to Lund", { filters: { tags: "crossing" } }))).toHaveLength(1);
    expect(contentsOf(await search("ferry to Lund", { filters: { tags: "other" } }))).toEqual([]);

    const changed = await mneme.call("PUT", `/v1/memories/${id}`, { tags: ["other"] });
    expect(changed.body.tags).toEqual(["other"]);
    expect(contentsOf(await search("ferry to Lund", { filters: { tags: "other" } }))).toHaveLength(1);
    await mneme.call("PUT", `/v1/memories/${id}`, { content: "The ferry to Lund leaves at ten from pier five." });
    await mneme.settled(id);
    expect(contentsOf(await search("ferry to Lund"))[0]).toContain("pier five");
    expect((await get("/v1/memories?tag=other")).body.data).toHaveLength(1);

    expect((await mneme.call("DELETE", `/v1/memories/${id}`)).status).toBe(204);
    expect((await get(`/v1/memories/${id}`)).status).toBe(404);
    expect(contentsOf(await search("ferry to Lund"))).toEqual([]);
  });
});

describe("an upload", () => {
  test("is read, searchable by its text, and its file is gone", async () => {
    const accepted = await mneme.send(
      formRequest(
        "http://mneme.test/v1/memories/upload",
        fileForm("plan.md", "# Harbour plan\n\nBuy ropes for the mole."),
        {
          headers: { authorization: `Bearer ${TEST_KEY}` },
        },
      ),
    );
    expect(accepted.status).toBe(202);
    const { body } = await mneme.settled(accepted.body.id);
    // a test above switches smart ingestion off
    expect(body).toMatchObject({ status: "completed", title: null, source: { filename: "plan.md" } });
    expect(contentsOf(await search("ropes for the mole"))[0]).toContain("Buy ropes");
    await until(
      "the file is gone",
      () => readdirSync(join(mneme.dataDir, "uploads"), { recursive: true }).join() === "incoming",
    );
  });
});

describe("chats", () => {
  /** Creates a chat of a user. This user and another one each have a memory that answers the question, differently. */
  const newChat = async (userId: string): Promise<string> => {
    await mneme.store({ content: "The ferry to Malmö leaves at nine from pier two.", userId });
    await mneme.store({ content: "The ferry to Malmö leaves at noon from pier nine.", userId: `not ${userId}` });
    return (await mneme.call("POST", "/v1/chats", { userId })).body.id;
  };
  const QUESTION = "When does the ferry to Malmö leave?";

  test("answer from the user's memories, and lose a source with its memory", async () => {
    const chat = await newChat("ada");
    const { status, body } = await mneme.call("POST", `/v1/chats/${chat}/messages`, { message: QUESTION });
    expect(status).toBe(200);
    const { content, sources } = body.message;
    expect(content).toBe("The ferry leaves at nine [1].");
    expect(sources).toHaveLength(1);
    expect(sources[0]).toMatchObject({ cited: true, metadata: { _memory: { userId: "ada" } } });
    expect((await get(`/v1/chats/${chat}`)).body.title).toBe(QUESTION);

    const streamed = await openStream(mneme, `/v1/chats/${chat}/messages/stream`, { message: QUESTION });
    expect(expectWholeAnswer(await streamed.rest()).answer).toBe("The ferry leaves at nine [1].");
    const messages = async () => (await get(`/v1/chats/${chat}/messages`)).body.data;
    expect(await messages()).toHaveLength(4);
    await mneme.call("DELETE", `/v1/memories/${sources[0].memory_id}`);
    for (const message of await messages()) expect(message.sources).toEqual([]);
  });

  test("answer messages that are sent at once one after the other, and count them as queries", async () => {
    const used = async () => (await get("/v1/usage")).body.queries.used;
    const [chat, before] = [await newChat("ben"), await used()];
    const sent = await Promise.all(
      [1, 2, 3].map((n) => mneme.call("POST", `/v1/chats/${chat}/messages`, { message: `Question ${n}?` })),
    );
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200]);
    const roles = (await get(`/v1/chats/${chat}/messages`)).body.data.map(({ role }: { role: string }) => role);
    expect(roles).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
    expect(await used()).toBe(before + 3);
  });

  test("report a failure of the language model, and answer again when it works", async () => {
    script = () => ({ failure: { reason: "failed", status: 500 } });
    const chat = await newChat("cleo");
    const { status, body } = await mneme.call("POST", `/v1/chats/${chat}/messages`, { message: QUESTION });
    script = answering;
    expect([status, body?.error?.code]).toEqual([502, "llm_error"]);
    expect((await mneme.call("POST", `/v1/chats/${chat}/messages`, { message: QUESTION })).status).toBe(200);
  });
});

describe("webhooks", () => {
  test("receive each event of a memory once, signed, and none for a change that is refused", async () => {
    const events = ["memory.completed", "memory.updated", "memory.deleted"];
    const { body: hook } = await mneme.call("POST", "/v1/webhooks", { url: receiver.url("/events"), events });
    const { body: memory } = await mneme.store({ content: "The lighthouse is painted red.", externalId: "lighthouse" });
    await mneme.call("PUT", `/v1/memories/${memory.id}`, { title: "Lighthouse" });
    const { body: other } = await mneme.store({ content: "Another text.", externalId: "other" });
    const conflict = await mneme.call("PUT", `/v1/memories/${other.id}`, { externalId: "lighthouse", title: "x" });
    expect([conflict.status, conflict.body.error.code]).toEqual([409, "external_id_conflict"]);
    await mneme.call("DELETE", `/v1/memories/${memory.id}`);
    await until("four events", () => receiver.at("/events").length === 4);
    const received = receiver.at("/events").map((call) => verified(call, hook.secret));
    expect(received.map(({ type, data }) => `${type} ${data.externalId}`).sort()).toEqual([
      "memory.completed lighthouse",
      "memory.completed other",
      "memory.deleted lighthouse",
      "memory.updated lighthouse",
    ]);
    const deliveries = async () => (await get(`/v1/webhooks/${hook.id}/deliveries`)).body.data;
    await until("all are recorded", async () =>
      (await deliveries()).every(({ status }: { readonly status: string }) => status === "delivered"),
    );
    expect(await deliveries()).toHaveLength(4);
  });
});

describe("accounts", () => {
  test("keys give access with their scopes, from their creation until they are revoked", async () => {
    const { body } = await mneme.call("POST", "/v1/keys", { name: "reader", scopes: ["memories:read"] });
    const as = (secret: string) => ({ authorization: `Bearer ${secret}` });
    expect((await mneme.call("GET", "/v1/memories", undefined, as(body.key))).status).toBe(200);
    expect((await mneme.call("POST", "/v1/memories", { content: "x" }, as(body.key))).status).toBe(403);
    expect((await mneme.call("DELETE", `/v1/keys/${body.id}`)).status).toBe(204);
    expect((await mneme.call("GET", "/v1/memories", undefined, as(body.key))).status).toBe(401);
  });

  test("a project is created with its key, and deleted with all its data", async () => {
    const { body } = await mneme.call("POST", "/v1/projects", { name: "another", plan: "free" });
    const headers = { authorization: `Bearer ${body.key}` };
    const stored = await mneme.call("POST", "/v1/memories", { content: "A text of another project." }, headers);
    expect(stored.status).toBe(202);
    expect((await mneme.call("DELETE", `/v1/projects/${body.id}`)).status).toBe(204);
    expect((await mneme.call("GET", "/v1/memories", undefined, headers)).status).toBe(401);
    expect(contentsOf(await search("A text of another project"))).not.toContain("A text of another project.");
  });

  test("a request that is repeated with its idempotency key runs once and gets the same answer, also concurrently", async () => {
    const create = () =>
      mneme.call("POST", "/v1/memories", { content: "Only once." }, { "idempotency-key": "only-once" });
    const answers = await Promise.all([create(), create(), create()]);
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted.length).toBeGreaterThan(0);
    expect(new Set([...accepted, await create()].map(({ body }) => body.id)).size).toBe(1);
  });

  test("a user is deleted with all its data", async () => {
    const { body } = await mneme.store({ content: "Eve keeps bees on the roof.", userId: "eve" });
    await mneme.call("POST", "/v1/users/eve/events", { type: "visit", data: { page: "/" } });
    expect((await get("/v1/users/eve")).body.id).toBe("eve");
    expect((await mneme.call("DELETE", "/v1/users/eve?cascade=true")).status).toBe(204);
    expect((await get(`/v1/memories/${body.id}`)).status).toBe(404);
    expect((await get("/v1/users/eve")).status).toBe(404);
    expect(contentsOf(await search("bees on the roof"))).not.toContain("Eve keeps bees on the roof.");
  });

  test("an expired memory is gone from reads and searches at once", async () => {
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    const { body } = await mneme.store({ content: "The sale of umbrellas ends today.", expires_at: expiresAt });
    expect(contentsOf(await search("sale of umbrellas"))[0]).toContain("umbrellas");
    clock.advance(60_000);
    expect((await get(`/v1/memories/${body.id}`)).status).toBe(404);
    expect(contentsOf(await search("sale of umbrellas"))).not.toContain("The sale of umbrellas ends today.");
  });
});
