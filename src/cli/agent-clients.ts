// The configuration files of MCP clients: where they are, and what connects each client with Mneme. connect.ts prints
// or writes them. docs/mcp.md names the versions of the clients that have these formats.

import { join } from "node:path";
import type { JsonRecord } from "../kit/record.ts";

/** The clients that `mneme connect` knows. */
export const AGENT_CLIENTS = ["claude-code", "claude-desktop", "codex", "cursor", "vscode", "gemini"] as const;
/** One of `AGENT_CLIENTS`. */
export type AgentClient = (typeof AGENT_CLIENTS)[number];

/** How a client reaches Mneme. */
export type Connection =
  /**
   * A server at an address. `key`: its API key, for clients that do not read MNEME_API_KEY; null if it is not known.
   */
  | { readonly kind: "server"; readonly url: string; readonly key: string | null; readonly program: Program }
  /** A process that the client starts on a data directory. */
  | { readonly kind: "directory"; readonly dataDir: string; readonly program: Program };

/** The command line that starts Mneme. */
export type Program = readonly [command: string, ...args: string[]];

/** Places from which the paths of configuration files derive. */
export interface AgentPlace {
  readonly home: string;
  readonly workingDirectory: string;
  readonly platform: NodeJS.Platform;
  /** Environment variables. Some say where a client has its files. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What a configuration file must have. Its other entries stay. */
export type ConfigurationFile =
  /** JSON to merge: objects field by field, except that the entry `mneme` is replaced; lists get further items. */
  | { readonly path: string; readonly format: "json"; readonly content: JsonRecord }
  /** A table of TOML with its header. */
  | { readonly path: string; readonly format: "toml"; readonly table: string; readonly content: string };

/** Printed in place of the key if no key is known. */
const KEY_PLACEHOLDER = "ctx_paste-your-key-here";

/** The configuration file of a client, and what it must have to connect the client with Mneme. */
export function configurationOf(client: AgentClient, connection: Connection, place: AgentPlace): ConfigurationFile {
  const { home, workingDirectory } = place;
  const json = (path: string, content: JsonRecord) => ({ path, format: "json", content }) as const;
  switch (client) {
    case "claude-code":
      return json(join(workingDirectory, ".mcp.json"), {
        mcpServers: { mneme: { type: typeOf(connection), ...overHttp(connection, "url", reference("MNEME_API_KEY")) } },
      });
    case "claude-desktop":
      return json(claudeDesktopFile(place), { mcpServers: { mneme: overStdio(connection) } });
    case "codex":
      return codexFile(connection, place);
    case "cursor":
      return json(join(home, ".cursor/mcp.json"), {
        mcpServers: { mneme: overHttp(connection, "url", reference("env:MNEME_API_KEY")) },
      });
    case "vscode":
      return json(join(workingDirectory, ".vscode/mcp.json"), vscodeContent(connection));
    case "gemini":
      return json(join(home, ".gemini/settings.json"), {
        mcpServers: { mneme: overHttp(connection, "httpUrl", "$MNEME_API_KEY") },
      });
  }
}

/** Hooks of Claude Code that recall at the start of a session and capture at its end. */
export function claudeCodeHooks(
  { url, program }: Connection & { kind: "server" },
  place: AgentPlace,
): ConfigurationFile {
  const command = (name: string) => [...program, "hook", name, "--url", url].map(shellWord).join(" ");
  const hook = (name: string, timeout: number) => ({ type: "command", command: command(name), timeout });
  return {
    path: join(place.workingDirectory, ".claude/settings.json"),
    format: "json",
    content: {
      hooks: {
        SessionStart: [{ matcher: "startup|resume|clear", hooks: [hook("recall", 15)] }],
        SessionEnd: [{ hooks: [hook("capture", 60)] }],
      },
    },
  };
}

/** The entry of a client that speaks HTTP; `variable` is how it refers to the key in the environment. */
function overHttp(connection: Connection, urlField: string, variable: string): JsonRecord {
  if (connection.kind === "directory") return overStdio(connection);
  return { [urlField]: `${connection.url}/mcp`, headers: { Authorization: `Bearer ${variable}` } };
}

/** The entry of a client that starts a process. It does not pass its own environment on, so the key is in the file. */
function overStdio(connection: Connection): JsonRecord {
  const [command, ...args] = connection.program;
  if (connection.kind === "directory") return { command, args: [...args, "mcp", "--data-dir", connection.dataDir] };
  return {
    command,
    args: [...args, "mcp", "--url", connection.url],
    env: { MNEME_API_KEY: connection.key ?? KEY_PLACEHOLDER },
  };
}

function vscodeContent(connection: Connection): JsonRecord {
  const entry = { type: typeOf(connection), ...overHttp(connection, "url", reference("input:mneme-api-key")) };
  if (connection.kind === "directory") return { servers: { mneme: entry } };
  return {
    inputs: [{ type: "promptString", id: "mneme-api-key", description: "API key of Mneme", password: true }],
    servers: { mneme: entry },
  };
}

function typeOf({ kind }: Connection): "http" | "stdio" {
  return kind === "server" ? "http" : "stdio";
}

/** A reference to a variable, such as `${MNEME_API_KEY}`, as most clients write it. */
function reference(name: string): string {
  return `\${${name}}`;
}

function claudeDesktopFile({ home, platform, environment }: AgentPlace): string {
  const name = "claude_desktop_config.json";
  if (platform === "darwin") return join(home, "Library/Application Support/Claude", name);
  if (platform === "win32") return join(environment.APPDATA ?? join(home, "AppData/Roaming"), "Claude", name);
  return join(environment.XDG_CONFIG_HOME ?? join(home, ".config"), "Claude", name);
}

function codexFile(connection: Connection, { home, environment }: AgentPlace): ConfigurationFile {
  const table = "mcp_servers.mneme";
  const lines =
    connection.kind === "server"
      ? [`url = ${tomlText(`${connection.url}/mcp`)}`, 'bearer_token_env_var = "MNEME_API_KEY"']
      : Object.entries(overStdio(connection)).map(([name, value]) => `${name} = ${tomlValue(value)}`);
  const path = join(environment.CODEX_HOME ?? join(home, ".codex"), "config.toml");
  return { path, format: "toml", table, content: [`[${table}]`, ...lines, ""].join("\n") };
}

function tomlValue(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(tomlText).join(", ")}]` : tomlText(String(value));
}

// TOML's basic strings have the escapes of JSON, and DEL must be escaped as well.
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
