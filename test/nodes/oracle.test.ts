// Two servers on one PostgreSQL under mixed load, while either is killed. An oracle outside of them judges: nothing
// acknowledged is lost, nothing deleted is back, and what one node has answered, the other one shows at once.
// MNEME_TEST_NODE_KILLS sets the number of kills.

import { expect, test } from "bun:test";
import { type Called, type Caller, callerOf } from "../crash/oracle/calls.ts";
import { Oracle, describe as textOf } from "../crash/oracle/oracle.ts";
import { newWriters, WRITER_ENVIRONMENT } from "../crash/oracle/writers.ts";
import { emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { seeded } from "../support/seeded.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";

const KILLS = Number(process.env.MNEME_TEST_NODE_KILLS ?? 2);
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const WRITERS = 6;
/** Acknowledged changes before a kill, at most. */
const CHANGES_MAX = 60;
const SEARCHES_MAX = 20;
const KILL_MS = 300_000;

/** Every n-th acknowledged change is also searched for on the other node. */
const SEARCHED_EVERY = 3;

/** Two servers, and what one shows of the changes that the other acknowledged. */
class Pair implements Caller {
  readonly #servers: (RunningServer | null)[] = [null, null];
  readonly #random: () => number;
  readonly stale: string[] = [];
  /** Number of looks at the other node after an acknowledged change. */
  looks = 0;
  #changes = 0;

  constructor(
    random: () => number,
    private readonly start: (at: number) => Promise<RunningServer>,
  ) {
    this.#random = random;
  }

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

  /** The nodes that run. */
  get running(): readonly Caller[] {
    return this.#servers.flatMap((server) => (server === null ? [] : [callerOf(server)]));
  }

  async call(method: string, path: string, body?: unknown): Promise<Called> {
    const at = this.#choose();
    const answer = await this.#node(at).call(method, path, body);
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

withPostgres("kills of nodes", () => {
  test(
    `${KILLS} kills of either node lose nothing acknowledged, bring nothing back and leave no job (MNEME_TEST_SEED=${SEED})`,
    async () => {
      const random = seeded(SEED);
      const database = await emptyDatabase();
      const folders = [temporaryFolder(), temporaryFolder()];
      const oracle = new Oracle();
      const writers = newWriters(oracle, WRITERS, SEED);
      const pair = new Pair(random, (at) =>
        startServer({
          dataDir: folders[at]?.path ?? "",
          environment: { ...WRITER_ENVIRONMENT, MNEME_STORE: database.url, MNEME_EMBEDDER: ENGLISH },
          flags: ["--log-level", "warn"],
          readyTimeoutMs: KILL_MS,
        }),
      );
      try {
        for (let kill = 0; kill < KILLS; kill++) {
          await pair.startMissing();
          const enough = oracle.acknowledged + CHANGES_MAX;
          const killedAt = oracle.acknowledged + Math.floor(random() * CHANGES_MAX);
          const victim = kill % 2;
          let killing: Promise<void> | null = null;
          const isEnough = () => {
            if (killing === null && oracle.acknowledged >= killedAt) killing = pair.kill(victim);
            return oracle.acknowledged >= enough;
          };
          await Promise.all(writers.map((writer) => writer.write(pair, isEnough)));
          await (killing ?? pair.kill(victim));
          // every second time, the other node has to take over the jobs
          if (kill % 4 >= 2) await pair.startMissing();
          for (const node of pair.running) {
            const findings = textOf(await oracle.check(node, { searchesMax: SEARCHES_MAX }));
            expect(findings === "" ? "" : `kill ${kill + 1} of node ${victim}:\n${findings}`).toBe("");
          }
          expect(pair.stale).toEqual([]);
        }
        await pair.startMissing();
        for (const node of pair.running) expect(textOf(await oracle.check(node))).toBe("");
        const { acknowledged } = oracle;
        process.stdout.write(`${KILLS} kills, ${acknowledged} acknowledged changes, ${pair.looks} looks elsewhere\n`);
      } finally {
        await pair.stop();
        await database.giveBack();
        for (const folder of folders) folder.remove();
      }
    },
    KILL_MS * (KILLS + 1),
  );
});
