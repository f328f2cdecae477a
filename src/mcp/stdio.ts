// Serves MCP over stdin and stdout. bridge.ts forwards the calls to a server. Runs on Bun and, in the .mcpb bundle, on
// Node 20.

import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { errorMessage } from "../kit/error-message.ts";
import { createBridge, type RemoteMcp } from "./bridge.ts";
import { messageLines } from "./message-lines.ts";

/** Maximum length of a report on stderr, in characters. */
const REPORT_CHARACTERS = 300;

/** Serves one client until stdin ends or `signal` aborts. */
export async function serveOverStdio(remote: RemoteMcp, signal: AbortSignal): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) process.stdin.once(event, () => resolve());
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const lines = process.stdin.pipe(messageLines((answer) => process.stdout.write(answer)));
  const connection = serveStdio(() => createBridge(remote, report), {
    transport: new StdioServerTransport(lines, process.stdout),
    maxSubscriptions: 0, // nothing that a client could subscribe to ever changes
    onerror: report,
  });
  await ended;
  await connection.close();
}

function report(error: unknown): void {
  const text = errorMessage(error).replaceAll(/\s+/g, " ");
  process.stderr.write(`mneme mcp: ${text.slice(0, REPORT_CHARACTERS)}\n`);
}
