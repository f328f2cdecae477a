// Coordination of nodes on PostgreSQL. Times are those of the database server, so the clocks of the nodes need not
// agree.

import { createHash } from "node:crypto";
import type { ProjectId } from "../../domain/ids.ts";
import { queryRefusal, tokenVerdict } from "../../domain/quota.ts";
import type { NodeIdentity, NodeState } from "../../domain/system.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import {
  type Flight,
  type Flights,
  type NodeTask,
  type NodeTasks,
  type QueryQuotas,
  type QuotaReservation,
  type RateWindow,
  type TokenLimits,
  type TokenReservation,
  UNLIMITED,
  type WindowState,
} from "../../ports/coordination.ts";
import { PROJECT_KEY } from "../rows/sql.ts";
import type { Session } from "../session.ts";
import { readTokensOfDay, readUsage } from "../usage-rows.ts";
import type { Client } from "./client.ts";
import { ProjectTurns } from "./project-turns.ts";
import { inWritingSession, ReadingSession, type WritingSession } from "./session.ts";

/** Time in milliseconds after which a reservation or task of a process ends if the process does not renew it. */
const HOLD_MS = 60_000;
/** Interval of renewals: two in a row may fail without a loss. */
const RENEW_MS = HOLD_MS / 4;
/** A rate-limit window without requests is removed after this many times its length. */
const WINDOWS_KEPT = 3;
/** Tables whose rows a node holds. */
const HELD = ["request_flights", "query_reservations", "token_reservations", "node_tasks"] as const;
/** Milliseconds between two looks at the tokens of running calls, for a call that waits for their end. */
const TOKENS_POLL_MS = 100;

/** Time in milliseconds after which a node that was not seen is no longer listed. */
const NODES_SHOWN_MS = 24 * 60 * 60_000;
const SEEN = `INSERT INTO nodes (id, name, role, version, started_at, seen_at)
  VALUES ($id, $name, $role, $version, now_ms(), now_ms())
  ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`;
const GONE = "DELETE FROM nodes WHERE id = $id";
const NODES = `SELECT id, name, role, version, started_at, seen_at, seen_at > now_ms() - ${HOLD_MS} AS is_up
  FROM nodes WHERE seen_at > now_ms() - ${NODES_SHOWN_MS} ORDER BY started_at, id`;
const FORGET_NODES = `DELETE FROM nodes WHERE seen_at <= now_ms() - ${NODES_SHOWN_MS}`;

const COUNT = "SELECT * FROM count_request($key, $limit, $windowMs, $now, $onlyLooks = 1)";
const REMOVE_WINDOWS = `WITH old AS (DELETE FROM rate_windows WHERE newest < now_ms() - $ageMs RETURNING key)
  DELETE FROM rate_slots USING old WHERE rate_slots.key = old.key`;
const BEGIN = `INSERT INTO request_flights AS known (slot, id, holder, until)
  VALUES ($slot, $id, $holder, now_ms() + ${HOLD_MS})
  ON CONFLICT (slot) DO UPDATE SET id = excluded.id, holder = excluded.holder, until = excluded.until
    WHERE known.until <= now_ms() OR known.id = excluded.id`;
const END = "DELETE FROM request_flights WHERE slot = $slot AND id = $id";
const RESERVED = `SELECT count(*) AS reserved FROM query_reservations
  WHERE project_key = ${PROJECT_KEY} AND until > now_ms()`;
const RESERVE = `INSERT INTO query_reservations (id, project_key, holder, until)
  VALUES ($id, ${PROJECT_KEY}, $holder, now_ms() + ${HOLD_MS})`;
const RELEASE = "DELETE FROM query_reservations WHERE id = $id";
const RUNNING = `SELECT coalesce(sum(tokens), 0)::bigint AS tokens FROM token_reservations
  WHERE project_key = ${PROJECT_KEY} AND period = $period AND until > now_ms()`;
const RESERVE_TOKENS = `INSERT INTO token_reservations (id, project_key, period, tokens, holder, until)
  VALUES ($id, ${PROJECT_KEY}, $period, $tokens, $holder, now_ms() + ${HOLD_MS})`;
const RELEASE_TOKENS = "DELETE FROM token_reservations WHERE id = $id";
const TAKE_TASK = `INSERT INTO node_tasks AS known (name, holder, until)
  VALUES ($task, $holder, now_ms() + ${HOLD_MS})
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE known.holder = excluded.holder OR known.until <= now_ms()`;

