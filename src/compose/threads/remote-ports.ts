// Ports of a request thread that the main thread implements. served-ports.ts is the other end.

import type { ProjectId } from "../../domain/ids.ts";
import {
  type Flight,
  type Flights,
  type QueryQuotas,
  type RateWindow,
  type TokenLimits,
  UNLIMITED,
  type WindowState,
} from "../../ports/coordination.ts";
import { type Prepared, PrepareFailure, type Preparer } from "../../ports/preparer.ts";
import type { Stores, Transaction, Transactions } from "../../ports/transactions.ts";
import type { SearchQueue } from "../../services/search-queue.ts";
import type { CallStore } from "../../stores/transactions.ts";
import type { ThreadCalls } from "./thread-calls.ts";
import type { AskedTokens, AskedTurn, GivenTokens, GivenTurn, StoreCall, WindowCall } from "./thread-protocol.ts";

/** A rate-limit window of the main thread. */
export function remoteWindow(calls: ThreadCalls, window: WindowCall["window"]): RateWindow {
  const ask = (name: "admit" | "peek") => (key: string, limit: number) =>
    limit >= UNLIMITED ? unlimited(limit) : calls.call<WindowState>(name, { window, key, limit } satisfies WindowCall);
  return { admit: ask("admit"), peek: ask("peek") };
}

// The state of a window without a limit. Its requests are not counted, so the main thread is not asked.
function unlimited(limit: number): WindowState {
  const resetAtSeconds = Math.ceil((performance.timeOrigin + performance.now()) / 1_000);
  return { isAdmitted: true, limit, remaining: limit, resetAtSeconds, retryAfterSeconds: 0 };
}

/** The query quotas. A query is counted in the transaction that stores its answer. */
export function remoteQuotas(calls: ThreadCalls): QueryQuotas {
  return {
    reserve: async (projectId) => {
      const id = await calls.call<number>("reserve", projectId, { holds: true });
      return {
        count: ({ accounts }, tokens) => Promise.resolve(accounts.countQuery(projectId, tokens)),
        release: () => calls.note("release", id),
      };
    },
  };
}

/** The monthly token limits. */
export function remoteMonthlyTokens(calls: ThreadCalls): TokenLimits {
  return {
    reserve: async (projectId, tokens, limits, signal) => {
      if (limits.length === 0) return { used: 0, release: () => undefined };
      const asked: AskedTokens = { projectId, tokens, limits };
      const { id, used } = await calls.call<GivenTokens>("reserveTokens", asked, { signal, holds: true });
      return { used, release: () => calls.note("release", id) };
    },
  };
}

/** The requests in progress under an Idempotency-Key. */
export function remoteFlights(calls: ThreadCalls): Flights {
  return {
    begin: async (slotKey): Promise<Flight | null> => {
      const id = await calls.call<number | null>("beginFlight", slotKey, { holds: true });
      return id === null ? null : { end: () => calls.call<void>("release", id) };
    },
  };
}

/** The queue of searches. */
export function remoteQueue(calls: ThreadCalls): SearchQueue {
  return {
    run: async ({ projectId, task, tokens = null, bytes, signal }, begin) => {
      const work: AskedTurn = { projectId, task, tokens, bytes: bytes() };
      const { id, waitedMs } = await calls.call<GivenTurn>("takeTurn", work, { signal, holds: true });
      try {
        signal.throwIfAborted();
        return await begin(waitedMs);
      } finally {
        calls.note("release", id);
      }
    },
    load: () => ({ inProgress: 0, waiting: 0 }),
    close: () => undefined,
  };
}

/** Prepares the texts of searches at an earlier time. */
export function remotePreparer(calls: ThreadCalls): Pick<Preparer, "prepare"> {
  type Sent = { readonly prepared: Prepared } | { readonly failure: string };
  return {
    prepare: async (inputs, signal) =>
      (await calls.call<readonly Sent[]>("prepare", inputs, { signal })).map((outcome) =>
        "failure" in outcome ? new PrepareFailure(outcome.failure) : outcome.prepared,
      ),
  };
}

/** Runs methods that change a store on the main thread. */
export function remoteStoreCalls(calls: ThreadCalls): CallStore {
  return (store, method, parameters) => calls.call("store", { store, method, parameters } satisfies StoreCall);
}

/** Transactions on the connection of the main thread. Their effects run on this thread, after the commit. */
export function remoteTransactions(calls: ThreadCalls): Transactions {
  return {
    run: async (work) => {
      const id = await calls.call<number>("beginTransaction", null);
      const effects: (() => unknown)[] = [];
      try {
        const result = await work(remoteTransaction(calls, id, effects));
        await calls.call("commit", id);
        for (const effect of effects) await effect();
        return result;
      } catch (error) {
        await calls.call("rollBack", id);
        throw error;
      }
    },
  };
}

function remoteTransaction(calls: ThreadCalls, id: number, effects: (() => unknown)[]): Transaction {
  const store = (name: keyof Stores) =>
    new Proxy(
      {},
      {
        get: (_, method) =>
          typeof method !== "string"
            ? undefined
            : (...parameters: readonly unknown[]) =>
                calls.call("inTransaction", { id, store: name, method, parameters }),
      },
    );
  return new Proxy({} as Transaction, {
    get: (_, name) =>
      name === "afterCommit" ? (effect: () => unknown) => void effects.push(effect) : store(name as keyof Stores),
  });
}

/** Returns a function that lets the main thread open the index of a project. It rejects with `project_not_found`. */
export function opensProjects(calls: ThreadCalls): (id: ProjectId) => Promise<void> {
  return (id) => calls.call("openProject", id);
}
