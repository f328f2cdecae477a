// The MCP server for one caller: lists the tools that the caller's key may use, and calls them. The package
// @modelcontextprotocol/server speaks the protocol; endpoint.ts serves it over HTTP, stdio.ts over stdin and stdout.

import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server, type Tool } from "@modelcontextprotocol/server";
import { check } from "../api/check.ts";
import { errorView, faultOf } from "../api/errors.ts";
import type { ProtocolCall, Settled } from "../api/protocol-endpoint.ts";
import type { Principal } from "../domain/scope.ts";
import type { Log } from "../kit/log.ts";
import { shortened } from "../kit/shortened.ts";
import type { ProfileService } from "../services/profile.ts";
import { meantArguments } from "./arguments.ts";
import { INSTRUCTIONS, INTRODUCTION } from "./introduction.ts";
import { toolSchema } from "./json-schema.ts";
import { reportProgress } from "./progress.ts";
import type { Tool as MnemeTool } from "./tool.ts";
import { visibleTo } from "./tools.ts";

/** What all MCP servers of a process share. */
export interface McpDependencies {
  readonly tools: readonly MnemeTool[];
  readonly settled: Settled;
  readonly profiles: Pick<ProfileService, "of">;
  readonly log: Log;
  /** Milliseconds between two messages about the progress of a call. */
  readonly progressMs?: number | undefined;
}

/** The caller of a request, and the operations that the tools may call for it. */
export interface Caller {
  readonly principal: Principal;
  readonly operations: ProtocolCall["operations"];
  readonly requestId: string;
  /** Base address under which the caller reaches the server. */
  readonly origin: string;
}

/** Creates the MCP server of one caller. */
export function createMcpServer(parts: McpDependencies, { principal, operations, requestId, origin }: Caller): Server {
  const { tools, settled, profiles, log, progressMs } = parts;
  const server = new Server(INTRODUCTION, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler("tools/list", () => ({ tools: visibleTo(tools, principal).map(listed) }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const called = tools.find(({ name }) => name === params.name);
    if (called === undefined) {
      const names = visibleTo(tools, principal).map(({ name }) => name);
      const message = `There is no tool '${shortened(params.name)}'. The tools are ${names.join(", ")}.`;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
    }
    const { signal, _meta: meta } = mcpReq;
    const stopProgress = reportProgress(meta?.progressToken, (progress) => mcpReq.notify(progress), {
      intervalMs: progressMs,
      onError: (err) => log.debug({ err }, "the progress of a tool call could not be sent"),
    });
    try {
      const args = check(called.input, meantArguments(called.input, params.arguments));
      const result = await called.run(args, {
        operations: operations(signal),
        settled: (id, timeoutMs) => settled(principal, id, timeoutMs, signal),
        profile: (requested) => profiles.of(principal, requested),
        origin,
      });
      return { structuredContent: { ...result }, content: [{ type: "text", text: JSON.stringify(result) }] };
    } catch (error) {
      return failure(error, called.name, { signal, requestId, log });
    } finally {
      stopProgress();
    }
  });
  return server;
}

const listings = new WeakMap<MnemeTool, Tool>();

/** A tool as clients see it. It is made once, because converting its schemas takes longer than a search. */
function listed(tool: MnemeTool): Tool {
  const listing = listings.get(tool) ?? listingOf(tool);
  listings.set(tool, listing);
  return listing;
}

function listingOf({ name, title, description, annotations, input, output }: MnemeTool): Tool {
  return {
    name,
    title,
    description,
    // null has a meaning in `update_memory` only: it clears a field
    inputSchema: toolSchema(input, name !== "update_memory"),
    outputSchema: toolSchema(output, false),
    annotations: { title, ...annotations, openWorldHint: false },
  } as Tool;
}

/** The result of a call that failed. Like an error of the API, it has no internal details. */
function failure(
  error: unknown,
  tool: string,
  { signal, requestId, log }: { readonly signal: AbortSignal; readonly requestId: string; readonly log: Log },
): CallToolResult {
  const fault = faultOf(error);
  if (fault !== error) {
    // If a caller disconnects, the work can fail; that is not an error of the server.
    log[signal.aborted ? "debug" : "error"]({ tool, err: error }, "a tool failed with an internal error");
    const message = `Something went wrong inside the server. Its log has the details under the name ${tool}.`;
    return refusal(message, { ...errorView(fault, requestId), message });
  }
  return refusal(fault.message, errorView(fault, requestId));
}

function refusal(message: string, detail: object): CallToolResult {
  return { isError: true, content: [{ type: "text", text: message }], _meta: { "mneme/error": detail } };
}
