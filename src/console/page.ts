// The console at `/`: one HTML page for operators of the server, which contains its style and script. In the browser it
// calls the same API as every client, with a key that the operator pastes. The server only sends this page.

import { createHash } from "node:crypto";
import { type ConsoleSources, consoleSources } from "./sources.ts";

/** The page and its headers. */
export interface ConsolePage {
  /** HTML that refers to no other file. */
  readonly html: string;
  /** Security headers, among them a policy that names the page's own style and script by their hashes. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns a function that builds the page on its first call and returns the same page afterwards. If building fails,
 * the next call tries again.
 */
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

// Headers that let only the page's own style and script run. HTML that an attacker managed to insert could neither run
// code nor load anything.
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
