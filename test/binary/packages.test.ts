// Tests the packages of a release: each is installed as a user would, from a registry that the test serves, and is run.
// They are made from dist/mneme, with little compression.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { targetMissing } from "../../native/zig.ts";
import { PLATFORMS, RELEASE } from "../../scripts/release/description.ts";
import { glibcOf, isNewer } from "../../scripts/release/glibc.ts";
import { hasProgram } from "../../scripts/release/tar.ts";
import { release } from "../../scripts/release.ts";
import { isRecord } from "../../src/kit/record.ts";
import { VERSION } from "../../src/kit/version.ts";
import { RUNS_ALL } from "../support/extent.ts";
import { startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { serveRelease } from "./registries.ts";

const program = join(ROOT, "dist/mneme");
const isThere = existsSync(join(program, "mneme"));
if (!isThere) process.stdout.write("skipped: there is no dist/mneme; `bun run build:binary` makes it\n");

const folder = mkdtempSync(join(tmpdir(), "mneme-packages-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const out = join(folder, "release");

/** A small library that takes symbols of glibc 2.14 and older ones. */
const DUCKDB_BINDING = join(ROOT, "node_modules/@duckdb/node-bindings-linux-x64/duckdb.node");

/** Runs a command without waiting for it in this thread, because it may ask a server of this process. */
async function run(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, ...environment },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

/** Expects an installed program to have its libraries and its models: it checks their files. */
async function expectComplete(command: string): Promise<void> {
  const version = await run([command, "version"]);
  expect(version).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`mneme ${VERSION} `) });
  const models = await run([command, "models", "check"]);
  expect(models).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("mneme-e5-small") });
}

describe.skipIf(!isThere || !RUNS_ALL)("a release", () => {
  beforeAll(async () => {
    const only = ["archive", "npm", "wheel", "deb"];
    await release({ out, program, address: null, signingKey: null, only, isFast: true });
  });

  test("lists the checksum of every file, and all parts with their licences", async () => {
    const listed = readFileSync(join(out, "SHA256SUMS"), "utf8").trimEnd().split("\n");
    const files = readdirSync(out).filter((name) => name !== "SHA256SUMS");
    expect(listed.map((line) => line.slice(66)).sort()).toEqual(files.sort());
    const checked = await run(["sh", "-c", `cd ${out} && sha256sum --check --quiet SHA256SUMS`]);
    expect(checked).toMatchObject({ exitCode: 0, stdout: "" });
    const { components } = JSON.parse(readFileSync(join(out, `mneme-${VERSION}.cdx.json`), "utf8"));
    const names = components.map(({ name }: { readonly name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["tantivy", "elysia", "onnxruntime-node", "bun", "mneme-e5-small"]));
    for (const { licenses } of components) expect(JSON.stringify(licenses)).not.toMatch(/undefined|null|UNKNOWN/);
    const { stdout } = await run([join(program, "mneme"), "licences"]);
    for (const name of names) expect(stdout).toContain(`\n${name} `);
    expect(stdout).toContain("Permission is hereby granted");
  });

  test("does not contain the place where it was built", () => {
    expect(readFileSync(join(program, "mneme")).includes(`${ROOT}/`)).toBe(false);
  });

  test("is installed by install.sh without root, which refuses a damaged archive", async () => {
    await using served = serveRelease(out);
    const prefix = join(folder, "prefix");
    const environment = { MNEME_RELEASE: `${served.files}/`, MNEME_PREFIX: prefix };
    const installer = join(out, "install.sh");
    expect(await run(["sh", installer], environment)).toMatchObject({ exitCode: 0, stderr: "" });
    await expectComplete(join(prefix, "bin/mneme"));
    const damaged = join(folder, "damaged");
    mkdirSync(damaged);
    const archive = readdirSync(out).find((name) => name.endsWith(".tar.xz")) ?? "";
    writeFileSync(join(damaged, "SHA256SUMS"), readFileSync(join(out, "SHA256SUMS")));
    writeFileSync(join(damaged, archive), "short");
    appendFileSync(join(damaged, archive), "er");
    const notInstalled = join(folder, "not-installed");
    const refused = await run(["sh", installer], { MNEME_RELEASE: damaged, MNEME_PREFIX: notInstalled });
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("is damaged") });
    expect(existsSync(notInstalled)).toBe(false);
  });

  test.skipIf(!hasProgram("npm"))("is installed from an npm registry, serves and finds", async () => {
    await using served = serveRelease(out);
    const project = join(folder, "npm-project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}");
    const flags = ["--no-audit", "--no-fund", "--no-update-notifier", "--registry", served.npm];
    const installed = await run(["npm", "install", "--prefix", project, ...flags, RELEASE.registryName]);
    expect(installed).toMatchObject({ exitCode: 0 });
    await using server = await startServer({
      command: [join(project, "node_modules/.bin/mneme")],
      workingDirectory: project,
      environment: { MNEME_CACHE_DIR: null },
    });
    const content = "Ada keeps the spare key under the blue flower pot.";
    const stored = await server.call("POST", "/v1/memories", { content });
    const id = isRecord(stored.body) ? stored.body.id : "";
    await until("the memory is searchable", async () => {
      const { body } = await server.call("GET", `/v1/memories/${id}`);
      return isRecord(body) && body.status === "completed";
    });
    const { body } = await server.call("POST", "/v1/memories/search", { query: "where is the spare key?" });
    expect(JSON.stringify(body)).toContain(content);
    expect(await server.stop()).toBe(0); // the launcher passes the signal on, and the exit code back
  });

  test.skipIf(!hasProgram("python3"))("is installed from wheels by pip", async () => {
    const environment = join(folder, "python");
    expect(await run(["python3", "-m", "venv", environment])).toMatchObject({ exitCode: 0 });
    await using served = serveRelease(out);
    const flags = ["--index-url", served.pip, "--disable-pip-version-check", "--no-compile"];
    const installed = await run([join(environment, "bin/pip"), "install", ...flags, RELEASE.registryName]);
    expect(installed).toMatchObject({ exitCode: 0 });
    await expectComplete(join(environment, "bin", RELEASE.registryName));
  });

  test.skipIf(!hasProgram("dpkg-deb"))("has a package for Debian with a unit for systemd", async () => {
    const root = join(folder, "root");
    const deb = readdirSync(out).find((name) => name.endsWith(".deb")) ?? "";
    expect(await run(["dpkg-deb", "--extract", join(out, deb), root])).toMatchObject({ exitCode: 0 });
    await expectComplete(join(root, "usr/bin/mneme"));
    const unit = readFileSync(join(root, "usr/lib/systemd/system/mneme.service"), "utf8");
    expect(unit).toContain("ExecStart=/usr/bin/mneme serve\n");
    const { stdout } = await run(["dpkg-deb", "--field", join(out, deb), "Package", "Version", "Depends"]);
    expect(stdout).toMatch(new RegExp(`Package: mneme\nVersion: ${VERSION}\nDepends: libc6 \\(>= 2\\.\\d+\\), `));
    expect(statSync(join(root, "usr/lib/mneme/mneme")).mode & 0o777).toBe(0o755);
  });
});

