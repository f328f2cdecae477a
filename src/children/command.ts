// The command line that starts this program, also as a child process, from a source checkout or the compiled binary.

import { join } from "node:path";

/**
 * Kinds of child process: `lane` runs models, `preparation` prepares texts, `document` converts one file to text, `ocr`
 * recognises the text in pictures of such a file.
 */
export const CHILD_KINDS = ["lane", "preparation", "document", "ocr"] as const;
/** One kind of child. */
export type ChildKind = (typeof CHILD_KINDS)[number];

/** Virtual folder of the modules inside a compiled binary. */
const COMPILED_ROOT = "/$bunfs/";

/**
 * The command line of a child. For a lane and a preparation process, the caller appends the socket path. entry.ts
 * parses it.
 */
export function childCommand(kind: ChildKind): readonly string[] {
  return [...programCommand(), "child", kind];
}

/** The command line that starts this program without arguments. */
export function programCommand(): readonly [command: string, ...args: string[]] {
  const isCompiled = import.meta.dir.startsWith(COMPILED_ROOT);
  return isCompiled ? [process.execPath] : [process.execPath, join(import.meta.dir, "..", "main.ts")];
}
