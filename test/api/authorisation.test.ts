// Calls every operation with every kind of caller that may not use it, or may not use it on the owner's resources. The
// expected answer follows from contract.ts alone. No answer shows data of the owner, and no data of the owner changes.
// The owner's resources contain random markers; an answer may contain a marker only if the request did.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { type Answered, SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { DEFAULT, ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { allows, OPERATIONS, type Promised, routeOf, SCOPES, type Scope } from "./contract.ts";

const HOUR_MS = 3_600_000;

let mneme: TestService;
let clock: SettableClock;
/** Requests that webhooks received, by path. */
const received = new Map<string, string>();
let receiver: ReturnType<typeof Bun.serve>;
let victim: World;
let before: State;
let cells = 0;
let addresses = 0;

beforeAll(async () => {
  clock = new SettableClock();
  receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      received.set(pathname, (received.get(pathname) ?? "") + (await request.text()));
      if (request.method === "GET")
        return new Response("The kettle boils.", { headers: { "content-type": "text/plain" } });
      return new Response(null, { status: 204 });
    },
  });
  mneme = await startService({ clock, config: { embedder: DEFAULT, webhookAllow: AllowList.parse("127.0.0.1") } });
  victim = await build();
  before = await stateOf(victim);
});
afterAll(async () => {
  process.stdout.write(`authorisation: ${cells} cells\n`);
  await receiver.stop(true);
  await mneme.stop();
});

/** A project with one resource of each kind. Most of them belong to one user. */
interface World {
  /** A key with all scopes but admin. */
  readonly owner: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly userId: string;
  readonly memoryId: string;
  /** Belongs to no user, like `nobodysChatId`. */
  readonly nobodysMemoryId: string;
  /** Only memories of the user mention it. */
  readonly entityId: string;
  readonly failedMemoryId: string;
  readonly fetchedMemoryId: string;
  readonly chatId: string;
  readonly nobodysChatId: string;
  readonly jobId: string;
  readonly caseId: string;
  readonly runId: string;
  readonly keyId: string;
  readonly webhookId: string;
  readonly deliveryId: string;
  /** Cursors to the second pages of lists, by route. */
  readonly cursors: ReadonlyMap<string, string>;
  /** Texts that an answer to another caller may contain only if the request did. */
  readonly markers: readonly string[];
  /** Text that no answer may contain, not even one to the owner. */
  readonly secret: string;
}

/** A request, without the API key that it is sent with. */
interface Ask {
  /** Path and query, without the prefix /v1. */
  readonly target: string;
  readonly body?: unknown;
  readonly form?: () => FormData;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The expected answer of one operation to one caller. */
interface Expected {
  readonly status: number | readonly number[];
  readonly code?: string;
}

const QUESTION = "Where is the spare key of the vault?";
const REFUSED: Expected = { status: 403, code: "insufficient_scope" };

function marker(): string {
  return `mk${Buffer.from(crypto.getRandomValues(new Uint8Array(9))).toString("hex")}`;
}

async function send(method: string, key: string | null, ask: Ask): Promise<Answered & { readonly text: string }> {
  const authorization = key === null ? {} : { authorization: key.startsWith("ctx_") ? `Bearer ${key}` : key };
  const json = ask.body === undefined ? {} : { "content-type": "application/json" };
  const body = ask.form?.() ?? (ask.body === undefined ? undefined : JSON.stringify(ask.body));
  const request = new Request(`http://mneme.test/v1${ask.target}`, {
    method,
    headers: { ...authorization, ...json, ...ask.headers },
    ...(body !== undefined && method !== "HEAD" && { body }),
  });
  // each request comes from an address of its own, because failures are counted by address
  addresses++;
  const address = `198.18.${addresses >> 8}.${addresses & 255}`;
  const response = await mneme.service.handle(request, () => address);
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : null, text };
}

async function made(method: string, key: string, target: string, body: unknown): Promise<Answered["body"]> {
  const answer = await send(method, key, { target, body });
  if (answer.status >= 300) throw new Error(`${method} ${target}: ${answer.status} ${answer.text}`);
  return answer.body;
}

async function newProject(name: string): Promise<{ readonly id: string; readonly key: string }> {
  return made("POST", TEST_KEY, "/projects", { name, plan: "enterprise" });
}

async function newKey(projectId: string, scopes: readonly Scope[], more: object = {}): Promise<string> {
  return (await made("POST", TEST_KEY, "/keys", { name: "a test's", scopes, projectId, ...more })).key;
}

async function settled(key: string, id: string): Promise<void> {
  await until(`${id} is no longer processing`, async () => {
    const { body } = await send("GET", key, { target: `/memories/${id}` });
    return body.status !== "processing";
  });
}

function uploadOf(contents: string, name: string, fields: Readonly<Record<string, string>> = {}): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append("file", new Blob([contents]), name);
  return form;
}

