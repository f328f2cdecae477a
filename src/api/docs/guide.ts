// The prose of the reference: what holds for every operation. Tables come from the catalogue and the document; the examples
// are tried in test/api/docs.test.ts.

import { FAULT_CODES, FAULTS } from "../catalogue.ts";
import { planRows, requestBoundRows } from "../limits-table.ts";
import type { OpenApiDocument } from "../openapi-types.ts";
import { type Html, html, prose } from "./html.ts";
import { type PlacedOperation, placedOperations, titleOf } from "./operation.ts";
import { prettyJson } from "./pretty-json.ts";

/** One part of the guide. */
export interface GuideSection {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

/** The filter language by example: what is written, and what it admits. */
export const FILTER_EXAMPLES: readonly (readonly [filter: string, meaning: string])[] = [
  ['{"type": "invoice"}', "the type is `invoice`; on `tags`, a tag is"],
  ['{"type": "invoice", "metadata.year": {"$gte": 2024}}', "both hold; dots descend into metadata"],
  ['{"language": {"$in": ["en", "de"]}}', "one of these; `$nin` for none of them"],
  ['{"created_at": {"$lt": "2026-01-01T00:00:00Z"}}', "before: `$gt` `$gte` `$lt` `$lte`; dates compare as instants"],
  ['{"title": {"$contains": "report"}}', "the text holds it, case and all; on arrays, an item is it"],
  ['{"metadata.due": {"$exists": true}}', "the field is there, even if it is null"],
  ['{"userId": {"$ne": "ada"}}', "anything else, absent included; `$eq` is equality"],
  ['{"$or": [{"tags": "urgent"}, {"$not": {"type": "note"}}]}', "`$and` `$or` `$not` around other filters"],
];

/** Checks that a request came from Mneme; for Node, Bun and Deno. */
export const VERIFICATION_SNIPPET = [
  'import { createHmac, timingSafeEqual } from "node:crypto";',
  "",
  "// body: the bytes as they came, before any JSON is parsed",
  "export function isFromMneme(secret, headers, body) {",
  '  const id = headers["webhook-id"];',
  '  const timestamp = headers["webhook-timestamp"];',
  "  // an old message may be a copy that somebody sends again",
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
  "API=http://127.0.0.1:8383/v1",
  "KEY=ctx_paste-your-key-here",
  "",
  'curl "$API/memories" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  `  -d '{"content": "Ada keeps the spare key under the blue pot.", "userId": "ada"}'`,
  "",
  "# searchable once its status is completed, a moment later",
  'curl "$API/memories/search" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
  `  -d '{"query": "how do I get into the house?", "userId": "ada"}'`,
].join("\n");

const STREAM_EVENTS: readonly (readonly [name: string, data: string, meaning: string])[] = [
  ["text", '{"content": "…"}', "A piece of the answer, as it is made. Many may come."],
  ["sources", "[SearchResult, …]", "The passages it was made from, the cited ones first."],
  ["usage", '{"tokens_used": 412}', "What it cost; 0 where no language model took part."],
  ["done", "{}", "The end."],
  ["error", '{"error": {…}}', "In place of all that was to come: the body of an error answer."],
];

/** The parts of the guide, in reading order. */
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
  return html`<p>A memory is a text that is stored at once and indexed in the background. Search finds passages, query answers
from them, chats answer and remember what was said before.</p>
${code("Shell", FIRST_STEPS)}
<p>Outside of <code>/v1</code> and without a key: <code>GET /health</code> (the process is up), <code>GET /ready</code>
(200 once stores and models answer), <code>GET /metrics</code> (Prometheus), <a href="/openapi.json"><code>GET /openapi.json</code></a>
(this reference for machines).</p>`;
}

function authentication(operations: readonly PlacedOperation[]): Html {
  const byScope = Map.groupBy(operations, ({ operation }) => operation["x-scope"]);
  return html`<p>Send an API key with every request: <code>Authorization: Bearer ctx_…</code>. A missing or wrong one is answered
with 401. A key belongs to a project and sees nothing of any other. It can do what its scopes allow: <code>*</code> stands for
all of them but <code>admin</code>, which spans the deployment. A key can also be confined to one user: then that user is implied
where none is named, and everybody else's things are not there.</p>
<table><caption>Scopes</caption><thead><tr><th scope="col">Scope</th><th scope="col">Operations</th></tr></thead><tbody>
${[...byScope].map(
  ([scope, those]) =>
    html`<tr><th scope="row"><code>${scope}</code></th><td>${those.map(
      ({ operation: { operationId } }) => html`<a href="#${operationId}">${operationId}</a> `,
    )}</td></tr>
`,
)}</tbody></table>`;
}

