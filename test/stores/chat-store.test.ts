// What ChatStore (`src/ports/chat-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Chat, ChatDraft, Message, MessageDraft, MessageSource } from "../../src/domain/chat.ts";
import { Fault } from "../../src/domain/fault.ts";
import { type ChatId, isId, type MemoryId, type MemoryKey, type ProjectId } from "../../src/domain/ids.ts";
import type { MemoryScope } from "../../src/domain/memory-attributes.ts";
import type { Page } from "../../src/domain/page.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { ChatStore } from "../../src/ports/chat-store.ts";
import type { Stores } from "../../src/ports/transactions.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, inTurn, type OpenedStores, openEmpty, times } from "../contract/stores.ts";
import { seeded } from "../support/seeded.ts";
import { onEachDatabase } from "./databases.ts";

const WHOLE_PROJECT = { userId: null, title: null };

onEachDatabase("ChatStore", (open) => {
  let clock: SettableClock;
  let stores: OpenedStores;
  let memories: ChatMemories;
  let store: ChatStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new SettableClock();
    stores = await openEmpty(open, clock);
    store = stores.chats;
    memories = new ChatMemories(stores);
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const create = async (draft: Partial<ChatDraft> = {}) => await store.create(project, { ...WHOLE_PROJECT, ...draft });
  const say = async (chat: Chat, draft: Partial<MessageDraft> = {}): Promise<Message> => {
    const message = await store.append(project, chat.id, draftOf(draft));
    if (message === null) throw new Error(`${chat.id} is not there`);
    return message;
  };
  const sourceOf = (memoryKey: MemoryKey, rank = 1): MessageSource => ({
    memoryKey,
    shown: { id: `chunk_${memoryKey}`, content: `passage ${rank}`, score: 0.5, cited: true, metadata: { a: [null] } },
  });
  const shownIn = async (chat: Chat) => (await store.history(project, chat.id)).map(({ sources }) => sources);

  describe("create", () => {
    test("creates a chat without user and title if none is given", async () => {
      const chat = await create();
      expect(chat).toEqual({
        id: chat.id,
        userId: null,
        agentId: null,
        sessionId: null,
        title: null,
        createdAt: clock.now(),
      });
      expect(isId("chat", chat.id)).toBe(true);
      expect(await store.get(project, chat.id)).toEqual(chat);
      expect(await store.history(project, chat.id)).toEqual([]);
    });

    test("makes the user known, and keeps the title unchanged", async () => {
      const chat = await create({ userId: "ü", title: "  Two\nlines  " });
      expect(chat).toMatchObject({ userId: "ü", title: "  Two\nlines  " });
      expect(await stores.users.get(project, "ü")).toMatchObject({ id: "ü", createdAt: clock.now() });
    });

    test("leaves the profile of a known user alone, and makes a forgotten one known again", async () => {
      await stores.users.upsert(project, { id: "u", name: "Ada" });
      await create({ userId: "u" });
      expect((await stores.users.get(project, "u"))?.name).toBe("Ada");
      await stores.users.forget(project, "u");
      await create({ userId: "u" });
      expect((await stores.users.get(project, "u"))?.name).toBeNull();
      expect((await store.list(project, { limit: 10, userId: "u" })).items).toHaveLength(2);
    });
  });

  describe("list", () => {
    test("is newest first, for all users or for one", async () => {
      const [a, b, c] = [await create({ userId: "u" }), await create(), await create({ userId: "v" })];
      expect(await store.list(project, { limit: 10 })).toEqual({ items: [c, b, a], cursor: null });
      expect((await store.list(project, { limit: 10, userId: "u" })).items).toEqual([a]);
      expect((await store.list(project, { limit: 10, userId: "U" })).items).toEqual([]);
    });

    test("filters by agent and session, alone and together with the user, and binds the cursor to them", async () => {
      const a = await create({ userId: "u", agentId: "a", sessionId: "s" });
      const b = await create({ agentId: "a" });
      const c = await create({ userId: "u", agentId: "A", sessionId: "s" });
      await store.create(other, { userId: "u", agentId: "a", sessionId: "s", title: null });
      const items = async (conditions: MemoryScope) => (await store.list(project, { limit: 10, ...conditions })).items;
      expect(await items({ agentId: "a" })).toEqual([b, a]);
      expect(await items({ sessionId: "s" })).toEqual([c, a]);
      expect(await items({ userId: "u", agentId: "a" })).toEqual([a]);
      expect(await items({ userId: "u", sessionId: "s" })).toEqual([c, a]);
      expect(await items({ agentId: "a", sessionId: "s" })).toEqual([a]);
      expect(await items({ agentId: "s" })).toEqual([]);
      const { cursor } = await store.list(project, { limit: 1, agentId: "a" });
      const page = { limit: 1, cursor: cursor ?? "" };
      expect(await store.list(project, { ...page, agentId: "a" })).toEqual({ items: [a], cursor: null });
      expect(await codeOf(async () => await store.list(project, { ...page, sessionId: "a" }))).toBe("invalid_cursor");
      expect(await codeOf(async () => await store.list(project, page))).toBe("invalid_cursor");
    });

    test("has the chats of a user who is no longer known", async () => {
      const chat = await create({ userId: "u" });
      await stores.users.forget(project, "u");
      expect((await store.list(project, { limit: 10, userId: "u" })).items).toEqual([chat]);
      expect((await store.get(project, chat.id))?.userId).toBe("u");
    });
  });

  test("retitle sets and clears the title; null for an unknown chat", async () => {
    const chat = await create({ userId: "u" });
    expect(await store.retitle(project, chat.id, "named")).toEqual({ ...chat, title: "named" });
    expect((await store.get(project, chat.id))?.title).toBe("named");
    expect(await store.retitle(project, chat.id, null)).toEqual(chat);
    expect(await store.retitle(project, "chat_00000000000000000000000000" as ChatId, "x")).toBeNull();
  });

  describe("remove", () => {
    test("removes the chat with its messages and their sources for good", async () => {
      const [chat, kept] = [await create(), await create()];
      const memory = await memories.add(project, null);
      for (const of of [chat, kept])
        await say(of, { role: "assistant", sources: [sourceOf(memory), sourceOf(memory)] });
      expect(await store.remove(project, chat.id)).toBe(true);
      expect(await store.remove(project, chat.id)).toBe(false);
      expect(await store.get(project, chat.id)).toBeNull();
      expect(await store.history(project, chat.id)).toEqual([]);
      expect(await store.messages(project, chat.id, { limit: 1 })).toEqual({ items: [], cursor: null });
      expect(await store.append(project, chat.id, draftOf())).toBeNull();
      expect([await stores.stored("messages"), await stores.stored("sources")]).toEqual([1, 2]);
      expect(await store.history(project, kept.id)).toHaveLength(1);
    });

    test("of all chats of a user keeps those of others and those without user", async () => {
      const [first, second, ofOther, ofNobody] = [
        await create({ userId: "u" }),
        await create({ userId: "u" }),
        await create({ userId: "v" }),
        await create(),
      ];
      const elsewhere = await store.create(other, { userId: "u", title: null });
      await say(first);
      await store.removeAllOf(project, "u");
      await store.removeAllOf(project, "nobody");
      expect(await inTurn([first, second], async ({ id }) => await store.get(project, id))).toEqual([null, null]);
      expect((await store.list(project, { limit: 10 })).items).toEqual([ofNobody, ofOther]);
      expect(await store.get(other, elsewhere.id)).toEqual(elsewhere);
      expect(await stores.stored("messages")).toBe(0);
    });
  });

  test("projects never see each other's chats", async () => {
    const chat = await create({ userId: "u", title: "mine" });
    await say(chat);
    expect(await store.get(other, chat.id)).toBeNull();
    expect((await store.list(other, { limit: 10 })).items).toEqual([]);
    expect((await store.list(other, { limit: 10, userId: "u" })).items).toEqual([]);
    expect(await store.retitle(other, chat.id, "theirs")).toBeNull();
    expect(await store.append(other, chat.id, draftOf())).toBeNull();
    expect(await store.history(other, chat.id)).toEqual([]);
    expect(await store.turns(other, chat.id, 9)).toEqual([]);
    expect((await store.messages(other, chat.id, { limit: 10 })).items).toEqual([]);
    expect(await store.remove(other, chat.id)).toBe(false);
    await store.removeAllOf(other, "u");
    expect(await store.get(project, chat.id)).toEqual(chat);
    expect(await store.history(project, chat.id)).toHaveLength(1);
  });

  test("why a message got no answer is kept, of messages of the user only", async () => {
    const chat = await create();
    const question = await say(chat, { content: "Where?" });
    const answer = await say(chat, { role: "assistant", content: "Here." });
    const other = await create();
    for (const { id } of [question, answer]) await store.fail(project, chat.id, id, "No model answered.");
    await store.fail(project, other.id, question.id, "Not of this chat.");
    const failures = (await store.history(project, chat.id)).map(({ failure }) => failure);
    expect(failures).toEqual(["No model answered.", null]);
    expect((await store.message(project, chat.id, question.id))?.failure).toBe("No model answered.");
  });

  describe("append", () => {
    test("stores messages, oldest first in the history and in pages", async () => {
      const chat = await create();
      const question = await say(chat, { content: "Où est\n😀?" });
      clock.advance(3);
      const memory = await memories.add(project, null);
      const sources = [sourceOf(memory, 2), sourceOf(await memories.add(project, null), 1), sourceOf(memory, 3)];
      const answer = await say(chat, { role: "assistant", content: "There [1]", sources, answerState: "partial" });
      expect(question).toEqual({
        id: question.id,
        role: "user",
        content: "Où est\n😀?",
        sources: [],
        isInterrupted: false,
        answerState: null,
        failure: null,
        createdAt: clock.now() - 3,
      });
      expect(answer).toEqual({
        id: answer.id,
        role: "assistant",
        content: "There [1]",
        sources,
        isInterrupted: false,
        answerState: "partial",
        failure: null,
        createdAt: clock.now(),
      });
      expect([question, answer].every(({ id }) => isId("msg", id))).toBe(true);
      expect(await store.history(project, chat.id)).toEqual([question, answer]);
      expect(await store.messages(project, chat.id, { limit: 10 })).toEqual({
        items: [question, answer],
        cursor: null,
      });
    });

    test("turns are the last messages, oldest first, up to the requested number", async () => {
      const chat = await create();
      const another = await create();
      expect(await store.turns(project, chat.id, 3)).toEqual([]);
      const turns: Pick<Message, "role" | "content">[] = await times(5, async (at) => {
        await say(another);
        const { role, content } = await say(chat, { content: `message ${at}` });
        return { role, content };
      });
      const memory = await memories.add(project, null);
      turns.push({ role: "assistant", content: "There [1]" });
      await say(chat, { role: "assistant", content: "There [1]", sources: [sourceOf(memory, 1)] });
      expect(await store.turns(project, chat.id, 3)).toEqual(turns.slice(-3));
      expect(await store.turns(project, chat.id, 100)).toEqual(turns);
      await say(chat, { role: "assistant", content: "Nothing.", answerState: "not_found" });
      expect(await store.turns(project, chat.id, 100)).toEqual(turns);
    });

    const endings: readonly (readonly [string, (key: MemoryKey) => unknown])[] = [
      ["deleted", async (key) => await memories.remove(key)],
      ["erased", async (key) => await memories.erase(key)],
      ["expired", () => clock.advance(60_000)],
    ];
    for (const [what, end] of endings) {
      test(`turns have only answers before the first one with a source that is ${what}`, async () => {
        const chat = await create();
        const kept = await memories.add(project, null);
        const gone = await memories.add(project, clock.now() + 50_000);
        await say(chat, { content: "Where?" });
        await say(chat, { role: "assistant", content: "First", sources: [sourceOf(kept, 1)] });
        await say(chat, { content: "And?" });
        await say(chat, {
          role: "assistant",
          content: "Second, uncited",
          sources: [sourceOf(kept, 1), sourceOf(gone, 2)],
        });
        await say(chat, { content: "Again?" });
        await say(chat, { role: "assistant", content: "As I said", sources: [sourceOf(kept, 1)] });
        const contents = async () => (await store.turns(project, chat.id, 9)).map(({ content }) => content);
        expect(await contents()).toEqual(["Where?", "First", "And?", "Second, uncited", "Again?", "As I said"]);
        await end(gone);
        expect(await contents()).toEqual(["Where?", "First", "And?", "Again?"]);
      });
    }

    test("an answer is not a turn if a source was deleted while the answer was made", async () => {
      const chat = await create();
      const gone = await memories.add(project, null);
      await memories.remove(gone);
      await say(chat, { role: "assistant", content: "It says", sources: [sourceOf(gone, 1)] });
      expect(await store.turns(project, chat.id, 9)).toEqual([]);
    });

    test("timestamps never decrease within a chat, even if the clock is set back", async () => {
      clock.set(5_000);
      const chat = await create();
      const createdAts = await inTurn([4_000, 7_000, 6_000, 8_000], async (now) => {
        clock.set(now);
        return (await say(chat)).createdAt;
      });
      expect(createdAts).toEqual([5_000, 7_000, 7_000, 8_000]);
      expect((await store.history(project, chat.id)).map(({ createdAt }) => createdAt)).toEqual(createdAts);
    });

    const SIXTEEN_WORDS = "four ".repeat(16).trim(); // 79 characters
    for (const [what, content, title] of [
      ["its first line", "Where is it?\nI have looked.", "Where is it?"],
      ["its first line that is not blank, whitespace collapsed", " \r\n\t Where \t  is\u00a0it? \r\nx", "Where is it?"],
      ["80 characters whole", `${SIXTEEN_WORDS}s`, `${SIXTEEN_WORDS}s`],
      ["79 characters where a word ends there", `${SIXTEEN_WORDS} more`, `${SIXTEEN_WORDS}…`],
      ["what comes before a word that does not fit", `${SIXTEEN_WORDS}fold is`, `${"four ".repeat(15).trim()}…`],
      ["79 characters of a text without spaces", "語".repeat(81), `${"語".repeat(79)}…`],
      ["whole characters", "😀".repeat(81), `${"😀".repeat(79)}…`],
      ["more than a short first word", `a ${"b".repeat(100)}`, `a ${"b".repeat(77)}…`],
    ] as const) {
      test(`of the user's first message sets the title if there is none: ${what}`, async () => {
        const chat = await create();
        await say(chat, { content });
        expect((await store.get(project, chat.id))?.title).toBe(title);
      });
    }

    test("sets a title only once: not if there is one, not for later messages, not for an assistant's message", async () => {
      const titled = await create({ title: "mine" });
      await say(titled, { content: "other" });
      expect((await store.get(project, titled.id))?.title).toBe("mine");

      const chat = await create();
      await say(chat, { role: "assistant", content: "Hello!" });
      expect((await store.get(project, chat.id))?.title).toBeNull();
      await say(chat, { content: "first" });
      expect((await store.get(project, chat.id))?.title).toBe("first");
      await store.retitle(project, chat.id, null);
      await say(chat, { content: "second" });
      expect((await store.get(project, chat.id))?.title).toBeNull();
    });

    test("sets no title if the message has no visible character", async () => {
      const chat = await create();
      await say(chat, { content: " \n\t" });
      expect((await store.get(project, chat.id))?.title).toBeNull();
    });
  });

  describe("sources", () => {
    test("of deleted and expired memories are left out; the others keep their order", async () => {
      const chat = await create();
      const [deleted, kept, expiring] = [
        await memories.add(project, null),
        await memories.add(project, null),
        await memories.add(project, clock.now() + 10),
      ];
      const sources = [sourceOf(deleted), sourceOf(kept, 1), sourceOf(expiring), sourceOf(kept, 2)];
      await say(chat, { role: "assistant", sources });
      expect(await shownIn(chat)).toEqual([sources]);
      await memories.remove(deleted);
      expect(await shownIn(chat)).toEqual([sources.slice(1)]);
      clock.advance(9);
      expect(await shownIn(chat)).toEqual([sources.slice(1)]);
      clock.advance(1);
      expect(await shownIn(chat)).toEqual([[sourceOf(kept, 1), sourceOf(kept, 2)]]);
      expect((await store.messages(project, chat.id, { limit: 1 })).items[0]?.sources).toHaveLength(2);
    });

    test("of another user's memories are left out of a user's chat", async () => {
      const chat = await create({ userId: "u" });
      const [own, foreign, ownerless] = [
        await memories.add(project, null, "u"),
        await memories.add(project, null, "v"),
        await memories.add(project, null),
      ];
      await say(chat, { role: "assistant", sources: [sourceOf(foreign), sourceOf(own), sourceOf(ownerless)] });
      expect(await shownIn(chat)).toEqual([[sourceOf(own)]]);
    });

    test("of another agent's or session's memories are left out of a chat that has one", async () => {
      const own = await memories.add(project, null, undefined, { agentId: "a", sessionId: "s" });
      const ofAgent = await memories.add(project, null, undefined, { agentId: "a" });
      const neither = await memories.add(project, null);
      const sources = [own, ofAgent, neither].map((key) => sourceOf(key));
      const [ofBoth, ofOne, ofNone] = [
        await create({ agentId: "a", sessionId: "s" }),
        await create({ agentId: "a" }),
        await create(),
      ];
      for (const chat of [ofBoth, ofOne, ofNone]) await say(chat, { role: "assistant", sources });
      expect(await shownIn(ofBoth)).toEqual([[sourceOf(own)]]);
      expect(await shownIn(ofOne)).toEqual([[sourceOf(own), sourceOf(ofAgent)]]);
      expect(await shownIn(ofNone)).toEqual([sources]);
    });

    test("of an erased memory are removed for good", async () => {
      const chat = await create();
      const memory = await memories.add(project, null);
      await say(chat, { role: "assistant", sources: [sourceOf(memory)] });
      await memories.remove(memory);
      expect(await stores.stored("sources")).toBe(1);
      await memories.erase(memory);
      expect(await stores.stored("sources")).toBe(0);
      expect(await shownIn(chat)).toEqual([[]]);
    });

    test("of a memory that was deleted while the answer was made, or of another project, are not stored", async () => {
      const chat = await create();
      const [deleted, expired, erased, foreign, kept] = [
        await memories.add(project, null),
        await memories.add(project, clock.now()),
        await memories.add(project, null),
        await memories.add(other, null),
        await memories.add(project, null),
      ];
      await memories.remove(deleted);
      await memories.erase(erased);
      const sources = [deleted, expired, erased, foreign, kept].map((key) => sourceOf(key));
      expect((await say(chat, { role: "assistant", sources })).sources).toEqual([sourceOf(kept)]);
      expect(await shownIn(chat)).toEqual([[sourceOf(kept)]]);
      expect(await stores.stored("sources")).toBe(1);
    });
  });

  test("a cursor is refused for another project, list, user or chat, and if it is damaged", async () => {
    const [chat, twin] = [await create({ userId: "u" }), await create({ userId: "u" })];
    await store.create(other, WHOLE_PROJECT);
    for (const of of [chat, twin]) for (let at = 0; at < 2; at++) await say(of);
    const chats = cursorOf(await store.list(project, { limit: 1 }));
    const ofUser = cursorOf(await store.list(project, { limit: 1, userId: "u" }));
    const messages = cursorOf(await store.messages(project, chat.id, { limit: 1 }));
    const reads: readonly (() => unknown)[] = [
      async () => await store.list(other, { limit: 1, cursor: chats }),
      async () => await store.list(project, { limit: 1, cursor: chats, userId: "u" }),
      async () => await store.list(project, { limit: 1, cursor: ofUser }),
      async () => await store.list(project, { limit: 1, cursor: ofUser, userId: "v" }),
      async () => await store.list(project, { limit: 1, cursor: messages }),
      async () => await store.list(project, { limit: 1, cursor: chats.slice(1) }),
      async () => await store.messages(project, twin.id, { limit: 1, cursor: messages }),
      async () => await store.messages(other, chat.id, { limit: 1, cursor: messages }),
      async () => await store.messages(project, chat.id, { limit: 1, cursor: chats }),
    ];
    expect(await inTurn(reads, codeOf)).toEqual(reads.map(() => "invalid_cursor"));
  });

  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_123);
  const steps = Number(process.env.MNEME_TEST_STEPS ?? 500);
  test(`answers as the oracle does over ${steps} random steps, pages included (seed ${seed})`, async () => {
    await new RandomWalk(store, memories, [project, other], clock, await seeded(seed)).run(steps);
  });
});

