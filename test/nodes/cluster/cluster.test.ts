// Two nodes of Mneme on three PostgreSQL servers under Patroni, under mixed load, while something fails. An oracle
// outside of them judges: nothing acknowledged is lost, nothing deleted is back, no answer is stale, every job ends, no
// webhook is delivered twice. MNEME_TEST_CLUSTER is the number of times that each fault happens.
// MNEME_TEST_CLUSTER_FAULTS selects faults by parts of their names.

import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/kit/clock.ts";
import { callerOf } from "../../crash/oracle/calls.ts";
import { Oracle, describe as textOf } from "../../crash/oracle/oracle.ts";
import { CLUSTER_MIX, newWriters, WRITER_ENVIRONMENT } from "../../crash/oracle/writers.ts";
import { temporaryFolder } from "../../stores/temporary-folder.ts";
import { seeded } from "../../support/seeded.ts";
import { startServer } from "../../support/server.ts";
import { ENGLISH } from "../../support/shipped-models.ts";
import { until } from "../../support/until.ts";
import { type Received, receiveWebhooks } from "../../support/webhook-receiver.ts";
import { Pair } from "../pair.ts";
import { DatabaseCluster, freePort, lanesOf } from "./database.ts";
import { clusterMissing } from "./parts.ts";
import { signalAll } from "./processes.ts";

const ROUNDS = Number(process.env.MNEME_TEST_CLUSTER ?? 0);
const CHOSEN = (process.env.MNEME_TEST_CLUSTER_FAULTS ?? "").split(",");
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const WRITERS = 4;
/** Acknowledged changes before a fault, and after changes are acknowledged again. */
const CHANGES = 25;
const SAMPLES_MAX = 12;
const FROZEN_MS = 30_000;
/** Maximum time until changes are acknowledged again; then the round fails. */
const RECOVERY_MS = 120_000;
const ROUND_MS = 400_000;
const READ_EVERY_MS = 100;
/** Maximum time from the start of an attempt to deliver until it is recorded. */
const UNRECORDED_MS = 15_000;

const skipped = ROUNDS > 0 ? clusterMissing() : "set MNEME_TEST_CLUSTER=5, which takes about an hour";

interface Fault {
  readonly name: string;
  /** Causes it, and returns what repairs it. */
  readonly strike: (cluster: DatabaseCluster, pair: Pair) => Promise<() => Promise<void> | void>;
  /** Whether PostgreSQL goes on, so that the other node answers all the time. */
  readonly keepsDatabase: boolean;
  /** How long it lasts, if the repair does not wait until changes are acknowledged again. */
  readonly lastsMs?: number;
}

const nothing = () => undefined;

function killOfNode(at: number): Fault {
  return {
    name: `kill of node ${at}`,
    keepsDatabase: true,
    strike: async (_, pair) => {
      await pair.kill(at);
      return () => pair.startMissing();
    },
  };
}

const ALL: readonly Fault[] = [
  {
    name: "kill of the primary",
    keepsDatabase: false,
    strike: async (cluster) => {
      cluster.killPostgres(await cluster.primary());
      return nothing;
    },
  },
  {
    name: "kill of the primary's Patroni",
    keepsDatabase: false,
    lastsMs: FROZEN_MS,
    strike: async (cluster) => cluster.killPatroni(await cluster.primary()),
  },
  {
    name: "kill of a standby",
    keepsDatabase: true,
    strike: async (cluster) => {
      cluster.killPostgres(((await cluster.primary()) + 1) % 3);
      return nothing;
    },
  },
  killOfNode(0),
  killOfNode(1),
  {
    name: "kill of a lane",
    keepsDatabase: true,
    strike: async (_, pair) => {
      const lanes = lanesOf(pair.server(0)?.pid ?? 0);
      expect(lanes.length).toBeGreaterThan(0);
      signalAll(lanes, "SIGKILL");
      return nothing;
    },
  },
  {
    name: "freeze of the primary",
    keepsDatabase: false,
    lastsMs: FROZEN_MS,
    strike: async (cluster) => cluster.freezePostgres(await cluster.primary()),
  },
  {
    name: "partition of the primary",
    keepsDatabase: false,
    lastsMs: FROZEN_MS,
    strike: async (cluster) => cluster.partition(await cluster.primary()),
  },
];
const FAULTS = ALL.filter(({ name }) => CHOSEN.some((part) => name.includes(part)));

/** When a node answered searches, in milliseconds of `performance.now`. */
class Reader {
  readonly answeredAt: number[] = [];
  #isStopped = false;
  readonly #ended: Promise<void>;

  constructor(pair: Pair, at: () => number) {
    this.#ended = this.#read(pair, at);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#ended;
  }

  async #read(pair: Pair, at: () => number): Promise<void> {
    while (!this.#isStopped) {
      const server = pair.server(at());
      try {
        const body = { query: "the anchor in the attic", mode: "fast", limit: 3 };
        const answer = server === null ? null : await callerOf(server).call("POST", "/v1/memories/search", body);
        if (answer?.status === 200) this.answeredAt.push(performance.now());
      } catch {
      } finally {
        await systemClock.sleep(READ_EVERY_MS);
      }
    }
  }
}

/** The longest time between two answers from `from` on. */
function gapOf(times: readonly number[], from: number, end: number): number {
  const before = times.findLast((at) => at < from) ?? from;
  const points = [before, ...times.filter((at) => at >= from), end];
  return Math.max(...points.slice(1).map((at, index) => at - (points[index] ?? at)));
}

