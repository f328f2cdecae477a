// Calls every method of the TypeScript client on the server at MNEME_URL, under Node and Bun, and prints how many calls
// it made. Checks that fail end the process with an error.

import assert from "node:assert/strict";
import * as sdk from "mneme-client";

let calls = 0;
const counting = (...given) => {
  calls++;
  return fetch(...given);
};
const mneme = new sdk.Mneme({ fetch: counting });

const memory = await mneme.memories.add(
  {
    content: "Ada keeps the spare key under the blue pot.",
    userId: "ada",
    agentId: "cook",
    sessionId: "s-1",
    tags: ["house"],
    metadata: { room: "hall" },
  },
  { wait: true },
);
assert.equal(memory.status, "completed");
assert.deepEqual(memory.metadata, { room: "hall" });
assert.equal((await mneme.memories.add("The boiler is in the cellar.")).content, "The boiler is in the cellar.");
const again = await mneme.memories.add({ content: "once" }, { idempotencyKey: "k1" });
assert.equal((await mneme.memories.add({ content: "once" }, { idempotencyKey: "k1" })).id, again.id);
await assert.rejects(mneme.memories.add({ content: "twice" }, { idempotencyKey: "k1" }), sdk.ConflictError);

const batch = await mneme.memories.addMany([{ content: "A bee." }, { content: "" }, { content: "A cow." }], {
  wait: true,
});
assert.deepEqual([batch.accepted, batch.failed], [2, 1]);
assert.equal(batch.data[0].memory.status, "completed");
assert.equal(batch.data[1].error.code, "invalid_request");

const steps = [];
const file = new File(["# Boiler\n\nThe boiler was serviced in May.\n".repeat(100)], "boiler.md");
const uploaded = await mneme.memories.upload(
  file,
  { userId: "ada", tags: ["house"], metadata: { n: 1 }, title: null },
  { wait: true, waitTimeoutMs: 120_000, onProgress: (step) => steps.push(step) },
);
assert.equal(uploaded.source.filename, "boiler.md");
assert.deepEqual([uploaded.tags, uploaded.metadata], [["house"], { n: 1 }]);
assert.equal(steps.at(-1).sentBytes, steps.at(-1).totalBytes);
const damaged = new Blob(["%PDF-1.7\nand nothing else"], { type: "application/pdf" });
await assert.rejects(
  mneme.memories.upload(damaged, {}, { filename: "x.pdf", wait: true }),
  (error) => error instanceof sdk.ProcessingError || error instanceof sdk.InvalidRequestError,
);

await assert.rejects(mneme.memories.file(uploaded.id), sdk.NotFoundError);
assert.equal((await mneme.project.update({ keep_files: true })).keep_files, true);
const kept = await mneme.memories.upload(new File(["0123456789"], "digits.txt"), {}, { wait: true });
assert.equal(kept.source.is_kept, true);
const textOf = ({ body }) => new Response(body).text();
const digits = await mneme.memories.file(kept.id);
assert.deepEqual([digits.type, digits.bytes, await textOf(digits)], ["text/plain", 10, "0123456789"]);
assert.equal(await textOf(await mneme.memories.file(kept.id, { start: 2, end: 5 })), "234");
assert.equal(await textOf(await mneme.memories.file(kept.id, { start: 8 })), "89");
await assert.rejects(mneme.memories.file(kept.id, { start: 10 }), (error) => error.status === 416);
assert.equal((await mneme.project.update({ keep_files: null })).keep_files, false);

