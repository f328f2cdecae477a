// What every ChatStore owes (src/ports/chat-store.ts), as tests: each implementation passes them with its own `open`.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Chat, Message, MessageDraft, MessageSource } from "../../src/domain/chat.ts";
import { Fault } from "../../src/domain/fault.ts";
import { type ChatId, isId, type MemoryKey, type ProjectId } from "../../src/domain/ids.ts";
import type { Page } from "../../src/domain/page.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { ChatStore } from "../../src/ports/chat-store.ts";
import type { UserStore } from "../../src/ports/user-store.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";

/** An empty store with two projects, and the memories beside it that sources come from. */
export interface OpenedChatStore {
  readonly store: ChatStore;
  readonly users: UserStore;
  readonly projects: readonly [ProjectId, ProjectId];
  /** @param expiresAt Unix milliseconds. @param userId the owner; absent: nobody. */
  addMemory(projectId: ProjectId, expiresAt: number | null, userId?: string): MemoryKey;
  /** Soft delete. */
  removeMemory(key: MemoryKey): void;
  /** Takes the memory's row away for good. */
  eraseMemory(key: MemoryKey): void;
  /** Passages that are stored, of live memories or not. */
  storedSources(): number;
  /** Messages that are stored, of any chat. */
  storedMessages(): number;
  close(): void;
}

const WHOLE_PROJECT = { userId: null, title: null };

