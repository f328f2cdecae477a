// The server that runs on a data directory, asked through its socket.

import type { SystemAnswer } from "../compose/control.ts";
import { askServer } from "../compose/control-socket.ts";

/**
 * The state of the server on the data directory; null if nobody listens there, `"unreadable"` if a server answers, but
 * not with its state.
 */
export async function runningServer(dataDir: string): Promise<SystemAnswer | "unreadable" | null> {
  const response = await askServer(dataDir, "/system");
  if (response === null) return null;
  if (!response.ok) return "unreadable";
  try {
    return (await response.json()) as SystemAnswer;
  } catch {
    return "unreadable"; // it stopped while it answered
  }
}
