// The console as the server sends it: a page and its files, a security policy that fits them, and only calls that the
// API has. browser.test.ts opens it in a browser.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { createConsole } from "../../src/console/page.ts";
import { startService, type TestService } from "../support/service.ts";
import { sourceFiles } from "../support/sources.ts";

/** Greatest size of what the first view loads, compressed. */
const FIRST_LOAD_BYTES_MAX = 250_000;
/** Longest file of the browser's code in lines. */
const LINES_MAX = 300;

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ waitsForModels: false });
});
afterAll(() => mneme.stop());

const { page, file, fileNames } = await createConsole()();
const html = String(page.body);
const sources = [...sourceFiles("src/console/browser", ".ts"), ...sourceFiles("src/console/browser", ".tsx")];
const styles = sourceFiles("src/console/browser", ".css");
const policy = new Map(
  (page.headers["content-security-policy"] ?? "").split("; ").map((directive) => {
    const [name = "", ...rest] = directive.split(" ");
    return [name, rest.join(" ")];
  }),
);

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return Promise.resolve(mneme.service.handle(new Request(`http://mneme.test${path}`, { headers })));
}

function contentOf(name: string): string {
  return Buffer.from(file(name, false)?.body as Uint8Array).toString();
}

describe("GET /", () => {
  test("answers the page without a key, under its policy", async () => {
    const response = await get("/");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    for (const [name, value] of Object.entries(page.headers)) expect(response.headers.get(name)).toBe(value);
    expect(await response.text()).toBe(html);
  });
});

describe("GET /console/:file", () => {
  test("answers each file with its type, for a year, compressed where that is accepted", async () => {
    const types = { js: /^text\/javascript/, css: /^text\/css/, woff2: /^font\/woff2$/ };
    for (const name of fileNames) {
      const plain = await get(`/console/${name}`);
      const packed = await get(`/console/${name}`, { "accept-encoding": "br, gzip" });
      const type = types[name.slice(name.lastIndexOf(".") + 1) as keyof typeof types];
      for (const response of [plain, packed]) {
        expect([name, response.status, response.headers.get("cache-control")]).toEqual([
          name,
          200,
          "public, max-age=31536000, immutable",
        ]);
        expect(response.headers.get("content-type")).toMatch(type);
        expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      }
      expect(packed.headers.get("content-encoding")).toBe("gzip");
      const [whole, unpacked] = [new Uint8Array(await plain.arrayBuffer()), new Uint8Array(await packed.arrayBuffer())];
      expect(Bun.gunzipSync(unpacked)).toEqual(whole);
    }
  });

  test("answers 404 for any other name", async () => {
    for (const name of ["main.js", "..%2fpackage.json", "main", "constructor", "__proto__"]) {
      expect([name, (await get(`/console/${name}`)).status]).toEqual([name, 404]);
    }
  });
});