/** Creates a project with one resource of each kind; every text contains a marker. */
async function build(): Promise<World> {
  const markers: string[] = [];
  const mark = () => {
    const made = marker();
    markers.push(made);
    return made;
  };
  const projectName = mark();
  const { id: projectId, key: owner } = await newProject(projectName);
  const secret = marker();
  await made("PUT", TEST_KEY, `/projects/${projectId}`, {
    llm: { api_key: secret, model: mark() },
    keep_files: true,
  });
  const hook = `/${mark()}`;
  const webhook = await made("POST", owner, "/webhooks", {
    url: `http://127.0.0.1:${receiver.port}${hook}`,
    events: ["memory.completed", "memory.failed", "memory.updated", "memory.deleted"],
    description: mark(),
  });
  const userId = `user ${marker()}`;
  await made("POST", owner, "/users", {
    id: userId,
    name: mark(),
    email: `${mark()}@a.test`,
    metadata: { [mark()]: 1 },
  });
  const event = await made("POST", owner, `/users/${encodeURIComponent(userId)}/events`, {
    type: mark(),
    data: { page: mark() },
  });
  const memory = await made("POST", owner, "/memories", {
    content: `The spare key of the vault is under the blue pot ${mark()}.`,
    title: mark(),
    type: mark(),
    tags: [mark()],
    metadata: { room: mark() },
    externalId: mark(),
    userId,
  });
  const nobodys = await made("POST", owner, "/memories", {
    content: `A second spare key of the vault is with the porter ${mark()}.`,
    metadata: { [mark()]: true },
  });
  const unreadable = await send("POST", owner, {
    target: "/memories/upload",
    form: () => uploadOf("%PDF-1.7\nnot a PDF at all", `${mark()}.pdf`, { userId }),
  });
  if (unreadable.status !== 202) throw new Error(`upload: ${unreadable.status} ${unreadable.text}`);
  const page = `http://127.0.0.1:${receiver.port}/${mark()}`;
  const fetched = await made("POST", owner, "/memories/url", { url: page, title: mark(), userId });
  for (const { id } of [memory, nobodys, unreadable.body, fetched]) await settled(owner, id);

  const chat = await made("POST", owner, "/chats", { title: mark(), userId });
  const nobodysChat = await made("POST", owner, "/chats", { title: mark() });
  const message = await made("POST", owner, `/chats/${chat.id}/messages`, { message: `${QUESTION} ${mark()}` });
  await made("POST", owner, `/chats/${nobodysChat.id}/messages`, { message: `${QUESTION} ${mark()}` });
  const job = await made("DELETE", owner, "/memories", { userId, filters: { title: mark() } });
  const oneCase = await made("POST", owner, "/cases", {
    ...{ query: `${QUESTION} ${mark()}`, userId },
    expected: { memory_ids: [memory.id] },
  });
  const run = await made("POST", owner, "/cases/runs", {});
  const key = await made("POST", owner, "/keys", { name: mark(), scopes: ["*"] });
  const delivery = await made("POST", owner, `/webhooks/${webhook.id}/test`, undefined);
  const idsOf = async (target: string): Promise<readonly string[]> => {
    const { body } = await send("GET", owner, { target });
    return (body.data as { readonly id: string }[]).map(({ id }) => id);
  };
  await until("every event was delivered", async () => {
    const { body } = await send("GET", owner, { target: `/webhooks/${webhook.id}/deliveries` });
    const list: { readonly status: string }[] = body.data;
    return list.length >= 4 && list.every(({ status }) => status === "delivered");
  });
  const ids = [webhook, event, memory, nobodys, unreadable.body, chat, nobodysChat, message.message, job, fetched];
  ids.push(key, delivery, oneCase, run);
  markers.push(projectId, owner, key.key, webhook.secret, ...ids.map(({ id }) => id), userId.slice("user ".length));

  // second items, so that the lists have a second page
  await made("POST", owner, "/users", { id: `other ${mark()}` });
  const second = await made("POST", owner, "/webhooks", { url: webhook.url, events: ["webhook.test"], enabled: false });
  const secondCase = await made("POST", owner, "/cases", { query: mark(), expected: { not_found: true } });
  markers.push(
    second.id,
    secondCase.id,
    ...(await idsOf("/keys")),
    ...(await idsOf(`/webhooks/${webhook.id}/deliveries`)),
  );
  const cursors = new Map<string, string>();
  for (const route of ["/memories", "/chats", "/users", "/keys", "/webhooks", "/cases"]) {
    const { body } = await send("GET", owner, { target: `${route}?limit=1` });
    cursors.set(`GET ${route}`, body.cursor);
  }
  const entities = await send("GET", owner, { target: `/graph/entities?${query({ userId })}` });
  // requests store texts with a kettle, too
  const own = entities.body.data.find(({ name }: { readonly name: string }) => !/kettle|boils/i.test(name));
  if (own === undefined) throw new Error(`no entity of the owner's memory: ${entities.text}`);
  return {
    owner,
    projectId,
    userId,
    memoryId: memory.id,
    nobodysMemoryId: nobodys.id,
    entityId: own.id,
    failedMemoryId: unreadable.body.id,
    fetchedMemoryId: fetched.id,
    chatId: chat.id,
    nobodysChatId: nobodysChat.id,
    jobId: job.id,
    caseId: oneCase.id,
    runId: run.id,
    keyId: key.id,
    webhookId: webhook.id,
    deliveryId: delivery.id,
    cursors,
    projectName,
    markers,
    secret,
  };
}

/**
 * A valid request for each operation, about the resources of a world. `naming` has the fields that name the world's
 * user, or none.
 */
