// Settings: names, sources, validation and defaults. Flags override environment variables, which override mneme.toml.
// Parsed once at start and frozen. cli/settings-help.ts generates `mneme help` and docs/configuration.md from SETTINGS.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseTrustedProxies, type TrustedProxies } from "./account/client-address.ts";
import { parseRateLimits, RATE_LIMITS, type RateLimitTable } from "./account/rate-limits.ts";
import { GPU_MEMORY_MIN_MIB } from "./adapters/inference/gpu/gpu-target.ts";
import { MODEL_PROVIDER, type ModelProvider } from "./adapters/inference/gpu/model-provider.ts";
import { LANES_MAX } from "./adapters/inference/lane-count.ts";
import { MODEL_RUNTIMES, type ModelRuntime } from "./adapters/inference/lane-protocol.ts";
import { AllowList } from "./adapters/outbound/addresses.ts";
import { parseOrigins } from "./api/cors.ts";
import { PLAN_NAMES, type Plan } from "./domain/project.ts";
import { parseCommandLine, UsageError } from "./kit/flags.ts";
import { LOG_LEVELS, type LogLevel } from "./kit/log.ts";
import { didYouMean } from "./kit/nearest.ts";
import {
  bytesOrNone,
  directoryOrNone,
  integer,
  integerOrChosen,
  numberOrOff,
  oneOf,
  parsePath,
  parseWebAddress,
  type Setting,
  type StartPlace,
  seconds,
  setting,
  switched,
} from "./kit/setting.ts";
import { readSettingsFile } from "./kit/settings-file.ts";
import { parseHosts } from "./mcp/hosts.ts";
import { parseRetries, RETRIES_EXPECTED } from "./webhooks/schedule.ts";

/** The values of the setting `embedderUpgrade`. */
const EMBEDDER_UPGRADES = ["auto", "manual"] as const;
type EmbedderUpgrade = (typeof EMBEDDER_UPGRADES)[number];

/** The values of the setting `role`. */
const ROLES = ["all", "api", "ingest"] as const;
/** What a node does: `api` answers requests, `ingest` processes memories, `all` does both. */
export type Role = (typeof ROLES)[number];

/** Settings of one run, described in SETTINGS. Paths are absolute. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Address of a PostgreSQL database; null for the embedded store. */
  readonly store: string | null;
  /** What this node does; `all` with the embedded store. */
  readonly role: Role;
  /** Maximum memory of the open indexes in bytes; null: no limit. */
  readonly indexMemoryMax: number | null;
  /** Time in milliseconds between a stop signal, from which `/ready` says 503, and the end of listening. */
  readonly drainMs: number;
  /** Whether to start although a store has lost something. */
  readonly acceptLoss: boolean;
  readonly adminKey: string | null;
  readonly modelsDir: string;
  /** Id of the default embedder. */
  readonly embedder: string;
  readonly logLevel: LogLevel;
  readonly lanes: number | null; // null: as many as fit the machine
  readonly modelRuntime: ModelRuntime;
  readonly modelProvider: ModelProvider;
  /** Folder with onnxruntime's GPU libraries; null if there is none. */
  readonly onnxruntimeDir: string | null;
  /** Memory that a lane should take on its GPU at most, in bytes; null: as much as is useful. */
  readonly gpuMemoryMax: number | null;
  /** Whether projects for which nobody chose a model get the default model. */
  readonly embedderUpgrade: EmbedderUpgrade;
  /** Maximum number of chunks per second while the model of a project changes; null: no limit. */
  readonly embedderChangeRate: number | null;
  /** See `FairQueueOptions.patienceMs`. */
  readonly searchPatienceMs: number;
  /** See `SearchBudgetOptions.budgetFactor`; Infinity if there is no budget. */
  readonly searchBudget: number;
  /** See `RetrievalParts.rerankDeadlineMs`. */
  readonly rerankDeadline: number;
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
  /** Whether memories may be made from URLs, which the server then fetches. */
  readonly fetchUrls: boolean;
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

