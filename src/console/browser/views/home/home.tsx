// The view Home: first steps, use of the plan's quotas, activity, the newest memories, and the latest chats.

import { call } from "../../core/api.ts";
import type { Usage } from "../../core/calls.ts";
import { bytesText, dayText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { go, to } from "../../core/router.ts";
import { mayAdd, mayAsk, project, rights } from "../../core/session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Brain, FlaskConical, MessageSquare, Plus } from "../../ui/icons.ts";
import { Ago, Badge, Card, Meter, PageHead } from "../../ui/pieces.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { nameOf } from "../shared/memory-names.ts";
import { StatusBadge } from "../shared/status.tsx";
import { Activity } from "./activity.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Ingestion } from "./ingestion.tsx";
import { MapCard } from "./map-card.tsx";

/** Share of a quota above which its bar has a warning colour. */
const WARNING_SHARE = 0.8;
const NEWEST_SHOWN = 8;
/** Polling interval in milliseconds for the newest memories. */
const POLL_MS = 20_000;

/** The view Home. */
export default function Home() {
  const known = rights.value;
  return (
    <div class="view home">
      <PageHead
        title={project.value?.name ?? t("Home")}
        actions={
          <>
            {known?.memoriesRead && (
              <LinkButton icon={FlaskConical} href="#/playground">
                {t("Playground")}
              </LinkButton>
            )}
            {known !== null && mayAdd(known) && (
              <LinkButton kind="primary" icon={Plus} href={to(["memories"], { add: "text" })}>
                {t("Add a memory")}
              </LinkButton>
            )}
          </>
        }
      />
      {known !== null && mayAsk(known) && <AskBox />}
      <FirstSteps />
      {known?.memoriesRead && (
        <div class="home-top">
          <MapCard />
          <Ingestion />
        </div>
      )}
      {known?.usage && !known.isConfined && <Activity />}
      {known?.usage && !known.isConfined && <Plan />}
      <div class="columns">
        {known?.memoriesRead && <Newest />}
        {known?.chatsRead && known.chatsWrite && <Chats />}
      </div>
    </div>
  );
}

function AskBox() {
  return (
    <form
      class="ask-box"
      aria-label={t("Ask")}
      onSubmit={(event) => {
        event.preventDefault();
        const question = new FormData(event.currentTarget).get("question");
        if (typeof question === "string" && question.trim() !== "") go(["ask"], { q: question.trim() });
      }}
    >
      <MessageSquare size={18} aria-hidden="true" />
      <input
        name="question"
        dir="auto"
        aria-label={t("Question")}
        placeholder={t("Ask your memories a question")}
        autocomplete="off"
      />
      <button type="submit" class="button primary small">
        {t("Ask")}
      </button>
    </form>
  );
}

function Plan() {
  const usage = useResource((signal) => call("getUsage", { signal }), []);
  return (
    <Loaded from={usage} lines={5}>
      {(value) => (
        <section class="stack tight" aria-label={t("Plan")}>
          <h2 class="section-title">{t("Plan {name}", { name: value.plan })}</h2>
          <div class="tiles">
            <Tile label={t("Memories")} quota={value.documents} text={numberText} />
            <Tile label={t("Storage")} quota={value.storage_bytes} text={bytesText} />
            <Tile
              label={t("Questions this month")}
              quota={value.queries}
              text={numberText}
              note={t("new count on {day}", { day: dayText(value.period.end) })}
            />
            <div class="tile">
              <p class="tile-label">{t("Language model tokens")}</p>
              <p class="tile-value number">{numberText(value.tokens.prompt + value.tokens.completion)}</p>
              <p class="fine">{t("prompts and answers")}</p>
            </div>
          </div>
        </section>
      )}
    </Loaded>
  );
}

interface TileProps {
  readonly label: string;
  readonly quota: Usage["queries"];
  readonly text: (value: number) => string;
  readonly note?: string;
}

function Tile({ label, quota: { used, limit }, text, note }: TileProps) {
  const share = limit === null || limit === 0 ? 0 : used / limit;
  return (
    <div class="tile">
      <p class="tile-label">{label}</p>
      <p class="tile-value number">{text(used)}</p>
      {limit !== null && <Meter label={label} share={share} tone={share > WARNING_SHARE ? "warn" : ""} />}
      <p class="fine">
        {limit === null ? t("unlimited") : t("of {limit}", { limit: text(limit) })}
        {note !== undefined && ` · ${note}`}
      </p>
    </div>
  );
}

function Newest() {
  const list = useResource(
    (signal) => call("listMemories", { query: { limit: NEWEST_SHOWN }, signal }),
    [],
    () => POLL_MS,
  );
  return (
    <Card title={t("Newest memories")} icon={Brain} actions={<a href="#/memories">{t("All")}</a>}>
      <Loaded from={list} lines={NEWEST_SHOWN}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={Brain} title={t("No memories yet")}>
              {t("A memory is a text, a file or a page. Store one, then ask about it in the playground.")}
            </Empty>
          ) : (
            <ul class="list rows">
              {data.map((memory) => (
                <li key={memory.id}>
                  <a href={to(["memories", memory.id])} class="two-lines" dir="auto">
                    {nameOf(memory)}
                  </a>
                  {memory.status !== "completed" && <StatusBadge memory={memory} />}
                  <span class="fine">
                    <Ago time={memory.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Chats() {
  const list = useResource((signal) => call("listChats", { query: { limit: NEWEST_SHOWN }, signal }), []);
  return (
    <Card title={t("Latest chats")} icon={MessageSquare} actions={<a href="#/ask">{t("New chat")}</a>}>
      <Loaded from={list} lines={NEWEST_SHOWN}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={MessageSquare} title={t("No chats yet")}>
              {t("Ask a question: its answer quotes what is stored, and names its sources.")}
            </Empty>
          ) : (
            <ul class="list rows">
              {data.map((chat) => (
                <li key={chat.id}>
                  <a href={to(["ask", chat.id])} class="two-lines" dir="auto">
                    {chat.title ?? t("Untitled chat")}
                  </a>
                  {chat.userId !== null && <Badge>{chat.userId}</Badge>}
                  <span class="fine">
                    <Ago time={chat.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}
