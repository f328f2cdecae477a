// The server that runs on a data directory, asked through its socket.

import type { SystemAnswer } from "../compose/control.ts";
import { commandsTo } from "../compose/control-socket.ts";

/**
 * The state of the server on the data directory; null if nobody listens there, `"unreadable"` if a server answers, but
 * not with its state.
 */
export async function runningServer(dataDir: string): Promise<SystemAnswer | "unreadable" | null> {
  let response: Response;
  try {
    response = await commandsTo(dataDir)(new Request("http://mneme/system"));
  } catch {
    return null; // nobody listens
  }
  if (!response.ok) return "unreadable";
  try {
    return (await response.json()) as SystemAnswer;
  } catch {
    return "unreadable"; // it stopped while it answered
  }
}
