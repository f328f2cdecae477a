// What requests and periodic work must agree on: rate limits, quotas of queries, limits of tokens, requests in
// progress, who does which task, and which nodes run. Implemented by compose/coordination.ts for one node, from parts
// of src/account, and by stores/postgres for several nodes.
//
// Obligations of an implementation:
// - Limits hold exactly, however many calls run at the same time, on however many nodes.
// - What a process holds ends when the process ends: at once after an orderly stop, otherwise within a minute.

import type { ProjectId } from "../domain/ids.ts";
import type { NodeState } from "../domain/system.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Transaction } from "./transactions.ts";

/**
 * Limit that means "unlimited": requests are neither counted nor refused. It is 2³¹ − 1, because every client's integer
 * type can represent it.
 */
export const UNLIMITED = 2_147_483_647;

/** State of a key's window. */
export interface WindowState {
  /**
   * As returned by `admit`: whether the request was admitted. As returned by `peek`: whether a request would be
   * admitted now.
   */
  readonly isAdmitted: boolean;
  readonly limit: number;
  /** Number of requests that would still be admitted now. */
  readonly remaining: number;
  /** Unix seconds at which the oldest counted request leaves the window, rounded up; now if none is counted. */
  readonly resetAtSeconds: number;
  /** Seconds until another request would be admitted, rounded up and so at least 1; 0 if `isAdmitted`. */
  readonly retryAfterSeconds: number;
}

/** Counts requests by key in a sliding window. */
export interface RateWindow {
  /** Counts one request of `key` if fewer than `limit` (at least 1) are counted. */
  admit(key: string, limit: number): Eventually<WindowState>;
  /** The answer that `admit` would give, without counting: `remaining` still includes the request. */
  peek(key: string, limit: number): Eventually<WindowState>;
}

/** Reservation of a query that is being answered. */
export interface QuotaReservation {
  /** Counts the query, in the transaction that stores its answer. */
  count(
    transaction: Pick<Transaction, "accounts">,
    tokens: { readonly prompt: number; readonly completion: number },
  ): Promise<void>;
  /**
   * Ends the reservation. Must always be called when the query ends, also after an error. A second call does nothing.
   */
  release(): void;
}

/** Monthly query quotas of all projects. */
export interface QueryQuotas {
  /**
   * Reserves one query, so that many concurrent queries never exceed the quota.
   * @throws Fault `query_quota_exceeded` with the seconds until the month ends
   */
  reserve(projectId: ProjectId): Promise<QuotaReservation>;
}

/** Tokens that a call of a language model may use. */
export interface TokenReservation {
  /** Tokens that the project had used. If no limit is larger, the call must not be made, and nothing is reserved. */
  readonly used: number;
  /**
   * Ends the reservation. Must always be called, after the store has counted the tokens of the call. A second call does
   * nothing.
   */
  release(): void;
}

/** Token limits of projects in a period: a calendar month or a day (UTC). */
export interface TokenLimits {
  /**
   * Reserves the estimated tokens of a call. While the running calls might use up a limit, it waits for their end,
   * because they may use less than they reserved. So if estimates are right, a limit is exceeded by less than one call.
   * @param limits those of the models that may be called, in tokens per period
   * @throws the reason of `signal` if it aborts while the call waits
   */
  reserve(
    projectId: ProjectId,
    tokens: number,
    limits: readonly number[],
    signal: AbortSignal,
  ): Promise<TokenReservation>;
}

/** A request in progress. */
export interface Flight {
  /** Ends the request. A second call does nothing. */
  end(): Eventually<void>;
}

/** Requests in progress by slot. A slot can have only one. */
export interface Flights {
  /** Marks `slotKey` as running until `end` is called. Returns null if a request with this slot is already running. */
  begin(slotKey: string): Eventually<Flight | null>;
}

/** Periodic work that only one node does at a time. */
export type NodeTask = "sweep" | "upkeep" | "model changes" | "case runs";

/** Decides which node does which periodic work. */
export interface NodeTasks {
  /** Whether this node does the task from now on, until the node ends. */
  isMine(task: NodeTask): Eventually<boolean>;
}

/** What nodes agree on. */
export interface Coordination {
  /** Counts requests by key and route. */
  readonly callers: RateWindow;
  /** Counts failed authentications by address. */
  readonly failures: RateWindow;
  readonly quotas: QueryQuotas;
  /** Monthly limits of the tokens of all calls. */
  readonly monthlyTokens: TokenLimits;
  /** Daily limits of the tokens of ingestion. */
  readonly dailyTokens: TokenLimits;
  readonly flights: Flights;
  readonly tasks: NodeTasks;
  /** The nodes of the service, and those that were seen within a day, in the order of their start. */
  nodes(): Promise<readonly NodeState[]>;
}
