// The console's files as texts. Runs as a macro, while this program is being loaded or compiled: the single binary has the
// texts in it, and no file beside it. How they become the page stands in ../console.ts.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The page without its style and script, and those two. */
export interface ConsoleTexts {
  readonly frame: string;
  readonly style: string;
  /** One script without its comments: the modules in an order in which each stands before those that import it. */
  readonly script: string;
}

/** Reads them. */
export function consoleTexts(): ConsoleTexts {
  const script = new Bun.Transpiler({ loader: "js", minifyWhitespace: true }).transformSync(
    modulesFrom("main.js").join("\n"),
  );
  return { frame: read("frame.html"), style: read("style.css"), script };
}

function read(name: string): string {
  return readFileSync(join(import.meta.dir, "browser", name), "utf8");
}

// Each module once, after those it imports, in a scope of its own; what it exports keeps its name for all that follow.
function modulesFrom(name: string, done: Set<string> = new Set()): readonly string[] {
  if (done.has(name)) return [];
  done.add(name);
  const text = read(name);
  const imported = [...text.matchAll(/^import [^;]* from "\.\/([\w-]+\.js)";$/gm)].map((match) => match[1] ?? "");
  const exported = [...text.matchAll(/^export (?:const|class|(?:async )?function\*?) (\w+)/gm)].map(
    (match) => match[1],
  );
  const own = text.replace(/^import [^;]*;\n/gm, "").replace(/^export /gm, "");
  const names = exported.join(", ");
  const scoped =
    exported.length === 0 ? `{\n${own}}` : `const { ${names} } = (() => {\n${own}return { ${names} };\n})();`;
  return [...imported.flatMap((path) => modulesFrom(path, done)), scoped];
}
