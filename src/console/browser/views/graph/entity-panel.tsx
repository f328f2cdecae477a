// The selected entity: its neighbours, the passages that mention it, and actions: rename, merge, find a path.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Entity } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { setFilters, to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Ellipsis, GitMerge, Pencil, Share2, Undo2, X } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Badge, Card, Meter } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { ChooseDialog, RenameDialog } from "./entity-dialogs.tsx";
import { explore, forgetEntity } from "./known.ts";

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
                { label: t("Merge into another one"), icon: GitMerge, run: () => setDoing("merge") },
                {
                  label: t("Take back the name"),
                  icon: Undo2,
                  run: async () => {
                    await change({ name: null });
                    toast(t("It has the name of the memories again."));
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
              <Badge tone="accent">{t(value.kind)}</Badge>
              <span class="fine">{countText(value.memories, "1 memory", "{n} memories")}</span>
            </p>
            <div class="row">
              <Button size="small" icon={Share2} run={() => setDoing("path")}>
                {t("Path to another entity")}
              </Button>
            </div>
            {value.neighbours.length > 0 && (
              <div class="stack tight">
                <h3>{t("Neighbours")}</h3>
                <ul class="list near-list">
                  {value.neighbours.slice(0, 14).map((near) => (
                    <li key={near.id}>
                      <button type="button" class="link cut" dir="auto" onClick={() => open(near.id)}>
                        {near.name}
                      </button>
                      <Meter label={t("Strength of the connection")} share={near.weight} />
                    </li>
                  ))}
                </ul>
              </div>
            )}
            <div class="stack tight">
              <h3>{t("Passages")}</h3>
              <ul class="list stack tight">
                {value.passages.map(({ chunk_id: chunk, memory_id: memory, content }) => (
                  <li key={chunk}>
                    <a class="quiet-link clamp" dir="auto" href={to(["memories", memory])}>
                      {content.replace(/^#+\s+/, "")}
                    </a>
                  </li>
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
          title={doing === "merge" ? t("Merge into another one") : t("Path to another entity")}
          text={doing === "merge" ? t("Both are one entity from then on, under the name of the other one.") : null}
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
