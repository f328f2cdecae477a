// Three PostgreSQL servers under Patroni with etcd, each in a network namespace of its own, and HAProxy in front of
// them and of two nodes of Mneme. Patroni and HAProxy use the files of deploy/. Everything is in a temporary folder.

import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execute } from "../../support/postgres.ts";
import { ROOT } from "../../support/sources.ts";
import { until } from "../../support/until.ts";
import { LIBRARIES, PROGRAMS, PYTHON, PYTHON_PACKAGES } from "./parts.ts";
import { childrenOf, commandOf, Program, signalAll, treeOf } from "./processes.ts";

/** A server does not run as root. This user exists on every Debian. */
const USER = { uid: 65_534, gid: 65_534 };
const AS_USER = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
const SERVERS = 3;
const PASSWORD = crypto.randomUUID();
/** Settings of PostgreSQL for tests: no power fails, so nothing has to reach the disk. */
const FOR_TESTS = ["fsync: 'off'", "shared_buffers: 64MB"];

interface Server {
  readonly address: string;
  readonly namespace: string;
  /** The end of its network cable that is not in its namespace. */
  readonly cable: string;
  readonly data: string;
  readonly patroni: Program;
}

/** Addresses that HAProxy needs of the nodes of Mneme. */
export interface NodePorts {
  readonly front: number;
  readonly nodes: readonly [number, number];
}

/** A database cluster. */
export class DatabaseCluster {
  /** PostgreSQL as Mneme reaches it, through HAProxy. */
  readonly url: string;
  readonly #servers: readonly Server[];
  readonly #etcd: Program;
  readonly #haproxy: Program;
  readonly #bridge: string;

