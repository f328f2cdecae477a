// The packages that a program for another platform contains, and that are not installed on this one.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "./description.ts";
import { output } from "./tar.ts";

const PACKAGE = join(import.meta.dir, "../../package.json");

/**
 * Installs DuckDB's library for a platform from npm, in the version of this checkout.
 * @param folder a fresh folder
 * @returns the folder of its packages
 */
export function foreignModules(folder: string, { npm }: Platform): string {
  const { dependencies } = JSON.parse(readFileSync(PACKAGE, "utf8"));
  const manifest = {
    dependencies: { [`@duckdb/node-bindings-${npm.os}-${npm.cpu}`]: dependencies["@duckdb/node-api"] },
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  output([process.execPath, "install", "--silent", "--ignore-scripts", "--os", npm.os, "--cpu", npm.cpu], {
    cwd: folder,
  });
  return join(folder, "node_modules");
}
