// Tests the guide, as `bun run docs` builds it and as the server sends it: every link has a target, a strict content
// security policy forbids nothing in it, and its search knows every page.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { gzipSync } from "node:zlib";
import { PAGES } from "../../docs/site/contents.ts";
import { guideSource, packedGuide } from "../../src/guide/files.ts";
import { createGuide } from "../../src/guide/guide.ts";
import { startService, type TestService } from "../support/service.ts";
import { ROOT, sourceFiles } from "../support/sources.ts";

/** Greatest size of the guide in the binary, compressed. */
const PACKED_BYTES_MAX = 2_000_000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mneme-site-"));
  mkdirSync(join(folder, "how-to"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Start</title>");
  writeFileSync(join(folder, "how-to/one.html"), "<!doctype html><title>One</title>");
  writeFileSync(join(folder, "guide-1ab.css"), "body{}");
  writeFileSync(join(folder, "picture.svg"), "<svg/>");
  writeFileSync(join(folder, "secret.key"), "no type of the guide");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("files of the guide", () => {
  const ask = (address: string, request: { acceptsGzip?: boolean; noneMatch?: string } = {}) =>
    createGuide(guideSource(folder))({ address, acceptsGzip: false, noneMatch: null, ...request });

  test("have their types, tags and a policy without inline code", () => {
    for (const [address, type] of [
      ["", "text/html; charset=utf-8"],
      ["how-to/one.html", "text/html; charset=utf-8"],
      ["guide-1ab.css", "text/css; charset=utf-8"],
      ["picture.svg", "image/svg+xml; charset=utf-8"],
    ] as const) {
      const answer = ask(address);
      expect([address, answer?.status, answer?.contentType]).toEqual([address, 200, type]);
      expect(answer?.headers.etag).toMatch(/^W\/"[0-9a-z]+"$/);
      expect(answer?.headers["x-content-type-options"]).toBe("nosniff");
      if (type.startsWith("text/")) expect(answer?.headers["content-security-policy"]).not.toContain("unsafe");
    }
    expect(ask("guide-1ab.css")?.headers["cache-control"]).toContain("immutable");
    expect(ask("")?.headers["cache-control"]).toBe("no-cache");
  });

  test("are the same compressed and plain, and not sent again to who has them", () => {
    const plain = ask("how-to/one.html");
    const packed = ask("how-to/one.html", { acceptsGzip: true });
    expect(Buffer.from(plain?.body as Uint8Array).toString()).toContain("<title>One</title>");
    expect(packed?.headers["content-encoding"]).toBe("gzip");
    expect(Bun.gunzipSync(packed?.body as Uint8Array<ArrayBuffer>)).toEqual(plain?.body as Uint8Array<ArrayBuffer>);
    expect(packed?.headers.etag).toBe(plain?.headers.etag);
    for (const noneMatch of [plain?.headers.etag ?? "", `"other", ${plain?.headers.etag}`, "*"]) {
      expect(ask("how-to/one.html", { noneMatch })).toMatchObject({ status: 304, body: "" });
    }
    expect(ask("how-to/one.html", { noneMatch: '"other"' })?.status).toBe(200);
  });

  test("are those of the folder only", () => {
    for (const address of [
      "missing.html",
      "how-to",
      "how-to/",
      "../secret.html",
      "how-to/../index.html",
      "..%2findex.html",
      "/index.html",
      "secret.key",
      ".html",
      "a/b/c.html",
      "index.html\0.html",
    ]) {
      expect([address, ask(address)]).toEqual([address, null]);
    }
  });

  test("show a change of the folder", () => {
    const guide = createGuide(guideSource(folder));
    const request = { address: "how-to/late.html", acceptsGzip: false, noneMatch: null };
    expect(guide(request)).toBeNull();
    writeFileSync(join(folder, "how-to/late.html"), "late");
    expect(Buffer.from(guide(request)?.body as Uint8Array).toString()).toBe("late");
  });

  test("are packed for the binary as they are", () => {
    const packed = new Map(packedGuide(folder).map(({ address, packed }) => [address, packed]));
    expect(packed.get("how-to/one.html")).toBe(
      gzipSync("<!doctype html><title>One</title>", { level: 9 }).toString("base64"),
    );
    expect(packedGuide(join(folder, "nothing"))).toEqual([]);
  });

  test("that were not built are explained", () => {
    const answer = createGuide(guideSource(join(folder, "nothing")))({
      address: "",
      acceptsGzip: false,
      noneMatch: null,
    });
    expect([answer?.status, answer?.contentType]).toEqual([404, "text/plain; charset=utf-8"]);
    expect(answer?.body).toContain("npx -y bun run docs");
  });
});

describe("the server", () => {
  let mneme: TestService;
  beforeAll(async () => {
    mneme = await startService({ waitsForModels: false });
  });
  afterAll(() => mneme.stop());
  const get = (path: string) => Promise.resolve(mneme.service.handle(new Request(`http://mneme.test${path}`)));

  test("sends to the guide by a relative address, so that it works below any path", async () => {
    const response = await get("/docs/guide");
    expect([response.status, response.headers.get("location")]).toEqual([301, "guide/"]);
  });

  test("answers the guide without a key, or says how to build it", async () => {
    const response = await get("/docs/guide/");
    const isBuilt = existsSync(join(ROOT, "dist/docs/index.html"));
    expect(response.status).toBe(isBuilt ? 200 : 404);
    expect(await response.text()).toContain(isBuilt ? "<title>Mneme" : "npx -y bun run docs");
  });

  test("answers 404 for what the guide has not", async () => {
    for (const path of ["/docs/guide/no-such-page.html", "/docs/guide/a/b/c", "/docs/guide/..%2f..%2fpackage.json"]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
  });
});

const hasGenerator = existsSync(join(ROOT, "docs/site/node_modules/@11ty/eleventy"));
describe.skipIf(!hasGenerator)(`the site${hasGenerator ? "" : ", skipped: run npx -y bun run docs"}`, () => {
  let files: ReadonlyMap<string, string>;
  const pages = () => [...files].filter(([address]) => address.endsWith(".html"));
  beforeAll(async () => {
    const { buildGuide } = await import("../../docs/site/build.ts");
    files = await buildGuide(join(folder, "built"));
  });

  test("has every page, and every page of docs/ is in it", () => {
    expect(PAGES.map(({ address }) => address).filter((address) => !files.has(address))).toEqual([]);
    const sources = new Set(PAGES.map(({ source }) => source));
    const missing = [...sourceFiles("docs", ".md"), ...sourceFiles("examples", ".md")]
      .map(({ path }) => path)
      .filter((path) => !sources.has(path));
    expect(missing.map((path) => `${path}: add it to docs/site/contents.ts`)).toEqual([]);
  });

  test("has no dead links, and loads nothing from elsewhere", () => {
    const problems = pages().flatMap(([address, html]) =>
      [...html.matchAll(/ (href|src)="([^"]*)"/g)].flatMap(([, attribute, target = ""]) => {
        if (/^(https?:|mailto:)/.test(target)) return attribute === "src" ? [`${address} loads ${target}`] : [];
        const [path = "", anchor = ""] = target.split("#");
        const to = path === "" ? address : posix.join(posix.dirname(address), path);
        const content = files.get(to);
        if (path.startsWith("/") || content === undefined) return [`${address}: ${target}`];
        return anchor === "" || content.includes(` id="${anchor}"`)
          ? []
          : [`${address}: ${target} has no such heading`];
      }),
    );
    expect(problems).toEqual([]);
  });

  test("has no inline code or style, and shows no comment of its sources", () => {
    for (const [address, html] of pages()) {
      const markup = html.replace(/<code[\s\S]*?<\/code>/g, "");
      const found = /<style|<script(?![^>]* src=)| style="| on[a-z]+="|<!--/.exec(markup)?.[0];
      expect([address, found]).toEqual([address, undefined]);
    }
  });

  test("is searched as a whole", () => {
    const entries: readonly { readonly address: string; readonly text: string }[] = JSON.parse(
      files.get("search.json") ?? "[]",
    );
    const found = new Set(entries.map(({ address }) => address.split("#")[0]));
    expect(PAGES.map(({ address }) => address).filter((address) => !found.has(address))).toEqual([]);
    expect(entries.some(({ text }) => text.includes("The spare key is under the blue pot."))).toBe(true);
  });

  test("is small enough for the binary", () => {
    const bytes = packedGuide(join(folder, "built")).reduce((sum, { packed }) => sum + packed.length, 0);
    expect(bytes).toBeLessThan(PACKED_BYTES_MAX);
  });
});