const DEFAULT_EMBEDDER = "mneme-e5-small";
const LANES = integerOrChosen(1, LANES_MAX, "one per core and GiB of memory, at least 2; two per GPU");

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
  role: setting<Role>(
    "role",
    "ROLE",
    "What a node with PostgreSQL does: `api` answers requests, `ingest` processes memories, `all` does both",
    oneOf(ROLES),
  ),
  indexMemoryMax: setting<number | null>(
    "index-memory-max",
    "SIZE",
    "Memory of a node's open indexes with PostgreSQL, such as `4GiB`; the least recently used ones are closed",
    bytesOrNone(1),
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
  modelsDir: setting(
    "models-dir",
    "DIRECTORY",
    "Folder of the models, with one folder per model",
    directoryOrNone("the included models"),
  ),
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
  lanes: setting<number | null>("lanes", "NUMBER", "Processes that run models, 170 to 250 MB each", LANES),
  modelRuntime: setting<ModelRuntime>(
    "model-runtime",
    "NAME",
    "Model runtime: `auto` uses Mneme's own encoder where it is faster, `onnxruntime` always uses onnxruntime",
    oneOf(MODEL_RUNTIMES),
  ),
  modelProvider: setting<ModelProvider>(
    "model-provider",
    "NAME",
    "What computes the models: `cpu`; `cuda:0` or `cuda:0,1`: these GPUs; `auto`: a GPU if it can be used. See docs/gpu.md",
    MODEL_PROVIDER,
  ),
  onnxruntimeDir: setting<string | null>(
    "onnxruntime-dir",
    "DIRECTORY",
    "Folder with the libraries of `onnxruntime-gpu`, for GPUs; see docs/gpu.md",
    directoryOrNone("none"),
  ),
  gpuMemoryMax: setting<number | null>(
    "gpu-memory-max",
    "SIZE",
    "Memory that a lane should take on its GPU at most, such as `2GiB`; it limits the size of batches",
    bytesOrNone(GPU_MEMORY_MIN_MIB),
  ),
  embedderUpgrade: setting<EmbedderUpgrade>(
    "embedder-upgrade",
    "NAME",
    "What happens to projects of another embedding model than the default: `auto` changes them in the background, unless a person chose their model; `manual` leaves them",
    oneOf(EMBEDDER_UPGRADES),
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
  searchPatienceMs: setting<number>(
    "search-patience",
    "SECONDS",
    "Longest wait of a search, question or embedding for its turn, if more come than the server can answer; then it is refused as `overloaded`",
    seconds(30, 0, 120),
  ),
  searchBudget: setting<number>(
    "search-budget",
    "off|NUMBER",
    "Strict budget: refuse searches at once that would take longer than NUMBER times 100 ms in fast, 150 in hybrid, 300 in balanced, 800 in precise. `off`: they wait, see `search_patience`",
    numberOrOff(0.1, 100, Number.POSITIVE_INFINITY),
  ),
  rerankDeadline: setting<number>(
    "rerank-deadline",
    "off|NUMBER",
    "Milliseconds after which a search in balanced or precise continues with what the reranker has read. `off`: the reranker reads everything, so that results never depend on how busy the machine is",
    numberOrOff(1, 60_000, 2_000),
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
  fetchUrls: setting<boolean>(
    "fetch-urls",
    "true|false",
    "Let callers store pages by their URL, which the server then fetches; addresses as for webhooks",
    { ...switched(), defaultValue: () => true, defaultText: "true", isSwitch: false },
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
  const config = Object.freeze({
    host: read(SETTINGS.host),
    port: read(SETTINGS.port),
    dataDir,
    store: read(SETTINGS.store),
    role: read(SETTINGS.role),
    indexMemoryMax: read(SETTINGS.indexMemoryMax),
    drainMs: read(SETTINGS.drainMs),
    acceptLoss: read(SETTINGS.acceptLoss),
    adminKey: read(SETTINGS.adminKey),
    modelsDir: read(SETTINGS.modelsDir) ?? place.shippedModelsDirectory(dataDir),
    embedder: read(SETTINGS.embedder),
    logLevel: read(SETTINGS.logLevel),
    lanes: read(SETTINGS.lanes),
    modelRuntime: read(SETTINGS.modelRuntime),
    modelProvider: read(SETTINGS.modelProvider),
    onnxruntimeDir: read(SETTINGS.onnxruntimeDir),
    gpuMemoryMax: read(SETTINGS.gpuMemoryMax),
    embedderUpgrade: read(SETTINGS.embedderUpgrade),
    searchPatienceMs: read(SETTINGS.searchPatienceMs),
    searchBudget: read(SETTINGS.searchBudget),
    rerankDeadline: read(SETTINGS.rerankDeadline),
    defaultPlan: read(SETTINGS.defaultPlan),
    embedderChangeRate: read(SETTINGS.embedderChangeRate),
    rateLimits: read(SETTINGS.rateLimits),
    trustedProxies: read(SETTINGS.trustedProxies),
    corsOrigins: read(SETTINGS.corsOrigins),
    mcpHosts: read(SETTINGS.mcpHosts),
    mcpConnector: read(SETTINGS.mcpConnector),
    webhookAllow: read(SETTINGS.webhookAllow),
    fetchUrls: read(SETTINGS.fetchUrls),
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
  if (config.store === null) refuseSettingsOfNodes(config);
  return config;
}

// With the embedded store, there is one process, and it has every project open.
function refuseSettingsOfNodes({ role, indexMemoryMax }: Config): void {
  const [given] = [role !== "all" && SETTINGS.role, indexMemoryMax !== null && SETTINGS.indexMemoryMax].filter(Boolean);
  if (!given) return;
  throw new UsageError(
    `${given.environment} is only for nodes on PostgreSQL: set ${SETTINGS.store.environment} too, or remove it.`,
  );
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
