// The console's page as the server sends it: one file, a security policy that fits it, and only calls that the API
// supports. How the page looks is not tested.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createConsole } from "../../src/console/page.ts";
import { startService, type TestService } from "../support/service.ts";
import { sourceFiles } from "../support/sources.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ waitsForModels: false });
});
afterAll(() => mneme.stop());

const { html, headers: pageHeaders } = await createConsole()();
const style = between("<style>", "</style>");
const script = between('<script type="module">', "</script>");
const frame = html.replace(style, "").replace(script, "");
const policy = new Map(
  (pageHeaders["content-security-policy"] ?? "").split("; ").map((directive) => {
    const [name = "", ...sources] = directive.split(" ");
    return [name, sources.join(" ")];
  }),
);

describe("GET /", () => {
  test("answers the page without a key, under its policy", async () => {
    const response = await mneme.service.handle(new Request("http://mneme.test/"));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    for (const [name, value] of Object.entries(pageHeaders)) expect(response.headers.get(name)).toBe(value);
    expect(await response.text()).toBe(html);
  });
});

describe("the page", () => {
  test("is built once", async () => {
    const page = createConsole();
    const [first, second] = await Promise.all([page(), page()]);
    expect(second).toBe(first);
    expect(await page()).toBe(first);
  });

  test("is one file: nothing in it loads another", () => {
    const links = [...frame.matchAll(/\s(?:src|href|action|srcset|data)="([^"]*)"/g)].map((match) => match[1] ?? "");
    expect(links.filter((link) => !/^(#|\/docs$|data:)/.test(link))).toEqual([]);
    expect(style.match(/@import|url\(/i)).toBeNull();
    expect(script.match(/(^|[;}\n])\s*(import|export)\b|\bimport\s*\(/)).toBeNull();
  });

  test("has every export of its modules in the script, and no text that would end the script early", () => {
    for (const { path, text } of sourceFiles("src/console/browser", ".js")) {
      const exported = [...text.matchAll(/^export (?:const|class|(?:async )?function\*?) (\w+)/gm)];
      for (const [, name = ""] of exported) expect([path, name, script.includes(name)]).toEqual([path, name, true]);
    }
    expect(script.match(/<\/script|<!--/i)).toBeNull();
    expect(style.match(/<\/style/i)).toBeNull();
  });

  test("has a script that can be parsed", () => {
    expect(() => new Bun.Transpiler({ loader: "js" }).transformSync(script)).not.toThrow();
  });

  test("has nothing inline that its policy would block", () => {
    expect(frame.match(/\s(style|on\w+)="/i)).toBeNull();
  });
});

describe("the policy", () => {
  test("lets the page's own style and script run, by their hashes", () => {
    expect(policy.get("style-src")).toBe(hashOf(style));
    expect(policy.get("script-src")).toBe(hashOf(script));
  });

  test("allows nothing else but the API on the same origin", () => {
    expect([...policy].filter(([name]) => !/^(style|script)-src$/.test(name))).toEqual([
      ["default-src", "'none'"],
      ["connect-src", "'self'"],
      ["img-src", "data:"],
      ["base-uri", "'none'"],
      ["form-action", "'none'"],
      ["frame-ancestors", "'none'"],
    ]);
    expect(pageHeaders["x-content-type-options"]).toBe("nosniff");
    expect(pageHeaders["referrer-policy"]).toBe("no-referrer");
  });
});

describe("the script", () => {
  test("calls operations of the API by their methods and routes", async () => {
    const { body: document } = await mneme.call("GET", "/openapi.json");
    const base = new URL(document.servers[0].url, "http://mneme.test").pathname;
    const known = Object.entries<Record<string, { operationId: string }>>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) =>
        callText(operationId, method.toUpperCase(), base + path),
      ),
    );
    const called = [...script.matchAll(/\b(\w+):\s*"([A-Z]+) (\/v1\/[^"]*)"/g)].map(([, name, method, path]) =>
      callText(name ?? "", method ?? "", path ?? ""),
    );
    expect(called.length).toBeGreaterThan(0);
    expect(called.filter((call) => !known.includes(call))).toEqual([]);
    const paths = [...script.matchAll(/["'`]\/v1\b/g)];
    expect(paths).toHaveLength(0); // every call uses the table, so that no path remains outside of it
  });

  test("puts no text into the page as HTML, and runs none", () => {
    const readers =
      /innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|setHTML|srcdoc|document\.write/;
    expect(script.match(readers)).toBeNull();
    expect(script.match(/\beval\b|new Function|javascript:/)).toBeNull();
  });

  test("keeps the key in the tab's own storage and nowhere else", () => {
    expect(script.match(/localStorage|indexedDB|document\.cookie|caches\./)).toBeNull();
    expect([...script.matchAll(/sessionStorage\.setItem/g)]).toHaveLength(1);
  });
});

function between(opening: string, closing: string): string {
  const start = html.indexOf(opening) + opening.length;
  return html.slice(start, html.indexOf(closing, start));
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

// Describes a call. Path parameters become `*`, because the console and the API may name them differently.
function callText(name: string, method: string, path: string): string {
  return `${name}: ${method} ${path.replace(/\{\w+\}|:\w+/g, "*")}`;
}
