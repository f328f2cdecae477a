// Serves MCP over stdin and stdout. bridge.ts passes the calls on to a server. Runs on Bun and, in the .mcpb bundle, on
// Node 20.

import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createBridge, type RemoteMcp } from "./bridge.ts";

/** Serves one client until stdin ends or `signal` aborts. */
export async function serveOverStdio(remote: RemoteMcp, signal: AbortSignal): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) process.stdin.once(event, () => resolve());
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const connection = serveStdio(() => createBridge(remote, report), {
    maxSubscriptions: 0, // nothing that a client could subscribe to ever changes
    onerror: report,
  });
  await ended;
  await connection.close();
}

function report(error: unknown): void {
  process.stderr.write(`mneme mcp: ${error instanceof Error ? error.message : String(error)}\n`);
}
