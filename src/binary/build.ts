// Builds the folder of the program (`bun run build:binary` makes dist/mneme): the executable `mneme`, the libraries and
// the models that it needs, and the licences of all parts. It needs nothing else.

import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { BunPlugin } from "bun";
import { OPTIONAL_MODELS } from "../adapters/downloads/optional-models.ts";
import { nativeLibraryPath } from "../adapters/native/library.ts";
import { readableDuration } from "../cli/terminal.ts";
import { type ConsoleSources, consoleSources } from "../console/sources.ts";
import { PDFJS_MODULE, pdfjsWithDecoders } from "../documents/pdf/image-decoders.ts";
import { type GuideFile, packedGuide } from "../guide/files.ts";
import { LIBRARIES_FOLDER, LICENCES_FILE, MODELS_FOLDER, NATIVE_CORE } from "./installed.ts";
import { licencesText } from "./licences.ts";
import { partsOfProgram } from "./parts.ts";

const ROOT = join(import.meta.dir, "../..");
const OUTPUT = join(ROOT, "dist/mneme");
const MIB = 1024 * 1024;
/** Permissions of the files: a program or a library, and all others. */
const [EXECUTABLE, READABLE] = [0o755, 0o644];

const MODULES = join(ROOT, "node_modules");
const MODELS = join(ROOT, "data/models");
/** Files of a model's folder that are needed at run time. */
const MODEL_FILES = /^(model\.json|model\.onnx|tokenizer\.json|unigram\.bin|reference\.json|early-exit\.json)$/;

/** A Linux for which the program is built. */
export interface ProgramTarget {
  /** Processor as Node names it. */
  readonly arch: string;
  /** Path of the native core. */
  readonly nativeCore: string;
  /** Folder of packages in which DuckDB's library for this processor is. */
  readonly modules: string;
}

/**
 * Builds the folder of the program.
 * @param target default: this machine
 * @throws Error if this is not Linux x64, or if the guide or the program cannot be built
 */