  private constructor(
    readonly folder: string,
    { front, nodes }: NodePorts,
  ) {
    const unit = process.pid % 250;
    const [net, tag] = [`10.213.${unit}`, `mn${process.pid}`];
    this.#bridge = `${tag}b`;
    ip("link", "add", this.#bridge, "type", "bridge");
    ip("addr", "add", `${net}.254/24`, "dev", this.#bridge);
    ip("link", "set", this.#bridge, "up");
    const etcdUrl = `http://${net}.254:2379`;
    this.#etcd = this.#program("etcd", [
      ...[PROGRAMS.etcd, "--data-dir", join(folder, "etcd"), "--listen-client-urls", etcdUrl],
      ...["--advertise-client-urls", etcdUrl, "--listen-peer-urls", `http://${net}.254:2380`],
      ...["--initial-advertise-peer-urls", `http://${net}.254:2380`],
      ...["--initial-cluster", `default=http://${net}.254:2380`],
    ]);
    this.#servers = Array.from({ length: SERVERS }, (_, at) =>
      this.#addServer(`${net}.${at + 1}`, `${tag}s${at + 1}`, at + 1, `${net}.254:2379`),
    );
    const [first, second, third] = this.#servers.map(({ address }) => address);
    const port = freePort();
    this.#haproxy = this.#program("haproxy", [PROGRAMS.haproxy, "-db", "-f", join(ROOT, "deploy/haproxy.cfg")], {
      LD_LIBRARY_PATH: LIBRARIES,
      ...{ MNEME_BIND: `127.0.0.1:${front}`, POSTGRES_BIND: `127.0.0.1:${port}` },
      STATUS_BIND: `127.0.0.1:${freePort()}`,
      ...{ MNEME_A: `127.0.0.1:${nodes[0]}`, MNEME_B: `127.0.0.1:${nodes[1]}` },
      ...{ POSTGRES_1: first ?? "", POSTGRES_2: second ?? "", POSTGRES_3: third ?? "" },
    });
    this.url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/mneme`;
  }

  /** Starts everything, and makes the database. */
  static async start(ports: NodePorts): Promise<DatabaseCluster> {
    const folder = mkdtempSync(join(tmpdir(), "mneme-cluster-"));
    chmodSync(folder, 0o755);
    const cluster = new DatabaseCluster(folder, ports);
    try {
      cluster.#etcd.start();
      for (const { patroni } of cluster.#servers) patroni.start();
      cluster.#haproxy.start();
      await cluster.untilWhole();
      const admin = new URL(cluster.url);
      admin.pathname = "/postgres";
      await until("HAProxy reaches the primary", () => succeeds(execute(admin.href, "SELECT 1")));
      await execute(admin.href, "CREATE DATABASE mneme");
      return cluster;
    } catch (error) {
      const logs = cluster.logs();
      await cluster.stop();
      throw new Error(`the cluster did not start: ${error}\n${logs}`);
    }
  }

  /** Waits until there is a primary, and Patroni has noted both standbys as ones that may replace it. */
  async untilWhole(): Promise<void> {
    const isWhole = async () => {
      const views = await Promise.all(this.#servers.map(({ address }) => membersAsSeenBy(address)));
      return views.every((members) => {
        const ready = (role: string, state: string) =>
          members.filter((member) => member.role === role && member.state === state).length;
        return ready("leader", "running") === 1 && ready("quorum_standby", "streaming") === SERVERS - 1;
      });
    };
    await until("the cluster is whole", isWhole);
  }

  /** The place of the primary. */
  async primary(): Promise<number> {
    return await until("there is a primary", async () => {
      const states = await Promise.all(this.#servers.map(({ address }) => stateOf(address)));
      const at = states.findIndex((state) => state?.role === "primary" && state.state === "running");
      return at === -1 ? null : { at };
    }).then(({ at }) => at);
  }

  /** Ends all processes of PostgreSQL on a server with SIGKILL. Its Patroni starts it again, as a standby. */
  killPostgres(at: number): void {
    signalAll(treeOf(this.#postmaster(at)), "SIGKILL");
  }

  /** Freezes PostgreSQL on a server. Returns the function that ends that. */
  freezePostgres(at: number): () => void {
    const frozen = treeOf(this.#postmaster(at));
    signalAll(frozen, "SIGSTOP");
    return () => signalAll(frozen, "SIGCONT");
  }

  /** Ends Patroni on a server with SIGKILL; PostgreSQL goes on. Returns the function that starts it again. */
  async killPatroni(at: number): Promise<() => void> {
    const { patroni } = this.#server(at);
    await patroni.end("SIGKILL");
    return () => patroni.start();
  }

  /** Pulls the network cable of a server. Returns the function that plugs it in again. */
  partition(at: number): () => void {
    const { cable } = this.#server(at);
    ip("link", "set", cable, "down");
    return () => ip("link", "set", cable, "up");
  }

  async stop(): Promise<void> {
    await this.#haproxy.end("SIGTERM");
    for (const { patroni, data } of this.#servers) {
      await patroni.end("SIGKILL");
      const postmaster = postmasterOf(data);
      if (postmaster !== null) signalAll(treeOf(postmaster), "SIGKILL");
    }
    await this.#etcd.end("SIGKILL");
    for (const { namespace, cable } of this.#servers) {
      Bun.spawnSync(["ip", "link", "del", cable]);
      Bun.spawnSync(["ip", "netns", "del", namespace]);
    }
    Bun.spawnSync(["ip", "link", "del", this.#bridge]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What the programs wrote last. */
  logs(): string {
    const names = ["etcd", "haproxy", ...this.#servers.map(({ patroni }) => patroni.name)];
    const tail = (name: string) => readFileSync(join(this.folder, `${name}.log`), "utf8").slice(-40_000);
    return names.map((name) => `--- ${name}\n${tail(name)}`).join("\n");
  }

  #server(at: number): Server {
    const server = this.#servers[at];
    if (server === undefined) throw new Error(`there is no server ${at}`);
    return server;
  }

  #postmaster(at: number): number {
    const pid = postmasterOf(this.#server(at).data);
    if (pid === null) throw new Error(`PostgreSQL ${at} does not run`);
    return pid;
  }

  #program(name: string, command: readonly string[], environment: Readonly<Record<string, string>> = {}): Program {
    const log = join(this.folder, `${name}.log`);
    writeFileSync(log, "");
    return new Program(name, command, { cwd: this.folder, environment, log });
  }

  #addServer(address: string, namespace: string, number: number, etcd: string): Server {
    const cable = `${namespace}c`;
    ip("netns", "add", namespace);
    ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace);
    ip("link", "set", cable, "master", this.#bridge, "up");
    ip("-n", namespace, "addr", "add", `${address}/24`, "dev", "eth0");
    ip("-n", namespace, "link", "set", "eth0", "up");
    ip("-n", namespace, "link", "set", "lo", "up");
    const folder = join(this.folder, `postgres-${number}`);
    mkdirSync(folder);
    chownSync(folder, USER.uid, USER.gid);
    const own = [
      `  pgpass: ${folder}/pgpass`,
      "  parameters:",
      `    unix_socket_directories: ${folder}`,
      ...FOR_TESTS.map((line) => `    ${line}`),
    ];
    const file = join(folder, "patroni.yml");
    writeFileSync(file, `${readFileSync(join(ROOT, "deploy/patroni.yml"), "utf8")}${own.join("\n")}\n`);
    const data = join(folder, "data");
    const of = (name: string, user: string) => ({
      [`PATRONI_${name}_USERNAME`]: user,
      [`PATRONI_${name}_PASSWORD`]: PASSWORD,
    });
    const patroni = this.#program(
      `patroni-${number}`,
      ["ip", "netns", "exec", namespace, ...AS_USER, PYTHON, "-m", "patroni", file],
      {
        ...{ HOME: folder, PYTHONPATH: PYTHON_PACKAGES },
        PATRONI_NAME: `postgres-${number}`,
        PATRONI_RESTAPI_LISTEN: `${address}:8008`,
        PATRONI_RESTAPI_CONNECT_ADDRESS: `${address}:8008`,
        PATRONI_POSTGRESQL_LISTEN: `${address}:5432`,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${address}:5432`,
        PATRONI_POSTGRESQL_DATA_DIR: data,
        PATRONI_POSTGRESQL_BIN_DIR: PROGRAMS.postgres,
        PATRONI_ETCD3_HOSTS: etcd,
        ...of("SUPERUSER", "postgres"),
        ...of("REPLICATION", "replicator"),
        ...of("REWIND", "rewinder"),
      },
    );
    return { address, namespace, cable, data, patroni };
  }
}

