// The definition of a setting, and functions that make definitions. src/settings/ has all settings.

import { resolve } from "node:path";

/** Locations from which relative paths and default values are derived. */
export interface StartPlace {
  /** Folder of `mneme.toml`; relative paths are resolved against it. */
  readonly workingDirectory: string;
  /** Returns the folder of the shipped models. */
  readonly shippedModelsDirectory: () => string;
}

/** Definition of a setting. */
export interface Setting<Value> {
  /**
   * Command-line flag with its `--`. null for secrets, because other users of the machine can read command lines.
   */
  readonly flag: string | null;
  /** Name of the environment variable. */
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

/** The part of a definition that `setting` does not derive from the name. */
export type SettingRest<Value> = Pick<Setting<Value>, "defaultValue" | "defaultText" | "expects" | "parse"> &
  Partial<Pick<Setting<Value>, "flag" | "isSecret" | "isSwitch">>;

/** A setting that is off unless it is switched on. */
export function switched(): SettingRest<boolean> {
  return {
    defaultValue: () => false,
    defaultText: "false",
    expects: "`true` or `false`",
    parse: (text) => (text === "true" ? true : text === "false" ? false : undefined),
    isSwitch: true,
  };
}

/** Derives the flag, the variable and the TOML key of a setting from one name. */
export function setting<Value>(
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

/** A number from `least` to `most` with up to three decimals, or `off`, whose value is infinity. */
export function numberOrOff(least: number, most: number, defaultValue: number): SettingRest<number> {
  return {
    defaultValue: () => defaultValue,
    defaultText: Number.isFinite(defaultValue) ? String(defaultValue) : "off",
    expects: `\`off\` or a number from ${least} to ${most}`,
    parse: (text) => {
      if (text === "off") return Number.POSITIVE_INFINITY;
      const number = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
      return number >= least && number <= most ? number : undefined;
    },
  };
}

/** A whole number from `least` to `most`, both included. */
export function integer(least: number, most: number, defaultValue: number): SettingRest<number> {
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

/** An integer that the program chooses if the setting is absent. `chosen` says how, for the documentation. */
export function integerOrChosen(least: number, most: number, chosen: string): SettingRest<number | null> {
  return { ...integer(least, most, least), defaultValue: () => null, defaultText: chosen };
}

/** A setting that the operator gives in seconds and the program stores in milliseconds. */
export function seconds(defaultSeconds: number, leastSeconds = 1, mostSeconds = 3_600): SettingRest<number> {
  const inSeconds = integer(leastSeconds, mostSeconds, defaultSeconds);
  return {
    ...inSeconds,
    defaultValue: () => defaultSeconds * 1_000,
    parse: (text, place) => {
      const value = inSeconds.parse(text, place);
      return typeof value === "number" ? value * 1_000 : undefined;
    },
  };
}

const UNITS: Readonly<Record<string, number>> = { MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** A number of bytes with its unit, such as `512MiB`. Without the setting, there is no limit. */
export function bytesOrNone(leastMiB: number): SettingRest<number | null> {
  return {
    defaultValue: () => null,
    defaultText: "no limit",
    expects: `a number of MiB, GiB or TiB, such as 4GiB, and at least ${leastMiB}MiB`,
    parse: (text) => {
      const [, digits = "", unit = ""] = /^(\d{1,7}) ?(MiB|GiB|TiB)$/.exec(text) ?? [];
      const bytes = Number(digits) * (UNITS[unit] ?? 0);
      return bytes >= leastMiB * 2 ** 20 ? bytes : undefined;
    },
  };
}

/** A directory. `defaultText` says what is used if the setting is absent. */
export function directoryOrNone(defaultText: string): SettingRest<string | null> {
  return { defaultValue: () => null, defaultText, expects: "a directory", parse: parsePath };
}

/** One of a few names; the first is the default. */
export function oneOf<Name extends string>(names: readonly [Name, ...Name[]]): SettingRest<Name> {
  return {
    defaultValue: () => names[0],
    defaultText: names[0],
    expects: `one of ${names.join(", ")}`,
    parse: (text) => names.find((name) => name === text),
  };
}

/** Resolves a path against the working directory; undefined if it is empty or has a NUL. */
export function parsePath(text: string, place: StartPlace): string | undefined {
  return text === "" || text.includes("\0") ? undefined : resolve(place.workingDirectory, text);
}

/** An http or https address, as it was written; undefined for any other text. */
export function parseWebAddress(text: string): string | undefined {
  return /^https?:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) ? text : undefined;
}
