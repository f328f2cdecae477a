// The console at `/`: one HTML page for whoever operates the server, with its style and script inside. In the browser
// it calls the same API as every client, with a key that the person pastes; the server sends nothing but this page.

import { createHash } from "node:crypto";
import { type ConsoleSources, consoleSources } from "./sources.ts";

/** The page and the headers that belong to it. */
export interface ConsolePage {
  /** HTML that refers to no other file. */
  readonly html: string;
  /** Security headers, among them a policy that names the page's own style and script by their hashes. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Puts the page together on the first call and returns the same page afterwards. A failed call is tried again. */
export function createConsole(): () => Promise<ConsolePage> {
  let page: Promise<ConsolePage> | null = null;
  return () => {
    page ??= consoleSources()
      .then(pageOf)
      .catch((error: unknown) => {
        page = null;
        throw error;
      });
    return page;
  };
}

function pageOf({ frame, style, script }: ConsoleSources): ConsolePage {
  const html = frame
    .replace("<style></style>", () => `<style>${style}</style>`)
    .replace('<script type="module"></script>', () => `<script type="module">${script}</script>`);
  return { html, headers: securityHeaders(style, script) };
}

// Only the page's own style and script run. HTML that slipped in could neither act nor load anything.
function securityHeaders(style: string, script: string): Readonly<Record<string, string>> {
  return {
    "content-security-policy": [
      "default-src 'none'",
      `style-src ${sourceHash(style)}`,
      `script-src ${sourceHash(script)}`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  };
}

function sourceHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
