// Reads the settings file `mneme.toml`. config.ts says which settings there are, and checks their values.

import { readFileSync } from "node:fs";
import { errorMessage } from "./error-message.ts";
import { UsageError } from "./flags.ts";
import { didYouMean } from "./nearest.ts";

/** A settings file that was read. */
export interface SettingsFile {
  /** What messages call the file. */
  readonly name: string;
  /** Values as text, by their keys. */
  readonly values: ReadonlyMap<string, string>;
}

/**
 * Reads a TOML file of settings.
 * @param name what messages call the file
 * @param known the keys that it may have
 * @throws UsageError if the file cannot be read, or has an unknown key or a value that is no text, number or boolean
 */
export function readSettingsFile(name: string, path: string, known: readonly string[]): SettingsFile {
  let entries: [string, unknown][];
  try {
    entries = Object.entries(Bun.TOML.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    throw new UsageError(`${name} cannot be read: ${errorMessage(cause)}`, {
      cause,
    });
  }
  const values = new Map<string, string>();
  for (const [key, value] of entries) {
    if (!known.includes(key)) throw new UsageError(`Unknown setting ${key} in ${name}.${didYouMean(key, known)}`);
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      throw new UsageError(`${key} in ${name} must be a string, a number, true or false.`);
    }
    values.set(key, String(value));
  }
  return { name, values };
}
