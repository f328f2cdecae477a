// What a request for a file asks: ranges, and entity tags.

import { expect, test } from "bun:test";
import { askedOf } from "../../src/api/ranges.ts";

const ETAG = '"4f1c"';
const asked = (headers: Record<string, string>, bytes = 100, method = "GET") =>
  askedOf({ method, headers: new Headers(headers) }, { bytes, etag: ETAG });

test.each([
  ["bytes=0-0", { start: 0, end: 1 }],
  ["bytes=0-99", { start: 0, end: 100 }],
  ["bytes=10-19", { start: 10, end: 20 }],
  ["bytes=99-", { start: 99, end: 100 }],
  ["bytes=0-", { start: 0, end: 100 }],
  ["bytes=90-100", { start: 90, end: 100 }],
  ["bytes=90-9999999999999999999999", { start: 90, end: 100 }],
  ["bytes=-1", { start: 99, end: 100 }],
  ["bytes=-100", { start: 0, end: 100 }],
  ["bytes=-101", { start: 0, end: 100 }],
  ["BYTES = 5 - 6", { start: 5, end: 7 }],
  ["bytes=100-", "unsatisfiable"],
  ["bytes=100-200", "unsatisfiable"],
  ["bytes=99999999999999999999999-", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=20-10", "whole"],
  ["bytes=0-1,5-6", "whole"],
  ["bytes=0-1, 200-", "whole"],
  ["bytes=-", "whole"],
  ["bytes=", "whole"],
  [`bytes=${" ".repeat(45)}1-2${" ".repeat(46)}`, { start: 1, end: 3 }],
  [`bytes=${" ".repeat(5_000)}-${" ".repeat(5_000)}x`, "whole"],
  ["bytes", "whole"],
  ["bytes=a-b", "whole"],
  ["bytes=1.5-2", "whole"],
  ["bytes=--5", "whole"],
  ["bytes=+1-2", "whole"],
  ["items=0-1", "whole"],
  ["", "whole"],
] as const)("Range: %s", (range, what) => {
  expect(asked({ range })).toEqual(what);
  expect(asked({ range }, 100, "HEAD")).toBe("whole");
});

test("no range of an empty file can be satisfied", () => {
  for (const range of ["bytes=0-", "bytes=-1", "bytes=0-0"]) expect(asked({ range }, 0)).toBe("unsatisfiable");
  expect(asked({}, 0)).toBe("whole");
});

test.each([
  [ETAG, true],
  [`W/${ETAG}`, true],
  ["*", true],
  [" * ", true],
  [`"other", ${ETAG}`, true],
  [`W/"a,b",W/${ETAG}`, true],
  ['"other"', false],
  ["4f1c", false],
  ['"*"', false],
  ["", false],
])("If-None-Match: %s", (noneMatch, isSame) => {
  for (const method of ["GET", "HEAD"]) {
    expect(asked({ "if-none-match": noneMatch }, 100, method)).toBe(isSame ? "not modified" : "whole");
  }
  // it is evaluated before the range, even before one that cannot be satisfied
  const both = asked({ "if-none-match": noneMatch, range: "bytes=500-" });
  expect(both).toBe(isSame ? "not modified" : "unsatisfiable");
});

test.each([
  [ETAG, true],
  [` ${ETAG} `, true],
  [`W/${ETAG}`, false],
  ['"other"', false],
  ["*", false],
  ["Sun, 29 Nov 2026 10:00:00 GMT", false],
])("If-Range: %s", (ifRange, holds) => {
  expect(asked({ "if-range": ifRange, range: "bytes=1-2" })).toEqual(holds ? { start: 1, end: 3 } : "whole");
  expect(asked({ "if-range": ifRange, range: "bytes=500-" })).toBe(holds ? "unsatisfiable" : "whole");
  expect(asked({ "if-range": ifRange })).toBe("whole");
});
