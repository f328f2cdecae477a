// One simulation: a server, its clients and its faults, all from one seed, and the checks of what must always hold.

import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { DEFAULT_SETTINGS, type Plan } from "../../src/domain/project.ts";
import type { UnsyncedDatabase } from "../in-memory/unsynced-database.ts";
import { seeded } from "../support/seeded.ts";
import { ServerDisk, type StoredMemory } from "./disk.ts";
import { isLive, newest, Oracle } from "./oracle.ts";
import { UNREADABLE } from "./ports.ts";
import { type ClientRequest, Clients } from "./requests.ts";
import { type FaultRates, InjectedError, NO_FAULTS, Scheduler, settled } from "./scheduler.ts";
import { type LogLevel, Server } from "./server.ts";

/** Kinds of trouble that a simulation has, each with a probability per decision or per call. */
export interface Trouble extends FaultRates {
  /** The process ends at once. */
  readonly crash: number;
  /** The process is stopped and started. */
  readonly restart: number;
  /** The time jumps by up to three minutes. */
  readonly jump: number;
}

/** What to simulate. */
export interface Plot {
  readonly seed: number;
  /** Number of requests. */
  readonly requests: number;
  readonly trouble: Trouble;
}

/** A simulation that found a violation of a promise. */
export interface Violation {
  readonly plot: Plot;
  readonly problems: readonly string[];
  /** All requests, faults and calls, in their order. */
  readonly trace: readonly string[];
}

const REQUESTS_MAX = 40;
const REQUESTS_AT_ONCE_MAX = 6;
/** Limits after which something never ends. All jobs that are tried again end within the first. */
const QUIET_MS_MAX = 3 * 60 * 60_000;
const STEPS_MAX = 100_000;
const DAY_MS = 24 * 60 * 60_000;

/** Draws what to simulate. Each seed has some kinds of trouble and lacks others, so that their combinations vary. */
export function plotOf(seed: number): Plot {
  const random = seeded(seed ^ 0x5eed);
  const rate = (share: number, most: number) => (random() < share ? random() * most : 0);
  return {
    seed,
    requests: 1 + Math.floor(random() * REQUESTS_MAX),
    trouble: {
      failure: rate(0.5, 0.03),
      commit: rate(0.4, 0.15),
      outage: rate(0.4, 0.3),
      slow: rate(0.4, 0.02),
      full: rate(0.2, 0.5),
      lazy: rate(0.5, 0.3),
      crash: rate(0.6, 0.02),
      restart: rate(0.3, 0.01),
      jump: rate(0.4, 0.02),
    },
  };
}

/**
 * Empties a database and runs a simulation on it. Returns what was violated; null if nothing was.
 * @param trace is filled with all requests, faults and calls, one line each
 */
export async function simulate(
  plot: Plot,
  database: UnsyncedDatabase,
  trace: string[] = [],
): Promise<Violation | null> {
  const simulation = new Simulation(plot, database, trace);
  await simulation.run();
  const { problems } = simulation;
  return problems.length === 0 ? null : { plot, problems, trace };
}

class Simulation {
  readonly problems: string[] = [];
  readonly #scheduler: Scheduler;
  readonly #disk: ServerDisk;
  readonly #plot: Plot;
  #oracle = new Oracle(new Map());
  #server: Server;
  #clients: Clients | null = null;
  #projects: readonly ProjectId[] = [];
  /** Number of requests in progress. Those of a process that crashed do not count. */
  #inProgress = 0;
  /** Whether the current process has ended, by itself or because it was asked to. */
  #hasEnded = false;
  /** Whether what is logged as info or worse is a problem, because nothing is left to repair. */
  #isTidy = false;

  constructor(plot: Plot, database: UnsyncedDatabase, trace: string[]) {
    this.#plot = plot;
    this.#disk = new ServerDisk(database);
    this.#scheduler = new Scheduler(plot.seed, trace);
    this.#server = this.#newServer();
  }

  async run(): Promise<void> {
    await this.#setUp();
    await this.#causeTrouble();
    await this.#quieten();
    await this.#checkQuiet();
    if (this.problems.length > 0) return;

    // A start without anything to repair changes nothing.
    this.#isTidy = true;
    this.#crash();
    await this.#quieten();
    await this.#checkQuiet();
    this.#isTidy = false;
    if (this.problems.length > 0) return;

    // After the retention, nothing is left of what was deleted.
    this.#scheduler.jump((DEFAULT_SETTINGS.retention_days + 1) * DAY_MS);
    await this.#quieten();
    await this.#checkQuiet();
    this.#checkNothingLeft();
  }

