// What an oracle records besides memories, and how it is compared with a server: chats, events, keys and webhooks.

import type { Caller } from "./calls.ts";
import type { Report } from "./oracle.ts";

/** A question to a chat and its answer. */
export interface Exchange {
  readonly question: string;
  /**
   * The answer; null if there is none. Undefined if the request got no answer, or an error of the server: the question
   * may then be stored, with an answer or without.
   */
  readonly answer: string | null | undefined;
}

/** A chat with its exchanges, oldest first. */
export interface ChatRecord {
  readonly id: string;
  exchanges: readonly Exchange[];
  state: "exists" | "deleted" | "unknown";
}

/** An event of a user. */
export interface EventRecord {
  readonly id: string;
  readonly userId: string;
  readonly number: number;
}

/** A key and whether it is valid; `unknown` if a request to revoke it got no answer. */
export interface KeyRecord {
  readonly id: string;
  readonly secret: string;
  state: "exists" | "deleted" | "unknown";
}

/** A webhook and whether it exists. */
export interface WebhookRecord {
  readonly id: string;
  state: "exists" | "deleted" | "unknown";
}

/** What is recorded besides memories, by id. */
export interface Records {
  readonly chats: Map<string, ChatRecord>;
  readonly events: Map<string, EventRecord>;
  readonly keys: KeyRecord[];
  readonly webhooks: Map<string, WebhookRecord>;
}

interface Message {
  readonly role: string;
  readonly content: string;
}

/** Compares chats, events, keys and webhooks with what the server shows. */
export async function checkAccounts(records: Records, server: Caller, report: Report): Promise<void> {
  for (const chat of records.chats.values()) await checkChat(chat, server, report);
  await checkEvents(records, server, report);
  for (const webhook of records.webhooks.values()) {
    const { status } = await server.call("GET", `/v1/webhooks/${webhook.id}`);
    checkState(`the webhook ${webhook.id}`, webhook, status === 200, report);
  }
  for (const key of server.callAs === undefined ? [] : records.keys) {
    const answer = await server.callAs?.(key.secret, "GET", "/v1/memories?limit=1");
    checkState(`the key ${key.id}`, key, answer?.status === 200, report);
  }
}

function checkState(
  what: string,
  record: { state: "exists" | "deleted" | "unknown" },
  exists: boolean,
  report: Report,
): void {
  if (record.state === "exists" && !exists) report("lost", what);
  if (record.state === "deleted" && exists) report("back", what);
  if (record.state === "unknown") record.state = exists ? "exists" : "deleted";
}

async function checkChat(chat: ChatRecord, server: Caller, report: Report): Promise<void> {
  const { status, body } = await server.call("GET", `/v1/chats/${chat.id}`);
  checkState(`the chat ${chat.id}`, chat, status === 200, report);
  if (chat.state !== "exists" || status !== 200) return;
  const left = [...(body as { readonly messages: readonly Message[] }).messages];
  const found: Exchange[] = [];
  for (const { question, answer } of chat.exchanges) {
    if (left[0]?.role !== "user" || left[0].content !== question) {
      if (answer !== undefined) return report("lost", `a message of the chat ${chat.id} (${question})`);
      continue;
    }
    left.shift();
    const next = left.at(0);
    const shown = next?.role === "assistant" ? next.content : null;
    if (shown !== null) left.shift();
    if (answer !== undefined && answer !== shown) {
      return report("lost", `the answer to a message of the chat ${chat.id} (${question})`);
    }
    found.push({ question, answer: shown });
  }
  if (left[0] !== undefined) {
    report("unknown", `${left.length} messages of the chat ${chat.id}, the first is ${left[0].content}`);
  }
  chat.exchanges = found;
}

async function checkEvents({ events }: Records, server: Caller, report: Report): Promise<void> {
  const byUser = Map.groupBy(events.values(), ({ userId }) => userId);
  for (const [userId, ofUser] of byUser) {
    const shown = new Map<string, number>();
    let cursor: string | null = null;
    do {
      const path = `/v1/users/${userId}/events?limit=100${cursor === null ? "" : `&cursor=${cursor}`}`;
      const { status, body } = await server.call("GET", path);
      if (status !== 200) break; // each of its events is reported as lost
      const page = body as {
        readonly data: readonly { readonly id: string; readonly data: { readonly number: number } }[];
        readonly cursor: string | null;
      };
      for (const { id, data } of page.data) shown.set(id, data.number);
      cursor = page.cursor;
    } while (cursor !== null);
    for (const { id, number } of ofUser) {
      if (shown.get(id) !== number) report("lost", `event ${id} of ${userId}`);
    }
  }
}
