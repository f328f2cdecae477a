// Which web pages may call the API from a browser? The CORS headers (Fetch standard, 3.2) for the origins that the
// operator configured; none of them is sent otherwise. Who the caller is remains the API key's business.

import { UsageError } from "../kit/flags.ts";

/** Methods and headers that a page may use, and headers that it may read. `*` would not cover Authorization. */
const ALLOWED_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Last-Event-ID";
const EXPOSED_HEADERS =
  "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Idempotent-Replayed";
/** How long a browser may keep a preflight's answer: so long an origin that was withdrawn may still send requests. */
const PREFLIGHT_SECONDS = 600;

const EVERY_ORIGIN = "*";

/** Header names are lower case. */
type HeaderFields = Readonly<Record<string, string>>;

/** The CORS side of answers. */
export interface Cors {
  /** Whether any origin is configured; without one there are never headers. */
  readonly isOn: boolean;
  /**
   * For every answer, refusals included, so that a page can read why.
   * @param origin the request's Origin header.
   */
  headersFor(origin: string | null): HeaderFields;
  /** Whether a browser asks before the request itself; it sends no API key then, and wants a 204 without a body. */
  isPreflight(request: Request): boolean;
  /** The headers of that 204. An origin that is not configured gets no permission, and its browser stops there. */
  preflight(request: Request): HeaderFields;
}

/**
 * CORS for these origins, as `parseOrigins` gives them; none: off, no header is ever sent and nothing is a preflight.
 * There is no credentials mode: keys come in Authorization, and no cookie means anything here.
 */
export function createCors(origins: readonly string[]): Cors {
  const isOff = origins.length === 0;
  const isOpen = origins.includes(EVERY_ORIGIN);
  // an answer that is the same for every origin does not vary by it
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
 * The origins of the setting, comma-separated, as browsers write them: `https://app.example`, `http://localhost:5173`,
 * `capacitor://localhost`, or `*` for any. An empty text is none.
 * @throws UsageError with one sentence that names the first bad entry.
 */
export function parseOrigins(text: string): readonly string[] {
  if (text.trim() === "") return [];
  return text.split(",").map((entry) => {
    const origin = parseOrigin(entry.trim());
    if (origin !== null) return origin;
    throw new UsageError(
      `${JSON.stringify(entry.trim())} is no origin; write scheme, host and port as in https://app.example or http://localhost:5173, or * for any.`,
    );
  });
}

// `null`, which sandboxed pages and local files send, is left out on purpose: anybody can make such a page.
function parseOrigin(text: string): string | null {
  if (text === EVERY_ORIGIN) return text;
  // first the shape: a URL would mend backslashes, and take `*.app.example` for a host
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/\\?#@*]+\/?$/i.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || url.host === "") return null;
  return url.origin === "null" ? `${url.protocol}//${url.host}` : url.origin;
}
