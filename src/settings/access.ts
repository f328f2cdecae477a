// Settings of requests: who may send how many, and from where.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseTrustedProxies, type TrustedProxies } from "../account/client-address.ts";
import { parseRateLimits, RATE_LIMITS, type RateLimitTable } from "../account/rate-limits.ts";
import { parseOrigins } from "../api/cors.ts";
import { PLAN_NAMES, type Plan } from "../domain/project.ts";
import { setting, switched } from "../kit/setting.ts";
import { parseHosts } from "../mcp/hosts.ts";

/** Settings of plans, rate limits, proxies, browsers and MCP. */
export const ACCESS_SETTINGS = {
  defaultPlan: setting<Plan>(
    "default-plan",
    "PLAN",
    "Plan of new projects for which no plan is given; `enterprise` has no quotas",
    {
      defaultValue: () => "enterprise",
      defaultText: "enterprise",
      expects: `one of ${PLAN_NAMES.join(", ")}`,
      parse: (text) => PLAN_NAMES.find((plan) => plan === text),
    },
  ),
  rateLimits: setting<RateLimitTable>(
    "rate-limits",
    "off|FILE",
    '`off`, or a JSON file with other limits per minute, such as `{"GET *": 1000}`',
    {
      defaultValue: () => RATE_LIMITS,
      defaultText: "built-in limits",
      expects: "`off` or a file",
      parse: (text, place) =>
        parseRateLimits(text, (path) => readFileSync(resolve(place.workingDirectory, path), "utf8")),
    },
  ),
  trustedProxies: setting<TrustedProxies>(
    "trusted-proxies",
    "ADDRESSES",
    "Proxies whose `X-Forwarded-For` header is trusted: addresses and CIDR blocks, comma-separated",
    { defaultValue: () => [], defaultText: "none", expects: "addresses and CIDR blocks", parse: parseTrustedProxies },
  ),
  corsOrigins: setting<readonly string[]>(
    "cors-origins",
    "ORIGINS",
    "Web origins that may call the API from a browser, comma-separated; `*` for all",
    { defaultValue: () => [], defaultText: "none", expects: "origins", parse: parseOrigins },
  ),
  mcpHosts: setting<readonly string[]>(
    "mcp-hosts",
    "HOSTS",
    "Host names under which `/mcp` may be called, besides IP addresses and `localhost`, comma-separated; `*` for all",
    { defaultValue: () => [], defaultText: "none", expects: "host names", parse: parseHosts },
  ),
  mcpConnector: setting<boolean>(
    "mcp-connector",
    "true|false",
    "Offer the MCP tools `search` and `fetch` too, which ChatGPT's connectors require",
    switched(),
  ),
};
