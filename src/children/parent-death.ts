// Makes the kernel kill a child when its server dies. A closing socket ends an idle child, but a parser in an endless
// loop would never notice it.

import { dlopen } from "bun:ffi";

/** Values of PR_SET_PDEATHSIG and SIGKILL, from prctl(2) and signal(7). */
const SET_PARENT_DEATH_SIGNAL = 1;
const KILL = 9n;

/**
 * Asks the kernel to kill this process when its parent dies. Linux only; on other systems, only the closing socket ends
 * the child.
 */
export function dieWithParent(): void {
  if (process.platform !== "linux") return;
  const libc = dlopen("libc.so.6", { prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" } });
  libc.symbols.prctl(SET_PARENT_DEATH_SIGNAL, KILL, 0n, 0n, 0n);
}
