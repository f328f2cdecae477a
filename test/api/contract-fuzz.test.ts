// Random requests with random keys: every answer is documented in /openapi.json for its operation (status, code, body,
// headers), and none is a server error. Requests are generated from the document, as valid, invalid and hostile ones,
// about resources that earlier requests created. The seed of a run is printed: MNEME_TEST_SEED replays it,
// MNEME_TEST_FUZZ sets the number of requests.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { isResource, singular } from "../../src/api/examples.ts";
import type { JsonSchema } from "../../src/api/json-schema.ts";
import { ID_PREFIXES } from "../../src/domain/ids.ts";
import { isoTime } from "../../src/kit/clock.ts";
import {
  AWKWARD_TEXTS,
  BROKEN_TEXTS,
  Chance,
  isOfType,
  type Json,
  mangled,
  type Source,
  soundValue,
  spoilt,
} from "../support/generate.ts";
import { Contract, type Documented, isOpenAiPath, type RawAnswer } from "../support/openapi.ts";
import { SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { DEFAULT } from "../support/shipped-models.ts";
import { OPERATIONS } from "./contract.ts";
import { expectErrorBody, expectOpenAiErrorBody } from "./faults.ts";

/** Name of a folder below that of the models. */
const OFFERED = "offered";
const REQUESTS = Number(process.env.MNEME_TEST_FUZZ ?? (process.env.MNEME_TEST_STORE === "postgres" ? 400 : 1_500));
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
/** Number of problems after which a run is aborted. */
const PROBLEMS_MAX = 12;
/**
 * Maximum step of the clock between requests, in milliseconds. With it, rate-limit windows fill now and then, and empty
 * again.
 */
const CLOCK_STEP_MS_MAX = 300;
const BURST_EVERY = 200;

const chance = new Chance(SEED);
const clock = new SettableClock();
let mneme: TestService;
let receiver: ReturnType<typeof Bun.serve>;
let contract: Contract;
beforeAll(async () => {
  receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ method }) => (method === "GET" ? new Response("A page.") : new Response(null, { status: 204 })),
  });
  mneme = await startService({
    clock,
    config: { embedder: DEFAULT, rateLimits: RATE_LIMITS, webhookAllow: AllowList.parse("127.0.0.1") },
  });
  mkdirSync(join(mneme.dataDir, "models", OFFERED), { recursive: true });
  contract = new Contract((await mneme.call("GET", "/openapi.json")).body);
});
afterAll(async () => {
  await receiver.stop(true);
  await mneme.stop();
});

/** The caller of a request. `authorization` is null for a caller without a key. */
interface Caller {
  readonly name: string;
  readonly authorization: string | null;
}

/** A request that can be sent again. */
interface Sent {
  readonly caller: Caller;
  readonly method: string;
  /** Path and query of the request line. */
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array<ArrayBuffer> | FormData | null;
  /** The body's JSON value. Missing if there is none, or if the body was damaged after it was written as JSON. */
  readonly json?: Json;
  /** Whether the OpenAPI document allows the request. */
  readonly isSound: boolean;
}

/** Values collected from earlier answers: the last 40 ids of each prefix, and the last cursor of each operation. */
class Pool {
  readonly #ids = new Map<string, string[]>();
  readonly #cursors = new Map<string, string>();
  readonly #reserved: ReadonlySet<string>;

  /** @param reserved ids that are never used: those of the callers' own keys and project. */
  constructor(reserved: readonly string[]) {
    this.#reserved = new Set(reserved);
  }

  learn(operation: string, text: string): void {
    for (const [id = "", prefix = ""] of text.matchAll(
      /\b(mem|chat|key|prj|wh|dlv|ent|case|run|job)_[0-9a-z]{26}\b/g,
    )) {
      const known = this.#ids.get(prefix) ?? [];
      if (this.#reserved.has(id) || known.includes(id)) continue;
      this.#ids.set(prefix, [...known, id].slice(-40));
    }
    const cursor = /"cursor":"([^"]+)"/.exec(text)?.[1];
    if (cursor !== undefined) this.#cursors.set(operation, cursor);
  }

  id(prefix: string): string {
    const known = this.#ids.get(prefix) ?? [];
    return chance.often(0.85) && known.length > 0 ? chance.pick(known) : `${prefix}_0${"0".repeat(25)}`;
  }

  cursor(operation: string): string | undefined {
    return chance.often(0.7) ? this.#cursors.get(operation) : chance.pick([...this.#cursors.values(), "nonsense"]);
  }
}

