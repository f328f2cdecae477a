// What can be set, where each value comes from, and what is refused: flags before environment before mneme.toml before
// defaults. Parsed once at start and frozen; parsing, `mneme help` and docs/configuration.md all derive from SETTINGS.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseTrustedProxies, type TrustedProxies } from "./account/client-address.ts";
import { parseRateLimits, RATE_LIMITS, type RateLimitTable } from "./account/rate-limits.ts";
import { MODEL_RUNTIMES, type ModelRuntime } from "./adapters/inference/lane-protocol.ts";
import { AllowList } from "./adapters/outbound/addresses.ts";
import { parseOrigins } from "./api/cors.ts";
import { parseCommandLine, UsageError } from "./kit/flags.ts";
import { LOG_LEVELS, type LogLevel } from "./kit/log.ts";
import { didYouMean } from "./kit/nearest.ts";
import { parseRetries, RETRIES_EXPECTED } from "./webhooks/schedule.ts";

/** Where a start takes place: what relative paths and defaults refer to. */
export interface StartPlace {
  /** Relative paths and `mneme.toml` are looked up here. */
  readonly workingDirectory: string;
  /** Where the models that came with the program are, given the data directory: the single binary unpacks them there. */
  readonly shippedModelsDirectory: (dataDir: string) => string;
}

/** The settings of one run; SETTINGS describes each. Paths are absolute. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly adminKey: string | null;
  readonly modelsDir: string;
  readonly logLevel: LogLevel;
  readonly lanes: number;
  readonly modelRuntime: ModelRuntime;
  readonly hnswMinChunks: number;
  readonly rateLimits: RateLimitTable;
  readonly trustedProxies: TrustedProxies;
  readonly corsOrigins: readonly string[];
  /** Hosts and networks that webhooks may call although they are not public. */
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

/** One thing that can be set. */
export interface Setting<Value> {
  /** null: not settable on the command line, which every user of the machine can read. */
  readonly flag: string | null;
  readonly environment: string;
  readonly tomlKey: string;
  /** What stands for the value in help texts. */
  readonly placeholder: string;
  readonly description: string;
  readonly defaultValue: (place: StartPlace) => Value;
  /** The default as help texts show it. */
  readonly defaultText: string;
  /** Completes "NAME must be …". */
  readonly expects: string;
  /** The value that `text` stands for; undefined (or an Error that says more) when it stands for none. */
  readonly parse: (text: string, place: StartPlace) => Value | undefined;
  /** A secret value is not repeated in messages. */
  readonly isSecret: boolean;
}

