// Sends a question, and passes on the pieces of the answer as they arrive.

import { stream } from "../../core/api.ts";
import type { SearchResult } from "../../core/calls.ts";
import type { AnswerTurn } from "./answer.tsx";

interface Asked {
  readonly question: string;
  /** Chat in which question and answer are stored; null: they are not stored. */
  readonly chatId: string | null;
  /** Search mode; empty: the project's default. */
  readonly mode: string;
  readonly userId: string;
  readonly signal: AbortSignal;
}

/** Asks, and calls `edit` with each change of the answer until it is complete. @throws ApiError */
export async function answerTo(asked: Asked, edit: (part: Partial<AnswerTurn>) => void): Promise<void> {
  const { question, chatId, mode, userId, signal } = asked;
  const shared = mode === "" ? {} : { mode };
  const events =
    chatId === null
      ? stream("queryMemories", {
          body: { query: question, stream: true, ...shared, ...(userId !== "" && { userId }) },
          signal,
        })
      : stream("streamMessage", { params: { id: chatId }, body: { message: question, ...shared }, signal });
  let text = "";
  for await (const { name, data } of events) {
    if (name === "text") {
      text += (data as { content: string }).content;
      edit({ text });
    }
    if (name === "sources") edit({ sources: data as readonly SearchResult[] });
    if (name === "usage") {
      const usage = data as { tokens_used: number; answer_state?: AnswerTurn["answerState"] };
      edit({ tokens: usage.tokens_used, answerState: usage.answer_state ?? null });
    }
  }
  edit({ state: "done" });
}
