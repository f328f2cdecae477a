// Routes for clients of OpenAI answer every error in OpenAI's form: also those before an operation runs. All other
// routes keep Mneme's form.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FAULT_CODES, FAULTS } from "../../src/api/catalogue.ts";
import { errorTypeOf, openAiError } from "../../src/api/openai/errors.ts";
import { Fault } from "../../src/domain/fault.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";
import { expectFault, expectOpenAiError } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ waitsForModels: false });
});
afterAll(() => mneme.stop());

const PATHS = ["/v1/models", "/v1/models/mneme", "/v1/models/mneme%2Ffast", "/v1/models/mneme/fast"];
const send = (method: string, path: string, authorization: string | null, body: string | null = null) =>
  mneme.send(
    new Request(`http://mneme.test${path}`, {
      method,
      headers: { "content-type": "application/json", ...(authorization !== null && { authorization }) },
      body,
    }),
  );

describe("errors in OpenAI's form", () => {
  test("without a key, and with a wrong one", async () => {
    for (const path of [...PATHS, "/v1/chat/completions"]) {
      const missing = await send("GET", path, null);
      expectOpenAiError(missing, 401, "missing_api_key");
      expect(missing.headers.get("www-authenticate")).toBe("Bearer");
    }
    expectOpenAiError(await send("POST", "/v1/chat/completions", "Bearer sk-1", "{}"), 401, "invalid_api_key");
  });

  test("for methods that the path does not have", async () => {
    const refused = await send("DELETE", "/v1/chat/completions", `Bearer ${TEST_KEY}`);
    expectOpenAiError(refused, 405, "method_not_allowed");
    expect(refused.headers.get("allow")).toBe("POST");
    expectOpenAiError(await send("POST", "/v1/models/mneme", `Bearer ${TEST_KEY}`, "{}"), 405, "method_not_allowed");
  });

  test("for bodies that are no JSON, and fields that are missing or unknown", async () => {
    const post = (body: unknown) => mneme.call("POST", "/v1/chat/completions", body);
    expectOpenAiError(await post("{"), 400, "invalid_request");
    expectOpenAiError(await post({}), 400, "invalid_request", "model");
    expectOpenAiError(await post({ model: "mneme" }), 400, "invalid_request", "messages");
    expectOpenAiError(await post({ model: "mneme", messages: [], user_id: "a" }), 400, "invalid_request", "user_id");
    expectOpenAiError(await post({ model: "gpt-4o", messages: [] }), 404, "model_not_found", "model");
    const deep = `{"model":"mneme","messages":[],"metadata":{"filters":${JSON.stringify("[".repeat(8_000))}}}`;
    expectOpenAiError(await post(deep), 400, "invalid_request", "messages");
    const nested = "[".repeat(4_000) + "]".repeat(4_000);
    const body = { model: "mneme", messages: [{ role: "user", content: "x" }], metadata: { filters: nested } };
    expectOpenAiError(await post(body), 400, "invalid_request", "metadata.filters");
  });
});

describe("the body of an error", () => {
  test("has OpenAI's four fields, and the seconds to wait if they are known", () => {
    const fault = new Fault("overloaded", "Busy.", { retryAfterSeconds: 2 });
    expect(openAiError(fault)).toEqual({
      error: { message: "Busy.", type: "server_error", param: null, code: "overloaded", retry_after_seconds: 2 },
    });
    expect(openAiError(new Fault("invalid_request", "No.", { param: "n" }))).toEqual({
      error: { message: "No.", type: "invalid_request_error", param: "n", code: "invalid_request" },
    });
  });

  test("has a type for each code, by its status", () => {
    const typeOf = (status: number) => (status >= 500 ? "server_error" : "invalid_request_error");
    for (const code of FAULT_CODES) {
      const { status } = FAULTS[code];
      if (status === 429) continue;
      expect([code, errorTypeOf(code)]).toEqual([code, typeOf(status)]);
    }
    expect(errorTypeOf("rate_limit_exceeded")).toBe("rate_limit_error");
    for (const code of ["query_quota_exceeded", "document_quota_exceeded", "storage_quota_exceeded"] as const) {
      expect(errorTypeOf(code)).toBe("insufficient_quota");
    }
  });
});

describe("errors in Mneme's form", () => {
  test("for routes beside them", async () => {
    for (const path of ["/v1/models/a/b/c", "/v1/chat", "/v1/chat/completions/x", "/v1/completions", "/v1/modelsx"]) {
      expectFault(await send("GET", path, `Bearer ${TEST_KEY}`), 404, "not_found");
    }
  });
});
