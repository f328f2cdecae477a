// Makes the reference at `/docs`: one page with a guide, and after it what the OpenAPI document contains. src/api/docs/
// renders the parts of the page.

import { createHash } from "node:crypto";
import { fieldTable, typeName } from "./docs/fields.ts";
import { guideSections } from "./docs/guide.ts";
import { Html, html } from "./docs/html.ts";
import { methodMark, operationSection, placedOperations, titleOf } from "./docs/operation.ts";
import { SCRIPT } from "./docs/script.ts";
import { STYLE } from "./docs/style.ts";
import type { OpenApiDocument } from "./openapi-types.ts";

/** A file of the console's font. */
export interface DocsFont {
  readonly weight: string;
  /** Address, relative to the page. */
  readonly address: string;
}

/**
 * Content-Security-Policy of the page. It allows the page's own style and script by their hashes, fonts and requests
 * only from and to its own server, and images only within the page. @param fonts those that the page was made with
 */
export function docsPolicy(fonts: readonly DocsFont[]): string {
  return [
    "default-src 'none'",
    `style-src '${hashOf(styleWith(fonts))}'`,
    `script-src '${hashOf(SCRIPT)}'`,
    ...(fonts.length > 0 ? ["font-src 'self'"] : []),
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function styleWith(fonts: readonly DocsFont[]): string {
  const faces = fonts.map(
    ({ weight, address }) =>
      `@font-face { font-family: "Mneme Sans"; font-weight: ${weight}; font-display: swap; src: url("${address}") format("woff2"); }\n`,
  );
  return faces.join("") + STYLE;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='7' fill='%230b6b69'/%3E%3Ccircle cx='8' cy='8' r='2.5' fill='white'/%3E%3C/svg%3E";

// The logo of the console.
const MARK = new Html(
  '<svg width="26" height="26" viewBox="0 0 32 32" fill="none" aria-hidden="true"><path d="M7 24V9l9 9 9-9v15" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" opacity="0.55"></path><g fill="currentColor"><circle cx="7" cy="24" r="2.6"></circle><circle cx="7" cy="9" r="3.2"></circle><circle cx="16" cy="18" r="3.8"></circle><circle cx="25" cy="9" r="3.2"></circle><circle cx="25" cy="24" r="2.6"></circle></g></svg>',
);

/**
 * Renders the page as HTML (`text/html; charset=utf-8`); serve it with `docsPolicy` of the same fonts. Without fonts it
 * loads nothing, and has a font of the reader's system.
 */
export function docsPage(document: OpenApiDocument, fonts: readonly DocsFont[] = []): string {
  const { info } = document;
  const guide = guideSections(document);
  const contents = navigation(document);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API reference</title>
<meta name="description" content="${info.summary}">
<link rel="icon" href="${ICON}">
<style>${new Html(styleWith(fonts))}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<aside><p class="brand">${MARK}${info.title} <small>API ${info.version}</small></p><p class="home"><a href="./">Console</a><a href="docs/guide/">Guide</a></p><nav aria-label="Contents">${contents}</nav></aside>
<details class="menu"><summary><span class="brand">${MARK}${info.title} <small>API ${info.version}</small></span><span>Contents</span></summary><nav aria-label="Contents">${contents}</nav></details>
<main id="content">
<h1>API reference</h1>
<p class="lead">${info.summary}. Paths are relative to the address of your server.</p>
<p class="home narrow"><a href="./">Console</a><a href="docs/guide/">Guide</a></p>
${guide.map(
  ({ id, title, body }) => html`<section class="guide" id="${id}"><h2>${title}</h2>
${body}</section>
`,
)}
${document.tags.map(({ name, description }) => groupSection(name, description, document))}
${objectSections(document)}
</main>
<script>${new Html(SCRIPT)}</script>
</body>
</html>
`;
  return page.text;
}

function navigation(document: OpenApiDocument): Html {
  const guide = guideSections(document).map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  return html`<h2>Guide</h2><ul>${guide}</ul>
${document.tags.map(
  ({ name }) =>
    html`<h2>${name}</h2><ul>${operationsOf(name, document).map(
      ({ method, operation: { operationId } }) =>
        html`<li><a href="#${operationId}">${methodMark(method)}${titleOf(operationId)}</a></li>
`,
    )}</ul>`,
)}
<h2>Objects</h2><ul>${Object.keys(document.components.schemas).map(
    (name) => html`<li><a href="#schema-${name}">${name}</a></li>
`,
  )}</ul>`;
}

function groupSection(name: string, description: string, document: OpenApiDocument): Html {
  return html`<section class="group" id="group-${name}"><div class="group-head"><h2>${name}</h2><p>${description}</p></div>
${operationsOf(name, document).map((placed) => operationSection(placed, document))}</section>
`;
}

function objectSections(document: OpenApiDocument): Html {
  const sections = Object.entries(document.components.schemas).map(
    ([name, schema]) => html`<section class="object" id="schema-${name}"><h3>${name}</h3>
${fieldTable(schema, "Fields", true) ?? html`<p>${typeName(schema)}</p>`}</section>
`,
  );
  return html`<section class="group" id="objects"><div class="group-head"><h2>Objects</h2>
<p>The objects in requests and answers.</p></div>
${sections}</section>`;
}

function operationsOf(group: string, document: OpenApiDocument) {
  return placedOperations(document).filter(({ operation }) => operation.tags[0] === group);
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
