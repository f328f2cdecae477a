// One memory: its text, relations, history, graph, and JSON.

import { useEffect, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { HistoryEntry, Memory } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { usePages, useResource } from "../../core/resource.ts";
import { filterOf, go, to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { ArrowLeft, FlaskConical, Pencil, RotateCcw, Trash2 } from "../../ui/icons.ts";
import { Card, PageHead, Snippet, Tabs } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { nameOf } from "../shared/memory-names.ts";
import { StatusBadge } from "../shared/status.tsx";
import { ContainerParts } from "./container-parts.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { MemoryEntities } from "./entities.tsx";
import { MemoryFacts } from "./facts.tsx";
import { MemoryHistory } from "./history.tsx";
import { Nearby } from "./nearby.tsx";
import { Relations } from "./relations.tsx";
import { isShort } from "./short-text.ts";
import { MemoryText } from "./text.tsx";

/** Polling interval in milliseconds while the memory is being processed. */
const POLL_MS = 1_500;
/** Number of changes that are read at first, and that "Load more" adds each time. */
const HISTORY_PAGE = 50;

/** The page of a memory. */
export default function MemoryPage({ id }: { readonly id: string }) {
  const memory = useResource(
    (signal) => call("getMemory", { params: { id }, signal }),
    [id],
    ({ status }) => (status === "processing" ? POLL_MS : null),
  );
  const name = memory.value === undefined ? null : nameOf(memory.value);
  useEffect(() => {
    if (name !== null) document.title = `${name} · Mneme`;
  }, [name]);
  return (
    <div class="view">
      {memory.error !== undefined && memory.value === undefined && <PageHead title={t("Memory")} />}
      <Loaded from={memory} lines={8}>
        {(value) => <Shown memory={value} reload={memory.reload} set={memory.set} />}
      </Loaded>
      {memory.error !== undefined && memory.value === undefined && (
        <p>
          <a href="#/memories">{t("All memories")}</a>
        </p>
      )}
    </div>
  );
}

interface ShownProps {
  readonly memory: Memory;
  readonly reload: () => void;
  readonly set: (memory: Memory) => void;
}

function Shown({ memory, reload, set }: ShownProps) {
  const [isEditing, setIsEditing] = useState(false);
  const mayWrite = rights.value?.memoriesWrite === true;
  const tab = filterOf("tab") || "text";
  const relations = memory.relations ?? [];
  const isOverview = tab === "text" && isShort(memory.content);
  const history = usePages<HistoryEntry>(
    (cursor, signal) =>
      call("getMemoryHistory", { params: { id: memory.id }, query: { cursor, limit: HISTORY_PAGE }, signal }),
    [memory.id, memory.updated_at],
  );
  const graph = useResource(
    (signal) => call("getMemoryGraph", { params: { id: memory.id }, query: { limit: 20 }, signal }),
    [memory.id, memory.updated_at, memory.status],
  );
  const versions = history.items === undefined ? undefined : `${history.items.length}${history.hasMore ? "+" : ""}`;
  return (
    <>
      <PageHead
        above={
          <a class="back" href="#/memories">
            <ArrowLeft size={14} aria-hidden="true" /> {t("Memories")}
          </a>
        }
        title={nameOf(memory)}
        isSentence
        text={memory.status !== "completed" && <StatusBadge memory={memory} />}
        actions={
          <>
            {memory.status === "completed" && (
              <Button
                icon={FlaskConical}
                run={() =>
                  go(["playground"], {
                    q: nameOf(memory).replace(/…$/, ""),
                    filters: JSON.stringify({ memory_id: memory.id }),
                  })
                }
              >
                {t("Explain ranking")}
              </Button>
            )}
            {/* busy and not left out while the memory is processed, because it may have the focus */}
            {mayWrite && (
              <Button icon={Pencil} busy={memory.status === "processing"} run={() => setIsEditing(true)}>
                {t("Edit")}
              </Button>
            )}
            {mayWrite && (
              <Button kind="danger" icon={Trash2} run={() => askToDelete(memory)}>
                {t("Delete")}
              </Button>
            )}
          </>
        }
      />
      {memory.error !== undefined && (
        <div class="problem" role="alert">
          <div>
            <p>{memory.error.message}</p>
            <p class="fine">
              <code>{memory.error.code}</code>
            </p>
          </div>
          {mayWrite && (
            <Button
              size="small"
              icon={RotateCcw}
              run={async () => set(await call("retryMemory", { params: { id: memory.id } }))}
            >
              {t("Retry processing")}
            </Button>
          )}
        </div>
      )}
      {memory.superseded_by !== null && (
        <p class="banner wide">
          {t("A newer memory supersedes this one.")} <a href={to(["memories", memory.superseded_by])}>{t("Open it")}</a>
        </p>
      )}
      <Tabs
        label={t("Parts of the memory")}
        current={tab}
        tabs={[
          ["text", t("Text")],
          ["relations", t("Relations"), relations.length],
          ["history", t("History"), versions ?? null],
          ["graph", t("Graph"), graph.value?.entities.length ?? null],
          ["json", "JSON"],
        ]}
      />
      <div class="memory">
        <div class="stack">
          {tab === "text" && <MemoryText memory={memory} />}
          {tab === "text" && memory.parts !== undefined && memory.parts.total > 0 && <ContainerParts memory={memory} />}
          {isOverview && (history.items?.length ?? 0) > 1 && (
            <MemoryHistory memory={memory} pages={history} reload={reload} />
          )}
          {isOverview && (graph.value?.entities.length ?? 0) > 0 && (
            <MemoryEntities memory={memory} graph={graph} isBrief />
          )}
          {(tab === "relations" || (isOverview && relations.length > 0)) && (
            <Relations memory={memory} reload={reload} />
          )}
          {tab === "history" && <MemoryHistory memory={memory} pages={history} reload={reload} />}
          {tab === "graph" && <MemoryEntities memory={memory} graph={graph} />}
          {(tab === "text" || (tab === "graph" && graph.value?.entities.length === 0)) && <Nearby memory={memory} />}
          {tab === "json" && <Snippet label="JSON" code={JSON.stringify(memory, null, 2)} wraps />}
        </div>
        <Card title={t("Details")}>
          <MemoryFacts memory={memory} />
        </Card>
      </div>
      {isEditing && (
        <EditDialog
          memory={memory}
          close={() => setIsEditing(false)}
          onSaved={(next) => {
            set(next);
            if (next.status === "processing") reload();
          }}
        />
      )}
    </>
  );
}

function askToDelete(memory: Memory): void {
  confirm({
    title: countText(1, "Delete 1 memory?", "Delete {n} memories?"),
    text: t("“{name}” disappears from all lists and answers at once.", { name: nameOf(memory) }),
    option: t("Delete for good now, without the retention period"),
    verb: t("Delete"),
    destroys: true,
    run: async (isPurge) => {
      await call("deleteMemory", { params: { id: memory.id }, query: { purge: isPurge || null } });
      toast(t("The memory was deleted."));
      go(["memories"]);
    },
  });
}