function conventions(): Html {
  return html`<dl class="terms">
<div><dt>Bodies</dt><dd>JSON. Unknown fields and parameters are refused, never ignored.</dd></div>
<div><dt>Times</dt><dd>ISO 8601 in UTC with milliseconds.</dd></div>
<div><dt>Lists</dt><dd><code>data</code>, <code>has_more</code> and <code>cursor</code>, newest first. Pass the cursor to the next
request with the same parameters; it is <code>null</code> at the end. What is made or deleted meanwhile makes nothing else appear
twice or go missing.</dd></div>
<div><dt>Idempotency-Key</dt><dd>Where an operation heeds it, the same key with the same body within 24 hours gives the first
answer again, with <code>Idempotent-Replayed: true</code>. Another body is a conflict (409). Refused and failed requests are not
remembered.</dd></div>
<div><dt>X-Request-Id</dt><dd>Stands on every answer and in the server's log. Send your own (up to 128 letters, digits and
<code>. _ : -</code>) to keep it.</dd></div>
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
  return html`<p>Every answer from 400 on has this body. <code>code</code> is for programs, <code>message</code> for people;
<code>param</code> names the field, parameter or header at fault.</p>
${code("400 application/json", prettyJson(example))}
<table><caption>Codes</caption><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead><tbody>
${FAULT_CODES.map(
  (each) =>
    html`<tr id="error-${each}"><td><span class="status">${FAULTS[each].status}</span></td><th scope="row"><code>${each}</code></th><td>${prose(FAULTS[each].summary)}</td></tr>
`,
)}</tbody></table>`;
}

function rateLimits(operations: readonly PlacedOperation[]): Html {
  return html`<p>Requests are counted per key and route in a sliding window of 60 seconds. Every admitted request counts, whatever
its answer; a refused one does not. <code>X-RateLimit-Limit</code>, <code>X-RateLimit-Remaining</code> and
<code>X-RateLimit-Reset</code> (Unix time) stand on every answer, <code>Retry-After</code> (seconds) on a 429 that passes by
waiting.</p>
<table><caption>Requests per minute</caption><thead><tr><th scope="col">Route</th><th scope="col">Limit</th></tr></thead><tbody>
${limitRows(operations).map(
  ({ route, perMinute, sharedWith }) =>
    html`<tr><th scope="row"><code>${route}</code></th><td>${perMinute ?? "none"}${sharedWith.map(
      (name) => html`, together with <a href="#${name}">${titleOf(name)}</a>`,
    )}</td></tr>
`,
)}</tbody></table>`;
}

interface LimitRow {
  readonly route: string;
  readonly perMinute: number | null;
  readonly sharedWith: readonly string[];
}

// Routes with a limit of their own, and for each method what all its others have.
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
  return html`<p>Queries and chat messages count as queries, searches do not; the count begins anew on the 1st of each month (UTC).
Memories and storage count what is not deleted. A refused or failed call costs nothing.</p>
<table><caption>Plans</caption><thead><tr><th scope="col">Plan</th><th scope="col">Queries per month</th><th scope="col">Memories</th><th scope="col">Storage</th></tr></thead><tbody>
${planRows().map(
  ([
    name = "",
    ...cells
  ]) => html`<tr><th scope="row"><code>${name}</code></th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
)}</tbody></table>
<table><caption>One request</caption><thead><tr><th scope="col">What</th><th scope="col">At most</th></tr></thead><tbody>
${requestBoundRows().map(
  ([what, atMost]) => html`<tr><th scope="row">${prose(what)}</th><td>${prose(atMost)}</td></tr>
`,
)}</tbody></table>`;
}

function filters(): Html {
  return html`<p><code>filters</code> confine search, query and chat messages to memories with these attributes: <code>type</code>
<code>title</code> <code>tags</code> <code>language</code> <code>source.media_type</code> <code>externalId</code>
<code>created_at</code> <code>updated_at</code> <code>memory_id</code> <code>userId</code> <code>metadata.…</code>. They act
before ranking, so results never fall short because of them. Types must match: <code>1</code> is not <code>"1"</code>.</p>
<table><caption>By example</caption><thead><tr><th scope="col">Filter</th><th scope="col">Admits</th></tr></thead><tbody>
${FILTER_EXAMPLES.map(
  ([filter, meaning]) => html`<tr><th scope="row"><code>${filter}</code></th><td>${prose(meaning)}</td></tr>
`,
)}</tbody></table>`;
}

function events(): Html {
  return html`<p><a href="#queryMemories">Query memories</a> with <code>stream</code> true and
<a href="#streamMessage">Stream message</a> answer with Server-Sent Events, and close the connection at the end. What can be
refused before work begins is an ordinary error answer; comments keep a silent connection open.</p>
<table><caption>Events, in this order</caption><thead><tr><th scope="col">Event</th><th scope="col">Data</th><th scope="col">Meaning</th></tr></thead><tbody>
${STREAM_EVENTS.map(
  ([name, data, meaning]) =>
    html`<tr><th scope="row"><code>${name}</code></th><td><code>${data}</code></td><td>${meaning}</td></tr>
`,
)}</tbody></table>`;
}

function webhookMessages(document: OpenApiDocument): Html {
  const names = Object.keys(document.webhooks);
  return html`<p>A <a href="#createWebhook">webhook</a> is told of ${names.map(
    (name, at) => html`${at === 0 ? "" : at === names.length - 1 ? " and " : ", "}<code>${name}</code>`,
  )}, as <a href="https://www.standardwebhooks.com">Standard Webhooks</a> has it: a POST with
<code>{"type", "timestamp", "data"}</code>, where <code>data</code> is the
<a href="#schema-MemoryWithoutContent">memory without its content</a>, and the headers <code>webhook-id</code> (the same for
every attempt), <code>webhook-timestamp</code> and <code>webhook-signature</code>. Answer with 2xx within 10 seconds; anything else
is tried again after 5 seconds, 5 minutes and 30 minutes. 410 switches the webhook off.</p>
<p>Check the signature before you trust a message:</p>
${code("JavaScript", VERIFICATION_SNIPPET)}`;
}

function code(title: string, text: string): Html {
  return html`<figure class="panel"><figcaption>${title}</figcaption><pre tabindex="0" aria-label="${title}"><code>${text}</code></pre></figure>`;
}
