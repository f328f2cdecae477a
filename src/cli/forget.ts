// `mneme forget`: erases a memory, a user or a project from all stores at once, and prints a receipt.

import { openDataDirectory } from "../compose/data-directory.ts";
import { systemClock } from "../kit/clock.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { createLog } from "../kit/log.ts";
import { type CommandStart, directoryConfig } from "./command-start.ts";
import { whileShown } from "./terminal.ts";

const USAGE = "Usage: mneme forget memory|user|project ID";

/**
 * Runs `mneme forget KIND ID`.
 * @returns the receipt as JSON
 * @throws Error with one sentence
 */
export async function forgetCommand(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--project": "value", "--data-dir": "value", "--config": "value" },
  });
  const [kind, id, surplus] = positionals;
  if (kind === undefined || id === undefined) throw new UsageError(`Missing what to forget. ${USAGE}`);
  if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}. ${USAGE}`);
  await using directory = await openDataDirectory(directoryConfig(flags, start), systemClock, createLog("warn"));
  const body = JSON.stringify({ kind, id, project: flags.get("--project") ?? null });
  const response = await whileShown("erasing", directory.ask("POST", "/forget", body));
  return JSON.stringify(await response.json(), null, 2);
}
