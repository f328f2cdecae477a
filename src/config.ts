// Settings: names, sources, validation and defaults. Flags override environment variables, which override mneme.toml.
// Parsed once at start and frozen. cli/settings-help.ts generates `mneme help` and docs/configuration.md from SETTINGS.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseTrustedProxies, type TrustedProxies } from "./account/client-address.ts";
import { parseRateLimits, RATE_LIMITS, type RateLimitTable } from "./account/rate-limits.ts";
import { MODEL_RUNTIMES, type ModelRuntime } from "./adapters/inference/lane-protocol.ts";
import { AllowList } from "./adapters/outbound/addresses.ts";
import { parseOrigins } from "./api/cors.ts";
import { PLAN_NAMES, type Plan } from "./domain/project.ts";
import { parseCommandLine, UsageError } from "./kit/flags.ts";
import { LOG_LEVELS, type LogLevel } from "./kit/log.ts";
import { didYouMean } from "./kit/nearest.ts";
import { readSettingsFile } from "./kit/settings-file.ts";
import { parseHosts } from "./mcp/hosts.ts";
import { parseRetries, RETRIES_EXPECTED } from "./webhooks/schedule.ts";

/** The values of the setting `embedderUpgrade`. */
const EMBEDDER_UPGRADES = ["auto", "manual"] as const;
type EmbedderUpgrade = (typeof EMBEDDER_UPGRADES)[number];

/** Locations from which relative paths and default values are derived. */
export interface StartPlace {
  /** Folder of `mneme.toml`; relative paths are resolved against it. */
  readonly workingDirectory: string;
  /**
   * Returns the folder of the shipped models. It depends on the data directory, because the single binary unpacks them
   * there.
   */
  readonly shippedModelsDirectory: (dataDir: string) => string;
}

/** Settings of one run, described in SETTINGS. Paths are absolute. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Address of a PostgreSQL database; null for the embedded store. */
  readonly store: string | null;
  /** Whether to start although a store has lost something. */
  readonly acceptLoss: boolean;
  readonly adminKey: string | null;
  readonly modelsDir: string;
  /** Id of the default embedder. */
  readonly embedder: string;
  readonly logLevel: LogLevel;
  readonly lanes: number;
  readonly modelRuntime: ModelRuntime;
  /** Whether projects for which nobody chose a model get the default model. */
  readonly embedderUpgrade: EmbedderUpgrade;
  /** Maximum number of chunks per second while the model of a project changes; null: no limit. */
  readonly embedderChangeRate: number | null;
  readonly hnswMinChunks: number;
  /** Plan of new projects for which no plan is given. */
  readonly defaultPlan: Plan;
  readonly rateLimits: RateLimitTable;
  readonly trustedProxies: TrustedProxies;
  readonly corsOrigins: readonly string[];
  /** Host names under which /mcp answers, besides addresses and `localhost`. */
  readonly mcpHosts: readonly string[];
  /** Whether the MCP tools `search` and `fetch` are offered. */
  readonly mcpConnector: boolean;
  /** Hosts and networks that webhooks and language models may use even though they are not public. */
  readonly webhookAllow: AllowList;
  readonly webhookRetriesMs: readonly number[];
  readonly llmBaseUrl: string | null;
  readonly llmModel: string | null;
  readonly llmApiKey: string | null;
  readonly llmFirstByteTimeoutMs: number;
  readonly llmIdleTimeoutMs: number;
  readonly llmTimeoutMs: number;
  readonly llmConcurrency: number;
  readonly llmContextTokens: number;
}