/** Adds and removes the memories that the messages of these tests have as sources. */
class ChatMemories {
  readonly #places = new Map<MemoryKey, { readonly project: ProjectId; readonly id: MemoryId }>();

  constructor(private readonly stores: Stores) {}

  /** Adds a memory. `expiresAt` is in Unix milliseconds. A memory without `userId` belongs to no user. */
  async add(
    project: ProjectId,
    expiresAt: number | null,
    userId?: string,
    more: Pick<MemoryScope, "agentId" | "sessionId"> = {},
  ): Promise<MemoryKey> {
    const times = expiresAt === null ? {} : { expiresAt };
    const draft = { content: "a", ...times, ...(userId !== undefined && { userId }), ...more };
    const [accepted] = await this.stores.memories.accept(project, [draft]);
    if (accepted === undefined || accepted instanceof Fault) throw new Error("the memory was refused");
    const { key, id } = accepted.memory;
    this.#places.set(key, { project, id });
    return key;
  }

  /** Deletes the memory, but keeps its row until `erase`. Does nothing if it was deleted or has expired. */
  async remove(key: MemoryKey): Promise<void> {
    const place = this.#places.get(key);
    if (place === undefined) throw new Error(`there is no memory ${key}`);
    await this.stores.memories.remove(place.project, place.id, { purges: true });
  }

