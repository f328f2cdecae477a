// The files of deploy/ are accepted by the programs that read them, where these are installed, and agree with each
// other and with the settings of Mneme.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { YAML } from "bun";
import { parseConfig } from "../../src/config.ts";
import { instructionsOf, listIn } from "../binary/dockerfile.ts";
import { HAPROXY_MISSING } from "../nodes/cluster/haproxy.ts";
import { LIBRARIES, PROGRAMS } from "../nodes/cluster/parts.ts";
import { startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";

const DEPLOY = join(ROOT, "deploy");
const textOf = (name: string) => readFileSync(join(DEPLOY, name), "utf8");
const UNITS = ["mneme", "patroni"] as const;
const ADDRESSES = ["MNEME_BIND", "POSTGRES_BIND", "STATUS_BIND", "MNEME_A", "MNEME_B"];
const HOSTS = ["POSTGRES_1", "POSTGRES_2", "POSTGRES_3"];

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}
const compose = YAML.parse(textOf("compose.yml")) as Compose;

/** The output of a program, and whether it succeeded. */
function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): [boolean, string] {
  const { success, stdout, stderr } = Bun.spawnSync([...command], { env: { PATH: process.env.PATH ?? "", ...env } });
  return [success, `${stdout}${stderr}`];
}

describe("HAProxy", () => {
  test.skipIf(HAPROXY_MISSING !== null)(
    `accepts its file${HAPROXY_MISSING === null ? "" : ` (${HAPROXY_MISSING})`}`,
    () => {
      const addresses = Object.fromEntries(ADDRESSES.map((name, at) => [name, `127.0.0.1:${20_000 + at}`]));
      const hosts = Object.fromEntries(HOSTS.map((name) => [name, "127.0.0.1"]));
      const check = [PROGRAMS.haproxy, "-c", "-f", join(DEPLOY, "haproxy.cfg")];
      const [isValid, output] = run(check, { ...addresses, ...hosts, LD_LIBRARY_PATH: LIBRARIES });
      expect(isValid ? "" : output).toBe("");
    },
  );
  test("gets every variable of its file from the compose file", () => {
    const used = [...textOf("haproxy.cfg").matchAll(/"\$\{(\w+)\}/g)].map(([, name]) => String(name));
    expect(new Set(used)).toEqual(new Set([...ADDRESSES, ...HOSTS]));
    expect(new Set(Object.keys(compose.services.haproxy?.environment ?? {}))).toEqual(new Set(used));
  });
});

describe("the compose file", () => {
  test("refers only to services and volumes that it has", () => {
    const services = Object.keys(compose.services);
    for (const { depends_on: needs = [], volumes = [] } of Object.values(compose.services)) {
      for (const name of Array.isArray(needs) ? needs : Object.keys(needs)) expect(services).toContain(name);
      for (const volume of volumes.filter((each) => !each.startsWith("."))) {
        expect(Object.keys(compose.volumes)).toContain(volume.split(":")[0] ?? "");
      }
    }
  });
  test("gives Mneme settings that it accepts", () => {
    for (const name of ["mneme-a", "mneme-b"]) {
      const given = Object.entries(compose.services[name]?.environment ?? {});
      const environment = Object.fromEntries(
        given.map(([key, value]) => [
          key,
          value.replace(/\$\{PASSWORD:\?\}/, "word").replace(/\$\{ADMIN_KEY:\?\}/, `ctx_${"a".repeat(16)}`),
        ]),
      );
      const config = parseConfig([], environment, { workingDirectory: tmpdir(), shippedModelsDirectory: () => "" });
      expect(config).toMatchObject({ role: "all", indexMemoryMax: 4 * 2 ** 30, drainMs: 5_000 });
    }
  });
});

test("Patroni's file asks for strict quorum commits", () => {
  const { bootstrap } = YAML.parse(textOf("patroni.yml")) as { readonly bootstrap: { readonly dcs: object } };
  expect(bootstrap.dcs).toMatchObject({ synchronous_mode: "quorum", synchronous_mode_strict: true });
});

const hasSystemd = Bun.which("systemd-analyze") !== null;
for (const unit of UNITS) {
  test.skipIf(!hasSystemd)(
    `systemd accepts ${unit}.service${hasSystemd ? "" : " (systemd-analyze is missing)"}`,
    () => {
      const folder = mkdtempSync(join(tmpdir(), "mneme-units-"));
      try {
        // the programs need not be installed here
        const text = textOf(`systemd/${unit}.service`).replace(/^(ExecStart=)\S+/m, "$1/bin/true");
        const file = join(folder, `${unit}.service`);
        writeFileSync(file, text);
        const [isValid, output] = run(["systemd-analyze", "verify", file]);
        expect(isValid && !output.includes(file) ? "" : output).toBe("");
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
}

test("the health check of the image sees whether a server answers on its port", async () => {
  const check = instructionsOf(textOf("mneme.Dockerfile")).find(({ keyword }) => keyword === "HEALTHCHECK");
  const command = listIn(check?.argument ?? "");
  const server = await startServer();
  const { port } = new URL(server.url);
  expect(run(command, { MNEME_PORT: port })).toEqual([true, ""]);
  await server.stop();
  const [isHealthy] = run(command, { MNEME_PORT: port });
  expect(isHealthy).toBe(false);
});

const helm = [Bun.which("helm"), join(homedir(), "go/bin/helm")].find((path) => path !== null && existsSync(path));
test.skipIf(helm === undefined)(
  `helm accepts the chart${helm === undefined ? " (helm is missing: go install helm.sh/helm/v3/cmd/helm@latest)" : ""}`,
  () => {
    const chart = join(DEPLOY, "chart");
    const env = { HOME: tmpdir() };
    const [isValid, output] = run([helm ?? "", "lint", "--strict", chart], env);
    expect(isValid ? "" : output).toBe("");
    const [isMade, made] = run([helm ?? "", "template", "x", chart, "--set", "ingest.replicas=2"], env);
    expect(isMade).toBe(true);
    const roles = [...made.matchAll(/name: MNEME_ROLE, value: "(\w+)"/g)].map(([, role]) => role);
    expect(roles.sort()).toEqual(["api", "ingest"]);
    expect(run([helm ?? "", "template", "x", chart], env)[1]).toContain('name: MNEME_ROLE, value: "all"');
  },
);