export async function buildProgram(folder: string, target: Partial<ProgramTarget> = {}): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error("the program can only be built on Linux x64");
  }
  const { arch = process.arch, nativeCore = nativeLibraryPath(), modules = MODULES } = target;
  const isForeign = arch !== process.arch;
  const guide = Bun.spawnSync([process.execPath, "run", "--silent", "docs"], { cwd: ROOT, stdout: "ignore" });
  if (!guide.success) throw new Error(`the guide cannot be built: ${guide.stderr.toString().trim()}`);
  const fresh = `${folder}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  const build = await Bun.build({
    entrypoints: [join(ROOT, "src/binary/entry.ts")],
    // A command then reads only the modules that it uses: 0.02 s of processor time instead of 0.2 s (2026-11-30), also
    // in the server's children. Bytecode would save as much time, but adds 28 MB (10 MB to the download).
    splitting: true,
    format: "esm",
    // Names are kept because class and function names appear in logs.
    minify: { whitespace: true, syntax: true, identifiers: false },
    // The program must not read settings from files that happen to be in its working directory.
    compile: {
      outfile: join(fresh, "mneme"),
      autoloadDotenv: false,
      autoloadBunfig: false,
      ...(isForeign && { target: bunTarget(arch) }),
    },
    define: { "process.env.MNEME_BENCH_COMMIT": JSON.stringify(commit()) },
    plugins: [
      carryConsole(await consoleSources()),
      carryGuide(packedGuide()),
      loadInstalledLibraries,
      carryImageDecoders,
      forgetFolders,
    ],
    throw: false,
  });
  if (!build.success) throw new Error(build.logs.map(String).join("\n"));
  for (const [path, file] of filesBeside({ arch, nativeCore, modules })) {
    const target = join(fresh, path);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(file, target);
    chmodSync(target, path.startsWith(`${LIBRARIES_FOLDER}/`) ? EXECUTABLE : READABLE);
  }
  // strip knows the libraries of this processor only
  if (!isForeign) stripLibraries(join(fresh, LIBRARIES_FOLDER));
  writeFileSync(join(fresh, LICENCES_FILE), licencesText(await partsOfProgram()));
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
}

// Name of Bun's runtime for another processor. Bun fetches it from npm, in its own version.
function bunTarget(arch: string): Bun.Build.CompileTarget {
  if (arch !== "arm64") throw new Error(`Bun has no runtime for Linux on ${arch}`);
  return "bun-linux-arm64";
}

// Removes the symbols that only debuggers read: 11 MB of DuckDB. `strip` comes with every compiler on Linux.
function stripLibraries(folder: string): void {
  const libraries = readdirSync(folder).map((name) => join(folder, name));
  const { success, stderr } = Bun.spawnSync(["strip", "--strip-unneeded", ...libraries], { stdout: "ignore" });
  if (!success) throw new Error(`the libraries cannot be stripped: ${stderr.toString().trim()}`);
}

/** Bytes of all files in a folder. */
export function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

// The commit that the results of `mneme bench` name; an empty text outside of a checkout.
function commit(): string {
  const { success, stdout } = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], {
    cwd: ROOT,
    stderr: "ignore",
  });
  return success ? stdout.toString().trim() : "";
}

// The files beside the executable, by their paths in its folder. All libraries go into one folder, because they search
// for each other in their own folder (RUNPATH $ORIGIN).
function filesBeside({ arch, nativeCore, modules }: ProgramTarget): readonly (readonly [path: string, file: string])[] {
  const duckdb = join(modules, `@duckdb/node-bindings-linux-${arch}`);
  // the package has the libraries of all platforms
  const onnxruntime = join(MODULES, `onnxruntime-node/bin/napi-v6/linux/${arch}`);
  const libraries = [
    join(duckdb, "libduckdb.so"),
    join(duckdb, "duckdb.node"),
    join(onnxruntime, "libonnxruntime.so.1"),
    join(onnxruntime, "onnxruntime_binding.node"),
  ].map((file) => [`${LIBRARIES_FOLDER}/${basename(file)}`, file] as const);
  const optional = new Set(OPTIONAL_MODELS.map(({ folder }) => folder));
  const folders = readdirSync(MODELS).filter((name) => existsSync(join(MODELS, name, "model.json")));
  const models = folders.flatMap((model) =>
    readdirSync(join(MODELS, model))
      // An optional model is left out but for its small files: with them, projects that use it can still be opened.
      .filter((name) => MODEL_FILES.test(name) && !(optional.has(model) && name.endsWith(".onnx")))
      .map((name) => [`${MODELS_FOLDER}/${model}/${name}`, join(MODELS, model, name)] as const),
  );
  return [
    [`${LIBRARIES_FOLDER}/${NATIVE_CORE}`, nativeCore],
    ["LICENSE", join(ROOT, "LICENSE")],
    ...libraries,
    ...models,
  ];
}

// Replaces the module that bundles the console by the bundled files, because a compiled program has neither the source
// files nor a bundler.
function carryConsole(sources: ConsoleSources): BunPlugin {
  const contents = `const sources = ${JSON.stringify(sources)};\nexport const consoleSources = async () => sources;\n`;
  return {
    name: "carry-console",
    setup: (builder) => {
      builder.onLoad({ filter: /\/src\/console\/sources\.ts$/ }, () => ({ contents, loader: "js" }));
    },
  };
}

// Replaces the module that reads the guide's folder by the files themselves (0.7 MB as base64).
function carryGuide(files: readonly GuideFile[]): BunPlugin {
  const byAddress = files.map(({ address, packed }) => [address, packed]);
  const contents = [
    `const files = new Map(${JSON.stringify(byAddress)});`,
    'const file = (address) => files.has(address) ? Uint8Array.from(Buffer.from(files.get(address), "base64")) : null;',
    "export const guideSource = () => ({ isBuilt: () => files.size > 0, file });",
  ].join("\n");
  return {
    name: "carry-guide",
    setup: (builder) => {
      builder.onLoad({ filter: /\/src\/guide\/files\.ts$/ }, () => ({ contents, loader: "js" }));
    },
  };
}

// Replaces the modules with which two npm packages load their native libraries: they look for node_modules and refer to
// the libraries of every platform.
const loadInstalledLibraries: BunPlugin = {
  name: "load-installed-libraries",
  setup: (builder) => {
    const [runtime, onnxruntimeBinding] = ["installed.ts", "onnxruntime-binding.ts"].map((name) =>
      JSON.stringify(join(ROOT, "src/binary", name)),
    );
    builder.onLoad({ filter: /\/@duckdb\/node-bindings\/duckdb\.js$/ }, () => ({
      contents: `import { loadInstalled } from ${runtime};\nmodule.exports = loadInstalled("duckdb.node");`,
      loader: "js",
    }));
    builder.onLoad({ filter: /\/onnxruntime-node\/dist\/binding\.js$/ }, () => ({
      contents: `export * from ${onnxruntimeBinding};`,
      loader: "js",
    }));
  },
};

// Gives pdf.js its image decoders, as documents/pdf/image-decoders.ts does in a checkout.
const carryImageDecoders: BunPlugin = {
  name: "carry-image-decoders",
  setup: (builder) => {
    builder.onLoad({ filter: PDFJS_MODULE }, ({ path }) => ({
      contents: pdfjsWithDecoders(readFileSync(path, "utf8")),
      loader: "js",
    }));
  },
};

// A module of pino and one of thread-stream, which pino uses, start threads from files beside them. The program has no
// such files and never starts them, but would contain the path of this checkout, and so differ from a build elsewhere.
const forgetFolders: BunPlugin = {
  name: "forget-folders",
  setup: (builder) => {
    builder.onLoad({ filter: /\/node_modules\/(thread-stream\/index|pino\/lib\/transport)\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll("__dirname", '""'),
      loader: "js",
    }));
  },
};

if (import.meta.main) {
  const startedAt = performance.now();
  await buildProgram(OUTPUT);
  const megabytes = Math.round(folderBytes(OUTPUT) / MIB);
  process.stdout.write(`${OUTPUT}/mneme: ${megabytes} MiB in ${readableDuration(performance.now() - startedAt)}\n`);
}