/** A program that can be packed, but not run. */
function smallProgram(name: string, library: Uint8Array): string {
  const small = join(folder, name);
  for (const part of ["lib", "models/one"]) mkdirSync(join(small, part), { recursive: true });
  for (const part of ["mneme", "LICENSE", "LICENCES.txt", "models/one/model.json"]) {
    writeFileSync(join(small, part), `${part}\n`, { mode: part === "mneme" ? 0o755 : 0o644 });
  }
  writeFileSync(join(small, "lib/duckdb.node"), library);
  return small;
}

test("a release of the same program has the same bytes", async () => {
  const small = smallProgram("small", readFileSync(DUCKDB_BINDING));
  const [first, second] = ["first", "second"].map((name) => join(folder, name));
  const address = "https://releases.example/v1/";
  for (const each of [first, second]) {
    const only = ["archive", "npm", "wheel", "deb", "rpm"];
    await release({ out: each ?? "", program: small, address, signingKey: null, only, isFast: false });
  }
  const sums = readFileSync(join(first ?? "", "SHA256SUMS"), "utf8");
  expect(sums).toBe(readFileSync(join(second ?? "", "SHA256SUMS"), "utf8"));
  expect(sums).toMatch(/mneme\.rb\n[\s\S]*manylinux_2_14_x86_64\.whl/);
});