const REQUESTS: Readonly<Record<string, (world: World, naming: { readonly userId?: string }) => Ask>> = {
  "POST /memories": (_, naming) => ({ target: "/memories", body: { content: "The kettle boils.", ...naming } }),
  "GET /memories": (_, naming) => ({ target: `/memories?${query({ limit: "100", ...naming })}` }),
  "GET /memories/count": (_, naming) => ({ target: `/memories/count?${query(naming)}` }),
  "POST /memories/retry": (_, naming) => ({ target: "/memories/retry", body: naming }),
  "GET /memories/{}": ({ memoryId }) => ({ target: `/memories/${memoryId}` }),
  "GET /memories/{}/file": ({ failedMemoryId }) => ({ target: `/memories/${failedMemoryId}/file` }),
  "GET /memories/{}/graph": ({ memoryId }) => ({ target: `/memories/${memoryId}/graph?limit=100` }),
  "GET /memories/map": (_, naming) => ({ target: `/memories/map?${query(naming)}` }),
  "GET /graph/entities": (_, naming) => ({ target: `/graph/entities?${query({ limit: "100", ...naming })}` }),
  "GET /graph/entities/{}": ({ entityId }) => ({ target: `/graph/entities/${entityId}?limit=100` }),
  "GET /graph/path": ({ entityId }, naming) => ({
    target: `/graph/path?${query({ from: entityId, to: entityId, ...naming })}`,
  }),
  "PUT /graph/entities/{}": ({ entityId }) => ({ target: `/graph/entities/${entityId}`, body: { name: "Taken over" } }),
  "PUT /memories/{}": ({ memoryId }) => ({ target: `/memories/${memoryId}`, body: { title: "Taken over" } }),
  "PUT /memories/{}/relations": ({ memoryId, fetchedMemoryId }) => ({
    target: `/memories/${memoryId}/relations`,
    body: { memory_id: fetchedMemoryId, type: "duplicates" },
  }),
  "DELETE /memories/{}/relations": ({ memoryId, fetchedMemoryId }) => ({
    target: `/memories/${memoryId}/relations?memory_id=${fetchedMemoryId}`,
  }),
  "GET /memories/{}/history": ({ memoryId }) => ({ target: `/memories/${memoryId}/history` }),
  "DELETE /memories/{}/history": ({ memoryId }) => ({ target: `/memories/${memoryId}/history` }),
  "DELETE /memories/{}": ({ memoryId }) => ({ target: `/memories/${memoryId}?purge=true` }),
  "DELETE /memories": (_, naming) => ({
    target: "/memories",
    body: { filters: { created_at: { $gte: "2000-01-01" } }, ...naming },
  }),
  "GET /jobs/{}": ({ jobId }) => ({ target: `/jobs/${jobId}` }),
  "POST /memories/{}/retry": ({ failedMemoryId }) => ({ target: `/memories/${failedMemoryId}/retry` }),
  "POST /memories/upload": (_, naming) => ({
    target: "/memories/upload",
    form: () => uploadOf("The kettle boils.", "kettle.txt", naming),
  }),
  "POST /memories/url": (_, naming) => ({
    target: "/memories/url",
    body: { url: `http://127.0.0.1:${receiver.port}/kettle`, ...naming },
  }),
  "POST /memories/{}/refetch": ({ fetchedMemoryId }) => ({ target: `/memories/${fetchedMemoryId}/refetch` }),
  "POST /memories/batch": (_, naming) => ({
    target: "/memories/batch",
    body: { memories: [{ content: "The kettle boils.", ...naming }] },
  }),
  "POST /memories/search": (_, naming) => ({
    target: "/memories/search",
    body: { query: QUESTION, limit: 100, mode: "precise", includeGraph: true, explain: true, ...naming },
  }),
  "GET /memories/search": (_, naming) => ({
    target: `/memories/search?${query({ query: QUESTION, limit: "100", explain: "true", ...naming })}`,
  }),
  "POST /memories/query": (_, naming) => ({
    target: "/memories/query",
    body: { query: QUESTION, maxSources: 50, ...naming },
  }),
  "POST /chats": (_, naming) => ({ target: "/chats", body: { title: "Kettles", ...naming } }),
  "GET /chats": (_, naming) => ({ target: `/chats?${query({ limit: "100", ...naming })}` }),
  "GET /chats/{}": ({ chatId }) => ({ target: `/chats/${chatId}` }),
  "PUT /chats/{}": ({ chatId }) => ({ target: `/chats/${chatId}`, body: { title: "Taken over" } }),
  "DELETE /chats/{}": ({ chatId }) => ({ target: `/chats/${chatId}` }),
  "GET /chats/{}/messages": ({ chatId }) => ({ target: `/chats/${chatId}/messages?limit=200` }),
  "POST /chats/{}/messages": ({ chatId }) => ({ target: `/chats/${chatId}/messages`, body: { message: QUESTION } }),
  "POST /chats/{}/messages/stream": ({ chatId }) => ({
    target: `/chats/${chatId}/messages/stream`,
    body: { message: QUESTION },
  }),
  "GET /models": () => ({ target: "/models" }),
  "GET /models/{}": () => ({ target: "/models/mneme" }),
  "GET /models/{}/{}": () => ({ target: "/models/mneme/fast" }),
  "POST /chat/completions": (_, { userId }) => ({
    target: "/chat/completions",
    body: {
      model: "mneme/precise",
      messages: [{ role: "user", content: QUESTION }],
      mneme: { maxSources: 50, includeGraph: true },
      ...(userId !== undefined && { user: userId }),
    },
  }),
  "POST /embeddings": (_, { userId }) => ({
    target: "/embeddings",
    body: { model: ENGLISH, input: QUESTION, ...(userId !== undefined && { user: userId }) },
  }),
  "POST /users": ({ userId }) => ({ target: "/users", body: { id: userId, name: "Taken over", email: null } }),
  "GET /users": () => ({ target: "/users?limit=100" }),
  "GET /users/{}": ({ userId }) => ({ target: `/users/${encodeURIComponent(userId)}` }),
  "DELETE /users/{}": ({ userId }) => ({ target: `/users/${encodeURIComponent(userId)}?cascade=true` }),
  "POST /users/{}/events": ({ userId }) => ({
    target: `/users/${encodeURIComponent(userId)}/events`,
    body: { type: "visit", data: { page: "/" } },
  }),
  "GET /users/{}/events": ({ userId }) => ({ target: `/users/${encodeURIComponent(userId)}/events?limit=100` }),
  "GET /users/{}/profile": ({ userId }) => ({ target: `/users/${encodeURIComponent(userId)}/profile` }),
  "POST /keys": () => ({ target: "/keys", body: { name: "one more", scopes: ["keys"] } }),
  "GET /keys": () => ({ target: "/keys?limit=100" }),
  "GET /keys/current": () => ({ target: "/keys/current" }),
  "PATCH /keys/{}": ({ keyId }) => ({ target: `/keys/${keyId}`, body: { name: "taken over" } }),
  "DELETE /keys/{}": ({ keyId }) => ({ target: `/keys/${keyId}` }),
  "POST /keys/{}/rotate": ({ keyId }) => ({ target: `/keys/${keyId}/rotate`, body: {} }),
  "GET /project": () => ({ target: "/project" }),
  "PUT /project": () => ({ target: "/project", body: { retention_days: 30 } }),
  "POST /project/llm/test": () => ({ target: "/project/llm/test" }),
  "POST /projects": () => ({ target: "/projects", body: { name: "one more" } }),
  "GET /projects": () => ({ target: "/projects?limit=100" }),
  "GET /projects/{}": ({ projectId }) => ({ target: `/projects/${projectId}` }),
  "PUT /projects/{}": ({ projectId }) => ({ target: `/projects/${projectId}`, body: { name: "Taken over" } }),
  "DELETE /projects/{}": ({ projectId }) => ({ target: `/projects/${projectId}` }),
  "GET /embedders": () => ({ target: "/embedders" }),
  "GET /project/embedder": () => ({ target: "/project/embedder" }),
  "GET /project/vector-index": () => ({ target: "/project/vector-index" }),
  "PUT /projects/{}/embedder": ({ projectId }) => ({
    target: `/projects/${projectId}/embedder`,
    body: { model: ENGLISH },
  }),
  "DELETE /projects/{}/embedder": ({ projectId }) => ({ target: `/projects/${projectId}/embedder` }),
  "DELETE /projects/{}/embedder/previous": ({ projectId }) => ({ target: `/projects/${projectId}/embedder/previous` }),
  "GET /project/activity": () => ({ target: "/project/activity?step=day" }),
  "GET /usage": () => ({ target: "/usage" }),
  "GET /installed-models": () => ({ target: "/installed-models?limit=100" }),
  "POST /installed-models": () => ({
    target: "/installed-models",
    body: {
      id: "elsewhere",
      remote: { api: "tei", base_url: `http://127.0.0.1:${receiver.port}`, model: "elsewhere", task: "embed" },
    },
  }),
  "GET /installed-models/{}": () => ({ target: `/installed-models/${DEFAULT}` }),
  "DELETE /installed-models/{}": () => ({ target: "/installed-models/elsewhere" }),
  "POST /installed-models/{}/retry": () => ({ target: `/installed-models/${DEFAULT}/retry` }),
  "POST /installed-models/{}/test": () => ({ target: `/installed-models/${DEFAULT}/test` }),
  "POST /installed-models/{}/calibrate": () => ({ target: `/installed-models/${DEFAULT}/calibrate`, body: {} }),
  "DELETE /installed-models/{}/calibrate": () => ({ target: `/installed-models/${DEFAULT}/calibrate` }),
  "PUT /projects/{}/reranker": ({ projectId }) => ({
    target: `/projects/${projectId}/reranker`,
    body: { model: null },
  }),
  "GET /system": () => ({ target: "/system" }),
  "POST /cases": (_, naming) => ({
    target: "/cases",
    body: { query: QUESTION, expected: { not_found: true }, ...naming },
  }),
  "GET /cases": () => ({ target: "/cases?limit=100" }),
  "DELETE /cases/{}": ({ caseId }) => ({ target: `/cases/${caseId}` }),
  "POST /cases/runs": () => ({ target: "/cases/runs", body: { modes: ["fast"] } }),
  "GET /cases/runs": () => ({ target: "/cases/runs?limit=100" }),
  "GET /cases/runs/{}": ({ runId }) => ({ target: `/cases/runs/${runId}` }),
  "POST /webhooks": () => ({
    target: "/webhooks",
    body: { url: `http://127.0.0.1:${receiver.port}/others`, events: ["memory.completed", "memory.deleted"] },
  }),
  "GET /webhooks": () => ({ target: "/webhooks?limit=100" }),
  "GET /webhooks/{}": ({ webhookId }) => ({ target: `/webhooks/${webhookId}` }),
  "PUT /webhooks/{}": ({ webhookId }) => ({ target: `/webhooks/${webhookId}`, body: { enabled: false } }),
  "DELETE /webhooks/{}": ({ webhookId }) => ({ target: `/webhooks/${webhookId}` }),
  "POST /webhooks/{}/test": ({ webhookId }) => ({ target: `/webhooks/${webhookId}/test` }),
  "POST /webhooks/{}/rotate-secret": ({ webhookId }) => ({ target: `/webhooks/${webhookId}/rotate-secret` }),
  "GET /webhooks/{}/deliveries": ({ webhookId }) => ({ target: `/webhooks/${webhookId}/deliveries?limit=100` }),
  "POST /webhooks/{}/deliveries/{}/redeliver": ({ webhookId, deliveryId }) => ({
    target: `/webhooks/${webhookId}/deliveries/${deliveryId}/redeliver`,
  }),
};

