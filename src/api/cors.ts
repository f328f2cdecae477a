// CORS headers (Fetch standard, 3.2) for the origins that the operator configured: the web pages that may call the API
// from a browser. Without configured origins, no such header is sent. CORS does not replace the API key: every request
// needs one.

import { UsageError } from "../kit/flags.ts";

/** Methods and headers that a page may use, and headers that it may read. A `*` would not include Authorization. */
const ALLOWED_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const ALLOWED_HEADERS =
  "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Last-Event-ID, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Range, If-Range, If-None-Match";
const EXPOSED_HEADERS =
  "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Idempotent-Replayed, Accept-Ranges, Content-Disposition, Content-Range, ETag";
/**
 * How long, in seconds, a browser may cache the answer to a preflight. After the operator removes an origin, its pages
 * can still send requests for this time.
 */
const PREFLIGHT_SECONDS = 600;

const EVERY_ORIGIN = "*";

/** Headers by name; names are lower case. */
type HeaderFields = Readonly<Record<string, string>>;

/** Makes the CORS headers of answers. */
export interface Cors {
  /** Whether any origin is configured; if not, no header is ever sent. */
  readonly isOn: boolean;
  /**
   * Headers for every answer, errors included, so that a page can read the reason.
   * @param origin the request's Origin header.
   */
  headersFor(origin: string | null): HeaderFields;
  /** Whether the request is a preflight. Browsers send it without an API key and expect a 204 without a body. */
  isPreflight(request: Request): boolean;
  /**
   * Headers of the answer to a preflight. If they do not allow the page's origin, the browser does not send the actual
   * request.
   */
  preflight(request: Request): HeaderFields;
}

/**
 * Creates the CORS rules for origins from `parseOrigins`. An empty list switches CORS off: no headers, no preflights.
 * There is no credentials mode, because the API reads keys from Authorization and ignores cookies.
 */
export function createCors(origins: readonly string[]): Cors {
  const isOff = origins.length === 0;
  const isOpen = origins.includes(EVERY_ORIGIN);
  // With `*`, the answer is the same for every origin and needs no Vary header.
  const refused: HeaderFields = isOff || isOpen ? {} : { vary: "Origin" };
  const allowed = (origin: string): HeaderFields => ({ ...refused, "access-control-allow-origin": origin });
  const permissions = new Map(
    origins.map((origin) => [
      origin,
      {
        answer: { ...allowed(origin), "access-control-expose-headers": EXPOSED_HEADERS },
        preflight: {
          ...allowed(origin),
          "access-control-allow-methods": ALLOWED_METHODS,
          "access-control-allow-headers": ALLOWED_HEADERS,
          "access-control-max-age": String(PREFLIGHT_SECONDS),
        },
      },
    ]),
  );
  const permissionOf = (origin: string | null) => permissions.get(isOpen ? EVERY_ORIGIN : (origin ?? ""));

  return {
    isOn: !isOff,
    headersFor: (origin) => permissionOf(origin)?.answer ?? refused,
    isPreflight: ({ method, headers }) =>
      !isOff && method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method"),
    preflight: ({ headers }) => permissionOf(headers.get("origin"))?.preflight ?? refused,
  };
}

/**
 * Parses the setting: comma-separated origins as browsers write them (`https://app.example`, `http://localhost:5173`,
 * `capacitor://localhost`), or `*` for any. An empty text gives no origins.
 * @throws UsageError with one sentence that names the first bad entry.
 */
export function parseOrigins(text: string): readonly string[] {
  if (text.trim() === "") return [];
  return text.split(",").map((entry) => {
    const origin = parseOrigin(entry.trim());
    if (origin !== null) return origin;
    throw new UsageError(
      `${JSON.stringify(entry.trim())} is not an origin: write scheme, host and port as in https://app.example or http://localhost:5173, or * for any.`,
    );
  });
}

// The origin `null` is deliberately refused: sandboxed pages and local files send it, and anybody can make such a page.
function parseOrigin(text: string): string | null {
  if (text === EVERY_ORIGIN) return text;
  // The text is checked before it is parsed, because `URL` repairs backslashes and accepts `*.app.example` as a host.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/\\?#@*]+\/?$/i.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || url.host === "") return null;
  return url.origin === "null" ? `${url.protocol}//${url.host}` : url.origin;
}