test("a release for another processor names it in each package", async () => {
  const arm = PLATFORMS.find(({ id }) => id === "linux-arm64") ?? PLATFORMS[0];
  const out = join(folder, "arm64");
  const program = smallProgram("small-arm64", readFileSync(DUCKDB_BINDING));
  const only = ["archive", "npm", "wheel", "deb"];
  const made = await release({ out, platforms: [arm], program, address: null, signingKey: null, only, isFast: true });
  expect(readdirSync(out)).toEqual(
    expect.arrayContaining([
      ...[`mneme-${VERSION}-linux-arm64.tar.xz`, `${RELEASE.registryName}-linux-arm64-${VERSION}.tgz`],
      expect.stringMatching(/-manylinux_2_14_aarch64\.whl$/),
      ...(hasProgram("dpkg-deb") ? [`mneme_${VERSION}_arm64.deb`] : []),
    ]),
  );
  const reasons = made.flatMap((each) => ("notBuilt" in each ? [each.notBuilt] : []));
  expect(reasons).toContain("linux-x64: --platform linux-x64 builds it");
  expect(reasons.some((reason) => reason.startsWith("linux-arm64"))).toBe(false);
  expect(targetMissing(process.arch)).toBeNull();
  expect(targetMissing("pdp11")).toContain("rustup target add pdp11-unknown-linux-gnu");
});

test("a release of two processors is one folder, with what all share once", async () => {
  const platforms = PLATFORMS.filter(({ npm }) => npm.os === "linux");
  const out = join(folder, "two");
  const program = smallProgram("small-two", readFileSync(DUCKDB_BINDING));
  const options = { out, platforms, program, address: "https://releases.example/v1/", signingKey: null, isFast: true };
  const made = await release({ ...options, only: ["archive", "npm", "wheel"] });
  const files = made.flatMap((each) => ("file" in each ? [basename(each.file)] : []));
  expect(files.toSorted()).toEqual(readdirSync(out).toSorted());
  const name = RELEASE.registryName;
  const tarballs = ["linux-arm64", "linux-x64", "models"].map((part) => `${name}-${part}-${VERSION}.tgz`);
  expect(files.filter((file) => file.endsWith(".tgz")).toSorted()).toEqual([`${name}-${VERSION}.tgz`, ...tarballs]);
  expect(files.filter((file) => file.endsWith(".whl"))).toHaveLength(3);
  const sums = readFileSync(join(out, "SHA256SUMS"), "utf8");
  const formula = readFileSync(join(out, "mneme.rb"), "utf8");
  for (const [block, id] of [
    ["on_intel", "linux-x64"],
    ["on_arm", "linux-arm64"],
  ]) {
    const archive = `mneme-${VERSION}-${id}.tar.xz`;
    const sum = sums.split("\n").find((line) => line.endsWith(`  ${archive}`)) ?? "";
    const lines = [
      `  ${block} do`,
      `    url "https://releases.example/v1/${archive}"`,
      `    sha256 "${sum.slice(0, 64)}"`,
    ];
    expect(formula).toContain(lines.join("\n"));
  }
});

test.skipIf(!hasProgram("minisign"))("a release is signed with the key of its operator", async () => {
  const [publicKey, secretKey] = [join(folder, "key.pub"), join(folder, "key")];
  expect(await run(["minisign", "-G", "-W", "-p", publicKey, "-s", secretKey])).toMatchObject({ exitCode: 0 });
  const signed = join(folder, "signed");
  const options = { out: signed, address: null, signingKey: secretKey, only: ["wheel"], isFast: true };
  await release({ ...options, program: smallProgram("to-sign", readFileSync(DUCKDB_BINDING)) });
  const verify = ["minisign", "-V", "-p", publicKey, "-m", join(signed, "SHA256SUMS")];
  expect(await run(verify)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`mneme ${VERSION}`) });
  appendFileSync(join(signed, "SHA256SUMS"), "0000  other\n");
  expect((await run(verify)).exitCode).not.toBe(0);
});

test("a release says which glibc its program needs, and which file is the reason if that is a newer one", async () => {
  const library = readFileSync(DUCKDB_BINDING);
  expect([glibcOf(library), glibcOf(readFileSync(join(ROOT, "package.json")))]).toEqual(["2.14", null]);
  expect([isNewer("2.34", "2.28"), isNewer("2.9", "2.28"), isNewer("3.0", "2.28"), isNewer("2.28", "2.28")]).toEqual([
    ...[true, false, true, false],
  ]);
  const at = library.indexOf("GLIBC_2.14\0");
  library.set(Buffer.from("GLIBC_2.99"), at);
  const newer = smallProgram("newer", library);
  const options = { address: null, signingKey: null, only: ["wheel"], isFast: true };
  const made = await release({ ...options, out: join(folder, "newer-release"), program: newer });
  const reasons = made.flatMap((each) => ("notBuilt" in each ? [each.notBuilt] : []));
  expect(reasons[0]).toStartWith("a program of linux-x64 for glibc 2.28: lib/duckdb.node needs 2.99");
  expect(made.some((each) => "file" in each && each.file.endsWith("manylinux_2_99_x86_64.whl"))).toBe(true);
});