/**
 * How many deliveries were sent again. Those that a node may have sent just before it was killed, without recording it,
 * do not count: the other node sends them again under the same id when their claims run out.
 */
function repeatedDeliveries(received: readonly Received[], nodeKilledAt: readonly number[]): number {
  const attempts = Map.groupBy(received, ({ id }) => id);
  return [...attempts.values()].reduce((sum, [first, ...others]) => {
    const at = Number(first?.headers.get("webhook-timestamp")) * 1_000;
    const mayBeUnrecorded = nodeKilledAt.some((killedAt) => at > killedAt - UNRECORDED_MS && at <= killedAt);
    return mayBeUnrecorded ? sum : sum + others.length;
  }, 0);
}

describe.skipIf(skipped !== null)(`a cluster (${skipped ?? `MNEME_TEST_SEED=${SEED}`})`, () => {
  test(
    `${ROUNDS} times each of ${FAULTS.length} faults loses nothing`,
    async () => {
      const random = seeded(SEED);
      const ports = [freePort(), freePort()] as const;
      const cluster = await DatabaseCluster.start({ front: freePort(), nodes: ports });
      const folders = [temporaryFolder(), temporaryFolder()];
      const receiver = receiveWebhooks();
      const oracle = new Oracle();
      const writers = newWriters(oracle, WRITERS, SEED, CLUSTER_MIX);
      const start = (at: number) =>
        startServer({
          dataDir: folders[at]?.path ?? "",
          environment: {
            ...{ ...WRITER_ENVIRONMENT, MNEME_STORE: cluster.url, MNEME_EMBEDDER: ENGLISH, MNEME_LANES: "1" },
            ...{ MNEME_PORT: String(ports[at]), MNEME_WEBHOOK_RETRIES: "1,5,30" },
          },
          flags: ["--log-level", "error"],
        });
      const pair = new Pair(random, start, true);
      const table: string[] = [];
      const nodeKilledAt: number[] = [];
      try {
        await pair.startMissing();
        const hook = { url: receiver.url("/hook"), events: ["memory.deleted", "memory.completed"] };
        await until("the webhook is stored", async () => {
          return (await pair.server(0)?.call("POST", "/v1/webhooks", hook))?.status === 201;
        });
        for (let round = 1; round <= ROUNDS; round++) {
          for (const fault of FAULTS) {
            const line = await oneRound(fault, round);
            table.push(line);
            process.stdout.write(`${line}\n`);
          }
        }
        expect(pair.stale).toEqual([]);
        process.stdout.write(`${oracle.acknowledged} acknowledged changes, ${pair.looks} looks at the other node\n`);
      } catch (error) {
        process.stdout.write(`${cluster.logs()}\n`);
        for (const at of [0, 1]) process.stdout.write(`--- node ${at}\n${pair.server(at)?.stderr().slice(-4_000)}\n`);
        throw error;
      } finally {
        await pair.stop();
        await cluster.stop();
        await receiver.stop();
        for (const folder of folders) folder.remove();
      }

      async function oneRound(fault: Fault, round: number): Promise<string> {
        const { name, strike, keepsDatabase, lastsMs } = fault;
        await cluster.untilWhole();
        await pair.startMissing();
        let isEnough = false;
        const reader = new Reader(pair, () => (pair.server(1) === null ? 0 : 1));
        const writing = writers.map(async (writer) => {
          while (!isEnough) await writer.write(pair, () => isEnough);
        });
        const acknowledged = async (changes: number) => {
          const enough = oracle.acknowledged + changes;
          await until("changes are acknowledged", () => oracle.acknowledged >= enough, RECOVERY_MS);
        };
        const repeated = () => repeatedDeliveries(receiver.at("/hook"), nodeKilledAt);
        const [before, repeatedBefore] = [receiver.at("/hook").length, repeated()];
        try {
          await acknowledged(CHANGES);
          const struckAt = performance.now();
          if (name.includes("node")) nodeKilledAt.push(systemClock.now());
          const repair = await strike(cluster, pair);
          if (lastsMs === undefined) await acknowledged(CHANGES);
          else await until("it has lasted", () => performance.now() - struckAt > lastsMs, 2 * lastsMs);
          await repair();
          await acknowledged(CHANGES);
          const end = performance.now();
          isEnough = true;
          await Promise.all(writing);
          await reader.stop();
          await cluster.untilWhole();
          await pair.startMissing();
          for (const node of pair.running) {
            expect(`${name}: ${textOf(await oracle.check(node, { samplesMax: SAMPLES_MAX }))}`).toBe(`${name}: `);
          }
          expect(pair.stale).toEqual([]);
          const twice = repeated() - repeatedBefore;
          expect(`${name}: ${twice} delivered twice`).toBe(`${name}: 0 delivered twice`);
          const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
          const [writes, reads] = [gapOf(pair.acknowledgedAt, struckAt, end), gapOf(reader.answeredAt, struckAt, end)];
          return `${round} ${name}: write gap ${seconds(writes)}, read gap ${seconds(reads)}${keepsDatabase ? " (database kept)" : ""}, ${receiver.at("/hook").length - before} deliveries, ${twice} twice`;
        } finally {
          isEnough = true;
          await Promise.allSettled(writing);
          await reader.stop();
        }
      }
    },
    ROUND_MS * Math.max(1, ROUNDS) * FAULTS.length,
  );
});