  /** Starts the first process, with a project of the largest plan and one of the smallest. */
  async #setUp(): Promise<void> {
    await this.#until(() => this.#server.isServing);
    const { accounts } = this.#server.stores;
    const plans: readonly Plan[] = ["enterprise", "free"];
    const created: ProjectId[] = [];
    for (const plan of plans) {
      const project = accounts.createProject({ name: plan, plan, settings: DEFAULT_SETTINGS });
      await this.#drive(Promise.resolve(project).then(({ id }) => void created.push(id)));
    }
    this.#projects = created;
    const scheduler = this.#scheduler;
    this.#oracle = new Oracle(new Map(created.map((id, at) => [id, plans[at] ?? "enterprise"])));
    this.#clients = new Clients({
      oracle: this.#oracle,
      projects: created,
      random: seeded(this.#plot.seed ^ 0xc11e_4715),
      now: () => scheduler.now,
      onProblem: (problem) => this.#report(problem),
    });
  }

  /** Sends the requests while the process has trouble. */
  async #causeTrouble(): Promise<void> {
    const scheduler = this.#scheduler;
    const { requests, trouble } = this.#plot;
    scheduler.rates = trouble;
    let sent = 0;
    while (sent < requests && this.#goesOn()) {
      await settled();
      this.#restartIfEnded();
      const canSend = this.#server.isServing && this.#inProgress < REQUESTS_AT_ONCE_MAX;
      if (scheduler.chance(trouble.crash)) this.#crash();
      else if (this.#server.isServing && scheduler.chance(trouble.restart)) this.#stop();
      else if (scheduler.chance(trouble.jump)) scheduler.jump(Math.ceil(scheduler.random() * 180_000));
      else if (canSend && scheduler.chance(scheduler.hasReady ? 0.08 : 0.5)) {
        sent += 1;
        this.#send();
      } else if (scheduler.chance(0.02) || !scheduler.continueOne()) scheduler.advance();
    }
    scheduler.rates = NO_FAULTS;
  }

  /** Lets everything end that can end. */
  async #quieten(): Promise<void> {
    const sinceMs = this.#scheduler.now;
    await this.#until(
      () => this.#inProgress === 0 && this.#server.isServing && this.#isQuiet(),
      () => {
        if (this.#scheduler.now - sinceMs <= QUIET_MS_MAX) return;
        const rows = this.#rows().filter((row) => row.deletedAt === null && row.status === "processing");
        const what = [...rows.map(({ id }) => id), ...this.#unreferencedFiles()].join(", ");
        this.#report(`${what || "a deletion or a change of the model"} never ends`);
      },
    );
  }

  #isQuiet(): boolean {
    const { now } = this.#scheduler;
    const isBusy = (row: StoredMemory) => {
      const hasExpired = row.expiresAt !== null && row.expiresAt <= now;
      if (row.deletedAt === null) return hasExpired || row.status === "processing";
      return !row.isRetracted || row.isPurgeAsked || row.deletedAt < now - DEFAULT_SETTINGS.retention_days * DAY_MS;
    };
    return !this.#disk.isChangingModels && !this.#rows().some(isBusy) && this.#unreferencedFiles().length === 0;
  }

  #unreferencedFiles(): readonly string[] {
    const referenced = new Set(this.#rows().map(({ file }) => file));
    return [...this.#disk.files.files.keys()].filter((name) => !referenced.has(name));
  }

  /** What must hold when everything is quiet. */
  async #checkQuiet(): Promise<void> {
    if (this.problems.length > 0) return;
    const { now } = this.#scheduler;
    this.#checkIndex();
    for (const projectId of this.#projects) {
      const live = this.#oracle.live(projectId, now);
      const usage = this.#server.stores.accounts.usage(projectId);
      await this.#drive(
        Promise.resolve(usage).then(({ documents, storageBytes }) => {
          if (documents !== live.length) this.#report(`usage counts ${documents} memories instead of ${live.length}`);
          const bytes = live.reduce((sum, memory) => sum + Buffer.byteLength(newest(memory).content), 0);
          if (storageBytes !== bytes) this.#report(`usage counts ${storageBytes} bytes instead of ${bytes}`);
        }),
      );
      // If a memory failed after a rewrite, the index keeps the entries of its earlier content until the next start.
      // No search shows them.
      const failed = new Set(this.#rows().flatMap(({ id, status }) => (status === "failed" ? [id] : [])));
      const completed = live.filter((memory) => newest(memory).status === "completed").map(({ id }) => id);
      const indexed = this.#disk.index.projects.get(projectId) ?? new Map();
      const rows = new Map(this.#rows().map((row) => [row.key, row.id]));
      const all = [...indexed.keys()].map((key) => rows.get(key) ?? `the erased memory ${key}`);
      const kept = all.filter((id) => !failed.has(id as MemoryId)).sort();
      if (kept.join() !== completed.sort().join()) {
        this.#report(`the index has entries of ${kept.join()} instead of ${completed.join()}`);
      }
    }
    for (const row of this.#rows()) {
      // An attempt that a crash ends, or whose lease expires because the time jumps, counts like one that fails.
      const { failure, commit, crash, slow, jump } = this.#plot.trouble;
      const hasTrouble = failure + commit + crash + slow + jump > 0;
      const wasUnlucky = row.error?.includes("12 times") === true && hasTrouble;
      const memory = this.#oracle.get(row.id);
      const isExpected = memory !== null && newest(memory).content.includes(UNREADABLE);
      if (row.status === "failed" && row.deletedAt === null && !isExpected && !wasUnlucky) {
        this.#report(`${row.id} failed without a reason: ${row.error}`);
      }
      if (isExpected && row.status === "completed") this.#report(`${row.id} cannot be completed`);
    }
    await this.#checkAnswers();
  }

  /** Reads everything as clients do. */
  async #checkAnswers(): Promise<void> {
    const clients = this.#clients;
    if (clients === null) return;
    const requests = this.#projects.map((projectId) => clients.list({ projectId, userId: null }));
    for (let count = 0; count < 6; count++) requests.push(clients.search());
    for (const request of requests) await this.#drive(request.send(this.#server));
    for (const { id, projectId } of this.#oracle.memories.values()) {
      await this.#drive(clients.get(this.#server, { projectId, userId: null }, id));
    }
  }

  /** A completed memory has its newest text, all its chunks with vectors of the live model, and is visible. */
  #checkIndex(): void {
    const { index } = this.#disk;
    for (const row of this.#rows()) {
      const memory = this.#oracle.get(row.id);
      if (row.status !== "completed" || memory === null || !isLive(newest(memory), this.#scheduler.now)) continue;
      const text = index.texts.get(row.key);
      const chunks = index.projects.get(row.projectId)?.get(row.key) ?? [];
      const live = index.models.get(row.projectId)?.live.fingerprint ?? "";
      if (text?.content !== newest(memory).content || text.version !== row.version) {
        this.#report(`${row.id} is completed, but the index has not its newest text`);
      } else if (chunks.length !== row.chunkCount || chunks.some(({ vectors }) => !vectors.has(live))) {
        this.#report(`${row.id} is completed, but not all of its chunks can be found`);
      } else if (this.#server.isServing && !this.#visible(row.projectId).has(row.key)) {
        this.#report(`${row.id} is completed, but not visible`);
      }
    }
  }

  #visible(projectId: ProjectId): ReadonlySet<MemoryKey> {
    return this.#server.index.visibleKeys(projectId);
  }

  /** After the retention, texts, entries and rows are those of live memories. */
  #checkNothingLeft(): void {
    const live = this.#projects.flatMap((projectId) => this.#oracle.live(projectId, this.#scheduler.now));
    const rows = this.#rows();
    if (rows.length !== live.length) this.#report(`${rows.length} rows are left instead of ${live.length}`);
    // The publisher purges a text that it wrote after its row was erased. A crash or an error in between leaves it.
    const { crash, failure } = this.#plot.trouble;
    if (crash + failure > 0) return;
    const byKey = new Map(rows.map((row) => [row.key, row]));
    for (const [key, { content }] of this.#disk.index.texts) {
      if (byKey.get(key) === undefined)
        this.#report(`the text of an erased memory is left: ${JSON.stringify(content)}`);
    }
  }

  #send(): void {
    const request = this.#clients?.next();
    if (request === undefined) return;
    const server = this.#server;
    this.#scheduler.note(`REQUEST ${request.description}`);
    this.#inProgress += 1;
    void this.#answered(server, request).finally(() => {
      if (server.process.isAlive) this.#inProgress -= 1;
    });
  }

  async #answered(server: Server, request: ClientRequest): Promise<void> {
    try {
      await request.send(server);
    } catch (error) {
      if (!isExpected(error)) this.#report(`a request failed unexpectedly: ${String(error)} (${request.description})`);
      this.#scheduler.note(`ERROR ${String(error)} for ${request.description}`);
    }
  }

  #newServer(): Server {
    const server: Server = new Server(this.#scheduler, this.#disk, {
      onCommit: () => {
        for (const problem of this.#oracle.compare(this.#rows(), this.#scheduler.now)) this.#report(problem);
        this.#checkIndex();
      },
      onLog: (level, line, error) => this.#onLog(level, line, error),
    });
    this.#hasEnded = false;
    this.#server = server;
    server.start().catch((error: unknown) => {
      if (!isExpected(error)) this.#report(`the server does not start: ${String(error)}`);
      this.#scheduler.note(`the start fails: ${String(error)}`);
      if (this.#server === server) this.#hasEnded = true;
    });
    return server;
  }

  #onLog(level: LogLevel, line: string, error: unknown): void {
    this.#scheduler.note(`LOG ${level} ${line}${error === undefined ? "" : `: ${String(error)}`}`);
    if (String(error).includes("this is a bug in Mneme")) this.#report(`an invariant was violated: ${String(error)}`);
    const hasFailed = this.#rows().some(({ status }) => status === "failed");
    const isOfFailed = hasFailed && line === "leftovers of a crash were removed";
    if (this.#isTidy && !isOfFailed) this.#report(`a start found something to repair: ${line}`);
  }

  #crash(): void {
    this.#scheduler.note("CRASH");
    this.#end();
  }

  #stop(): void {
    const server = this.#server;
    this.#scheduler.note("STOP");
    void server.stop().then(() => {
      if (this.#server !== server) return;
      if (this.#rows().some(({ status, isLeased }) => status === "processing" && isLeased)) {
        this.#scheduler.note("a lease is left");
      }
      this.#hasEnded = true;
    });
  }

  #restartIfEnded(): void {
    if (this.#hasEnded) this.#end();
  }

  /** Drops the process and all requests in progress, and starts another process. */
  #end(): void {
    this.#scheduler.kill(this.#server.process);
    this.#inProgress = 0;
    this.#oracle.forgetRequests();
    this.#newServer();
  }

  /** Runs the scheduler until a promise ends. */
  async #drive(work: Promise<unknown>): Promise<void> {
    let hasEnded = false;
    work.then(
      () => {
        hasEnded = true;
      },
      (error: unknown) => {
        this.#report(`a request failed without a fault: ${String(error)}`);
        hasEnded = true;
      },
    );
    await this.#until(() => hasEnded);
  }

  async #until(isDone: () => boolean, check: () => void = () => undefined): Promise<void> {
    const scheduler = this.#scheduler;
    for (;;) {
      await settled();
      this.#restartIfEnded();
      if (isDone() || !this.#goesOn()) return;
      const hasContinued = scheduler.continueOne() || scheduler.advance() || scheduler.hasReady;
      if (!hasContinued) this.#report("everything waits, and nothing continues");
      check();
    }
  }

  #goesOn(): boolean {
    if (this.#scheduler.step > STEPS_MAX) this.#report("the simulation does not end");
    return this.problems.length === 0;
  }

  #rows(): readonly StoredMemory[] {
    return this.#disk.memories;
  }

  #report(problem: string): void {
    this.#scheduler.note(`PROBLEM ${problem}`);
    this.problems.push(problem);
  }
}

/** Whether an error is the consequence of an injected fault, or an answer that any client can get. */
function isExpected(error: unknown): boolean {
  if (error instanceof InjectedError) return true;
  if (!(error instanceof Error)) return false;
  return error.name === "Fault" ? !error.message.includes("bug in Mneme") : error.cause instanceof InjectedError;
}
