// Reads the console's files and bundles its browser modules into one script. `bun run build:binary` runs this once and
// replaces this module by the result, because a compiled program cannot bundle. page.ts builds the page from the parts.

import { join } from "node:path";
import { invariant } from "../domain/fault.ts";

/** The three parts of the console's page: frame, style and script. */
export interface ConsoleSources {
  /** HTML with an empty `<style>` and an empty `<script type="module">`. */
  readonly frame: string;
  readonly style: string;
  /** One script without comments and imports. */
  readonly script: string;
}

const BROWSER = join(import.meta.dir, "browser");

/**
 * Reads and bundles the files; takes about 10 ms.
 * @throws Error or AggregateError when a file is missing or cannot be parsed.
 */
export async function consoleSources(): Promise<ConsoleSources> {
  const [frame, style, script] = await Promise.all([read("frame.html"), read("style.css"), bundle("main.js")]);
  return { frame, style, script };
}

function read(name: string): Promise<string> {
  return Bun.file(join(BROWSER, name)).text();
}

async function bundle(entry: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(BROWSER, entry)],
    target: "browser",
    // Names are not shortened, because people look at this script in their browser's developer tools.
    minify: { whitespace: true, syntax: false, identifiers: false },
  });
  const [script] = outputs;
  invariant(script, "bundling the console gives one script");
  return script.text();
}
