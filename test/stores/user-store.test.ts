// What UserStore (`src/ports/user-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { isId, type ProjectId } from "../../src/domain/ids.ts";
import type { Page } from "../../src/domain/page.ts";
import type { User, UserDraft, UserEvent } from "../../src/domain/user.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { UserStore } from "../../src/ports/user-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, inTurn, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { seeded } from "../support/seeded.ts";
import { onEachDatabase } from "./databases.ts";

/** User ids that a store could confuse with one another or with a special value. */
const SIMILAR_IDS = ["u", "U", "u ", " u", "é", "e\u0301", "ß", "ss", "'; --", '["u"]', "%", "_", "😀", "0", "null"];

onEachDatabase("UserStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: UserStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.users;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const listed = async (of = project) => (await store.list(of, { limit: 100 })).items.map((user) => user.id);
  const log = async (userId: string, type = "seen", of = project) =>
    await store.addEvent(of, userId, { type, data: {} });

  describe("upsert", () => {
    test("makes a user known, with null for fields that were not given", async () => {
      const user = await store.upsert(project, { id: "u" });
      expect(user).toEqual({
        id: "u",
        name: null,
        email: null,
        metadata: null,
        timeZone: null,
        createdAt: clock.now(),
      });
      expect(await store.get(project, "u")).toEqual(user);
      expect(await listed()).toEqual(["u"]);
    });

    test("keeps fields that are absent, clears those that are null, replaces metadata as a whole, and keeps created_at", async () => {
      const createdAt = clock.now();
      const metadata = { plan: "pro", nested: { list: [1, null, "x", 9_007_199_254_740_991] } };
      await store.upsert(project, { id: "u", name: "Ada", email: "ada@example.org", metadata });
      clock.advance(5);
      expect(await store.upsert(project, { id: "u" })).toEqual({
        id: "u",
        name: "Ada",
        email: "ada@example.org",
        metadata,
        timeZone: null,
        createdAt,
      });
      expect(await store.upsert(project, { id: "u", name: null, metadata: { other: true } })).toEqual({
        id: "u",
        name: null,
        email: "ada@example.org",
        metadata: { other: true },
        timeZone: null,
        createdAt,
      });
      expect(await store.upsert(project, { id: "u", email: null, metadata: null })).toEqual({
        id: "u",
        name: null,
        email: null,
        metadata: null,
        timeZone: null,
        createdAt,
      });
    });

    test("distinguishes null from an empty object and an empty text", async () => {
      const user = await store.upsert(project, { id: "u", name: "", metadata: {} });
      expect(user).toMatchObject({ name: "", metadata: {} });
      expect(await store.get(project, "u")).toEqual(user);
    });

    test("does not move a user in the list", async () => {
      for (const id of ["a", "b", "a"]) await store.upsert(project, { id, name: id });
      expect(await listed()).toEqual(["b", "a"]);
    });

    test("compares ids byte for byte", async () => {
      for (const id of SIMILAR_IDS) await store.upsert(project, { id, name: `name of ${id}` });
      expect(await listed()).toEqual(SIMILAR_IDS.toReversed());
      for (const id of SIMILAR_IDS) expect((await store.get(project, id))?.name).toBe(`name of ${id}`);
      expect(new Set(await inTurn(SIMILAR_IDS, async (id) => await stores.memories.userKey(project, id))).size).toBe(
        SIMILAR_IDS.length,
      );
    });
  });

  describe("projects", () => {
    test("never see each other's users", async () => {
      await store.upsert(project, { id: "u", name: "Ada" });
      expect(await store.get(other, "u")).toBeNull();
      expect(await stores.memories.userKey(other, "u")).toBeNull();
      expect(await listed(other)).toEqual([]);
      expect(await store.forget(other, "u")).toBe(false);
      await store.upsert(other, { id: "u", name: "Grace" });
      expect(await stores.memories.userKey(other, "u")).not.toBe(await stores.memories.userKey(project, "u"));
      expect((await store.get(project, "u"))?.name).toBe("Ada");
      expect(await store.forget(other, "u")).toBe(true);
      expect((await store.get(project, "u"))?.name).toBe("Ada");
    });

    test("never see each other's events", async () => {
      await log("u");
      expect((await store.events(other, "u", { limit: 10 })).items).toEqual([]);
      await log("u", "seen", other);
      await store.removeEvents(other, "u");
      expect((await store.events(project, "u", { limit: 10 })).items).toHaveLength(1);
    });
  });

  describe("forget", () => {
    test("returns false for a user who is not known, and forgets only once", async () => {
      expect(await store.forget(project, "u")).toBe(false);
      await store.upsert(project, { id: "u" });
      expect(await store.forget(project, "u")).toBe(true);
      expect(await store.forget(project, "u")).toBe(false);
      expect(await store.get(project, "u")).toBeNull();
      expect(await listed()).toEqual([]);
    });

    test("keeps the user's key and events", async () => {
      const event = await log("u");
      const key = await stores.memories.userKey(project, "u");
      await store.forget(project, "u");
      expect(await stores.memories.userKey(project, "u")).toBe(key);
      expect((await store.events(project, "u", { limit: 10 })).items).toEqual([event]);
    });

    test("a forgotten user who is mentioned again has the same key, an empty profile, and is first in the list", async () => {
      await store.upsert(project, { id: "u", name: "Ada", email: "ada@example.org", metadata: { a: 1 } });
      await store.upsert(project, { id: "later" });
      const key = await stores.memories.userKey(project, "u");
      await store.forget(project, "u");
      clock.advance(1_000);
      await log("u");
      expect(await store.get(project, "u")).toEqual({
        id: "u",
        name: null,
        email: null,
        metadata: null,
        timeZone: null,
        createdAt: clock.now(),
      });
      expect(await stores.memories.userKey(project, "u")).toBe(key);
      expect(await listed()).toEqual(["u", "later"]);
    });
  });

  describe("events", () => {
    test("are stored unchanged, newest first, and make the user known", async () => {
      const data = { page: "/start", nested: { list: [true, null, 0.5] } };
      const first = await store.addEvent(project, "u", { type: "page view", data });
      expect(first).toEqual({ id: first.id, userId: "u", type: "page view", data, createdAt: clock.now() });
      expect(isId("evt", first.id)).toBe(true);
      expect(await listed()).toEqual(["u"]);
      clock.advance(1);
      const second = await log("u");
      expect(await store.events(project, "u", { limit: 10 })).toEqual({ items: [second, first], cursor: null });
    });

    test("can be listed by type", async () => {
      const [a, , c] = [await log("u", "a"), await log("u", "A"), await log("u", "a"), await log("v", "a")];
      expect((await store.events(project, "u", { limit: 10, type: "a" })).items).toEqual([c, a] as UserEvent[]);
      expect((await store.events(project, "u", { limit: 10, type: "b" })).items).toEqual([]);
    });

    test("are empty for a user who was never mentioned", async () => {
      expect(await store.events(project, "nobody", { limit: 10 })).toEqual({ items: [], cursor: null });
      expect(await stores.memories.userKey(project, "nobody")).toBeNull();
    });

    test("are removed for good by removeEvents, and no other user's with them", async () => {
      await log("u");
      const kept = await log("v");
      await store.removeEvents(project, "u");
      await store.removeEvents(project, "nobody");
      expect((await store.events(project, "u", { limit: 10 })).items).toEqual([]);
      expect((await store.events(project, "v", { limit: 10 })).items).toEqual([kept]);
      expect(await listed()).toEqual(["v", "u"]);
    });
  });

  describe("a cursor", () => {
    const cursorOf = (page: Page<unknown>): string => {
      if (page.cursor === null) throw new Error("the page has no cursor");
      return page.cursor;
    };
    test("is refused for another project, list, user or type, and if it is damaged", async () => {
      for (const of of [project, other]) {
        for (const user of ["u", "v"]) for (const type of ["a", "a", "b", "b"]) await log(user, type, of);
      }
      const users = cursorOf(await store.list(project, { limit: 1 }));
      const events = cursorOf(await store.events(project, "u", { limit: 1 }));
      const typed = cursorOf(await store.events(project, "u", { limit: 1, type: "a" }));
      const reads: readonly (() => unknown)[] = [
        async () => await store.list(other, { limit: 1, cursor: users }),
        async () => await store.list(project, { limit: 1, cursor: events }),
        async () => await store.list(project, { limit: 1, cursor: `${users}A` }),
        async () => await store.list(project, { limit: 1, cursor: "" }),
        async () => await store.events(project, "u", { limit: 1, cursor: users }),
        async () => await store.events(other, "u", { limit: 1, cursor: events }),
        async () => await store.events(project, "v", { limit: 1, cursor: events }),
        async () => await store.events(project, "u", { limit: 1, cursor: events, type: "a" }),
        async () => await store.events(project, "u", { limit: 1, cursor: typed, type: "b" }),
        async () => await store.events(project, "u", { limit: 1, cursor: typed }),
      ];
      expect(await inTurn(reads, codeOf)).toEqual(reads.map(() => "invalid_cursor"));
    });

    test("can be combined with any limit, and is null at the end", async () => {
      for (const id of ["a", "b", "c"]) await store.upsert(project, { id });
      const first = await store.list(project, { limit: 1 });
      const rest = await store.list(project, { limit: 2, cursor: cursorOf(first) });
      expect([...first.items, ...rest.items].map((user) => user.id)).toEqual(["c", "b", "a"]);
      expect(rest.cursor).toBeNull();
    });
  });

  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_122);
  const steps = Number(process.env.MNEME_TEST_STEPS ?? 600);
  test(`answers as the oracle does over ${steps} random steps, pages included (seed ${seed})`, async () => {
    await new RandomWalk(store, [project, other], clock, await seeded(seed)).run(steps);
  });
});

