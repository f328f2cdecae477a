// The program that tests start: the sources, or in a run of many files a bundle of them with its bytecode. A server
// takes 0.57 s of processor time to start from the sources and 0.36 s from the bundle, a command takes 0.1 s less
// (2026-11-28, 2 cores), and the tests start more than a thousand of them. Child processes start from the sources.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BunPlugin } from "bun";
import { ROOT } from "./sources.ts";

/** The command line that starts the program without arguments. */
export const PROGRAM: readonly [command: string, file: string] = [
  process.execPath,
  process.env.MNEME_TEST_PROGRAM ?? join(ROOT, "src/main.ts"),
];

/** Modules of the checkout, without those of packages. */
const SOURCES = /^(?!.*\/node_modules\/).*\.ts$/;
/** Packages that load native libraries from their own folders. */
const UNBUNDLED = /^(@duckdb\/node-bindings|onnxruntime-node)$/;

/**
 * Bundles `src/main.ts` into a folder. Returns the path of the bundle, for `$MNEME_TEST_PROGRAM`.
 * @throws Error if it cannot be bundled
 */
export async function bundleProgram(folder: string): Promise<string> {
  await Bun.build({
    entrypoints: [join(ROOT, "src/main.ts")],
    outdir: folder,
    target: "bun",
    bytecode: true,
    format: "cjs",
    plugins: [keepPlaces, leaveOut],
  });
  return join(folder, "main.js");
}

/** Lets modules find files of the checkout by their own places. */
const keepPlaces: BunPlugin = {
  name: "keep-places",
  setup: (builder) => {
    builder.onLoad({ filter: SOURCES }, ({ path }) => ({
      contents: readFileSync(path, "utf8")
        .replaceAll("import.meta.dir", JSON.stringify(dirname(path)))
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href)),
      loader: "ts",
    }));
  },
};

const leaveOut: BunPlugin = {
  name: "leave-out",
  setup: (builder) => {
    builder.onResolve({ filter: UNBUNDLED }, ({ path, importer }) => ({
      path: Bun.resolveSync(path, dirname(importer)),
      external: true,
    }));
  },
};