/** Every setting of the program. */
export const SETTINGS = {
  host: setting<string>("host", "ADDRESS", "Address to listen on; `0.0.0.0` for all of them", {
    defaultValue: () => "127.0.0.1",
    defaultText: "127.0.0.1",
    expects: "a host name or address",
    parse: (text) => (/^[A-Za-z0-9.:_-]+$/.test(text) ? text : undefined),
  }),
  port: setting<number>("port", "NUMBER", "Port to listen on; 0 takes a free one", integer(0, 65_535, 8383)),
  dataDir: setting<string>("data-dir", "DIRECTORY", "Where everything is stored; made when it is missing", {
    defaultValue: (place) => resolve(place.workingDirectory, "data/store"),
    defaultText: "data/store",
    expects: "a directory",
    parse: parsePath,
  }),
  adminKey: setting<string | null>(
    "admin-key",
    "KEY",
    "A key with all rights; without it one is made on the first start and printed once",
    {
      flag: null,
      defaultValue: () => null,
      defaultText: "made on first start",
      expects: "ctx_ and 16 to 256 letters, digits, - or _",
      parse: (text) => (/^ctx_[A-Za-z0-9_-]{16,256}$/.test(text) ? text : undefined),
      isSecret: true,
    },
  ),
  modelsDir: setting<string | null>("models-dir", "DIRECTORY", "Folder that holds `embedder/` and `reranker/`", {
    defaultValue: () => null,
    defaultText: "the models that came along",
    expects: "a directory",
    parse: parsePath,
  }),
  logLevel: setting<LogLevel>("log-level", "LEVEL", `What is logged to standard error: ${LOG_LEVELS.join(", ")}`, {
    defaultValue: () => "info",
    defaultText: "info",
    expects: `one of ${LOG_LEVELS.join(", ")}`,
    parse: (text) => LOG_LEVELS.find((level) => level === text),
  }),
  lanes: setting<number>("lanes", "NUMBER", "Processes that run the models; about one per core", integer(1, 8, 2)),
  modelRuntime: setting<ModelRuntime>(
    "model-runtime",
    "NAME",
    "What computes the models: `auto` takes Mneme's own code where it is the faster, `onnxruntime` that alone",
    {
      defaultValue: () => "auto",
      defaultText: "auto",
      expects: `one of ${MODEL_RUNTIMES.join(", ")}`,
      parse: (text) => MODEL_RUNTIMES.find((runtime) => runtime === text),
    },
  ),
  hnswMinChunks: setting<number>(
    "hnsw-min-chunks",
    "NUMBER",
    "Vectors are scanned up to this many chunks in scope, searched by HNSW beyond",
    integer(1, 1_000_000_000, 1_000_000),
  ),
  rateLimits: setting<RateLimitTable>(
    "rate-limits",
    "off|FILE",
    '`off`, or a JSON file with other limits per minute, such as `{"GET *": 1000}`',
    {
      defaultValue: () => RATE_LIMITS,
      defaultText: "the interface's table",
      expects: "`off` or a file",
      parse: (text, place) =>
        parseRateLimits(text, (path) => readFileSync(resolve(place.workingDirectory, path), "utf8")),
    },
  ),
  trustedProxies: setting<TrustedProxies>(
    "trusted-proxies",
    "ADDRESSES",
    "Proxies whose `X-Forwarded-For` is believed: addresses and CIDRs, comma-separated",
    { defaultValue: () => [], defaultText: "none", expects: "addresses and CIDRs", parse: parseTrustedProxies },
  ),
  corsOrigins: setting<readonly string[]>(
    "cors-origins",
    "ORIGINS",
    "Web origins that may call the API from a browser, comma-separated; `*` for all",
    { defaultValue: () => [], defaultText: "none", expects: "origins", parse: parseOrigins },
  ),
  webhookAllow: setting<AllowList>(
    "webhook-allow",
    "HOSTS",
    "Hosts and CIDRs that webhooks may call although they are not public, comma-separated",
    {
      defaultValue: () => AllowList.parse(""),
      defaultText: "none",
      expects: "hosts and CIDRs",
      parse: (text) => AllowList.parse(text),
    },
  ),
  webhookRetriesMs: setting<readonly number[]>(
    "webhook-retries",
    "SECONDS",
    "Waits before the retries of a webhook's delivery, comma-separated",
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
    "Base of an OpenAI-compatible service, such as `https://api.example.com/v1`; without one everything works locally",
    { defaultValue: () => null, defaultText: "none", expects: "an http or https address", parse: parseWebAddress },
  ),
  llmModel: setting<string | null>("llm-model", "NAME", "The language model to ask there", {
    defaultValue: () => null,
    defaultText: "none",
    expects: "the name of a model",
    parse: (text) => (/^[\x21-\x7e]{1,256}$/.test(text) ? text : undefined),
  }),
  llmApiKey: setting<string | null>("llm-api-key", "KEY", "Sent to that service as a bearer token", {
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
    "How long a language model may be silent before its answer begins",
    seconds(30),
  ),
  llmIdleTimeoutMs: setting<number>(
    "llm-idle-timeout",
    "SECONDS",
    "How long it may be silent within an answer",
    seconds(15),
  ),
  llmTimeoutMs: setting<number>("llm-timeout", "SECONDS", "How long an answer may take in all", seconds(120)),
  llmConcurrency: setting<number>(
    "llm-concurrency",
    "NUMBER",
    "Calls of language models that a project has at once; ingestion takes half of them at most",
    integer(2, 256, 8),
  ),
  llmContextTokens: setting<number>(
    "llm-context-tokens",
    "NUMBER",
    "Tokens that the language model can read and write in all; sources are chosen to fit",
    integer(2_048, 2_000_000, 8_192),
  ),
};

/** Variables with our prefix that other parts of the program read; config passes them over. */
const FOREIGN_VARIABLES = /^MNEME_(API_KEY|CACHE_DIR|NATIVE_PATH|TEST_.*|BENCH_.*)$/;
const CONFIG_FLAG = "--config";
const CONFIG_FILE = "mneme.toml";

/**
 * The settings of this run.
 * @param argv what follows the command's name.
 * @throws UsageError with one line that names the setting: on a bad value, an unknown flag, an unknown key of the
 *   settings file, an unknown `MNEME_` variable, and a settings file that cannot be read.
 */
export function parseConfig(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  place: StartPlace,
): Config {
  const flags = parseFlags(argv);
  refuseUnknownVariables(environment);
  const file = readSettingsFile(flags.get(CONFIG_FLAG), place);

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
    adminKey: read(SETTINGS.adminKey),
    modelsDir: read(SETTINGS.modelsDir) ?? place.shippedModelsDirectory(dataDir),
    logLevel: read(SETTINGS.logLevel),
    lanes: read(SETTINGS.lanes),
    modelRuntime: read(SETTINGS.modelRuntime),
    hnswMinChunks: read(SETTINGS.hnswMinChunks),
    rateLimits: read(SETTINGS.rateLimits),
    trustedProxies: read(SETTINGS.trustedProxies),
    corsOrigins: read(SETTINGS.corsOrigins),
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

/** The settings for a help text: `[flag or variable, description with the default]`. */
export function settingsHelp(): readonly (readonly [string, string])[] {
  const own = Object.values(SETTINGS).map((setting): [string, string] => [
    `${setting.flag ?? setting.environment} ${setting.placeholder}`,
    `${setting.description.replaceAll("`", "")} (${setting.defaultText})`,
  ]);
  return [...own, [`${CONFIG_FLAG} FILE`, `Settings file (${CONFIG_FILE} in the working directory, if there is one)`]];
}

/** The settings as a Markdown table for docs/configuration.md, which test/cli/config.test.ts compares and writes. */
export function settingsMarkdown(): string {
  const rows = Object.values(SETTINGS).map(
    ({ flag, environment, tomlKey, placeholder, expects, defaultText, description }) =>
      [
        `| \`${environment}\``,
        flag === null ? "–" : `\`${flag}\``,
        `\`${tomlKey}\``,
        `\`${placeholder.replaceAll("|", "\\|")}\`: ${expects}`,
        defaultText,
        `${description} |`,
      ].join(" | "),
  );
  const head = ["| Environment | Flag | mneme.toml | Value | Default | Meaning |", "|---|---|---|---|---|---|"];
  return [...head, ...rows].join("\n");
}

function parseFlags(argv: readonly string[]): ReadonlyMap<string, string> {
  const known: Record<string, "value"> = { [CONFIG_FLAG]: "value" };
  for (const { flag } of Object.values(SETTINGS)) if (flag !== null) known[flag] = "value";
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

interface SettingsFile {
  readonly name: string;
  readonly values: ReadonlyMap<string, string>;
}

function readSettingsFile(asked: string | undefined, place: StartPlace): SettingsFile {
  const name = asked ?? CONFIG_FILE;
  const path = resolve(place.workingDirectory, name);
  if (asked === undefined && !existsSync(path)) return { name, values: new Map() };

  let entries: [string, unknown][];
  try {
    entries = Object.entries(Bun.TOML.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    throw new UsageError(`${name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
  const known = Object.values(SETTINGS).map((setting) => setting.tomlKey);
  const values = new Map<string, string>();
  for (const [key, value] of entries) {
    if (!known.includes(key)) throw new UsageError(`Unknown setting ${key} in ${name}.${didYouMean(key, known)}`);
    if (typeof value !== "string" && typeof value !== "number") {
      throw new UsageError(`${key} in ${name} must be a text or a number.`);
    }
    values.set(key, String(value));
  }
  return { name, values };
}

type SettingRest<Value> = Pick<Setting<Value>, "defaultValue" | "defaultText" | "expects" | "parse"> &
  Partial<Pick<Setting<Value>, "flag" | "isSecret">>;

// The three names of a setting derive from one.
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

// Given in seconds, held in milliseconds.
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
