// An MCP server that forwards tool calls to the MCP endpoint of a Mneme server: at an address, on a data directory, or
// in this process. So the tools and their errors are the same as over HTTP. Runs on Bun and, in the .mcpb bundle, on
// Node 20.

import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { errorMessage } from "../kit/error-message.ts";
import { parsedJson } from "../kit/record.ts";
import { INSTRUCTIONS, INTRODUCTION, MCP_PATH } from "./introduction.ts";
import { reportProgress } from "./progress.ts";

/** The MCP endpoint of a Mneme server. */
export interface RemoteMcp {
  /** Base address, such as `http://127.0.0.1:8383`. */
  readonly url: string;
  /** API key; null if the server knows the caller without one. */
  readonly key: string | null;
  /** Sends a request. Rejects with a sentence for the user if no server answers. */
  readonly send: (request: Request) => Promise<Response>;
  /** Milliseconds between two messages about the progress of a call. */
  readonly progressMs?: number | undefined;
}

/** Revision of MCP for calls to the endpoint. It needs no session, and no headers that repeat parts of the message. */
const REVISION = "2025-11-25";

/**
 * Creates the MCP server of one client.
 * @param onError gets failures outside of calls
 */
export function createBridge(remote: RemoteMcp, onError: (error: unknown) => void): Server {
  const server = new Server(INTRODUCTION, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler("tools/list", async (_request, { mcpReq }) => {
    const { tools } = await callRemote(remote, "tools/list", {}, mcpReq.signal);
    return { tools: tools as [] };
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const { name, arguments: args = {} } = params;
    const stopProgress = reportProgress(mcpReq._meta?.progressToken, (progress) => mcpReq.notify(progress), {
      intervalMs: remote.progressMs,
      onError,
    });
    try {
      return (await callRemote(remote, "tools/call", { name, arguments: args }, mcpReq.signal)) as CallToolResult;
    } catch (error) {
      if (error instanceof ProtocolError && error.code !== ProtocolErrorCode.InternalError) throw error;
      const text = errorMessage(error);
      return { isError: true, content: [{ type: "text", text }] };
    } finally {
      stopProgress();
    }
  });
  return server;
}

/** The fields of a JSON-RPC answer, or of an error body of the API, that are read. */
interface RemoteAnswer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
}

/** Sends a JSON-RPC request, and returns its result. @throws ProtocolError if the server refuses or does not answer */
async function callRemote({ url, key, send }: RemoteMcp, method: string, params: object, signal: AbortSignal) {
  const request = new Request(`${url}${MCP_PATH}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      ...(key !== null && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal,
  });
  let text: string;
  let status: number;
  try {
    const response = await send(request);
    status = response.status;
    text = await response.text();
  } catch (cause) {
    const why = errorMessage(cause);
    throw new ProtocolError(ProtocolErrorCode.InternalError, `No answer from Mneme: ${why}`);
  }
  const { result, error } = parseAnswer(text);
  if (result !== undefined) return result;
  const message = typeof error?.message === "string" ? error.message : `The server at ${url} answered ${status}.`;
  const code = typeof error?.code === "number" ? error.code : ProtocolErrorCode.InternalError;
  throw new ProtocolError(code, message);
}

/**
 * The JSON-RPC message in an answer: its JSON, or the last event of a stream. Without fields if it is anything else,
 * such as the page of a proxy or a message that was cut off; the caller then shows the status.
 */
function parseAnswer(text: string): RemoteAnswer {
  const data = text.startsWith("{") ? text : (Array.from(text.matchAll(/^data: ?(\{.*)$/gm)).at(-1)?.[1] ?? "{}");
  return (parsedJson(data) ?? {}) as RemoteAnswer;
}
