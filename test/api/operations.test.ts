// The running app has exactly the operations of the contract (contract.ts), and documents each completely: scope, rate
// limit, input and answers.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import type { JsonSchema } from "../../src/api/json-schema.ts";
import { Contract, type Documented } from "../support/openapi.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { CODES, OPERATIONS, type Promised, RESOURCES, routeOf, SAME_WINDOW } from "./contract.ts";

let mneme: TestService;
let contract: Contract;
const documented = new Map<string, Documented>();
beforeAll(async () => {
  mneme = await startService({ countsWords: true, waitsForModels: false, config: { rateLimits: RATE_LIMITS } });
  contract = new Contract((await mneme.call("GET", "/openapi.json")).body);
  for (const operation of contract.operations) documented.set(documentedRoute(operation), operation);
});
afterAll(() => mneme.stop());

function documentedRoute({ method, path }: Documented): string {
  return `${method} ${path.replace(/^\/v1/, "").replace(/\{\w+\}/g, "{}")}`;
}

function of(promised: Promised): Documented {
  const found = documented.get(routeOf(promised));
  if (found === undefined) throw new Error(`${routeOf(promised)} is not documented`);
  return found;
}

const fieldsOf = (schema: JsonSchema): readonly string[] => Object.keys((schema.properties ?? {}) as object).sort();
const resolved = (schema: JsonSchema): JsonSchema =>
  typeof schema.$ref === "string" ? (contract.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}) : schema;

describe("the list of operations", () => {
  test("contains exactly the operations of the contract", () => {
    expect([...documented.keys()].sort()).toEqual(OPERATIONS.map(routeOf).sort());
  });

  test("has unique names, as the contract gives them", () => {
    const names = contract.operations.map(({ object }) => object.operationId);
    expect(new Set(names).size).toBe(names.length);
    const given = OPERATIONS.filter(({ name }) => name !== null);
    expect(given.map((promised) => of(promised).object.operationId)).toEqual(given.map(({ name }) => name ?? ""));
  });

  test("a path takes the documented methods and no other", async () => {
    for (const path of new Set(contract.operations.map((operation) => operation.path))) {
      const { status, headers } = await mneme.call("OPTIONS", path.replace(/\{\w+\}/g, "x"));
      expect([path, status]).toEqual([path, 405]);
      const methods = contract.operations.filter((operation) => operation.path === path).map(({ method }) => method);
      const allowed = headers
        .get("allow")
        ?.split(", ")
        .filter((method) => method !== "HEAD");
      expect(allowed?.sort()).toEqual([...methods].sort());
    }
  });

  test("has exactly the error codes of the contract, each with its status", () => {
    const fields = contract.schemas.ErrorBody?.properties as Readonly<Record<string, JsonSchema>>;
    const codes = (fields.code?.enum ?? []) as readonly string[];
    expect([...codes].sort()).toEqual(Object.values(CODES).flat().sort());
  });

  for (const [name, fields] of Object.entries(RESOURCES)) {
    test(`a ${name} has the fields of the contract`, () => {
      expect(fieldsOf(contract.schemas[name] ?? {})).toEqual([...fields].sort());
    });
  }
});

/** Operations that can be called without a body. */
const OPTIONAL_BODIES: readonly string[] = [
  ...["POST /chats", "POST /keys/{}/rotate", "POST /memories/retry", "POST /cases/runs", "POST /project/llm/test"],
];

