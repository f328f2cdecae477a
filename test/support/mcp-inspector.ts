// MCP's Inspector in the cache folder, with a Node that it accepts. Running this file installs both with npm, which
// needs a network connection and 300 MB; tests only look whether they are there.

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nativeCacheDirectory } from "../../src/adapters/native/library.ts";

/** Versions of the packages. The Inspector needs Node 22.19 or newer, which the package `node` has as a program. */
const PACKAGES = ["@modelcontextprotocol/inspector@2.12.0", "node@22.21.1"] as const;
/** File that exists when everything is installed. */
const COMPLETE = "complete";

/** The Inspector's command line, as the first words of a command; null if it was not installed. */
export function inspectorCommand(): readonly string[] | null {
  const folder = inspectorFolder();
  if (!existsSync(join(folder, COMPLETE))) return null;
  const modules = join(folder, "node_modules");
  const launcher = join(modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  return [join(modules, "node/bin/node"), launcher, "--cli"];
}

/** Why tests with the Inspector are skipped, and what to do about it. */
export const NO_INSPECTOR = "MCP's Inspector is missing: run bun test/support/mcp-inspector.ts (with npm, 300 MB)";

function inspectorFolder(): string {
  const hash = Bun.hash(PACKAGES.join(" ")).toString(16);
  return join(dirname(nativeCacheDirectory()), `mcp-inspector-${hash}`);
}

async function install(): Promise<number> {
  if (inspectorCommand() !== null) return 0;
  if (Bun.which("npm") === null) {
    process.stderr.write("npm is not installed\n");
    return 1;
  }
  const folder = inspectorFolder();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true}');
  const command = ["npm", "install", "--silent", "--no-audit", "--no-fund", ...PACKAGES];
  const { exited } = Bun.spawn(command, { cwd: folder, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  if ((await exited) !== 0) return 1;
  writeFileSync(join(folder, COMPLETE), "");
  return 0;
}

if (import.meta.main) process.exit(await install());
