// Reads memories by their ids, a page at a time.

import { useEffect, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";

/** Number of memories that are shown at first, and that "Load more" adds each time. */
const PAGE = 25;

/** Memories that were read by their ids. */
export interface ReadMemories {
  readonly memories: readonly Memory[];
  readonly isReading: boolean;
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly put: (memory: Memory) => void;
}

/** Reads the first of these memories; those that cannot be read are left out. */
export function useMemories(ids: readonly string[]): ReadMemories {
  const [limit, setLimit] = useState(PAGE);
  const [memories, setMemories] = useState<ReadonlyMap<string, Memory | null>>(new Map());
  const wanted = ids.slice(0, limit);
  const missing = wanted.filter((id) => !memories.has(id));
  useEffect(() => {
    const stop = new AbortController();
    const read = async (id: string) => {
      try {
        return [id, await call("getMemory", { params: { id }, signal: stop.signal })] as const;
      } catch {
        // probably deleted since the map was drawn; after any other error it is left out, too
        return [id, null] as const;
      }
    };
    void Promise.all(missing.map(read)).then((found) => {
      if (!stop.signal.aborted) setMemories((before) => new Map([...before, ...found]));
    });
    return () => stop.abort();
  }, [missing.join(" ")]);
  return {
    memories: wanted.map((id) => memories.get(id)).filter((memory): memory is Memory => memory != null),
    isReading: missing.length > 0,
    hasMore: ids.length > limit,
    more: () => setLimit(limit + PAGE),
    put: (memory) => setMemories((before) => new Map([...before, [memory.id, memory]])),
  };
}