describe("each operation", () => {
  for (const promised of OPERATIONS) {
    const route = routeOf(promised);

    test(`${route} documents its name, scope and rate limit`, () => {
      const { object } = of(promised);
      expect(object.operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(object.summary).toMatch(/^[A-Z].{4,200}\.$/);
      expect(object.tags[0]).toBeString();
      expect(object.security).toEqual([{ apiKey: promised.scope === null ? [] : [promised.scope] }]);
      expect(object["x-scope"]).toBe(promised.scope);
      expect(object["x-confined-keys"]).toBe(promised.isForConfinedKeys);
      expect(object["x-rate-limit-per-minute"]).toBe(promised.perMinute);
      expect(object["x-idempotent"]).toBe(promised.heedsIdempotencyKey);
      const group = SAME_WINDOW.find((routes) => routes.includes(route)) ?? [route];
      const others = OPERATIONS.filter((other) => other !== promised && group.includes(routeOf(other)));
      expect(object["x-rate-limit-shared-with"]).toEqual(others.map((other) => of(other).object.operationId));
    });

    test(`${route} has the parameters and fields of the contract`, () => {
      const { parameters, body } = of(promised);
      const named = (where: string) => parameters.filter((parameter) => parameter.in === where).map(({ name }) => name);
      expect(named("path")).toHaveLength(promised.path.split("{}").length - 1);
      expect(named("query").sort()).toEqual([...promised.query].sort());
      const ofKey = promised.heedsIdempotencyKey ? ["Idempotency-Key"] : [];
      expect(named("header").sort()).toEqual([...ofKey, ...promised.headers, "X-Request-Id"].sort());
      for (const { schema } of parameters) expect(Object.keys(schema).length).toBeGreaterThan(0);
      if (promised.body === null) {
        expect(body).toBeNull();
        return;
      }
      const schema = resolved(body?.schema ?? {});
      expect(fieldsOf(schema)).toEqual([...promised.body].sort());
      expect([...((schema.required ?? []) as string[])].sort()).toEqual([...promised.required].sort());
      expect(schema.additionalProperties).toBeFalse();
      expect(body?.mediaType).toBe(promised.body.includes("file") ? "multipart/form-data" : "application/json");
      expect(body?.isRequired).toBe(!OPTIONAL_BODIES.includes(route));
    });

    test(`${route} documents every answer`, () => {
      const { responses, "x-error-codes": codes } = of(promised).object;
      const statuses = Object.keys(responses).map(Number);
      expect(statuses.filter((status) => status < 400)).toEqual([...promised.successes]);
      const statusOf = (code: string) => Number(Object.entries(CODES).find(([, known]) => known.includes(code))?.[0]);
      expect(new Set(statuses.filter((status) => status >= 400))).toEqual(new Set(codes.map(statusOf)));
      for (const code of ["invalid_request", "missing_api_key", "invalid_api_key", "insufficient_scope"]) {
        expect(codes as readonly string[]).toContain(code);
      }
      for (const code of ["rate_limit_exceeded", "internal_error"]) expect(codes as readonly string[]).toContain(code);
      for (const status of promised.successes) {
        const response = responses[status];
        const content = response !== undefined && "content" in response ? response.content : undefined;
        if (status === 204 || status === 304) expect(content).toBeUndefined();
        else expect(Object.keys(content ?? {}).length).toBeGreaterThan(0);
        for (const { schema } of Object.values(content ?? {})) expect(Object.keys(schema).length).toBeGreaterThan(0);
      }
    });
  }
});

describe("rate limits in force", () => {
  const remainingOf = async (route: string): Promise<readonly [limit: number, remaining: number]> => {
    const [method = "", path = ""] = route.split(" ");
    const isWithBody = method !== "GET" && method !== "DELETE";
    const { headers } = await mneme.call(method, `/v1${path.replaceAll("{}", "x")}`, isWithBody ? "[]" : undefined);
    return [Number(headers.get("x-ratelimit-limit")), Number(headers.get("x-ratelimit-remaining"))];
  };

  test("each operation counts in its own window of the contract only", async () => {
    for (const promised of OPERATIONS) {
      const route = routeOf(promised);
      const isShared = SAME_WINDOW.some((routes) => routes.indexOf(route) > 0);
      const before = promised.perMinute - (isShared ? 2 : 0);
      expect([route, ...(await remainingOf(route))]).toEqual([route, promised.perMinute, before - 1]);
      expect([route, ...(await remainingOf(route))]).toEqual([route, promised.perMinute, before - 2]);
    }
  });

  test("each key has its own windows", async () => {
    const other = mneme.addKey(["*"]);
    const { headers } = await mneme.send(
      new Request("http://mneme.test/v1/memories", { headers: { authorization: `Bearer ${other}` } }),
    );
    expect(headers.get("x-ratelimit-remaining")).toBe("299");
    expect((await mneme.call("GET", "/v1/memories", undefined, { authorization: `Bearer ${TEST_KEY}` })).status).toBe(
      200,
    );
  });
});
