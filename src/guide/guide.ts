// The guide below `/docs/guide`: the pages of docs/ as a site. docs/site/ builds it; here its files are only sent, with
// types, entity tags and a policy under which nothing that stands in a page can run or load anything.

import { gunzipSync } from "node:zlib";
import { namesTag } from "../kit/entity-tags.ts";
import { type GuideSource, guideSource } from "./files.ts";

/** A file as it is sent. */
export interface GuideAnswer {
  readonly status: 200 | 304 | 404;
  readonly contentType: string;
  /** Empty with 304. */
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a request says about the file that it wants. */
export interface GuideRequest {
  /** Address below that of the guide; "" is the first page. */
  readonly address: string;
  readonly acceptsGzip: boolean;
  /** `If-None-Match`; null if absent. */
  readonly noneMatch: string | null;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  svg: "image/svg+xml; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

/** Addresses of files: names without a path, in one folder at most. */
const ADDRESS = /^(?:[a-z][a-z-]*\/)?\w[\w-]*(?:\.[\w-]+)*\.([a-z]+)$/;
/** Files whose names change with their content. */
const HASHED = /-[0-9a-z]+\.(?:css|js)$/;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
/** For a picture that is opened by itself: it has its style in itself, and cannot run anything. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const SAFETY = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };

const NOT_BUILT = `The guide is not built here. Run "npx -y bun run docs" in the clone of Mneme, and reload this page.
The API reference is at /docs of this server, the sources of the guide are in docs/.
`;

/** Returns a function that answers requests for files of the guide, with null if it has no such file. */
export function createGuide(source: GuideSource = guideSource()): (request: GuideRequest) => GuideAnswer | null {
  return ({ address, acceptsGzip, noneMatch }) => {
    if (!source.isBuilt()) return { status: 404, contentType: TYPES.txt ?? "", body: NOT_BUILT, headers: SAFETY };
    const name = address === "" ? "index.html" : address;
    const extension = ADDRESS.exec(name)?.[1] ?? "";
    const contentType = TYPES[extension];
    const packed = contentType === undefined ? null : source.file(name);
    if (contentType === undefined || packed === null) return null;
    const tag = `"${Bun.hash(packed).toString(36)}"`;
    const headers = {
      ...SAFETY,
      // weak: the same tag for the compressed file and the plain one
      etag: `W/${tag}`,
      "cache-control": HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
      "content-security-policy": extension === "svg" ? PICTURE_POLICY : POLICY,
      vary: "accept-encoding",
    };
    if (noneMatch !== null && namesTag(noneMatch, tag)) return { status: 304, contentType, body: "", headers };
    return acceptsGzip
      ? { status: 200, contentType, body: packed, headers: { ...headers, "content-encoding": "gzip" } }
      : { status: 200, contentType, body: Uint8Array.from(gunzipSync(packed)), headers };
  };
}