  /** Deletes the memory and erases its row for good. */
  async erase(key: MemoryKey): Promise<void> {
    await this.remove(key);
    // marks expired memories as deleted
    await this.stores.retirement.retired(10_000);
    await this.stores.retirement.markRetracted([key]);
    await this.stores.retirement.erase([key]);
  }
}

/** A clock that can be set back, like the clock of a machine. */
class SettableClock implements Clock {
  readonly #inner = new ManualClock();
  #offset = 0;

  now(): number {
    return this.#inner.now() + this.#offset;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#inner.sleep(ms, signal);
  }

  advance(ms: number): void {
    this.#inner.advance(ms);
  }

  set(now: number): void {
    this.#offset = now - this.#inner.now();
  }
}

function draftOf(draft: Partial<MessageDraft> = {}): MessageDraft {
  return { role: "user", content: "hello", sources: [], isInterrupted: false, answerState: null, ...draft };
}

function cursorOf(page: Page<unknown>): string {
  if (page.cursor === null) throw new Error("the page has no cursor");
  return page.cursor;
}

/** An item of a list. `place` grows with every item and is never reused. */
type Placed<T> = T & { readonly place: number };

type OracleChat = Placed<{
  readonly project: ProjectId;
  chat: Chat;
  messages: Placed<{ readonly message: Message }>[];
}>;