/** An item of a list. `place` grows with every item and is never reused. */
type Placed<T> = { readonly place: number; readonly item: T };

/** A list that is read page by page while it changes. */
interface Reader {
  readonly read: (cursor: string | undefined, limit: number) => Eventually<Page<unknown>>;
  readonly all: () => readonly Placed<unknown>[];
  cursor: string | undefined;
  before: number;
}

/** Performs random operations on a store and on plain lists, and compares both at every step. */
class RandomWalk {
  readonly #users = new Map<string, Placed<User>>();
  #events: (Placed<UserEvent> & { readonly owner: string })[] = [];
  #readers: Reader[] = [];
  #places = 0;

  constructor(
    private readonly store: UserStore,
    private readonly projects: readonly ProjectId[],
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  async run(steps: number): Promise<void> {
    const operations: readonly (() => unknown)[] = [
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
    for (let step = 0; step < steps; step++) await this.#pick(operations)();
  }

  async #upsert(): Promise<void> {
    const [project, id] = [this.#project(), this.#userId()];
    const draft: UserDraft = {
      id,
      ...(this.#integer(2) === 0 && { name: this.#pick([null, "", "Ada", "Grace"]) }),
      ...(this.#integer(2) === 0 && { email: this.#pick([null, "a@example.org"]) }),
      ...(this.#integer(2) === 0 && { metadata: this.#pick([null, {}, { n: this.#integer(9) }]) }),
      ...(this.#integer(2) === 0 && { timeZone: this.#pick([null, "Asia/Tokyo", "Europe/Rome"]) }),
    };
    const user = { ...this.#named(project, id).item, ...draft };
    this.#users.set(owner(project, id), { ...this.#named(project, id), item: user });
    expect(await this.store.upsert(project, draft)).toEqual(user);
    expect(await this.store.get(project, id)).toEqual(user);
  }

  async #addEvent(): Promise<void> {
    const [project, userId] = [this.#project(), this.#userId()];
    const { type, data } = { type: this.#pick(["a", "b"]), data: { n: this.#integer(100) } };
    this.#named(project, userId);
    const item = await this.store.addEvent(project, userId, { type, data });
    expect(item).toEqual({ id: item.id, userId, type, data, createdAt: this.clock.now() });
    this.#events.push({ place: this.#nextPlace(), item, owner: owner(project, userId) });
  }

  async #forget(): Promise<void> {
    const [project, userId] = [this.#project(), this.#userId()];
    expect(await this.store.forget(project, userId)).toBe(this.#users.delete(owner(project, userId)));
    expect(await this.store.get(project, userId)).toBeNull();
  }

  async #removeEvents(): Promise<void> {
    if (this.#integer(4) > 0) return;
    const [project, userId] = [this.#project(), this.#userId()];
    await this.store.removeEvents(project, userId);
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
      read: async (cursor, limit) => {
        const listing = { limit, ...(cursor !== undefined && { cursor }), ...(type !== undefined && { type }) };
        return isOfUsers ? await this.store.list(project, listing) : await this.store.events(project, userId, listing);
      },
      all: isOfUsers ? users : events,
      cursor: undefined,
      before: Number.POSITIVE_INFINITY,
    });
  }

  async #readOn(): Promise<void> {
    const reader = this.#pick(this.#readers);
    if (reader === undefined) return;
    const limit = 1 + this.#integer(3);
    const left = reader
      .all()
      .filter(({ place }) => place < reader.before)
      .sort((a, b) => b.place - a.place);
    const page = await reader.read(reader.cursor, limit);
    expect(page.items).toEqual(left.slice(0, limit).map(({ item }) => item));
    expect(page.cursor !== null).toBe(left.length > limit);
    reader.cursor = page.cursor ?? undefined;
    reader.before = left[limit - 1]?.place ?? 0;
    if (page.cursor === null) this.#readers = this.#readers.filter((one) => one !== reader);
  }

  // The user in the plain list. A user that is missing is added as the newest one.
  #named(project: ProjectId, id: string): Placed<User> {
    const known = this.#users.get(owner(project, id));
    if (known !== undefined) return known;
    const item = { id, name: null, email: null, metadata: null, timeZone: null, createdAt: this.clock.now() };
    const made = { place: this.#nextPlace(), item };
    this.#users.set(owner(project, id), made);
    return made;
  }

  #project(): ProjectId {
    return this.#pick(this.projects);
  }

  #userId(): string {
    return this.#pick(SIMILAR_IDS);
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
