// The state of the server. It is polled while the page is visible.

import { signal } from "@preact/signals";
import { ApiError, pause, readPublic } from "./api.ts";

/** Polling intervals in milliseconds: while the server is ready, and while it is not. */
const READY_MS = 15_000;
const WAITING_MS = 2_000;

/** State of a lane (a process that runs models), from `/ready`. */
export interface Lane {
  readonly name: string;
  readonly status: string;
  readonly restarts: number;
  readonly rss_bytes: number | null;
  readonly provider: string | null;
}

/** State of the server. */
export interface ServerState {
  readonly state: "connecting" | "ready" | "waiting" | "unreachable";
  /** The text of `/ready`, such as `waiting for the models`. */
  readonly status: string;
  readonly warnings: readonly string[];
  readonly lanes: readonly Lane[];
}

/** The last known state. */
export const server = signal<ServerState>({ state: "connecting", status: "", warnings: [], lanes: [] });
/** Number of times that the server became ready again. Resources reload when it grows. */
export const recoveries = signal(0);

/** Polls the server as long as the page is open. Never returns. */
export async function watchServer(): Promise<void> {
  for (;;) {
    const before = server.value.state;
    server.value = await ask();
    if (server.value.state === "ready" && before !== "ready" && before !== "connecting") recoveries.value += 1;
    await pause(server.value.state === "ready" ? READY_MS : WAITING_MS);
    while (document.hidden) await pause(WAITING_MS);
  }
}

/** Marks the server as unreachable after a failed request, without waiting for the next poll. */
export function noteUnreachable(): void {
  if (server.value.state === "ready") server.value = { ...server.value, state: "unreachable" };
}

async function ask(): Promise<ServerState> {
  try {
    const { status, text } = await readPublic("/ready");
    const body = parsed(text);
    return {
      state: status === 200 ? "ready" : "waiting",
      status: body.status ?? "",
      warnings: body.warnings ?? [],
      lanes: body.lanes ?? [],
    };
  } catch (error) {
    if (error instanceof ApiError) return { ...server.value, state: "unreachable" };
    throw error;
  }
}

function parsed(text: string): { status?: string; warnings?: string[]; lanes?: Lane[] } {
  try {
    return JSON.parse(text);
  } catch {
    return {}; // not the server's JSON: a proxy has answered
  }
}
