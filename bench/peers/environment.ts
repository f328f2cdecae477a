// Installs the engines into the cache folder: a virtual environment of Python and a folder of npm packages. Each group
// of packages is installed once per version of its lists. If one other than `common` fails, its engines are missing.

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";

/** A group of packages that is installed separately. */
export type PackageGroup = "common" | "txtai" | "orama";

/** The installed engines. */
export interface PeerEnvironment {
  /** Python interpreter of the virtual environment. */
  readonly python: string;
  /** Folder `node_modules` with Orama. */
  readonly nodeModules: string;
  /** Why a group is missing, by group. */
  readonly missing: ReadonlyMap<PackageGroup, string>;
}

const PYTHON_FOLDER = join(import.meta.dir, "python");
const ORAMA_FOLDER = join(import.meta.dir, "orama");
/** File that exists when a group is installed. */
const COMPLETE = "complete";
/** Length of the output that the message of a failed installation shows, in UTF-16 code units. */
const OUTPUT_CHARACTERS_MAX = 600;
/** Oldest minor version of Python 3 that the engines support. */
const PYTHON_MINOR_MIN = 10;

/**
 * Folder of installed engines and of their indexes: `peers` in `MNEME_CACHE_DIR`, which is by default `mneme` in the
 * user's cache folder. For root that is /var/cache, because PostgreSQL runs as another user, which cannot read root's
 * home.
 */
export function peersCacheFolder(): string {
  const home = process.getuid?.() === 0 ? "/var/cache" : (process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"));
  return join(process.env.MNEME_CACHE_DIR ?? join(home, "mneme"), "peers");
}

/**
 * Installs what is missing, with a line on standard error per group.
 * @param wanted groups besides `common`
 * @throws UsageError if Python is missing, or the common packages cannot be installed
 */
export async function installPeers(wanted: ReadonlySet<PackageGroup>): Promise<PeerEnvironment> {
  const system = pythonProgram((name) => Bun.which(name));
  const versions = hashOf(["requirements.txt", "requirements-txtai.txt", "constraints.txt"]);
  const venv = join(peersCacheFolder(), `python-${versions}`);
  const python = join(venv, "bin/python");
  const pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c"];
  const install = [...pip, join(PYTHON_FOLDER, "constraints.txt"), "-r"];
  const nodeFolder = join(peersCacheFolder(), `orama-${hashOf(["../orama/package.json"])}`);
  const missing = new Map<PackageGroup, string>();

  const problem = await once(join(venv, COMPLETE), "Python packages (about 2 GB)", async () => {
    rmSync(venv, { recursive: true, force: true });
    return (
      (await failureOf([system, "-m", "venv", venv])) ??
      (await failureOf([...install, join(PYTHON_FOLDER, "requirements.txt")]))
    );
  });
  if (problem !== null) throw new UsageError(`The Python packages could not be installed: ${problem}`);
  if (wanted.has("txtai")) {
    const why = await once(join(venv, `${COMPLETE}-txtai`), "txtai with PyTorch (about 4 GB)", () =>
      failureOf([...install, join(PYTHON_FOLDER, "requirements-txtai.txt")]),
    );
    if (why !== null) missing.set("txtai", why);
  }
  if (wanted.has("orama")) {
    const why = await once(join(nodeFolder, COMPLETE), "Orama", async () => {
      if (Bun.which("node") === null || Bun.which("npm") === null) return "node and npm are not installed";
      rmSync(nodeFolder, { recursive: true, force: true });
      mkdirSync(nodeFolder, { recursive: true });
      copyFileSync(join(ORAMA_FOLDER, "package.json"), join(nodeFolder, "package.json"));
      return failureOf(["npm", "install", "--silent", "--no-audit", "--no-fund"], nodeFolder);
    });
    if (why !== null) missing.set("orama", why);
  }
  return { python, nodeModules: join(nodeFolder, "node_modules"), missing };
}

/**
 * Path of a Python that is new enough.
 * @param which path of a program, null if it is not installed
 * @throws UsageError that says what to install
 */
export function pythonProgram(which: (name: string) => string | null): string {
  for (const name of ["python3.11", "python3.12", "python3.13", "python3"]) {
    const path = which(name);
    if (path === null) continue;
    const { success } = Bun.spawnSync(
      [path, "-c", `import sys, venv, ensurepip; sys.exit(sys.version_info < (3, ${PYTHON_MINOR_MIN}))`],
      { stdout: "ignore", stderr: "ignore" },
    );
    if (success) return path;
  }
  throw new UsageError(
    `Python is missing: install Python 3.11 with its module venv (at least 3.${PYTHON_MINOR_MIN}; on Debian: apt-get install python3-venv).`,
  );
}

// Runs `install` unless the file exists, and makes the file if that succeeds. Returns why it failed, otherwise null.
async function once(file: string, what: string, install: () => Promise<string | null>): Promise<string | null> {
  if (existsSync(file)) return null;
  process.stderr.write(`installing ${what}\n`);
  const problem = await install();
  if (problem === null) writeFileSync(file, "");
  else process.stderr.write(`not installed: ${problem}\n`);
  return problem;
}

async function failureOf(command: readonly string[], cwd = peersCacheFolder()): Promise<string | null> {
  mkdirSync(cwd, { recursive: true });
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const output = await new Response(child.stderr).text();
  return (await child.exited) === 0 ? null : output.trim().slice(-OUTPUT_CHARACTERS_MAX) || `${command[0]} failed`;
}

// Hash of the contents of files, without their comments.
function hashOf(files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(PYTHON_FOLDER, file), "utf8").replaceAll(/\s*#.*/g, ""));
  return hash.digest("hex").slice(0, 12);
}
