// The memories that are selected on the map: their names, and actions on all of them.

import { useEffect, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Lasso, X } from "../../ui/icons.ts";
import { Ago, Badge, Card } from "../../ui/pieces.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { BulkBar } from "../memories/bulk-bar.tsx";
import { nameOf } from "../shared/memory-names.ts";

/** Number of memories that are shown at first, and that "Load more" adds each time. */
const PAGE = 25;

interface ChosenProps {
  readonly ids: readonly string[];
  readonly clear: () => void;
}

/** A card below the map with the selected memories. */
export function Chosen({ ids, clear }: ChosenProps) {
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
  const shown = wanted.map((id) => memories.get(id)).filter((memory): memory is Memory => memory != null);
  return (
    <>
      <Card
        title={countText(ids.length, "1 selected", "{n} selected")}
        icon={Lasso}
        actions={<Button size="small" kind="ghost" icon={X} label={t("Clear the selection")} run={clear} />}
      >
        {missing.length > 0 && shown.length === 0 && <Skeleton lines={4} />}
        <ul class="list rows">
          {shown.map((memory) => (
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
        {ids.length > limit && (
          <Button size="small" run={() => setLimit(limit + PAGE)}>
            {t("Load more")}
          </Button>
        )}
      </Card>
      {shown.length > 0 && rights.value?.memoriesWrite === true && (
        <BulkBar
          chosen={shown}
          clear={clear}
          onChanged={(memory) => setMemories((before) => new Map([...before, [memory.id, memory]]))}
          onRemoved={() => clear()}
        />
      )}
    </>
  );
}
