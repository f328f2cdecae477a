// Who asks in tests of services: a caller whose key stays valid, and a queue in which nobody waits.

import type { Asker } from "../../src/services/search.ts";
import type { SearchQueue } from "../../src/services/search-queue.ts";

/** A caller whose key stays valid. */
export function askerOf(signal: AbortSignal = new AbortController().signal): Asker {
  return { signal, confirm: async () => undefined };
}

/** A queue that lets everything begin at once. */
export const NO_QUEUE: SearchQueue = {
  run: (_work, begin) => begin(0),
  load: () => ({ inProgress: 0, waiting: 0 }),
  close: () => undefined,
};
