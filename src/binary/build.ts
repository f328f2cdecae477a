// Builds dist/mneme (`bun run build:binary`): one executable for Linux x64 that needs no other files. It embeds
// libraries and models; runtime.ts unpacks them at start.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { BunPlugin } from "bun";
import { nativeLibraryPath } from "../adapters/native/library.ts";
import { readableDuration } from "../cli/terminal.ts";
import { type ConsoleSources, consoleSources } from "../console/sources.ts";
import { PDFJS_MODULE, pdfjsWithDecoders } from "../documents/pdf/image-decoders.ts";
import type { Asset } from "./assets.ts";

const ROOT = join(import.meta.dir, "../..");
const OUTPUT = join(ROOT, "dist/mneme");
const PACKED = join(ROOT, "dist/packed");
const MIB = 1024 * 1024;
/**
 * Compression level of zstd. Level 3 compresses libduckdb.so from 70.5 to 22.0 MB, level 9 to 20.0 MB; both unpack
 * equally fast (2026-11-21, 2 cores).
 */
const ZSTD_LEVEL = 9;

const DUCKDB = join(ROOT, "node_modules/@duckdb/node-bindings-linux-x64");
const ONNXRUNTIME = join(ROOT, "node_modules/onnxruntime-node/bin/napi-v6/linux/x64");
const MODELS = join(ROOT, "data/models");
/** Files of a model's folder that are needed at run time. */
const MODEL_FILES = /^(model\.json|model\.onnx|tokenizer\.json|unigram\.bin|reference\.json|early-exit\.json)$/;

async function main(): Promise<number> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    process.stderr.write("mneme: the single binary can only be built on Linux x64.\n");
    return 1;
  }
  const startedAt = performance.now();
  rmSync(PACKED, { recursive: true, force: true });
  mkdirSync(PACKED, { recursive: true });
  const assets: Asset[] = [];
  for (const [path, file] of assetFiles()) {
    process.stdout.write(`packing ${path}\n`);
    assets.push(await pack(path, file));
  }
  process.stdout.write("compiling\n");
  const build = await Bun.build({
    entrypoints: [join(ROOT, "src/binary/entry.ts")],
    // Names are kept because class and function names appear in logs.
    minify: { whitespace: true, syntax: true, identifiers: false },
    // The binary must not read settings from files that happen to be in its working directory.
    compile: { outfile: OUTPUT, autoloadDotenv: false, autoloadBunfig: false },
    define: { "process.env.MNEME_BENCH_COMMIT": JSON.stringify(commit()) },
    plugins: [carryAssets(assets), carryConsole(await consoleSources()), loadLibrariesUnpacked, carryImageDecoders],
    throw: false,
  });
  rmSync(PACKED, { recursive: true, force: true });
  if (!build.success) {
    process.stderr.write(`${build.logs.map(String).join("\n")}\n`);
    return 1;
  }
  const megabytes = Math.round(statSync(OUTPUT).size / MIB);
  process.stdout.write(`${OUTPUT}: ${megabytes} MiB in ${readableDuration(performance.now() - startedAt)}\n`);
  return 0;
}

// The commit for the results of `mneme bench`; an empty text outside of a checkout.
function commit(): string {
  const { success, stdout } = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], {
    cwd: ROOT,
    stderr: "ignore",
  });
  return success ? stdout.toString().trim() : "";
}

// The files to embed, by their target paths below the runtime folder. All libraries go into one folder, because they
// search for each other in their own folder (RUNPATH $ORIGIN).
function assetFiles(): readonly (readonly [path: string, file: string])[] {
  const libraries = [
    join(DUCKDB, "libduckdb.so"),
    join(DUCKDB, "duckdb.node"),
    join(ONNXRUNTIME, "libonnxruntime.so.1"),
    join(ONNXRUNTIME, "onnxruntime_binding.node"),
  ].map((file) => [basename(file), file] as const);
  const folders = readdirSync(MODELS).filter((name) => existsSync(join(MODELS, name, "model.json")));
  const models = folders.flatMap((model) =>
    readdirSync(join(MODELS, model))
      .filter((name) => MODEL_FILES.test(name))
      .map((name) => [`models/${model}/${name}`, join(MODELS, model, name)] as const),
  );
  return [["mneme.node", nativeLibraryPath()], ...libraries, ...models];
}

async function pack(path: string, file: string): Promise<Asset> {
  const bytes = readFileSync(file);
  const packed = join(PACKED, `${path.replaceAll("/", "-")}.zst`);
  writeFileSync(packed, await Bun.zstdCompress(bytes, { level: ZSTD_LEVEL }));
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  return { path, bytes: bytes.byteLength, sha256, packed };
}

// Replaces assets.ts with a module that imports the compressed files.
function carryAssets(assets: readonly Asset[]): BunPlugin {
  const imports = assets.map(
    ({ packed }, at) => `import file${at} from ${JSON.stringify(packed)} with { type: "file" };`,
  );
  const entries = assets.map((asset, at) => `{ ...${JSON.stringify(asset)}, packed: file${at} }`);
  const contents = `${imports.join("\n")}\nexport const ASSETS = [${entries.join(",\n")}];\n`;
  return {
    name: "carry-assets",
    setup: (builder) => {
      builder.onLoad({ filter: /\/src\/binary\/assets\.ts$/ }, () => ({ contents, loader: "js" }));
    },
  };
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

// Replaces the modules with which two npm packages load their native libraries: they look for node_modules and refer to
// the libraries of every platform.
const loadLibrariesUnpacked: BunPlugin = {
  name: "load-libraries-unpacked",
  setup: (builder) => {
    const [runtime, onnxruntimeBinding] = ["runtime.ts", "onnxruntime-binding.ts"].map((name) =>
      JSON.stringify(join(ROOT, "src/binary", name)),
    );
    builder.onLoad({ filter: /\/@duckdb\/node-bindings\/duckdb\.js$/ }, () => ({
      contents: `import { loadUnpacked } from ${runtime};\nmodule.exports = loadUnpacked("duckdb.node");`,
      loader: "js",
    }));
    builder.onLoad({ filter: /\/onnxruntime-node\/dist\/binding\.js$/ }, () => ({
      contents: `export * from ${onnxruntimeBinding};`,
      loader: "js",
    }));
  },
};

// Changes the module of pdf.js as image-decoders.ts does in a checkout.
const carryImageDecoders: BunPlugin = {
  name: "carry-image-decoders",
  setup: (builder) => {
    builder.onLoad({ filter: PDFJS_MODULE }, ({ path }) => ({
      contents: pdfjsWithDecoders(readFileSync(path, "utf8")),
      loader: "js",
    }));
  },
};

process.exit(await main());
