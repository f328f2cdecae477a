// mem0's client for Python against a real server: mem0_pypi.py has the checks. Also the examples of docs/mem0.md.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NO_PYTHON, pythonWithClients } from "../support/python-clients.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";

const python = pythonWithClients();
const withPython = python === null ? `, skipped: ${NO_PYTHON}` : "";
const folder = mkdtempSync(join(tmpdir(), "mneme-mem0-"));
let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The key of a new project, and one that only reads. */
async function newKeys(): Promise<{ readonly key: string; readonly reader: string }> {
  const { body } = await server.call("POST", "/v1/projects", { name: "a test's" });
  const { key } = body as { readonly key: string };
  const response = await fetch(`${server.url}/v1/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "reads", scopes: ["memories:read"] }),
  });
  return { key, reader: ((await response.json()) as { readonly key: string }).key };
}

/** The output of a program. @throws Error with its output if it fails */
async function outputOf(command: readonly string[], environment: Readonly<Record<string, string>>): Promise<string> {
  const { PATH = "", HOME = "" } = process.env;
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { PATH, HOME, MEM0_TELEMETRY: "false", MEM0_DIR: folder, NO_COLOR: "1", ...environment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}\n${output}\n${errors}`);
  return output;
}

test.skipIf(python === null)(`the client from PyPI works unchanged${withPython}`, async () => {
  const { key, reader } = await newKeys();
  const environment = { MNEME_URL: server.url, MNEME_KEY: key, MNEME_READER: reader };
  const output = await outputOf([python ?? "", join(import.meta.dir, "mem0_pypi.py")], environment);
  expect(output).toMatch(/^mem0ai \(PyPI\): \d+ calls$/m);
  process.stdout.write(output);
});

describe("the examples of docs/mem0.md", () => {
  const page = readFileSync(join(ROOT, "docs/mem0.md"), "utf8");
  const examples = [...page.matchAll(/```(js|python)\n([\s\S]*?)```/g)].map(([, language = "", code = ""]) => ({
    language,
    code,
  }));
  test("are there in both languages", () => {
    expect(examples.map(({ language }) => language).sort()).toEqual(["js", "python"]);
  });
  for (const { language, code } of examples) {
    const isSkipped = language === "python" && python === null;
    test.skipIf(isSkipped)(`in ${language} prints what it shows${isSkipped ? withPython : ""}`, async () => {
      const lines = code.trimEnd().split("\n");
      const shown = (lines.pop() ?? "").replace(/^(\/\/|#) /, "");
      const file = join(folder, language === "js" ? "example.mjs" : "example.py");
      writeFileSync(file, lines.join("\n").replaceAll("http://127.0.0.1:8383", server.url));
      const { key } = await newKeys();
      // modules are found from the file's folder
      const program = language === "js" ? process.execPath : (python ?? "");
      const output = await outputOf([program, file], { KEY: key, NODE_PATH: join(ROOT, "node_modules") });
      expect(output.trim()).toBe(shown);
    });
  }
});