interface OracleMemory {
  readonly project: ProjectId;
  readonly key: MemoryKey;
  readonly expiresAt: number | null;
  readonly userId: string | null;
  readonly agentId: string;
  readonly sessionId: string;
  isDeleted: boolean;
}

/** The project and chat that a message belongs to. */
interface Place {
  readonly project: ProjectId;
  readonly chat: Pick<Chat, "userId" | "agentId" | "sessionId">;
}

/** A list that is read page by page while it changes. */
interface Reader {
  readonly read: (cursor: string | undefined, limit: number) => Eventually<Page<unknown>>;
  /** The items after the one with this `place`, in the order of the list; all items if `place` is null. */
  readonly beyond: (place: number | null) => readonly Placed<{ readonly item: unknown }>[];
  cursor: string | undefined;
  place: number | null;
}

/** Performs random operations on a store and on plain lists, and compares both after every step. */
class RandomWalk {
  #chats: OracleChat[] = [];
  #memories: OracleMemory[] = [];
  #readers: Reader[] = [];
  #places = 0;

  constructor(
    private readonly store: ChatStore,
    private readonly memories: ChatMemories,
    private readonly projects: readonly [ProjectId, ProjectId],
    private readonly clock: SettableClock,
    private readonly random: () => number,
  ) {}

