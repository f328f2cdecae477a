// The view Ask: a list of chats, and the conversation with its sources. Keys that may not use chats ask single
// questions.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Chat } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { usePages, withItem } from "../../core/resource.ts";
import { filterOf, go, to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { MessageSquare, Plus } from "../../ui/icons.ts";
import { Ago } from "../../ui/pieces.tsx";
import { Problem, Skeleton } from "../../ui/states.tsx";
import { Conversation } from "./conversation.tsx";

/** The view Ask. `path` has the id of the open chat, or nothing for a new one. */
export default function Ask({ path }: { readonly path: readonly string[] }) {
  const keepsChats = rights.value?.chatsRead === true && rights.value.chatsWrite;
  return keepsChats ? (
    <WithChats id={path[0] ?? null} />
  ) : (
    <Conversation id={null} onChat={() => undefined} keepsChats={false} />
  );
}

function WithChats({ id }: { readonly id: string | null }) {
  const [isListOpen, setIsListOpen] = useState(false);
  const userId = filterOf("userId");
  const pages = usePages<Chat>(
    (cursor, signal) => call("listChats", { query: { userId, cursor, limit: 50 }, signal }),
    [userId],
  );
  // a chat that begins in the open conversation stays in it, though its id comes into the address
  const [begun, setBegun] = useState<ReadonlyMap<string, string>>(new Map());
  const fresh = `new ${begun.size}`;
  const key = id === null ? fresh : (begun.get(id) ?? id);
  const put = (chat: Chat) => pages.edit((items) => withItem(items, chat));
  return (
    <div class="ask">
      <aside class={`chats ${isListOpen ? "open" : ""}`} aria-label={t("Chats")}>
        <div class="row between">
          <h2>{t("Chats")}</h2>
          <Button size="small" icon={Plus} run={() => go(["ask"])}>
            {t("New chat")}
          </Button>
        </div>
        {pages.error !== undefined && <Problem error={pages.error} retry={pages.reload} />}
        {pages.items === undefined && pages.error === undefined && <Skeleton lines={5} />}
        {pages.items?.length === 0 && <p class="fine">{t("Your chats appear here.")}</p>}
        <ul class="list">
          {pages.items?.map((chat) => (
            <li key={chat.id}>
              <a
                href={to(["ask", chat.id], { userId })}
                aria-current={chat.id === id ? "page" : undefined}
                onClick={() => setIsListOpen(false)}
              >
                <span class="cut" dir="auto">
                  {chat.title ?? t("Untitled chat")}
                </span>
                <span class="fine cut">
                  <Ago time={chat.created_at} />
                  {chat.userId !== null && ` · ${chat.userId}`}
                </span>
              </a>
            </li>
          ))}
        </ul>
        {pages.hasMore && (
          <Button size="small" busy={pages.isLoading} run={pages.more}>
            {t("Load more")}
          </Button>
        )}
      </aside>
      <div class="ask-main">
        <Button
          class="chats-toggle"
          size="small"
          icon={MessageSquare}
          expanded={isListOpen}
          run={() => setIsListOpen(!isListOpen)}
        >
          {t("Chats")}
        </Button>
        <Conversation
          key={key}
          id={id}
          keepsChats
          onChat={(chat) => {
            put(chat);
            if (id === null) setBegun(new Map([...begun, [chat.id, fresh]]));
          }}
          onDeleted={(gone) => pages.edit((items) => items.filter((item) => item.id !== gone))}
        />
      </div>
    </div>
  );
}
