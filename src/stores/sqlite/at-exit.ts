// Closes databases if the process ends without doing so: by `process.exit`, or after an uncaught error. Otherwise the
// runtime would close the connections in any order, SQLite would merge its log without renewing the page sums, and the
// next start would take the merged pages for damaged ones.

const openDatabases = new Set<() => void>();

/** Calls `close` if the process ends before `forget` is called with the same function. */
export function closeAtExit(close: () => void): void {
  if (openDatabases.size === 0) process.on("exit", closeAll);
  openDatabases.add(close);
}

/** Takes back `closeAtExit`. */
export function forget(close: () => void): void {
  openDatabases.delete(close);
  if (openDatabases.size === 0) process.off("exit", closeAll);
}

function closeAll(): void {
  for (const close of openDatabases) {
    try {
      close();
    } catch {
      // the process ends, and nobody can act on this: the next start reads the log, or says what is wrong
    }
  }
}
