// `mneme connect`: prints the configuration that connects an MCP client with Mneme, or writes it into the client's
// file. Other entries of the file stay, and a copy of the old file is kept beside it.

import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { programCommand } from "../children/command.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";
import {
  AGENT_CLIENTS,
  type AgentClient,
  type AgentPlace,
  type ConfigurationFile,
  type Connection,
  claudeCodeHooks,
  configurationOf,
} from "./agent-clients.ts";
import { DEFAULT_URL, serverAddress } from "./server-address.ts";

/** Help for the flags of connect, as `[flag, description]`. */
export const CONNECT_HELP: readonly (readonly [string, string])[] = [
  ["--url URL", `Address of the server (default: ${DEFAULT_URL}); the client reads the key from MNEME_API_KEY`],
  ["--data-dir DIRECTORY", "Let the client start Mneme itself on this folder, instead of calling a server"],
  ["--hooks", "For claude-code: also recall at the start of a session, and store the conversation at its end"],
  ["--write", "Write the client's file and keep the old one beside it (default: print what to add)"],
];

const USAGE = `Usage: mneme connect ${AGENT_CLIENTS.join("|")}`;

/**
 * Runs `mneme connect CLIENT`.
 * @returns the text to print
 * @throws UsageError with one sentence; no file was changed then
 */
export function connectCommand(argv: readonly string[], place: AgentPlace): string {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--url": "value", "--data-dir": "value", "--hooks": "switch", "--write": "switch" },
  });
  const client = clientOf(positionals);
  const connection = connectionOf(flags, place);
  const files = [configurationOf(client, connection, place)];
  if (flags.has("--hooks")) {
    if (client !== "claude-code") throw new UsageError("--hooks is for claude-code only.");
    if (connection.kind !== "server") throw new UsageError("The hooks call a server: use --url, not --data-dir.");
    files.push(claudeCodeHooks(connection, place));
  }
  const hint = hintFor(client, connection);
  if (!flags.has("--write")) {
    const parts = files.map((file) => `Add this to ${file.path}:\n\n${textOf(file)}`);
    return [...parts, ...hint].join("\n");
  }
  if (client === "claude-desktop" && connection.kind === "server" && connection.key === null) {
    throw new UsageError("Set MNEME_API_KEY to an API key of the server: Claude Desktop needs it in its file.");
  }
  const changes = files.map((file) => ({ file, text: merged(file) })); // all are checked before one is written
  return [...changes.map(({ file, text }) => write(file.path, text)), ...hint].join("\n");
}

