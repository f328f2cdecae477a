// Runs tasks that may be up to a minute late, such as storing when keys were last used.

import { addon } from "../adapters/native/addon.ts";
import type { NodeTasks } from "../ports/coordination.ts";
import type { DeletionService } from "../services/deletions.ts";
import type { ProjectService } from "../services/projects.ts";
import type { Closers } from "./closers.ts";
import { flushNoted, type Storage } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";

/** Milliseconds between two runs of the tasks. */
const UPKEEP_MS = 60_000;

/** Purges removed projects now, and runs all tasks every minute until `closers` stop it. */
export async function startUpkeep(
  { clock, log }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly tasks: NodeTasks;
    readonly deletions: DeletionService;
    readonly projects: ProjectService;
  },
  closers: Closers,
): Promise<void> {
  const { storage, tasks, deletions, projects } = uses;
  const isMine = async () => tasks.isMine("upkeep");
  if (await isMine()) void projects.purgeRemoved();
  const ofOneNode = [
    () => storage.stores.idempotency.prune(),
    () => deletions.prune(),
    () => storage.stores.activity.prune(),
    () => storage.stores.cases.prune(),
    () => void projects.purgeRemoved(), // a command may have removed a project while the server runs
    ...storage.upkeep,
  ].map((chore) => async () => {
    if (await isMine()) await chore();
  });
  const chores = [() => flushNoted(storage), ...ofOneNode, addon().releaseFreeMemory];
  const stop = new AbortController();
  const loop = async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(UPKEEP_MS, stop.signal);
      if (stop.signal.aborted) return;
      for (const chore of chores) {
        try {
          await chore();
        } catch (err) {
          log.warn({ err }, "a periodic chore failed; it runs again in a minute");
        }
      }
    }
  };
  const ended = loop();
  closers.add(() => {
    stop.abort();
    return ended;
  });
}
