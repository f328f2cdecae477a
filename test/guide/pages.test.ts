// The code of the guide's pages runs as it is against a real server, and prints what the pages show. Every block runs
// here or in the test that is named below, or says in a comment above it why not.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SECTIONS } from "../../docs/site/contents.ts";
import { NO_PYTHON, pythonWithClients } from "../support/python-clients.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";
import { blocksOf, type CodeBlock, type Language, missingLine, shownOutput } from "./page-code.ts";

/** Code of pages that other tests run: by page and language, the file of the test. */
const TESTED_ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/mem0.md": { python: "test/clients/mem0-pypi.test.ts", js: "test/clients/mem0-pypi.test.ts" },
  "docs/mcp.md": { ts: "test/mcp/tour.test.ts" },
  "docs/openai.md": { python: "test/clients/openai-pypi.test.ts", js: "test/clients/openai-pypi.test.ts" },
  "docs/sdk.md": { python: "test/sdk/python.test.ts", js: "test/sdk/typescript-calls.test.ts" },
  "sdk/typescript/README.md": { js: "test/sdk/typescript-calls.test.ts" },
  "sdk/python/README.md": { python: "test/sdk/python.test.ts" },
};
const LANGUAGES: readonly Language[] = ["sh", "js", "python"];
/** Languages of blocks that are no code. */
const SHOWN: readonly string[] = ["text", "json"];
const python = pythonWithClients();
const sources = SECTIONS.flatMap(({ pages }) => pages.map(({ source }) => source));

/** The blocks of a page that this test runs, or that say why it does not. */
function blocksToRun(page: string): readonly CodeBlock[] {
  const elsewhere = TESTED_ELSEWHERE[page] ?? {};
  return blocksOf(page).filter(({ language }) => !SHOWN.includes(language) && elsewhere[language] === undefined);
}
const runs = sources.filter((page) => blocksToRun(page).length > 0);

let server: RunningServer;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mneme-guide-"));
  const client = join(folder, "node_modules/mneme-client");
  mkdirSync(client, { recursive: true });
  // Bun runs the sources; test/sdk/typescript-calls.test.ts tests the built package
  writeFileSync(join(client, "package.json"), '{"name": "mneme-client", "exports": "./src/index.ts"}');
  symlinkSync(join(ROOT, "sdk/typescript/src"), join(client, "src"));
  symlinkSync(join(ROOT, "node_modules/openai"), join(folder, "node_modules/openai"));
  server = await startServer({ environment: { MNEME_WEBHOOK_ALLOW: "127.0.0.1" } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The output of a page's code in one language, with a key of a project of its own. @throws Error if it fails */
async function outputOf(page: string, language: Language, codes: readonly string[]): Promise<string> {
  const { body } = await server.call("POST", "/v1/projects", { name: page });
  const { key } = body as { readonly key: string };
  const place = mkdtempSync(join(folder, "page-"));
  const file = join(place, `page.${language}`);
  const code = codes
    .join("\n")
    .replaceAll("http://127.0.0.1:8383", server.url)
    .replaceAll("ctx_paste-the-admin-key-here", server.key)
    .replace(/ctx_paste-[a-z-]+/g, key);
  writeFileSync(file, language === "sh" ? `set -euo pipefail\n${code}` : code);
  const command = { sh: ["bash", file], js: [process.execPath, file], python: [python ?? "", file] }[language];
  const child = Bun.spawn(command, {
    cwd: place,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      MNEME_URL: server.url,
      MNEME_API_KEY: key,
      MNEME_ADMIN_KEY: server.key,
      PYTHONPATH: join(ROOT, "sdk/python/src"),
      PYTHONDONTWRITEBYTECODE: "1",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${page} (${language}) failed:\n${output}\n${errors}`);
  return output;
}

describe.each(runs.map((page) => [page]))("%s", (page) => {
  const blocks = blocksToRun(page);

  test("every block of code runs, or says why not", () => {
    const known: readonly string[] = LANGUAGES;
    const silent = blocks.filter(({ language, notRun }) => notRun === null && !known.includes(language));
    expect(silent.map(({ line, language }) => `${page}:${line}: ${language} does not run; say why above it`)).toEqual(
      [],
    );
  });

  for (const language of LANGUAGES) {
    const codes = blocks
      .filter((block) => block.language === language && block.notRun === null)
      .map(({ code }) => code);
    if (codes.length === 0) continue;
    const isSkipped = language === "python" && python === null;
    test.skipIf(isSkipped)(
      `its ${language} prints what it shows${isSkipped ? `, skipped: ${NO_PYTHON}` : ""}`,
      async () => {
        const output = await outputOf(page, language, codes);
        const missing = missingLine(
          output,
          codes.flatMap((code) => shownOutput(code, language)),
        );
        expect([missing, missing === null ? "" : output]).toEqual([null, ""]);
      },
    );
  }
});

test("code that another test runs is on the page, and the test names the page", () => {
  for (const [page, tests] of Object.entries(TESTED_ELSEWHERE)) {
    const languages = new Set(blocksOf(page).map(({ language }) => language));
    for (const [language, file] of Object.entries(tests)) {
      expect([page, languages.has(language)]).toEqual([page, true]);
      expect([file, readFileSync(join(ROOT, file), "utf8").includes(page)]).toEqual([file, true]);
    }
  }
});

test("a reason for not running code names tests that exist", () => {
  const named = sources
    .flatMap((page) => blocksOf(page))
    .flatMap(({ notRun }) => notRun?.match(/test\/[\w./-]+/g) ?? []);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("the runner notices output that a page does not show, and a missing comment is no output", () => {
  expect(missingLine('{"id":"mem_0abc","score":0.25}', ['{"id": "mem_01x…", "score": 0.1…}'])).toBeNull();
  expect(missingLine("one\nthree", ["one", "two"])).toBe("two");
  expect(missingLine("two one", ["one", "two"])).toBe("two");
  expect(shownOutput("# before\nrun\n# out {\n#   more }\n\n# after a gap", "sh")).toEqual(["out { more }"]);
});
