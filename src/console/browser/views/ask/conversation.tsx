// A conversation: its messages, the question that is being answered, and the field for the next one.

import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Chat, ChatHistory, SearchResult } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf, rename, setFilters } from "../../core/router.ts";
import { PageHead } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Answer, type AnswerTurn } from "./answer.tsx";
import { answerTo } from "./answering.ts";
import { ChatMenu } from "./chat-menu.tsx";
import { Composer } from "./composer.tsx";
import { Examples } from "./examples.tsx";
import { SourcePanel } from "./source-panel.tsx";
import { type Turn, turnsOf } from "./turns.ts";

interface ConversationProps {
  /** Id of the chat; null: a new chat, which the first question creates. */
  readonly id: string | null;
  readonly keepsChats: boolean;
  readonly onChat: (chat: Chat) => void;
  readonly onDeleted?: (id: string) => void;
}

/** A conversation. If it is a stored chat, it is read from the server. */
export function Conversation({ id, keepsChats, onChat, onDeleted }: ConversationProps) {
  const [opened] = useState(id); // a new chat gets its id later, and is read from here on by its answers
  const chat = useResource<ChatHistory | null>(
    async (signal) => (opened === null ? null : await call("getChatHistory", { params: { id: opened }, signal })),
    [opened],
  );
  return (
    <div class="conversation">
      <Loaded from={chat} lines={6}>
        {(value) => <Turns chat={value} keepsChats={keepsChats} onChat={onChat} onDeleted={onDeleted} />}
      </Loaded>
    </div>
  );
}

interface TurnsProps {
  readonly chat: ChatHistory | null;
  readonly keepsChats: boolean;
  readonly onChat: (chat: Chat) => void;
  readonly onDeleted?: ((id: string) => void) | undefined;
}

function Turns({ chat: kept, keepsChats, onChat, onDeleted }: TurnsProps) {
  const [chat, setChat] = useState<Chat | null>(kept);
  const [turns, setTurns] = useState<readonly Turn[]>(() => turnsOf(kept));
  const [source, setSource] = useState<{ result: SearchResult; number: number; query: string } | null>(null);
  const stopping = useRef<AbortController | null>(null);
  const end = useRef<HTMLDivElement>(null);
  const isBusy = turns.at(-1)?.answer.state === "writing";
  const first = filterOf("q");

  const ask = async (question: string) => {
    const mode = filterOf("mode");
    const userId = filterOf("userId");
    const edit = (part: Partial<AnswerTurn>) =>
      setTurns((before) =>
        before.map((turn, at) => (at === before.length - 1 ? { ...turn, answer: { ...turn.answer, ...part } } : turn)),
      );
    const empty: AnswerTurn = { text: "", sources: [], state: "writing", answerState: null, tokens: null, error: null };
    setTurns((before) => [...before, { question, answer: empty }]);
    const controller = new AbortController();
    stopping.current = controller;
    let target = chat;
    try {
      if (keepsChats && target === null) {
        target = await call("createChat", {
          body: { title: question.slice(0, 120), ...(userId !== "" && { userId }) },
        });
        setChat(target);
        onChat(target);
        rename(["ask", target.id], { mode, userId });
      }
      await answerTo({ question, chatId: target?.id ?? null, mode, userId, signal: controller.signal }, edit);
    } catch (error) {
      edit(controller.signal.aborted ? { state: "stopped" } : { state: "failed", error });
    }
  };
  useEffect(() => {
    if (first === "" || turns.length > 0) return;
    setFilters({ q: null });
    void ask(first);
    return () => stopping.current?.abort();
  }, []);
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [turns.length]);

  const retry = () => {
    const last = turns.at(-1);
    if (last === undefined) return;
    setTurns(turns.slice(0, -1));
    void ask(last.question);
  };
  return (
    <>
      <PageHead
        title={chat?.title ?? t("Ask")}
        text={chat === null ? t("Questions are answered from your memories only, with sources.") : undefined}
        actions={
          chat !== null && (
            <ChatMenu
              chat={chat}
              turns={turns}
              onChat={(next) => {
                setChat(next);
                onChat(next);
              }}
              onDeleted={onDeleted}
            />
          )
        }
      />
      {turns.length === 0 && first === "" && <Examples ask={ask} />}
      <ol class="list turns">
        {turns.map((turn, at) => (
          <li key={at} class="turn">
            <p class="question" dir="auto">
              {turn.question}
            </p>
            <Answer
              turn={turn.answer}
              onSource={(result, number) => setSource({ result, number, query: turn.question })}
              retry={at === turns.length - 1 && !isBusy ? retry : undefined}
            />
          </li>
        ))}
      </ol>
      <div ref={end} />
      <Composer isBusy={isBusy} ask={ask} stop={() => stopping.current?.abort()} mayScope={chat === null} />
      {source !== null && <SourcePanel {...source} close={() => setSource(null)} />}
    </>
  );
}