function clientOf([name, surplus]: readonly string[]): AgentClient {
  if (name === undefined) throw new UsageError(`Name the client. ${USAGE}`);
  if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}. ${USAGE}`);
  const client = AGENT_CLIENTS.find((known) => known === name);
  if (client !== undefined) return client;
  throw new UsageError(`Unknown client ${name}.${didYouMean(name, [...AGENT_CLIENTS])} ${USAGE}`);
}

function connectionOf(flags: ReadonlyMap<string, string>, place: AgentPlace): Connection {
  const [given, dataDir] = [flags.get("--url"), flags.get("--data-dir")];
  const program = programCommand();
  if (dataDir !== undefined) {
    if (given !== undefined) throw new UsageError("Give either --url or --data-dir, not both.");
    return { kind: "directory", dataDir: resolve(place.workingDirectory, dataDir), program };
  }
  return {
    kind: "server",
    url: serverAddress(given ?? DEFAULT_URL),
    key: place.environment.MNEME_API_KEY ?? null,
    program,
  };
}

function hintFor(client: AgentClient, connection: Connection): readonly string[] {
  const restart = "Restart the client to load it.";
  if (connection.kind === "directory" || client === "claude-desktop") return [restart];
  if (client === "vscode") return ["VS Code asks for the API key when it starts the server."];
  return [`Set MNEME_API_KEY to an API key in the environment of the client. ${restart}`];
}

function textOf(file: ConfigurationFile): string {
  return file.format === "json" ? `${JSON.stringify(file.content, null, 2)}\n` : file.content;
}

/** The new text of a file. @throws UsageError if the file cannot be changed without loss */
function merged(file: ConfigurationFile): string {
  if (!existsSync(file.path)) return textOf(file);
  const text = readFileSync(file.path, "utf8");
  if (file.format === "toml") return mergedToml(text, file);
  let found: unknown;
  try {
    found = text.trim() === "" ? {} : JSON.parse(text);
  } catch (cause) {
    throw new UsageError(
      `${file.path} is not plain JSON; it may have comments. Add the entry by hand: run the command without --write.`,
      { cause },
    );
  }
  if (!isRecord(found)) throw new UsageError(`${file.path} has no JSON object. Nothing was changed.`);
  return `${JSON.stringify(mergedObjects(found, file.content), null, 2)}\n`;
}

/**
 * Merges an object into another one, field by field. The entry `mneme` is replaced, and so are items of lists that an
 * earlier run has added.
 */
function mergedObjects(found: JsonRecord, added: JsonRecord): JsonRecord {
  const entries = Object.entries(added).map(([name, value]) => {
    const old = Object.hasOwn(found, name) ? found[name] : undefined;
    if (name !== "mneme" && isRecord(old) && isRecord(value)) return [name, mergedObjects(old, value)];
    if (Array.isArray(old) && Array.isArray(value)) return [name, [...old.filter((item) => !isOurs(item)), ...value]];
    return [name, value];
  });
  return { ...found, ...Object.fromEntries(entries) };
}

/** Whether an earlier run of this command has added an item to a list. */
function isOurs(item: unknown): boolean {
  const text = JSON.stringify(item);
  return /"id":"mneme-api-key"|\bhook (recall|capture) --url /.test(text);
}

/**
 * The new text of a TOML file: with the table replaced, or appended.
 * @throws UsageError if the file is not TOML, or is written so that this would change something else in it
 */
function mergedToml(text: string, file: ConfigurationFile & { readonly format: "toml" }): string {
  const merged = withTable(text, file.table, file.content);
  const byHand = "Add the entry by hand: run the command without --write.";
  const before = parsedToml(text);
  if (before === null) throw new UsageError(`${file.path} is not valid TOML. ${byHand}`);
  const after = parsedToml(merged);
  const own = parsedToml(file.content) ?? {};
  // `withTable` is fooled by strings of several lines that look like a table, and by tables inside of others
  if (after !== null && isDeepStrictEqual(plain(after), plain(mergedObjects(before, own)))) return merged;
  throw new UsageError(`${file.path} already has ${file.table} or is written in another form. ${byHand}`);
}

function parsedToml(text: string): JsonRecord | null {
  try {
    return Bun.TOML.parse(text) as JsonRecord;
  } catch {
    return null; // the caller says what to do
  }
}

// Dates are objects, so they are compared by their text.
function plain(value: JsonRecord): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Removes a table and its subtables from a TOML text, and appends `content`. */
function withTable(text: string, table: string, content: string): string {
  const header = /^\s*\[+\s*([^\]]+?)\s*\]+/;
  let isInside = false;
  const kept = text.split("\n").filter((line) => {
    const name = header.exec(line)?.[1]?.replaceAll(/["'\s]/g, "");
    if (name !== undefined) isInside = name === table || name.startsWith(`${table}.`);
    return !isInside;
  });
  const rest = kept.join("\n").trimEnd();
  return rest === "" ? content : `${rest}\n\n${content}`;
}

/** Replaces a file atomically, and keeps the old one as `.backup`, `.backup-2` and so on. Returns a sentence. */
function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  const isNew = !existsSync(path);
  const target = isNew ? path : realpathSync(path); // the file that a link leads to
  let backup: string | null = null;
  if (!isNew) {
    if (readFileSync(target, "utf8") === text) return `${path} is up to date.`;
    for (let at = 1; backup === null || existsSync(backup); at++) backup = `${path}.backup${at === 1 ? "" : `-${at}`}`;
    copyFileSync(target, backup);
    chmodSync(backup, 0o600);
  }
  const partial = `${target}.partial`;
  writeFileSync(partial, text, { mode: 0o600 });
  renameSync(partial, target);
  return backup === null ? `${path} is written.` : `${path} is changed; the old file is ${backup}.`;
}
