// The memories that are selected on the map: their names, and actions on all of them.

import { useEffect, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import { Lasso, X } from "../../ui/icons.ts";
import { Ago, Badge, Card } from "../../ui/pieces.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { nameOf } from "../shared/memory-names.ts";

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

interface ChosenProps {
  readonly count: number;
  readonly selection: ReadMemories;
  readonly clear: () => void;
}

/** The card below the map. */
export function Chosen({ count, selection: { memories, isReading, hasMore, more }, clear }: ChosenProps) {
  return (
    <Card
      title={countText(count, "1 selected", "{n} selected")}
      icon={Lasso}
      actions={<Button size="small" kind="ghost" icon={X} label={t("Clear the selection")} run={clear} />}
    >
      {isReading && memories.length === 0 && <Skeleton lines={4} />}
      <ul class="list rows">
        {memories.map((memory) => (
          <li key={memory.id}>
            <a href={to(["memories", memory.id])} class="cut" dir="auto">
              {nameOf(memory)}
            </a>
            {memory.type !== null && <Badge>{memory.type}</Badge>}
            {memory.userId !== null && <Badge>{memory.userId}</Badge>}
            <span class="fine">
              <Ago time={memory.created_at} />
            </span>
          </li>
        ))}
      </ul>
      {hasMore && (
        <Button size="small" run={more}>
          {t("Load more")}
        </Button>
      )}
    </Card>
  );
}
