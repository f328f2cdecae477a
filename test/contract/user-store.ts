// What every UserStore owes (src/ports/user-store.ts), as tests: each implementation passes them with its own `open`.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { isId, type ProjectId } from "../../src/domain/ids.ts";
import type { Page } from "../../src/domain/page.ts";
import type { User, UserDraft, UserEvent } from "../../src/domain/user.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { UserStore } from "../../src/ports/user-store.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";

/** An empty store with two projects. */
export interface OpenedUserStore {
  readonly store: UserStore;
  readonly projects: readonly [ProjectId, ProjectId];
  close(): void;
}

/** Ids that a store could take for one another, or for something of its own. */
const LIKENESSES = ["u", "U", "u ", " u", "é", "e\u0301", "ß", "ss", "'; --", '["u"]', "%", "_", "😀", "0", "null"];

/** Runs the contract against the stores that `open` makes. */
export function userStoreContract(name: string, open: (clock: Clock) => OpenedUserStore): void {
  describe(`${name} as UserStore`, () => {
    let clock: ManualClock;
    let opened: OpenedUserStore;
    let store: UserStore;
    let project: ProjectId;
    let other: ProjectId;

    beforeEach(() => {
      clock = new ManualClock();
      opened = open(clock);
      store = opened.store;
      [project, other] = opened.projects;
    });
    afterEach(() => opened.close());

    const listed = (of = project) => store.list(of, { limit: 100 }).items.map((user) => user.id);
    const log = (userId: string, type = "seen", of = project) => store.addEvent(of, userId, { type, data: {} });

    describe("upsert", () => {
      test("makes a user known, with null for what was not given", () => {
        const user = store.upsert(project, { id: "u" });
        expect(user).toEqual({ id: "u", name: null, email: null, metadata: null, createdAt: clock.now() });
        expect(store.get(project, "u")).toEqual(user);
        expect(listed()).toEqual(["u"]);
      });

      test("keeps what is absent, clears what is null, replaces metadata whole; created_at stays", () => {
        const createdAt = clock.now();
        const metadata = { plan: "pro", nested: { list: [1, null, "x", 9_007_199_254_740_991] } };
        store.upsert(project, { id: "u", name: "Ada", email: "ada@example.org", metadata });
        clock.advance(5);
        expect(store.upsert(project, { id: "u" })).toEqual({
          id: "u",
          name: "Ada",
          email: "ada@example.org",
          metadata,
          createdAt,
        });
        expect(store.upsert(project, { id: "u", name: null, metadata: { other: true } })).toEqual({
          id: "u",
          name: null,
          email: "ada@example.org",
          metadata: { other: true },
          createdAt,
        });
        expect(store.upsert(project, { id: "u", email: null, metadata: null })).toEqual({
          id: "u",
          name: null,
          email: null,
          metadata: null,
          createdAt,
        });
      });

      test("tells null from an empty object and an empty text", () => {
        const user = store.upsert(project, { id: "u", name: "", metadata: {} });
        expect(user).toMatchObject({ name: "", metadata: {} });
        expect(store.get(project, "u")).toEqual(user);
      });

      test("does not move a user in the list", () => {
        for (const id of ["a", "b", "a"]) store.upsert(project, { id, name: id });
        expect(listed()).toEqual(["b", "a"]);
      });

      test("compares ids byte for byte", () => {
        for (const id of LIKENESSES) store.upsert(project, { id, name: `name of ${id}` });
        expect(listed()).toEqual(LIKENESSES.toReversed());
        for (const id of LIKENESSES) expect(store.get(project, id)?.name).toBe(`name of ${id}`);
        expect(new Set(LIKENESSES.map((id) => store.keyOf(project, id))).size).toBe(LIKENESSES.length);
      });
    });

    describe("projects", () => {
      test("never see each other's users", () => {
        store.upsert(project, { id: "u", name: "Ada" });
        expect(store.get(other, "u")).toBeNull();
        expect(store.keyOf(other, "u")).toBeNull();
        expect(listed(other)).toEqual([]);
        expect(store.forget(other, "u")).toBe(false);
        store.upsert(other, { id: "u", name: "Grace" });
        expect(store.keyOf(other, "u")).not.toBe(store.keyOf(project, "u"));
        expect(store.get(project, "u")?.name).toBe("Ada");
        expect(store.forget(other, "u")).toBe(true);
        expect(store.get(project, "u")?.name).toBe("Ada");
      });

      test("never see each other's events", () => {
        log("u");
        expect(store.events(other, "u", { limit: 10 }).items).toEqual([]);
        log("u", "seen", other);
        store.removeEvents(other, "u");
        expect(store.events(project, "u", { limit: 10 }).items).toHaveLength(1);
      });
    });

    describe("forget", () => {
      test("says false for who is not known, and forgets once", () => {
        expect(store.forget(project, "u")).toBe(false);
        store.upsert(project, { id: "u" });
        expect(store.forget(project, "u")).toBe(true);
        expect(store.forget(project, "u")).toBe(false);
        expect(store.get(project, "u")).toBeNull();
        expect(listed()).toEqual([]);
      });

      test("leaves the user's key and events", () => {
        const event = log("u");
        const key = store.keyOf(project, "u");
        store.forget(project, "u");
        expect(store.keyOf(project, "u")).toBe(key);
        expect(store.events(project, "u", { limit: 10 }).items).toEqual([event]);
      });

      test("lets a user who is named again begin anew: same key, empty profile, at the head of the list", () => {
        store.upsert(project, { id: "u", name: "Ada", email: "ada@example.org", metadata: { a: 1 } });
        store.upsert(project, { id: "later" });
        const key = store.keyOf(project, "u");
        store.forget(project, "u");
        clock.advance(1_000);
        log("u");
        expect(store.get(project, "u")).toEqual({
          id: "u",
          name: null,
          email: null,
          metadata: null,
          createdAt: clock.now(),
        });
        expect(store.keyOf(project, "u")).toBe(key);
        expect(listed()).toEqual(["u", "later"]);
      });
    });

    describe("events", () => {
      test("are kept as they were logged, newest first, and make the user known", () => {
        const data = { page: "/start", nested: { list: [true, null, 0.5] } };
        const first = store.addEvent(project, "u", { type: "page view", data });
        expect(first).toEqual({ id: first.id, userId: "u", type: "page view", data, createdAt: clock.now() });
        expect(isId("evt", first.id)).toBe(true);
        expect(listed()).toEqual(["u"]);
        clock.advance(1);
        const second = log("u");
        expect(store.events(project, "u", { limit: 10 })).toEqual({ items: [second, first], cursor: null });
      });

      test("can be listed by type", () => {
        const [a, , c] = [log("u", "a"), log("u", "A"), log("u", "a"), log("v", "a")];
        expect(store.events(project, "u", { limit: 10, type: "a" }).items).toEqual([c, a] as UserEvent[]);
        expect(store.events(project, "u", { limit: 10, type: "b" }).items).toEqual([]);
      });

      test("of a user who was never named are none", () => {
        expect(store.events(project, "nobody", { limit: 10 })).toEqual({ items: [], cursor: null });
        expect(store.keyOf(project, "nobody")).toBeNull();
      });

      test("go for good with removeEvents, and nobody else's with them", () => {
        log("u");
        const kept = log("v");
        store.removeEvents(project, "u");
        store.removeEvents(project, "nobody");
        expect(store.events(project, "u", { limit: 10 }).items).toEqual([]);
        expect(store.events(project, "v", { limit: 10 }).items).toEqual([kept]);
        expect(listed()).toEqual(["v", "u"]);
      });
    });

    describe("a cursor", () => {
      const cursorOf = (page: Page<unknown>): string => {
        if (page.cursor === null) throw new Error("the page has no cursor");
        return page.cursor;
      };
      const refused = (read: () => unknown) => {
        try {
          read();
        } catch (error) {
          if (error instanceof Fault) return error.code;
          throw error;
        }
        return "nothing was thrown";
      };

      test("is refused by another project, list, user and type, and when it is damaged", () => {
        for (const of of [project, other]) {
          for (const user of ["u", "v"]) for (const type of ["a", "a", "b", "b"]) log(user, type, of);
        }
        const users = cursorOf(store.list(project, { limit: 1 }));
        const events = cursorOf(store.events(project, "u", { limit: 1 }));
        const typed = cursorOf(store.events(project, "u", { limit: 1, type: "a" }));
        const reads: readonly (() => unknown)[] = [
          () => store.list(other, { limit: 1, cursor: users }),
          () => store.list(project, { limit: 1, cursor: events }),
          () => store.list(project, { limit: 1, cursor: `${users}A` }),
          () => store.list(project, { limit: 1, cursor: "" }),
          () => store.events(project, "u", { limit: 1, cursor: users }),
          () => store.events(other, "u", { limit: 1, cursor: events }),
          () => store.events(project, "v", { limit: 1, cursor: events }),
          () => store.events(project, "u", { limit: 1, cursor: events, type: "a" }),
          () => store.events(project, "u", { limit: 1, cursor: typed, type: "b" }),
          () => store.events(project, "u", { limit: 1, cursor: typed }),
        ];
        expect(reads.map(refused)).toEqual(reads.map(() => "invalid_cursor"));
      });

      test("goes with any limit, and is null at the end", () => {
        for (const id of ["a", "b", "c"]) store.upsert(project, { id });
        const first = store.list(project, { limit: 1 });
        const rest = store.list(project, { limit: 2, cursor: cursorOf(first) });
        expect([...first.items, ...rest.items].map((user) => user.id)).toEqual(["c", "b", "a"]);
        expect(rest.cursor).toBeNull();
      });
    });

    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_122);
    const steps = Number(process.env.MNEME_TEST_STEPS ?? 600);
    test(`answers as the oracle does over ${steps} random steps, pages included (seed ${seed})`, () => {
      new RandomWalk(opened, clock, seeded(seed)).run(steps);
    });
  });
}