function query(parameters: Readonly<Record<string, string>>): string {
  return new URLSearchParams(parameters).toString();
}

function askOf(operation: Promised, world: World, naming: { readonly userId?: string } = {}): Ask {
  const ask = REQUESTS[routeOf(operation)];
  if (ask === undefined) throw new Error(`there is no request for ${routeOf(operation)}`);
  return ask(world, naming);
}

/** Whether an operation has a field or parameter that names a user. */
function takesUser({ path, query: parameters, body }: Promised): boolean {
  const fields = [...parameters, ...(body ?? [])];
  const isPlain = path === "/memories/batch" || fields.includes("userId") || fields.includes("user");
  return isPlain && !path.includes("{}") && path !== "/keys";
}

/** The expected answer for a key of another project that has the scope. */
function foreign({ method, path, successes }: Promised): Expected {
  const [, collection = ""] = path.split("/");
  if (collection === "graph" && path !== "/graph/entities") return { status: 404, code: "entity_not_found" };
  // built-in models have their curves, and are installed
  if (/^.installed-models.\{\}.(calibrate|retry)$/.test(path)) return { status: 409, code: "invalid_state" };
  if (path === "/cases/runs/{}") return { status: 404, code: "run_not_found" };
  const code = `${collection.replace(/ies$/, "y").replace(/s$/, "")}_not_found`;
  const isMade = routeOf({ method, path }) === "POST /users/{}/events"; // a user of the other project
  const isEveryones = collection === "models";
  return path.includes("{}") && !isMade && !isEveryones ? { status: 404, code } : { status: successes };
}

