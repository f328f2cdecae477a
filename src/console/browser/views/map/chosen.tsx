// The memories that the map shows or that are selected on it, as a list with actions on all that are selected.

import type { MapPoint, Memory } from "../../core/calls.ts";
import { countText, timeText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Lasso, X } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { BulkBar } from "../memories/bulk-bar.tsx";
import { nameOf } from "../shared/memory-names.ts";
import type { ReadMemories } from "./read-memories.ts";

interface ListProps {
  readonly read: ReadMemories;
  /** Name of the colour of a memory's point. */
  readonly colourOf: (id: string) => string;
  /** Called with the memory whose row the pointer or the focus is on; null: none. */
  readonly look: (id: string | null) => void;
}

interface ChosenProps extends ListProps {
  readonly count: number;
  readonly clear: () => void;
}

/** The card beside the map with what is selected on it. */
export function Chosen({ count, read, clear, ...list }: ChosenProps) {
  return (
    <Card
      class="on-map chosen"
      title={countText(count, "1 selected", "{n} selected")}
      icon={Lasso}
      actions={<Button size="small" kind="ghost" icon={X} label={t("Clear the selection")} run={clear} />}
    >
      {read.memories.length > 0 && rights.value?.memoriesWrite === true && (
        <BulkBar isInside chosen={read.memories} clear={clear} onChanged={read.put} onRemoved={clear} />
      )}
      <MemoryList read={read} {...list} />
    </Card>
  );
}

/** The memories of the points, each with the colour of its point. */
export function MemoryList({ read: { memories, isReading, hasMore, more }, colourOf, look }: ListProps) {
  return (
    <div class="chosen-list">
      {isReading && memories.length === 0 && <Skeleton lines={4} />}
      <ul class="list rows">
        {memories.map((memory) => (
          <Row key={memory.id} memory={memory} colour={colourOf(memory.id)} look={look} />
        ))}
      </ul>
      {hasMore && (
        <Button size="small" run={more}>
          {t("Load more")}
        </Button>
      )}
    </div>
  );
}

interface RowProps extends Pick<ListProps, "look"> {
  readonly memory: Memory;
  readonly colour: string;
}

function Row({ memory, colour, look }: RowProps) {
  return (
    <li onPointerEnter={() => look(memory.id)} onPointerLeave={() => look(null)}>
      <span class="legend-dot" style={{ background: `var(--${colour})` }} />
      <a
        href={to(["memories", memory.id])}
        class="two-lines"
        dir="auto"
        title={timeText(memory.created_at)}
        onFocus={() => look(memory.id)}
        onBlur={() => look(null)}
      >
        {nameOf(memory)}
      </a>
    </li>
  );
}

/** The ids of points in the order of the map's list: newest first. */
export function idsOf(points: readonly MapPoint[]): readonly string[] {
  return [...points].sort((left, right) => right.created_at.localeCompare(left.created_at)).map((one) => one.memory_id);
}
