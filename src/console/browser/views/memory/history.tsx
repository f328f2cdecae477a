// The history of a memory as a timeline: its texts, and when relations were added and removed. An earlier text can be
// restored.

import { useMemo } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { HistoryEntry, Memory } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { type Pages, useResource } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { ownKey, rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { FileText, GitMerge, Undo2 } from "../../ui/icons.ts";
import { Ago, Badge, Card } from "../../ui/pieces.tsx";
import { Problem, Skeleton } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { RELATION_TEXTS } from "./relations.tsx";
import { wordChanges } from "./word-changes.ts";

const TEXT_SHOWN = 600;

interface HistoryProps {
  readonly memory: Memory;
  readonly reload: () => void;
}

/** Names of keys by id: all keys of the project if the current key may list them, otherwise only its own. */
function useKeyNames(): ReadonlyMap<string, string> {
  const own = ownKey.value;
  const listed = useResource(
    async (signal) =>
      rights.value?.keys === true ? (await call("listKeys", { query: { limit: 100 }, signal })).data : [],
    [own?.id],
  );
  return new Map([...(own === null ? [] : [own]), ...(listed.value ?? [])].map(({ id, name }) => [id, name]));
}

/** The card with the timeline. */
export function MemoryHistory({ memory, pages, reload }: HistoryProps & { readonly pages: Pages<HistoryEntry> }) {
  const mayWrite = rights.value?.memoriesWrite === true && memory.status !== "processing";
  const names = useKeyNames();
  return (
    <Card title={t("History")}>
      {pages.error !== undefined && <Problem error={pages.error} retry={pages.reload} />}
      {pages.items === undefined && pages.error === undefined && <Skeleton />}
      <ol class="list timeline">
        {pages.items?.map((entry, at) => (
          <li key={keyOf(entry)}>
            {entry.kind === "text" ? (
              <TextEntry
                entry={entry}
                before={pages.items?.slice(at + 1).find(({ kind }) => kind === "text")}
                memory={memory}
                reload={reload}
                mayWrite={mayWrite}
                names={names}
              />
            ) : (
              <>
                <span class="timeline-icon">
                  <GitMerge size={14} aria-hidden="true" />
                </span>
                <p>
                  {entry.action === "set" ? t("Relation set:") : t("Relation removed:")}{" "}
                  <strong>{t(RELATION_TEXTS[entry.relation.type])}</strong>{" "}
                  <a href={to(["memories", entry.relation.memory_id])} class="break">
                    {entry.relation.evidence?.other.text ?? entry.relation.memory_id}
                  </a>
                </p>
                <p class="fine">
                  <Ago time={entry.at} /> · <ActorName by={entry.by} names={names} />
                </p>
              </>
            )}
          </li>
        ))}
      </ol>
      {pages.hasMore && (
        <Button busy={pages.isLoading} run={pages.more}>
          {t("Load more")}
        </Button>
      )}
    </Card>
  );
}

interface TextEntryProps extends HistoryProps {
  readonly entry: Extract<HistoryEntry, { kind: "text" }>;
  /** The version before it; undefined: it is the first, or is not loaded yet. */
  readonly before: HistoryEntry | undefined;
  readonly mayWrite: boolean;
  readonly names: ReadonlyMap<string, string>;
}

function TextEntry({ entry, before, memory, reload, mayWrite, names }: TextEntryProps) {
  const restore = () =>
    confirm({
      title: t("Restore this version?"),
      text: t("It becomes the current text and is processed again. Today's text stays in the history."),
      verb: t("Restore"),
      run: async () => {
        await call("updateMemory", { params: { id: memory.id }, body: { content: entry.content } });
        toast(t("The version was restored."));
        reload();
      },
    });
  return (
    <>
      <span class="timeline-icon">
        <FileText size={14} aria-hidden="true" />
      </span>
      <div class="row">
        <strong>{t("Version {n}", { n: entry.version })}</strong>
        {entry.until === null && <Badge tone="good">{t("current")}</Badge>}
        <span class="fine">
          <Ago time={entry.from} /> · <ActorName by={entry.by} names={names} />
        </span>
        {mayWrite && entry.until !== null && (
          <Button size="small" icon={Undo2} class="restore" run={restore}>
            {t("Restore")}
          </Button>
        )}
      </div>
      <VersionText text={entry.content} before={before?.kind === "text" ? before.content : null} />
    </>
  );
}

/** The text of a version; words that are not in the version before it, and words that it lacks, are marked. */
function VersionText({ text, before }: { readonly text: string; readonly before: string | null }) {
  const pieces = useMemo(() => (before === null ? null : wordChanges(before, text)), [text, before]);
  return (
    <p class="plain-text quote" dir="auto">
      {pieces === null || text.length > TEXT_SHOWN ? (
        <>
          {text.slice(0, TEXT_SHOWN)}
          {text.length > TEXT_SHOWN && "…"}
        </>
      ) : (
        pieces.map(({ kind, text: piece }, at) =>
          kind === "added" ? <ins key={at}>{piece}</ins> : kind === "removed" ? <del key={at}>{piece}</del> : piece,
        )
      )}
    </p>
  );
}

function keyOf(entry: HistoryEntry): string {
  return entry.kind === "text"
    ? `text ${entry.version}`
    : `${entry.at} ${entry.action} ${entry.relation.memory_id} ${entry.relation.type}`;
}

interface ActorNameProps {
  readonly by: HistoryEntry["by"];
  readonly names: ReadonlyMap<string, string>;
}

/** Who made a change. If the name of the key is not known, its id is in the tooltip. */
function ActorName({ by: { kind, id }, names }: ActorNameProps) {
  const name = id === null ? undefined : names.get(id);
  if (kind === "key" && name !== undefined) {
    return (
      <span title={id ?? undefined} dir="auto">
        {t("by the key {name}", { name: `“${name}”` })}
      </span>
    );
  }
  const known: Readonly<Record<string, string>> = {
    key: t("by a key"),
    rule: t("by a rule"),
    model: t("by a model"),
    llm: t("by the language model"),
    system: t("by the server"),
  };
  return <span title={id ?? undefined}>{known[kind] ?? kind}</span>;
}
