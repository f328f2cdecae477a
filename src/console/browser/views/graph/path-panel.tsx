// The path between two entities, with the passages that connect them.

import { useEffect } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Entity } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { to as addressOf, setFilters } from "../../core/router.ts";
import { Button } from "../../ui/button.tsx";
import { X } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";

interface PathPanelProps {
  readonly from: string;
  readonly to: string;
  readonly userId: string;
  readonly onPath: (entities: readonly Entity[]) => void;
}

/** A card with the path. */
export function PathPanel({ from, to, userId, onPath }: PathPanelProps) {
  const found = useResource((signal) => call("findPath", { query: { from, to, userId }, signal }), [from, to, userId]);
  useEffect(() => onPath(found.value?.entities ?? []), [found.value]);
  return (
    <Card
      title={t("Path")}
      actions={<Button kind="ghost" size="small" icon={X} label={t("Close")} run={() => setFilters({ to: null })} />}
    >
      <Loaded from={found} lines={3}>
        {({ entities, links }) =>
          entities.length === 0 ? (
            <p>{t("There is no path of at most four steps.")}</p>
          ) : (
            <ol class="list way">
              {entities.map((entity, at) => {
                const link = links[at];
                return (
                  <li key={entity.id}>
                    <strong dir="auto">{entity.name}</strong>
                    {link !== undefined && (
                      <a class="fine" href={addressOf(["memories", link.memory_id])}>
                        {t("joined by a passage")}
                      </a>
                    )}
                  </li>
                );
              })}
            </ol>
          )
        }
      </Loaded>
    </Card>
  );
}