/** Definition of a setting. */
export interface Setting<Value> {
  /** null if the setting cannot be given on the command line, which other users of the machine can read. */
  readonly flag: string | null;
  readonly environment: string;
  readonly tomlKey: string;
  /** Placeholder of the value in help texts. */
  readonly placeholder: string;
  readonly description: string;
  readonly defaultValue: (place: StartPlace) => Value;
  /** The default in help texts. */
  readonly defaultText: string;
  /** End of the sentence "NAME must be …" in error messages. */
  readonly expects: string;
  /** Parses a value. Returns undefined, or throws an Error with more detail, if `text` is not valid. */
  readonly parse: (text: string, place: StartPlace) => Value | undefined;
  /** Whether the value is secret; messages do not repeat it then. */
  readonly isSecret: boolean;
  /** Whether the flag takes no value and means `true`. */
  readonly isSwitch: boolean;
}

const DEFAULT_EMBEDDER = "mneme-e5-small";

/** Every setting of the program. */
export const SETTINGS = {
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
  store: setting<string | null>("store", "ADDRESS", "PostgreSQL database for all data; several servers can share it", {
    flag: null,
    defaultValue: () => null,
    defaultText: "in the data folder",
    expects: "postgres://USER:PASSWORD@HOST:PORT/DATABASE",
    parse: (text) => (/^postgres(ql)?:\/\/[^/]+\/.+/.test(text) && URL.canParse(text) ? text : undefined),
    isSecret: true,
  }),
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
  modelsDir: setting<string | null>("models-dir", "DIRECTORY", "Folder of the models, with one folder per model", {
    defaultValue: () => null,
    defaultText: "the included models",
    expects: "a directory",
    parse: parsePath,
  }),
  embedder: setting<string>("embedder", "MODEL", "Embedding model of new projects; `mneme models list` shows all", {
    defaultValue: () => DEFAULT_EMBEDDER,
    defaultText: DEFAULT_EMBEDDER,
    expects: "the id of an embedding model",
    parse: (text) => (/^[a-z0-9][a-z0-9.-]{0,99}$/.test(text) ? text : undefined),
  }),
  logLevel: setting<LogLevel>("log-level", "LEVEL", `Lowest level logged to standard error: ${LOG_LEVELS.join(", ")}`, {
    defaultValue: () => "info",
    defaultText: "info",
    expects: `one of ${LOG_LEVELS.join(", ")}`,
    parse: (text) => LOG_LEVELS.find((level) => level === text),
  }),
  lanes: setting<number>("lanes", "NUMBER", "Processes that run models; about one per core", integer(1, 8, 2)),
  modelRuntime: setting<ModelRuntime>(
    "model-runtime",
    "NAME",
    "Model runtime: `auto` uses Mneme's own encoder where it is faster, `onnxruntime` always uses onnxruntime",
    {
      defaultValue: () => "auto",
      defaultText: "auto",
      expects: `one of ${MODEL_RUNTIMES.join(", ")}`,
      parse: (text) => MODEL_RUNTIMES.find((runtime) => runtime === text),
    },
  ),
  embedderUpgrade: setting<EmbedderUpgrade>(
    "embedder-upgrade",
    "NAME",
    "What happens to projects of another embedding model than the default: `auto` changes them in the background, unless a person chose their model; `manual` leaves them",
    {
      defaultValue: () => "auto",
      defaultText: "auto",
      expects: `one of ${EMBEDDER_UPGRADES.join(", ")}`,
      parse: (text) => EMBEDDER_UPGRADES.find((upgrade) => upgrade === text),
    },
  ),
  embedderChangeRate: setting<number | null>(
    "embedder-change-rate",
    "NUMBER",
    "Chunks per second that are embedded while the model of a project changes; 0: as many as queries and ingestion leave time for",
    {
      defaultValue: () => null,
      defaultText: "0",
      expects: "an integer from 0 to 100000",
      parse: (text) => {
        const rate = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
        if (!(rate <= 100_000)) return undefined;
        return rate === 0 ? null : rate;
      },
    },
  ),
  hnswMinChunks: setting<number>(
    "hnsw-min-chunks",
    "NUMBER",
    "Number of chunks in scope above which vector search uses HNSW instead of a scan",
    integer(1, 1_000_000_000, 1_000_000),
  ),
  defaultPlan: setting<Plan>(
    "default-plan",
    "PLAN",
    "Plan of new projects for which no plan is given; `enterprise` has no quotas",
    {
      defaultValue: () => "enterprise",
      defaultText: "enterprise",
      expects: `one of ${PLAN_NAMES.join(", ")}`,
      parse: (text) => PLAN_NAMES.find((plan) => plan === text),
    },
  ),
  rateLimits: setting<RateLimitTable>(
    "rate-limits",
    "off|FILE",
    '`off`, or a JSON file with other limits per minute, such as `{"GET *": 1000}`',
    {
      defaultValue: () => RATE_LIMITS,
      defaultText: "built-in limits",
      expects: "`off` or a file",
      parse: (text, place) =>
        parseRateLimits(text, (path) => readFileSync(resolve(place.workingDirectory, path), "utf8")),
    },
  ),
  trustedProxies: setting<TrustedProxies>(
    "trusted-proxies",
    "ADDRESSES",
    "Proxies whose `X-Forwarded-For` header is trusted: addresses and CIDR blocks, comma-separated",
    { defaultValue: () => [], defaultText: "none", expects: "addresses and CIDR blocks", parse: parseTrustedProxies },
  ),
  corsOrigins: setting<readonly string[]>(
    "cors-origins",
    "ORIGINS",
    "Web origins that may call the API from a browser, comma-separated; `*` for all",
    { defaultValue: () => [], defaultText: "none", expects: "origins", parse: parseOrigins },
  ),
  mcpHosts: setting<readonly string[]>(
    "mcp-hosts",
    "HOSTS",
    "Host names under which `/mcp` may be called, besides IP addresses and `localhost`, comma-separated; `*` for all",
    { defaultValue: () => [], defaultText: "none", expects: "host names", parse: parseHosts },
  ),
  mcpConnector: setting<boolean>(
    "mcp-connector",
    "true|false",
    "Offer the MCP tools `search` and `fetch` too, which ChatGPT's connectors require",
    switched(),
  ),
  webhookAllow: setting<AllowList>(
    "webhook-allow",
    "HOSTS",
    "Hosts and CIDR blocks that webhooks may call even though they are not public, comma-separated",
    {
      defaultValue: () => AllowList.parse(""),
      defaultText: "none",
      expects: "hosts and CIDR blocks",
      parse: (text) => AllowList.parse(text),
    },
  ),
  webhookRetriesMs: setting<readonly number[]>(
    "webhook-retries",
    "SECONDS",
    "Waits before the retries of a webhook delivery, comma-separated",
    {
      defaultValue: () => [5_000, 300_000, 1_800_000],
      defaultText: "5,300,1800",
      expects: RETRIES_EXPECTED,
      parse: parseRetries,
    },
  ),
  llmBaseUrl: setting<string | null>(
    "llm-base-url",
    "URL",
    "Base URL of an OpenAI-compatible service, such as `https://api.example.com/v1`; without it, everything works locally",
    { defaultValue: () => null, defaultText: "none", expects: "an http or https address", parse: parseWebAddress },
  ),
  llmModel: setting<string | null>("llm-model", "NAME", "Language model to use at that service", {
    defaultValue: () => null,
    defaultText: "none",
    expects: "a model name",
    parse: (text) => (/^[\x21-\x7e]{1,256}$/.test(text) ? text : undefined),
  }),
  llmApiKey: setting<string | null>("llm-api-key", "KEY", "Bearer token for that service", {
    flag: null,
    defaultValue: () => null,
    defaultText: "none",
    expects: "visible ASCII characters",
    parse: (text) => (/^[\x21-\x7e]{1,1024}$/.test(text) ? text : undefined),
    isSecret: true,
  }),
  llmFirstByteTimeoutMs: setting<number>(
    "llm-first-byte-timeout",
    "SECONDS",
    "Longest silence of a language model before its answer begins",
    seconds(30),
  ),
  llmIdleTimeoutMs: setting<number>(
    "llm-idle-timeout",
    "SECONDS",
    "Longest silence of a language model within an answer",
    seconds(15),
  ),
  llmTimeoutMs: setting<number>("llm-timeout", "SECONDS", "Longest duration of an answer in total", seconds(120)),
  llmConcurrency: setting<number>(
    "llm-concurrency",
    "NUMBER",
    "Concurrent language model calls per project; ingestion uses at most half of them",
    integer(2, 256, 8),
  ),
  llmContextTokens: setting<number>(
    "llm-context-tokens",
    "NUMBER",
    "Context size of the language model in tokens, input and output together; sources are selected to fit",
    integer(2_048, 2_000_000, 8_192),
  ),
};