describe("GET /docs", () => {
  test("has the fonts of the console, which its policy lets in, by addresses that hold below any path", async () => {
    const response = await get("/docs");
    expect(response.headers.get("content-security-policy")).toContain("font-src 'self';");
    const fonts = [...(await response.text()).matchAll(/url\("([^"]*)"\)/g)].map(([, address = ""]) => address);
    expect(fonts).toHaveLength(3);
    for (const address of fonts) {
      expect(address).toStartWith("console/roboto-");
      expect((await get(`/${address}`)).headers.get("content-type")).toBe("font/woff2");
    }
  });
});

describe("the page", () => {
  test("is built once", async () => {
    const build = createConsole();
    const [first, second] = await Promise.all([build(), build()]);
    expect(second).toBe(first);
    expect(await build()).toBe(first);
  });

  test("names its files relative to itself, so that it works below any path, and nothing of another host", () => {
    const links = [...html.matchAll(/\s(?:src|href|action|srcset)="([^"]*)"/g)].map((match) => match[1] ?? "");
    const own = links.filter((link) => link.startsWith("console/"));
    expect(own.map((link) => link.slice("console/".length)).every((name) => fileNames.includes(name))).toBe(true);
    expect(own).toHaveLength(2);
    expect(links.filter((link) => !own.includes(link) && link !== "docs" && !link.startsWith("data:"))).toEqual([]);
    for (const name of fileNames.filter((one) => one.endsWith(".css"))) {
      const urls = [...contentOf(name).matchAll(/url\(["']?([^"')]*)["']?\)/g)].map(([, url = ""]) => url);
      expect(urls.every((url) => fileNames.includes(url))).toBe(true);
      expect(contentOf(name)).not.toContain("@import");
    }
  });

  test("has nothing inline, and loads at most 250 KB before its first view", () => {
    expect(html.match(/<style|<script(?![^>]*\ssrc=)|\s(style|on\w+)="/i)).toBeNull();
    // what is loaded later: Markdown, pictures of graphs, charts, texts of other languages
    const later = fileNames.filter((name) => !/^(main|all|style|roboto)/.test(name));
    expect(later.length).toBeGreaterThan(2);
    const first = fileNames.filter((name) => !later.includes(name));
    const bytes = first.reduce((sum, name) => sum + (file(name, true)?.body.length ?? 0), gzipSync(html).byteLength);
    expect(bytes).toBeLessThanOrEqual(FIRST_LOAD_BYTES_MAX);
  });
});

describe("the policy", () => {
  test("lets only files of the same origin run and load, and no inline code or style", () => {
    expect([...policy]).toEqual([
      ["default-src", "'none'"],
      ["script-src", "'self'"],
      ["style-src", "'self'"],
      ["font-src", "'self'"],
      ["connect-src", "'self'"],
      ["img-src", "'self' data: blob:"],
      ["worker-src", "'self' blob:"],
      ["base-uri", "'none'"],
      ["form-action", "'none'"],
      ["frame-ancestors", "'none'"],
    ]);
    expect(page.headers["x-content-type-options"]).toBe("nosniff");
    expect(page.headers["referrer-policy"]).toBe("no-referrer");
  });
});

describe("the browser's code", () => {
  const found = (pattern: RegExp, allowed: readonly string[] = []) =>
    sources
      .filter(({ path }) => !allowed.includes(path.replace("src/console/browser/", "")))
      .flatMap(({ path, lines }) =>
        lines.flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1}: ${line}`] : [])),
      );

  test("calls operations of the API by their methods and routes, all in one table", async () => {
    const { body: document } = await mneme.call("GET", "/openapi.json");
    const base = new URL(document.servers[0].url, "http://mneme.test").pathname;
    const known = Object.entries<Record<string, { operationId: string }>>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) =>
        callText(operationId, method.toUpperCase(), base + path),
      ),
    );
    const table = sources.find(({ path }) => path.endsWith("core/calls.ts"))?.text ?? "";
    const called = [...table.matchAll(/^ {2}(\w+): "([A-Z]+) (\/v1\/[^"]*)"/gm)].map(([, name, method, path]) =>
      callText(name ?? "", method ?? "", path ?? ""),
    );
    expect(called.length).toBeGreaterThan(40);
    expect(called.filter((one) => !known.includes(one))).toEqual([]);
    expect(found(/\bfetch\(|XMLHttpRequest/, ["core/api.ts", "core/upload.ts"])).toEqual([]);
  });

  test("puts text into the page as HTML in one place only, and runs none", () => {
    const readers =
      /innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|setHTML|srcdoc|document\.write/;
    expect(found(readers)).toEqual([]);
    expect(found(/dangerouslySetInnerHTML/, ["ui/markdown.tsx"])).toEqual([]);
    expect(found(/\beval\b|new Function|javascript:/)).toEqual([]);
  });

  test("keeps keys in the tab's own storage, and preferences beside it, from one file", () => {
    expect(found(/sessionStorage|localStorage|indexedDB|document\.cookie|caches\./, ["core/storage.ts"])).toEqual([]);
    const storage = sources.find(({ path }) => path.endsWith("core/storage.ts"))?.text ?? "";
    expect(storage.match(/sessionStorage\.setItem\("mneme\.keys"/g)).toHaveLength(1);
    expect(storage.match(/localStorage\.setItem/g)).toHaveLength(1);
    expect(storage).toContain('type Preference = "theme" | "language" | "columns" | "steps"');
  });

  test("names no address of a server, and no absolute path of the page", () => {
    expect(found(/8383|localhost|127\.0\.0\.1/)).toEqual([]);
    expect(found(/(href|src|action)="\/|location\.(assign|replace)\("\//)).toEqual([]);
  });

  test("is in files of one subject", () => {
    // the styles of all views stand in one file, in the order of the navigation
    const long = sources.filter(({ lines }) => lines.length > LINES_MAX);
    expect(long.map(({ path, lines }) => `${path}: ${lines.length} lines`)).toEqual([]);
    expect(styles.length).toBeGreaterThan(3);
  });

  test("has each text in all languages, with the same places for values", () => {
    const texts = JSON.parse(sourceFiles("src/console/browser", "texts.json")[0]?.text ?? "{}") as Record<
      string,
      string[]
    >;
    const literal = /"((?:[^"\\]|\\.)*)"/.source;
    const used = sources.flatMap(({ text }) =>
      [
        ...[...text.matchAll(new RegExp(`\\bt\\(\\s*${literal}`, "g"))].map(([, one = ""]) => [one]),
        ...[...text.matchAll(new RegExp(`countText\\([^"]*${literal},\\s*${literal}`, "g"))].map(([, ...both]) => both),
      ].flat(),
    );
    expect(used.length).toBeGreaterThan(400);
    const missing = new Set(used.filter((text) => !Object.hasOwn(texts, JSON.parse(`"${text}"`))));
    expect([...missing]).toEqual([]);
    const all = sources.map(({ text }) => text).join("\n");
    expect(Object.keys(texts).filter((text) => !all.includes(JSON.stringify(text).slice(1, -1)))).toEqual([]);
    const holes = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort().join(" ");
    for (const [text, translations] of Object.entries(texts)) {
      const found = translations.map((one) => (one === "" ? "empty" : holes(one)));
      expect([text, found]).toEqual([text, new Array(9).fill(holes(text))]);
    }
  });
});

// Describes a call. Path parameters become `*`, because the console and the API may name them differently.
function callText(name: string, method: string, path: string): string {
  return `${name}: ${method} ${path.replace(/\{\w+\}|:\w+/g, "*")}`;
}
