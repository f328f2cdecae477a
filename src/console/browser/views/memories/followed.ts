// Polls memories that are being processed until they are completed or failed.

import { useEffect, useRef } from "preact/hooks";
import { call, pause } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";

/** Polling interval in milliseconds. */
const POLL_MS = 2_000;
/** Maximum number of memories that are polled. Each costs one request per interval. */
const FOLLOWED_MAX = 4;

/** Polls the first memories in status `processing`, and calls `onState` with each change. */
export function useFollowed(items: readonly Memory[] | undefined, onState: (memory: Memory) => void): void {
  const ids = (items ?? []).filter(({ status }) => status === "processing").map(({ id }) => id);
  const followed = ids.slice(0, FOLLOWED_MAX).join(" ");
  const latest = useRef(onState);
  latest.current = onState;
  useEffect(() => {
    if (followed === "") return;
    const stopping = new AbortController();
    const follow = async () => {
      for (let ms = POLL_MS; ; ms = Math.min(ms * 1.5, 15_000)) {
        await pause(ms, stopping.signal);
        if (document.hidden) continue;
        for (const id of followed.split(" ")) {
          const memory = await call("getMemory", { params: { id }, signal: stopping.signal });
          if (!stopping.signal.aborted) latest.current(memory);
        }
      }
    };
    follow().catch(() => stopping.abort()); // deleted meanwhile, or the server is away: the next list shows it
    return () => stopping.abort();
  }, [followed]);
}
