// The reference page: complete, self-contained, escaped, and with examples that do what they say.

import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RATE_LIMITS, RateBuckets } from "../../src/account/rate-limits.ts";
import { FAULT_CODES } from "../../src/api/catalogue.ts";
import { FILTER_EXAMPLES, VERIFICATION_SNIPPET } from "../../src/api/docs/guide.ts";
import { html, prose } from "../../src/api/docs/html.ts";
import { prettyJson } from "../../src/api/docs/pretty-json.ts";
import { docsPage, docsPolicy } from "../../src/api/docs.ts";
import { openApiDocument } from "../../src/api/openapi.ts";
import type { Operation } from "../../src/api/operation.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { newWebhookSecret, signWebhook } from "../../src/webhooks/signature.ts";
import { DECLARED_OPERATIONS } from "../support/declared-operations.ts";
import { seeded } from "../support/seeded.ts";

function pageOf(operations: readonly Operation[]): string {
  const buckets = new RateBuckets(RATE_LIMITS, operations);
  return docsPage(openApiDocument({ operations, version: "1.0", buckets }));
}

const page = pageOf(DECLARED_OPERATIONS);
const body = page.replace(/<style>[\s\S]*?<\/style>|<script>[\s\S]*?<\/script>/g, "");
const valuesOf = (attribute: string) =>
  [...body.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) => value);

describe("the page", () => {
  test("shows every operation with its route, scope and example", () => {
    for (const { name, method, path, scope } of DECLARED_OPERATIONS) {
      const start = body.indexOf(`<section class="operation" id="${name}"`);
      const section = body.slice(start, body.indexOf("</section>", start));
      expect(start).toBeGreaterThan(0);
      const shown = section.replaceAll("<wbr>", "");
      expect(shown).toContain(path.replace(/:(\w+)/g, "{$1}"));
      expect(shown).toContain(`>${method}</span>`);
      expect(shown).toContain(scope === null ? "<dt>Scope</dt><dd>any</dd>" : `<code>${scope}</code>`);
      expect(shown).toContain("curl ");
    }
  });

  test("shows every field of every body, nested ones under their path", () => {
    for (const field of ["content", "externalId", "min_score", "cascade", "grace_seconds", "retention_days"]) {
      expect(body).toContain(`${field}</code>`);
    }
    expect(body).toContain('<code><span class="within">llm.</span>base_url</code>');
    expect(body).toContain('<code><span class="within">smart_ingestion.</span>enabled</code>');
  });

  test("lists every error code once, and links to it from the operations", () => {
    for (const code of FAULT_CODES) expect(body.split(`id="error-${code}"`)).toHaveLength(2);
    expect(body).toContain('href="#error-memory_not_found"');
  });

  test("has unique ids, and no dead links", () => {
    const ids = valuesOf("id");
    expect(ids.length).toBe(new Set(ids).size);
    const targets = valuesOf("href").filter((target) => target.startsWith("#"));
    expect([...new Set(targets)].filter((target) => !ids.includes(target.slice(1)))).toEqual([]);
    expect(targets.length).toBeGreaterThan(200);
  });

  test("has properly nested elements", () => {
    const open: string[] = [];
    for (const [, slash, name = ""] of body.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
      if (["meta", "link", "wbr"].includes(name)) continue;
      if (slash === "") open.push(name);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
  });

  test("declares its language, and skips no heading level", () => {
    expect(page).toStartWith('<!doctype html>\n<html lang="en">');
    const levels = [...body.matchAll(/<main[\s\S]*<\/main>/g)].flatMap(([main]) =>
      [...main.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level)),
    );
    expect(levels[0]).toBe(1);
    levels.reduce((previous, level) => {
      expect(level).toBeLessThanOrEqual(previous + 1);
      return level;
    });
  });
});

