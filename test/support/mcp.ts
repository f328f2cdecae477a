// The official MCP clients, of both revisions of the protocol, behind one interface.

import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as EarlierStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as EarlierHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as EarlierTransport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { recordRequests } from "./counted-requests.ts";
import type { TestService } from "./service.ts";

/** The clients: the current one with both revisions, and the one that was written for the earlier revision. */
export const CLIENTS = ["2026-07-28", "2025-11-25", "2025-11-25 (sdk 1.x)"] as const;
/** A client, named for the revision that it speaks. */
export type ClientName = (typeof CLIENTS)[number];

/** The result of a tool call. */
export interface ToolResult {
  readonly isError: boolean;
  /** The text of the only content block. */
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect results of any shape, and fail if they differ
  readonly data: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly error: any;
}

/** A connected client. */
export interface Peer {
  readonly instructions: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  tools(): Promise<readonly any[]>;
  /** Calls a tool. The client checks a successful result against the tool's output schema. */
  call(name: string, args?: object, options?: { readonly signal?: AbortSignal }): Promise<ToolResult>;
  /** Calls a tool and fails if it fails. */
  done(name: string, args?: object): Promise<ToolResult["data"]>;
  close(): Promise<void>;
}

const INFO = { name: "mneme-test", version: "1.0.0" };

/** Connects a client over HTTP. */
export function connectHttp(name: ClientName, url: string, key: string): Promise<Peer> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return name === "2025-11-25 (sdk 1.x)"
    ? connectEarlier(new EarlierHttp(new URL(`${url}/mcp`), { requestInit }) as EarlierTransport)
    : connectCurrent(name, new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
}

/** How to start a server that speaks over stdin and stdout. */
export interface StdioCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Connects a client over stdio to a process that it starts. `onError` gets what the process writes to stderr. */
export function connectStdio(name: ClientName, start: StdioCommand, onError: (text: string) => void): Promise<Peer> {
  const parameters = { ...start, args: [...start.args], env: { ...start.env }, stderr: "pipe" as const };
  if (name === "2025-11-25 (sdk 1.x)") {
    const transport = new EarlierStdio(parameters);
    transport.stderr?.on("data", (chunk: unknown) => onError(String(chunk)));
    return connectEarlier(transport);
  }
  const transport = new StdioClientTransport(parameters);
  transport.stderr?.on("data", (chunk: unknown) => onError(String(chunk)));
  return connectCurrent(name, transport);
}

async function connectCurrent(name: ClientName, transport: Transport): Promise<Peer> {
  const client = new Client(INFO, {
    versionNegotiation: { mode: name === "2026-07-28" ? { pin: name } : "legacy" },
  });
  await client.connect(transport);
  return peer(client);
}

async function connectEarlier(transport: EarlierTransport): Promise<Peer> {
  const client = new EarlierClient(INFO);
  await client.connect(transport);
  return peer(client as unknown as Client);
}

function peer(client: Client): Peer {
  const call: Peer["call"] = async (name, args = {}, options = {}) => {
    // the earlier client has the options in third place
    const isEarlier = !(client instanceof Client);
    const params = { name, arguments: args as Record<string, unknown> };
    const earlier = client as unknown as EarlierClient;
    const result = isEarlier
      ? await earlier.callTool(params, undefined, options)
      : await client.callTool(params, options);
    const [block, ...others] = result.content as { readonly type: string; readonly text: string }[];
    if (block?.type !== "text" || others.length > 0) throw new Error("a result has one text");
    const meta = result._meta as Record<string, unknown> | undefined;
    return {
      isError: result.isError === true,
      text: block.text,
      data: result.structuredContent,
      error: meta?.["mneme/error"],
    };
  };
  return {
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call,
    done: async (name, args) => {
      const result = await call(name, args);
      if (result.isError) throw new Error(`${name} failed: ${result.text}`);
      return result.data;
    },
    close: () => client.close(),
  };
}

/** Serves a test service on a free port. */
export function listen({ service }: TestService): { readonly url: string; readonly stop: () => Promise<void> } {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: (request, server) => service.handle(request, () => server.requestIP(request)?.address ?? ""),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const stop = async () => {
    await recordRequests(async () => (await fetch(`${url}/metrics`)).text());
    await server.stop(true);
  };
  return { url, stop };
}
