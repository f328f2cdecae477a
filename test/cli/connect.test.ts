// `mneme connect`: what it prints and writes for each client, and what it leaves alone. The paths of the clients are
// replaced by a temporary folder.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { AGENT_CLIENTS, type AgentPlace } from "../../src/cli/agent-clients.ts";
import { connectCommand } from "../../src/cli/connect.ts";

let folder: string;
let place: AgentPlace;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mneme-connect-"));
  place = { home: join(folder, "home"), workingDirectory: join(folder, "work"), platform: "linux", environment: {} };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const FILES: Readonly<Record<(typeof AGENT_CLIENTS)[number], string>> = {
  "claude-code": "work/.mcp.json",
  "claude-desktop": "home/.config/Claude/claude_desktop_config.json",
  codex: "home/.codex/config.toml",
  cursor: "home/.cursor/mcp.json",
  vscode: "work/.vscode/mcp.json",
  gemini: "home/.gemini/settings.json",
};
const KEY = "ctx_a-key-for-this-test-only";
const withKey = (): AgentPlace => ({ ...place, environment: { MNEME_API_KEY: KEY } });

function read(path: string): string {
  return readFileSync(join(folder, path), "utf8");
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function parsed(client: keyof typeof FILES): Record<string, unknown> {
  const text = read(FILES[client]);
  return (client === "codex" ? Bun.TOML.parse(text) : JSON.parse(text)) as Record<string, unknown>;
}

describe.each([...AGENT_CLIENTS])("%s", (client) => {
  test("without --write prints what to add and changes nothing", () => {
    const text = connectCommand([client], withKey());
    expect(text).toContain(`Add this to ${join(folder, FILES[client])}:`);
    expect(text).toContain("http://127.0.0.1:8383");
    expect(existsSync(place.home)).toBe(false);
    expect(existsSync(place.workingDirectory)).toBe(false);
  });

  test("with --write makes a file that only its owner reads, and a second run changes nothing", () => {
    connectCommand([client, "--write", "--url", "https://mneme.example/v1/"], withKey());
    const path = join(folder, FILES[client]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(parsed(client))).toContain("https://mneme.example");
    expect(JSON.stringify(parsed(client))).not.toContain("/v1");
    const again = connectCommand([client, "--write", "--url", "https://mneme.example"], withKey());
    expect(again).toContain("is up to date");
    expect(readdirSync(dirname(path))).toHaveLength(1);
  });

  test("has the key itself in the file only if the client cannot read the environment", () => {
    connectCommand([client, "--write"], withKey());
    expect(read(FILES[client]).includes(KEY)).toBe(client === "claude-desktop");
  });

  test("with --data-dir starts a process that needs no key", () => {
    connectCommand([client, "--write", "--data-dir", "my data"], place);
    const text = JSON.stringify(parsed(client));
    expect(text).toContain(JSON.stringify(["mcp", "--data-dir", join(place.workingDirectory, "my data")]).slice(1));
    expect(text).not.toContain("API_KEY");
  });

  test("keeps what else is in the file, and the old file beside it", () => {
    const old =
      client === "codex"
        ? 'model = "o9" # mine\n\n[mcp_servers.other]\nurl = "http://other"\n\n[mcp_servers.mneme]\nurl = "http://old"\n\n[mcp_servers.mneme.env]\nA = "1"\n\n[tui]\nx = 1\n'
        : JSON.stringify({
            theme: "dark",
            mcpServers: { other: { url: "http://other" }, mneme: { url: "http://old", stale: 1 } },
            servers: { other: { url: "http://other" }, mneme: { url: "http://old", stale: 1 } },
            inputs: [{ id: "mine" }],
          });
    put(FILES[client], old);
    const text = connectCommand([client, "--write"], withKey());
    const path = join(folder, FILES[client]);
    expect(text).toContain(`the old file is ${path}.backup`);
    expect(readFileSync(`${path}.backup`, "utf8")).toBe(old);
    const now = JSON.stringify(parsed(client));
    expect(now).toContain("http://other");
    if (client === "codex") {
      expect(read(FILES[client])).toContain('model = "o9" # mine');
      expect(parsed(client).tui).toEqual({ x: 1 });
      expect(now).not.toContain("http://old");
      expect((parsed(client).mcp_servers as Record<string, object>).mneme).not.toHaveProperty("env");
    } else {
      expect(parsed(client)).toMatchObject({ theme: "dark" });
      const servers = parsed(client)[client === "vscode" ? "servers" : "mcpServers"] as Record<string, object>;
      expect(servers.mneme).not.toHaveProperty("stale");
      expect(parsed(client).inputs).toContainEqual({ id: "mine" });
    }
    connectCommand([client, "--write", "--url", "http://127.0.0.1:9"], withKey());
    expect(existsSync(`${path}.backup-2`)).toBe(true);
    expect(readFileSync(`${path}.backup`, "utf8")).toBe(old);
  });
});

test("the entries have the form of each client", () => {
  for (const client of AGENT_CLIENTS) connectCommand([client, "--write"], withKey());
  const url = "http://127.0.0.1:8383/mcp";
  const bearer = (name: string) => ({ Authorization: `Bearer ${name}` });
  expect(parsed("claude-code")).toEqual({
    mcpServers: { mneme: { type: "http", url, headers: bearer("$" + "{MNEME_API_KEY}") } },
  });
  expect(parsed("cursor")).toEqual({ mcpServers: { mneme: { url, headers: bearer("$" + "{env:MNEME_API_KEY}") } } });
  expect(parsed("gemini")).toEqual({ mcpServers: { mneme: { httpUrl: url, headers: bearer("$MNEME_API_KEY") } } });
  expect(parsed("codex")).toEqual({ mcp_servers: { mneme: { url, bearer_token_env_var: "MNEME_API_KEY" } } });
  expect(parsed("vscode")).toMatchObject({
    inputs: [{ type: "promptString", id: "mneme-api-key", password: true }],
    servers: { mneme: { type: "http", url, headers: bearer("$" + "{input:mneme-api-key}") } },
  });
  expect(parsed("claude-desktop")).toMatchObject({
    mcpServers: { mneme: { command: process.execPath, env: { MNEME_API_KEY: KEY } } },
  });
});

test("a file of Codex keeps dates, lists of tables and texts of several lines", () => {
  const old = 'since = 2026-01-02T03:04:05Z\nnotes = """\n[not.a.table]\n"""\n[[hooks]]\na = 1\n[[hooks]]\na = inf\n';
  put(FILES.codex, old);
  connectCommand(["codex", "--write"], withKey());
  expect(read(FILES.codex)).toStartWith(old);
  connectCommand(["codex", "--write", "--url", "http://127.0.0.1:9"], withKey());
  expect(read(FILES.codex)).toStartWith(old);
  expect(read(FILES.codex).match(/mcp_servers/g)).toHaveLength(1);
});

test("--hooks adds the hooks of Claude Code once, beside others", () => {
  const mine = { hooks: [{ type: "command", command: "mine" }] };
  put("work/.claude/settings.json", JSON.stringify({ hooks: { SessionStart: [mine], Stop: [mine] } }));
  for (const url of ["http://127.0.0.1:1", "http://127.0.0.1:2"]) {
    connectCommand(["claude-code", "--write", "--hooks", "--url", url], withKey());
  }
  const { hooks } = JSON.parse(read("work/.claude/settings.json"));
  expect(hooks.Stop).toEqual([mine]);
  expect(hooks.SessionStart).toHaveLength(2);
  expect(hooks.SessionStart[0]).toEqual(mine);
  expect(hooks.SessionStart[1].hooks[0]).toMatchObject({ type: "command", timeout: 15 });
  expect(hooks.SessionStart[1].hooks[0].command).toEndWith("hook recall --url http://127.0.0.1:2");
  expect(hooks.SessionEnd).toHaveLength(1);
  expect(hooks.SessionEnd[0].hooks[0].command).toEndWith("hook capture --url http://127.0.0.1:2");
});

test("the file of Claude Desktop is where each platform has it", () => {
  const of = (platform: AgentPlace["platform"], environment: AgentPlace["environment"] = {}) =>
    connectCommand(["claude-desktop"], { ...place, platform, environment }).split("\n")[0];
  expect(of("darwin")).toContain("home/Library/Application Support/Claude/claude_desktop_config.json:");
  expect(of("win32", { APPDATA: join(folder, "roaming") })).toContain("roaming/Claude/claude_desktop_config.json:");
  expect(of("linux", { XDG_CONFIG_HOME: join(folder, "xdg") })).toContain("xdg/Claude/claude_desktop_config.json:");
});

test("a file that a link leads to is changed, and the link stays", () => {
  put("dotfiles/mcp.json", "{}");
  mkdirSync(join(folder, "home/.cursor"), { recursive: true });
  symlinkSync(join(folder, "dotfiles/mcp.json"), join(folder, FILES.cursor));
  connectCommand(["cursor", "--write"], withKey());
  expect(read("dotfiles/mcp.json")).toContain("mneme");
});

test("refuses wrong starts and files that it cannot change without loss, and changes nothing then", () => {
  const refused = (argv: readonly string[], message: string, at = withKey()) =>
    expect(() => connectCommand(argv, at)).toThrow(message);
  refused([], "Name the client");
  refused(["cursr"], "Did you mean cursor?");
  refused(["cursor", "codex"], "Unexpected argument");
  refused(["cursor", "--url", "ftp://x"], "--url must be an http or https address");
  refused(["cursor", "--url", "http://x", "--data-dir", "y"], "not both");
  refused(["cursor", "--hooks"], "claude-code only");
  refused(["claude-code", "--hooks", "--data-dir", "x"], "use --url");
  refused(["claude-desktop", "--write"], "Set MNEME_API_KEY", place);
  for (const [toml, message] of [
    ['[mcp_servers]\nmneme = { url = "http://x" }\n', "already has mcp_servers.mneme"],
    ['mcp_servers.mneme.url = "http://x"\n', "already has mcp_servers.mneme"],
    ['notes = """\n[mcp_servers.mneme]\nis a table\n"""\n', "in another form"],
    ["model = \n", "is not valid TOML"],
  ] as const) {
    put(FILES.codex, toml);
    refused(["codex", "--write"], message);
    refused(["codex", "--write"], "Add the entry by hand");
    expect(read(FILES.codex)).toBe(toml);
  }
  put(FILES.vscode, '{ // a comment\n "servers": {} }');
  refused(["vscode", "--write"], "is not plain JSON");
  put(FILES.gemini, "[]");
  refused(["gemini", "--write"], "has no JSON object");
  put("work/.claude/settings.json", "{broken");
  refused(["claude-code", "--write", "--hooks"], "is not plain JSON");
  expect(existsSync(join(folder, FILES["claude-code"]))).toBe(false);
  expect(read(FILES.vscode)).toContain("a comment");
  expect(readdirSync(join(folder, "work/.vscode"))).toHaveLength(1);
});