/** The processes of a node of Mneme that run its models. */
export function lanesOf(pid: number): readonly number[] {
  return childrenOf(pid).filter((child) => / child lane/.test(commandOf(child)));
}

/** A port of loopback that is free now. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

interface PatroniState {
  readonly role: string;
  readonly state: string;
}

/** The members of the cluster as Patroni on this server sees them; none if it does not answer. */
async function membersAsSeenBy(address: string): Promise<readonly PatroniState[]> {
  try {
    const response = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(1_000) });
    return ((await response.json()) as { readonly members: readonly PatroniState[] }).members;
  } catch {
    return []; // it does not run, or cannot be reached
  }
}

async function stateOf(address: string): Promise<PatroniState | null> {
  try {
    const response = await fetch(`http://${address}:8008/patroni`, { signal: AbortSignal.timeout(1_000) });
    return (await response.json()) as PatroniState;
  } catch {
    return null; // it does not run, or cannot be reached
  }
}

function postmasterOf(data: string): number | null {
  const file = join(data, "postmaster.pid");
  const pid = existsSync(file) ? Number(readFileSync(file, "utf8").split("\n")[0]) : Number.NaN;
  return pid > 0 && commandOf(pid).includes("postgres") ? pid : null;
}

async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return true;
  } catch {
    return false; // not yet
  }
}

function ip(...args: readonly string[]): void {
  const { success, stderr } = Bun.spawnSync(["ip", ...args]);
  if (!success) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
}
