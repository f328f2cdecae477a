// Two servers that share a database, as one caller: requests go to either, and what one of them has acknowledged is
// looked for on the other at once.

import { type Called, type Caller, callerOf } from "../crash/oracle/calls.ts";
import { Looks } from "../crash/oracle/looks.ts";
import type { RunningServer } from "../support/server.ts";

/** Two servers, and what one shows of the changes that the other acknowledged. */
export class Pair implements Caller {
  readonly #servers: (RunningServer | null)[] = [null, null];
  readonly #random: () => number;
  readonly #looks: Looks;

  constructor(
    random: () => number,
    private readonly start: (at: number) => Promise<RunningServer>,
    /** Whether the database may be gone for a while. Then a node that answers 503 shows nothing, which is right. */
    hasOutages = false,
  ) {
    this.#random = random;
    this.#looks = new Looks(hasOutages);
  }

  /** What a node did not show of an acknowledged change of the other. */
  get stale(): string[] {
    return this.#looks.stale;
  }

  /** Number of looks at the other node after an acknowledged change. */
  get looks(): number {
    return this.#looks.count;
  }

  /** When a change was acknowledged, in milliseconds of `performance.now`. */
  readonly acknowledgedAt: number[] = [];

  async startMissing(): Promise<void> {
    for (const at of [0, 1]) this.#servers[at] ??= await this.start(at);
  }

  async kill(at: number): Promise<void> {
    const server = this.#servers[at];
    this.#servers[at] = null; // later requests go to the other node, and only those in progress get no answer
    await server?.kill();
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server?.stop();
  }

  /** The server at this place; null while it does not run. */
  server(at: number): RunningServer | null {
    return this.#servers[at] ?? null;
  }

  /** The nodes that run. */
  get running(): readonly Caller[] {
    return this.#servers.flatMap((server) => (server === null ? [] : [callerOf(server)]));
  }

  async call(method: string, path: string, body?: unknown): Promise<Called> {
    const at = this.#choose();
    const answer = await this.#node(at).call(method, path, body);
    if (method !== "GET" && answer.status < 300) this.acknowledgedAt.push(performance.now());
    await this.#looks.lookFor({ method, path, body }, answer, () => this.#node(1 - at));
    return answer;
  }

  upload(filename: string, text: string, metadata: object): Promise<Called> {
    const node = this.#node(this.#choose());
    return node.upload === undefined ? Promise.reject(new Error("no upload")) : node.upload(filename, text, metadata);
  }

  storeLarge(text: string, metadata: object): Promise<Called> {
    const node = this.#node(this.#choose());
    return node.storeLarge === undefined ? Promise.reject(new Error("no texts")) : node.storeLarge(text, metadata);
  }

  #choose(): number {
    const at = this.#random() < 0.5 ? 0 : 1;
    return this.#servers[at] === null ? 1 - at : at;
  }

  #node(at: number): Caller {
    const server = this.#servers[at];
    if (server === null || server === undefined) throw new Error("the node is down");
    return callerOf(server);
  }
}