  async run(steps: number): Promise<void> {
    const operations: readonly (() => unknown)[] = [
      () => this.#create(),
      () => this.#append(),
      () => this.#append(),
      () => this.#append(),
      () => this.#append(),
      () => this.#remove(),
      () => this.#removeAllOf(),
      () => this.#addMemory(),
      () => this.#removeMemory(),
      () => this.#open(),
      () => this.#readOn(),
      () => this.#readOn(),
      () => this.#readOn(),
      () => this.clock.advance(this.#integer(1_000)),
    ];
    for (let step = 0; step < steps; step++) {
      await this.#pick(operations)?.();
      await this.#compareOne();
    }
  }

  async #create(): Promise<void> {
    const project = this.#project();
    const draft = {
      userId: this.#pick([null, "u", "v"]) ?? null,
      agentId: this.#pick([null, null, "a", "b"]) ?? null,
      sessionId: this.#pick([null, null, "s", "t"]) ?? null,
      title: this.#pick([null, "titled"]) ?? null,
    };
    const chat = await this.store.create(project, draft);
    expect(chat).toEqual({ id: chat.id, ...draft, createdAt: this.clock.now() });
    this.#chats.push({ place: this.#nextPlace(), project, chat, messages: [] });
  }

  async #append(): Promise<void> {
    const known = this.#pick(this.#chats);
    if (known === undefined) return;
    const role = this.#pick(["user", "assistant"] as const) ?? "user";
    const memories = role === "user" ? [] : [this.#pick(this.#memories), this.#pick(this.#memories)];
    const sources = await memories.flatMap((memory, rank) =>
      memory === undefined ? [] : [{ memoryKey: memory.key, shown: { rank } }],
    );
    const draft = draftOf({ role, content: `line ${this.#integer(1_000)}`, sources });
    const message = await this.store.append(known.project, known.chat.id, draft);
    if (message === null) throw new Error(`${known.chat.id} is gone`);
    const isFirst = role === "user" && !known.messages.some((earlier) => earlier.message.role === "user");
    if (isFirst && known.chat.title === null) known.chat = { ...known.chat, title: draft.content };
    const sourcesNow = this.#live(known, sources);
    const kept = { ...draft, id: message.id, failure: null, createdAt: this.clock.now(), sources: sourcesNow };
    expect(message).toEqual(kept);
    known.messages.push({ place: this.#nextPlace(), message: kept });
  }

  async #remove(): Promise<void> {
    const known = this.#pick(this.#chats);
    if (known === undefined || this.#integer(3) > 0) return;
    expect(await this.store.remove(known.project, known.chat.id)).toBe(true);
    this.#chats = this.#chats.filter((chat) => chat !== known);
  }

  async #removeAllOf(): Promise<void> {
    if (this.#integer(10) > 0) return;
    const [project, userId] = [this.#project(), this.#pick(["u", "v"]) ?? "u"];
    await this.store.removeAllOf(project, userId);
    this.#chats = this.#chats.filter((known) => known.project !== project || known.chat.userId !== userId);
  }

  async #addMemory(): Promise<void> {
    const project = this.#project();
    const expiresAt = this.#integer(2) === 0 ? this.clock.now() + this.#integer(10_000) : null;
    const userId = this.#pick([undefined, "u", "v"]);
    const [agentId, sessionId] = [this.#pick(["a", "b"]) ?? "a", this.#pick(["s", "t"]) ?? "s"];
    const key = await this.memories.add(project, expiresAt, userId, { agentId, sessionId });
    this.#memories.push({ project, key, expiresAt, userId: userId ?? null, agentId, sessionId, isDeleted: false });
  }

  async #removeMemory(): Promise<void> {
    const memory = this.#pick(this.#memories);
    if (memory === undefined) return;
    if (memory.isDeleted) {
      await this.memories.erase(memory.key);
      this.#memories = this.#memories.filter((one) => one !== memory);
    } else {
      await this.memories.remove(memory.key);
      memory.isDeleted = true;
    }
  }

  #open(): void {
    const known = this.#pick(this.#chats);
    if (known === undefined) return;
    const { project, chat } = known;
    const reader = this.#integer(2) === 0 ? this.#readerOfChats(project) : this.#readerOfMessages(project, chat.id);
    this.#readers.push({ ...reader, cursor: undefined, place: null });
  }

  #readerOfChats(project: ProjectId): Pick<Reader, "read" | "beyond"> {
    const userId = this.#pick([undefined, "u"]);
    const agentId = this.#pick([undefined, undefined, "a"]);
    const sessionId = this.#pick([undefined, undefined, "s"]);
    return {
      read: async (cursor, limit) =>
        await this.store.list(project, {
          limit,
          ...(cursor !== undefined && { cursor }),
          ...(userId !== undefined && { userId }),
          ...(agentId !== undefined && { agentId }),
          ...(sessionId !== undefined && { sessionId }),
        }),
      beyond: (place) =>
        this.#chats
          .filter((one) => one.project === project && (userId ?? one.chat.userId) === one.chat.userId)
          .filter(({ chat }) => (agentId ?? chat.agentId) === chat.agentId)
          .filter(({ chat }) => (sessionId ?? chat.sessionId) === chat.sessionId)
          .filter((one) => place === null || one.place < place)
          .map((one) => ({ place: one.place, item: one.chat }))
          .reverse(),
    };
  }

