// The OpenAPI document is valid by the specification's own schema, complete, and has examples that fit their schemas.
// contract-fuzz.test.ts checks that the server follows it.

import { describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Type } from "@sinclair/typebox";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { parseRateLimits, RATE_LIMITS, RateBuckets } from "../../src/account/rate-limits.ts";
import { FAULTS, faultsOf } from "../../src/api/catalogue.ts";
import { exampleOf } from "../../src/api/examples.ts";
import { openApiDocument, openApiPath } from "../../src/api/openapi.ts";
import type { MediaType, OpenApiDocument, OperationObject, Reference } from "../../src/api/openapi-types.ts";
import { type Operation, reading } from "../../src/api/operation.ts";
import { Body, NoQuery, Query } from "../../src/api/schema/fields.ts";
import { UploadFields } from "../../src/api/schema/memories.ts";
import { KEY_SCOPES } from "../../src/domain/scope.ts";
import { WEBHOOK_EVENTS } from "../../src/domain/webhook.ts";
import { DECLARED_OPERATIONS } from "../support/declared-operations.ts";

/** An operation that exists in these tests only. */
const own = {
  name: "uploadSomething",
  group: "Memories",
  summary: "Store a file.",
  method: "POST",
  path: "/v1/things/upload",
  scope: "memories:write",
  query: NoQuery,
  answers: { 204: null },
  read: async () => ({ status: 204, body: null }),
} as const satisfies Parameters<typeof reading>[0];

function documentOf(operations: readonly Operation[], table = RATE_LIMITS): OpenApiDocument {
  return openApiDocument({ operations, version: "1.0", buckets: new RateBuckets(table, operations) });
}

function objectOf(document: OpenApiDocument, { path, method }: Pick<Operation, "path" | "method">): OperationObject {
  const object = document.paths[openApiPath(path)]?.[method.toLowerCase()];
  if (object === undefined) throw new Error(`${method} ${path} is not in the document`);
  return object;
}

function only(declared: Partial<Parameters<typeof reading>[0]>): OperationObject {
  const made = reading({ ...own, ...declared } as Parameters<typeof reading>[0]);
  return objectOf(documentOf([made]), made);
}

const operations = [
  ...DECLARED_OPERATIONS,
  reading({ ...own, body: UploadFields, takesFile: true, answers: { 202: null } }),
];
const document = documentOf(operations);

const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true });
addFormats(ajv);
// `components` is not a keyword of JSON Schema
const withDefinitions = (schema: object) =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"document#/$defs/'));
ajv.addSchema(withDefinitions({ $id: "document", $defs: document.components.schemas }));
function mismatches({ schema }: MediaType, example: unknown): unknown {
  const validate = ajv.compile(withDefinitions(schema));
  return validate(example) ? null : validate.errors;
}

function resolved<T extends object>(given: T | Reference, known: Readonly<Record<string, T>>): T {
  if (!("$ref" in given)) return given;
  const found = known[given.$ref.split("/").at(-1) ?? ""];
  if (found === undefined) throw new Error(`${given.$ref} leads nowhere`);
  return found;
}

const responsesOf = (object: OperationObject) =>
  Object.entries(object.responses).map(
    ([status, response]) => [Number(status), resolved(response, document.components.responses)] as const,
  );
const parametersOf = (object: OperationObject) =>
  object.parameters.map((parameter) => resolved(parameter, document.components.parameters));

describe("the document", () => {
  test("is a valid OpenAPI 3.1 document", async () => {
    const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    expect(result).toEqual({ valid: true });
    expect(document.openapi).toStartWith("3.1.");
  });

  test("is plain JSON: serialising it loses nothing", () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });

  test("has the server /v1, a licence and bearer authentication", () => {
    expect(document.servers).toEqual([{ url: "/v1" }]);
    expect(document.info.license).toEqual({ name: "Apache-2.0", identifier: "Apache-2.0" });
    expect(document.info.version).toBe("1.0");
    expect(document.components.securitySchemes).toMatchObject({ apiKey: { type: "http", scheme: "bearer" } });
    for (const path of Object.keys(document.paths)) expect(path).not.toStartWith("/v1");
  });

  test("has schemas that a strict validator accepts", () => {
    for (const name of Object.keys(document.components.schemas)) {
      expect(ajv.getSchema(`document#/$defs/${name}`)).toBeFunction();
    }
  });

  test("has one error schema, with every code", () => {
    const { ErrorBody, Error: answer } = document.components.schemas;
    expect(answer).toMatchObject({ properties: { error: { $ref: "#/components/schemas/ErrorBody" } } });
    expect(ErrorBody).toMatchObject({ properties: { code: { type: "string", enum: Object.keys(FAULTS) } } });
  });

  test("describes the requests that webhooks receive", () => {
    expect(Object.keys(document.webhooks)).toEqual([...WEBHOOK_EVENTS]);
    expect(document.components.schemas.MemoryWithoutContent).not.toHaveProperty("properties.content");
  });

  test("has each path once, and refuses an operation outside of /v1", () => {
    const all = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(all.sort()).toEqual(
      operations.map(({ method, path }) => `${method.toLowerCase()} ${openApiPath(path)}`).sort(),
    );
    expect(() => only({ path: "/health" })).toThrow("not below /v1");
  });
});

