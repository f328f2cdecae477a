// A data directory over many crashes: servers with faults, writers, and the oracle that judges every restart.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHILD_KINDS } from "../../src/children/command.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { type Ended, startMneme } from "../support/command.ts";
import { flipBit } from "../support/damage.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH, MULTILINGUAL, writeEmbeddersAlone } from "../support/shipped-models.ts";
import { WAIT_MS } from "../support/until.ts";
import { Faults } from "./faults/faults.ts";
import { type Called, type Caller, callerOf, ifAnswered, isWithin } from "./oracle/calls.ts";
import { type Finding, type MemoryRecord, Oracle } from "./oracle/oracle.ts";
import { MIX, type Mix, newWriters, WRITER_ENVIRONMENT, Writer, writeAll } from "./oracle/writers.ts";
import type { CrashPoint, Work } from "./points.ts";

const WRITERS = 8;
/** Searches, histories and deleted memories per check. Each search takes some tens of milliseconds. */
const SAMPLES_MAX = 12;
/** Acknowledged changes before the work of most points. */
const CHANGES = 40;
/** Upper limit of uploads and long texts for one point, so that few of them are left to process afterwards. */
const FEW_CHANGES = 4;
/** Upper limit of changes, for writers that write until the server is killed. */
const UNLIMITED = 1_000_000;

/** Maximum time to wait for a child of a kind. Documents have one only while a file is read. */
const CHILD_MS = 3_000;
/** Upper limit of the changes that a random kill waits for, and of the file operations of a start and of work. */
const RANDOM_CHANGES = 60;
const START_OPERATIONS = 60;
const WORK_OPERATIONS = 4_000;

/** What `killAtRandom` kills, and when. */
export type RandomKill = "operation" | "start" | "moment" | "child" | "model change";
const MODEL_CHANGE_KILLS = ["operation", "moment", "child", "child"] as const;

/** A data directory, its server, and what is known of it. */
export class Stage {
  readonly dataDir: string;
  readonly oracle: Oracle;
  readonly faults: Faults;
  /** Folder of the models: no search of the oracle reranks. */
  readonly #modelsDir = mkdtempSync(join(tmpdir(), "mneme-models-"));
  readonly #writers: readonly Writer[];
  readonly #quiet: Writer;
  #server: RunningServer | null = null;
  /**
   * The server whose disk failed last. It could not remove all files that it no longer needs; the next start removes
   * them.
   */
  #failedServer: RunningServer | null = null;
  /** A text and the one that corrects it, of which the server was finding the relation when it was killed. */
  #corrected: readonly [older: string, newer: string] | null = null;
  /** A memory that `mneme forget` was erasing when the server was killed. */
  #forgotten: MemoryRecord | null = null;

