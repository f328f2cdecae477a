// Installs the packages of a release on minimal Debian systems, as docs/install.md says, and asks the first question.
// MNEME_TEST_ROOTS names the folder of the release. The first run downloads Debian; the others take some minutes.

import { afterAll, describe, expect, test } from "bun:test";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RELEASE } from "../../scripts/release/description.ts";
import { isRecord } from "../../src/kit/record.ts";
import { VERSION } from "../../src/kit/version.ts";
import { ROOT } from "../support/sources.ts";
import { until } from "../support/until.ts";
import { CleanRoot, cleanRootsMissing, type RootUser, type Running } from "./clean-root.ts";
import { buildImage, instructionsOf } from "./dockerfile.ts";
import { serveRelease } from "./registries.ts";

const out = process.env.MNEME_TEST_ROOTS ?? "";
const missing = out === "" ? "MNEME_TEST_ROOTS names no release" : cleanRootsMissing();
if (missing !== null) process.stdout.write(`skipped: installing on a clean Debian (${missing})\n`);

/** Where the files of the release, and those of this folder, are in a root. */
const RELEASE_FOLDER = "/srv/release";
const TEST_FOLDER = "/srv/test";
const ARCHIVE = `${RELEASE.program}-${VERSION}-linux-x64.tar.xz`;
const ANSWER = "Ada keeps the spare key under the blue pot.";
const PERSON = "person";
const FORMULA = "the formula for Homebrew";

/** A way of installing. */
interface Way {
  readonly name: string;
  readonly suite?: string;
  /** What the system has before; it is not part of the time. */
  readonly before: (root: CleanRoot) => Promise<unknown>;
  /** Command line that installs, and who runs it. */
  readonly install: (addresses: Readonly<Record<"npm" | "pip" | "files", string>>) => string;
  readonly user: string;
  readonly start: string;
}

const packages =
  (...names: readonly string[]) =>
  (root: CleanRoot) =>
    root.run([
      "sh",
      "-c",
      `apt-get -qq update && apt-get -qq install --yes --no-install-recommends ${names.join(" ")}`,
    ]);

const WAYS: readonly Way[] = [
  {
    name: "install.sh",
    before: packages("curl", "xz-utils"),
    install: ({ files }) => `curl -fsS ${files}/install.sh | MNEME_RELEASE=${files} sh`,
    user: PERSON,
    start: "~/.local/bin/mneme serve",
  },
  {
    name: "install.sh on Debian 11",
    suite: "bullseye",
    before: packages("curl", "xz-utils"),
    install: ({ files }) => `curl -fsS ${files}/install.sh | MNEME_RELEASE=${files} sh`,
    user: PERSON,
    start: "~/.local/bin/mneme serve",
  },
  {
    name: "npm",
    before: async (root) => useNodeOfThisMachine(root),
    install: ({ npm }) => `npm install --silent --no-update-notifier --registry ${npm} ${RELEASE.registryName}`,
    user: PERSON,
    start: "npx mneme serve",
  },
  {
    name: "pip",
    before: packages("python3-venv"),
    install: ({ pip }) => `python3 -m venv v && v/bin/pip install --quiet --index-url ${pip} ${RELEASE.registryName}`,
    user: PERSON,
    start: "v/bin/mneme serve",
  },
  {
    name: ".deb",
    before: packages("ca-certificates"),
    install: () => `apt-get -qq install --yes ${RELEASE_FOLDER}/mneme_${VERSION}_amd64.deb`,
    user: "root",
    start: "mneme serve",
  },
  {
    name: ".rpm",
    before: packages("rpm"),
    install: () => `rpm --install --nodeps --force-debian ${RELEASE_FOLDER}/mneme-${VERSION}-1.x86_64.rpm`,
    user: "root",
    start: "mneme serve",
  },
  {
    name: FORMULA,
    before: packages("ruby", "xz-utils"),
    install: () => `ruby ${TEST_FOLDER}/homebrew.rb ${RELEASE_FOLDER}/mneme.rb ${RELEASE_FOLDER}/${ARCHIVE} ~/brew`,
    user: PERSON,
    start: "~/brew/bin/mneme serve",
  },
];

/** Gives a root the Node and npm of this machine, because Debian's are older than what the package asks for. */
async function useNodeOfThisMachine(root: CleanRoot): Promise<void> {
  const node = Bun.which("node") ?? "";
  const npm = (await Bun.$`npm root --global`.text()).trim();
  for (const folder of ["usr/local/bin", "usr/local/lib/node_modules"]) {
    mkdirSync(root.path(folder), { recursive: true });
  }
  cpSync(node, root.path("usr/local/bin/node"), { dereference: true });
  cpSync(join(npm, "npm"), root.path("usr/local/lib/node_modules/npm"), { recursive: true });
  for (const name of ["npm", "npx"]) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, root.path(`usr/local/bin/${name}`));
  }
}

