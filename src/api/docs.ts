// Makes the reference at `/docs`: one self-contained page from the OpenAPI document, with a guide in front. docs/
// renders the parts of the page.

import { createHash } from "node:crypto";
import { fieldTable, typeName } from "./docs/fields.ts";
import { guideSections } from "./docs/guide.ts";
import { Html, html } from "./docs/html.ts";
import { methodMark, operationSection, placedOperations, titleOf } from "./docs/operation.ts";
import { SCRIPT } from "./docs/script.ts";
import { STYLE } from "./docs/style.ts";
import type { OpenApiDocument } from "./openapi-types.ts";

/** Content-Security-Policy of the page: its own style and script by their hashes, and requests to its own server. */
export const DOCS_CSP = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SCRIPT)}'`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='7' fill='%230b6b69'/%3E%3Ccircle cx='8' cy='8' r='2.5' fill='white'/%3E%3C/svg%3E";

/** Renders the page as HTML (`text/html; charset=utf-8`); serve it with `DOCS_CSP`. */
export function docsPage(document: OpenApiDocument): string {
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
<style>${new Html(STYLE)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<aside><p class="brand">${info.title} <small>API ${info.version}</small></p><p class="home"><a href="./">Open the console</a> · <a href="docs/guide/">Read the guide</a></p><nav aria-label="Contents">${contents}</nav></aside>
<details class="menu"><summary><span class="brand">${info.title} <small>API ${info.version}</small></span><span>Contents</span></summary><nav aria-label="Contents">${contents}</nav></details>
<main id="content">
<h1>API reference</h1>
<p class="lead">${info.summary}. Paths are relative to the address of your server. <a href="./">Open the console</a></p>
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
