// Settings of the server itself: its address, its stores, its role beside other nodes.

import { resolve } from "node:path";
import { LOG_LEVELS, type LogLevel } from "../kit/log.ts";
import { bytesOrNone, integer, integerOrChosen, oneOf, parsePath, seconds, setting, switched } from "../kit/setting.ts";

/** The values of the setting `role`. */
const ROLES = ["all", "api", "ingest"] as const;
type Role = (typeof ROLES)[number];

/** Maximum number of threads that answer requests. One answers about a thousand questions per second. */
const HTTP_THREADS_MAX = 64;

/** Settings of the server itself. */
export const SERVER_SETTINGS = {
  host: setting<string>("host", "ADDRESS", "Address to listen on; `0.0.0.0` for all interfaces", {
    defaultValue: () => "127.0.0.1",
    defaultText: "127.0.0.1",
    expects: "a host name or address",
    parse: (text) => (/^[A-Za-z0-9.:_-]+$/.test(text) ? text : undefined),
  }),
  port: setting<number>("port", "NUMBER", "Port to listen on; 0 selects a free one", integer(0, 65_535, 8383)),
  dataDir: setting<string>("data-dir", "DIRECTORY", "Folder of all stored data; created if missing", {
    defaultValue: (place) => resolve(place.workingDirectory, "data/store"),
    defaultText: "data/store",
    expects: "a directory",
    parse: parsePath,
  }),
  /** Address of a PostgreSQL database; null for the embedded store. */
  store: setting<string | null>("store", "ADDRESS", "PostgreSQL database for all data; several servers can share it", {
    flag: null,
    defaultValue: () => null,
    defaultText: "in the data folder",
    expects: "postgres://USER:PASSWORD@HOST:PORT/DATABASE",
    parse: (text) => (/^postgres(ql)?:\/\/[^/]+\/.+/.test(text) && URL.canParse(text) ? text : undefined),
    isSecret: true,
  }),
  /** Always `all` with the embedded store. */
  role: setting<Role>(
    "role",
    "ROLE",
    "What a node with PostgreSQL does: `api` answers requests, `ingest` processes memories, `all` does both",
    oneOf(ROLES),
  ),
  /** In bytes; null: no limit. */
  indexMemoryMax: setting<number | null>(
    "index-memory-max",
    "SIZE",
    "Memory of a node's open indexes with PostgreSQL, such as `4GiB`; the least recently used ones are closed",
    bytesOrNone(1),
  ),
  /** null: as many as fit the machine. */
  httpThreads: setting<number | null>(
    "http-threads",
    "NUMBER",
    "Threads that answer requests; with 1, the main thread does. More only on Linux and with the embedded store",
    integerOrChosen(1, HTTP_THREADS_MAX, "one per four cores"),
  ),
  drainMs: setting<number>(
    "drain",
    "SECONDS",
    "Time from a stop signal, when `/ready` begins to answer 503, until no more requests are accepted",
    seconds(0, 0),
  ),
  acceptLoss: setting<boolean>(
    "accept-loss",
    "true|false",
    "Start although a stored file is damaged or has lost something; the rest goes to `quarantine/`",
    switched(),
  ),
  adminKey: setting<string | null>(
    "admin-key",
    "KEY",
    "API key with all permissions; without it, a key is created at the first start and printed once",
    {
      flag: null,
      defaultValue: () => null,
      defaultText: "created at first start",
      expects: "ctx_ followed by 16 to 256 letters, digits, - or _",
      parse: (text) => (/^ctx_[A-Za-z0-9_-]{16,256}$/.test(text) ? text : undefined),
      isSecret: true,
    },
  ),
  logLevel: setting<LogLevel>("log-level", "LEVEL", `Lowest level logged to standard error: ${LOG_LEVELS.join(", ")}`, {
    defaultValue: () => "info",
    defaultText: "info",
    expects: `one of ${LOG_LEVELS.join(", ")}`,
    parse: (text) => LOG_LEVELS.find((level) => level === text),
  }),
};
