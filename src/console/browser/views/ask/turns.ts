// Turns the messages of a chat into pairs of question and answer.

import type { ChatHistory } from "../../core/calls.ts";
import type { AnswerTurn } from "./answer.tsx";

/** A question with its answer. */
export interface Turn {
  readonly question: string;
  readonly answer: AnswerTurn;
}

/** The questions of a kept chat, each with its answer. */
export function turnsOf(chat: ChatHistory | null): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of chat?.messages ?? []) {
    const empty: AnswerTurn = { text: "", sources: [], state: "stopped", answerState: null, tokens: null, error: null };
    if (message.role === "user") turns.push({ question: message.content, answer: { ...empty, ...failureOf(message) } });
    else {
      const question = turns.pop()?.question ?? "";
      const answer: AnswerTurn = {
        ...empty,
        text: message.content,
        sources: message.sources,
        state: message.interrupted === true ? "stopped" : "done",
        answerState: message.answer_state ?? null,
      };
      turns.push({ question, answer });
    }
  }
  return turns;
}

function failureOf({ failure }: ChatHistory["messages"][number]): Partial<AnswerTurn> {
  return failure === undefined ? {} : { state: "failed", error: new Error(failure) };
}