describe("each operation", () => {
  const buckets = new RateBuckets(RATE_LIMITS, operations);
  for (const each of operations) {
    const object = objectOf(document, each);

    test(`${each.name} names its scope, limit and group`, () => {
      expect(object.operationId).toBe(each.name);
      expect(object.tags).toEqual([each.group]);
      if (each.scope !== null) expect(KEY_SCOPES).toContain(each.scope);
      expect(object.security).toEqual([{ apiKey: each.scope === null ? [] : [each.scope] }]);
      expect(object.description).toContain(each.scope === null ? "with any scope" : `\`${each.scope}\``);
      const { limit } = buckets.bucketOf(each.method, each.path);
      expect(object["x-rate-limit-per-minute"]).toBe(limit);
      expect(object.description).toContain(`${limit} requests per minute`);
    });

    test(`${each.name} has a parameter for each part of its path, and its headers`, () => {
      const parameters = parametersOf(object);
      const inPath = parameters.filter((parameter) => parameter.in === "path");
      expect(inPath.map(({ name }) => `:${name}`)).toEqual(each.path.match(/:\w+/g) ?? []);
      for (const { required, example, schema } of inPath) {
        expect(required).toBe(true);
        expect(mismatches({ schema }, example)).toBeNull();
      }
      const headers = parameters.filter((parameter) => parameter.in === "header").map(({ name }) => name);
      const ofFiles = each.answersFile === true ? ["Range", "If-None-Match", "If-Range"] : [];
      expect(headers).toEqual([...(each.isIdempotent ? ["Idempotency-Key"] : []), ...ofFiles, "X-Request-Id"]);
    });

    test(`${each.name} shows bodies that fit their schemas`, () => {
      for (const [mediaType, media] of Object.entries(object.requestBody?.content ?? {})) {
        expect(mismatches(media, media.example)).toBeNull();
        expect(mediaType).toBe(each.takesFile ? "multipart/form-data" : "application/json");
      }
      for (const [, { content = {} }] of responsesOf(object)) {
        for (const media of Object.values(content)) {
          const examples = Object.values(media.examples ?? {}).map(({ value }) => value);
          for (const example of media.example === undefined ? examples : [media.example]) {
            expect(mismatches(media, example)).toBeNull();
          }
        }
      }
    });

    test(`${each.name} has an answer for each success and each error`, () => {
      const responses = new Map(responsesOf(object));
      const codes = faultsOf(each);
      expect(object["x-error-codes"]).toEqual(codes);
      const statuses = [...Object.keys(each.answers).map(Number), ...codes.map((code) => FAULTS[code].status)];
      expect([...responses.keys()].sort()).toEqual([...new Set(statuses)].sort());
      for (const code of codes) expect(responses.get(FAULTS[code].status)?.description).toContain(`\`${code}\``);
      for (const [status, { content }] of responses) {
        expect(content === undefined).toBe(status < 400 && each.answers[status] === null);
      }
    });

    test(`${each.name} names the headers of each answer`, () => {
      for (const [status, { headers, content = {} }] of responsesOf(object)) {
        const names = Object.keys(headers);
        expect(names).toEqual(
          expect.arrayContaining(["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]),
        );
        const codes = Object.keys(Object.values(content)[0]?.examples ?? {});
        const passes = codes.includes("rate_limit_exceeded") || codes.includes("query_quota_exceeded");
        expect(names.includes("Retry-After")).toBe(passes);
        if (status !== 429) expect(names).not.toContain("Retry-After");
        expect(names.includes("WWW-Authenticate")).toBe(status === 401);
        expect(names.includes("Idempotent-Replayed")).toBe(status < 400 && each.isIdempotent === true);
        for (const header of Object.values(headers)) resolved(header, document.components.headers);
      }
    });
  }
});

describe("what an operation declares", () => {
  test("a file makes its body a form, with the file required", () => {
    const { requestBody } = objectOf(document, own);
    expect(requestBody?.content["multipart/form-data"]?.schema).toMatchObject({
      required: ["file"],
      properties: { file: { type: "string", format: "binary" }, tags: { type: "string" } },
      additionalProperties: false,
    });
  });

  test("an optional body is not required", () => {
    expect(only({ body: Body({}) }).requestBody?.required).toBe(true);
    expect(only({ body: Body({}), isBodyOptional: true }).requestBody?.required).toBe(false);
    expect(only({}).requestBody).toBeUndefined();
  });

  test("event streams are listed beside JSON if optional, and alone if the operation always streams", () => {
    const answers = { 200: Type.Object({ answer: Type.String() }) };
    const types = (object: OperationObject) => Object.keys(responsesOf(object)[0]?.[1].content ?? {});
    expect(types(only({ answers }))).toEqual(["application/json"]);
    expect(types(only({ answers, streams: "when asked" }))).toEqual(["application/json", "text/event-stream"]);
    expect(types(only({ answers, streams: "always" }))).toEqual(["text/event-stream"]);
  });

  test("an event stream is described event by event, as a union of all that can come", () => {
    const answers = { 200: Type.Object({ answer: Type.String() }) };
    const stream = (object: OperationObject) => responsesOf(object)[0]?.[1].content?.["text/event-stream"];
    const own = stream(only({ answers, streams: "always" }));
    const examples = Object.values(own?.examples ?? {}).map(({ value }) => (value as { event: string }).event);
    expect(examples).toEqual(["text", "sources", "usage", "done"]);
    const error = { error: { code: "internal_error", message: "…", status: 500 } };
    for (const [event, data, isDocumented] of [
      ["text", { content: "a" }, true],
      ["text", { content: 1 }, false],
      ["sources", [], true],
      ["usage", { tokens_used: 3 }, true],
      ["usage", { tokens_used: 3, answer_state: "partial" }, true],
      ["usage", { tokens_used: 3, answer_state: "maybe" }, false],
      ["usage", { tokens_used: -1 }, false],
      ["done", {}, true],
      ["error", error, true],
      ["error", {}, false],
      ["other", {}, false],
    ] as const) {
      expect([event, mismatches(own as MediaType, { event, data }) === null]).toEqual([event, isDocumented]);
    }
    const chunks = stream(only({ answers, streams: "when asked", conventions: "openai" }));
    expect(chunks?.schema).toEqual({ $ref: "#/components/schemas/ChatCompletionEvent" });
    expect(Object.values(chunks?.examples ?? {}).at(-1)?.value).toEqual({ data: "[DONE]" });
    expect(mismatches(chunks as MediaType, { data: { id: "x" } })).not.toBeNull();
  });

  test("keys confined to one user may call it unless it declares otherwise", () => {
    expect(only({})["x-confined-keys"]).toBe(true);
    const refused = only({ isForConfinedKeys: false });
    expect(refused["x-confined-keys"]).toBe(false);
    expect(refused.description).toContain("may not call it");
  });

  test("query parameters keep their defaults, bounds and whether they are required", () => {
    const page = Type.Integer({ minimum: 1, default: 20, description: "how many" });
    const query = Type.Composite([Query({ page }), Body({ query: Type.String({ minLength: 1 }) })]);
    const parameters = parametersOf(only({ query })).filter((parameter) => parameter.in === "query");
    expect(parameters).toMatchObject([
      { name: "page", required: false, description: "how many", schema: { type: "integer", minimum: 1, default: 20 } },
      { name: "query", required: true, schema: { type: "string", minLength: 1 } },
    ]);
    expect(parameters[1]?.example).toBeString();
  });
});

describe("rate limits", () => {
  test("operations that share a window name each other", () => {
    const search = DECLARED_OPERATIONS.filter(({ path }) => path === "/v1/memories/search");
    const shared = search.map((each) => objectOf(document, each)["x-rate-limit-shared-with"]);
    expect(shared.flat().sort()).toEqual(search.map(({ name }) => name).sort());
    expect(search).toHaveLength(2);
  });

  test("disabled limits are null", () => {
    const off = documentOf(
      DECLARED_OPERATIONS,
      parseRateLimits("off", () => ""),
    );
    const [first] = DECLARED_OPERATIONS;
    if (first === undefined) throw new Error("there are operations");
    expect(objectOf(off, first)["x-rate-limit-per-minute"]).toBeNull();
    expect(objectOf(off, first).description).toContain("Not rate-limited");
  });
});

describe("examples", () => {
  const context = { components: {}, group: "Memories" } as const;

  test("have every required field, and null for a nullable field without a known value", () => {
    const schema = {
      type: "object",
      required: ["unheard_of", "flag", "score"],
      properties: {
        unheard_of: { type: ["string", "null"] },
        flag: { type: "boolean" },
        score: { type: "number" },
        left_out: { type: "string" },
      },
    };
    expect(exampleOf(schema, context)).toEqual({ unheard_of: null, flag: false, score: 0.87 });
  });

  test("use a value by name only if it fits the schema", () => {
    const schema = { type: "object", required: ["tags"], properties: { tags: { type: "integer", minimum: 7 } } };
    expect(exampleOf(schema, context)).toEqual({ tags: 7 });
    const form = { type: "object", required: ["tags"], properties: { tags: { type: "string" } } };
    expect(exampleOf(form, context)).toEqual({ tags: '["house","keys"]' });
  });
});
