// The guide at the start of the reference: everything that applies to all operations. Tables come from the catalogue
// and the OpenAPI document; test/api/docs.test.ts runs the examples.

import { FILTERABLE_NAMES } from "../../domain/filter.ts";
import { LIMITS } from "../../domain/limits.ts";
import { FAULT_CODES, FAULTS } from "../catalogue.ts";
import { planRows, requestBoundRows } from "../limits-table.ts";
import type { OpenApiDocument } from "../openapi-types.ts";
import { type Html, html, prose } from "./html.ts";
import { type PlacedOperation, placedOperations, titleOf } from "./operation.ts";
import { prettyJson } from "./pretty-json.ts";
import { EXAMPLE_ADDRESS } from "./script.ts";

/** One section of the guide. */
export interface GuideSection {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

/** Examples of filters, and the memories that each admits. */
export const FILTER_EXAMPLES: readonly (readonly [filter: string, meaning: string])[] = [
  ['{"type": "invoice"}', "the type is `invoice`; with `tags`: one of the tags is"],
  ['{"type": "invoice", "metadata.year": {"$gte": 2024}}', "both conditions hold; dots lead into nested metadata"],
  ['{"language": {"$in": ["en", "de"]}}', "one of these values; `$nin`: none of them"],
  [
    '{"created_at": {"$lt": "2026-01-01T00:00:00Z"}}',
    "before this time; also `$gt` `$gte` `$lte`; dates compare as instants",
  ],
  ['{"title": {"$contains": "report"}}', "the text contains this, case-sensitive; on arrays: one item equals it"],
  ['{"metadata.due": {"$exists": true}}', "the field is present, even if it is null"],
  ['{"userId": {"$ne": "ada"}}', "any other value, or none; `$eq` is equality"],
  ['{"$or": [{"tags": "urgent"}, {"$not": {"type": "note"}}]}', "`$and` `$or` `$not` combine other filters"],
];

/** Example code that checks the signature of a webhook request; for Node, Bun and Deno. */
export const VERIFICATION_SNIPPET = [
  'import { createHmac, timingSafeEqual } from "node:crypto";',
  "",
  "// body: the raw bytes of the request, before JSON is parsed",
  "export function isFromMneme(secret, headers, body) {",
  '  const id = headers["webhook-id"];',
  '  const timestamp = headers["webhook-timestamp"];',
  "  // an old message may be a replay",
  "  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false;",
  '  const key = Buffer.from(secret.slice("whsec_".length), "base64");',
  '  const expected = createHmac("sha256", key).update(id + "." + timestamp + ".").update(body).digest();',
  '  return headers["webhook-signature"].split(" ").some((signature) => {',
  '    const given = Buffer.from(signature.slice("v1,".length), "base64");',
  "    return given.length === expected.length && timingSafeEqual(given, expected);",
  "  });",
  "}",
].join("\n");

const FIRST_STEPS = [
  `API=${EXAMPLE_ADDRESS}/v1`,
  "KEY=ctx_paste-your-key-here",
  "",
  'curl "$API/memories" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  `  -d '{"content": "Ada keeps the spare key under the blue pot.", "userId": "ada"}'`,
  "",
  "# the memory is searchable when its status is completed, after a moment",
  'curl "$API/memories/search" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  `  -d '{"query": "how do I get into the house?", "userId": "ada"}'`,
].join("\n");

const STREAM_EVENTS: readonly (readonly [name: string, data: string, meaning: string])[] = [
  ["text", '{"content": "…"}', "A piece of the answer, as it is written. There can be many."],
  ["sources", "[SearchResult, …]", "The passages behind the answer, cited ones first."],
  [
    "usage",
    '{"tokens_used": 412, "answer_state": "answered", "evidence": 0.93}',
    "Tokens of the language model, 0 if none was used, and the state of the answer. In queries also the `evidence`.",
  ],
  ["done", "{}", "The answer is complete."],
  ["error", '{"error": {…}}', "Instead of the remaining events: the body of an error answer."],
];

/** The sections of the guide, in reading order. */
export function guideSections(document: OpenApiDocument): readonly GuideSection[] {
  const operations = placedOperations(document);
  return [
    { id: "start", title: "First steps", body: firstSteps() },
    { id: "authentication", title: "Authentication", body: authentication(operations) },
    { id: "conventions", title: "Conventions", body: conventions() },
    { id: "errors", title: "Errors", body: errors() },
    { id: "rate-limits", title: "Rate limits", body: rateLimits(operations) },
    { id: "limits", title: "Limits", body: limits() },
    { id: "filters", title: "Filters", body: filters() },
    { id: "events", title: "Streamed answers", body: events() },
    { id: "webhook-messages", title: "Webhook messages", body: webhookMessages(document) },
  ];
}

function firstSteps(): Html {
  return html`<p>A memory is a text. It is stored at once and indexed in the background. Search finds passages, query answers a
question from them, and a chat also takes its earlier messages into account.</p>
${code("Shell", FIRST_STEPS)}
<p>These pages are outside of <code>/v1</code> and need no key: <code>GET /health</code> (the process is running),
<code>GET /ready</code> (200 when stores and models are available), <code>GET /metrics</code> (for Prometheus) and
<a href="/openapi.json"><code>GET /openapi.json</code></a> (this reference as OpenAPI 3.1).</p>`;
}

function authentication(operations: readonly PlacedOperation[]): Html {
  const byScope = Map.groupBy(operations, ({ operation }) => operation["x-scope"]);
  return html`<p>Send an API key with every request: <code>Authorization: Bearer ctx_…</code>. A missing or invalid key is answered
with 401. A key belongs to one project and cannot see any other. Its scopes say what it may do: <code>*</code> includes all scopes
except <code>admin</code>, which covers the whole deployment. A key can also be confined to one user. Requests with such a key
always concern that user, and the data of other users is invisible to it.</p>
<table><caption>Scopes</caption><thead><tr><th scope="col">Scope</th><th scope="col">Operations</th></tr></thead><tbody>
${[...byScope].map(
  ([scope, those]) =>
    html`<tr><th scope="row">${scope === null ? "any" : html`<code>${scope}</code>`}</th><td>${those.map(
      ({ operation: { operationId } }) => html`<a href="#${operationId}">${operationId}</a> `,
    )}</td></tr>
`,
)}</tbody></table>`;
}

function conventions(): Html {
  return html`<dl class="terms">
<div><dt>Bodies</dt><dd>JSON. Unknown fields and parameters are errors; they are never ignored.</dd></div>
<div><dt>Times</dt><dd>ISO 8601 in UTC with milliseconds.</dd></div>
<div><dt>Lists</dt><dd><code>data</code>, <code>has_more</code> and <code>cursor</code>, newest first. Pass the cursor to the next
request with the same parameters; it is <code>null</code> on the last page. If items are created or deleted meanwhile, no other item
appears twice or is skipped.</dd></div>
<div><dt>Idempotency-Key</dt><dd>Some operations support it. A second request with the same key and body within 24 hours gets the
first answer again, with the header <code>Idempotent-Replayed: true</code>. The same key with another body is a conflict (409).
Refused and failed requests are not remembered.</dd></div>
<div><dt>X-Request-Id</dt><dd>A header of every answer; the server's log contains it too. You can send your own id (up to
${LIMITS.requestIdCharacters} letters, digits and <code>. _ : -</code>).</dd></div>
</dl>`;
}

function errors(): Html {
  const example = {
    error: {
      code: "invalid_request",
      message: "Unknown field 'user_id'. Did you mean 'userId'?",
      status: 400,
      param: "user_id",
      request_id: "4f1c9a70-6f0e-4b8e-9d5d-2f6f3c1b7a42",
    },
  };
  return html`<p>Every answer with a status of 400 or higher has this body. <code>code</code> is for programs, <code>message</code> for people.
<code>param</code> names the field, parameter or header that is wrong. Operations of the group OpenAI have the same codes, in a
body of OpenAI's form.</p>
${code("400 application/json", prettyJson(example))}
<table><caption>Codes</caption><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead><tbody>
${FAULT_CODES.map(
  (each) =>
    html`<tr id="error-${each}"><td><span class="status">${FAULTS[each].status}</span></td><th scope="row"><code>${each}</code></th><td>${prose(FAULTS[each].summary)}</td></tr>
`,
)}</tbody></table>`;
}

function rateLimits(operations: readonly PlacedOperation[]): Html {
  return html`<p>Requests are counted per key and route in a sliding window of 60 seconds. Every request within the limit counts,
whatever its answer; refused requests do not. Every answer has the headers <code>X-RateLimit-Limit</code>,
<code>X-RateLimit-Remaining</code> and <code>X-RateLimit-Reset</code> (Unix time). A 429 that ends by waiting also has
<code>Retry-After</code> (seconds).</p>
<table><caption>Requests per minute</caption><thead><tr><th scope="col">Route</th><th scope="col">Limit</th></tr></thead><tbody>
${limitRows(operations).map(
  ({ route, perMinute, sharedWith }) =>
    html`<tr><th scope="row"><code>${route}</code></th><td>${perMinute ?? "none"}${sharedWith.map(
      (name) => html`, shared with <a href="#${name}">${titleOf(name)}</a>`,
    )}</td></tr>
`,
)}</tbody></table>`;
}

interface LimitRow {
  readonly route: string;
  readonly perMinute: number | null;
  readonly sharedWith: readonly string[];
}

// Rows of the rate limits, by method: first the routes whose limit is not the method's most frequent one, then one row
// for all other routes.
function limitRows(operations: readonly PlacedOperation[]): readonly LimitRow[] {
  const rows = operations.map(({ method, path, operation }) => ({
    method,
    route: `${method} ${path}`,
    perMinute: operation["x-rate-limit-per-minute"],
    sharedWith: operation["x-rate-limit-shared-with"],
  }));
  return [...Map.groupBy(rows, ({ method }) => method)].flatMap(([method, those]) => {
    const byLimit = [...Map.groupBy(those, ({ perMinute }) => perMinute)];
    const [usual = null] = byLimit.sort(([, left], [, right]) => right.length - left.length)[0] ?? [];
    const others = those.filter(({ perMinute }) => perMinute !== usual);
    const rest = others.length === 0 ? `${method} …` : `${method} …, any other`;
    return [...others, { route: rest, perMinute: usual, sharedWith: [] }];
  });
}

function limits(): Html {
  return html`<p>Queries and chat messages count as queries, searches do not. The count resets on the 1st of each month (UTC).
Deleted memories do not count towards memories and storage. Refused and failed requests do not count at all.</p>
<table><caption>Plans</caption><thead><tr><th scope="col">Plan</th><th scope="col">Queries per month</th><th scope="col">Memories</th><th scope="col">Storage</th></tr></thead><tbody>
${planRows().map(
  ([
    name = "",
    ...cells
  ]) => html`<tr><th scope="row"><code>${name}</code></th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
)}</tbody></table>
<table><caption>One request</caption><thead><tr><th scope="col">Item</th><th scope="col">Maximum</th></tr></thead><tbody>
${requestBoundRows().map(
  ([what, atMost]) => html`<tr><th scope="row">${prose(what)}</th><td>${prose(atMost)}</td></tr>
`,
)}</tbody></table>`;
}

function filters(): Html {
  return html`<p><code>filters</code> limit search, query and chat messages to memories with certain attributes: 
