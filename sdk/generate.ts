// Generates the cores of the clients from the OpenAPI document: sdk/typescript/src/core and sdk/python/…/core, and the
// synchronous half of the Python client from its asynchronous half. `--check` compares instead, checks the style of the
// Python client, and fails on a difference. The generators are installed where they are missing, which needs a network
// connection.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RATE_LIMITS, RateBuckets } from "../src/account/rate-limits.ts";
import { nativeCacheDirectory } from "../src/adapters/native/library.ts";
import { openApiDocument } from "../src/api/openapi.ts";
import type { OpenApiDocument, OperationObject, ResponseObject } from "../src/api/openapi-types.ts";
import { VERSION } from "../src/kit/version.ts";
import { DECLARED_OPERATIONS } from "../test/support/declared-operations.ts";

const SDK = import.meta.dir;
/** Exit code if a generator cannot be installed. */
const NOT_INSTALLED = 3;
/** Time limit of a command. Generating takes seconds; installing a generator takes longer. */
const COMMAND_TIMEOUT_MS = 240_000;

class CannotInstall extends Error {}

/** What is generated: a folder of the repository, and how its content is made in an empty folder. */
interface Target {
  readonly folder: string;
  readonly make: (folder: string, document: string) => Promise<void>;
}

const TARGETS: readonly Target[] = [
  { folder: "typescript/src/core", make: makeTypescript },
  { folder: "python/src/mneme_client/core", make: makePythonCore },
  { folder: "python/src/mneme_client/_sync", make: makePythonSync },
];

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
    if (isCheck) await checkPythonStyle();
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
  // also where it is installed: another version may be pinned since then
  await install([process.execPath, "install", "--frozen-lockfile", "--silent"], home);
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

async function makePythonCore(folder: string, document: string): Promise<void> {
  const home = join(SDK, "python");
  const bin = await pythonGenerator(join(home, "generator.txt"));
  const made = join(folder, "made");
  const input = join(dirname(document), "openapi-python.json");
  writeFileSync(input, JSON.stringify(documentOfPython(JSON.parse(readFileSync(document, "utf8")))));
  await run(
    [
      join(bin, "openapi-python-client"),
      ...["generate", "--path", input, "--meta", "none", "--output-path", made],
      ...["--config", join(home, "generator.yml"), "--custom-template-path", join(home, "templates")],
      "--fail-on-warning",
    ],
    home,
    { PATH: `${bin}:${process.env.PATH ?? ""}` },
  );
  // The generator's own client is not used: the transport sends requests.
  for (const unused of ["client.py", "errors.py", ".ruff_cache"]) {
    rmSync(join(made, unused), { recursive: true, force: true });
  }
  writeFileSync(join(made, "__init__.py"), '"""The API as sdk/generate.ts made it from the OpenAPI document."""\n');
  cpSync(made, folder, { recursive: true });
  rmSync(made, { recursive: true });
}

/**
 * The document without what the Python core does not use: bodies of requests, which are arguments of methods written
 * by hand, errors, headers, streams and webhooks.
 */
function documentOfPython({ webhooks: _, ...document }: OpenApiDocument): object {
  const operationOf = ({ requestBody: _, ...operation }: OperationObject) => ({
    ...operation,
    parameters: operation.parameters.filter((parameter) => "in" in parameter && parameter.in !== "header"),
    responses: mapEntries(operation.responses, ([status, response]) =>
      Number(status) < 400 && "content" in response ? [[status, jsonOf(response)]] : [],
    ),
  });
  const paths = mapEntries(document.paths, ([path, item]) => [
    [path, mapEntries(item, ([method, operation]) => [[method, operationOf(operation)]])],
  ]);
  return JSON.parse(JSON.stringify({ ...document, paths }), (_, part) => withoutNullableEnum(part));
}

/** The Python generator makes three types of an enum with null, but one of a union of an enum and null. */
function withoutNullableEnum(part: unknown): unknown {
  const { enum: values, ...rest } = (typeof part === "object" && part !== null ? part : {}) as Record<string, unknown>;
  if (!Array.isArray(values) || !values.includes(null)) return part;
  const named = { type: "string", enum: values.filter((value) => value !== null) };
  return { ...rest, type: undefined, anyOf: [named, { type: "null" }] };
}

function jsonOf({ description, content }: ResponseObject): object {
  const json = content?.["application/json"];
  return { description, ...(json !== undefined && { content: { "application/json": { schema: json.schema } } }) };
}

function mapEntries<In, Out>(
  record: Readonly<Record<string, In>>,
  change: (entry: [string, In]) => readonly (readonly [string, Out])[],
): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).flatMap(change));
}

/** Replacements that make the synchronous half of the Python client from its asynchronous half. */
const SYNC: readonly (readonly [RegExp, string])[] = [
  [/^"""(.*)/, '"""Made by sdk/generate.ts from the asynchronous half. $1'],
  [/\basync (def|for|with)\b/g, "$1"],
  [/\bawait /g, ""],
  [/\bAsync(?=[A-Z])/g, ""],
  [/\b__a(enter|exit|iter|next)__\b/g, "__$1__"],
  [/\baclose\b/g, "close"],
  [/\b(a)(iter_bytes|read)\b/g, "$2"],
  [/\basyncio\b/g, "time"],
  [/\bStopAsyncIteration\b/g, "StopIteration"],
  [/\b_async\b/g, "_sync"],
  [/\bAwaitable\[(Page\[T\])\]/g, "$1"],
];

async function makePythonSync(folder: string): Promise<void> {
  const home = join(SDK, "python");
  for (const name of readdirSync(join(home, "src/mneme_client/_async")).filter((each) => each.endsWith(".py"))) {
    const text = readFileSync(join(home, "src/mneme_client/_async", name), "utf8");
    writeFileSync(
      join(folder, name),
      SYNC.reduce((done, [pattern, instead]) => done.replace(pattern, instead), text),
    );
  }
  const ruff = join(await pythonGenerator(join(home, "generator.txt")), "ruff");
  const style = ["--quiet", "--isolated", "--no-cache", "--target-version", "py39", "--line-length", "120"];
  await run([ruff, "check", "--fix", "--exit-zero", "--select=I,F", ...style, folder], home);
  await run([ruff, "format", ...style, folder], home);
}

/** Checks format and style of the handwritten part of the Python client (pyproject.toml has the rules). */
async function checkPythonStyle(): Promise<void> {
  const home = join(SDK, "python");
  const ruff = join(await pythonGenerator(join(home, "generator.txt")), "ruff");
  await run([ruff, "check", "--no-cache", "."], home);
  await run([ruff, "format", "--no-cache", "--check", "."], home);
}

/** The folder with the programs of a virtual environment, which is made in the cache folder if it is missing. */
async function pythonGenerator(requirements: string): Promise<string> {
  const hash = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 16);
  const environment = join(dirname(nativeCacheDirectory()), `python-generator-${hash}`);
  const complete = join(environment, "complete");
  if (!existsSync(complete)) {
    rmSync(environment, { recursive: true, force: true });
    await install(["python3", "-m", "venv", environment], SDK);
    const pip = [join(environment, "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    await install([...pip, "-r", requirements], SDK);
    writeFileSync(complete, "");
  }
  return join(environment, "bin");
}

async function install(command: readonly string[], directory: string): Promise<void> {
  try {
    await run(command, directory);
  } catch (error) {
    throw new CannotInstall(`${String(error)}\nThe generators need npm's and Python's registries, and Python 3.10.`);
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
