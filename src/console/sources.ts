// Bundles the console's browser code into the files that the page loads. `bun run build:binary` runs this once and
// replaces this module by the result, because a compiled program cannot bundle. page.ts serves the files.

import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { invariant } from "../domain/fault.ts";

/** One file that the page loads. */
export interface ConsoleFile {
  /** Name with a hash of the content, such as `main-1a2b3c4d.js`. */
  readonly name: string;
  /** The content, compressed with gzip, as base64: the form in which the binary carries it. */
  readonly packed: string;
}

/** The page and the files that it loads. */
export interface ConsoleSources {
  /** HTML that refers to the files by relative addresses, so that it works below any path. */
  readonly html: string;
  readonly files: readonly ConsoleFile[];
}

const BROWSER = join(import.meta.dir, "browser");
/** Folder of the files in addresses, below the address of the page. */
const FOLDER = "console";

/**
 * Bundles the browser code; takes less than a second.
 * @throws Error or AggregateError when a file is missing or cannot be parsed.
 */
export async function consoleSources(): Promise<ConsoleSources> {
  const { outputs } = await Bun.build({
    entrypoints: [join(BROWSER, "main.tsx")],
    target: "browser",
    splitting: true,
    minify: true,
    external: ["*.woff2"], // the bundler would inline fonts into the style; withFonts makes them files
    define: { "process.env.NODE_ENV": '"production"' },
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]", asset: "[name]-[hash].[ext]" },
  });
  const contents = new Map<string, Uint8Array>();
  for (const output of outputs) contents.set(basename(output.path), new Uint8Array(await output.arrayBuffer()));
  const names = [...contents.keys()];
  const script = outputs.find(({ kind, path }) => kind === "entry-point" && path.endsWith(".js"))?.path;
  const style = names.find((name) => name.endsWith(".css"));
  invariant(script !== undefined && style !== undefined, "bundling the console gives a script and a style");
  const styleWithFonts = await withFonts(contents, style);
  const frame = await Bun.file(join(BROWSER, "frame.html")).text();
  return {
    html: frame.replace("style.css", `${FOLDER}/${styleWithFonts}`).replace("main.js", `${FOLDER}/${basename(script)}`),
    files: [...contents].map(([name, bytes]) => ({
      name,
      packed: gzipSync(bytes, { level: 9 }).toString("base64"),
    })),
  };
}

/**
 * Adds the fonts that a style imports from packages as files of their own. Returns the style's new name, because its
 * content has changed.
 */
async function withFonts(contents: Map<string, Uint8Array>, style: string): Promise<string> {
  let text = new TextDecoder().decode(contents.get(style));
  for (const [address = "", specifier = ""] of [...text.matchAll(/url\(["']?(@[^"')]+\.woff2)["']?\)/g)]) {
    const bytes = await Bun.file(Bun.resolveSync(specifier, BROWSER)).bytes();
    const name = hashedName(basename(specifier), bytes);
    contents.set(name, bytes);
    text = text.replace(address, `url("${name}")`);
  }
  const bytes = new TextEncoder().encode(text);
  const name = hashedName("style.css", bytes);
  contents.delete(style);
  contents.set(name, bytes);
  return name;
}

function hashedName(name: string, bytes: Uint8Array): string {
  const at = name.lastIndexOf(".");
  return `${name.slice(0, at)}-${Bun.hash(bytes).toString(36)}${name.slice(at)}`;
}