/** The address and the key that a starting server prints. */
async function addressOf(server: Running): Promise<{ readonly url: string; readonly key: string }> {
  let isOver = false;
  void server.exited.then(() => {
    isOver = true;
  });
  return until("the server listens", () => {
    if (isOver) throw new Error(`the server ended: ${server.output()}`);
    const url = /^listening on (http:\/\/\S+)$/m.exec(server.output())?.[1]?.replace("0.0.0.0", "127.0.0.1");
    const key = /^\s+KEY=(ctx_\S+)$/m.exec(server.output())?.[1];
    return url !== undefined && key !== undefined && { url, key };
  });
}

/** Stores a memory and asks for it, as in README.md. */
async function firstAnswer({ url, key }: { readonly url: string; readonly key: string }): Promise<string> {
  const call = async (path: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`${url}/v1${path}`, { headers, ...sent })).json();
  };
  const stored = await call("/memories", { content: ANSWER, userId: "ada" });
  const id = isRecord(stored) ? stored.id : "";
  await until("the memory is searchable", async () => {
    const memory = await call(`/memories/${id}`);
    return isRecord(memory) && memory.status === "completed";
  });
  const answer = await call("/memories/query", { query: "where is the spare key?", userId: "ada" });
  return isRecord(answer) ? String(answer.answer) : "";
}

const seconds = (sinceMs: number) => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;

describe.skipIf(missing !== null)("on a clean Debian", () => {
  for (const { name, suite = "bookworm", before, install, user, start } of WAYS) {
    const isMade = name !== FORMULA || existsSync(join(out, "mneme.rb"));
    if (!isMade) process.stdout.write(`skipped: ${name}; \`bun run release --address URL\` makes it\n`);
    test.skipIf(!isMade)(`${name} installs a server that answers`, async () => {
      await using served = serveRelease(out);
      using root = await CleanRoot.make(suite, { [RELEASE_FOLDER]: out, [TEST_FOLDER]: import.meta.dir });
      const preparedAt = performance.now();
      await before(root);
      await root.run(["useradd", "--create-home", PERSON]);
      const prepared = seconds(preparedAt);
      const installedAt = performance.now();
      await root.run(["sh", "-c", install(served)], { user });
      const installed = seconds(installedAt);
      const startedAt = performance.now();
      await using server = root.start(["sh", "-c", `exec ${start} --port 0`], { user: PERSON });
      expect(await firstAnswer(await addressOf(server))).toContain(ANSWER);
      const answered = seconds(startedAt);
      process.stdout.write(`${name}: ${prepared} for what it needs, ${installed} to install, ${answered} to answer\n`);
    });
  }

  test("the image runs without rights on a read-only root", async () => {
    const volume = mkdtempSync(join(tmpdir(), "mneme-volume-"));
    afterAll(() => rmSync(volume, { recursive: true, force: true }));
    const unpacked = join(volume, "program");
    mkdirSync(unpacked);
    const archive = readdirSync(out).find((name) => name.endsWith("-linux-x64.tar.xz")) ?? "";
    await Bun.$`tar --extract --xz --strip-components 1 --directory ${unpacked} --file ${join(out, archive)}`;
    const data = join(volume, "data");
    mkdirSync(data);
    const instructions = instructionsOf(readFileSync(join(ROOT, "deploy/mneme.Dockerfile"), "utf8"));
    const shared = { "/var/lib/mneme": data };
    const image = await buildImage(instructions, { "build:/source/dist/mneme": unpacked }, shared);
    using root = image.root;
    expect(image.volumes).toEqual(Object.keys(shared));
    const [uid = 0, gid = 0] = (await root.run(["sh", "-c", `id -u ${image.user}; id -g ${image.user}`]))
      .split("\n")
      .map(Number);
    expect(uid).toBeGreaterThan(0);
    chownSync(data, uid, gid);
    const user: RootUser = { uid, gid };
    // the port of the image may be in use on this machine
    const environment = { ...image.environment, MNEME_PORT: String(freePort()) };
    const options = { user, environment, isReadOnly: true };
    await expect(root.run(["touch", "/usr/lib/mneme/mneme", "/etc/x"], options)).rejects.toThrow("Read-only");
    const server = root.start(image.entrypoint, options);
    try {
      expect(await firstAnswer(await addressOf(server))).toContain(ANSWER);
      const pid = await server.pid();
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      expect(status).toMatch(/^CapEff:\s+0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
      const health = ["chroot", `--userspec=${uid}:${gid}`, `/proc/${pid}/root`, ...image.healthcheck];
      const { exitCode } = Bun.spawnSync(health, { env: { PATH: process.env.PATH ?? "", ...environment } });
      expect(exitCode).toBe(0);
      process.kill(pid, "SIGTERM");
      expect(await server.exited).toBe(0);
      expect(Bun.spawnSync(health).exitCode).not.toBe(0);
      expect(existsSync(join(data, "data/mneme.sqlite"))).toBe(true);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });
});

function freePort(): number {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port = 0 } = server;
  void server.stop(true);
  return port;
}