/** Options of `PostgresCoordination`. */
export interface PostgresCoordinationOptions {
  readonly client: Client;
  /** Id of this node. What an earlier process of the node held ends when this one begins. */
  readonly nodeId: string;
  readonly identity: NodeIdentity;
  readonly clock: Clock;
  readonly log: Log;
}

/** Shared state of the nodes on one database: rate limits, quotas, requests in progress, and who does which task. */
export class PostgresCoordination {
  readonly quotas: QueryQuotas = { reserve: (projectId) => this.#reserve(projectId) };
  readonly monthlyTokens = this.#tokenLimits("month", async (session, projectId, nowMs) => {
    const { tokens } = await readUsage(session, projectId, nowMs);
    return tokens.prompt + tokens.completion;
  });
  readonly dailyTokens = this.#tokenLimits("day", readTokensOfDay);
  readonly flights: Flights = { begin: (slotKey) => this.#begin(slotKey) };
  readonly tasks: NodeTasks = { isMine: (task) => this.#isMine(task) };
  readonly #parts: PostgresCoordinationOptions;
  readonly #turns = new ProjectTurns();
  readonly #stop = new AbortController();
  /** Runs single statements, each of which may be repeated. */
  readonly #alone: ReadingSession;
  #renewing: Promise<void> = Promise.resolve();

  constructor(parts: PostgresCoordinationOptions) {
    this.#parts = parts;
    this.#alone = new ReadingSession(parts.client);
  }

  /** Ends everything that an earlier process of this node held, and starts to renew what this process holds. */
  async start(): Promise<void> {
    await this.#giveUpAll();
    await this.#say();
    this.#renewing = this.#renew();
  }

  /** Stops renewing, and ends everything that this process holds. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#renewing;
    await this.#giveUpAll();
  }

  /** The nodes on the database. */
  async nodes(): Promise<readonly NodeState[]> {
    return (await this.#alone.all<NodeRow>(NODES)).map(({ started_at, seen_at, is_up, ...node }) => {
      return { ...node, startedAt: Number(started_at), seenAt: Number(seen_at), isUp: is_up };
    });
  }

  async #say(): Promise<void> {
    const { nodeId: id, identity } = this.#parts;
    await this.#quietly(() => this.#alone.run(SEEN, { id, ...identity }));
  }

  /**
   * A rate-limit window whose keys begin with `name`. A call is one statement on any connection. If that connection has
   * ended, the statement runs again, and the request may count twice; it is never admitted beyond the limit.
   * @param now Unix milliseconds, in place of the clock of the database server
   */
  window(name: string, windowMs: number, now: () => number | null = () => null): RateWindow {
    const count = async (key: string, limit: number, onlyLooks: boolean): Promise<WindowState> => {
      if (limit >= UNLIMITED) return unlimited(now() ?? this.#parts.clock.now());
      // the limit is part of the key: a changed limit numbers the slots differently, so it starts a new window
      const params = { key: `${name} ${limit} ${key}`, limit, windowMs, now: now(), onlyLooks: Number(onlyLooks) };
      const row = await this.#alone.get<CountRow>(COUNT, params);
      if (row === null) throw new Error("count_request returned nothing");
      return stateOf(row, limit, windowMs);
    };
    return {
      admit: (key, limit) => count(key, limit, false),
      peek: (key, limit) => count(key, limit, true),
    };
  }

  /** Removes windows in which nothing was counted for a while, and nodes that were not seen for a day. */
  async prune(windowMs: number): Promise<void> {
    await this.#alone.run(FORGET_NODES);
    await this.#alone.run(REMOVE_WINDOWS, { ageMs: WINDOWS_KEPT * windowMs });
  }

  async #begin(slotKey: string): Promise<Flight | null> {
    const slot = new Uint8Array(createHash("sha256").update(slotKey).digest());
    const id = crypto.randomUUID();
    const holder = this.#parts.nodeId;
    if ((await this.#alone.run(BEGIN, { slot, id, holder })) === 0) return null;
    return { end: () => this.#quietly(() => this.#alone.run(END, { slot, id })) };
  }

  async #reserve(project: ProjectId): Promise<QuotaReservation> {
    const id = crypto.randomUUID();
    const { clock, nodeId: holder } = this.#parts;
    await this.#write(async (session) => {
      await session.lock([project]);
      const usage = await readUsage(session, project, clock.now());
      const reserved = await session.get<{ readonly reserved: bigint }>(RESERVED, { project });
      const refusal = queryRefusal(usage, Number(reserved?.reserved), clock.now());
      if (refusal !== null) throw refusal;
      await session.run(RESERVE, { id, project, holder });
    });
    return {
      count: async ({ accounts }, tokens) => accounts.countQuery(project, tokens, id),
      release: () => void this.#quietly(() => this.#alone.run(RELEASE, { id })),
    };
  }

  #tokenLimits(period: "month" | "day", usedIn: UsedTokens): TokenLimits {
    return {
      reserve: (project, tokens, limits, signal) =>
        this.#reserveTokens({ period, usedIn, project, tokens, limits }, signal),
    };
  }

  async #reserveTokens(
    { period, usedIn, project, tokens, limits }: AskedTokens,
    signal: AbortSignal,
  ): Promise<TokenReservation> {
    if (limits.length === 0) return { used: 0, release: () => undefined };
    const id = crypto.randomUUID();
    const { clock, nodeId: holder } = this.#parts;
    for (;;) {
      signal.throwIfAborted();
      const { used, verdict } = await this.#write(async (session) => {
        await session.lock([project]);
        // in this order: a call is counted before its reservation ends, so none is missing in both numbers
        const running = await session.get<{ readonly tokens: bigint }>(RUNNING, { project, period });
        const used = await usedIn(session, project, clock.now());
        const verdict = tokenVerdict(used, Number(running?.tokens), limits);
        const reserved = { id, project, period, tokens: Math.ceil(tokens), holder };
        if (verdict === "free") await session.run(RESERVE_TOKENS, reserved);
        return { used, verdict };
      });
      if (verdict === "reached") return { used, release: () => undefined };
      if (verdict === "free") {
        return { used, release: () => void this.#quietly(() => this.#alone.run(RELEASE_TOKENS, { id })) };
      }
      await clock.sleep(TOKENS_POLL_MS, signal);
    }
  }

  async #isMine(task: NodeTask): Promise<boolean> {
    return (await this.#alone.run(TAKE_TASK, { task, holder: this.#parts.nodeId })) > 0;
  }

  async #renew(): Promise<void> {
    const { clock, nodeId: holder } = this.#parts;
    for (;;) {
      await clock.sleep(RENEW_MS, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.#say();
      await this.#quietly(async () => {
        for (const table of HELD) {
          await this.#alone.run(`UPDATE ${table} SET until = now_ms() + ${HOLD_MS} WHERE holder = $holder`, { holder });
        }
      });
    }
  }

  #giveUpAll(): Promise<void> {
    const { nodeId: holder } = this.#parts;
    return this.#quietly(async () => {
      for (const table of HELD) await this.#alone.run(`DELETE FROM ${table} WHERE holder = $holder`, { holder });
      await this.#alone.run(GONE, { id: holder });
    });
  }

  /** Runs work whose failure is only logged: it is repeated soon, or what it would end expires within a minute. */
  async #quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.#parts.log.warn({ err }, "what this node holds in the database could not be renewed or given up");
    }
  }

  #write<T>(work: (session: WritingSession) => Promise<T>): Promise<T> {
    return inWritingSession(this.#parts.client, this.#turns, work);
  }
}

