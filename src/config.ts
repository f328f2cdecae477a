// Reads the settings of a run. Flags override environment variables, which override mneme.toml. Parsed once at start
// and frozen. settings/ defines them by subject; cli/settings-help.ts generates `mneme help` and docs/configuration.md.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { errorMessage } from "./kit/error-message.ts";
import { parseCommandLine, UsageError } from "./kit/flags.ts";
import { didYouMean } from "./kit/nearest.ts";
import type { Setting, StartPlace } from "./kit/setting.ts";
import { readSettingsFile } from "./kit/settings-file.ts";
import { ACCESS_SETTINGS } from "./settings/access.ts";
import { LANGUAGE_MODEL_SETTINGS } from "./settings/language-model.ts";
import { MODEL_SETTINGS } from "./settings/models.ts";
import { OUTBOUND_SETTINGS } from "./settings/outbound.ts";
import { SEARCH_SETTINGS } from "./settings/search.ts";
import { SERVER_SETTINGS } from "./settings/server.ts";

/** Every setting of the program, in the order of the documentation. */
export const SETTINGS = {
  ...SERVER_SETTINGS,
  ...MODEL_SETTINGS,
  ...SEARCH_SETTINGS,
  ...ACCESS_SETTINGS,
  ...OUTBOUND_SETTINGS,
  ...LANGUAGE_MODEL_SETTINGS,
};

type SettingValues = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer Value> ? Value : never;
};

/** The values of a run. Paths are absolute. */
export type Config = SettingValues & { readonly modelsDir: string };

/** Matches variables with the prefix `MNEME_` that are no settings, but are read by other parts of the program. */
const FOREIGN_VARIABLES =
  /^MNEME_(API_KEY|BACKUP_PASSPHRASE|CACHE_DIR|MODEL_KEY|NATIVE_PATH|SHIPPED_MODELS_DIR|TEST_.*|BENCH_.*)$/;
/** The flag that names the settings file. */
export const CONFIG_FLAG = "--config";
/** Name of the settings file in the working directory. */
export const CONFIG_FILE = "mneme.toml";

/**
 * Reads the settings of this run.
 * @param argv arguments after the command's name
 * @throws UsageError with one line that names the setting: for an invalid value, an unknown flag, an unknown key in the
 *   settings file, an unknown `MNEME_` variable, an unreadable settings file, or a setting that needs another store or
 *   operating system
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
  const values = Object.fromEntries(
    Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) => [name, read(setting)]),
  ) as SettingValues;
  const modelsDir = values.modelsDir ?? place.shippedModelsDirectory();
  const config = Object.freeze({ ...values, modelsDir });
  if (config.store === null) refuseSettingsOfNodes(config);
  else refuseThreads(config, "with PostgreSQL each server has one: start several servers");
  if (process.platform !== "linux") refuseThreads(config, "more than one needs Linux");
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

function refuseThreads({ httpThreads }: Config, why: string): void {
  if ((httpThreads ?? 1) === 1) return;
  throw new UsageError(`${SETTINGS.httpThreads.environment} must be 1, not ${httpThreads}: ${why}.`);
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
    throw new UsageError(`${name}: ${errorMessage(cause)}`, { cause });
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
