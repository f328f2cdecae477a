// What every IdempotencyStore owes (src/ports/idempotency-store.ts), as tests: each implementation passes them with its own
// `open`.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type {
  IdempotencySlot,
  IdempotencyStore,
  RememberedAnswer,
  WholeAnswer,
} from "../../src/ports/idempotency-store.ts";
import type { Transactions } from "../../src/ports/transactions.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";

/** An empty store with two projects. */
export interface OpenedIdempotencyStore {
  readonly store: IdempotencyStore;
  readonly transactions: Transactions;
  readonly projects: readonly [ProjectId, ProjectId];
  /** Answers that are stored, those that are too old included. */
  storedAnswers(): number;
  /** Subjects that are stored, of any answer. */
  storedSubjects(): number;
  close(): void;
}

/** Runs the contract against the stores that `open` makes. */
export function idempotencyStoreContract(name: string, open: (clock: Clock) => OpenedIdempotencyStore): void {
  describe(`${name} as IdempotencyStore`, () => {
    let clock: ManualClock;
    let opened: OpenedIdempotencyStore;
    let store: IdempotencyStore;
    let slot: IdempotencySlot;

    beforeEach(() => {
      clock = new ManualClock();
      opened = open(clock);
      store = opened.store;
      slot = { projectId: opened.projects[0], userId: null, route: "POST /v1/memories", key: "k" };
    });
    afterEach(() => opened.close());

    test("an answer comes back as it was remembered", () => {
      expect(store.recall(slot)).toBeNull();
      const answer = { fingerprint: new Uint8Array([0, 255, 7]), status: 202, body: '{"id":"mem_ü😀"}' };
      store.remember(slot, answer, ["mem_a", "mem_a", "user:ü"]);
      expect(store.recall(slot)).toEqual(answer);
    });

    test("project, confined user, route and key each make a slot of their own", () => {
      const slots: readonly IdempotencySlot[] = [
        slot,
        { ...slot, projectId: opened.projects[1] },
        { ...slot, userId: "u" },
        { ...slot, userId: "U" },
        { ...slot, route: "POST /v1/chats" },
        { ...slot, key: "K" },
      ];
      slots.forEach((one, at) => {
        expect(store.recall(one)).toBeNull();
        store.remember(one, answerOf(at), []);
      });
      expect(slots.map((one) => store.recall(one)?.body)).toEqual(slots.map((_, at) => answerOf(at).body));
    });

    test("an answer is recalled for 24 hours, and not longer", () => {
      store.remember(slot, answerOf(1), []);
      clock.advance(LIMITS.idempotencyMs);
      expect(store.recall(slot)).toEqual(answerOf(1));
      clock.advance(1);
      expect(store.recall(slot)).toBeNull();
    });

    test("an answer that is too old is replaced, its subjects with it", () => {
      store.remember(slot, answerOf(1), ["mem_a", "mem_b"]);
      clock.advance(LIMITS.idempotencyMs + 1);
      store.remember(slot, answerOf(2), ["mem_c"]);
      expect(store.recall(slot)).toEqual(answerOf(2));
      expect([opened.storedAnswers(), opened.storedSubjects()]).toEqual([1, 1]);
      store.forget(slot.projectId, ["mem_a"]);
      expect(store.recall(slot)).toEqual(answerOf(2));
    });

    test("a second answer for a slot is refused, and the change that it answers undone", () => {
      store.remember(slot, answerOf(1), []);
      clock.advance(LIMITS.idempotencyMs);
      const elsewhere = { ...slot, key: "other" };
      const twice = () =>
        opened.transactions.atomically(() => {
          store.remember(elsewhere, answerOf(2), []);
          store.remember(slot, answerOf(3), ["mem_a"]);
        });
      expect(twice).toThrow("this is a bug in Mneme");
      expect(store.recall(slot)).toEqual(answerOf(1));
      expect(store.recall(elsewhere)).toBeNull();
      expect(opened.storedSubjects()).toBe(0);
    });

    test("what is remembered in a transaction that is undone is not remembered", () => {
      const undone = () =>
        opened.transactions.atomically(() => {
          store.remember(slot, answerOf(1), ["mem_a"]);
          throw new Error("refused after all");
        });
      expect(undone).toThrow("refused after all");
      expect(store.recall(slot)).toBeNull();
      expect(opened.storedSubjects()).toBe(0);
    });

    test("forget empties each answer of the project that speaks of a subject, and no other; slots stay taken", () => {
      const keys = ["a", "ab", "b", "none"].map((key) => ({ ...slot, key }));
      for (const one of keys) store.remember(one, answerOf(1), one.key === "none" ? [] : one.key.split(""));
      const foreign = { ...slot, projectId: opened.projects[1] };
      store.remember(foreign, answerOf(1), ["a"]);
      store.forget(slot.projectId, []);
      expect(opened.storedAnswers()).toBe(5);
      store.forget(slot.projectId, ["a", "unknown"]);
      expect(keys.map((one) => store.recall(one))).toEqual([
        { ...answerOf(1), body: null },
        { ...answerOf(1), body: null },
        answerOf(1),
        answerOf(1),
      ]);
      expect(store.recall(foreign)).toEqual(answerOf(1));
    });

    test("prune removes what is too old to be recalled, and nothing else", () => {
      store.remember(slot, answerOf(1), ["mem_a"]);
      clock.advance(1);
      const younger = { ...slot, key: "younger" };
      store.remember(younger, answerOf(2), ["mem_b"]);
      clock.advance(LIMITS.idempotencyMs - 1);
      store.prune();
      expect(opened.storedAnswers()).toBe(2);
      clock.advance(1);
      store.prune();
      expect([opened.storedAnswers(), opened.storedSubjects()]).toEqual([1, 1]);
      expect(store.recall(younger)).toEqual(answerOf(2));
    });

    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_124);
    const steps = Number(process.env.MNEME_TEST_STEPS ?? 400);
    test(`answers as the oracle does over ${steps} random steps (seed ${seed})`, () => {
      const random = seeded(seed);
      const integer = (below: number) => Math.floor(random() * below);
      const subject = () => `mem_${integer(6)}`;
      let remembered: { slot: IdempotencySlot; answer: RememberedAnswer; subjects: string[]; at: number }[] = [];
      const isOld = (at: number) => at < clock.now() - LIMITS.idempotencyMs;
      for (let step = 0; step < steps; step++) {
        const projectId = opened.projects[integer(2)] ?? slot.projectId;
        const one = { ...slot, projectId, userId: integer(2) === 0 ? null : "u", key: `k${integer(4)}` };
        const found = remembered.find((other) => Bun.deepEquals(other.slot, one) && !isOld(other.at));
        expect(store.recall(one)).toEqual(found?.answer ?? null);
        const action = integer(8);
        if (action === 0) {
          const subjects = [subject(), subject()];
          store.forget(projectId, subjects);
          remembered = remembered.map((other) =>
            other.slot.projectId === projectId && other.subjects.some((name) => subjects.includes(name))
              ? { ...other, answer: { ...other.answer, body: null } }
              : other,
          );
        } else if (action === 1) {
          store.prune();
          remembered = remembered.filter((other) => !isOld(other.at));
          expect(opened.storedAnswers()).toBe(remembered.length);
        } else if (action === 2) clock.advance(integer(LIMITS.idempotencyMs / 2));
        else if (found === undefined) {
          const [answer, subjects] = [answerOf(step), [subject(), subject()]];
          store.remember(one, answer, subjects);
          remembered = remembered.filter((other) => !Bun.deepEquals(other.slot, one));
          remembered.push({ slot: one, answer, subjects, at: clock.now() });
        }
      }
    });
  });
}

function answerOf(step: number): WholeAnswer {
  return { fingerprint: new Uint8Array(32).fill(step % 256), status: 201, body: `{"step":${step}}` };
}
