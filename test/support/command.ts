// Runs the command line as a process, and captures its output and exit code.

import { PROGRAM } from "./program.ts";
import { WAIT_MS } from "./until.ts";

/** Result of a command. */
export interface Ended {
  /** null if a signal ended it, as after `WAIT_MS`. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `mneme <argv>` in a folder, with only the settings in `environment`, and waits for its end. */
export function runMneme(
  argv: readonly string[],
  workingDirectory: string,
  environment: Readonly<Record<string, string>> = {},
): Ended {
  const { exitCode, stdout, stderr } = Bun.spawnSync(commandOf(argv), {
    cwd: workingDirectory,
    env: environmentWith(environment),
    timeout: WAIT_MS,
  });
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** Runs `mneme <argv>` as `runMneme` does, while this process goes on. */
export async function startMneme(
  argv: readonly string[],
  workingDirectory: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = Bun.spawn(commandOf(argv), {
    cwd: workingDirectory,
    env: environmentWith(environment),
    timeout: WAIT_MS,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  return { exitCode: child.exitCode, stdout, stderr };
}

/** Starts `mneme <argv>` as `runMneme` does. The caller ends it. Its output is not kept. */
export function spawnMneme(
  argv: readonly string[],
  workingDirectory: string,
  environment: Readonly<Record<string, string>> = {},
): Bun.Subprocess<"ignore", "ignore", "ignore"> {
  const stdio = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  return Bun.spawn(commandOf(argv), { cwd: workingDirectory, env: environmentWith(environment), ...stdio });
}

function commandOf(argv: readonly string[]): string[] {
  return [...PROGRAM, ...argv];
}

function environmentWith(environment: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const { PATH, HOME, MNEME_CACHE_DIR, XDG_CACHE_HOME, MNEME_NATIVE_PATH } = process.env;
  const inherited = Object.entries({ PATH, HOME, MNEME_CACHE_DIR, XDG_CACHE_HOME, MNEME_NATIVE_PATH });
  return { ...Object.fromEntries(inherited.filter(([, value]) => value !== undefined)), ...environment };
}
