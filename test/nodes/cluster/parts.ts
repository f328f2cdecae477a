// The programs that a cluster in tests needs besides PostgreSQL: Patroni from PyPI, etcd and HAProxy from Debian, in a
// folder of their own. Run as a script, it installs them: `npx -y bun test/nodes/cluster/parts.ts`.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { POSTGRES_MISSING, POSTGRES_PROGRAMS } from "../../support/postgres.ts";

const PATRONI = "patroni[etcd3,psycopg3]==4.1.5";
/** Debian's packages: the two programs, and the libraries of HAProxy that not every machine has. */
const DEBIAN = ["etcd-server", "haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"];
/** Servers of PostgreSQL do not run as root, and other users cannot read root's home. */
const FOLDER = "/var/cache/mneme/cluster-1";

/** Paths of the programs. */
export const PROGRAMS = {
  patroni: join(FOLDER, "python/patroni/__main__.py"),
  etcd: join(FOLDER, "debian/usr/bin/etcd"),
  haproxy: join(FOLDER, "debian/usr/sbin/haproxy"),
  postgres: POSTGRES_PROGRAMS ?? "",
} as const;

/** Debian's Python, which every user may run. A user's own may be in a home that others cannot read. */
export const PYTHON = "/usr/bin/python3";
/** Folder with Patroni and what it needs, for PYTHONPATH. */
export const PYTHON_PACKAGES = join(FOLDER, "python");
/** Folder with the libraries of HAProxy. */
export const LIBRARIES = join(FOLDER, "debian/usr/lib/x86_64-linux-gnu");

/** Why tests that need a cluster are skipped; null if they can run. */
export function clusterMissing(): string | null {
  if (POSTGRES_MISSING !== null) return POSTGRES_MISSING;
  if (POSTGRES_PROGRAMS === null) return "the programs of PostgreSQL are missing: set MNEME_TEST_POSTGRES";
  if (process.getuid?.() !== 0) return "it makes network namespaces: run it as root";
  if (Bun.which("ip") === null || Bun.which("setpriv") === null) return "`ip` or `setpriv` is missing";
  if (!existsSync(PYTHON)) return `${PYTHON} is missing`;
  const missing = [PROGRAMS.patroni, PROGRAMS.etcd, PROGRAMS.haproxy].filter((path) => !existsSync(path));
  return missing.length === 0
    ? null
    : "Patroni, etcd or HAProxy is missing: run `npx -y bun test/nodes/cluster/parts.ts`";
}

function run(...command: readonly string[]): void {
  const { success } = Bun.spawnSync([...command], { cwd: FOLDER, stdout: "inherit", stderr: "inherit" });
  if (!success) throw new Error(`${command.join(" ")} failed`);
}

function install(): void {
  mkdirSync(join(FOLDER, "debian"), { recursive: true });
  if (!existsSync(PROGRAMS.patroni)) {
    run("python3", "-m", "pip", "--python", PYTHON, "install", "--quiet", "--target", "python", PATRONI);
  }
  if (existsSync(PROGRAMS.etcd) && existsSync(PROGRAMS.haproxy)) return;
  run("apt-get", "download", "--quiet", ...DEBIAN);
  for (const name of readdirSync(FOLDER)) if (name.endsWith(".deb")) run("dpkg", "-x", name, "debian");
}

if (import.meta.main) install();