  /**
   * @param seed seed of the choices of the writers
   * @param existing default: a new data directory of which nothing is known
   * @param keepsFiles whether the project keeps the originals of uploads
   */
  constructor(
    seed: number,
    existing?: { readonly dataDir: string; readonly oracle: Oracle },
    private readonly keepsFiles = false,
  ) {
    this.dataDir = existing?.dataDir ?? mkdtempSync(join(tmpdir(), "mneme-stage-"));
    this.oracle = existing?.oracle ?? new Oracle();
    this.faults = new Faults(this.dataDir);
    writeEmbeddersAlone(this.#modelsDir);
    this.#writers = newWriters(this.oracle, WRITERS, seed);
    this.#quiet = new Writer(this.oracle, "quiet", seed + WRITERS);
  }

  /** Kills the server and removes the data directory. */
  async close(): Promise<void> {
    await this.#server?.kill();
    this.faults.close();
    for (const folder of [this.dataDir, this.#modelsDir]) rmSync(folder, { recursive: true, force: true });
  }

  /** The running server; starts one if there is none. */
  async server(): Promise<RunningServer> {
    this.#server ??= await startServer({
      dataDir: this.dataDir,
      environment: {
        ...{ MNEME_MODELS_DIR: this.#modelsDir, MNEME_EMBEDDER: ENGLISH },
        ...WRITER_ENVIRONMENT,
        ...this.faults.environment,
      },
      flags: ["--log-level", "warn"],
    });
    const { keepsFiles } = this;
    if (keepsFiles) await ifAnswered(callerOf(this.#server).call("PUT", "/v1/project", { keep_files: true }));
    return this.#server;
  }

  /** Kills the server. */
  async kill(): Promise<void> {
    await this.#server?.kill();
    this.#server = null;
  }

  /** Starts a server without faults, compares it with the oracle, and checks what is left in the data directory. */
  async judge(): Promise<readonly Finding[]> {
    this.faults.disarm();
    if (!this.isRunning) this.#server = null;
    const findings = await this.oracle.check(callerOf(await this.server()), { samplesMax: SAMPLES_MAX });
    const hasFailed = this.#server === this.#failedServer;
    const kept = findings.length > 0 || hasFailed ? [] : await this.#checkKeptFiles();
    const left = hasFailed ? [] : await this.#checkLeftovers();
    return [...findings, ...kept, ...left, ...(await this.#checkForgotten()), ...(await this.#checkRelation())];
  }

  /**
   * When all memories have been processed, the files that are left are the originals, and each original is there. A
   * memory that was deleted before it was processed keeps its file until its retention ends.
   */
  async #checkKeptFiles(): Promise<readonly Finding[]> {
    const wrong = () => {
      const { originals, ofDeleted } = this.#filesOfRows();
      const found = readdirSync(join(this.dataDir, "uploads"), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name);
      const surplus = found.filter((name) => !originals.has(name) && !ofDeleted.has(name));
      const missing = [...originals].filter((name) => !found.includes(name));
      return [...surplus.map((name) => `surplus ${name}`), ...missing.map((name) => `missing ${name}`)];
    };
    if (await isWithin(() => wrong().length === 0, WAIT_MS)) return [];
    return [{ kind: "unknown", what: `files in uploads: ${wrong().join(", ")}` }];
  }

  #filesOfRows(): { readonly originals: ReadonlySet<string>; readonly ofDeleted: ReadonlySet<string> } {
    const database = openDatabase(join(this.dataDir, "mneme.sqlite"));
    try {
      const namesIn = (sql: string) =>
        new Set(
          database
            .prepare<{ name: string }>(sql)
            .all({})
            .map(({ name }) => name),
        );
      return {
        originals: namesIn("SELECT original_file AS name FROM memories WHERE original_file IS NOT NULL"),
        ofDeleted: namesIn(`SELECT source ->> '$.file' AS name FROM memories
          WHERE deleted_at IS NOT NULL AND source ->> '$.file' IS NOT NULL`),
      };
    } finally {
      database.close();
    }
  }

  /** What a process that was killed leaves must be gone, and a change of the model must end. */
  async #checkLeftovers(): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    for (const folder of ["snapshots", "uploads/incoming"]) {
      const path = join(this.dataDir, folder);
      const left = existsSync(path) ? readdirSync(path) : [];
      if (left.length > 0) findings.push({ kind: "unknown", what: `${folder} has ${left.join(", ")}` });
    }
    const isChanging = async () => (await this.#models()).change?.state === "building";
    if (!(await isWithin(async () => !(await isChanging()), WAIT_MS))) {
      findings.push({ kind: "not ended", what: "the embedding model is still changing" });
    }
    return findings;
  }

  /** Repeats `mneme forget` for a memory, after which no file has its text. */
  async #checkForgotten(): Promise<readonly Finding[]> {
    const memory = this.#forgotten;
    this.#forgotten = null;
    if (memory === null) return [];
    const { exitCode, stderr } = await this.#mneme("forget", "memory", memory.id);
    if (exitCode !== 0 && !stderr.includes("not even a deleted one")) return [{ kind: "refused", what: stderr }];
    memory.state = null;
    const words = [...memory.texts].map((text) => /\bz\w+q\b/.exec(text)?.[0] ?? text);
    const files = () =>
      readdirSync(this.dataDir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => words.some((word) => bytesOf(path).includes(word)));
    if (await isWithin(() => files().length === 0, WAIT_MS)) return [];
    return [{ kind: "back", what: `${words.join(", ")} is in ${files().join(", ")}` }];
  }

  /** The newer memory supersedes the older one, and neither has this relation twice. */
  async #checkRelation(): Promise<readonly Finding[]> {
    const corrected = this.#corrected;
    this.#corrected = null;
    if (corrected === null) return [];
    const [older, newer] = corrected.map((text) => this.oracle.living.find(({ state }) => state?.text === text)?.id);
    if (older === undefined || newer === undefined) return []; // the newer one was not acknowledged
    const server = await this.server();
    const read = async (id: string) => {
      const { body } = await server.call("GET", `/v1/memories/${id}`);
      return body as { superseded_by: string | null; relations: readonly { type: string; memory_id: string }[] };
    };
    if (!(await isWithin(async () => (await read(older)).superseded_by === newer, WAIT_MS))) {
      return [{ kind: "lost", what: `${newer} does not supersede ${older}` }];
    }
    const between = (await read(older)).relations.filter(({ memory_id }) => memory_id === newer);
    if (between.map(({ type }) => type).join() === "superseded_by") return [];
    return [{ kind: "unknown", what: `${older} has the relations ${JSON.stringify(between)}` }];
  }

  /** Runs a command on the data directory, beside the server. */
  #mneme(...argv: readonly string[]): Promise<Ended> {
    return startMneme([...argv, "--data-dir", this.dataDir], tmpdir());
  }

