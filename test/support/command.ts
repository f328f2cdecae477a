// Runs the command line as a process, and captures its output and exit code.

import { join } from "node:path";
import { ROOT } from "./sources.ts";

/** Result of a command. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 60_000;

/** Runs `mneme <argv>` in a folder, with only the settings in `environment`, and waits for its end. */
export function runMneme(
  argv: readonly string[],
  workingDirectory: string,
  environment: Readonly<Record<string, string>> = {},
): Ended {
  const { PATH, HOME, MNEME_CACHE_DIR, XDG_CACHE_HOME, MNEME_NATIVE_PATH } = process.env;
  const inherited = Object.entries({ PATH, HOME, MNEME_CACHE_DIR, XDG_CACHE_HOME, MNEME_NATIVE_PATH });
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, join(ROOT, "src/main.ts"), ...argv], {
    cwd: workingDirectory,
    env: { ...Object.fromEntries(inherited.filter(([, value]) => value !== undefined)), ...environment },
    timeout: TIMEOUT_MS,
  });
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}
