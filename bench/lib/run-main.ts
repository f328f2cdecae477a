// Runs the main function of a bench.

import { parseCommandLine, UsageError } from "../../src/kit/flags.ts";

/** A line of a help text about a flag, with its leading `--`, and the name of its value if it takes one. */
const FLAG_LINE = /^ {2}(--[a-z-]+)( [A-Z]+)?\b/gm;

/**
 * Runs `main` with the flags of the command line, or prints `help`. A usage error ends the process with its message and
 * status 2.
 * @param help lists the flags, one a line, such as `  --rounds N  number of rounds` or, without a value, `  --record`
 */
export async function runMain(
  help: string,
  main: (flags: ReadonlyMap<string, string>) => Promise<void>,
): Promise<void> {
  const known = [...help.matchAll(FLAG_LINE)].map(([, flag = "", value]) => {
    return [flag, value === undefined ? "switch" : "value"] as const;
  });
  try {
    const { flags } = parseCommandLine(process.argv.slice(2), { ...Object.fromEntries(known), "--help": "switch" });
    if (flags.has("--help")) process.stdout.write(`${help}\n`);
    else await main(flags);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}
