// Two servers that share a database, as one caller: requests go to either, and what one of them has acknowledged is
// looked for on the other at once.

import { type Called, type Caller, callerOf } from "../crash/oracle/calls.ts";
import type { RunningServer } from "../support/server.ts";

/** Every n-th acknowledged change is also searched for on the other node. */
const SEARCHED_EVERY = 3;

/** Two servers, and what one shows of the changes that the other acknowledged. */
export class Pair implements Caller {
  readonly #servers: (RunningServer | null)[] = [null, null];
  readonly #random: () => number;
  readonly stale: string[] = [];
  /** Number of looks at the other node after an acknowledged change. */
  looks = 0;
  #changes = 0;

  constructor(
    random: () => number,
    private readonly start: (at: number) => Promise<RunningServer>,
    /** Whether the database may be gone for a while. Then a node that answers 503 shows nothing, which is right. */
    private readonly hasOutages = false,
  ) {
    this.#random = random;
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
    if (method !== "GET") await this.#lookElsewhere(1 - at, { method, path, body }, answer);
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

  /** Looks at the other node for what a node has just acknowledged. If it is killed meanwhile, nothing is known. */
  async #lookElsewhere(at: number, request: { method: string; path: string; body?: unknown }, answer: Called) {
    const memory = /^\/v1\/memories(?:\/(mem_\w+))?(?:\?|$)/.exec(request.path);
    if (memory === null || answer.status >= 300) return;
    const id = memory[1] ?? (answer.body as { readonly id: string }).id;
    try {
      const other = this.#node(at);
      const { status, body } = await other.call("GET", `/v1/memories/${id}`);
      this.looks += 1;
      this.#changes += 1;
      if (request.method === "DELETE") {
        if (status === 200) this.stale.push(`${id} answers 200 after its deletion`);
        if (this.#changes % SEARCHED_EVERY === 0) await this.#searchForDeleted(other, id);
        return;
      }
      const wanted = (request.body as { readonly content?: string }).content;
      const shown = body as { readonly content: string } | null;
      if (this.hasOutages && status === 503) return;
      if (status !== 200) this.stale.push(`${id} answers ${status} after its change`);
      else if (wanted !== undefined && shown?.content !== wanted) this.stale.push(`${id} shows an older text`);
    } catch {
      return; // the node was killed
    }
  }

  async #searchForDeleted(other: Caller, id: string): Promise<void> {
    const { status, body } = await other.call("POST", "/v1/memories/search", { query: "shelf", limit: 50 });
    if (status !== 200) return;
    const { results } = body as { readonly results: readonly { readonly memory_id: string }[] };
    if (results.some(({ memory_id }) => memory_id === id)) this.stale.push(`${id} is found after its deletion`);
  }
}