/** Runs the contract against the stores that `open` makes. */
export function chatStoreContract(name: string, open: (clock: SettableClock) => OpenedChatStore): void {
  describe(`${name} as ChatStore`, () => {
    let clock: SettableClock;
    let opened: OpenedChatStore;
    let store: ChatStore;
    let project: ProjectId;
    let other: ProjectId;

    beforeEach(() => {
      clock = new SettableClock();
      opened = open(clock);
      store = opened.store;
      [project, other] = opened.projects;
    });
    afterEach(() => opened.close());

    const create = (draft: { readonly userId?: string; readonly title?: string } = {}) =>
      store.create(project, { ...WHOLE_PROJECT, ...draft });
    const say = (chat: Chat, draft: Partial<MessageDraft> = {}): Message => {
      const message = store.append(project, chat.id, said(draft));
      if (message === null) throw new Error(`${chat.id} is not there`);
      return message;
    };
    const sourceOf = (memoryKey: MemoryKey, rank = 1): MessageSource => ({
      memoryKey,
      shown: { id: `chunk_${memoryKey}`, content: `passage ${rank}`, score: 0.5, cited: true, metadata: { a: [null] } },
    });
    const shownIn = (chat: Chat) => store.history(project, chat.id).map(({ sources }) => sources);

    describe("create", () => {
      test("makes a chat of nobody without title, where none is given", () => {
        const chat = create();
        expect(chat).toEqual({ id: chat.id, userId: null, title: null, createdAt: clock.now() });
        expect(isId("chat", chat.id)).toBe(true);
        expect(store.get(project, chat.id)).toEqual(chat);
        expect(store.history(project, chat.id)).toEqual([]);
      });

      test("makes the user known, and keeps the title as it was given", () => {
        const chat = create({ userId: "ü", title: "  Two\nlines  " });
        expect(chat).toMatchObject({ userId: "ü", title: "  Two\nlines  " });
        expect(opened.users.get(project, "ü")).toMatchObject({ id: "ü", createdAt: clock.now() });
      });

      test("leaves the profile of a known user alone, and makes a forgotten one known again", () => {
        opened.users.upsert(project, { id: "u", name: "Ada" });
        create({ userId: "u" });
        expect(opened.users.get(project, "u")?.name).toBe("Ada");
        opened.users.forget(project, "u");
        create({ userId: "u" });
        expect(opened.users.get(project, "u")?.name).toBeNull();
        expect(store.list(project, { limit: 10, userId: "u" }).items).toHaveLength(2);
      });
    });

    describe("list", () => {
      test("is newest first, of all or of one user", () => {
        const [a, b, c] = [create({ userId: "u" }), create(), create({ userId: "v" })];
        expect(store.list(project, { limit: 10 })).toEqual({ items: [c, b, a], cursor: null });
        expect(store.list(project, { limit: 10, userId: "u" }).items).toEqual([a]);
        expect(store.list(project, { limit: 10, userId: "U" }).items).toEqual([]);
      });

      test("shows the chats of a user that is no longer known", () => {
        const chat = create({ userId: "u" });
        opened.users.forget(project, "u");
        expect(store.list(project, { limit: 10, userId: "u" }).items).toEqual([chat]);
        expect(store.get(project, chat.id)?.userId).toBe("u");
      });
    });

    test("retitle sets and clears the title; null where there is no such chat", () => {
      const chat = create({ userId: "u" });
      expect(store.retitle(project, chat.id, "named")).toEqual({ ...chat, title: "named" });
      expect(store.get(project, chat.id)?.title).toBe("named");
      expect(store.retitle(project, chat.id, null)).toEqual(chat);
      expect(store.retitle(project, "chat_00000000000000000000000000" as ChatId, "x")).toBeNull();
    });

    describe("remove", () => {
      test("takes the chat with its messages and their sources, for good", () => {
        const [chat, kept] = [create(), create()];
        const memory = opened.addMemory(project, null);
        for (const of of [chat, kept]) say(of, { role: "assistant", sources: [sourceOf(memory), sourceOf(memory)] });
        expect(store.remove(project, chat.id)).toBe(true);
        expect(store.remove(project, chat.id)).toBe(false);
        expect(store.get(project, chat.id)).toBeNull();
        expect(store.history(project, chat.id)).toEqual([]);
        expect(store.messages(project, chat.id, { limit: 1 })).toEqual({ items: [], cursor: null });
        expect(store.append(project, chat.id, said())).toBeNull();
        expect([opened.storedMessages(), opened.storedSources()]).toEqual([1, 2]);
        expect(store.history(project, kept.id)).toHaveLength(1);
      });

      test("of all that a user owns leaves what others own, and what belongs to nobody", () => {
        const [first, second, ofOther, ofNobody] = [
          create({ userId: "u" }),
          create({ userId: "u" }),
          create({ userId: "v" }),
          create(),
        ];
        const elsewhere = store.create(other, { userId: "u", title: null });
        say(first);
        store.removeAllOf(project, "u");
        store.removeAllOf(project, "nobody");
        expect([first, second].map(({ id }) => store.get(project, id))).toEqual([null, null]);
        expect(store.list(project, { limit: 10 }).items).toEqual([ofNobody, ofOther]);
        expect(store.get(other, elsewhere.id)).toEqual(elsewhere);
        expect(opened.storedMessages()).toBe(0);
      });
    });

    test("projects never see each other's chats", () => {
      const chat = create({ userId: "u", title: "mine" });
      say(chat);
      expect(store.get(other, chat.id)).toBeNull();
      expect(store.list(other, { limit: 10 }).items).toEqual([]);
      expect(store.list(other, { limit: 10, userId: "u" }).items).toEqual([]);
      expect(store.retitle(other, chat.id, "theirs")).toBeNull();
      expect(store.append(other, chat.id, said())).toBeNull();
      expect(store.history(other, chat.id)).toEqual([]);
      expect(store.turns(other, chat.id, 9)).toEqual([]);
      expect(store.messages(other, chat.id, { limit: 10 }).items).toEqual([]);
      expect(store.remove(other, chat.id)).toBe(false);
      store.removeAllOf(other, "u");
      expect(store.get(project, chat.id)).toEqual(chat);
      expect(store.history(project, chat.id)).toHaveLength(1);
    });

    describe("append", () => {
      test("keeps what was said, oldest first, in history and in pages", () => {
        const chat = create();
        const question = say(chat, { content: "Où est\n😀?" });
        clock.advance(3);
        const memory = opened.addMemory(project, null);
        const sources = [sourceOf(memory, 2), sourceOf(opened.addMemory(project, null), 1), sourceOf(memory, 3)];
        const answer = say(chat, { role: "assistant", content: "There [1]", sources, isInterrupted: true });
        expect(question).toEqual({
          id: question.id,
          role: "user",
          content: "Où est\n😀?",
          sources: [],
          isInterrupted: false,
          createdAt: clock.now() - 3,
        });
        expect(answer).toEqual({
          id: answer.id,
          role: "assistant",
          content: "There [1]",
          sources,
          isInterrupted: true,
          createdAt: clock.now(),
        });
        expect([question, answer].every(({ id }) => isId("msg", id))).toBe(true);
        expect(store.history(project, chat.id)).toEqual([question, answer]);
        expect(store.messages(project, chat.id, { limit: 10 })).toEqual({ items: [question, answer], cursor: null });
      });

      test("gives the last turns, oldest first, as many as are asked for or there are", () => {
        const chat = create();
        const another = create();
        expect(store.turns(project, chat.id, 3)).toEqual([]);
        const turns = Array.from({ length: 5 }, (_, at) => {
          say(another);
          const { role, content } = say(chat, { content: `message ${at}` });
          return { role, content };
        });
        const memory = opened.addMemory(project, null);
        turns.push({ role: "assistant", content: "There [1]" });
        say(chat, { role: "assistant", content: "There [1]", sources: [sourceOf(memory, 1)] });
        expect(store.turns(project, chat.id, 3)).toEqual(turns.slice(-3));
        expect(store.turns(project, chat.id, 100)).toEqual(turns);
      });

      const endings: readonly (readonly [string, (key: MemoryKey) => void])[] = [
        ["deleted", (key) => opened.removeMemory(key)],
        ["erased", (key) => opened.eraseMemory(key)],
        ["expired", () => clock.advance(60_000)],
      ];
      for (const [what, end] of endings) {
        test(`of answers only those before the first one with a source that is ${what} are turns`, () => {
          const chat = create();
          const kept = opened.addMemory(project, null);
          const gone = opened.addMemory(project, clock.now() + 50_000);
          say(chat, { content: "Where?" });
          say(chat, { role: "assistant", content: "First", sources: [sourceOf(kept, 1)] });
          say(chat, { content: "And?" });
          say(chat, { role: "assistant", content: "Second, uncited", sources: [sourceOf(kept, 1), sourceOf(gone, 2)] });
          say(chat, { content: "Again?" });
          say(chat, { role: "assistant", content: "As I said", sources: [sourceOf(kept, 1)] });
          const contents = () => store.turns(project, chat.id, 9).map(({ content }) => content);
          expect(contents()).toEqual(["Where?", "First", "And?", "Second, uncited", "Again?", "As I said"]);
          end(gone);
          expect(contents()).toEqual(["Where?", "First", "And?", "Again?"]);
        });
      }

      test("an answer whose source went while it was made is none to go on with", () => {
        const chat = create();
        const gone = opened.addMemory(project, null);
        opened.removeMemory(gone);
        say(chat, { role: "assistant", content: "It says", sources: [sourceOf(gone, 1)] });
        expect(store.turns(project, chat.id, 9)).toEqual([]);
      });

      test("never lets a timestamp fall within a chat, whatever the clock does", () => {
        clock.set(5_000);
        const chat = create();
        const times = [4_000, 7_000, 6_000, 8_000].map((now) => {
          clock.set(now);
          return say(chat).createdAt;
        });
        expect(times).toEqual([5_000, 7_000, 7_000, 8_000]);
        expect(store.history(project, chat.id).map(({ createdAt }) => createdAt)).toEqual(times);
      });

      const SIXTEEN_WORDS = "four ".repeat(16).trim(); // 79 characters
      for (const [what, content, title] of [
        ["its first line", "Where is it?\nI have looked.", "Where is it?"],
        [
          "its first line that is not blank, whitespace collapsed",
          " \r\n\t Where \t  is\u00a0it? \r\nx",
          "Where is it?",
        ],
        ["80 characters whole", `${SIXTEEN_WORDS}s`, `${SIXTEEN_WORDS}s`],
        ["79 characters where a word ends there", `${SIXTEEN_WORDS} more`, `${SIXTEEN_WORDS}…`],
        ["what comes before a word that does not fit", `${SIXTEEN_WORDS}fold is`, `${"four ".repeat(15).trim()}…`],
        ["79 characters of a text without spaces", "語".repeat(81), `${"語".repeat(79)}…`],
        ["whole characters", "😀".repeat(81), `${"😀".repeat(79)}…`],
        ["more than a short first word", `a ${"b".repeat(100)}`, `a ${"b".repeat(77)}…`],
      ] as const) {
        test(`of the first user's message names a chat without title: ${what}`, () => {
          const chat = create();
          say(chat, { content });
          expect(store.get(project, chat.id)?.title).toBe(title);
        });
      }

      test("names a chat once: not one that has a title, not after later messages, not after an assistant's", () => {
        const titled = create({ title: "mine" });
        say(titled, { content: "other" });
        expect(store.get(project, titled.id)?.title).toBe("mine");

        const chat = create();
        say(chat, { role: "assistant", content: "Hello!" });
        expect(store.get(project, chat.id)?.title).toBeNull();
        say(chat, { content: "first" });
        expect(store.get(project, chat.id)?.title).toBe("first");
        store.retitle(project, chat.id, null);
        say(chat, { content: "second" });
        expect(store.get(project, chat.id)?.title).toBeNull();
      });

      test("leaves a chat without title where the message has nothing to show", () => {
        const chat = create();
        say(chat, { content: " \n\t" });
        expect(store.get(project, chat.id)?.title).toBeNull();
      });
    });

    describe("sources", () => {
      test("of a memory that is deleted or has expired are left out, and the others stay in their order", () => {
        const chat = create();
        const [deleted, kept, expiring] = [
          opened.addMemory(project, null),
          opened.addMemory(project, null),
          opened.addMemory(project, clock.now() + 10),
        ];
        const sources = [sourceOf(deleted), sourceOf(kept, 1), sourceOf(expiring), sourceOf(kept, 2)];
        say(chat, { role: "assistant", sources });
        expect(shownIn(chat)).toEqual([sources]);
        opened.removeMemory(deleted);
        expect(shownIn(chat)).toEqual([sources.slice(1)]);
        clock.advance(9);
        expect(shownIn(chat)).toEqual([sources.slice(1)]);
        clock.advance(1);
        expect(shownIn(chat)).toEqual([[sourceOf(kept, 1), sourceOf(kept, 2)]]);
        expect(store.messages(project, chat.id, { limit: 1 }).items[0]?.sources).toHaveLength(2);
      });

      test("of a memory of another user are not shown in a user's chat", () => {
        const chat = create({ userId: "u" });
        const [own, foreign, ownerless] = [
          opened.addMemory(project, null, "u"),
          opened.addMemory(project, null, "v"),
          opened.addMemory(project, null),
        ];
        say(chat, { role: "assistant", sources: [sourceOf(foreign), sourceOf(own), sourceOf(ownerless)] });
        expect(shownIn(chat)).toEqual([[sourceOf(own)]]);
      });

      test("of a memory that is erased go for good", () => {
        const chat = create();
        const memory = opened.addMemory(project, null);
        say(chat, { role: "assistant", sources: [sourceOf(memory)] });
        opened.removeMemory(memory);
        expect(opened.storedSources()).toBe(1);
        opened.eraseMemory(memory);
        expect(opened.storedSources()).toBe(0);
        expect(shownIn(chat)).toEqual([[]]);
      });

      test("of a memory that went while the answer was made, or is another project's, are not kept", () => {
        const chat = create();
        const [deleted, expired, erased, foreign, kept] = [
          opened.addMemory(project, null),
          opened.addMemory(project, clock.now()),
          opened.addMemory(project, null),
          opened.addMemory(other, null),
          opened.addMemory(project, null),
        ];
        opened.removeMemory(deleted);
        opened.eraseMemory(erased);
        const sources = [deleted, expired, erased, foreign, kept].map((key) => sourceOf(key));
        expect(say(chat, { role: "assistant", sources }).sources).toEqual([sourceOf(kept)]);
        expect(shownIn(chat)).toEqual([[sourceOf(kept)]]);
        expect(opened.storedSources()).toBe(1);
      });
    });

    test("a cursor is refused by another project, list, user and chat, and when it is damaged", () => {
      const [chat, twin] = [create({ userId: "u" }), create({ userId: "u" })];
      store.create(other, WHOLE_PROJECT);
      for (const of of [chat, twin]) for (let at = 0; at < 2; at++) say(of);
      const chats = cursorOf(store.list(project, { limit: 1 }));
      const ofUser = cursorOf(store.list(project, { limit: 1, userId: "u" }));
      const messages = cursorOf(store.messages(project, chat.id, { limit: 1 }));
      const reads: readonly (() => unknown)[] = [
        () => store.list(other, { limit: 1, cursor: chats }),
        () => store.list(project, { limit: 1, cursor: chats, userId: "u" }),
        () => store.list(project, { limit: 1, cursor: ofUser }),
        () => store.list(project, { limit: 1, cursor: ofUser, userId: "v" }),
        () => store.list(project, { limit: 1, cursor: messages }),
        () => store.list(project, { limit: 1, cursor: chats.slice(1) }),
        () => store.messages(project, twin.id, { limit: 1, cursor: messages }),
        () => store.messages(other, chat.id, { limit: 1, cursor: messages }),
        () => store.messages(project, chat.id, { limit: 1, cursor: chats }),
      ];
      expect(reads.map(refused)).toEqual(reads.map(() => "invalid_cursor"));
    });

    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_123);
    const steps = Number(process.env.MNEME_TEST_STEPS ?? 500);
    test(`answers as the oracle does over ${steps} random steps, pages included (seed ${seed})`, () => {
      new RandomWalk(opened, clock, seeded(seed)).run(steps);
    });
  });
}