  #readerOfMessages(project: ProjectId, id: ChatId): Pick<Reader, "read" | "beyond"> {
    return {
      read: async (cursor, limit) =>
        await this.store.messages(project, id, { limit, ...(cursor !== undefined && { cursor }) }),
      beyond: (place) => {
        const known = this.#chats.find((one) => one.chat.id === id);
        if (known === undefined) return [];
        return known.messages
          .filter((one) => place === null || one.place > place)
          .map((one) => ({ place: one.place, item: this.#shown(known, one.message) }));
      },
    };
  }

  async #readOn(): Promise<void> {
    const reader = this.#pick(this.#readers);
    if (reader === undefined) return;
    const limit = 1 + this.#integer(3);
    const left = reader.beyond(reader.place);
    const page = await reader.read(reader.cursor, limit);
    expect(page.items).toEqual(left.slice(0, limit).map(({ item }) => item));
    expect(page.cursor !== null).toBe(left.length > limit);
    reader.cursor = page.cursor ?? undefined;
    reader.place = left[limit - 1]?.place ?? null;
    if (page.cursor === null) this.#readers = this.#readers.filter((one) => one !== reader);
  }

  async #compareOne(): Promise<void> {
    const known = this.#pick(this.#chats);
    if (known === undefined) return;
    const { store } = this;
    expect(await store.get(known.project, known.chat.id)).toEqual(known.chat);
    expect(await store.history(known.project, known.chat.id)).toEqual(
      known.messages.map(({ message }) => this.#shown(known, message)),
    );
  }

  #shown(place: Place, message: Message): Message {
    return { ...message, sources: this.#live(place, message.sources) };
  }

  // Keeps the sources whose memories are live and of the same project. If the chat has a user, an agent or a session,
  // only memories of it count.
  #live({ project, chat }: Place, sources: readonly MessageSource[]): readonly MessageSource[] {
    return sources.filter(({ memoryKey }) =>
      this.#memories.some(
        (memory) =>
          memory.key === memoryKey &&
          memory.project === project &&
          (chat.userId === null || memory.userId === chat.userId) &&
          (chat.agentId === null || memory.agentId === chat.agentId) &&
          (chat.sessionId === null || memory.sessionId === chat.sessionId) &&
          !memory.isDeleted &&
          (memory.expiresAt === null || memory.expiresAt > this.clock.now()),
      ),
    );
  }

  #project(): ProjectId {
    return this.#pick(this.projects) ?? this.projects[0];
  }

  #nextPlace(): number {
    this.#places += 1;
    return this.#places;
  }

  #integer(below: number): number {
    return Math.floor(this.random() * below);
  }

  #pick<T>(values: readonly T[]): T | undefined {
    return values[this.#integer(values.length)];
  }
}