/** The expected answer for a key that is confined to another user. */
function confined(operation: Promised, isNaming: boolean): Expected {
  const { path, isForConfinedKeys, successes } = operation;
  if (!isForConfinedKeys || path.startsWith("/users/") || routeOf(operation) === "POST /users") return REFUSED;
  if (path.includes("{}")) return foreign(operation);
  if (path === "/graph/path" && !isNaming) return foreign(operation);
  if (!isNaming) return { status: successes };
  return path === "/memories/batch" ? { status: 400, code: "invalid_request" } : REFUSED;
}

/** Sends one request and returns the problems of its answer. */
async function cell(
  key: string | null,
  method: string,
  ask: Ask,
  expected: Expected,
  own: readonly string[] = [],
): Promise<string[]> {
  cells++;
  const answer = await send(method, key, ask);
  const problems: string[] = [];
  const statuses = [expected.status].flat();
  if (!statuses.includes(answer.status)) problems.push(`${answer.status} instead of ${statuses}: ${answer.text}`);
  const code = answer.body?.error?.code;
  if (method !== "HEAD" && code !== expected.code) problems.push(`the code ${code} instead of ${expected.code}`);
  if (method === "HEAD" && answer.text !== "") problems.push("a body where there is none");
  if (answer.status === 401 && answer.headers.get("www-authenticate") !== "Bearer") problems.push("no challenge");
  if (answer.headers.has("idempotent-replayed")) problems.push("somebody else's answer again");
  const asked =
    decodeURIComponent(ask.target) +
    JSON.stringify(ask.body ?? "") +
    (ask.form ? JSON.stringify([...ask.form().entries()]) : "");
  const shown = [answer.text, ...[...answer.headers].map((header) => header.join(": "))].join("\n");
  for (const found of [...victim.markers, victim.secret]) {
    if (shown.includes(found) && !asked.includes(found) && !own.includes(found)) problems.push(`shows ${found}`);
  }
  return problems.map((problem) => `${method} ${ask.target}: ${problem}`.slice(0, 500));
}

/**
 * Runs the checks and returns all problems that they find. They run one after the other, because a request may create
 * what the next one looks for.
 */
async function all(work: Iterable<() => Promise<string[]>>): Promise<string[]> {
  const found: string[] = [];
  for (const part of work) found.push(...(await part()));
  return found;
}

type State = Readonly<Record<string, unknown>>;

/** Reads everything that the owner can read. Leaves out `last_used_at`, which reading changes. */
async function stateOf(world: World): Promise<State> {
  const read = async (target: string) => (await send("GET", world.owner, { target })).body;
  const user = encodeURIComponent(world.userId);
  // only resources that existed from the beginning, because other users may create resources in the same project
  const mine = async (target: string) => {
    const data: { readonly id: string }[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Answered["body"] = await read(`${target}?limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`);
      data.push(...page.data);
      cursor = page.cursor;
    }
    return data.filter(({ id }) => world.markers.includes(id)).map((item) => ({ ...item, last_used_at: null }));
  };
  const search = await send("POST", world.owner, {
    target: "/memories/search",
    body: { query: QUESTION, mode: "fast", userId: world.userId },
  });
  return {
    memories: await read(`/memories?userId=${user}&limit=100`),
    each: await Promise.all(
      [world.memoryId, world.nobodysMemoryId, world.failedMemoryId].map((id) => read(`/memories/${id}`)),
    ),
    found: search.body.results,
    chats: await read(`/chats?userId=${user}&limit=100`),
    histories: await Promise.all([world.chatId, world.nobodysChatId].map((id) => read(`/chats/${id}`))),
    messages: await read(`/chats/${world.chatId}/messages?limit=200`),
    user: await read(`/users/${user}`),
    events: await read(`/users/${user}/events?limit=100`),
    keys: await mine("/keys"),
    cases: await mine("/cases"),
    project: await read("/project"),
    webhooks: await mine("/webhooks"),
    deliveries: await mine(`/webhooks/${world.webhookId}/deliveries`),
  };
}

async function expectUntouched(): Promise<void> {
  expect(await stateOf(victim)).toEqual(before);
}

const READS = OPERATIONS.filter(({ method }) => method === "GET");
/**
 * Order of the requests. Those that look for the victim's user come first, because those that create a user of that
 * name in the caller's project come last.
 */
const rankOf = ({ method, path }: Promised) =>
  !path.startsWith("/users") ? 1 : method === "POST" ? 2 : path.startsWith("/users/") ? 0 : 1;
const ABSENT_FIRST = [...OPERATIONS].sort((left, right) => rankOf(left) - rankOf(right));