assert.equal((await mneme.memories.get(memory.id)).id, memory.id);
assert.equal((await mneme.memories.wait(memory.id)).status, "completed");
const ids = [];
for await (const each of mneme.memories.list({ limit: 2 })) ids.push(each.id);
assert.equal(ids.length, new Set(ids).size);
assert.ok(ids.length >= 6);
assert.equal((await mneme.memories.list({ tag: "house" }).take(10)).length, 2);
assert.equal((await mneme.memories.list({ order: "oldest" }).take(1))[0].id, ids.at(-1));
assert.equal(await mneme.memories.count({ userId: "ada", filters: { tags: "house" } }), 2);
assert.equal(await mneme.memories.retryFailed("ada"), 0);
const changed = await mneme.memories.update(memory.id, { title: "Spare key", type: null }, { wait: true });
assert.equal(changed.title, "Spare key");
assert.ok(Array.isArray((await mneme.memories.graph(memory.id, 5)).neighbours));
await assert.rejects(mneme.memories.retry(memory.id), sdk.ConflictError);
const ribbon = { content: "The spare key has a red ribbon.", userId: memory.userId, agentId: memory.agentId };
const said = await mneme.memories.add(ribbon, { wait: true });
const [relation] = await mneme.memories.relate(said.id, memory.id, "refines");
assert.equal(relation.memory_id, memory.id);
assert.equal((await mneme.memories.get(memory.id)).relations[0].type, "refined_by");
await mneme.memories.forgetRelation(said.id, memory.id);
const [removed, set] = await mneme.memories.history(said.id, { limit: 1 }).take(2);
assert.deepEqual([removed.action, set.action], ["removed", "set"]);
assert.equal((await mneme.memories.get(said.id, { knownAt: removed.at })).relations.length, 0);
await mneme.memories.eraseHistory(said.id);
await mneme.memories.delete(said.id);

assert.ok(["ready", "building"].includes((await mneme.memories.map({ filters: { tags: "house" } })).state));
const [pot] = await mneme.graph.entities({ limit: 1 }).take(1);
assert.ok((await mneme.graph.entity(pot.id, { limit: 5 })).passages.length > 0);
assert.equal((await mneme.graph.update(pot.id, { name: "The pot" })).name, "The pot");
assert.deepEqual(
  (await mneme.graph.path(pot.id, pot.id)).entities.map(({ name }) => name),
  ["The pot"],
);

const params = { userId: "ada", limit: 3, mode: "hybrid", filters: { tags: "house" }, explain: true };
const { results, explain } = await mneme.memories.search("Where is the spare key?", params);
assert.equal(results[0].memory_id, memory.id);
assert.equal(results[0].metadata._memory.title, "Spare key");
assert.equal(explain.mode, "hybrid");
const answered = await mneme.memories.query("Where is the spare key?", {
  userId: "ada",
  agentId: "cook",
  sessionId: "s-1",
});
assert.match(answered.answer, /blue pot/);
assert.equal(answered.sources[0].cited, true);
const whole = await (await mneme.memories.queryStream("Where is the spare key?", { userId: "ada" })).result();
assert.equal(whole.answer, answered.answer);

const chat = await mneme.chats.create({ userId: "ada", agentId: "cook", sessionId: "s-1", title: "Keys" });
assert.equal((await mneme.chats.update(chat.id, { title: null })).title, null);
assert.match((await mneme.chats.send(chat.id, "Where is the spare key?")).content, /blue pot/);
const names = [];
for await (const { event } of await mneme.chats.stream(chat.id, "Where is the spare key?")) names.push(event);
assert.deepEqual(names.slice(-3), ["sources", "usage", "done"]);
assert.equal((await mneme.chats.messages(chat.id, { limit: 3 }).take(9)).length, 4);
assert.equal((await mneme.chats.get(chat.id)).messages.length, 4);
assert.equal((await mneme.chats.list({ userId: "ada", agentId: "cook", sessionId: "s-1" }).take(9)).length, 1);
assert.equal((await mneme.chats.list({ agentId: "nobody" }).take(9)).length, 0);
assert.equal((await mneme.memories.list({ agentId: "cook", sessionId: "s-1" }).take(9)).length, 1);
assert.equal((await mneme.memories.search("key", { agentId: "nobody" })).results.length, 0);
// the server fetches no address inside
await assert.rejects(
  mneme.memories.addUrl("http://10.0.0.1/page", { tags: ["x"] }),
  (error) => error.code === "unsafe_url",
);
await assert.rejects(mneme.memories.refetch(memory.id), sdk.ConflictError);
const notes = Array.from({ length: 12 }, (_, at) => ({ content: `Note ${at}.`, agentId: "scribe" }));
await mneme.memories.addMany(notes);
assert.equal(await mneme.memories.countMatching({ agentId: "scribe" }), 12);
await assert.rejects(mneme.memories.deleteMatching({ agentId: "scribe" }, { matched: 11 }), sdk.ConflictError);
await assert.rejects(mneme.memories.deleteMatching({}), sdk.InvalidRequestError);
const deletion = await mneme.memories.deleteMatching({ agentId: "scribe" }, { matched: 12, wait: true });
assert.deepEqual([deletion.status, deletion.deleted], ["completed", 12]);
assert.deepEqual(await mneme.memories.job(deletion.id), deletion);
await mneme.chats.delete(chat.id);
await assert.rejects(mneme.chats.get(chat.id), sdk.NotFoundError);

