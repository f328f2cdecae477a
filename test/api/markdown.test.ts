// docs/api.md matches the code. UPDATE_DOCS=1 regenerates it.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { RATE_LIMITS } from "../../src/account/rate-limits.ts";
import { FAULT_CODES } from "../../src/api/catalogue.ts";
import { apiMarkdown, errorsMarkdown, limitsMarkdown, operationsMarkdown } from "../support/api-markdown.ts";
import { DECLARED_OPERATIONS } from "../support/declared-operations.ts";
import { ROOT } from "../support/sources.ts";

const PAGE = join(ROOT, "docs/api.md");

describe("the tables", () => {
  test("have a row for each operation, error and rate limit", () => {
    const operations = operationsMarkdown(DECLARED_OPERATIONS);
    for (const { summary } of DECLARED_OPERATIONS) expect(operations).toContain(` | ${summary} | `);
    expect(operations).toContain("| `GET /memories/{id}` |");
    const errors = errorsMarkdown();
    for (const code of FAULT_CODES) expect(errors).toContain(`| \`${code}\` |`);
    const limits = limitsMarkdown();
    for (const name of RATE_LIMITS.keys()) if (!name.includes("*")) expect(limits).toContain(`| \`${name}\` |`);
  });

  test("format sizes and counts", () => {
    const limits = limitsMarkdown();
    for (const row of [
      "| `POST /memories/query` | 30 |",
      "| any other `GET` | 300 |",
      "| free | 100 | 10 | 50 MB |",
      "| pro | 50,000 | 5,000 | 5 GB |",
      "| enterprise | unlimited | unlimited | unlimited |",
      "| uploaded file | 100 MB |",
      "| `metadata` as JSON | 10 KB |",
      "| messages per page | 200 (50 without `limit`) |",
    ]) {
      expect(limits).toContain(row);
    }
  });

  test("keep their columns, whatever a summary contains", () => {
    const [first] = DECLARED_OPERATIONS;
    if (first === undefined) throw new Error("there are operations");
    expect(operationsMarkdown([{ ...first, summary: "This | that." }])).toContain("| This \\| that. |");
  });
});

test("docs/api.md matches the code; UPDATE_DOCS=1 regenerates it", () => {
  const expected = apiMarkdown(DECLARED_OPERATIONS);
  if (process.env.UPDATE_DOCS === "1") {
    mkdirSync(dirname(PAGE), { recursive: true });
    writeFileSync(PAGE, expected);
  }
  expect(readFileSync(PAGE, "utf8")).toBe(expected);
});