describe("without a valid key", () => {
  const stranger = async (name: string): Promise<string | null> => {
    const { owner } = victim;
    switch (name) {
      case "no key":
        return null;
      case "an unknown key":
        return `ctx_${marker()}${marker()}`;
      case "a key that is one letter short":
        return owner.slice(0, -1);
      case "a revoked key": {
        const { id, key } = await made("POST", owner, "/keys", { name: "revoked", scopes: ["*"] });
        expect((await send("DELETE", owner, { target: `/keys/${id}` })).status).toBe(204);
        return key;
      }
      case "an expired key": {
        const now = clock.now();
        const key = await newKey(victim.projectId, ["*"], { expires_at: new Date(now + HOUR_MS).toISOString() });
        expect((await send("GET", key, { target: "/usage" })).status).toBe(200);
        clock.advance(HOUR_MS);
        return key;
      }
      case "a key that was rotated away": {
        const { id, key } = await made("POST", owner, "/keys", { name: "rotated", scopes: ["*"] });
        await made("POST", owner, `/keys/${id}/rotate`, {});
        expect((await send("DELETE", owner, { target: `/keys/${id}` })).status).toBe(204);
        return key;
      }
      case "the key of a deleted project": {
        const { id, key } = await newProject("short-lived");
        expect((await send("DELETE", TEST_KEY, { target: `/projects/${id}` })).status).toBe(204);
        return key;
      }
      case "a key as its hash":
        return `ctx_${new Bun.CryptoHasher("sha256").update(owner).digest("hex")}`;
      default:
        return name.replace("KEY", owner);
    }
  };

  const names = [
    ...["no key", "an unknown key", "a key that is one letter short", "a revoked key", "an expired key"],
    ...["a key that was rotated away", "the key of a deleted project", "a key as its hash"],
    ...["Bearer", "Bearer  ", "Basic KEY", "Token KEY", "Bearer KEY KEY", 'Bearer "KEY"', "Bearer: KEY", "bearer=KEY"],
  ];
  for (const name of names) {
    test(`${name} gives access to nothing`, async () => {
      const key = await stranger(name);
      const expected = { status: 401, code: key === null ? "missing_api_key" : "invalid_api_key" };
      const found = await all(OPERATIONS.map((it) => () => cell(key, it.method, askOf(it, victim), expected)));
      const heads = await all(READS.map((it) => () => cell(key, "HEAD", askOf(it, victim), { status: 401 })));
      expect([...found, ...heads]).toEqual([]);
      await expectUntouched();
    });
  }

  test("a key in the query, in a cookie or in another header is ignored", async () => {
    const { owner } = victim;
    const expected = { status: 401, code: "missing_api_key" };
    const found = await all(
      READS.map((it) => async () => {
        const { target } = askOf(it, victim);
        const join = target.includes("?") ? "&" : "?";
        const headers = { "x-api-key": owner, cookie: `key=${owner}`, "proxy-authorization": `Bearer ${owner}` };
        return cell(null, "GET", { target: `${target}${join}api_key=${owner}`, headers }, expected);
      }),
    );
    expect(found).toEqual([]);
  });
});

describe("without the scope", () => {
  for (const scope of SCOPES) {
    test(`'${scope}' allows its own operations and nothing else in its project`, async () => {
      const key = await newKey(victim.projectId, [scope]);
      const closed = OPERATIONS.filter((operation) => !allows([scope], operation.scope));
      expect(await all(closed.map((it) => () => cell(key, it.method, askOf(it, victim), REFUSED)))).toEqual([]);
      const reads = closed.filter(({ method }) => method === "GET");
      expect(await all(reads.map((it) => () => cell(key, "HEAD", askOf(it, victim), { status: 403 })))).toEqual([]);
      await expectUntouched();
    });
  }

  test("a key with all scopes but the needed one is refused", async () => {
    const found = await all(
      OPERATIONS.filter(({ scope }) => scope !== null).map((operation) => async () => {
        const others = SCOPES.filter((scope) => !allows([scope], operation.scope));
        const key = await newKey(victim.projectId, others);
        return cell(key, operation.method, askOf(operation, victim), REFUSED);
      }),
    );
    expect(found).toEqual([]);
    await expectUntouched();
  });

  test("a key cannot grant scopes that it lacks, by creating, changing or rotating keys", async () => {
    const { keyId, projectId } = victim;
    const key = await newKey(projectId, ["keys", "memories:read"]);
    const body = (scopes: readonly Scope[]) => ({ name: "one more", scopes });
    const wider: (readonly Scope[])[] = [["*"], ["admin"], ["keys", "admin"], ["memories:read", "memories:write"]];
    const found = await all([
      ...wider.map((scopes) => () => cell(key, "POST", { target: "/keys", body: body(scopes) }, REFUSED)),
      ...wider.map((scopes) => () => cell(key, "PATCH", { target: `/keys/${keyId}`, body: { scopes } }, REFUSED)),
      () => cell(key, "POST", { target: `/keys/${keyId}/rotate`, body: {} }, REFUSED),
    ]);
    expect(found).toEqual([]);
    await expectUntouched();
  });

  test("only an admin may change plans and access other projects", async () => {
    const { projectId } = victim;
    const other = await newProject("another");
    const inBody = { name: "x", scopes: ["keys"], projectId };
    const named = `projectId=${projectId}`;
    const found = await all([
      () => cell(other.key, "PUT", { target: "/project", body: { plan: "pro" } }, REFUSED),
      () => cell(other.key, "POST", { target: "/keys", body: inBody }, REFUSED),
      () => cell(other.key, "GET", { target: `/keys?${named}` }, REFUSED),
      () => cell(other.key, "PATCH", { target: `/keys/${victim.keyId}?${named}`, body: { name: "x" } }, REFUSED),
      () => cell(other.key, "DELETE", { target: `/keys/${victim.keyId}?${named}` }, REFUSED),
      () => cell(other.key, "POST", { target: `/keys/${victim.keyId}/rotate?${named}`, body: {} }, REFUSED),
      () => cell(other.key, "GET", { target: `/project?${named}` }, REFUSED),
      () => cell(other.key, "PUT", { target: `/project?${named}`, body: { name: "x" } }, REFUSED),
    ]);
    expect(found).toEqual([]);
    await expectUntouched();
  });
});

