// Expectations for errors: the exact error body, without anything internal of the server.

import { expect } from "bun:test";
import type { Answered } from "../support/service.ts";

const FIELDS = ["code", "message", "status", "param", "request_id", "retry_after_seconds", "items"];
/** Stack frames, SQL, file paths and the test key must not appear in errors. */
const LEAKS = /\n\s+at |\.ts:\d|\.rs:\d|\/src\/|\/tmp\/|node_modules|\bSELECT\b|\bINSERT\b|\bsqlite|\bduckdb|ctx_test/i;

/** Expects an error with this status and code, and with this `param` if one is given. */
export function expectFault(answer: Answered, status: number, code: string, param?: string): void {
  expect({ status: answer.status, code: answer.body?.error?.code, param: answer.body?.error?.param }).toEqual({
    status,
    code,
    param,
  });
  expectErrorBody(answer);
}

/** Expects an error in OpenAI's form with this status and code, and with this `param` if one is given. */
export function expectOpenAiError(answer: Answered, status: number, code: string, param: string | null = null): void {
  const { error } = answer.body ?? {};
  expect({ status: answer.status, code: error?.code, param: error?.param }).toEqual({ status, code, param });
  expectOpenAiErrorBody(answer);
}

/** Expects an error with this status and code, in the form of the route at `path`, such as `/v1/models`. */
export function expectFaultOf(path: string, answer: Answered, status: number, code: string): void {
  const isOpenAi = /^\/v1\/(models|chat\/completions|embeddings)(\/|$)/.test(path);
  (isOpenAi ? expectOpenAiError : expectFault)(answer, status, code);
}

/** Expects exactly the shape of an error body in OpenAI's form. */
export function expectOpenAiErrorBody(answer: Answered): void {
  expect(Object.keys(answer.body)).toEqual(["error"]);
  const { error } = answer.body;
  const fields = ["message", "type", "param", "code"];
  expect(Object.keys(error).filter((name) => name !== "retry_after_seconds")).toEqual(fields);
  expect(error.message).toBeString();
  expect(error.message.length).toBeGreaterThan(0);
  expect(["invalid_request_error", "rate_limit_error", "insufficient_quota", "server_error"]).toContain(error.type);
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(JSON.stringify(answer.body)).not.toMatch(LEAKS);
}

/** Expects exactly the shape of an error body. */
export function expectErrorBody(answer: Answered): void {
  expect(Object.keys(answer.body)).toEqual(["error"]);
  const { error } = answer.body;
  expect(Object.keys(error).filter((name) => !FIELDS.includes(name))).toEqual([]);
  expect(error.message).toBeString();
  expect(error.message.length).toBeGreaterThan(0);
  expect(error.status).toBe(answer.status);
  expect(error.request_id).toBe(answer.headers.get("x-request-id"));
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(JSON.stringify(answer.body)).not.toMatch(LEAKS);
}