/** What a list holds, oldest first; `place` is never given out again. */
type Placed<T> = { readonly place: number; readonly item: T };

/** A list that somebody reads page by page while it changes. */
interface Reader {
  readonly read: (cursor: string | undefined, limit: number) => Page<unknown>;
  readonly all: () => readonly Placed<unknown>[];
  cursor: string | undefined;
  before: number;
}

/** Random operations on a store and on plain lists at once, compared at every step. */
class RandomWalk {
  readonly #users = new Map<string, Placed<User>>();
  #events: (Placed<UserEvent> & { readonly owner: string })[] = [];
  #readers: Reader[] = [];
  #places = 0;

  constructor(
    private readonly opened: OpenedUserStore,
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  run(steps: number): void {
    const operations: readonly (() => void)[] = [
      () => this.#upsert(),
      () => this.#upsert(),
      () => this.#addEvent(),
      () => this.#addEvent(),
      () => this.#addEvent(),
      () => this.#forget(),
      () => this.#removeEvents(),
      () => this.#open(),
      () => this.#readOn(),
      () => this.#readOn(),
      () => this.#readOn(),
      () => this.clock.advance(this.#integer(1_000)),
    ];
    for (let step = 0; step < steps; step++) this.#pick(operations)();
  }

  #upsert(): void {
    const [project, id] = [this.#project(), this.#userId()];
    const draft: UserDraft = {
      id,
      ...(this.#integer(2) === 0 && { name: this.#pick([null, "", "Ada", "Grace"]) }),
      ...(this.#integer(2) === 0 && { email: this.#pick([null, "a@example.org"]) }),
      ...(this.#integer(2) === 0 && { metadata: this.#pick([null, {}, { n: this.#integer(9) }]) }),
    };
    const user = { ...this.#named(project, id).item, ...draft };
    this.#users.set(owner(project, id), { ...this.#named(project, id), item: user });
    expect(this.#store.upsert(project, draft)).toEqual(user);
    expect(this.#store.get(project, id)).toEqual(user);
  }

  #addEvent(): void {
    const [project, userId] = [this.#project(), this.#userId()];
    const { type, data } = { type: this.#pick(["a", "b"]), data: { n: this.#integer(100) } };
    this.#named(project, userId);
    const item = this.#store.addEvent(project, userId, { type, data });
    expect(item).toEqual({ id: item.id, userId, type, data, createdAt: this.clock.now() });
    this.#events.push({ place: this.#nextPlace(), item, owner: owner(project, userId) });
  }

  #forget(): void {
    const [project, userId] = [this.#project(), this.#userId()];
    expect(this.#store.forget(project, userId)).toBe(this.#users.delete(owner(project, userId)));
    expect(this.#store.get(project, userId)).toBeNull();
  }

  #removeEvents(): void {
    if (this.#integer(4) > 0) return;
    const [project, userId] = [this.#project(), this.#userId()];
    this.#store.removeEvents(project, userId);
    this.#events = this.#events.filter((event) => event.owner !== owner(project, userId));
  }

  #open(): void {
    const [project, userId, type] = [this.#project(), this.#userId(), this.#pick([undefined, "a"])];
    const users = () => [...this.#users].filter(([key]) => key.startsWith(project)).map(([, user]) => user);
    const events = () =>
      this.#events.filter(
        (event) => event.owner === owner(project, userId) && (type ?? event.item.type) === event.item.type,
      );
    const isOfUsers = this.#integer(2) === 0;
    this.#readers.push({
      read: (cursor, limit) => {
        const listing = { limit, ...(cursor !== undefined && { cursor }), ...(type !== undefined && { type }) };
        return isOfUsers ? this.#store.list(project, listing) : this.#store.events(project, userId, listing);
      },
      all: isOfUsers ? users : events,
      cursor: undefined,
      before: Number.POSITIVE_INFINITY,
    });
  }

  #readOn(): void {
    const reader = this.#pick(this.#readers);
    if (reader === undefined) return;
    const limit = 1 + this.#integer(3);
    const left = reader
      .all()
      .filter(({ place }) => place < reader.before)
      .sort((a, b) => b.place - a.place);
    const page = reader.read(reader.cursor, limit);
    expect(page.items).toEqual(left.slice(0, limit).map(({ item }) => item));
    expect(page.cursor !== null).toBe(left.length > limit);
    reader.cursor = page.cursor ?? undefined;
    reader.before = left[limit - 1]?.place ?? 0;
    if (page.cursor === null) this.#readers = this.#readers.filter((one) => one !== reader);
  }

  // the user as the plain list knows it, entered at its head where it was not known
  #named(project: ProjectId, id: string): Placed<User> {
    const known = this.#users.get(owner(project, id));
    if (known !== undefined) return known;
    const item = { id, name: null, email: null, metadata: null, createdAt: this.clock.now() };
    const made = { place: this.#nextPlace(), item };
    this.#users.set(owner(project, id), made);
    return made;
  }

  get #store(): UserStore {
    return this.opened.store;
  }

  #project(): ProjectId {
    return this.#pick(this.opened.projects);
  }

  #userId(): string {
    return this.#pick(LIKENESSES);
  }

  #nextPlace(): number {
    this.#places += 1;
    return this.#places;
  }

  #integer(below: number): number {
    return Math.floor(this.random() * below);
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#integer(values.length)] as T;
  }
}

function owner(project: ProjectId, userId: string): string {
  return `${project} ${userId}`;
}