/** A clock that can be set back, as a machine's can. */
export class SettableClock implements Clock {
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

function said(draft: Partial<MessageDraft> = {}): MessageDraft {
  return { role: "user", content: "hello", sources: [], isInterrupted: false, ...draft };
}

function cursorOf(page: Page<unknown>): string {
  if (page.cursor === null) throw new Error("the page has no cursor");
  return page.cursor;
}

function refused(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  return "nothing was thrown";
}

/** What a list holds; `place` is never given out again. */
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
  isDeleted: boolean;
}

/** Where a message stands. */
interface Place {
  readonly project: ProjectId;
  readonly chat: Pick<Chat, "userId">;
}

/** A list that somebody reads page by page while it changes. */
interface Reader {
  readonly read: (cursor: string | undefined, limit: number) => Page<unknown>;
  /** In the list's order, from beyond `place` on. */
  readonly beyond: (place: number | null) => readonly Placed<{ readonly item: unknown }>[];
  cursor: string | undefined;
  place: number | null;
}

/** Random operations on a store and on plain lists at once, compared at every step. */
class RandomWalk {
  #chats: OracleChat[] = [];
  #memories: OracleMemory[] = [];
  #readers: Reader[] = [];
  #places = 0;

  constructor(
    private readonly opened: OpenedChatStore,
    private readonly clock: SettableClock,
    private readonly random: () => number,
  ) {}

