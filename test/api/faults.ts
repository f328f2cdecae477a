// What every refusal of the interface looks like: the exact error body, with nothing from inside the server in it.

import { expect } from "bun:test";
import type { Answered } from "../support/service.ts";

const FIELDS = ["code", "message", "status", "param", "request_id", "retry_after_seconds", "items"];
/** Stack frames, SQL, files and the test key: none of them is a caller's business. */
const LEAKS = /\n\s+at |\.ts:\d|\.rs:\d|\/src\/|\/tmp\/|node_modules|\bSELECT\b|\bINSERT\b|\bsqlite|\bduckdb|ctx_test/i;

/** Expects a refusal with this status and code, about this field or parameter where one is to blame. */
export function expectFault(answer: Answered, status: number, code: string, param?: string): void {
  expect({ status: answer.status, code: answer.body?.error?.code, param: answer.body?.error?.param }).toEqual({
    status,
    code,
    param,
  });
  expectErrorBody(answer);
}

/** Expects a body of exactly the interface's error shape, whatever the error. */
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
