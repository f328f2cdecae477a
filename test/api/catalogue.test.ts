// The catalogue of errors: which code has which status, and which codes an operation can answer.

import { describe, expect, test } from "bun:test";
import { FAULT_CODES, FAULTS, faultsOf } from "../../src/api/catalogue.ts";
import { errorView, STATUS_OF } from "../../src/api/errors.ts";
import { CreateChat } from "../../src/api/schema/chats.ts";
import { UploadFields } from "../../src/api/schema/memories.ts";
import { Fault, type FaultCode } from "../../src/domain/fault.ts";
import { DECLARED_OPERATIONS } from "../support/declared-operations.ts";
import { CODES } from "./contract.ts";

describe("the catalogue", () => {
  test("has exactly the promised codes, each with its status", () => {
    const byStatus = Map.groupBy([...FAULT_CODES].sort(), (code) => FAULTS[code].status);
    const promised = Object.entries(CODES).map(([status, codes]) => [status, [...codes].sort()]);
    expect(Object.fromEntries(byStatus)).toEqual(Object.fromEntries(promised));
  });

  for (const code of FAULT_CODES) {
    test(`describes ${code} in one or two sentences`, () => {
      expect(FAULTS[code].summary).toMatch(/^[A-Z`].*[\w`]\.$/);
      expect(FAULTS[code].summary.split("`").length % 2).toBe(1);
    });
  }

  test("gives error bodies their status", () => {
    for (const code of FAULT_CODES) {
      expect(STATUS_OF[code]).toBe(FAULTS[code].status);
      expect(errorView(new Fault(code, "No."))).toEqual({ code, message: "No.", status: FAULTS[code].status });
    }
  });
});

describe("what an operation can answer", () => {
  const always: FaultCode[] = [
    "invalid_request",
    "missing_api_key",
    "invalid_api_key",
    "insufficient_scope",
    "rate_limit_exceeded",
    "internal_error",
    "overloaded",
    "unavailable",
  ];
  const bare = { body: null, takesFile: false } as const;

  test("always", () => {
    expect(faultsOf(bare)).toEqual(always);
  });

  test("with a body: too large, and of another type", () => {
    const codes = faultsOf({ ...bare, body: CreateChat });
    expect(codes.filter((code) => !always.includes(code))).toEqual(["payload_too_large", "unsupported_media_type"]);
    expect(faultsOf({ body: UploadFields, takesFile: true })).toEqual(codes);
  });

  test("with an Idempotency-Key: a conflict", () => {
    const codes = faultsOf({ ...bare, isIdempotent: true });
    expect(codes.filter((code) => !always.includes(code))).toEqual(["idempotency_conflict"]);
  });

  test("its own, once each and in the catalogue's order", () => {
    const codes = faultsOf({ ...bare, faults: ["llm_timeout", "memory_not_found", "internal_error", "llm_timeout"] });
    expect(codes.filter((code) => !always.includes(code))).toEqual(["memory_not_found", "llm_timeout"]);
    expect(codes.filter((code) => code === "internal_error")).toHaveLength(1);
  });

  for (const { name, path, faults = [] } of DECLARED_OPERATIONS) {
    test(`${name} declares only its own errors, and none of routing`, () => {
      expect(faults.filter((code) => always.includes(code))).toEqual([]);
      expect(faults).not.toContain("not_found");
      expect(faults).not.toContain("method_not_allowed");
      if (path.includes(":")) expect(faults.some((code) => code.endsWith("_not_found"))).toBe(name !== "createEvent");
    });
  }
});