  run(steps: number): void {
    const operations: readonly (() => void)[] = [
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
      this.#pick(operations)?.();
      this.#compareOne();
    }
  }

  #create(): void {
    const project = this.#project();
    const draft = { userId: this.#pick([null, "u", "v"]) ?? null, title: this.#pick([null, "titled"]) ?? null };
    const chat = this.opened.store.create(project, draft);
    expect(chat).toEqual({ id: chat.id, ...draft, createdAt: this.clock.now() });
    this.#chats.push({ place: this.#nextPlace(), project, chat, messages: [] });
  }

  #append(): void {
    const known = this.#pick(this.#chats);
    if (known === undefined) return;
    const role = this.#pick(["user", "assistant"] as const) ?? "user";
    const memories = role === "user" ? [] : [this.#pick(this.#memories), this.#pick(this.#memories)];
    const sources = memories.flatMap((memory, rank) =>
      memory === undefined ? [] : [{ memoryKey: memory.key, shown: { rank } }],
    );
    const draft = said({ role, content: `line ${this.#integer(1_000)}`, sources });
    const message = this.opened.store.append(known.project, known.chat.id, draft);
    if (message === null) throw new Error(`${known.chat.id} is gone`);
    const isFirst = role === "user" && !known.messages.some((earlier) => earlier.message.role === "user");
    if (isFirst && known.chat.title === null) known.chat = { ...known.chat, title: draft.content };
    const kept = { ...draft, id: message.id, createdAt: this.clock.now(), sources: this.#live(known, sources) };
    expect(message).toEqual(kept);
    known.messages.push({ place: this.#nextPlace(), message: kept });
  }

  #remove(): void {
    const known = this.#pick(this.#chats);
    if (known === undefined || this.#integer(3) > 0) return;
    expect(this.opened.store.remove(known.project, known.chat.id)).toBe(true);
    this.#chats = this.#chats.filter((chat) => chat !== known);
  }

  #removeAllOf(): void {
    if (this.#integer(10) > 0) return;
    const [project, userId] = [this.#project(), this.#pick(["u", "v"]) ?? "u"];
    this.opened.store.removeAllOf(project, userId);
    this.#chats = this.#chats.filter((known) => known.project !== project || known.chat.userId !== userId);
  }

  #addMemory(): void {
    const project = this.#project();
    const expiresAt = this.#integer(2) === 0 ? this.clock.now() + this.#integer(10_000) : null;
    const userId = this.#pick([undefined, "u", "v"]);
    const key = this.opened.addMemory(project, expiresAt, userId);
    this.#memories.push({ project, key, expiresAt, userId: userId ?? null, isDeleted: false });
  }

  #removeMemory(): void {
    const memory = this.#pick(this.#memories);
    if (memory === undefined) return;
    if (memory.isDeleted) {
      this.opened.eraseMemory(memory.key);
      this.#memories = this.#memories.filter((one) => one !== memory);
    } else {
      this.opened.removeMemory(memory.key);
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
    return {
      read: (cursor, limit) =>
        this.opened.store.list(project, {
          limit,
          ...(cursor !== undefined && { cursor }),
          ...(userId !== undefined && { userId }),
        }),
      beyond: (place) =>
        this.#chats
          .filter((one) => one.project === project && (userId ?? one.chat.userId) === one.chat.userId)
          .filter((one) => place === null || one.place < place)
          .map((one) => ({ place: one.place, item: one.chat }))
          .reverse(),
    };
  }

  #readerOfMessages(project: ProjectId, id: ChatId): Pick<Reader, "read" | "beyond"> {
    return {
      read: (cursor, limit) =>
        this.opened.store.messages(project, id, { limit, ...(cursor !== undefined && { cursor }) }),
      beyond: (place) => {
        const known = this.#chats.find((one) => one.chat.id === id);
        if (known === undefined) return [];
        return known.messages
          .filter((one) => place === null || one.place > place)
          .map((one) => ({ place: one.place, item: this.#shown(known, one.message) }));
      },
    };
  }

  #readOn(): void {
    const reader = this.#pick(this.#readers);
    if (reader === undefined) return;
    const limit = 1 + this.#integer(3);
    const left = reader.beyond(reader.place);
    const page = reader.read(reader.cursor, limit);
    expect(page.items).toEqual(left.slice(0, limit).map(({ item }) => item));
    expect(page.cursor !== null).toBe(left.length > limit);
    reader.cursor = page.cursor ?? undefined;
    reader.place = left[limit - 1]?.place ?? null;
    if (page.cursor === null) this.#readers = this.#readers.filter((one) => one !== reader);
  }

  #compareOne(): void {
    const known = this.#pick(this.#chats);
    if (known === undefined) return;
    const { store } = this.opened;
    expect(store.get(known.project, known.chat.id)).toEqual(known.chat);
    expect(store.history(known.project, known.chat.id)).toEqual(
      known.messages.map(({ message }) => this.#shown(known, message)),
    );
  }

  #shown(place: Place, message: Message): Message {
    return { ...message, sources: this.#live(place, message.sources) };
  }

  // of live memories, and in a user's chat of that user's
  #live({ project, chat }: Place, sources: readonly MessageSource[]): readonly MessageSource[] {
    return sources.filter(({ memoryKey }) =>
      this.#memories.some(
        (memory) =>
          memory.key === memoryKey &&
          memory.project === project &&
          (chat.userId === null || memory.userId === chat.userId) &&
          !memory.isDeleted &&
          (memory.expiresAt === null || memory.expiresAt > this.clock.now()),
      ),
    );
  }

  #project(): ProjectId {
    return this.#pick(this.opened.projects) ?? this.opened.projects[0];
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
