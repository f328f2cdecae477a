// Allows changes again of stores that were closed for a move.

import type { Config } from "../../config.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { reopenDatabase } from "../../stores/postgres/copies/closing.ts";
import { openSource } from "../../stores/postgres/copies/move.ts";
import { openSourceDirectory } from "./source-directory.ts";

/** Allows changes of a database again. @throws DatabaseError if it cannot be used */
export async function reopenSource(url: string): Promise<void> {
  const { client } = await openSource(url);
  try {
    await reopenDatabase(client);
  } finally {
    await client.close();
  }
}

/** Allows changes of a data directory again. @throws UsageError, StoreError or NativeError if it cannot be opened */
export async function reopenDirectory(config: Config, clock: Clock, log: Log): Promise<void> {
  await using directory = await openSourceDirectory(config, clock, log);
  await directory.ask("POST", "/reopen");
}