/** Matches variables with the prefix `MNEME_` that are no settings, but are read by other parts of the program. */
const FOREIGN_VARIABLES = /^MNEME_(API_KEY|BACKUP_PASSPHRASE|CACHE_DIR|NATIVE_PATH|TEST_.*|BENCH_.*)$/;
/** The flag that names the settings file. */
export const CONFIG_FLAG = "--config";
/** Name of the settings file in the working directory. */
export const CONFIG_FILE = "mneme.toml";

/**
 * Reads the settings of this run.
 * @param argv arguments after the command's name
 * @throws UsageError with one line that names the setting: for an invalid value, an unknown flag, an unknown key in the
 *   settings file, an unknown `MNEME_` variable, or an unreadable settings file
 */
export function parseConfig(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  place: StartPlace,
): Config {
  const flags = parseFlags(argv);
  refuseUnknownVariables(environment);
  const asked = flags.get(CONFIG_FLAG);
  const name = asked ?? CONFIG_FILE;
  const path = resolve(place.workingDirectory, name);
  const keys = Object.values(SETTINGS).map((setting) => setting.tomlKey);
  const isAbsent = asked === undefined && !existsSync(path);
  const file = isAbsent ? { name, values: new Map<string, string>() } : readSettingsFile(name, path, keys);

  const read = <Value>(setting: Setting<Value>): Value => {
    const sources = [
      [setting.flag, setting.flag === null ? undefined : flags.get(setting.flag)],
      [setting.environment, environment[setting.environment]],
      [`${setting.tomlKey} in ${file.name}`, file.values.get(setting.tomlKey)],
    ] as const;
    const source = sources.find(([, text]) => text !== undefined);
    if (source?.[1] === undefined) return setting.defaultValue(place);
    const [name, text] = source;
    const value = parseSetting(setting, name ?? setting.environment, text, place);
    if (value !== undefined) return value;
    throw new UsageError(
      `${name} must be ${setting.expects}${setting.isSecret ? "" : `, not ${JSON.stringify(text)}`}.`,
    );
  };
  const dataDir = read(SETTINGS.dataDir);
  return Object.freeze({
    host: read(SETTINGS.host),
    port: read(SETTINGS.port),
    dataDir,
    store: read(SETTINGS.store),
    acceptLoss: read(SETTINGS.acceptLoss),
    adminKey: read(SETTINGS.adminKey),
    modelsDir: read(SETTINGS.modelsDir) ?? place.shippedModelsDirectory(dataDir),
    embedder: read(SETTINGS.embedder),
    logLevel: read(SETTINGS.logLevel),
    lanes: read(SETTINGS.lanes),
    modelRuntime: read(SETTINGS.modelRuntime),
    embedderUpgrade: read(SETTINGS.embedderUpgrade),
    defaultPlan: read(SETTINGS.defaultPlan),
    embedderChangeRate: read(SETTINGS.embedderChangeRate),
    hnswMinChunks: read(SETTINGS.hnswMinChunks),
    rateLimits: read(SETTINGS.rateLimits),
    trustedProxies: read(SETTINGS.trustedProxies),
    corsOrigins: read(SETTINGS.corsOrigins),
    mcpHosts: read(SETTINGS.mcpHosts),
    mcpConnector: read(SETTINGS.mcpConnector),
    webhookAllow: read(SETTINGS.webhookAllow),
    webhookRetriesMs: read(SETTINGS.webhookRetriesMs),
    llmBaseUrl: read(SETTINGS.llmBaseUrl),
    llmModel: read(SETTINGS.llmModel),
    llmApiKey: read(SETTINGS.llmApiKey),
    llmFirstByteTimeoutMs: read(SETTINGS.llmFirstByteTimeoutMs),
    llmIdleTimeoutMs: read(SETTINGS.llmIdleTimeoutMs),
    llmTimeoutMs: read(SETTINGS.llmTimeoutMs),
    llmConcurrency: read(SETTINGS.llmConcurrency),
    llmContextTokens: read(SETTINGS.llmContextTokens),
  });
}

