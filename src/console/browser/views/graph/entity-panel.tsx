// The selected entity: its neighbours, the passages that mention it, and actions: rename, merge, find a path.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Entity, EntitySurroundings } from "../../core/calls.ts";
import { countText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { setFilters, to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { tokenOfKind } from "../../ui/graph-data.ts";
import { Ellipsis, GitMerge, Pencil, Share2, Undo2, X } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { useIsNarrow } from "../../ui/narrow.ts";
import { Badge, Card, Meter } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { ChooseDialog, RenameDialog } from "./entity-dialogs.tsx";
import { explore, forgetEntity } from "./known.ts";

/** A passage: its heading, or else its first sentence, is a link to its memory. */
function Passage({ memoryId, content }: { readonly memoryId: string; readonly content: string }) {
  const whole = content.trim().replace(/^#+\s+/, "");
  const [heading = whole] = /^.+?(?=\n|(?<=[.!?。！？])\s|$)/u.exec(whole) ?? [];
  const text = whole.slice(heading.length);
  return (
    <li>
      <a href={to(["memories", memoryId])} class="cut" dir="auto">
        {heading}
      </a>
      {text.trim() !== "" && (
        <p class="fine clamp" dir="auto">
          {text.trim()}
        </p>
      )}
    </li>
  );
}

/** Number of neighbours that are shown at first, and on a phone, where passages would be far below them. */
const NEIGHBOURS = 14;
const NEIGHBOURS_NARROW = 4;

/** The neighbours with the strength of the connection: the strongest ones, or all. */
function Neighbours({
  all,
  open,
}: {
  readonly all: EntitySurroundings["neighbours"];
  readonly open: (id: string) => void;
}) {
  const [isWhole, setIsWhole] = useState(false);
  const isNarrow = useIsNarrow();
  const shown = isWhole ? all : all.slice(0, isNarrow ? NEIGHBOURS_NARROW : NEIGHBOURS);
  return (
    <div class="stack tight">
      <div class="row between">
        <h3>{t("Neighbours")}</h3>
        <span class="fine">{t("Strength")}</span>
      </div>
      <ul class="list near-list">
        {shown.map((near) => (
          <li key={near.id}>
            <button type="button" class="link cut" dir="auto" onClick={() => open(near.id)}>
              {near.name}
            </button>
            <Meter label={t("Strength of the connection")} share={near.weight} />
            <span class="fine number">{Math.round(near.weight * 100)} %</span>
          </li>
        ))}
      </ul>
      {shown.length < all.length && (
        <div class="row">
          <Button size="small" run={() => setIsWhole(true)}>
            {t("All {n}", { n: numberText(all.length) })}
          </Button>
        </div>
      )}
    </div>
  );
}

interface EntityPanelProps {
  readonly id: string;
  readonly userId: string;
  readonly open: (id: string) => void;
  readonly close: () => void;
}

/** The card of the selected entity. */
export function EntityPanel({ id, userId, open, close }: EntityPanelProps) {
  const [doing, setDoing] = useState<"rename" | "merge" | "path" | null>(null);
  const entity = useResource(() => explore(id, userId), [id, userId]);
  const mayChange = rights.value?.memoriesWrite === true && !rights.value.isConfined;
  const change = async (body: { name?: string | null; merged_into?: string | null }) => {
    const changed = await call("updateEntity", { params: { id }, body });
    forgetEntity(id, changed.id);
    if (changed.id !== id) open(changed.id);
    else entity.reload();
  };
  const name = entity.value?.name ?? "";
  return (
    <Card
      class="chosen-entity"
      title={name}
      actions={
        <>
          {mayChange && (
            <Menu
              label={t("More")}
              icon={Ellipsis}
              size="small"
              items={[
                { label: t("Rename"), icon: Pencil, run: () => setDoing("rename") },
                { label: t("Merge into another entity"), icon: GitMerge, run: () => setDoing("merge") },
                {
                  label: t("Restore the original name"),
                  icon: Undo2,
                  run: async () => {
                    await change({ name: null });
                    toast(t("The original name was restored."));
                  },
                },
              ]}
            />
          )}
          <Button kind="ghost" size="small" icon={X} label={t("Close")} run={close} />
        </>
      }
    >
      <Loaded from={entity} lines={6}>
        {(value) => (
          <div class="stack">
            <p class="row">
              <Badge>
                <span class="legend-dot" style={{ background: `var(--${tokenOfKind(value.kind)})` }} /> {t(value.kind)}
              </Badge>
              <span class="fine">{countText(value.memories, "1 memory", "{n} memories")}</span>
            </p>
            <div class="row">
              <Button size="small" icon={Share2} run={() => setDoing("path")}>
                {t("Path to another entity")}
              </Button>
            </div>
            {value.neighbours.length > 0 && <Neighbours key={id} all={value.neighbours} open={open} />}
            <div class="stack tight">
              <h3>{t("Passages")}</h3>
              <ul class="list passage-list">
                {value.passages.map(({ chunk_id: chunk, memory_id: memory, content }) => (
                  <Passage key={chunk} memoryId={memory} content={content} />
                ))}
              </ul>
            </div>
          </div>
        )}
      </Loaded>
      {doing === "rename" && (
        <RenameDialog name={name} close={() => setDoing(null)} rename={(next) => change({ name: next })} />
      )}
      {(doing === "merge" || doing === "path") && (
        <ChooseDialog
          title={doing === "merge" ? t("Merge into another entity") : t("Path to another entity")}
          text={doing === "merge" ? t("They become one entity with the other one's name.") : null}
          userId={userId}
          except={id}
          close={() => setDoing(null)}
          choose={async (other: Entity) => {
            if (doing === "path") setFilters({ to: other.id }, true);
            else {
              await change({ merged_into: other.id });
              toast(t("{name} is merged.", { name }), {
                label: t("Undo"),
                run: async () => {
                  await call("updateEntity", { params: { id }, body: { merged_into: null } });
                  forgetEntity(id, other.id);
                  open(id);
                },
              });
            }
          }}
        />
      )}
    </Card>
  );
}
