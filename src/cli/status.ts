// `mneme status`: shows the state of a server in a terminal, once or every two seconds. It asks the server that has the
// data directory, which needs no key, or a server at an address.

import type { SystemAnswer } from "../compose/control.ts";
import { askServer } from "../compose/control-socket.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { Client } from "./client.ts";
import { type CommandStart, DIRECTORY_HELP, directoryConfig } from "./command-start.ts";
import { serverAddress } from "./server-address.ts";
import { alignRows, indent, readableBytes, readableDuration } from "./terminal.ts";

/** Exit codes of status. */
export const STATUS_EXIT = { well: 0, troubled: 1, notRunning: 2 } as const;

/** Flags of status with their descriptions. */
export const STATUS_HELP: readonly (readonly [string, string])[] = [
  ...DIRECTORY_HELP,
  ["--url URL", "A server at this address instead of the one with the data directory"],
  ["--key KEY", "API key with the scope admin, for --url (default: MNEME_API_KEY or MNEME_ADMIN_KEY, which are safer)"],
  ["--watch", "Show it again every two seconds, until Ctrl-C"],
  ["--json", "Print what GET /v1/system answers; with --watch one line each time"],
];

const WATCH_MS = 2_000;
const HOUR_MS = 3_600_000;
/** Share of free space below which the disk counts as nearly full. */
const FREE_MIN = 0.05;
const CLEAR_SCREEN = "\x1b[H\x1b[J";

/** Where the command prints, and the signal that ends it. */
export interface StatusOutput {
  readonly print: (text: string) => void;
  readonly isTerminal: boolean;
  readonly stopped: AbortSignal;
}

/**
 * Runs `mneme status`.
 * @returns the exit code
 * @throws UsageError for wrong flags; RequestRefused if the server at an address refuses the key; Error if the server
 *   does not answer with its state
 */
export async function statusCommand(
  argv: readonly string[],
  start: CommandStart,
  { print, isTerminal, stopped }: StatusOutput,
  clock: Clock = systemClock,
): Promise<number> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--data-dir": "value", "--config": "value", "--url": "value", "--key": "value" },
    ...{ "--watch": "switch", "--json": "switch" },
  });
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  const [isJson, isWatching] = [flags.has("--json"), flags.has("--watch")];
  const { where, read } = sourceOf(flags, start);
  for (;;) {
    const system = await read();
    const text = isJson
      ? jsonOf(system, isWatching)
      : system === null
        ? notRunning(where)
        : textOf(system, where, clock);
    print(`${isWatching && isTerminal && !isJson ? CLEAR_SCREEN : ""}${text}\n`);
    if (!isWatching) return exitCodeOf(system);
    await clock.sleep(WATCH_MS, stopped);
    if (stopped.aborted) return exitCodeOf(system);
  }
}

/** The server whose state is shown. */
interface Source {
  /** Its address or data directory. */
  readonly where: string;
  /** Reads its state; null if no server runs on the data directory. */
  readonly read: () => Promise<SystemAnswer | null>;
}

function sourceOf(flags: ReadonlyMap<string, string>, start: CommandStart): Source {
  const url = flags.get("--url");
  if (url !== undefined) {
    const key = flags.get("--key") ?? start.environment.MNEME_API_KEY ?? start.environment.MNEME_ADMIN_KEY;
    if (key === undefined)
      throw new UsageError("Missing --key: a server at an address needs one with the scope admin.");
    const client = new Client(serverAddress(url), key);
    return { where: url, read: async () => (await client.send("GET", "/v1/system")) as unknown as SystemAnswer };
  }
  const { dataDir } = directoryConfig(flags, start);
  return {
    where: dataDir,
    read: async () => {
      const response = await askServer(dataDir, "/system");
      if (response === null) return null;
      if (!response.ok) throw new Error(((await response.json()) as { error?: string }).error ?? "No answer.");
      return (await response.json()) as SystemAnswer;
    },
  };
}

function jsonOf(system: SystemAnswer | null, isLine: boolean): string {
  return JSON.stringify(system === null ? { running: false } : { running: true, ...system }, null, isLine ? 0 : 2);
}

function notRunning(where: string): string {
  return `No server runs on ${where}. Start one with mneme serve; mneme doctor says what could keep it from starting.`;
}

