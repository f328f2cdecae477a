// src/children/command.ts in the bundles of program.ts, which knows which children have bundles of their own.

import { type ChildKind, programCommand } from "../../src/children/command.ts";

export { CHILD_KINDS, type ChildKind, programCommand } from "../../src/children/command.ts";

/** The kinds of children that have bundles. */
export const BUNDLED_CHILDREN = ["lane", "preparation"] as const satisfies readonly ChildKind[];
/** One of them. */
export type BundledChild = (typeof BUNDLED_CHILDREN)[number];

/** The command line of a child: from the bundles if the child has one, otherwise from the sources. */
export function childCommand(kind: ChildKind): readonly string[] {
  const isBundled = BUNDLED_CHILDREN.some((bundled) => bundled === kind);
  // a test knows the bundles by a variable; a process that was started from them does not have it
  const bundles = process.env.MNEME_TEST_PROGRAM ?? process.argv[1] ?? "";
  return [...(isBundled ? [process.execPath, bundles] : programCommand()), "child", kind];
}
