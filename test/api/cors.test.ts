// The CORS headers and the setting of origins. cors-http.test.ts checks the answers of a whole service.

import { describe, expect, test } from "bun:test";
import { createCors, parseOrigins } from "../../src/api/cors.ts";
import { UsageError } from "../../src/kit/flags.ts";

const APP = "https://app.example";
const EXPOSED = [
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Retry-After",
  "Idempotent-Replayed",
  ...["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag"],
];

function preflight(origin: string | null, more: Record<string, string> = {}): Request {
  return new Request("http://mneme.test/v1/memories", {
    method: "OPTIONS",
    headers: { ...(origin !== null && { origin }), "access-control-request-method": "POST", ...more },
  });
}

describe("without origins", () => {
  const cors = createCors([]);
  test("no header is sent and nothing is a preflight", () => {
    expect(cors.headersFor(APP)).toEqual({});
    expect(cors.headersFor("*")).toEqual({});
    expect(cors.headersFor(null)).toEqual({});
    expect(cors.isPreflight(preflight(APP))).toBe(false);
    expect(cors.preflight(preflight(APP))).toEqual({});
  });
});

describe("with origins", () => {
  const cors = createCors([APP, "http://localhost:5173"]);

  test("a configured origin may read the answer and the API's headers", () => {
    for (const origin of [APP, "http://localhost:5173"]) {
      const { "access-control-expose-headers": exposed = "", ...rest } = cors.headersFor(origin);
      expect(rest).toEqual({ "access-control-allow-origin": origin, vary: "Origin" });
      expect(exposed.split(", ")).toEqual(EXPOSED);
    }
  });

  const others = ["https://other.example", "http://app.example", `${APP}:8443`, `${APP}/`, "https://APP.example"];
  for (const origin of [...others, `${APP}.evil.example`, "https://evil-app.example", "null", "*", "", null]) {
    test(`${origin} may not, and the answer varies by origin`, () => {
      expect(cors.headersFor(origin)).toEqual({ vary: "Origin" });
      expect(cors.preflight(preflight(origin))).toEqual({ vary: "Origin" });
    });
  }

  test("a preflight allows every method and header of the API", () => {
    const headers = cors.preflight(preflight(APP));
    expect(headers).toMatchObject({ "access-control-allow-origin": APP, vary: "Origin" });
    expect(headers["access-control-allow-methods"]?.split(", ")).toEqual([
      "GET",
      "HEAD",
      "POST",
      "PUT",
      "PATCH",
      "DELETE",
    ]);
    expect(headers["access-control-allow-headers"]?.split(", ")).toEqual([
      "Authorization",
      "Content-Type",
      "Idempotency-Key",
      "X-Request-Id",
      "Last-Event-ID",
      "Mcp-Protocol-Version",
      "Mcp-Method",
      "Mcp-Name",
      ...["Range", "If-Range", "If-None-Match"],
    ]);
    expect(Number(headers["access-control-max-age"])).toBeGreaterThan(0);
  });

  test("credentials are never allowed", () => {
    expect(cors.headersFor(APP)).not.toHaveProperty("access-control-allow-credentials");
    expect(cors.preflight(preflight(APP))).not.toHaveProperty("access-control-allow-credentials");
  });

  test("a preflight is OPTIONS with Origin and Access-Control-Request-Method, from any origin", () => {
    expect(cors.isPreflight(preflight(APP))).toBe(true);
    expect(cors.isPreflight(preflight("https://other.example"))).toBe(true);
    expect(cors.isPreflight(preflight(null))).toBe(false);
    expect(cors.isPreflight(new Request(preflight(APP), { method: "GET" }))).toBe(false);
    const plainOptions = new Request("http://mneme.test/", { method: "OPTIONS", headers: { origin: APP } });
    expect(cors.isPreflight(plainOptions)).toBe(false);
  });
});

describe("with *", () => {
  test("any page may read, and the answer is the same for all origins", () => {
    for (const cors of [createCors(["*"]), createCors([APP, "*"])]) {
      for (const origin of [APP, "https://other.example", "null", null]) {
        const headers = cors.headersFor(origin);
        expect(headers["access-control-allow-origin"]).toBe("*");
        expect(headers).not.toHaveProperty("vary");
        expect(cors.preflight(preflight(origin))["access-control-allow-origin"]).toBe("*");
      }
    }
  });
});

describe("the setting", () => {
  const good: readonly (readonly [string, readonly string[]])[] = [
    ["", []],
    ["  ", []],
    ["*", ["*"]],
    ["https://app.example", [APP]],
    ["https://app.example, http://localhost:5173", [APP, "http://localhost:5173"]],
    ["https://app.example/", [APP]],
    ["HTTPS://App.Example", [APP]],
    ["https://app.example:443,http://app.example:80", [APP, "http://app.example"]],
    ["http://127.0.0.1:3000", ["http://127.0.0.1:3000"]],
    ["http://[::1]:3000", ["http://[::1]:3000"]],
    ["https://bücher.example", ["https://xn--bcher-kva.example"]],
    ["capacitor://localhost", ["capacitor://localhost"]],
    ["chrome-extension://abcdefghijklmnop", ["chrome-extension://abcdefghijklmnop"]],
  ];
  for (const [text, origins] of good) {
    test(`${JSON.stringify(text)} is ${JSON.stringify(origins)}`, () => expect(parseOrigins(text)).toEqual(origins));
  }

  const bad = ["app.example", "localhost:5173", "null", "//app.example", "https://", "https://app.example/console"];
  const worse = ["https://*.app.example", "https://a@app.example", "https://app.example?x", "https://app.example#x"];
  for (const entry of [
    ...bad,
    ...worse,
    "https:\\\\app.example",
    "https://a b.example",
    "file:///",
    "https://a:99999",
  ]) {
    test(`${entry} is refused, and the error names it`, () => {
      const act = () => parseOrigins(`https://first.example, ${entry} , *`);
      expect(act).toThrow(UsageError);
      expect(act).toThrow(`${JSON.stringify(entry)} is not an origin`);
    });
  }

  test("an empty entry is refused", () => {
    for (const text of [",", `${APP},`, `${APP},,*`]) expect(() => parseOrigins(text)).toThrow('"" is not an origin');
  });
});