const USERS = ["ada", "bob", "c/d é", "日本", "%41"];
const CONTENTS = [
  "The kettle boils at ninety-nine degrees.",
  "Ein Satz über Züge.\n\nUnd noch einer.",
  "# Keys\n\n- under the blue pot\n- in the hall",
  "鍵は青い鉢の下にあります。",
  "x",
];
const FILTERS: readonly Json[] = [
  {},
  { tags: "house" },
  { type: { $in: ["note", "letter"] } },
  { "metadata.room": { $exists: true }, $not: { userId: "bob" } },
  { $or: [{ created_at: { $gte: "2020-01-01T00:00:00Z" } }, { title: { $contains: "e" } }] },
];
/** Length of the vectors of the shipped models. */
const DIMENSIONS = 384;
const CONVERSATIONS: readonly Json[] = [
  [{ role: "user", content: "Where is the key?" }],
  [
    { role: "system", content: "Answer in one sentence." },
    { role: "user", content: "Where is the key?" },
    { role: "assistant", content: "Under the blue pot [1].", refusal: null, annotations: [] },
    {
      role: "user",
      content: [
        { type: "text", text: "And the kettle?" },
        { type: "text", text: "Züge" },
      ],
    },
  ],
];
/** Paths of operations that run a model. They are called less often, so that the run is short. */
const SLOW = /search|query|messages|upload|url|refetch|batch|completions|embeddings/;

let pool: Pool;
let callers: readonly Caller[];

