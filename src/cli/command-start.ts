// What the commands on a data directory share: what run.ts passes to them, and the flags that name the directory.

import { type Config, parseConfig } from "../config.ts";
import type { StartPlace } from "../kit/setting.ts";

/** What run.ts passes to a command besides its arguments. */
export interface CommandStart {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly place: StartPlace;
}

/** Help for the flags that name the data directory, as `[flag, description]`. */
export const DIRECTORY_HELP: readonly (readonly [string, string])[] = [
  ["--data-dir DIRECTORY", "Data directory, whether or not a server is running (default: as for serve)"],
  ["--config FILE", "Settings file that names the data directory (default: as for serve)"],
];

/** The given flags that name the data directory, with their values. */
export function directoryFlags(flags: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  return [...flags].filter(([flag]) => flag === "--data-dir" || flag === "--config");
}

/** The settings of a command with these flags. @throws UsageError as `parseConfig` does */
export function directoryConfig(flags: ReadonlyMap<string, string>, { environment, place }: CommandStart): Config {
  return parseConfig(directoryFlags(flags).flat(), environment, place);
}
