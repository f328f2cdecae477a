// The console at `/`: one web page with its style and script inside, for whoever looks after the server. It asks the same
// API as everybody else, from the browser, with a key that the person pastes; the server gives it nothing but this text.

import { createHash } from "node:crypto";
import { consoleTexts } from "./console/texts.ts" with { type: "macro" };

const { frame, style, script } = consoleTexts();

/** The page: HTML that names no other file. */
export const consolePage: string = frame
  .replace("<style></style>", () => `<style>${style}</style>`)
  .replace('<script type="module"></script>', () => `<script type="module">${script}</script>`);

/**
 * What the page's answer carries beside its type. The policy lets the page's own style and script run and nothing else, so
 * that even HTML which slipped in could neither act nor load anything.
 */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
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

function sourceHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
