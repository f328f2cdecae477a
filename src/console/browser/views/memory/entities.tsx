// The entities of a memory, the facts that a language model found in it, and memories with the same entities.

import type { Memory, MemoryGraph } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import type { Resource } from "../../core/resource.ts";
import { go, to } from "../../core/router.ts";
import { LinkButton } from "../../ui/button.tsx";
import type { Graph } from "../../ui/graph-data.ts";
import { Network } from "../../ui/icons.ts";
import { lazily } from "../../ui/lazy.tsx";
import { Badge, Card, Meter } from "../../ui/pieces.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { nameOf } from "../shared/memory-names.ts";

const GraphPicture = lazily(() => import("../../ui/graph.tsx"));

/** Cards with entities, facts, and the graph around a memory. */
export function MemoryEntities({ memory, graph, isBrief = false }: EntitiesProps) {
  return (
    <Loaded from={graph}>
      {(value) => (isBrief ? <Named graph={value} /> : <Shown memory={memory} graph={value} />)}
    </Loaded>
  );
}

interface EntitiesProps {
  readonly memory: Memory;
  readonly graph: Resource<MemoryGraph>;
  /** Whether only the entities are listed. */
  readonly isBrief?: boolean;
}

/** The card with the names of the entities; nothing if there are none. */
function Named({ graph: { entities } }: { readonly graph: MemoryGraph }) {
  return (
    <Card title={countText(entities.length, "1 entity", "{n} entities")}>
      <ul class="list entity-list">
        {entities.map(({ name, kind, mentions, memories }) => (
          <li key={`${kind} ${name}`}>
            <span dir="auto" class="break">
              {name}
            </span>
            <Badge>{t(kind)}</Badge>
            <span class="fine">
              {countText(mentions, "1 mention", "{n} mentions")} · {countText(memories, "1 memory", "{n} memories")}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Shown({ memory, graph }: { readonly memory: Memory; readonly graph: MemoryGraph }) {
  const { entities, relations, neighbours } = graph;
  if (entities.length === 0) {
    return (
      <Card>
        <Empty
          isBrief
          icon={Network}
          title={t("No entities in this memory")}
          action={<LinkButton href={to(["graph"])}>{t("Open the project's graph")}</LinkButton>}
        >
          {t("Names, titles, quotes, identifiers and dates in a text become entities that connect memories.")}
        </Empty>
      </Card>
    );
  }
  return (
    <div class="stack">
      <Card label={t("Picture")}>
        <GraphPicture
          label={t("Entities of this memory and memories that share them")}
          graph={pictureOf(memory, graph)}
          onNode={(id) => id.startsWith("mem_") && id !== memory.id && go(["memories", id], { tab: "graph" })}
        />
      </Card>
      <Named graph={graph} />
      {relations.length > 0 && (
        <Card title={t("Facts")}>
          <ul class="list stack tight">
            {relations.map(({ subject, predicate, object }) => (
              <li key={`${subject} ${predicate} ${object}`} dir="auto">
                {subject} <strong>{predicate}</strong> {object}
              </li>
            ))}
          </ul>
        </Card>
      )}
      {neighbours.length > 0 && (
        <Card title={t("Memories with the same entities")}>
          <ul class="list stack">
            {neighbours.map(({ memory_id: id, title, score, entities: shared }) => (
              <li key={id} class="neighbour">
                <a href={to(["memories", id], { tab: "graph" })} dir="auto" class="break">
                  {title ?? id}
                </a>
                <Meter label={t("Similarity")} share={score} />
                <span class="fine" dir="auto">
                  {shared.join(", ")}
                </span>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  );
}

/** A picture of the memory, its entities, and other memories that share them. */
function pictureOf(memory: Memory, { entities, neighbours }: MemoryGraph): Graph {
  const shown = entities.slice(0, 24);
  const names = new Set(shown.map(({ name }) => name));
  return {
    nodes: [
      { id: memory.id, label: nameOf(memory), kind: "memory", weight: 6 },
      ...shown.map(({ name, kind, memories }) => ({
        id: `entity ${name}`,
        label: name,
        kind,
        weight: Math.min(memories, 6),
      })),
      ...neighbours.map(({ memory_id: id, title }) => ({ id, label: title ?? id, kind: "memory", weight: 3 })),
    ],
    links: [
      ...shown.map(({ name }) => ({ from: memory.id, to: `entity ${name}` })),
      ...neighbours.flatMap(({ memory_id: id, entities: shared }) =>
        shared.filter((name) => names.has(name)).map((name) => ({ from: id, to: `entity ${name}` })),
      ),
    ],
  };
}
