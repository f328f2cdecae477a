// Decides which Host and Origin headers requests to /mcp may have. This stops two kinds of web pages: those whose host
// name was made to point at this machine (DNS rebinding), and those that call the server from another origin.

import { isIP } from "node:net";
import { UsageError } from "../kit/flags.ts";

const ANY = "*";

/** Decides about the headers of a request. */
export interface HostRules {
  /** Why a request is refused; null if it is not. */
  readonly problemOf: (headers: Headers) => string | null;
}

/**
 * Creates the rules. The Host header may be an IP address, which DNS rebinding cannot forge, `localhost`, the name that
 * the server listens on, or a name from the setting. The Origin header, which web pages send, must be the server's own
 * or one that CORS allows.
 * @param names from `parseHosts`
 * @param origins from `parseOrigins` (api/cors.ts)
 */
export function createHostRules(names: readonly string[], listensOn: string, origins: readonly string[]): HostRules {
  const allowed = new Set([...names, listensOn.toLowerCase()]);
  const isHostAllowed = (host: string) => {
    const name = hostName(host);
    if (name === null) return false;
    const isAddress = isIP(name.replace(/^\[|\]$/g, "")) !== 0;
    return isAddress || name === "localhost" || name.endsWith(".localhost") || allowed.has(ANY) || allowed.has(name);
  };
  return {
    problemOf: (headers) => {
      const host = headers.get("host");
      if (host !== null && !isHostAllowed(host)) {
        return "This server does not answer MCP under this host name. Its operator can allow the name with MNEME_MCP_HOSTS.";
      }
      const origin = headers.get("origin");
      if (origin === null || origins.includes(ANY) || origins.includes(origin)) return null;
      if (host !== null && isSameHost(origin, host)) return null;
      return "This server does not answer MCP to pages of this origin. Its operator can allow the origin with MNEME_CORS_ORIGINS.";
    },
  };
}

/**
 * Parses the setting: comma-separated host names without ports, or `*` for all.
 * @throws UsageError with one sentence that names the first bad entry
 */
export function parseHosts(text: string): readonly string[] {
  const entries = text
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "");
  for (const entry of entries) {
    if (entry === ANY || /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(entry)) continue;
    throw new UsageError(
      `${JSON.stringify(entry)} is not a host name: write it without scheme and port, or * for any.`,
    );
  }
  return entries;
}

/** Whether a page of `origin` was loaded from this host; a default port may be written or not. */
function isSameHost(origin: string, host: string): boolean {
  const page = URL.parse(origin);
  return page !== null && page.host !== "" && page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}

/** The name in a Host header, without the port; null if the header is malformed. */
function hostName(host: string): string | null {
  return URL.parse(`http://${host}`)?.hostname ?? null;
}
