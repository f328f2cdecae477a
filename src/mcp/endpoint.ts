// Serves MCP over streamable HTTP at /mcp. Stateless: each request is complete in itself, so that any server behind a
// load balancer can answer it. api/protocol-endpoint.ts counts requests, and reads their bodies, before they come here.

import type { ProtocolCall, ProtocolEndpoint } from "../api/protocol-endpoint.ts";
import { once } from "../kit/once.ts";
import type { HostRules } from "./hosts.ts";
import { MCP_PATH } from "./introduction.ts";
import type { McpDependencies } from "./server.ts";

/** Code of JSON-RPC for a body that is not a request. */
const INVALID_REQUEST = -32_600;
/** Code for refusals that JSON-RPC does not define. The package @modelcontextprotocol/server uses the same one. */
const REFUSED = -32_000;

/** Creates the endpoint. It loads the code of the protocol at the first request, because that takes 35 MB of memory. */
export function createMcpEndpoint(parts: McpDependencies, hosts: HostRules): ProtocolEndpoint {
  const loaded = once(() => Promise.all([import("@modelcontextprotocol/server"), import("./server.ts")]));
  return {
    method: "POST",
    path: MCP_PATH,
    takesBody: true,
    name: "mcp",
    refuse: ({ headers }) => {
      const problem = hosts.problemOf(headers);
      return problem === null ? null : refusal(403, REFUSED, problem);
    },
    answer: async ({ request, requestId, body, principal, operations }: ProtocolCall) => {
      // MCP has no batches since its revision 2025-06-18. One could hold thousands of messages.
      if (Array.isArray(body)) return refusal(400, INVALID_REQUEST, "Send one message per request, not a batch.");
      const [{ createMcpHandler }, { createMcpServer }] = await loaded();
      const caller = { principal, operations, requestId, origin: new URL(request.url).origin };
      const handler = createMcpHandler(() => createMcpServer(parts, caller), {
        maxSubscriptions: 0, // nothing that a client could subscribe to ever changes
        onerror: (err) => parts.log.debug({ err }, "an MCP request was refused"),
      });
      return handler.fetch(request, { parsedBody: body });
    },
  };
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}