// Returns a valid value for fields that their schema describes too loosely: languages, times, filters, URLs and ids.
function named(name: string, schema: JsonSchema): Json | undefined {
  if (isOfType(schema, "null") && chance.often(0.1)) return null;
  const isText = isOfType(schema, "string");
  switch (name) {
    case "messages":
      return chance.pick(CONVERSATIONS);
    case "dimensions":
      return DIMENSIONS;
    case "maxSources":
      return isText ? String(1 + chance.below(50)) : undefined;
    case "content":
      return chance.pick(CONTENTS);
    case "query":
    case "message":
      return chance.pick(["Where is the key?", "kettle", "Züge", "鍵", "NOT (x"]);
    case "userId":
      return chance.pick(USERS);
    case "id":
      if (schema.maxLength === 100) return `model-${chance.below(1e9)}`; // a new model
      return chance.pick(USERS);
    case "agentId":
      return chance.pick(["cook", "Agent Ω", "cook"]);
    case "sessionId":
      return chance.pick(["s1", "s 2"]);
    case "externalId":
      return chance.pick(["e1", "e2", "e3", "e4"]);
    case "language":
      return chance.pick(["en", "de-CH", "zh-Hans", "EN-us"]);
    case "expires_at":
      return chance.pick(["2999-01-01T00:00:00Z", "2999-12-31T23:59:59.999+02:00"]);
    case "time_zone":
      return chance.pick(["Europe/Zurich", "Asia/Tokyo", "UTC"]);
    case "occurred_at":
    case "asOf":
      return chance.pick(["2024-05-03", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2024-05-03T01:00+02:00"]);
    case "knownAt":
      return isoTime(clock.now());
    case "from":
      return isoTime(clock.now() - 7_200_000);
    case "to":
      return isoTime(clock.now());
    case "tags":
      return isText ? '["house","keys"]' : undefined;
    case "metadata":
    case "data":
      return isText ? '{"room":"hall"}' : undefined;
    case "filters":
      return isText ? JSON.stringify(chance.pick(FILTERS)) : chance.pick(FILTERS);
    case "url":
      return `http://127.0.0.1:${receiver.port}/${chance.pick(["a", "b?x=1", "%C3%A9"])}`;
    case "base_url":
      return "http://127.0.0.1:9/v1";
    case "projectId":
      return pool.id("prj");
    case "model": // of the language model, or the embedding model of a project
      if (Array.isArray(schema.enum)) return undefined; // a chat model
      return isOfType(schema, "null") ? null : DEFAULT;
    case "source": // of a model; the folder is empty, so the model fails later
      return OFFERED;
    case "sha256":
      return isOfType(schema, "null") ? null : "0".repeat(64);
    case "memories":
      return Array.from({ length: 1 + chance.below(3) }, () => soundValue(bodyOf("/v1/memories").schema, source));
    default:
      return undefined;
  }
}

const source: Source = {
  chance,
  get schemas() {
    return contract.schemas;
  },
  named,
};

function bodyOf(path: string): NonNullable<Documented["body"]> {
  const body = contract.operationOf("POST", path)?.body;
  if (!body) throw new Error(`POST ${path} has no body`);
  return body;
}

function anyOperation(): Documented {
  const operation = chance.pick(contract.operations);
  return SLOW.test(operation.path) && chance.often(0.5) ? chance.pick(contract.operations) : operation;
}

/** Generates a request that the document allows. */
function soundRequest(operation: Documented): Sent {
  const caller = chance.often(0.6) ? (callers[0] as Caller) : chance.pick(callers);
  const headers: Record<string, string> = {};
  const { path, parameters, body } = operation;
  const asked = parameters.filter((it) => it.in === "query" && (it.required || chance.often(0.25)));
  const query = asked.flatMap(({ name, schema }) => {
    if (name === "cursor") {
      const cursor = chance.often(0.5) ? pool.cursor(operation.object.operationId) : undefined;
      return cursor === undefined ? [] : [[name, cursor] as const];
    }
    const value = soundValue(schema, source, name);
    return [[name, typeof value === "string" ? value : JSON.stringify(value)] as const];
  });
  const search = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  const segments = path.split("/").map((part, at, all) => {
    if (!part.startsWith("{")) return part;
    if (all[at - 1] === "installed-models") return DEFAULT;
    const resource = singular(all[at - 1] ?? "");
    return encodeURIComponent(isResource(resource) ? pool.id(ID_PREFIXES[resource]) : chance.pick(USERS));
  });
  if (operation.object["x-idempotent"] && chance.often(0.35)) {
    headers["idempotency-key"] = chance.often(0.8) ? `key-${chance.below(1e9)}` : chance.pick(["k1", "k2"]);
  }
  if (chance.often(0.1)) headers["x-request-id"] = chance.pick(["trace-1", "a.b:c_d-e", "A".repeat(128)]);
  const sent = {
    caller,
    method: operation.method,
    target: segments.join("/") + (search === "" ? "" : `?${search}`),
    headers,
    isSound: !asked.some(({ name }) => name === "cursor"),
  };
  if (body === null || (!body.isRequired && chance.often(0.3))) return { ...sent, body: null };
  const value = soundValue(body.schema, source);
  if (body.mediaType === "multipart/form-data") return { ...sent, body: formOf(value) };
  const json = agreeable(operation, value);
  headers["content-type"] = chance.pick(["application/json", "application/json; charset=utf-8", "Application/JSON"]);
  return { ...sent, json, body: JSON.stringify(json), isSound: sent.isSound && isSoundBody(operation, json) };
}

// The server refuses an update without fields. The document's schemas do not express this rule.
function isSoundBody({ method }: Documented, json: Json): boolean {
  return !(method === "PUT" || method === "PATCH") || Object.keys(json ?? {}).length > 0;
}

// Removes what the server refuses for reasons that the document's schemas do not express.
function agreeable({ object: { operationId } }: Documented, value: Json): Json {
  if (operationId === "updateKey") return withoutScopes(value);
  if (operationId === "addInstalledModel") return withOneOrigin(value);
  if (operationId === "createCase") return { ...(value as object), expected: { not_found: true } };
  return operationId === "createChatCompletion" ? withoutContradictions(value) : value;
}

// A model comes from files or from another server, and not every server has rerankers.
function withOneOrigin(json: Json): Json {
  const { source: _, remote, ...rest } = json as { readonly [name: string]: Json };
  const isRemote = typeof remote === "object" && remote !== null && chance.often(0.3);
  return isRemote ? { ...rest, remote: { ...remote, task: "embed" } } : { ...rest, source: OFFERED };
}

// A chat completion may name its user and its mode only once.
function withoutContradictions(json: Json): Json {
  const { user, mneme, metadata, ...rest } = json as { readonly [name: string]: Json };
  const options = Object.entries({ user, mneme, metadata }).filter(([, value]) => value !== undefined);
  if (options.length === 0) return rest;
  const [name, value] = chance.pick(options) as [string, Json];
  return { ...rest, ...(name === "user" ? {} : { model: "mneme" }), [name]: value };
}

// Updates leave out `scopes`, so that the callers' own keys keep theirs. Key creation tries all scopes.
function withoutScopes(value: Json): Json {
  const { scopes: _, ...rest } = value as { readonly [name: string]: Json };
  return rest;
}

function formOf(value: Json, contents = chance.pick(CONTENTS)): FormData {
  const form = new FormData();
  const { file: _, ...fields } = value as { readonly [name: string]: Json };
  for (const [name, field] of Object.entries(fields)) form.append(name, String(field).toWellFormed());
  form.append("file", new Blob([contents]), chance.pick(["notes.txt", "note.md", "t.csv", "ä/ö.txt"]));
  return form;
}

/** Returns the request with one random change, which the document may not allow. */
function spoiltRequest(operation: Documented, sent: Sent): Sent {
  const again = { ...sent, headers: { ...sent.headers }, isSound: false };
  const kind = chance.below(10);
  if (kind < 5 && sent.json !== undefined) {
    let json = spoilt(sent.json, chance);
    if (chance.often(0.2)) json = spoilt(json, chance);
    return { ...again, json, body: JSON.stringify(json) };
  }
  if (kind === 5 && sent.body instanceof FormData) return { ...again, body: spoiltForm(sent.body) };
  if (kind <= 6) return { ...again, target: `${sent.target.split("?")[0]}?${spoiltQuery(operation)}` };
  if (kind === 7) return { ...again, target: spoiltPath(sent.target) };
  if (kind === 8) return { ...again, caller: chance.pick([...callers, STRANGER, ...WRONG]) };
  const name = chance.pick([
    "idempotency-key",
    "x-request-id",
    "accept",
    "origin",
    "expect",
    "content-encoding",
    "range",
  ]);
  return {
    ...again,
    headers: { ...again.headers, [name]: chance.pick(["", "x".repeat(300), "gzip", "a b", "ü", "*/*"]) },
  };
}

function spoiltForm(form: FormData): FormData {
  const name = chance.pick(["file", "title", "tags", "metadata", "user_id", "expires_at", "occurred_at", "language"]);
  if (chance.often(0.3)) form.delete("file");
  else form.append(name, chance.pick([...AWKWARD_TEXTS, "{", "[1]", '{"_a":1}']));
  if (chance.often(0.2)) form.append("file", new Blob([""]), "empty.txt");
  return form;
}

function spoiltQuery({ parameters }: Documented): string {
  const known = parameters.filter((it) => it.in === "query").map(({ name }) => name);
  const pair = () => {
    const name = chance.pick([...known, ...known, "limit", "cursor", "user_id", "__proto__", "", "api_key"]);
    const value = chance.pick([...AWKWARD_TEXTS, ...BROKEN_TEXTS, "1", "101", "true", "TRUE", "1.0", "%", '{"a":']);
    const raw = chance.often(0.15) ? chance.pick(["%ZZ", "%", "%ff", "%C3%28", "a=b", "%u0041", "+"]) : null;
    return `${encodeURIComponent(name)}=${raw ?? encodeURIComponent(value.toWellFormed())}`;
  };
  return Array.from({ length: 1 + chance.below(3) }, pair).join(chance.pick(["&", "&", "&&", ";"]));
}

function spoiltPath(target: string): string {
  const [path = ""] = target.split("?");
  const parts = path.split("/");
  const at = 2 + chance.below(parts.length - 2);
  const part = parts[at] ?? "";
  parts[at] = chance.pick([
    ...["", ".", "..", "%2e%2e", "%2F", "%00", "%ZZ", "%ff", "%", "%ed%a0%80", "*", "{id}", ":id", "null", " "],
    ...["x".repeat(10_000), part.toUpperCase(), `${part}x`, part.slice(1), `${part}%00`, `${part}/`, `${part}.json`],
  ]);
  return parts.join("/");
}

/** Generates a deliberately hostile request. */
function hostileRequest(sent: Sent): Sent {
  const again = { ...sent, headers: { ...sent.headers }, isSound: false };
  const text = typeof sent.body === "string" ? sent.body : '{"content":"x"}';
  const raw = (body: Sent["body"], mediaType = "application/json"): Sent => {
    const { json: _, ...rest } = again;
    return { ...rest, method: bodied(sent.method), body, headers: { ...again.headers, "content-type": mediaType } };
  };
  switch (chance.below(9)) {
    case 0:
      return raw(mangled(text, chance));
    case 1:
      return raw(text, chance.pick(["text/plain", "", "application/xml", "json", "multipart/form-data", "*/*"]));
    case 2:
      return raw(
        new Uint8Array(
          chance.pick([[], [0xff, 0xfe], [0xc3, 0x28], [0xef, 0xbb, 0xbf, 0x7b, 0x7d], [0x22, 0x80, 0x22]]),
        ),
      );
    case 3:
      return raw(nested(chance.pick([63, 64, 65, 1_000, 100_000])));
    case 4:
      return raw(`{"${chance.pick(["content", "query", "limit", "id"])}":${chance.pick(HOSTILE_VALUES)}}`);
    case 5: {
      const boundary = chance.pick([
        "multipart/form-data; boundary=b",
        "multipart/form-data; boundary=",
        "multipart/mixed; boundary=b",
      ]);
      return raw(chance.pick(BROKEN_FORMS), boundary);
    }
    case 6:
      return {
        ...again,
        method: chance.pick(["PUT", "PATCH", "DELETE", "GET", "OPTIONS", "HEAD", "POST", "QUERY", "get"]),
      };
    case 7:
      return { ...again, target: chance.pick(UNKNOWN_PATHS) };
    default:
      return {
        ...again,
        body: null,
        headers: { ...again.headers, "content-length": chance.pick(["0", "5", "999999999", "x"]) },
      };
  }
}

const STRANGER: Caller = { name: "stranger", authorization: null };
const WRONG: readonly Caller[] = [
  `Bearer ctx_${"x".repeat(43)}`,
  "Bearer",
  "Basic YTpi",
  TEST_KEY,
  `Bearer ${TEST_KEY} x`,
].map((authorization) => ({ name: "wrong key", authorization }));
const HOSTILE_VALUES = [
  ...["1e999", "-1e999", "123456789012345678901234567890", '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', "0.1e-400"],
  ...[
    '{"__proto__":{"x":1}}',
    '["a","a"]',
    '"a","content":"b"',
    '"x"}{"a":1',
    "01",
    ".5",
    "+1",
    "NaN",
    "'x'",
    "// x\n1",
  ],
];
const UNKNOWN_PATHS = [
  ...[
    "/v1",
    "/v1/",
    "/v1//memories",
    "/v1/memories/",
    "/v1/nothing",
    "/v1/memories/a/b/c",
    "/v1/users/",
    "/v1/usage/x",
  ],
  ...[
    "/V1/memories",
    "/v2/memories",
    "/x",
    "/v1/memories;x=1",
    "/v1/%6demories",
    "/v1/../v1/memories",
    "/v1/projects/x/keys",
  ],
];
const BROKEN_FORMS = [
  ...["", "--b", "--b--", "--b\r\n\r\n\r\n--b--\r\n", "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n"],
  ...['--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\ncut off'],
  ...['--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--b--\r\n'],
  ...[`--b\r\n${"X: y\r\n".repeat(3_000)}\r\n\r\n--b--\r\n`],
];

function bodied(method: string): string {
  return method === "GET" || method === "HEAD" ? "POST" : method;
}

function nested(levels: number): string {
  return `{"content":"x","metadata":{"a":${"[".repeat(levels)}${"]".repeat(levels)}}}`;
}

function anySent(): Sent {
  const operation = anyOperation();
  const sent = soundRequest(operation);
  const kind = chance.below(100);
  if (kind < 55) return kind < 3 && sent.method === "GET" ? { ...sent, method: "HEAD" } : sent;
  return kind < 85 ? spoiltRequest(operation, sent) : hostileRequest(sent);
}

function requestOf({ caller, method, target, headers, body }: Sent): Request {
  const withKey = caller.authorization === null ? headers : { authorization: caller.authorization, ...headers };
  const isBodied = body !== null && method !== "GET" && method !== "HEAD" && method !== "get";
  const { "content-type": type, ...others } = withKey;
  return new Request(`http://mneme.test${target}`, {
    method,
    headers: isBodied && type !== undefined ? withKey : others,
    ...(isBodied && { body }),
  });
}

async function exchange(sent: Sent): Promise<RawAnswer> {
  const response = await mneme.service.handle(requestOf(sent), () => "192.0.2.1");
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Returns the problems of an answer, an empty list if there are none. */
function problemsOf(sent: Sent, operation: Documented | null, answer: RawAnswer): readonly string[] {
  const { method, url } = requestOf(sent);
  const { pathname } = new URL(url);
  const { status, headers } = answer;
  // paths outside of /v1 (pages, and targets of `..`) are not in the document
  const isVersioned = /^\/v1(\/|$)/.test(pathname);
  if (!isVersioned && status < 400) return [];
  const problems = [...contract.problemsOf(operation, { method, pathname }, answer)];
  if (status >= 500) problems.push(`the server failed: ${status}`);
  const ownId = sent.headers["x-request-id"];
  const isSafe = ownId !== undefined && /^[A-Za-z0-9._:-]{1,128}$/.test(ownId);
  if (isSafe && headers.get("x-request-id") !== ownId) problems.push("the caller's request id was lost");
  if (status >= 400 && method !== "HEAD") problems.push(...brokenRules(pathname, answer));
  if (operation === null) {
    const others = contract.methodsOf(pathname);
    const expected = !isVersioned ? [404, 405] : others.length > 0 ? [401, 405, 429] : [401, 404, 429];
    if (!expected.includes(status)) problems.push(`no operation, and ${status} instead of ${expected}`);
  }
  if (sent.json !== undefined && status < 400 && operation?.body && sent.body !== null) {
    if (!contract.accepts(operation.body.schema, sent.json))
      problems.push("a body was taken that the document forbids");
  }
  const isRefused = /"code":"(invalid_request|payload_too_large|unsupported_media_type|invalid_filter)"/;
  // the document allows a batch whose items all belong to another user, but the server refuses it; its error has
  // `items`. It also allows a deletion without any condition.
  const isUnconditional = answer.text.includes("Say which memories to delete");
  if (
    sent.isSound &&
    !isUnconditional &&
    status >= 400 &&
    isRefused.test(answer.text) &&
    !answer.text.includes('"items"')
  ) {
    problems.push("what the document allows was refused");
  }
  return problems;
}

/** Checks an error body: its fields are present, and it contains nothing internal. */
function brokenRules(pathname: string, { status, headers, text }: RawAnswer): readonly string[] {
  const expectError = isOpenAiPath(pathname) ? expectOpenAiErrorBody : expectErrorBody;
  try {
    expectError({ status, headers, body: JSON.parse(text) });
    return [];
  } catch (error) {
    return [String(error)];
  }
}

/** Whether the same request, sent again, must get the same answer. */
function isRemembered({ method, target, headers }: Sent, { status, text }: RawAnswer): boolean {
  const operation = contract.operationOf(method, target.split("?")[0] ?? "");
  const heedsKey = operation?.object["x-idempotent"] === true && "idempotency-key" in headers;
  return heedsKey && status < 300 && !/^event: error|^data: \{"error"/m.test(text);
}

function described(round: number, sent: Sent, answer: RawAnswer, problems: readonly string[]): string {
  const body = sent.body instanceof FormData ? JSON.stringify([...sent.body.entries()].map(String)) : String(sent.body);
  return [
    `round ${round}, ${sent.caller.name}: ${sent.method} ${sent.target.slice(0, 300)}`,
    `  ${JSON.stringify(sent.headers).slice(0, 300)} ${body.slice(0, 600)}`,
    `  ${answer.status} ${answer.text.slice(0, 400)}`,
    ...problems.map((problem) => `  → ${problem.slice(0, 300)}`),
  ].join("\n");
}

// Resets the callers' project to an unlimited plan without a language model, so that the rest of the run is not
// blocked.
async function resetProject(): Promise<void> {
  const settings = { plan: "enterprise", llm: null, min_evidence: 0, default_mode: null, retention_days: 30 };
  expect((await mneme.call("PUT", "/v1/project", settings)).status).toBe(200);
}

async function prepare(): Promise<void> {
  const key = (name: string, authorization: string): Caller => ({ name, authorization: `Bearer ${authorization}` });
  callers = [
    key("admin", TEST_KEY),
    key("whole project", mneme.addKey(["*"])),
    key("reader", mneme.addKey(["memories:read", "chats:read", "users:read", "query"])),
    key("confined", mneme.addKey(["*"], undefined, { userId: "ada" })),
  ];
  const { body: keys } = await mneme.call("GET", "/v1/keys");
  const { body: project } = await mneme.call("GET", "/v1/project");
  pool = new Pool([project.id, ...(keys.data as { id: string }[]).map(({ id }) => id)]);
}

test(
  `${REQUESTS} requests are answered as the document says (seed ${SEED})`,
  async () => {
    process.stdout.write(`fuzz: MNEME_TEST_SEED=${SEED} MNEME_TEST_FUZZ=${REQUESTS}\n`);
    await prepare();
    const found: string[] = [];
    const statuses = new Map<number, number>();
    const reached = new Map<string, Set<number>>();
    const send = async (round: number, sent: Sent): Promise<RawAnswer> => {
      const { method, url } = requestOf(sent);
      const operation = contract.operationOf(method, new URL(url).pathname);
      const answer = await exchange(sent);
      const problems = problemsOf(sent, operation, answer);
      if (problems.length > 0) found.push(described(round, sent, answer, problems));
      const { status, text } = answer;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const name = operation?.object.operationId ?? "none";
      reached.set(name, (reached.get(name) ?? new Set()).add(status));
      if (status < 300) pool.learn(name, text);
      if (/roject$/.test(name) && status < 300 && method !== "GET" && method !== "HEAD") await resetProject();
      return answer;
    };

    for (let round = 0; round < REQUESTS && found.length < PROBLEMS_MAX; round++) {
      const sent = anySent();
      const answer = await send(round, sent);
      if (isRemembered(sent, answer) && chance.often(0.5)) {
        const again = await send(round, sent);
        const isReplay = again.headers.get("idempotent-replayed") === "true" && again.status === answer.status;
        if (!isReplay && again.status !== 429) {
          found.push(described(round, sent, again, [`not a replay of ${answer.status} ${answer.text.slice(0, 200)}`]));
        }
      }
      clock.advance(chance.below(CLOCK_STEP_MS_MAX));
      if (round % BURST_EVERY === BURST_EVERY - 1) {
        const burst = { caller: chance.pick([STRANGER, ...callers]), method: "POST", target: "/v1/memories/query" };
        for (let at = 0; at < 32; at++) await send(round, { ...burst, headers: {}, body: null, isSound: false });
      }
    }

    process.stdout.write(`fuzz: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}\n`);
    expect(found).toEqual([]);
    if (REQUESTS < 600) return;
    // a generator whose requests all fail the same way would prove nothing
    for (const status of [200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 415, 429]) {
      expect([status, (statuses.get(status) ?? 0) > 0]).toEqual([status, true]);
    }
    const unreached = contract.operations.filter(({ object }) => !reached.has(object.operationId));
    expect(unreached.map(({ object }) => object.operationId)).toEqual([]);
    const succeeded = [...reached.values()].filter((seen) => [...seen].some((status) => status < 300));
    expect(succeeded.length).toBeGreaterThan(OPERATIONS.length * 0.7);
  },
  Math.max(60_000, REQUESTS * 200),
);
