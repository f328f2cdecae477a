// Python with the packages of test/clients/requirements.txt, in a virtual environment in the cache folder. Running this
// file makes the environment, which needs a network connection; tests only look whether it is there.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nativeCacheDirectory } from "../../src/adapters/native/library.ts";

const REQUIREMENTS = join(import.meta.dir, "../clients/requirements.txt");
/** File that exists when an environment is complete. */
const COMPLETE = "complete";

/** Path of the Python interpreter of the environment; null if the environment was not made. */
export function pythonWithClients(): string | null {
  const folder = environmentFolder();
  return existsSync(join(folder, COMPLETE)) ? join(folder, "bin/python") : null;
}

/** Why tests with Python are skipped, and what to do about it. */
export const NO_PYTHON = "Python's clients are missing: run bun test/support/python-clients.ts (Python 3.10 or newer)";

function environmentFolder(): string {
  const hash = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex").slice(0, 16);
  return join(dirname(nativeCacheDirectory()), `python-clients-${hash}`);
}

async function makeEnvironment(): Promise<number> {
  if (pythonWithClients() !== null) return 0;
  if (Bun.which("python3") === null) {
    process.stderr.write("python3 is not installed\n");
    return 1;
  }
  const folder = environmentFolder();
  rmSync(folder, { recursive: true, force: true });
  const commands = [
    ["python3", "-m", "venv", folder],
    [join(folder, "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS],
  ];
  for (const command of commands) {
    const { exited } = Bun.spawn(command, { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
    if ((await exited) !== 0) return 1;
  }
  writeFileSync(join(folder, COMPLETE), "");
  return 0;
}

if (import.meta.main) process.exit(await makeEnvironment());