/** Reads the tokens that a project used in the period of `nowMs`. */
type UsedTokens = (session: Session, projectId: ProjectId, nowMs: number) => Promise<number>;

interface AskedTokens {
  readonly period: "month" | "day";
  readonly usedIn: UsedTokens;
  readonly project: ProjectId;
  readonly tokens: number;
  readonly limits: readonly number[];
}

type NodeRow = Pick<NodeState, "id" | "name" | "role" | "version"> & {
  readonly started_at: bigint;
  readonly seen_at: bigint;
  readonly is_up: boolean;
};

interface CountRow {
  readonly is_admitted: boolean;
  readonly in_window: bigint;
  readonly oldest: bigint | null;
  readonly blocking: bigint | null;
  readonly at_ms: bigint;
}

function unlimited(nowMs: number): WindowState {
  const resetAtSeconds = Math.ceil(nowMs / 1000);
  return { isAdmitted: true, limit: UNLIMITED, remaining: UNLIMITED, resetAtSeconds, retryAfterSeconds: 0 };
}

function stateOf({ is_admitted, in_window, oldest, blocking, at_ms }: CountRow, limit: number, windowMs: number) {
  const [at, isAdmitted] = [Number(at_ms), is_admitted];
  return {
    isAdmitted,
    limit,
    remaining: Math.max(0, limit - Number(in_window)),
    resetAtSeconds: Math.ceil((oldest === null ? at : Number(oldest) + windowMs) / 1000),
    retryAfterSeconds: isAdmitted ? 0 : Math.ceil((Number(blocking) + windowMs - at) / 1000),
  } satisfies WindowState;
}
