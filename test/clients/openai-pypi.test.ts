// The official client of OpenAI for Python, against a real server: openai_pypi.py has the checks. Also the examples of
// docs/openai.md, in both languages.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { delta, event, type LlmStub, startLlm, streamed } from "../support/llm.ts";
import { NO_PYTHON, pythonWithClients } from "../support/python-clients.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { ROOT } from "../support/sources.ts";
import { until } from "../support/until.ts";

const python = pythonWithClients();
const withPython = python === null ? `, skipped: ${NO_PYTHON}` : "";
const LIGHTHOUSE = [
  { content: "The lighthouse of Skarn was built in 1871 by Ida Holm.", title: "Skarn", userId: "ida", tags: ["year"] },
  { content: "The lighthouse of Skarn is 41 metres tall and painted red.", title: "Height", tags: ["height"] },
];
const KEY = [
  { content: "Ada keeps the spare key under the blue pot.", title: "Spare key", userId: "ada", tags: ["house"] },
];

// biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of any shape, and fail if they differ
type Json = any;
let server: RunningServer;
let llm: LlmStub;
let brokenLlm: LlmStub;
let folder: string;

beforeAll(async () => {
  llm = startLlm(() => streamed(["It was built ", "in 1871 [1]."], { prompt: 300, completion: 9 }));
  const broken = `${event(delta("It was built "))}${event({ error: { message: "no more" } })}`;
  brokenLlm = startLlm(() => new Response(broken, { headers: { "content-type": "text/event-stream" } }));
  server = await startServer();
  folder = mkdtempSync(join(tmpdir(), "mneme-clients-"));
});
afterAll(async () => {
  await server.stop();
  await llm.stop();
  await brokenLlm.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function call(key: string, method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${server.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** The key of a new project with these memories. */
async function newProject(memories: readonly object[], settings: object = {}): Promise<string> {
  const { id, key } = await call(server.key, "POST", "/projects", { name: "a test's" });
  await call(server.key, "PUT", `/projects/${id}`, { smart_ingestion: { enabled: false }, ...settings });
  const { data } = await call(key, "POST", "/memories/batch", { memories });
  for (const { memory } of data) {
    await until("a memory is completed", async () => {
      return (await call(key, "GET", `/memories/${memory.id}`)).status === "completed";
    });
  }
  return key;
}

/** The output of a program. @throws Error with its output if it fails */
async function outputOf(command: readonly string[], environment: Readonly<Record<string, string>>): Promise<string> {
  const { PATH = "", HOME = "" } = process.env;
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { PATH, HOME, ...environment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}\n${output}\n${errors}`);
  return output;
}

test.skipIf(python === null)(`the client from PyPI works with every route${withPython}`, async () => {
  const modelOf = ({ baseUrl }: LlmStub) => ({ llm: { base_url: baseUrl, model: "small" } });
  const quoting = await newProject(LIGHTHOUSE);
  const { key: reader } = await call(quoting, "POST", "/keys", { name: "reads", scopes: ["memories:read"] });
  const output = await outputOf([python ?? "", join(import.meta.dir, "openai_pypi.py")], {
    MNEME_URL: server.url,
    MNEME_EMBEDDER: ENGLISH,
    MNEME_QUOTING: quoting,
    MNEME_WRITING: await newProject(LIGHTHOUSE, modelOf(llm)),
    MNEME_BROKEN: await newProject(LIGHTHOUSE, modelOf(brokenLlm)),
    MNEME_READER: reader,
  });
  expect(output).toMatch(/^openai \(PyPI\): \d+ calls$/m);
  process.stdout.write(output);
});

describe("the examples of docs/openai.md", () => {
  const page = readFileSync(join(ROOT, "docs/openai.md"), "utf8");
  const examples = [...page.matchAll(/```(js|python)\n([\s\S]*?)```/g)].map(([, language = "", code = ""]) => {
    const lines = code.trimEnd().split("\n");
    const mark = language === "js" ? "//" : "#";
    const last = lines.findLastIndex((line) => !line.startsWith(mark));
    // each example ends with comments that show its output
    const shown = lines.slice(last + 1).map((line) => line.slice(mark.length).trim());
    return { language, code: lines.slice(0, last + 1).join("\n"), shown };
  });

  test("are there in both languages", () => {
    expect(examples.filter(({ language }) => language === "js").length).toBeGreaterThan(2);
    expect(examples.filter(({ language }) => language === "python").length).toBeGreaterThan(1);
    for (const { shown } of examples) expect(shown.length).toBeGreaterThan(0);
  });

  for (const [at, { language, code, shown }] of examples.entries()) {
    const isSkipped = language === "python" && python === null;
    test.skipIf(isSkipped)(
      `number ${at + 1} (${language}) prints what it shows${isSkipped ? withPython : ""}`,
      async () => {
        const environment = { KEY: await newProject(KEY), NODE_PATH: join(ROOT, "node_modules") };
        const file = join(folder, `example-${at}.${language === "js" ? "mjs" : "py"}`);
        writeFileSync(file, code.replaceAll("http://127.0.0.1:8383", server.url));
        const output = await outputOf([language === "js" ? process.execPath : (python ?? ""), file], environment);
        const printed = output
          .trimEnd()
          .split("\n")
          .map((line) => line.trim().replace(/mem_[0-9a-z]{26}/g, "mem_…"));
        expect(printed).toEqual(shown);
      },
    );
  }
});