${FILTERABLE_NAMES.map((name) => html`<code>${name}</code> `)} <code>metadata.…</code>. A memory without <code>occurred_at</code> counts as having none: <code>created_at</code> does not
stand in for it. Filters apply
before ranking, so they never reduce the number of results below <code>limit</code> while enough memories match. Types must match:
<code>1</code> is not <code>"1"</code>.</p>
<table><caption>Examples</caption><thead><tr><th scope="col">Filter</th><th scope="col">Admits</th></tr></thead><tbody>
${FILTER_EXAMPLES.map(
  ([filter, meaning]) => html`<tr><th scope="row"><code>${filter}</code></th><td>${prose(meaning)}</td></tr>
`,
)}</tbody></table>`;
}

function events(): Html {
  return html`<p><a href="#queryMemories">Query memories</a> with <code>stream</code> true and
<a href="#streamMessage">Stream message</a> answer with Server-Sent Events and close the connection at the end. An error
before the first event is an ordinary error answer. Comments keep a silent connection open.
<a href="#createChatCompletion">Create chat completion</a> answers in OpenAI's form instead: without event names, with a
ChatCompletionChunk as each <code>data</code>, and <code>[DONE]</code> as the last.</p>
<table><caption>Events, in this order</caption><thead><tr><th scope="col">Event</th><th scope="col">Data</th><th scope="col">Meaning</th></tr></thead><tbody>
${STREAM_EVENTS.map(
  ([name, data, meaning]) =>
    html`<tr><th scope="row"><code>${name}</code></th><td><code>${data}</code></td><td>${meaning}</td></tr>
`,
)}</tbody></table>`;
}

function webhookMessages(document: OpenApiDocument): Html {
  const names = Object.keys(document.webhooks);
  return html`<p>A <a href="#createWebhook">webhook</a> can receive the events ${names.map(
    (name, at) => html`${at === 0 ? "" : at === names.length - 1 ? " and " : ", "}<code>${name}</code>`,
  )}. Requests follow <a href="https://www.standardwebhooks.com">Standard Webhooks</a>: a POST with
<code>{"type", "timestamp", "data"}</code>, where <code>data</code> is the
<a href="#schema-MemoryWithoutContent">memory without its content</a>. The headers are <code>webhook-id</code> (the same for
every attempt), <code>webhook-timestamp</code> and <code>webhook-signature</code>. Answer with 2xx within 10 seconds. After any other
answer the event is sent again, after 5 seconds, 5 minutes and 30 minutes. The answer 410 disables the webhook.</p>
<p>Check the signature before you trust a message:</p>
${code("JavaScript", VERIFICATION_SNIPPET)}`;
}

function code(title: string, text: string): Html {
  return html`<figure class="panel"><figcaption>${title}</figcaption><pre tabindex="0" aria-label="${title}"><code>${text}</code></pre></figure>`;
}
