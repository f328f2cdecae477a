// Actions on the selected memories.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Button } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Field, Form, listOf } from "../../ui/form.tsx";
import { Download, RotateCcw, Tag, Trash2, X } from "../../ui/icons.ts";
import { toast, toastError } from "../../ui/toast.tsx";
import { save } from "../shared/save.ts";

interface BulkBarProps {
  readonly chosen: readonly Memory[];
  /** Whether it belongs to a card that shows the number and the button to clear the selection where there is room. */
  readonly isInside?: boolean;
  readonly clear: () => void;
  readonly onChanged: (memory: Memory) => void;
  readonly onRemoved: (ids: ReadonlySet<string>) => void;
}

/** A bar at the lower edge of the page, shown while memories are selected. */
export function BulkBar({ chosen, isInside = false, clear, onChanged, onRemoved }: BulkBarProps) {
  const [isTagging, setIsTagging] = useState(false);
  const failed = chosen.filter(({ status }) => status === "failed");
  const remove = () =>
    confirm({
      title: countText(chosen.length, "Delete 1 memory?", "Delete {n} memories?"),
      text: t("They disappear from all lists and answers at once."),
      option: t("Delete for good now, without the retention period"),
      verb: t("Delete"),
      destroys: true,
      run: async (isPurge) => {
        const done = await each(chosen, ({ id }) =>
          call("deleteMemory", { params: { id }, query: { purge: isPurge || null } }),
        );
        onRemoved(new Set(done.map(({ memory }) => memory.id)));
        clear();
        toast(countText(done.length, "1 memory was deleted.", "{n} memories were deleted."));
      },
    });
  const retry = async () => {
    const done = await each(failed, ({ id }) => call("retryMemory", { params: { id } }));
    for (const { answer } of done) onChanged(answer);
    toast(countText(done.length, "1 memory is processed again.", "{n} memories are processed again."));
  };
  return (
    <div class={isInside ? "bulk inside" : "bulk"} role="toolbar" aria-label={t("Selected memories")}>
      <strong class="bulk-own">{countText(chosen.length, "1 selected", "{n} selected")}</strong>
      <Button size="small" icon={Tag} run={() => setIsTagging(true)}>
        {t("Tag")}
      </Button>
      {failed.length > 0 && (
        <Button size="small" icon={RotateCcw} run={retry}>
          {t("Retry")}
        </Button>
      )}
      <Button
        size="small"
        icon={Download}
        run={() => save("memories.json", "application/json", JSON.stringify(chosen, null, 2))}
      >
        {t("Export")}
      </Button>
      <Button size="small" kind="danger" icon={Trash2} run={remove}>
        {t("Delete")}
      </Button>
      <Button size="small" kind="ghost" class="bulk-own" icon={X} label={t("Clear the selection")} run={clear} />
      {isTagging && <TagDialog chosen={chosen} onChanged={onChanged} close={() => setIsTagging(false)} />}
    </div>
  );
}

interface TagDialogProps {
  readonly chosen: readonly Memory[];
  readonly onChanged: (memory: Memory) => void;
  readonly close: () => void;
}

function TagDialog({ chosen, onChanged, close }: TagDialogProps) {
  const [tags, setTags] = useState("");
  return (
    <Dialog title={countText(chosen.length, "Tag 1 memory", "Tag {n} memories")} close={close}>
      <Form
        label={t("Tags")}
        verb={t("Add the tags")}
        icon={Tag}
        disabled={listOf(tags).length === 0}
        send={async () => {
          const done = await each(chosen, ({ id, tags: own }) => {
            const next = [...new Set([...(own ?? []), ...listOf(tags)])];
            return call("updateMemory", { params: { id }, body: { tags: next } });
          });
          for (const { answer } of done) onChanged(answer);
          toast(countText(done.length, "1 memory was tagged.", "{n} memories were tagged."));
          close();
        }}
      >
        <Field name="tags" label={t("Tags")} hint={t("Separated by commas")} value={tags} onValue={setTags} autofocus />
      </Form>
    </Dialog>
  );
}

/** Runs an action for each memory, one after another. Stops at the first error and shows it. */
async function each<T>(
  memories: readonly Memory[],
  work: (memory: Memory) => Promise<T>,
): Promise<{ memory: Memory; answer: T }[]> {
  const done: { memory: Memory; answer: T }[] = [];
  for (const memory of memories) {
    try {
      done.push({ memory, answer: await work(memory) });
    } catch (error) {
      toastError(error);
      break;
    }
  }
  return done;
}
