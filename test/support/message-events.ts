// The events of sending a message to a chat. After the last fragment, the messages are stored and the run is released,
// as the runner of operations does it.

import type { Message } from "../../src/domain/chat.ts";
import type { Transactions } from "../../src/ports/transactions.ts";
import type { MessageRun } from "../../src/services/chats.ts";

/** A fragment of the answer, or the stored message at its end. */
export type MessageEvent =
  | { readonly type: "text"; readonly content: string }
  | { readonly type: "message"; readonly message: Message; readonly tokensUsed: number };

/** The events of a run. Reading the first one waits until sending has begun, and throws the error if that fails. */
export function messageEvents(sending: Promise<MessageRun>, transactions: Transactions) {
  sending.catch(() => undefined as unknown); // the error is thrown when an event is read
  let isOver = false;
  const end = async (_value?: undefined) => {
    const { events, release } = await sending;
    await events.return(undefined);
    if (!isOver) release();
    isOver = true;
    return { value: undefined, done: true } as const;
  };
  const events = {
    next: async (): Promise<IteratorResult<MessageEvent, undefined>> => {
      const run = await sending;
      try {
        const step = await run.events.next();
        if (step.done !== true) return { value: { type: "text", content: step.value }, done: false };
        if (isOver) return await end();
        const message = await transactions.run(run.store);
        await end();
        return { value: { type: "message", message, tokensUsed: run.tokensUsed() }, done: false };
      } catch (error) {
        await end();
        throw error;
      }
    },
    return: end,
    [Symbol.asyncIterator]: () => events,
  };
  return events;
}
