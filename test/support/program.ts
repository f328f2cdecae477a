// The program that tests start: the sources, or in a run of many files bundles of them with their bytecode. A process
// loads its whole bundle, so the children that each server starts have bundles of their own; those that read files
// start from the sources. Until a server with its children has stored a memory and is killed, it takes 2.2 s of
// processor time from the sources, 1.6 s if only the server is bundled, and 1.2 s from these bundles (2026-12-01, 2
// cores). The tests start more than a thousand servers.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BunPlugin } from "bun";
import type { BundledChild } from "./bundled-commands.ts";
import { ROOT } from "./sources.ts";

/** The command line that starts the program without arguments. */
export const PROGRAM: readonly [command: string, file: string] = [
  process.execPath,
  process.env.MNEME_TEST_PROGRAM ?? join(ROOT, "src/main.ts"),
];

const SOURCE = join(ROOT, "src");
/** Loads the children's modules, of which each kind of child needs one. */
const CHILD_ENTRY = join(SOURCE, "children/entry.ts");
/** Has the command lines of children. */
const COMMANDS = join(SOURCE, "children/command.ts");
/** Takes the place of COMMANDS in a bundle. */
const BUNDLED_COMMANDS = join(import.meta.dir, "bundled-commands.ts");

/** The modules of the children that have bundles. */
const CHILDREN: Readonly<Record<BundledChild, string>> = {
  lane: "adapters/inference/lane.ts",
  preparation: "preparation/preparation-child.ts",
};

/** The bundle of all other processes. */
const MAIN = "main";
/** Loads the bundle of a process. */
const START = `
const [command, kind] = process.argv.slice(2);
const isChild = command === "child" && ${JSON.stringify(Object.keys(CHILDREN))}.includes(kind);
require("./" + (isChild ? kind : "${MAIN}") + "/main.js");
`;

/** A dynamic import. */
interface Import {
  readonly importer: string;
  readonly path: string;
}

/** The modules that load the code of commands and of children. */
const LOADERS: ReadonlySet<string> = new Set([join(SOURCE, "main.ts"), join(SOURCE, "cli/run.ts"), CHILD_ENTRY]);
/** Folder of the readers of files, which run in children. */
const DOCUMENTS = join(SOURCE, "documents/");
/** Modules of the checkout, without those of packages. */
const SOURCES = /^(?!.*\/node_modules\/).*\.ts$/;
/** Packages that load native libraries from their own folders. */
const UNBUNDLED = /^(@duckdb\/node-bindings|onnxruntime-node)$/;

/**
 * Bundles `src/main.ts` into a folder. Returns the path of the program, for `$MNEME_TEST_PROGRAM`.
 * @throws Error if it cannot be bundled
 */
export async function bundleProgram(folder: string): Promise<string> {
  const children = Object.entries(CHILDREN).map(([kind, module]) => {
    const needed = [CHILD_ENTRY, join(SOURCE, module)];
    return bundle(join(folder, kind), ({ importer, path }) => !LOADERS.has(importer) || needed.includes(path));
  });
  const isOfMain = ({ importer, path }: Import) => path !== CHILD_ENTRY && !importer.startsWith(DOCUMENTS);
  await Promise.all([bundle(join(folder, MAIN), isOfMain), ...children]);
  const program = join(folder, "main.js");
  writeFileSync(program, START);
  return program;
}

/**
 * Makes one bundle of the program.
 * @param isNeeded whether it has a module of a dynamic import; if not, that module is loaded from the sources
 */
async function bundle(folder: string, isNeeded: (one: Import) => boolean): Promise<void> {
  await Bun.build({
    entrypoints: [join(SOURCE, "main.ts")],
    outdir: folder,
    target: "bun",
    bytecode: true,
    format: "cjs",
    plugins: [keepPlaces, leaveOut(isNeeded)],
  });
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

/** Leaves packages with native libraries, and modules that are not needed, where they are. */
function leaveOut(isNeeded: (one: Import) => boolean): BunPlugin {
  return {
    name: "leave-out",
    setup: (builder) => {
      builder.onResolve({ filter: /./ }, ({ path: name, importer, kind }) => {
        const isUnbundled = UNBUNDLED.test(name);
        if (!isUnbundled && kind !== "dynamic-import" && !name.endsWith("/command.ts")) return undefined;
        const path = Bun.resolveSync(name, dirname(importer));
        if (path === COMMANDS && importer !== BUNDLED_COMMANDS) return { path: BUNDLED_COMMANDS };
        const isLeftOut = isUnbundled || (kind === "dynamic-import" && !isNeeded({ importer, path }));
        return isLeftOut ? { path, external: true } : undefined;
      });
    },
  };
}
