// The console at `/`: a page for operators and developers, and the scripts, styles and fonts that it loads. In the
// browser it calls the same API as every client, with a key that the person pastes. The server only sends the files.

import { gunzipSync } from "node:zlib";
import { consoleSources } from "./sources.ts";

/** A file as it is sent. */
export interface ConsoleAnswer {
  readonly contentType: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** The page and its files. */
export interface Console {
  readonly page: ConsoleAnswer;
  /** A file by its name; null if there is none. `acceptsGzip`: whether it may be sent compressed. */
  readonly file: (name: string, acceptsGzip: boolean) => ConsoleAnswer | null;
  readonly fileNames: readonly string[];
}

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  woff2: "font/woff2",
  woff: "font/woff",
};

/**
 * Content security policy. The page loads files only from its own origin, and its HTML may not contain code or styles.
 * So HTML that an attacker managed to insert could neither run code nor load anything.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SAFETY = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };

/**
 * Returns a function that bundles the console on its first call and returns the same afterwards. If bundling fails, the
 * next call tries again.
 */
export function createConsole(): () => Promise<Console> {
  let made: Promise<Console> | null = null;
  return () => {
    made ??= build().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

async function build(): Promise<Console> {
  const { html, files } = await consoleSources();
  const packed = new Map(files.map((file) => [file.name, Uint8Array.from(Buffer.from(file.packed, "base64"))]));
  return {
    page: {
      contentType: "text/html; charset=utf-8",
      body: html,
      headers: { ...SAFETY, "content-security-policy": POLICY, "cache-control": "no-cache" },
    },
    fileNames: [...packed.keys()],
    file: (name, acceptsGzip) => {
      const bytes = packed.get(name);
      if (bytes === undefined) return null;
      return {
        contentType: TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
        body: acceptsGzip ? bytes : Uint8Array.from(gunzipSync(bytes)),
        headers: {
          ...SAFETY,
          // the name changes with the content
          "cache-control": "public, max-age=31536000, immutable",
          vary: "accept-encoding",
          ...(acceptsGzip && { "content-encoding": "gzip" }),
        },
      };
    },
  };
}