describe("from another project", () => {
  for (const scope of SCOPES) {
    test(`a key with '${scope}' finds nothing of the owner's`, async () => {
      const { id } = await newProject("another");
      const key = await newKey(id, [scope]);
      const found = await all(
        ABSENT_FIRST.map((operation) => async () => {
          // an admin may access every project
          if (operation.scope === "admin" && scope === "admin") return [];
          const expected = allows([scope], operation.scope) ? foreign(operation) : REFUSED;
          return cell(key, operation.method, askOf(operation, victim), expected);
        }),
      );
      expect(found).toEqual([]);
      await expectUntouched();
    });
  }

  test("not even a key with all scopes and admin finds the owner's data", async () => {
    const { id } = await newProject("another");
    const key = await newKey(id, ["*", "admin"]);
    const data = ABSENT_FIRST.filter(({ scope }) => scope !== "admin");
    expect(await all(data.map((it) => () => cell(key, it.method, askOf(it, victim), foreign(it))))).toEqual([]);
    const heads = READS.filter(({ scope, path }) => scope !== "admin" && !path.startsWith("/users/"));
    expect(
      await all(heads.map((it) => () => cell(key, "HEAD", askOf(it, victim), { status: foreign(it).status }))),
    ).toEqual([]);
    await expectUntouched();
  });

  test("a user name of the owner's project means a user of the caller's own project", async () => {
    const { key } = await newProject("another");
    const naming = { userId: victim.userId };
    const found = await all(
      OPERATIONS.filter(takesUser).map((it) => () => cell(key, it.method, askOf(it, victim, naming), foreign(it))),
    );
    expect(found).toEqual([]);
    await expectUntouched();
  });

  test("a key confined to a user of the same name finds nothing of the owner's", async () => {
    const { id } = await newProject("another");
    const key = await newKey(id, ["*"], { userId: victim.userId });
    const found = await all(
      ABSENT_FIRST.map((operation) => async () => {
        const expected = operation.isForConfinedKeys ? foreign(operation) : REFUSED;
        return cell(key, operation.method, askOf(operation, victim), expected, [victim.userId.slice("user ".length)]);
      }),
    );
    expect(found).toEqual([]);
    await expectUntouched();
  });

  test("the owner's cursors belong to the owner's lists", async () => {
    const { key } = await newProject("another");
    const expected = { status: 400, code: "invalid_cursor" };
    const found = await all(
      [...victim.cursors].map(([route, cursor]) => async () => {
        const target = `${route.slice("GET ".length)}?limit=1&cursor=${encodeURIComponent(cursor)}`;
        return cell(key, "GET", { target }, expected);
      }),
    );
    expect(found).toEqual([]);
  });

  test("filters that name the owner's resources find nothing", async () => {
    const { key } = await newProject("another");
    expect(await all(filtered(key))).toEqual([]);
  });

  test("the owner's Idempotency-Keys give the owner's answers to nobody else", async () => {
    const { key } = await newProject("another");
    const headers = { "idempotency-key": marker() };
    const heeding = OPERATIONS.filter(({ heedsIdempotencyKey, path }) => heedsIdempotencyKey && !path.includes("{}"));
    const twin = await build();
    const confinedKey = await newKey(twin.projectId, ["*"], { userId: "somebody else" });
    const found = await all(
      heeding.map((operation) => async () => {
        const isAdmins = operation.scope === "admin";
        const ask = { ...askOf(operation, victim), headers };
        const first = await send(operation.method, isAdmins ? TEST_KEY : twin.owner, ask);
        expect(operation.successes).toContain(first.status);
        return [
          ...(await cell(key, operation.method, ask, isAdmins ? REFUSED : foreign(operation))),
          ...(await cell(confinedKey, operation.method, ask, confined(operation, false))),
        ];
      }),
    );
    expect(found).toEqual([]);
  });

  test("webhooks of others receive nothing of the owner's", async () => {
    const { key } = await newProject("another");
    const path = `/${marker()}`;
    const url = `http://127.0.0.1:${receiver.port}${path}`;
    await made("POST", key, "/webhooks", { url, events: ["memory.completed", "memory.failed", "memory.deleted"] });
    const twin = await build();
    const { id } = await made("POST", key, "/memories", { content: "The kettle boils." });
    await until("one's own event was delivered", () => received.get(path)?.includes(id) ?? false);
    const told = [...received].filter(([at]) => at === path || at === "/others").map(([, bodies]) => bodies);
    const leaks = [...victim.markers, ...twin.markers].filter((known) => told.some((bodies) => bodies.includes(known)));
    expect(leaks).toEqual([]);
  });
});

function completionOf(options: object): object {
  return { model: "mneme", messages: [{ role: "user", content: QUESTION }], ...options };
}

/** Checks that searches and answers with filters that name the owner's resources find nothing. */
function filtered(key: string): (() => Promise<string[]>)[] {
  const { userId, memoryId, nobodysMemoryId } = victim;
  const filters: readonly object[] = [
    { userId },
    { memory_id: memoryId },
    { memory_id: { $in: [memoryId, nobodysMemoryId] } },
    { $or: [{ userId }, { userId: null }, { $not: { userId } }] },
    { $not: { memory_id: "mem_x" } },
    { "metadata.room": { $exists: true } },
  ];
  const nothing = async (method: string, ask: Ask): Promise<string[]> => {
    const problems = await cell(key, method, ask, { status: 200 });
    const { body } = await send(method, key, ask);
    const shown: unknown[] = body.results ?? body.sources ?? body.mneme.sources;
    return shown.length === 0 ? problems : [...problems, `${ask.target}: ${shown.length} passages`];
  };
  return filters.flatMap((filter) => [
    () => nothing("POST", { target: "/memories/search", body: { query: QUESTION, filters: filter } }),
    () => nothing("GET", { target: `/memories/search?${query({ query: QUESTION, filters: JSON.stringify(filter) })}` }),
    () => nothing("POST", { target: "/memories/query", body: { query: QUESTION, filters: filter } }),
    () => nothing("POST", { target: "/chat/completions", body: completionOf({ mneme: { filters: filter } }) }),
    () => {
      const metadata = { filters: JSON.stringify(filter) };
      return nothing("POST", { target: "/chat/completions", body: completionOf({ metadata }) });
    },
  ]);
}

