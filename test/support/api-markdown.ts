// Renders docs/api.md: operations, errors and limits as Markdown tables, each from its definition in the code.

import { RATE_LIMITS, RateBuckets } from "../../src/account/rate-limits.ts";
import { FAULT_CODES, FAULTS } from "../../src/api/catalogue.ts";
import { planRows, requestBoundRows } from "../../src/api/limits-table.ts";
import { openApiPath, rateLimitOf } from "../../src/api/openapi.ts";
import { GROUPS, type Operation } from "../../src/api/operation.ts";

/** The whole page. */
export function apiMarkdown(operations: readonly Operation[]): string {
  return `# HTTP API

All operations, errors and limits. A running server shows every field with examples at \`/docs\`, and as OpenAPI 3.1 at
\`/openapi.json\`. This page is generated from the code: \`UPDATE_DOCS=1 npx -y bun test test/api/markdown.test.ts\`.

## Operations

All paths but \`/mcp\` are below \`/v1\`. All take \`Authorization: Bearer ctx_…\`. Limits are requests per minute and
key.

${operationsMarkdown(operations)}

## Errors

\`{"error": {"code", "message", "status", "param"?, "request_id", "retry_after_seconds"?, "items"?}}\`

${errorsMarkdown()}

## Limits

${limitsMarkdown()}
`;
}

/** One table per group: method and path, summary, scope and rate limit. */
export function operationsMarkdown(operations: readonly Operation[]): string {
  const buckets = new RateBuckets(RATE_LIMITS, operations);
  return Object.keys(GROUPS)
    .map((group) => {
      const rows = operations
        .filter((operation) => operation.group === group)
        .map((operation) => [
          `\`${operation.method} ${openApiPath(operation.path)}\``,
          operation.summary,
          `\`${operation.scope}\``,
          String(rateLimitOf(operation, operations, buckets).perMinute ?? "–"),
        ]);
      return rows.length === 0
        ? null
        : `### ${group}\n\n${table(["Operation", "What it does", "Scope", "Limit"], rows)}`;
    })
    .filter((section) => section !== null)
    .join("\n\n");
}

/** The error catalogue: code, status, meaning. */
export function errorsMarkdown(): string {
  const rows = FAULT_CODES.map((code) => [String(FAULTS[code].status), `\`${code}\``, FAULTS[code].summary]);
  return table(["Status", "`error.code`", "Meaning"], rows);
}

/** Three tables: default rate limits, plans, and limits of requests. */
export function limitsMarkdown(): string {
  const rates = [...RATE_LIMITS].map(([route, limit]) => [routeName(route), String(limit)]);
  return [
    table(["Route", "Requests per minute and key"], rates),
    table(["Plan", "Queries per month", "Memories", "Storage"], planRows()),
    table(["Of a request", "At most"], requestBoundRows()),
  ].join("\n\n");
}

// In rate limits, `POST *` stands for all other routes with method POST, and `* *` for methods that no route has.
function routeName(entry: string): string {
  if (entry === "* *") return "other methods";
  return entry.endsWith(" *") ? `any other \`${entry.slice(0, -2)}\`` : `\`${entry}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}