function exitCodeOf(system: SystemAnswer | null): number {
  if (system === null) return STATUS_EXIT.notRunning;
  return problemsOf(system).length === 0 ? STATUS_EXIT.well : STATUS_EXIT.troubled;
}

/** What keeps a server from doing all of its work, in sentences. */
export function problemsOf({ lanes, warnings, disk, nodes, threads, queue }: SystemAnswer): readonly string[] {
  const down = lanes.filter(({ status }) => status !== "up" && status !== "draining");
  return [
    ...threads.filter(({ state }) => state !== "up").map(({ id }) => `Thread ${id} is stopping.`),
    ...(lanes.length > 0 && down.length === lanes.length ? ["No lane is up: searches wait for the models."] : []),
    ...(down.length > 0 && down.length < lanes.length ? [`${down.length} of ${lanes.length} lanes are not up.`] : []),
    ...warnings.map((warning) => `${warning.charAt(0).toUpperCase()}${warning.slice(1).replace(/\.$/, "")}.`),
    ...(disk.is_full ? ["The disk is full: new data is refused. Free space, or delete memories."] : []),
    ...(!disk.is_full && disk.free_bytes < disk.total_bytes * FREE_MIN
      ? [`The disk is nearly full: ${readableBytes(disk.free_bytes)} are free.`]
      : []),
    ...nodes
      .filter(({ state }) => state === "lost")
      .map(({ name, seen_at }) => `Node ${name} was last seen at ${seen_at}.`),
    ...(queue.memories_failed > 0
      ? [
          `${counted(queue.memories_failed, "memory", "memories")} failed: POST /v1/memories/retry processes again what failed.`,
        ]
      : []),
  ];
}

function textOf(system: SystemAnswer, where: string, clock: Clock): string {
  const { version, started_at, queue, last_minute: minute, stores, disk, memory, lanes, nodes } = system;
  const problems = problemsOf(system);
  const backup = system.last_backup_at;
  const rows = [
    [
      "Last minute",
      [
        counted(minute.searches, "search", "searches"),
        counted(minute.answers, "answer"),
        `${counted(minute.stored, "memory", "memories")} stored`,
        `${minute.failed} failed`,
      ].join(", "),
    ],
    ["Searches", `${queue.searches_in_progress} in progress, ${queue.searches_waiting} waiting`],
    [
      "Memories",
      `${queue.memories_processing} being processed, ${queue.memories_failed} failed, ${queue.relations_waiting} waiting for relations`,
    ],
    ["Memory", `${readableBytes(memory.rss_bytes)} used by the server, ${readableBytes(memory.free_bytes)} free`],
    ["Disk", `${readableBytes(disk.free_bytes)} of ${readableBytes(disk.total_bytes)} free`],
    ["Last backup", backup === null ? "none is known; see mneme backup --help" : agoText(backup, clock)],
  ];
  const table = (head: readonly string[], lines: readonly (readonly string[])[]) => indent(alignRows([head, ...lines]));
  return [
    `Mneme ${version}, up for ${readableDuration(clock.now() - Date.parse(started_at))}: ${where}`,
    problems.length === 0 ? "All is well." : problems.join("\n"),
    "",
    ...alignRows(rows),
    "",
    "Stores",
    ...indent(
      alignRows(
        stores.map(({ name, bytes }) => [name, readableBytes(bytes)]),
        true,
      ),
    ),
    "",
    "Lanes",
    ...table(
      ["NAME", "STATE", "PROVIDER", "MEMORY", "IN FLIGHT", "RESTARTS"],
      lanes.map(({ name, status, provider, rss_bytes, in_flight, restarts }) => [
        ...[name, status, provider ?? "", readableBytes(rss_bytes), String(in_flight), String(restarts)],
      ]),
    ),
    "",
    "Nodes",
    ...table(
      ["NAME", "ROLE", "STATE", "VERSION", "SEEN"],
      nodes.map(({ name, role, state, version: of, seen_at }) => [name, role, state, of, agoText(seen_at, clock)]),
    ),
  ].join("\n");
}

function agoText(time: string, clock: Clock): string {
  const ms = Math.max(0, clock.now() - Date.parse(time));
  if (ms < 5_000) return "just now";
  return ms < 48 * HOUR_MS ? `${readableDuration(ms)} ago` : `${Math.floor(ms / (24 * HOUR_MS))} days ago`;
}
