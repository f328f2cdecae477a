// The programs of examples/ run as they are against a real server. A stand-in on loopback takes the place of the
// language model: it calls the tools that it is offered, and answers with what they return.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPdf } from "../documents/pdf/build-pdf.ts";
import { type LlmStub, startLlm } from "../support/llm.ts";
import { NO_PYTHON, pythonWithClients } from "../support/python-clients.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";
import { until } from "../support/until.ts";

const EXAMPLES = join(ROOT, "examples");
const python = pythonWithClients();
const withPython = python === null ? `, skipped: ${NO_PYTHON}` : "";
const LINES_MAX = 80;
const README_LINES_MAX = 20;

let server: RunningServer;
let llm: LlmStub;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mneme-examples-"));
  const client = join(folder, "node_modules/mneme-client");
  mkdirSync(client, { recursive: true });
  // Bun runs the sources; test/sdk/typescript-calls.test.ts tests the built package
  writeFileSync(join(client, "package.json"), '{"name": "mneme-client", "exports": "./src/index.ts"}');
  symlinkSync(join(ROOT, "sdk/typescript/src"), join(client, "src"));
  symlinkSync(join(ROOT, "node_modules/openai"), join(folder, "node_modules/openai"));
  llm = startLlm(({ body }) => Response.json(completionOf(body.messages, Array.isArray(body.tools))));
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await llm.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Said {
  readonly role: string;
  readonly content: string;
}

/** What the stand-in says: a call of a tool for a message of the user, then what the tool returned. */
function completionOf(messages: readonly Said[], hasTools: boolean): object {
  const last = messages.at(-1);
  const words = last?.content ?? "";
  const isQuestion = words.endsWith("?");
  const system = messages.find(({ role }) => role === "system")?.content ?? "";
  const call = {
    id: "call_1",
    type: "function",
    function: {
      name: isQuestion ? "recall" : "remember",
      arguments: JSON.stringify(isQuestion ? { query: words } : { fact: words }),
    },
  };
  const message =
    hasTools && last?.role === "user"
      ? { role: "assistant", content: null, tool_calls: [call] }
      : { role: "assistant", content: `I know: ${(hasTools ? words : system).replace(/\s+/g, " ")}` };
  const finish_reason = "tool_calls" in message ? "tool_calls" : "stop";
  return {
    id: "c",
    object: "chat.completion",
    created: 0,
    model: "m",
    choices: [{ index: 0, message, finish_reason }],
  };
}

/** The key of a new project. */
async function newKey(name: string): Promise<string> {
  const { body } = await server.call("POST", "/v1/projects", { name });
  return (body as { readonly key: string }).key;
}

function environmentOf(key: string): Record<string, string | undefined> {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    MNEME_URL: server.url,
    MNEME_API_KEY: key,
    OPENAI_BASE_URL: llm.baseUrl,
    OPENAI_API_KEY: "any",
    PYTHONPATH: join(ROOT, "sdk/python/src"),
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

/** Copies a program beside the packages that it imports. */
function installed(path: string): string {
  const file = join(folder, path.replaceAll("/", "-"));
  writeFileSync(file, readFileSync(join(EXAMPLES, path)));
  return file;
}

/** The output of a program that is given lines. @throws Error with its output if it fails */
async function outputOf(command: readonly string[], key: string, lines: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: environmentOf(key),
    stdin: new Blob([`${lines.join("\n")}\n`]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${output}\n${errors}`);
  return output;
}

const AGENTS = [
  ["agent-typescript/agent.ts", process.execPath],
  ["agent-python/agent.py", python],
  ["langgraph-python/graph.py", python],
] as const;

for (const [path, runtime] of AGENTS) {
  test.skipIf(runtime === null)(`${path} recalls after a restart what it was told${withPython}`, async () => {
    const [file, key] = [installed(path), await newKey(path)];
    await outputOf([runtime ?? "", file], key, ["I am allergic to nuts."]);
    const output = await outputOf([runtime ?? "", file], key, ["What am I allergic to?"]);
    expect(output).toStartWith("I know: ");
    expect(output).toContain("I am allergic to nuts.");
  });
}

test("pdf-chat/chat.ts reads a folder, cites file and page, names what it cannot read, and sends nothing twice", async () => {
  const [file, key] = [installed("pdf-chat/chat.ts"), await newKey("pdf-chat")];
  const pdfs = join(folder, "papers/deep");
  mkdirSync(pdfs, { recursive: true });
  const text = "The lighthouse of Skarn was built in 1871 by Ida Holm.";
  const lighthouse = buildPdf({ pages: [[{ text, x: 60, y: 80 }]] });
  writeFileSync(join(pdfs, "lighthouse.pdf"), lighthouse);
  writeFileSync(join(folder, "papers/broken.pdf"), "%PDF-1.4 and nothing more");
  writeFileSync(join(folder, "papers/notes.txt"), "no PDF");
  const run = () =>
    outputOf([process.execPath, file, join(folder, "papers")], key, ["Who built the lighthouse of Skarn?"]);
  const output = await run();
  expect(output).toContain("read deep/lighthouse.pdf");
  expect(output).toContain("cannot read broken.pdf: ");
  expect(output).not.toContain("notes.txt");
  expect(output).toContain("built in 1871 by Ida Holm. [1]\n  [1] deep/lighthouse.pdf, page 1\n");
  await run();
  const response = await fetch(`${server.url}/v1/memories?limit=10`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await response.json()) as { readonly data: readonly object[] };
  expect(data).toHaveLength(2);
});

test("tenants/server.ts keeps users apart, and refuses who is nobody", async () => {
  const child = Bun.spawn([process.execPath, installed("tenants/server.ts")], {
    cwd: folder,
    env: { ...environmentOf(await newKey("tenants")), PORT: "0" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  try {
    let printed = "";
    void (async () => {
      for await (const part of child.stdout) printed += new TextDecoder().decode(part);
    })();
    const port = await until("the example listens", async () => /"port":(\d+)/.exec(printed)?.[1] ?? false);
    const call = async (user: string, path: string, body?: string) => {
      const headers = { authorization: `Bearer token-of-${user}` };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        headers,
        ...(body !== undefined && { method: "POST", body }),
      });
      return { status: response.status, text: await response.text() };
    };
    expect((await call("ada", "/notes", "My locker code is 4711.")).status).toBe(201);
    expect((await call("ada", "/ask?q=What+is+my+locker+code?")).text).toContain("4711");
    const other = await call("ben", "/ask?q=What+is+my+locker+code?");
    expect([other.status, other.text.includes("4711")]).toEqual([200, false]);
    expect((await call("", "/ask?q=x")).status).toBe(401);
    expect((await call("ada", "/nothing")).status).toBe(404);
    expect((await call("ada", "/ask")).status).toBe(400);
    expect((await call("ada", "/notes", "x".repeat(100_001))).status).toBe(413);
  } finally {
    child.kill();
    await child.exited;
  }
});

test("examples are short, and each has a page", () => {
  for (const { name } of readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    const linesOf = (file: string) =>
      readFileSync(join(EXAMPLES, name, file), "utf8")
        .trimEnd()
        .split("\n").length;
    const programs = readdirSync(join(EXAMPLES, name)).filter((file) => /\.(ts|py)$/.test(file));
    expect([name, programs.length]).toEqual([name, 1]);
    expect(linesOf(programs[0] ?? "")).toBeLessThanOrEqual(LINES_MAX);
    expect(linesOf("README.md")).toBeLessThanOrEqual(README_LINES_MAX);
  }
});