describe("confined to another user of the same project", () => {
  const confinedKey = (scopes: readonly Scope[] = ["*"]) =>
    newKey(victim.projectId, scopes, { userId: `other ${marker()}` });

  test("finds nothing of the owner's if no user is named", async () => {
    const key = await confinedKey();
    // a key may know the project that it belongs to
    const own = ({ path }: Promised) => (path === "/keys/current" ? [victim.projectId, victim.projectName] : []);
    const found = await all(
      OPERATIONS.map((it) => () => cell(key, it.method, askOf(it, victim), confined(it, false), own(it))),
    );
    const heads = READS.map((it) => () => cell(key, "HEAD", askOf(it, victim), { status: confined(it, false).status }));
    expect([...found, ...(await all(heads))]).toEqual([]);
    await expectUntouched();
  });

  test("finds nothing that belongs to no user", async () => {
    const key = await confinedKey();
    const { nobodysMemoryId, nobodysChatId } = victim;
    const nobodys = {
      ...victim,
      memoryId: nobodysMemoryId,
      failedMemoryId: nobodysMemoryId,
      fetchedMemoryId: nobodysMemoryId,
      chatId: nobodysChatId,
    };
    const things = OPERATIONS.filter(({ path }) => /^\/(memories|chats)\/\{\}/.test(path));
    expect(await all(things.map((it) => () => cell(key, it.method, askOf(it, nobodys), foreign(it))))).toEqual([]);
    await expectUntouched();
  });

  test("is refused if the owner is named in a path, a body, a query or a form", async () => {
    const key = await confinedKey();
    const naming = { userId: victim.userId };
    const takers = OPERATIONS.filter(takesUser);
    expect(takers.length).toBe(19);
    expect(
      await all(takers.map((it) => () => cell(key, it.method, askOf(it, victim, naming), confined(it, true)))),
    ).toEqual([]);
    await expectUntouched();
  });

  test("gets an error for each item of a batch that names the owner", async () => {
    const key = await confinedKey();
    const memories = [{ content: "The kettle boils." }, { content: "The kettle boils.", userId: victim.userId }];
    expect(await cell(key, "POST", { target: "/memories/batch", body: { memories } }, { status: 202 })).toEqual([]);
    const { body } = await send("POST", key, { target: "/memories/batch", body: { memories } });
    expect([body.accepted, body.failed, body.data[1].error.code]).toEqual([1, 1, "insufficient_scope"]);
  });

  test("filters that name the owner's resources find nothing", async () => {
    const key = await confinedKey();
    expect(await all(filtered(key))).toEqual([]);
    const { id } = await made("POST", key, "/chats", {});
    for (const filters of [{ userId: victim.userId }, { memory_id: victim.memoryId }, {}]) {
      const ask = { target: `/chats/${id}/messages`, body: { message: QUESTION, filters } };
      expect(await cell(key, "POST", ask, { status: 200 })).toEqual([]);
      expect(await cell(key, "POST", { ...ask, target: `${ask.target}/stream` }, { status: 200 })).toEqual([]);
    }
    const { text } = await send("GET", key, { target: `/chats/${id}` });
    expect(victim.markers.filter((known) => text.includes(known) && known !== victim.memoryId)).toEqual([]);
  });

  test("cannot give its memory to the owner or to nobody, nor take over the owner's externalId", async () => {
    const key = await confinedKey();
    const [owned] = (before.memories as { readonly data: { readonly externalId: string | null }[] }).data.filter(
      ({ externalId }) => externalId !== null,
    );
    const externalId = owned?.externalId;
    const mine = await made("POST", key, "/memories", { content: "The kettle boils.", externalId });
    expect(victim.markers).not.toContain(mine.id);
    for (const userId of [victim.userId, null]) {
      const ask = { target: `/memories/${mine.id}`, body: { userId } };
      // the answer may contain the externalId, because the caller's own memory has it, too
      expect(await cell(key, "PUT", ask, REFUSED, [externalId ?? ""])).toEqual([]);
    }
    expect((await send("GET", key, { target: `/memories/${mine.id}` })).status).toBe(200);
    await expectUntouched();
  });

  test("cannot use cursors of the whole project", async () => {
    const key = await confinedKey();
    const expected = { status: 400, code: "invalid_cursor" };
    const found = await all(
      ["/memories", "/chats", "/users"].map((path) => async () => {
        const cursor = encodeURIComponent(victim.cursors.get(`GET ${path}`) ?? "");
        return cell(key, "GET", { target: `${path}?limit=1&cursor=${cursor}` }, expected);
      }),
    );
    expect(found).toEqual([]);
  });

  test("may not call operations that concern all users, whatever its scopes", async () => {
    const kept = OPERATIONS.filter(({ isForConfinedKeys }) => !isForConfinedKeys);
    for (const scopes of [["*"], ["*", "admin"], ["admin"]] as const) {
      const key = await confinedKey(scopes);
      expect(await all(kept.map((it) => () => cell(key, it.method, askOf(it, victim), REFUSED)))).toEqual([]);
    }
    await expectUntouched();
  });
});

describe("the owner", () => {
  /** Deletions run last, in this order: each resource is deleted after those that depend on it. */
  const ENDS = ["memories", "chats", "webhooks", "keys", "users", "projects"];
  const isOfEmbedder = ({ method, path }: Promised) => method === "DELETE" && path.includes("/embedder");
  const isOfCalibration = ({ path }: Promised) => /^.installed-models.\{\}.(calibrate|retry)$/.test(path);
  const rank = (operation: Promised) => {
    if (operation.method !== "DELETE" || isOfEmbedder(operation)) return 0;
    return 1 + ENDS.indexOf(operation.path.split("/")[1] ?? "");
  };

  test("the same requests succeed for the owner, or for an admin if they need the scope admin", async () => {
    const twin = await build();
    const found: string[] = [];
    for (const operation of [...OPERATIONS].sort((left, right) => rank(left) - rank(right))) {
      const key = operation.scope === "admin" ? TEST_KEY : twin.owner;
      const { status, text } = await send(operation.method, key, askOf(operation, twin));
      // a change of the model that has ended cannot be cancelled, one that has not keeps no earlier vectors
      // and built-in models have their curves and are installed
      const isRefused = (isOfEmbedder(operation) || isOfCalibration(operation)) && status === 409;
      if (!operation.successes.includes(status) && !isRefused)
        found.push(`${routeOf(operation)}: ${status} ${text}`.slice(0, 300));
      if (text.includes(twin.secret)) found.push(`${routeOf(operation)} shows the language model's key`);
    }
    expect(found).toEqual([]);
    expect((await send("GET", twin.owner, { target: "/usage" })).status).toBe(401);
  });

  test("every operation of the contract has its request here", () => {
    expect(Object.keys(REQUESTS).sort()).toEqual(OPERATIONS.map(routeOf).sort());
  });
});
