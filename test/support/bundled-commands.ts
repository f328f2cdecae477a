// src/children/command.ts in the bundles of program.ts, which knows which children have bundles of their own.

import { type ChildKind, programCommand } from "../../src/children/command.ts";

export { CHILD_KINDS, type ChildKind, programCommand } from "../../src/children/command.ts";

/** The kinds of children that have bundles. */
export type BundledChild = Extract<ChildKind, "lane" | "preparation">;

/** The command line of a child: from the file that this process was started with, if the child has a bundle. */
export function childCommand(kind: ChildKind): readonly string[] {
  const isBundled = kind === "lane" || kind === "preparation";
  const program = isBundled ? [process.execPath, process.argv[1] ?? ""] : programCommand();
  return [...program, "child", kind];
}
