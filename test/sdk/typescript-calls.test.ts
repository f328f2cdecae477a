// The TypeScript client against a real server, built as it is published, under Node and Bun: every method, and the code
// of its README and of docs/sdk.md.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningServer, startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";
import { documentedCode, operationsCalled, type ReceivingServer, startReceiver } from "./sdk.ts";

const PACKAGE = join(ROOT, "sdk/typescript");
const hasAi = existsSync(join(PACKAGE, "node_modules/ai"));
const withAi = hasAi ? "" : ", skipped: run npx -y bun install in sdk/typescript";
const RUNTIMES = [
  ["Node", "node"],
  ["Bun", process.execPath],
] as const;

let folder: string;
let receiver: ReceivingServer;

beforeAll(async () => {
  receiver = startReceiver();
  folder = mkdtempSync(join(tmpdir(), "mneme-sdk-"));
  const installed = join(folder, "node_modules/mneme-client");
  mkdirSync(installed, { recursive: true });
  cpSync(join(PACKAGE, "package.json"), join(installed, "package.json"));
  const tsc = [join(ROOT, "node_modules/.bin/tsc"), "-p", PACKAGE, "--outDir", join(installed, "dist")];
  await outputOf([process.execPath, ...tsc], {});
  cpSync(join(ROOT, "test/sdk/typescript-calls.mjs"), join(folder, "calls.mjs"));
  cpSync(join(ROOT, "test/sdk/typescript-ai.mjs"), join(folder, "ai.mjs"));
  for (const name of hasAi ? ["ai", "@ai-sdk", "zod"] : []) {
    const installed = join(PACKAGE, "node_modules", name);
    if (existsSync(installed)) symlinkSync(installed, join(folder, "node_modules", name));
  }
});
afterAll(async () => {
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The output of a program in the folder with the installed client. @throws Error with its output if it fails */
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
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${output}\n${errors}`);
  return output;
}

function environmentOf({ url, key }: RunningServer): Record<string, string> {
  return { MNEME_URL: url, MNEME_API_KEY: key, HOOK_URL: receiver.url };
}

describe.each(RUNTIMES)("under %s", (name, program) => {
  let running: RunningServer;
  beforeAll(async () => {
    running = await startServer({ environment: { MNEME_WEBHOOK_ALLOW: "127.0.0.1" } });
  });
  afterAll(async () => {
    await running.stop();
  });

  test("every method works on a real server, and every operation has one", async () => {
    const output = await outputOf([program, "calls.mjs"], environmentOf(running));
    expect(JSON.parse(output).calls).toBeGreaterThan(90);
    expect((await operationsCalled(running)).missing).toEqual([]);
  });

  test("the README is a tour that works", async () => {
    const file = join(folder, `readme-${name}.mjs`);
    writeFileSync(file, documentedCode("sdk/typescript/README.md", "js", receiver));
    const output = await outputOf([program, file], environmentOf(running));
    expect(output).toContain("under the blue pot");
    expect(output).toContain(`The handbook ${receiver.origin}/handbook`);
    expect(output).toContain("cook monday\n1 of 1 deleted");
    expect(output).toContain("memory_not_found 404");
  });

  test("the code of docs/sdk.md works", async () => {
    const file = join(folder, `docs-${name}.mjs`);
    writeFileSync(file, documentedCode("docs/sdk.md", "js", receiver));
    const output = await outputOf([program, file], environmentOf(running));
    expect(output).toBe("The handbook\nThe soup needs more salt.\ncompleted 1\n");
  });
});

test.skipIf(!hasAi)(`the tools and models for Vercel's AI SDK work with it${withAi}`, async () => {
  await using running = await startServer();
  // the version of the AI SDK needs Node 22
  expect(await outputOf([process.execPath, "ai.mjs"], environmentOf(running))).toBe("ok\n");
});

test.skipIf(!hasAi)(`its tools and models have the types of Vercel's AI SDK${withAi}`, async () => {
  const program = [
    'import type { EmbeddingModel, LanguageModel, ToolSet } from "ai";',
    'import type { LanguageModelV3, ProviderV3 } from "@ai-sdk/provider";',
    'import { Mneme } from "mneme-client";',
    'import { mnemeProvider, mnemeTools } from "mneme-client/ai";',
    'const provider = mnemeProvider(new Mneme({ apiKey: "ctx_x" }), { userId: "ada" });',
    "export const whole: Omit<ProviderV3, 'textEmbeddingModel'> = provider;",
    'export const earlier: LanguageModelV3 = provider("mneme/precise");',
    'export const model: LanguageModel = provider("mneme");',
    'export const embedder: EmbeddingModel = provider.embeddingModel("all-minilm-l6-v2");',
    "export const tools: ToolSet = { ...mnemeTools(new Mneme()) };",
    "// @ts-expect-error: a misspelt mode",
    'provider("mneme/presice");',
  ];
  writeFileSync(join(folder, "types.mts"), program.join("\n"));
  const flags = ["--strict", "--module", "NodeNext", "--skipLibCheck", "--noEmit", "--target", "ES2022"];
  const tsc = join(PACKAGE, "node_modules/typescript/bin/tsc");
  expect(await outputOf([process.execPath, tsc, ...flags, "types.mts"], {})).toBe("");
});

test("the package has no dependencies, runs where it says, and brings its licence", () => {
  const description = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  expect(description.dependencies).toBeUndefined();
  expect(description.engines).toEqual({ node: ">=20" });
  expect(readFileSync(join(PACKAGE, "LICENSE"), "utf8")).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
});