const user = await mneme.users.upsert("ada", { name: "Ada", metadata: { plan: "a" } });
assert.equal((await mneme.users.upsert("ada", { name: null })).name, null);
assert.deepEqual((await mneme.users.get("ada")).metadata, user.metadata);
assert.equal((await mneme.users.addEvent("ada", "page_view", { path: "/" })).type, "page_view");
assert.equal((await mneme.users.events("ada", { type: "page_view" }).take(5)).length, 1);
assert.deepEqual((await mneme.users.profile("ada", { max_tokens: 500 })).events, []);
assert.ok((await mneme.users.list().take(5)).length >= 1);
await mneme.users.upsert("c/d é");
assert.equal((await mneme.users.get("c/d é")).id, "c/d é");
await mneme.users.delete("c/d é", { cascade: true });

const key = await mneme.keys.create({ name: "reader", scopes: ["memories:read"], userId: "ada" });
const reader = new sdk.Mneme({ apiKey: key.key, fetch: counting });
assert.equal((await reader.memories.list().take(9)).length, 2);
const current = await reader.keys.current();
assert.deepEqual([current.id, current.allowed_scopes, current.userId], [key.id, ["memories:read"], "ada"]);
await assert.rejects(reader.memories.add("no"), sdk.PermissionError);
assert.equal((await mneme.keys.update(key.id, { name: "r" })).name, "r");
assert.ok((await mneme.keys.list().take(9)).some(({ id }) => id === key.id));
const rotated = await mneme.keys.rotate(key.id, { graceSeconds: 0 });
assert.notEqual(rotated.key, key.key);
await assert.rejects(reader.memories.list().take(1), sdk.AuthenticationError);
await mneme.keys.delete(key.id);

const own = await mneme.project.get();
assert.equal((await mneme.project.update({ retention_days: 7 })).retention_days, 7);
assert.equal((await mneme.project.embedder()).projectId, own.id);
assert.equal((await mneme.project.testLlm()).ok, false);
assert.equal((await mneme.project.testLlm({ llm: { model: "not stored" } })).model, "not stored");
const project = await mneme.projects.create({ name: "another" });
assert.equal((await mneme.projects.update(project.id, { name: "other" })).name, "other");
assert.equal((await mneme.projects.get(project.id)).name, "other");
assert.equal((await mneme.projects.vectorIndex(project.id)).active, "scan");
const projects = await mneme.projects.list().take(9);
assert.equal(projects.length, 2);
assert.equal(projects[0].documents, 0);
const { model } = await mneme.projects.embedder(project.id);
const [embedder] = await mneme.embedders();
await mneme.projects.changeEmbedder(project.id, model ?? embedder.id).catch((error) => assert.ok(error.status < 500));
await mneme.projects.cancelEmbedder(project.id).catch((error) => assert.ok(error.status < 500));
await mneme.projects.forgetPreviousEmbedder(project.id).catch((error) => assert.ok(error.status < 500));
await mneme.projects.delete(project.id);
assert.ok((await mneme.project.activity({ step: "day" })).data.at(-1).stored > 0);
assert.equal((await mneme.usage()).plan, "enterprise");
assert.equal((await mneme.system()).threads[0].state, "up");

