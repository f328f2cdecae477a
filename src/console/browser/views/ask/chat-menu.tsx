// The actions on a chat: rename it, save it as Markdown, delete it.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Chat } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { go } from "../../core/router.ts";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Ellipsis, Pencil, Share2, Trash2 } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { toast } from "../../ui/toast.tsx";
import { save } from "../shared/save.ts";
import { citationsOf } from "./citations.ts";
import type { Turn } from "./turns.ts";

interface ChatMenuProps {
  readonly chat: Chat;
  readonly turns: readonly Turn[];
  readonly onChat: (chat: Chat) => void;
  readonly onDeleted?: ((id: string) => void) | undefined;
}

/** The menu of a chat. */
export function ChatMenu({ chat, turns, onChat, onDeleted }: ChatMenuProps) {
  const [isRenaming, setIsRenaming] = useState(false);
  const name = chat.title ?? t("Untitled chat");
  return (
    <>
      <Menu
        label={t("Chat")}
        icon={Ellipsis}
        kind="plain"
        items={[
          { label: t("Rename"), icon: Pencil, run: () => setIsRenaming(true) },
          {
            label: t("Save as Markdown"),
            icon: Share2,
            run: () => save(`${chat.id}.md`, "text/markdown", markdownOf(name, turns)),
          },
          {
            label: t("Delete"),
            icon: Trash2,
            danger: true,
            run: () =>
              confirm({
                title: t("Delete this chat?"),
                text: t("“{name}” and its messages are deleted for good. The memories stay.", { name }),
                verb: t("Delete"),
                destroys: true,
                run: async () => {
                  await call("deleteChat", { params: { id: chat.id } });
                  onDeleted?.(chat.id);
                  toast(t("The chat was deleted."));
                  go(["ask"]);
                },
              }),
          },
        ]}
      />
      {isRenaming && <RenameDialog chat={chat} onChat={onChat} close={() => setIsRenaming(false)} />}
    </>
  );
}

interface RenameDialogProps {
  readonly chat: Chat;
  readonly onChat: (chat: Chat) => void;
  readonly close: () => void;
}

function RenameDialog({ chat, onChat, close }: RenameDialogProps) {
  const [title, setTitle] = useState(chat.title ?? "");
  return (
    <Dialog title={t("Rename the chat")} close={close}>
      <Form
        label={t("Rename the chat")}
        verb={t("Save")}
        send={async () => {
          onChat(await call("updateChat", { params: { id: chat.id }, body: { title: title.trim() || null } }));
          close();
        }}
      >
        <Field name="title" label={t("Title")} value={title} onValue={setTitle} autofocus />
      </Form>
    </Dialog>
  );
}

/** Writes a chat with its sources as Markdown. */
function markdownOf(name: string, turns: readonly Turn[]): string {
  const parts = turns.map(({ question, answer: { text, sources } }) => {
    const list = [...citationsOf(text, sources)].flatMap(([number, source]) =>
      source === null
        ? []
        : [`${number}. ${source.metadata._memory.title ?? source.memory_id}: ${source.content.replace(/\s+/g, " ")}`],
    );
    return [`## ${question}`, text, ...(list.length > 0 ? [list.join("\n")] : [])].join("\n\n");
  });
  return `# ${name}\n\n${parts.join("\n\n")}\n`;
}
