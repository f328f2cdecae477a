// The state of the server, asked again and again while the page is seen.

import { signal } from "@preact/signals";
import { ApiError, pause, readPublic } from "./api.ts";

/** Times between questions in milliseconds, if the server is ready and if it is not. */
const READY_MS = 15_000;
const WAITING_MS = 2_000;

/** State of a lane, as `/ready` says. */
export interface Lane {
  readonly name: string;
  readonly status: string;
  readonly restarts: number;
  readonly rss_bytes: number | null;
  readonly provider: string | null;
}

/** What is known of the server. */
export interface ServerState {
  readonly state: "connecting" | "ready" | "waiting" | "unreachable";
  /** In the server's words, such as `waiting for the models`. */
  readonly status: string;
  readonly warnings: readonly string[];
  readonly lanes: readonly Lane[];
}

/** The last state. */
export const server = signal<ServerState>({ state: "connecting", status: "", warnings: [], lanes: [] });
/** Counts how often the server came back, so that what failed can load again. */
export const recoveries = signal(0);

/** Watches the server as long as the page is open. */
export async function watchServer(): Promise<void> {
  for (;;) {
    const before = server.value.state;
    server.value = await ask();
    if (server.value.state === "ready" && before !== "ready" && before !== "connecting") recoveries.value += 1;
    await pause(server.value.state === "ready" ? READY_MS : WAITING_MS);
    while (document.hidden) await pause(WAITING_MS);
  }
}

/** Notes that a request found no server, before the next question would. */
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
    return {}; // a proxy has answered: then only the state is shown
  }
}
