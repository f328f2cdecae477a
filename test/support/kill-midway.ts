// Runs a fixture and kills it while it works.

/**
 * Starts the program at the path `fixture` with `path` as its argument. Kills it with SIGKILL `moreMs` milliseconds
 * after it has printed `lines` lines. Returns all complete lines that it printed.
 * @throws Error if it ends before that
 */
export async function killMidway(fixture: string, path: string, lines: number, moreMs: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, fixture, path], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const decoder = new TextDecoder();
  let printed = "";
  let isKillPlanned = false;
  for await (const bytes of child.stdout) {
    printed += decoder.decode(bytes, { stream: true });
    if (isKillPlanned || printed.split("\n").length <= lines) continue;
    isKillPlanned = true;
    setTimeout(() => child.kill("SIGKILL"), moreMs);
  }
  await child.exited;
  if (!isKillPlanned)
    throw new Error(`${fixture} ended by itself (exit ${child.exitCode}) after: ${printed.slice(-200)}`);
  return printed.split("\n").slice(0, -1);
}