const known = await mneme.cases.create({ query: "Where?", expected: { not_found: true } });
assert.deepEqual(
  (await mneme.cases.list().take(9)).map(({ id }) => id),
  [known.id],
);
const run = await mneme.cases.run(["fast"]);
while ((await mneme.cases.getRun(run.id)).status === "processing")
  await new Promise((resume) => setTimeout(resume, 50));
assert.equal((await mneme.cases.runs().take(9))[0].results[0].cases, 1);
await mneme.cases.delete(known.id);

const { id: reranker } = (await mneme.installedModels.list({ task: "rerank" }).take(1))[0];
assert.equal((await mneme.installedModels.get(reranker)).kind, "built_in");
assert.ok((await mneme.installedModels.test(reranker)).ok);
assert.equal((await mneme.installedModels.setReranker(own.id, reranker)).reranker, reranker);
await mneme.installedModels.setReranker(own.id, null);
await assert.rejects(mneme.installedModels.add({ source: "nowhere" }), sdk.InvalidRequestError);
await assert.rejects(mneme.installedModels.delete("nowhere"), sdk.NotFoundError);
await assert.rejects(mneme.installedModels.retry("nowhere"), sdk.NotFoundError);
await assert.rejects(mneme.installedModels.calibrate("nowhere"), sdk.NotFoundError);
await assert.rejects(mneme.installedModels.cancelCalibration("nowhere"), sdk.NotFoundError);

const webhook = await mneme.webhooks.create({ url: process.env.HOOK_URL, events: ["memory.completed"] });
assert.match(webhook.secret, /^whsec_/);
assert.equal((await mneme.webhooks.update(webhook.id, { description: "d" })).description, "d");
assert.equal((await mneme.webhooks.get(webhook.id)).url, process.env.HOOK_URL);
assert.equal((await mneme.webhooks.list().take(9)).length, 1);
const delivery = await mneme.webhooks.test(webhook.id);
const deliveries = async () => (await mneme.webhooks.deliveries(webhook.id).take(9)).map(({ status }) => status);
while ((await deliveries()).includes("pending")) await new Promise((resume) => setTimeout(resume, 50));
assert.deepEqual(await deliveries(), ["delivered"]);
assert.equal((await mneme.webhooks.redeliver(webhook.id, delivery.id)).id, delivery.id);
const received = await (await fetch(`${process.env.HOOK_URL}/received`)).json();
const message = await sdk.verifyWebhook(received.body, received.headers, webhook.secret);
assert.equal(message.type, "webhook.test");
assert.notEqual((await mneme.webhooks.rotateSecret(webhook.id)).secret, webhook.secret);
await mneme.webhooks.delete(webhook.id);

assert.ok((await mneme.models.list()).some(({ id }) => id === "mneme/fast"));
assert.equal((await mneme.models.get("mneme/fast")).mneme.task, "chat");
const completion = { model: "mneme", messages: [{ role: "user", content: "Where is the spare key?" }], user: "ada" };
const [choice] = (await mneme.completions.create(completion)).choices;
assert.match(choice.message.content, /blue pot/);
let text = "";
for await (const chunk of await mneme.completions.stream(completion)) text += chunk.choices[0]?.delta.content ?? "";
assert.equal(text, choice.message.content);
const embeddings = await mneme.embeddings.create({ model: embedder.id, input: ["a", "b"] });
assert.deepEqual([embeddings.data.length, embeddings.data[0].embedding.length], [2, embedder.dimensions]);

const wrong = new sdk.Mneme({ apiKey: "ctx_wrong", fetch: counting });
await assert.rejects(wrong.memories.add("a"), (error) => error.code === "invalid_api_key" && error.requestId !== null);
await assert.rejects(mneme.memories.search("a", { filters: { nonsense: 1 } }), sdk.InvalidRequestError);
await assert.rejects(mneme.memories.list({ limit: 101 }).take(1), sdk.InvalidRequestError);
await mneme.memories.delete(uploaded.id, { purge: true });
await assert.rejects(mneme.memories.get(uploaded.id), sdk.NotFoundError);

console.log(JSON.stringify({ calls }));