describe("the page is self-contained", () => {
  test("no element loads anything; other sites are only linked", () => {
    expect(body).not.toMatch(/\s(src|srcset|poster|action|formaction|background|data|ping)=/);
    // "Try it" sends requests to the server of the page alone
    const withoutTrying = page.replace("fetch(address + target.value, ", "");
    expect(/@import|url\(|fetch\(|XMLHttpRequest|import\(/.exec(withoutTrying)?.[0]).toBeUndefined();
    expect(page.includes("8383")).toBe(false);
    for (const [link] of body.matchAll(/<link [^>]*>/g)) expect(link).toContain('href="data:image/svg+xml,');
    const outside = valuesOf("href").filter((target) => /^[a-z]+:|^\/\//i.test(target) && !target.startsWith("data:"));
    expect([...new Set(outside)]).toEqual(["https://www.standardwebhooks.com"]);
  });

  test("the policy allows this page's style and script by their hashes, and nothing else", () => {
    const hashOf = (element: string) => {
      const text = new RegExp(`<${element}>([\\s\\S]*?)</${element}>`).exec(page)?.[1] ?? "";
      return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    };
    const policy = new Map(
      docsPolicy([])
        .split("; ")
        .map((directive): [string, string] => {
          const [name = "", ...sources] = directive.split(" ");
          return [name, sources.join(" ")];
        }),
    );
    expect(policy.get("default-src")).toBe("'none'");
    expect(policy.get("style-src")).toBe(hashOf("style"));
    expect(policy.get("script-src")).toBe(hashOf("script"));
    expect(policy.get("frame-ancestors")).toBe("'none'");
    expect(body).not.toMatch(/\s(style|on[a-z]+)="/);
    expect(page.split("<script>")).toHaveLength(2);
    expect(page.split("<style>")).toHaveLength(2);
  });
});

describe("texts of operations are escaped", () => {
  test("in a summary", () => {
    const [first, ...others] = DECLARED_OPERATIONS;
    if (first === undefined) throw new Error("there are operations");
    const summary = "Store </p><script>alert(1)</script> & \"quotes\" 'too'.";
    const hostile = pageOf([{ ...first, summary }, ...others]);
    expect(hostile).not.toContain("<script>alert");
    expect(hostile).toContain("Store &#60;/p&#62;&#60;script&#62;alert(1)&#60;/script&#62; &#38; &#34;quotes&#34;");
  });

  test("in a template, by position, and in backticks", () => {
    const bad = `<b a="x" b='y'>&`;
    const escaped = "&#60;b a=&#34;x&#34; b=&#39;y&#39;&#62;&#38;";
    expect(html`<p title="${bad}">${bad}${[bad, html`<i>${bad}</i>`]}${null}${0}</p>`.text).toBe(
      `<p title="${escaped}">${escaped}${escaped}<i>${escaped}</i>0</p>`,
    );
    expect(prose(`a \`${bad}\` b`).text).toBe(`a <code>${escaped}</code> b`);
  });
});

describe("the examples work as shown", () => {
  test("filter examples are valid filters", () => {
    for (const [filter] of FILTER_EXAMPLES) expect(() => parseFilter(JSON.parse(filter))).not.toThrow();
    const shown = FILTER_EXAMPLES.map(([filter]) => filter).join();
    for (const combinator of ["$or", "$not"]) expect(shown).toContain(combinator);
  });

  test("curl commands have bodies that are JSON after shell quoting", () => {
    const shown = [...body.matchAll(/<code>(curl [\s\S]*?)<\/code>/g)].map(([, text = ""]) =>
      text.replace(/&#(\d+);/g, (_, character) => String.fromCharCode(Number(character))),
    );
    expect(shown).toHaveLength(DECLARED_OPERATIONS.length);
    for (const text of shown) {
      expect(text).toMatch(/^curl (-N )?(-X [A-Z]+ )?"\$API\/[\w/?=&%-]+"/);
      const json = / -d '([\s\S]*)'$/.exec(text)?.[1];
      if (json !== undefined) expect(() => JSON.parse(json.replaceAll("'\\''", "'"))).not.toThrow();
    }
  });

  test("formatted JSON has the same value", () => {
    const seed = 20_261_121;
    const random = seeded(seed);
    const make = (depth: number): unknown => {
      const kind = Math.floor(random() * (depth === 0 ? 4 : 6));
      if (kind < 4) return [null, random() < 0.5, Math.floor(random() * 1e6), 'a "text", { } [ ] \n of words'][kind];
      const items = Array.from({ length: Math.floor(random() * 4) }, () => make(depth - 1));
      return kind === 4 ? items : Object.fromEntries(items.map((item, at) => [`name ${at} { [ `, item]));
    };
    for (let round = 0; round < 300; round++) {
      const value = make(4);
      expect([seed, JSON.parse(prettyJson(value))]).toEqual([seed, value]);
    }
  });

  describe("the code that checks a webhook signature", () => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-docs-"));
    afterAll(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "verify.mjs");
    writeFileSync(file, VERIFICATION_SNIPPET);
    const secret = newWebhookSecret((count) => crypto.getRandomValues(new Uint8Array(count)));
    const message = { id: "dlv_1", body: '{"type":"webhook.test","data":{"webhook_id":"wh_ü"}}', secret };
    const headersAt = (timestampSeconds: number) => ({
      "webhook-id": message.id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": signWebhook({ ...message, timestampSeconds }),
    });
    const nowSeconds = Math.floor(systemClock.now() / 1000);
    const isFromMneme = async (...given: unknown[]): Promise<unknown> => (await import(file)).isFromMneme(...given);

    test("accepts signed messages as text or bytes, also with a second signature of an older secret", async () => {
      const headers = headersAt(nowSeconds);
      expect(await isFromMneme(secret, headers, message.body)).toBe(true);
      expect(await isFromMneme(secret, headers, Buffer.from(message.body))).toBe(true);
      const both = { ...headers, "webhook-signature": `v1,AAAA ${headers["webhook-signature"]}` };
      expect(await isFromMneme(secret, both, message.body)).toBe(true);
    });

    test("refuses another body, another id, another secret and an old message", async () => {
      const headers = headersAt(nowSeconds);
      expect(await isFromMneme(secret, headers, `${message.body} `)).toBe(false);
      expect(await isFromMneme(secret, { ...headers, "webhook-id": "dlv_2" }, message.body)).toBe(false);
      expect(await isFromMneme(`whsec_${btoa("x".repeat(32))}`, headers, message.body)).toBe(false);
      expect(await isFromMneme(secret, headersAt(nowSeconds - 600), message.body)).toBe(false);
      expect(await isFromMneme(secret, { ...headers, "webhook-timestamp": "soon" }, message.body)).toBe(false);
    });
  });
});
