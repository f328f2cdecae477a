// Unpacks the libraries of the single binary for commands whose code loads them, such as backup. Without a binary there
// is nothing to unpack.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandStart, directoryConfig } from "./command-start.ts";

const DIRECTORY_FLAGS = ["--data-dir", "--config"];

/**
 * Unpacks libraries before the code of a command is loaded: into the data directory if there is data, where a server
 * has unpacked them already, otherwise into a temporary folder that is removed when the process exits.
 * @param argv the command's arguments; only the flags that name the data directory are read
 * @throws UsageError if the settings are wrong, or the folder cannot be used
 */
export async function unpackLibraries(argv: readonly string[], start: CommandStart): Promise<void> {
  if (start.unpack === undefined) return;
  const config = directoryConfig(directoryFlagsIn(argv), start);
  const isUsed = existsSync(config.store === null ? join(config.dataDir, "mneme.sqlite") : config.dataDir);
  if (isUsed) return start.unpack(config);
  const folder = mkdtempSync(join(tmpdir(), "mneme-libraries-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  await start.unpack({ ...config, dataDir: folder });
}

/** The flags that name the data directory, as `--flag value` or `--flag=value`. */
export function directoryFlagsIn(argv: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [at, argument] of argv.entries()) {
    const equals = argument.indexOf("=");
    const name = equals === -1 ? argument : argument.slice(0, equals);
    const value = equals === -1 ? argv[at + 1] : argument.slice(equals + 1);
    if (DIRECTORY_FLAGS.includes(name) && value !== undefined) found.set(name, value);
  }
  return found;
}
