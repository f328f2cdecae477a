// The page of a user: their profile, memories, chats and events, and deleting the user with all of these.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Chat, Memory, Profile, User, UserEvent } from "../../core/calls.ts";
import { countText, dayText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { usePages, useResource } from "../../core/resource.ts";
import { filterOf, to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { ArrowLeft, Brain, Clock, MessageSquare, Pencil, Trash2 } from "../../ui/icons.ts";
import { Ago, Card, CopyButton, PageHead, Tabs } from "../../ui/pieces.tsx";
import { Empty, Loaded, Problem } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { nameOf } from "../shared/memory-names.ts";
import { StatusBadge } from "../shared/status.tsx";
import { DeleteUser } from "./delete-user.tsx";
import { UserDialog } from "./user-dialog.tsx";

/** The page of a user. */
export function UserPage({ id }: { readonly id: string }) {
  const [isEditing, setIsEditing] = useState(false);
  const [isDeleting, setIsDeleting] = useState(false);
  const known = rights.value;
  const user = useResource((signal) => call("getUser", { params: { userId: id }, signal }), [id]);
  const tab = filterOf("tab") || (known?.memoriesRead ? "profile" : "events");
  return (
    <div class="view">
      <PageHead
        above={
          <a class="back" href="#/users">
            <ArrowLeft size={14} aria-hidden="true" /> {t("Users")}
          </a>
        }
        title={user.value?.name ?? id}
        text={user.value && <About user={user.value} />}
        actions={
          known?.usersWrite &&
          user.value !== undefined && (
            <>
              <Button icon={Pencil} run={() => setIsEditing(true)}>
                {t("Edit")}
              </Button>
              <Button kind="danger" icon={Trash2} run={() => setIsDeleting(true)}>
                {t("Delete")}
              </Button>
            </>
          )
        }
      />
      <Loaded from={user}>
        {(value) => (
          <>
            <Tabs
              label={t("Parts of the user")}
              current={tab}
              tabs={[
                known?.memoriesRead === true && ["profile", t("Profile")],
                known?.memoriesRead === true && ["memories", t("Memories")],
                known?.chatsRead === true && ["chats", t("Chats")],
                ["events", t("Logged events")],
              ]}
            />
            {tab === "profile" && <ProfileView id={id} />}
            {tab === "memories" && <Memories id={id} />}
            {tab === "chats" && <Chats id={id} />}
            {tab === "events" && <Events id={id} />}
            {isEditing && <UserDialog user={value} close={() => setIsEditing(false)} onSaved={user.set} />}
          </>
        )}
      </Loaded>
      {isDeleting && <DeleteUser id={id} name={user.value?.name ?? id} close={() => setIsDeleting(false)} />}
    </div>
  );
}

/** What is stored about the user apart from memories, in one line. */
function About({ user: { id, name, email, time_zone: zone, created_at: at, metadata } }: { readonly user: User }) {
  const facts: readonly (readonly [string, string | null])[] = [
    [t("Id"), name === null ? null : id],
    [t("Email"), email],
    [t("Time zone"), zone],
    [t("Created"), dayText(at)],
    ...Object.entries(metadata).map(
      ([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)] as const,
    ),
  ];
  return (
    <dl class="about">
      {facts
        .filter(([, value]) => value !== null)
        .map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

function ProfileView({ id }: { readonly id: string }) {
  const profile = useResource((signal) => call("getProfile", { params: { userId: id }, signal }), [id]);
  return <Loaded from={profile}>{(value) => <Known profile={value} />}</Loaded>;
}

function Known({ profile }: { readonly profile: Profile }) {
  const lists = [
    [t("Facts"), profile.facts],
    [t("Preferences"), profile.preferences],
    [t("People"), profile.people],
    [t("Events"), profile.events],
  ] as const;
  if (lists.every(([, entries]) => entries.length === 0)) {
    return (
      <Card>
        <Empty icon={Brain} title={t("Nothing is known yet")}>
          {t("Facts, preferences, people and events are read from the memories of the user.")}
        </Empty>
      </Card>
    );
  }
  return (
    <div class="stack">
      <div class="row between">
        <p class="fine">
          {t("{n} tokens as prompt text", { n: profile.tokens })}
          {profile.omitted > 0 && ` · ${countText(profile.omitted, "1 more entry", "{n} more entries")}`}
        </p>
        <CopyButton text={profile.text} label={t("Copy for a prompt")} />
      </div>
      <div class="stack">
        {lists
          .filter(([, entries]) => entries.length > 0)
          .map(([title, entries]) => (
            <Card key={title} title={title}>
              <ul class="list known-list">
                {entries.map((entry) => (
                  <li key={`${entry.memory_id} ${entry.start}`}>
                    <a
                      class="quiet-link"
                      dir="auto"
                      href={to(["memories", entry.memory_id], { passage: `${entry.start}-${entry.end}` })}
                    >
                      {"name" in entry && <strong>{String(entry.name)}: </strong>}
                      {entry.text}
                    </a>
                    <span class="fine">{entry.occurred_at !== null && dayText(entry.occurred_at)}</span>
                  </li>
                ))}
              </ul>
            </Card>
          ))}
      </div>
    </div>
  );
}

function Memories({ id }: { readonly id: string }) {
  const pages = usePages<Memory>(
    (cursor, signal) => call("listMemories", { query: { userId: id, cursor, limit: 20 }, signal }),
    [id],
  );
  return (
    <div class="stack">
      <Table
        caption={t("Memories, newest first")}
        pages={pages}
        keyOf={(memory) => memory.id}
        empty={<Empty icon={Brain} title={t("No memories yet")} />}
        columns={[
          {
            head: t("Memory"),
            class: "main-cell",
            cell: (memory) => (
              <a href={to(["memories", memory.id])} dir="auto">
                {nameOf(memory)}
              </a>
            ),
          },
          { head: t("Status"), cell: (memory) => <StatusBadge memory={memory} /> },
          { head: t("Stored"), cell: (memory) => <Ago time={memory.created_at} /> },
        ]}
      />
      <div class="row">
        <LinkButton href={to(["memories"], { userId: id })}>{t("Open in Memories")}</LinkButton>
      </div>
    </div>
  );
}

function Chats({ id }: { readonly id: string }) {
  const pages = usePages<Chat>((cursor, signal) => call("listChats", { query: { userId: id, cursor }, signal }), [id]);
  return (
    <Table
      caption={t("Chats, newest first")}
      pages={pages}
      keyOf={(chat) => chat.id}
      empty={<Empty icon={MessageSquare} title={t("No chats yet")} />}
      columns={[
        {
          head: t("Chat"),
          class: "main-cell",
          cell: (chat) =>
            rights.value?.chatsWrite === true ? (
              <a href={to(["ask", chat.id])} dir="auto">
                {chat.title ?? t("Untitled chat")}
              </a>
            ) : (
              (chat.title ?? t("Untitled chat"))
            ),
        },
        { head: t("Started"), cell: (chat) => <Ago time={chat.created_at} /> },
      ]}
    />
  );
}

function Events({ id }: { readonly id: string }) {
  const pages = usePages<UserEvent>(
    (cursor, signal) => call("listEvents", { params: { userId: id }, query: { cursor }, signal }),
    [id],
  );
  if (pages.error !== undefined) return <Problem error={pages.error} retry={pages.reload} />;
  return (
    <Table
      caption={t("Events, newest first")}
      pages={pages}
      keyOf={(event) => event.id}
      empty={
        <Empty icon={Clock} title={t("No events yet")}>
          {t("Your application can log what a user did.")}
        </Empty>
      }
      columns={[
        { head: t("Event"), class: "main-cell", cell: ({ type }) => type },
        { head: t("Data"), cell: ({ data }) => <code class="break">{JSON.stringify(data)}</code> },
        { head: t("When"), cell: ({ created_at: at }) => <Ago time={at} /> },
      ]}
    />
  );
}
