// The check that all tests of the API use (test/support/documented-answers.ts) notices each kind of contradiction
// between an answer and the OpenAPI document.

import { describe, expect, test } from "bun:test";
import { expectDocumented, expectDocumentedEvent } from "../support/documented-answers.ts";

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "x-request-id": "an-id",
  "x-ratelimit-limit": "300",
  "x-ratelimit-remaining": "299",
  "x-ratelimit-reset": "1795599000",
};
const USER = {
  id: "ada",
  name: null,
  email: null,
  metadata: {},
  time_zone: null,
  created_at: "2026-11-23T10:00:00.000Z",
};

function answer(status: number, body: unknown, headers: Record<string, string> = {}): () => void {
  const request = { method: "GET", url: "http://mneme.test/v1/users/ada" };
  const sent = { status, headers: new Headers({ ...HEADERS, ...headers }), text: JSON.stringify(body) };
  return () => expectDocumented(request, sent);
}

function error(code: string, status: number): object {
  return { error: { code, message: "…", status, request_id: "an-id" } };
}

describe("an answer", () => {
  test("that is as documented passes", () => {
    expect(answer(200, USER)).not.toThrow();
    expect(answer(404, error("user_not_found", 404))).not.toThrow();
    expect(answer(429, error("rate_limit_exceeded", 429), { "retry-after": "12" })).not.toThrow();
  });

  test("is refused for a field that is undocumented, missing, null, or of another type", () => {
    expect(answer(200, { ...USER, nickname: "a" })).toThrow("nickname");
    expect(answer(200, { ...USER, email: undefined })).toThrow("email");
    expect(answer(200, { ...USER, created_at: null })).toThrow("/created_at must be string");
    expect(answer(200, { ...USER, name: 5 })).toThrow("/name must be string,null");
    expect(answer(200, { ...USER, created_at: "2026-11-23" })).toThrow("/created_at must match");
  });

  test("is refused for a status or code that the operation does not list", () => {
    expect(answer(201, USER)).toThrow("status 201 is not documented");
    expect(answer(404, error("chat_not_found", 404))).toThrow("the code chat_not_found is not documented here");
    expect(answer(404, error("user_not_found", 400))).toThrow("error.status is 400");
  });

  test("is refused for a header that is undocumented, missing, or without sense", () => {
    expect(answer(200, USER, { "x-secret": "1" })).toThrow("the header x-secret is undocumented");
    expect(answer(200, USER, { "x-ratelimit-remaining": "many" })).toThrow("x-ratelimit");
    expect(answer(429, error("rate_limit_exceeded", 429))).toThrow("retry-after");
    expect(answer(200, USER, { "retry-after": "3" })).toThrow("retry-after");
    expect(answer(401, error("invalid_api_key", 401))).toThrow("www-authenticate");
  });
});

test("an event of a stream is refused unless it is documented", () => {
  expect(() => expectDocumentedEvent({ name: "usage", data: { tokens_used: 0 } })).not.toThrow();
  expect(() => expectDocumentedEvent({ name: "usage", data: { tokens: 0 } })).toThrow("usage: ");
  expect(() => expectDocumentedEvent({ name: "text", data: { content: "a", more: 1 } })).toThrow("more");
  expect(() => expectDocumentedEvent({ name: "thinking", data: {} })).toThrow("thinking");
});