  /** Lets all writers write until `changes` more are acknowledged or the server is gone. */
  async write(changes: number): Promise<void> {
    await writeAll(this.#writers, this.oracle, callerOf(await this.server()), changes);
  }

  /**
   * Lets all writers write until the armed fault has acted and `answers` requests were answered after that, or the
   * server is gone. Returns the answers with a status of 500 or more.
   */
  async writeThroughFault(answers: number): Promise<readonly Called[]> {
    this.#failedServer = await this.server();
    const caller = callerOf(this.#failedServer);
    const failed: Called[] = [];
    let left = answers;
    const watch = async (call: Promise<Called>) => {
      const answer = await call;
      if (this.faults.acted > 0) left -= 1;
      if (answer.status >= 500) failed.push(answer);
      return answer;
    };
    const watched: Caller = {
      call: (...request) => watch(caller.call(...request)),
      callAs: (...request) => watch(caller.callAs(...request)),
      upload: (...request) => watch(caller.upload(...request)),
    };
    await Promise.all(this.#writers.map((writer) => writer.write(watched, () => left <= 0)));
    return failed;
  }

  /** Whether the server that was started last still runs. */
  get isRunning(): boolean {
    return this.#server !== null && !isGone(this.#server.pid);
  }

  /** Brings a server to a point, at which it is killed. Returns whether it was reached. */
  async reach(point: CrashPoint): Promise<boolean> {
    await this.#prepare(point.work);
    const { at, when, skip, after } = point;
    this.faults.arm({ ...at, action: { kind: "kill", when }, skip: skip ?? 0, ...(after && { after }) });
    const isReached = isWithin(() => this.faults.acted > 0, WAIT_MS);
    const working = this.#work(point.work);
    if (!(await isReached)) {
      await this.kill();
      await working;
      return false;
    }
    await working;
    const server = this.#server;
    this.#server = null;
    return server === null || (await isWithin(() => isGone(server.pid), WAIT_MS));
  }

  /**
   * Kills the server or one of its children under eight writers. `operation`: the server at a random file operation;
   * `start`: at one while it starts; `moment`: after a random number of acknowledged changes; `child`: a random child;
   * `model change`: one of these while the vectors of another model are built. Returns what was killed.
   */
  async killAtRandom(kind: RandomKill, random: () => number): Promise<string> {
    if (kind === "model change") {
      await this.#changeModel(false);
      const within = MODEL_CHANGE_KILLS[Math.floor(random() * MODEL_CHANGE_KILLS.length)] ?? "moment";
      return `${await this.killAtRandom(within, random)}, model change`;
    }
    const die = (operations: number) =>
      this.faults.arm({
        operations: ["write", "sync", "truncate", "rename", "create", "unlink"],
        action: { kind: "kill", when: random() < 0.5 ? "before" : "after" },
        skip: Math.floor(random() * operations),
      });
    const changes = 5 + Math.floor(random() * RANDOM_CHANGES);
    if (kind === "start") {
      await this.write(changes);
      await this.kill();
      die(START_OPERATIONS);
      await this.#startUntilKilled();
    }
    if (kind === "child") {
      const { pid } = await this.server();
      const writing = this.write(changes + RANDOM_CHANGES);
      const [name, child] = (await childOf(pid, random)) ?? ["no child", null];
      if (child !== null) killIfAlive(child);
      await writing;
      return name;
    }
    if (kind === "operation") {
      await this.server();
      die(WORK_OPERATIONS);
    }
    if (this.#server !== null || kind !== "start") await this.write(changes + (kind === "moment" ? 0 : UNLIMITED));
    await this.kill();
    return this.faults.acted > 0 ? `server, ${kind}` : "server, moment";
  }

  /** Does what has to be done before the fault is armed. */
  async #prepare(work: Work): Promise<void> {
    if (work === "first start") {
      await this.kill();
      for (const name of readdirSync(this.dataDir)) rmSync(join(this.dataDir, name), { recursive: true });
      return;
    }
    if (work === "writes" || work === "upload" || work === "long text") return void (await this.server());
    if (work === "start after a kill") {
      // until the log of the texts has something that the next start merges: a busy server publishes later
      do await this.write(CHANGES);
      while (!hasBytes(join(this.dataDir, "memories.duckdb.wal")));
      return this.kill();
    }
    if (work === "stop" || work === "model change") await this.write(CHANGES);
    if (NEEDS_MEMORIES.has(work)) {
      while (this.oracle.living.length < CHANGES) await this.write(CHANGES);
    }
    await this.#settle();
    if (work === "sweep") {
      // the sweep of the next start retracts what was deleted since the last one
      for (let n = 0; n < 3; n++) await this.#quiet.create(callerOf(await this.server()));
      await this.#settle();
      for (let n = 0; n < 3; n++) await this.#quiet.remove(callerOf(await this.server()));
      await this.kill();
    }
    if (work === "compaction") {
      await this.kill();
      this.#damageVectors();
    }
    if (work === "relations") {
      const mark = `z${this.oracle.acknowledged.toString(36)}q`;
      this.#corrected = [`The workshop ${mark} is in room 114.`, `The workshop ${mark} was moved to room 220.`];
      await this.#quiet.note(callerOf(await this.server()), this.#corrected[0]);
      await this.#settle();
    }
    if (work === "new content") {
      await this.#quiet.create(callerOf(await this.server()));
      await this.#settle();
    }
    if (work === "purge" || work === "forget") {
      await this.#quiet.create(callerOf(await this.server()));
      await this.#settle();
    }
    if (work === "return to the previous model" || work === "forget the previous model") await this.#changeModel(true);
  }

  /** Makes the server do its work. Resolves when it is done, or when the server is gone. */
  async #work(work: Work): Promise<void> {
    switch (work) {
      case "first start":
      case "start after a kill":
      case "sweep":
      case "compaction":
        return this.#startUntilKilled();
      case "writes":
        return this.write(UNLIMITED);
      case "upload":
        return this.#writeOnly("uploader", { upload: 1 });
      case "long text":
        return this.#writeOnly("storer", { storeLong: 1 });
      case "one memory":
        return void (await this.#quiet.create(callerOf(await this.server())));
      case "large memory":
        return void (await this.#quiet.createLarge(callerOf(await this.server())));
      case "new content":
        return void (await this.#quiet.rewrite(callerOf(await this.server())));
      case "relations":
        return void (await this.#quiet.note(callerOf(await this.server()), this.#corrected?.[1] ?? ""));
      case "purge":
        return void (await this.#quiet.purge(callerOf(await this.server())));
      case "stop":
        return void (await (await this.server()).stop());
      case "model change":
      case "return to the previous model":
        return this.#changeModel(false);
      case "backup of a server":
        return void (await this.#mneme("backup", join(this.dataDir, "backups"), "--with-index"));
      case "reindex":
        return void (await this.#mneme("reindex"));
      case "forget": {
        const erases = async (id: string) => (await this.#mneme("forget", "memory", id)).exitCode === 0;
        this.#forgotten = await this.#quiet.forget(erases);
        return;
      }
      case "forget the previous model": {
        const server = await this.server();
        await ifAnswered(server.call("DELETE", `/v1/projects/${await this.#project()}/embedder/previous`));
      }
    }
  }

  /** Lets one writer make a few changes of these kinds, or fewer if the server goes away before. */
  async #writeOnly(name: string, mix: Partial<Mix>): Promise<void> {
    const writer = new Writer(this.oracle, name, 1, { ...NOTHING, ...mix });
    await writeAll([writer], this.oracle, callerOf(await this.server()), FEW_CHANGES);
  }

  async #startUntilKilled(): Promise<void> {
    try {
      await this.server();
    } catch (error) {
      if (this.faults.acted === 0) throw error; // otherwise it was killed while it started
    }
  }

  async #settle(): Promise<void> {
    const server = await this.server();
    const isDone = async () => {
      const { body } = await server.call("GET", "/v1/memories?status=processing&limit=1");
      return (body as { readonly data: readonly unknown[] }).data.length === 0;
    };
    if (!(await isWithin(isDone, WAIT_MS))) throw new Error("memories are still processing");
  }

  async #project(): Promise<string> {
    const { body } = await (await this.server()).call("GET", "/v1/project");
    return (body as { readonly id: string }).id;
  }

  /** The live embedding model of the project, and the change to another one. */
  async #models() {
    const { body } = await (await this.server()).call("GET", "/v1/project/embedder");
    return body as { readonly model: string; readonly change: { readonly state: string; model: string } | null };
  }

  /** Asks for the other model; if `waits`, waits until it is live. */
  async #changeModel(waits: boolean): Promise<void> {
    const server = await this.server();
    const { model, change } = await this.#models();
    const isChanging = change?.state === "building";
    const wanted = isChanging ? change.model : model === ENGLISH ? MULTILINGUAL : ENGLISH;
    const path = `/v1/projects/${await this.#project()}/embedder`;
    const answer = await ifAnswered(server.call("PUT", path, { model: wanted }));
    if (!waits || answer === null) return;
    const isLive = async () => {
      const now = await this.#models();
      return now.model === wanted && now.change?.state !== "building";
    };
    if (!(await isWithin(isLive, WAIT_MS))) throw new Error(`${wanted} is not live`);
  }

  /** Damages a vector that is not the last one, so that the first sweep compacts the log. */
  #damageVectors(): void {
    const [project = ""] = readdirSync(join(this.dataDir, "projects"));
    const folder = join(this.dataDir, "projects", project);
    for (const name of readdirSync(folder).filter((each) => each.startsWith("vectors"))) {
      const path = join(folder, name, "vectors.log");
      flipBit(path, Math.floor(statSync(path).size / 2) * 8);
    }
  }
}

/** Work that needs some completed memories. */
const NEEDS_MEMORIES: ReadonlySet<Work> = new Set([
  ...([
    "one memory",
    "new content",
    "relations",
    "purge",
    "sweep",
    "compaction",
    "backup of a server",
    "forget",
    "reindex",
  ] as const),
]);

/** The bytes of a file; none if the server has removed it meanwhile. */
function bytesOf(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}

/** A child of the server of a random kind, or of another kind if there is none for a while. Null if there is none. */
async function childOf(pid: number, random: () => number): Promise<readonly [name: string, pid: number] | null> {
  const wanted = `child ${CHILD_KINDS[Math.floor(random() * CHILD_KINDS.length)]}`;
  let found: readonly (readonly [string, number])[] = [];
  const look = () => {
    found = childrenOf(pid);
    return found.some(([name]) => name === wanted);
  };
  if (await isWithin(look, CHILD_MS)) found = found.filter(([name]) => name === wanted);
  return found[Math.floor(random() * found.length)] ?? null;
}

/** The processes that a server has started, with the kind of each: `mneme child <kind> …`. */
function childrenOf(pid: number): readonly (readonly [name: string, pid: number])[] {
  const listed = Bun.spawnSync(["ps", "-o", "pid=,args=", "--ppid", String(pid)]).stdout.toString();
  return [...listed.matchAll(/^\s*(\d+) .*\bchild (\w+)/gm)].map(([, id, kind]) => [`child ${kind}`, Number(id)]);
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!isGone(pid)) throw error; // it may have ended by itself
  }
}

const NOTHING = Object.fromEntries(Object.keys(MIX).map((action) => [action, 0])) as Record<keyof typeof MIX, 0>;

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true; // no such process
  }
}

function hasBytes(path: string): boolean {
  return existsSync(path) && statSync(path).size > 0;
}
