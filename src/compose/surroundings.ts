// What every part of a server needs: settings, log and clock.

import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";

/** Settings, log and clock of a server. */
export interface Surroundings {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
}
