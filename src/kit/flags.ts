// How command lines are read: `--name value`, `--name=value`, switches and plain arguments. What the names mean is
// the business of whoever asks (config.ts, cli/).

import { didYouMean } from "./nearest.ts";

/** Somebody started the program wrongly; `message` is the one line to show, without a stack. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A command line, taken apart. */
export interface CommandLine {
  /** Values by flag, `--` included; a switch has the value `true`. */
  readonly flags: ReadonlyMap<string, string>;
  /** What belongs to no flag, in order. */
  readonly positionals: readonly string[];
}

/**
 * Takes `argv` apart.
 * @param known flags with their leading `--`; a `switch` takes no value.
 * @throws UsageError on an unknown flag (naming the nearest), a repeated one, and a missing or unexpected value.
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
