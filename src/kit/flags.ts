// Parses command lines: `--name value`, `--name=value`, switches and positional arguments. The callers (config.ts,
// cli/) define the flags.

import { didYouMean } from "./nearest.ts";

/** The program was started incorrectly. `message` is one line for the user, printed without a stack. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A parsed command line. */
export interface CommandLine {
  /** Values by flag, including the leading `--`; a switch has the value `true`. */
  readonly flags: ReadonlyMap<string, string>;
  /** Positional arguments, in order. */
  readonly positionals: readonly string[];
}

/**
 * Parses `argv`.
 * @param known flags with their leading `--`; a `switch` takes no value
 * @throws UsageError for an unknown flag (with a suggestion), a repeated flag, and a missing or unexpected value
 */
export function parseCommandLine(
  argv: readonly string[],
  known: Readonly<Record<string, "value" | "switch">>,
): CommandLine {
  const flags = new Map<string, string>();
  const positionals: string[] = [];
  for (let position = 0; position < argv.length; position++) {
    const argument = argv[position] ?? "";
    if (!argument.startsWith("--")) {
      positionals.push(argument);
      continue;
    }
    const equals = argument.indexOf("=");
    const flag = equals < 0 ? argument : argument.slice(0, equals);
    const kind = Object.hasOwn(known, flag) ? known[flag] : undefined;
    if (kind === undefined) throw new UsageError(`Unknown flag ${flag}.${didYouMean(flag, Object.keys(known))}`);
    if (flags.has(flag)) throw new UsageError(`${flag} is given twice.`);
    if (kind === "switch") {
      if (equals >= 0) throw new UsageError(`${flag} takes no value.`);
      flags.set(flag, "true");
      continue;
    }
    const value = equals < 0 ? argv[++position] : argument.slice(equals + 1);
    if (value === undefined || (equals < 0 && value.startsWith("--"))) throw new UsageError(`${flag} needs a value.`);
    flags.set(flag, value);
  }
  return { flags, positionals };
}
