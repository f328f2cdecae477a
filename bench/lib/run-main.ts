// Runs the main function of a bench.

import { UsageError } from "../../src/kit/flags.ts";

/** Runs `main`. A usage error ends the process with its message and status 2. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}