function parseSetting<Value>(
  setting: Setting<Value>,
  name: string,
  text: string,
  place: StartPlace,
): Value | undefined {
  try {
    return setting.parse(text, place);
  } catch (cause) {
    throw new UsageError(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

function parseFlags(argv: readonly string[]): ReadonlyMap<string, string> {
  const known: Record<string, "value" | "switch"> = { [CONFIG_FLAG]: "value" };
  for (const { flag, isSwitch } of Object.values(SETTINGS))
    if (flag !== null) known[flag] = isSwitch ? "switch" : "value";
  const { flags, positionals } = parseCommandLine(argv, known);
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  return flags;
}

function refuseUnknownVariables(environment: Readonly<Record<string, string | undefined>>): void {
  const known = Object.values(SETTINGS).map((setting) => setting.environment);
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("MNEME_") || known.includes(name) || FOREIGN_VARIABLES.test(name)) continue;
    throw new UsageError(`Unknown environment variable ${name}.${didYouMean(name, known)}`);
  }
}

// A setting that is off unless it is switched on.
function switched(): SettingRest<boolean> {
  return {
    defaultValue: () => false,
    defaultText: "false",
    expects: "`true` or `false`",
    parse: (text) => (text === "true" ? true : text === "false" ? false : undefined),
    isSwitch: true,
  };
}

type SettingRest<Value> = Pick<Setting<Value>, "defaultValue" | "defaultText" | "expects" | "parse"> &
  Partial<Pick<Setting<Value>, "flag" | "isSecret" | "isSwitch">>;

// Derives the flag, the variable and the TOML key of a setting from one name.
function setting<Value>(
  name: string,
  placeholder: string,
  description: string,
  rest: SettingRest<Value>,
): Setting<Value> {
  const snakeCase = name.replaceAll("-", "_");
  return {
    flag: `--${name}`,
    environment: `MNEME_${snakeCase.toUpperCase()}`,
    tomlKey: snakeCase,
    placeholder,
    description,
    isSecret: false,
    isSwitch: false,
    ...rest,
  };
}

function integer(least: number, most: number, defaultValue: number): SettingRest<number> {
  return {
    defaultValue: () => defaultValue,
    defaultText: String(defaultValue),
    expects: `an integer from ${least} to ${most}`,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

// A setting that the operator gives in seconds and the program stores in milliseconds.
function seconds(defaultSeconds: number): SettingRest<number> {
  const inSeconds = integer(1, 3_600, defaultSeconds);
  return {
    ...inSeconds,
    defaultValue: () => defaultSeconds * 1_000,
    parse: (text, place) => {
      const value = inSeconds.parse(text, place);
      return typeof value === "number" ? value * 1_000 : undefined;
    },
  };
}

function parseWebAddress(text: string): string | undefined {
  return /^https?:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) ? text : undefined;
}

function parsePath(text: string, place: StartPlace): string | undefined {
  return text === "" || text.includes("\0") ? undefined : resolve(place.workingDirectory, text);
}
