// Code with which agents and programs connect to this server, with its address and a key.

/** A client: an agent, a program, or a language. */
export interface Client {
  readonly name: string;
  readonly title: string;
  readonly kind: "agent" | "program";
  /** File in which the code belongs; null: the code is a command or a program. */
  readonly file: string | null;
}

/** All clients, in the order in which they are offered. */
export const CLIENTS: readonly Client[] = [
  { name: "curl", title: "curl", kind: "program", file: null },
  { name: "typescript", title: "TypeScript", kind: "program", file: null },
  { name: "python", title: "Python", kind: "program", file: null },
  { name: "openai", title: "OpenAI SDK", kind: "program", file: null },
  { name: "claude-code", title: "Claude Code", kind: "agent", file: ".mcp.json" },
  { name: "claude-desktop", title: "Claude Desktop", kind: "agent", file: "claude_desktop_config.json" },
  { name: "cursor", title: "Cursor", kind: "agent", file: "~/.cursor/mcp.json" },
  { name: "vscode", title: "VS Code", kind: "agent", file: ".vscode/mcp.json" },
  { name: "codex", title: "Codex", kind: "agent", file: "~/.codex/config.toml" },
  { name: "gemini", title: "Gemini CLI", kind: "agent", file: "~/.gemini/settings.json" },
];

/** What a key may do, which decides what the code contains. */
export interface Allowed {
  readonly mayStore: boolean;
  readonly maySearch: boolean;
  /** The user to whom the key is confined; null: none. */
  readonly userId: string | null;
}

const EVERYTHING: Allowed = { mayStore: true, maySearch: true, userId: null };

/** What a key with these scopes may do. */
export function allowedBy({ scopes, userId }: { scopes: readonly string[]; userId: string | null }): Allowed {
  const has = (scope: string) => scopes.includes("*") || scopes.includes(scope);
  return { mayStore: has("memories:write"), maySearch: has("memories:read"), userId };
}

/**
 * The code for a client.
 * @param base address of the server, ending in `/`
 * @param allowed code for what the key may not do is left out
 */
export function clientSnippet(name: string, base: string, key: string, allowed: Allowed = EVERYTHING): string {
  const { mayStore, maySearch } = allowed;
  const user = JSON.stringify(allowed.userId ?? "lena");
  const url = `${base}mcp`;
  const bearer = { Authorization: `Bearer ${key}` };
  const json = (value: object) => JSON.stringify(value, null, 2);
  switch (name) {
    case "typescript":
      return [
        'import { Mneme } from "mneme-client";',
        "",
        `const mneme = new Mneme({ baseUrl: "${base.replace(/\/$/, "")}", apiKey: "${key}" });`,
        mayStore &&
          `await mneme.memories.add({ content: "Lena prefers meetings before noon.", userId: ${user} }, { wait: true });`,
        maySearch && 'const { results } = await mneme.memories.search("When should I meet Lena?");',
        maySearch && "console.log(results[0]?.content);",
      ]
        .filter((line) => line !== false)
        .join("\n");
    case "python":
      return [
        "from mneme_client import Mneme",
        "",
        `with Mneme(base_url="${base.replace(/\/$/, "")}", api_key="${key}") as mneme:`,
        mayStore && `    mneme.memories.add("Lena prefers meetings before noon.", user_id=${user}, wait=True)`,
        maySearch && '    print(mneme.memories.search("When should I meet Lena?").results[0].content)',
      ]
        .filter((line) => line !== false)
        .join("\n");
    case "openai":
      return [
        'import OpenAI from "openai";',
        "",
        `const client = new OpenAI({ baseURL: "${base}v1", apiKey: "${key}" });`,
        "const answer = await client.chat.completions.create({",
        '  model: "mneme",',
        '  messages: [{ role: "user", content: "When should I meet Lena?" }],',
        "});",
        "console.log(answer.choices[0]?.message.content);",
      ].join("\n");
    case "claude-code":
      return json({ mcpServers: { mneme: { type: "http", url, headers: bearer } } });
    case "cursor":
      return json({ mcpServers: { mneme: { url, headers: bearer } } });
    case "gemini":
      return json({ mcpServers: { mneme: { httpUrl: url, headers: bearer } } });
    case "vscode":
      return json({ servers: { mneme: { type: "http", url, headers: bearer } } });
    case "claude-desktop":
      return json({
        mcpServers: {
          mneme: { command: "mneme", args: ["mcp", "--url", base.replace(/\/$/, "")], env: { MNEME_API_KEY: key } },
        },
      });
    case "codex":
      return [
        `# export MNEME_API_KEY=${key}`,
        "[mcp_servers.mneme]",
        `url = "${url}"`,
        'bearer_token_env_var = "MNEME_API_KEY"',
      ].join("\n");
    default: {
      const call = (path: string, body: object) =>
        [
          `curl ${base}v1/${path} \\`,
          `  -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
          `  -d '${JSON.stringify(body).replaceAll("'", "'\\\\''")}'`,
        ].join("\n");
      const content = "Lena prefers meetings before noon.";
      return [
        mayStore && call("memories", { content, userId: allowed.userId ?? "lena" }),
        maySearch && call("memories/search", { query: "When should I meet Lena?" }),
      ]
        .filter((one) => one !== false)
        .join("\n\n");
    }
  }
}
