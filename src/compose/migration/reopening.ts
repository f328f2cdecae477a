// Allows changes again of stores that were closed for a move.

import type { Config } from "../../config.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { MovedDatabase } from "../../stores/postgres/keeping/move.ts";
import { accepted } from "../accepted.ts";
import { storeLayout } from "./layout.ts";
import { openSourceDirectory } from "./source-directory.ts";

/** Allows changes of a database again. @throws DatabaseError if it cannot be used */
export async function reopenDatabase(url: string): Promise<void> {
  const database = await MovedDatabase.openSource(url, storeLayout());
  try {
    await database.reopen();
  } finally {
    await database.close();
  }
}

/** Allows changes of a data directory again. @throws UsageError, StoreError or NativeError if it cannot be opened */
export async function reopenDirectory(config: Config, clock: Clock, log: Log): Promise<void> {
  const directory = await openSourceDirectory(config, clock, log);
  try {
    await accepted(directory.control(new Request("http://mneme/reopen", { method: "POST" })));
  } finally {
    await directory.close();
  }
}
