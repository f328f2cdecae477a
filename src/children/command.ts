// How to start this same program as a child process: from a source checkout and from the compiled binary.

import { join } from "node:path";

/** The kinds of children: `lane` runs models, `reader` prepares texts, `document` turns one file into text. */
export const CHILD_KINDS = ["lane", "reader", "document"] as const;
/** One kind of child. */
export type ChildKind = (typeof CHILD_KINDS)[number];

/** Modules inside a compiled binary live under this virtual folder. */
const COMPILED_ROOT = "/$bunfs/";

/** The command line, without the socket path that comes last for a lane and a reader; entry.ts is what it ends up in. */
export function childCommand(kind: ChildKind): readonly string[] {
  const isCompiled = import.meta.dir.startsWith(COMPILED_ROOT);
  const program = isCompiled ? [process.execPath] : [process.execPath, join(import.meta.dir, "..", "main.ts")];
  return [...program, "child", kind];
}
