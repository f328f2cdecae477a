// What IdempotencyStore (`src/ports/idempotency-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type {
  IdempotencySlot,
  IdempotencyStore,
  RememberedAnswer,
  WholeAnswer,
} from "../../src/ports/idempotency-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, inTurn, messageOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { seeded } from "../support/seeded.ts";
import { onEachDatabase } from "./databases.ts";

onEachDatabase("IdempotencyStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let projects: readonly [ProjectId, ProjectId];
  let store: IdempotencyStore;
  let slot: IdempotencySlot;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.idempotency;
    projects = await addTwoProjects(stores);
    slot = { projectId: projects[0], userId: null, route: "POST /v1/memories", key: "k" };
  });
  afterEach(() => stores.close());

  test("an answer is recalled as it was remembered", async () => {
    expect(await store.recall(slot)).toBeNull();
    const answer = { fingerprint: new Uint8Array([0, 255, 7]), status: 202, body: '{"id":"mem_ü😀"}' };
    await store.remember(slot, answer, ["mem_a", "mem_a", "user:ü"]);
    expect(await store.recall(slot)).toEqual(answer);
  });

  test("project, confined user, route and key each distinguish slots", async () => {
    const slots: readonly IdempotencySlot[] = [
      slot,
      { ...slot, projectId: projects[1] },
      { ...slot, userId: "u" },
      { ...slot, userId: "U" },
      { ...slot, route: "POST /v1/chats" },
      { ...slot, key: "K" },
    ];
    await inTurn(slots, async (one, at) => {
      expect(await store.recall(one)).toBeNull();
      await store.remember(one, answerOf(at), []);
    });
    expect(await inTurn(slots, async (one) => (await store.recall(one))?.body)).toEqual(
      slots.map((_, at) => answerOf(at).body),
    );
  });

  test("an answer is recalled for 24 hours, and not longer", async () => {
    await store.remember(slot, answerOf(1), []);
    clock.advance(LIMITS.idempotencyMs);
    expect(await store.recall(slot)).toEqual(answerOf(1));
    clock.advance(1);
    expect(await store.recall(slot)).toBeNull();
  });

  test("an outdated answer is replaced together with its subjects", async () => {
    await store.remember(slot, answerOf(1), ["mem_a", "mem_b"]);
    clock.advance(LIMITS.idempotencyMs + 1);
    await store.remember(slot, answerOf(2), ["mem_c"]);
    expect(await store.recall(slot)).toEqual(answerOf(2));
    expect([await stores.stored("answers"), await stores.stored("subjects")]).toEqual([1, 1]);
    await store.forget(slot.projectId, ["mem_a"]);
    expect(await store.recall(slot)).toEqual(answerOf(2));
  });

  test("a second answer for a slot is refused, and its transaction undone", async () => {
    await store.remember(slot, answerOf(1), []);
    clock.advance(LIMITS.idempotencyMs);
    const elsewhere = { ...slot, key: "other" };
    const twice = () =>
      stores.transactions.run(async ({ idempotency }) => {
        await idempotency.remember(elsewhere, answerOf(2), []);
        await idempotency.remember(slot, answerOf(3), ["mem_a"]);
      });
    expect(await codeOf(twice)).toBe("idempotency_conflict");
    expect(await store.recall(slot)).toEqual(answerOf(1));
    expect(await store.recall(elsewhere)).toBeNull();
    expect(await stores.stored("subjects")).toBe(0);
  });

  test("an answer of an undone transaction is not remembered", async () => {
    const undone = () =>
      stores.transactions.run(async ({ idempotency }) => {
        await idempotency.remember(slot, answerOf(1), ["mem_a"]);
        throw new Error("refused after all");
      });
    expect(await messageOf(undone)).toContain("refused after all");
    expect(await store.recall(slot)).toBeNull();
    expect(await stores.stored("subjects")).toBe(0);
  });

  test("forget clears the bodies of the project's answers with these subjects, and no others; their slots remain occupied", async () => {
    const keys = ["a", "ab", "b", "none"].map((key) => ({ ...slot, key }));
    for (const one of keys) await store.remember(one, answerOf(1), one.key === "none" ? [] : one.key.split(""));
    const foreign = { ...slot, projectId: projects[1] };
    await store.remember(foreign, answerOf(1), ["a"]);
    await store.forget(slot.projectId, []);
    expect(await stores.stored("answers")).toBe(5);
    await store.forget(slot.projectId, ["a", "unknown"]);
    expect(await inTurn(keys, async (one) => await store.recall(one))).toEqual([
      { ...answerOf(1), body: null },
      { ...answerOf(1), body: null },
      answerOf(1),
      answerOf(1),
    ]);
    expect(await store.recall(foreign)).toEqual(answerOf(1));
  });

  test("erasing a memory clears the body of answers about it", async () => {
    const [accepted] = await stores.memories.accept(slot.projectId, [{ content: "a" }]);
    if (accepted === undefined || accepted instanceof Fault) throw new Error("the memory was refused");
    const { id, key } = accepted.memory;
    const [about, other] = [slot, { ...slot, key: "other" }];
    await store.remember(about, answerOf(1), [id, "mem_b"]);
    await store.remember(other, answerOf(2), ["mem_b"]);
    await stores.memories.remove(slot.projectId, id, { purges: true });
    await stores.retirement.markRetracted([key]);
    expect(await store.recall(about)).toEqual(answerOf(1));
    await stores.retirement.erase([key]);
    expect(await inTurn([about, other], (one) => store.recall(one))).toEqual([
      { ...answerOf(1), body: null },
      answerOf(2),
    ]);
  });

  test("prune removes outdated answers, and nothing else", async () => {
    await store.remember(slot, answerOf(1), ["mem_a"]);
    clock.advance(1);
    const younger = { ...slot, key: "younger" };
    await store.remember(younger, answerOf(2), ["mem_b"]);
    clock.advance(LIMITS.idempotencyMs - 1);
    await store.prune();
    expect(await stores.stored("answers")).toBe(2);
    clock.advance(1);
    await store.prune();
    expect([await stores.stored("answers"), await stores.stored("subjects")]).toEqual([1, 1]);
    expect(await store.recall(younger)).toEqual(answerOf(2));
  });

  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_124);
  const steps = Number(process.env.MNEME_TEST_STEPS ?? 400);
  test(`answers as the oracle does over ${steps} random steps (seed ${seed})`, async () => {
    const random = seeded(seed);
    const integer = (below: number) => Math.floor(random() * below);
    const subject = () => `mem_${integer(6)}`;
    let remembered: { slot: IdempotencySlot; answer: RememberedAnswer; subjects: string[]; at: number }[] = [];
    const isOld = (at: number) => at < clock.now() - LIMITS.idempotencyMs;
    for (let step = 0; step < steps; step++) {
      const projectId = projects[integer(2)] ?? slot.projectId;
      const one = { ...slot, projectId, userId: integer(2) === 0 ? null : "u", key: `k${integer(4)}` };
      const found = remembered.find((other) => Bun.deepEquals(other.slot, one) && !isOld(other.at));
      expect(await store.recall(one)).toEqual(found?.answer ?? null);
      const action = integer(8);
      if (action === 0) {
        const subjects = [subject(), subject()];
        await store.forget(projectId, subjects);
        remembered = remembered.map((other) =>
          other.slot.projectId === projectId && other.subjects.some((name) => subjects.includes(name))
            ? { ...other, answer: { ...other.answer, body: null } }
            : other,
        );
      } else if (action === 1) {
        await store.prune();
        remembered = remembered.filter((other) => !isOld(other.at));
        expect(await stores.stored("answers")).toBe(remembered.length);
      } else if (action === 2) clock.advance(integer(LIMITS.idempotencyMs / 2));
      else if (found === undefined) {
        const [answer, subjects] = [answerOf(step), [subject(), subject()]];
        await store.remember(one, answer, subjects);
        remembered = remembered.filter((other) => !Bun.deepEquals(other.slot, one));
        remembered.push({ slot: one, answer, subjects, at: clock.now() });
      }
    }
  });
});

function answerOf(step: number): WholeAnswer {
  return { fingerprint: new Uint8Array(32).fill(step % 256), status: 201, body: `{"step":${step}}` };
}
