// Whatever is sent, the interface answers: never a 5xx, always the error's shape, always a request id. The seed of a
// run is printed; MNEME_TEST_SEED replays it, MNEME_TEST_FUZZ sets how many requests are sent.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { seeded } from "../support/seeded.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { expectErrorBody } from "./faults.ts";

const REQUESTS = Number(process.env.MNEME_TEST_FUZZ ?? 600);
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

const chance = seeded(SEED);
const below = (count: number) => Math.floor(chance() * count);
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
const often = (share: number) => chance() < share;

const TEXTS = [
  ...["", " ", "x", "The kettle boils.", "ada", "𝛂".repeat(300), "e\u0301", "\u0000", "\ud800", "a".repeat(9_000)],
  ...[
    "en",
    "en_US",
    "2999-01-01T00:00:00Z",
    "2001-01-01T00:00:00Z",
    "null",
    "{}",
    "%00",
    "../..",
    "' OR 1=1 --",
    "\u202e",
  ],
];
const NUMBERS = [0, -0, 1, -1, 0.5, 1.5, 20, 100, 101, 1e21, 2 ** 53, -(2 ** 63), 5e-324];

function anyValue(depth = 0): unknown {
  const kind = below(depth > 3 ? 4 : 6);
  if (kind === 0) return pick([null, true, false]);
  if (kind === 1) return pick(NUMBERS);
  if (kind <= 3) return pick(TEXTS);
  const size = below(4);
  if (kind === 4) return Array.from({ length: size }, () => anyValue(depth + 1));
  return Object.fromEntries(
    Array.from({ length: size }, () => [pick([...TEXTS, "_x", "__proto__"]), anyValue(depth + 1)]),
  );
}

const MEMORY: Readonly<Record<string, () => unknown>> = {
  content: () => pick(["The kettle boils.", "Ein Satz.\n\nUnd noch einer.", "# A\n\n- b\n- c", "x"]),
  title: () => "Kettle",
  type: () => "note",
  tags: () => Array.from({ length: pick([0, 1, 50, 51]) }, (_, at) => `t${at}`),
  metadata: () => ({ a: [1, { b: null }] }),
  userId: () => pick(["ada", "bob"]),
  language: () => pick(["en", "de-CH"]),
  externalId: () => pick(["e1", "e2", "e3"]),
  expires_at: () => "2999-01-01T00:00:00Z",
};
const SEARCH: Readonly<Record<string, () => unknown>> = {
  query: () => pick(["kettle", "Satz", "?", "NOT (x"]),
  mode: () => pick(["fast", "balanced", "precise"]),
  limit: () => pick([1, 10, 100, 101]),
  userId: () => pick(["ada", "nobody"]),
  explain: () => pick([true, false]),
  min_score: () => pick([0, 0.2, 1]),
};

// A sound object with, now and then, a field left out, one of any value, or one that nobody knows.
function nearly(fields: Readonly<Record<string, () => unknown>>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [position, [name, value]] of Object.entries(fields).entries()) {
    if (often(position === 0 ? 0.97 : 0.3)) object[name] = often(0.06) ? anyValue() : value();
  }
  if (often(0.04)) object[pick(["user_id", "topK", "__proto__x", "", "constructor"])] = anyValue();
  return object;
}

const known: string[] = ["mem_00000000000000000000000000"];

function anyCall(): { readonly method: string; readonly path: string; readonly body: unknown } {
  const id = often(0.8)
    ? pick(known)
    : encodeURIComponent(pick(["x", "..", "\u0000", "mem_"])) + pick(["", "%ZZ", "/"]);
  const value = () =>
    encodeURIComponent(often(0.8) ? pick(["1", "20", "100", "ada", "completed", "note"]) : pick(TEXTS).toWellFormed());
  const query = often(0.7)
    ? ""
    : `?${pick(["limit", "cursor", "status", "type", "userId", "x", "__proto__"])}=${value()}${pick(["", "&limit=3"])}`;
  return pick([
    () => ({ method: "POST", path: `/v1/memories${often(0.03) ? query : ""}`, body: nearly(MEMORY) }),
    () => ({
      method: "POST",
      path: "/v1/memories/batch",
      body: {
        memories: Array.from({ length: pick([0, 1, 3, 101]) }, () => (often(0.9) ? nearly(MEMORY) : anyValue())),
      },
    }),
    () => ({ method: "POST", path: "/v1/memories/search", body: nearly(SEARCH) }),
    () => ({ method: "GET", path: `/v1/memories${query}`, body: undefined }),
    () => ({ method: "GET", path: `/v1/memories/${id}`, body: undefined }),
    () => ({ method: "DELETE", path: `/v1/memories/${id}`, body: undefined }),
    () => ({
      method: pick(["PUT", "PATCH", "POST", "OPTIONS"]),
      path: pick(["/v1", "/v1/memories/x", "/x", "/health"]),
      body: anyValue(),
    }),
  ])();
}

// Cuts, doubles or overwrites a few characters: mostly no JSON any more, sometimes JSON of another meaning.
function mangled(text: string): string {
  const at = below(text.length + 1);
  return (
    text.slice(0, at) +
    pick(["", "{", "]", ",", '"', "\\u0000", "\\ud800", "1e999", "\u0000"]) +
    text.slice(at + below(4))
  );
}

function anyRequest(): Request {
  const { method, path, body } = anyCall();
  const headers = new Headers();
  if (often(0.97))
    headers.set("authorization", often(0.97) ? `Bearer ${TEST_KEY}` : pick(["Bearer", "x", "Bearer ctx_x"]));
  if (often(0.1)) headers.set("x-request-id", pick(["abc", "a b", "x".repeat(200)]));
  const hasBody = body !== undefined;
  if (hasBody)
    headers.set("content-type", often(0.97) ? "application/json" : pick(["text/plain", "json", "multipart/form-data"]));
  const text = hasBody ? JSON.stringify(body) : "";
  return new Request(`http://mneme.test${path}`, {
    method,
    headers,
    ...(hasBody && { body: often(0.9) ? text : mangled(text) }),
  });
}

test(`${REQUESTS} requests, sound and mangled, are answered as the interface says (seed ${SEED})`, async () => {
  process.stdout.write(`fuzz: MNEME_TEST_SEED=${SEED} MNEME_TEST_FUZZ=${REQUESTS}\n`);
  const statuses = new Map<number, number>();
  for (let round = 0; round < REQUESTS; round++) {
    const request = anyRequest();
    const sent = `${round}: ${request.method} ${request.url} ${await request.clone().text()}`.slice(0, 500);
    const answer = await mneme.send(request);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    try {
      expect(answer.status).toBeLessThan(500);
      expect(answer.headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
      if (answer.status >= 400) expectErrorBody(answer);
      else if (answer.body?.id !== undefined) known.push(answer.body.id);
    } catch (error) {
      throw new Error(`request ${sent}: ${answer.status} ${JSON.stringify(answer.body)}`, { cause: error });
    }
  }
  // a generator that only ever hits one wall proves nothing
  for (const status of [200, 202, 204, 400, 401, 404, 405]) expect(statuses.get(status) ?? 0).toBeGreaterThan(0);
});
