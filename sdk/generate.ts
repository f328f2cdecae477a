// Generates the cores of the clients from the OpenAPI document. `--check` compares instead, and fails on a difference.
// The generators are installed where they are missing, which needs a network connection.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RATE_LIMITS, RateBuckets } from "../src/account/rate-limits.ts";
import { openApiDocument } from "../src/api/openapi.ts";
import { VERSION } from "../src/kit/version.ts";
import { DECLARED_OPERATIONS } from "../test/support/declared-operations.ts";

const SDK = import.meta.dir;
/** Exit code if a generator cannot be installed. */
const NOT_INSTALLED = 3;
/** Documents hold a few hundred kilobytes; generating takes seconds. */
const COMMAND_TIMEOUT_MS = 240_000;

class CannotInstall extends Error {}

/** What is generated: a folder of the repository, and how its content is made in an empty folder. */
interface Target {
  readonly folder: string;
  readonly make: (folder: string, document: string) => Promise<void>;
}

const TARGETS: readonly Target[] = [{ folder: "typescript/src/core", make: makeTypescript }];

async function main(): Promise<number> {
  const isCheck = process.argv.includes("--check");
  const work = mkdtempSync(join(tmpdir(), "mneme-sdk-"));
  try {
    const document = join(work, "openapi.json");
    writeFileSync(document, JSON.stringify(documentOfClients()));
    const differences: string[] = [];
    for (const { folder, make } of TARGETS) {
      const made = join(work, folder);
      mkdirSync(made, { recursive: true });
      await make(made, document);
      if (isCheck) differences.push(...differencesBetween(made, join(SDK, folder)).map((path) => `${folder}/${path}`));
      else replace(join(SDK, folder), made);
    }
    if (differences.length === 0) return 0;
    process.stderr.write(`not as generated: ${differences.slice(0, 20).join(", ")}\nrun: npx -y bun sdk/generate.ts\n`);
    return 1;
  } catch (error) {
    if (!(error instanceof CannotInstall)) throw error;
    process.stderr.write(`${error.message}\n`);
    return NOT_INSTALLED;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The document without the numbers that an operator can set, which would make clients differ for no reason. */
function documentOfClients(): object {
  const buckets = new RateBuckets(RATE_LIMITS, DECLARED_OPERATIONS);
  return openApiDocument({ operations: DECLARED_OPERATIONS, version: VERSION, buckets });
}

async function makeTypescript(folder: string, document: string): Promise<void> {
  const home = join(SDK, "typescript");
  const generator = join(home, "node_modules/@hey-api/openapi-ts/bin/run.js");
  if (!existsSync(generator)) {
    await install([process.execPath, "install", "--frozen-lockfile", "--silent"], home);
  }
  const config = join(dirname(document), "openapi-ts.config.ts");
  const settings = {
    input: document,
    output: { path: folder, importFileExtension: ".ts" },
    plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"],
    logs: { level: "silent", file: false },
  };
  writeFileSync(config, `export default ${JSON.stringify(settings)};\n`);
  await run([process.execPath, generator, "--file", config], home);
}

async function install(command: readonly string[], directory: string): Promise<void> {
  try {
    await run(command, directory);
  } catch (error) {
    throw new CannotInstall(`${String(error)}\nThe generator comes from npm's registry.`);
  }
}

/** Runs a command. @throws Error with its output if it fails */
async function run(
  command: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  if (Bun.which(command[0] ?? "") === null) throw new Error(`${command[0]} is not installed`);
  const child = Bun.spawn([...command], {
    cwd: directory,
    env: { ...process.env, NO_COLOR: "1", ...environment },
    timeout: COMMAND_TIMEOUT_MS,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${output}\n${errors}`);
}

function differencesBetween(left: string, right: string): readonly string[] {
  const paths = new Set([...filesOf(left), ...filesOf(right)]);
  const textOf = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : null);
  return [...paths].filter((path) => textOf(join(left, path)) !== textOf(join(right, path))).sort();
}

function filesOf(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("__pycache__"))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

function replace(folder: string, made: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(made, folder, { recursive: true });
}

process.exit(await main());
