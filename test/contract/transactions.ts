// Contract of Transactions (src/ports/transactions.ts). Every implementation must pass it; `open` creates the one to
// test.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { MemoryDraft } from "../../src/domain/memory.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { Transaction, Transactions } from "../../src/ports/transactions.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";
import {
  addProject,
  addTwoProjects,
  codeOf,
  EventReader,
  errorOf,
  inTurn,
  messageOf,
  type StoreSurroundings,
  type TransactionalStores,
  times,
} from "./stores.ts";

/** Runs the contract against the stores that `open` makes. */
export function transactionsContract(
  implementation: string,
  open: (surroundings: StoreSurroundings) => Eventually<TransactionalStores>,
): void {
  describe(`${implementation} as Transactions`, () => {
    let stores: TransactionalStores;
    let transactions: Transactions;
    let project: ProjectId;
    let other: ProjectId;
    let deliveryCalls: number;
    let effectFailures: unknown[];

    beforeEach(async () => {
      deliveryCalls = 0;
      effectFailures = [];
      stores = await open({
        clock: new ManualClock(),
        describe: ({ id, title }) => ({ id, title }),
        onDeliveries: () => {
          deliveryCalls += 1;
        },
        onEffectFailure: (error) => effectFailures.push(error),
      });
      ({ transactions } = stores);
      [project, other] = await addTwoProjects(stores);
    });
    afterEach(() => stores.close());

    const userIds = async (of = project) => (await stores.users.list(of, { limit: 100 })).items.map(({ id }) => id);
    const upsert = (to: Pick<Transaction, "users">, id: string) => to.users.upsert(project, { id });
    /** Reads many times. When it returns, all earlier calls that need not wait for a transaction have ended. */
    const readForAWhile = () => times(20, () => userIds());

    describe("the work of a transaction", () => {
      test("changes several stores together, and returns its result", async () => {
        const result = await transactions.run(async (tx) => {
          await upsert(tx, "u");
          const chat = await tx.chats.create(project, { userId: "u", title: "hello" });
          await tx.memories.accept(other, [{ content: "a" }]);
          return chat.id;
        });
        expect(await userIds()).toEqual(["u"]);
        expect((await stores.chats.get(project, result))?.title).toBe("hello");
        expect((await stores.memories.list(other, { limit: 9 })).items).toHaveLength(1);
        expect(await transactions.run(() => "at once")).toBe("at once");
      });

      test("sees its own changes, and those that were committed before", async () => {
        await upsert(stores, "before");
        await transactions.run(async (tx) => {
          await upsert(tx, "inside");
          const listed = await tx.users.list(project, { limit: 9 });
          expect(listed.items.map(({ id }) => id)).toEqual(["inside", "before"]);
          expect((await tx.users.get(project, "inside"))?.name).toBeNull();
        });
      });

      test("that throws or rejects changes nothing, and run rejects with its error", async () => {
        const failure = new Error("changed my mind");
        const works: readonly ((tx: Transaction) => unknown)[] = [
          () => {
            throw failure;
          },
          async (tx) => {
            await upsert(tx, "u");
            throw failure;
          },
          async (tx) => {
            await tx.accounts.changeProject(project, { name: "renamed" });
            await tx.memories.accept(project, [{ content: "a", userId: "u" }]);
            await tx.webhooks.create(project, WEBHOOK);
            await tx.idempotency.remember(slotOf(project), ANSWER, []);
            await tx.jobs.claim({ jobs: 1, contentBytes: 9, leaseMs: 9 });
            throw failure;
          },
        ];
        for (const work of works) expect(await errorOf(() => transactions.run(work))).toBe(failure);
        expect(await userIds()).toEqual([]);
        expect(await stores.memories.userKey(project, "u")).toBeNull();
        expect((await stores.accounts.project(project))?.name).toBe("some project");
        expect((await stores.memories.list(project, { limit: 9 })).items).toEqual([]);
        expect((await stores.webhooks.list(project, { limit: 9 })).items).toEqual([]);
        expect(await stores.idempotency.recall(slotOf(project))).toBeNull();
        expect(await stores.jobs.nextJobInMs()).toBeNull();
      });

      test("is called once, also if it fails", async () => {
        let calls = 0;
        const fail = () => {
          calls += 1;
          throw new Error("changed my mind");
        };
        expect(await messageOf(() => transactions.run(fail))).toBe("changed my mind");
        await transactions.run(async (tx) => {
          calls += 1;
          await upsert(tx, "u");
        });
        expect([calls, await userIds()]).toEqual([2, ["u"]]);
      });

      test("is undone if a store refuses a call", async () => {
        const refused = transactions.run(async (tx) => {
          await upsert(tx, "u");
          await tx.accounts.usage("prj_nowhere" as ProjectId);
        });
        expect(await codeOf(() => refused)).toBe("project_not_found");
        expect(await userIds()).toEqual([]);
      });

      test("can continue after a call threw: only that call is undone", async () => {
        const broken: MemoryDraft = {
          get content(): string {
            throw new Error("this draft cannot be read");
          },
        };
        await transactions.run(async (tx) => {
          await upsert(tx, "before");
          const drafts = [{ content: "a", userId: "undone" }, broken];
          expect(await messageOf(() => tx.memories.accept(project, drafts))).toContain("cannot be read");
          await upsert(tx, "after");
        });
        expect(await userIds()).toEqual(["after", "before"]);
        expect((await stores.memories.list(project, { limit: 9 })).items).toEqual([]);
      });
    });

    describe("a call outside the transaction", () => {
      test("sees no change before the commit, even while the work waits", async () => {
        await transactions.run(async (tx) => {
          for (let step = 0; step < 5; step++) {
            await upsert(tx, `u${step}`);
            expect(await userIds()).toEqual([]);
          }
        });
        expect(await userIds()).toHaveLength(5);
      });

      test("does not wait for an open transaction if it reads, but waits if it changes something of the same project", async () => {
        const [opened, closing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const running = transactions.run(async (tx) => {
          await upsert(tx, "inside");
          opened.resolve();
          await closing.promise;
        });
        await opened.promise;
        const ended: string[] = [];
        const changes = [
          (async () => {
            await upsert(stores, "outside");
            ended.push("change");
          })(),
          (async () => {
            await transactions.run((tx) => tx.users.get(project, "inside"));
            ended.push("transaction");
          })(),
        ];
        expect(await readForAWhile()).toEqual(Array(20).fill([]));
        expect(ended).toEqual([]);
        closing.resolve();
        await running;
        await Promise.all(changes);
        expect(ended.sort()).toEqual(["change", "transaction"]);
        expect(await userIds()).toEqual(["outside", "inside"]);
      });

      test("that waits with a change continues after a transaction that is undone", async () => {
        const failing = transactions.run(async (tx) => {
          await upsert(tx, "inside");
          throw new Error("changed my mind");
        });
        const waiting = upsert(stores, "outside");
        expect(await messageOf(() => failing)).toBe("changed my mind");
        await waiting;
        expect(await userIds()).toEqual(["outside"]);
      });
    });

    test("transactions of the same project take effect one after the other", async () => {
      await upsert(stores, "u");
      const increment = () =>
        transactions.run(async (tx) => {
          const count = Number((await tx.users.get(project, "u"))?.metadata?.count ?? 0);
          await tx.users.get(other, "u");
          await tx.users.upsert(project, { id: "u", metadata: { count: count + 1 } });
        });
      await Promise.all(Array.from({ length: 20 }, increment));
      expect((await stores.users.get(project, "u"))?.metadata).toEqual({ count: 20 });
    });

    describe("effects", () => {
      test("run after the commit and before the result, one after the other in their order", async () => {
        const log: string[] = [];
        const result = await transactions.run(async (tx) => {
          tx.afterCommit(async () => {
            log.push(`first sees ${(await userIds()).join()}`);
            await readForAWhile();
            log.push("first ends");
          });
          await upsert(tx, "u");
          tx.afterCommit(() => {
            log.push("second");
          });
          log.push("work ends");
          return "result";
        });
        log.push(result);
        expect(log).toEqual(["work ends", "first sees u", "first ends", "second", "result"]);
      });

      test("of several transactions run in the order of their commits", async () => {
        const log: string[] = [];
        const run = (name: string) =>
          transactions.run(async (tx) => {
            await upsert(tx, name);
            log.push(`${name} begins`);
            for (const effect of ["a", "b"]) {
              tx.afterCommit(async () => {
                await userIds();
                log.push(`${name}${effect}`);
              });
            }
          });
        await Promise.all(["x", "y", "z"].map(run));
        const order = log.filter((line) => line.endsWith("begins")).map(([name]) => name ?? "");
        expect(log).toEqual(order.flatMap((name) => [`${name} begins`, `${name}a`, `${name}b`]));
      });

      test("do not run if the transaction is undone", async () => {
        const log: string[] = [];
        const undone = transactions.run(async (tx) => {
          tx.afterCommit(() => {
            log.push("effect");
          });
          await upsert(tx, "u");
          throw new Error("changed my mind");
        });
        expect(await messageOf(() => undone)).toBe("changed my mind");
        await transactions.run(() => undefined);
        expect(log).toEqual([]);
      });

      test("that fail are reported; the transaction stands, and the other effects run", async () => {
        const [thrown, rejected] = [new Error("thrown"), new Error("rejected")];
        const log: string[] = [];
        const result = await transactions.run(async (tx) => {
          await upsert(tx, "u");
          tx.afterCommit(() => {
            throw thrown;
          });
          tx.afterCommit(async () => {
            await userIds();
            throw rejected;
          });
          tx.afterCommit(() => {
            log.push("third");
          });
          return "result";
        });
        expect([result, ...log]).toEqual(["result", "third"]);
        expect(effectFailures).toEqual([thrown, rejected]);
        expect(await userIds()).toEqual(["u"]);
      });
    });

    test("a transaction refuses every call after its end, whether it was committed or undone", async () => {
      const kept: Transaction[] = [];
      await transactions.run((tx) => {
        kept.push(tx);
      });
      const undone = transactions.run((tx) => {
        kept.push(tx);
        throw new Error("changed my mind");
      });
      await errorOf(() => undone);
      const uses: readonly ((tx: Transaction) => unknown)[] = [
        (tx) => upsert(tx, "late"),
        (tx) => tx.users.get(project, "late"),
        (tx) => tx.afterCommit(() => undefined),
      ];
      for (const tx of kept) {
        for (const use of uses) expect(await messageOf(() => use(tx))).toContain("used after its end");
      }
      expect(await userIds()).toEqual([]);
    });

    test("a store of a transaction that was kept is refused after the end, also while another transaction is open", async () => {
      const { users } = await transactions.run((tx) => ({ users: tx.users }));
      expect(await messageOf(() => upsert({ users }, "late"))).toContain("used after its end");
      const undone = transactions.run(async (tx) => {
        await upsert(tx, "inside");
        expect(await messageOf(() => upsert({ users }, "late"))).toContain("used after its end");
        throw new Error("changed my mind");
      });
      expect(await messageOf(() => undone)).toBe("changed my mind");
      expect(await userIds()).toEqual([]);
    });

    describe("deliveries of events", () => {
      test("appear with the commit and are announced after it", async () => {
        await stores.webhooks.create(project, WEBHOOK);
        const [accepted] = await stores.memories.accept(project, [{ content: "a" }]);
        const due = async () => (await stores.webhooks.due(9, new Set())).length;
        await transactions.run(async (tx) => {
          const id = accepted !== undefined && "memory" in accepted ? accepted.memory.id : null;
          if (id === null) throw new Error("nothing was accepted");
          await tx.memories.change(project, id, { title: "new" });
          expect((await tx.webhooks.due(9, new Set())).length).toBe(1);
          expect([await due(), deliveryCalls]).toEqual([0, 0]);
        });
        expect([await due(), deliveryCalls]).toEqual([1, 1]);
      });

      test("of an undone transaction do not exist, and none is announced", async () => {
        const reader = await EventReader.subscribe(stores, [project]);
        const undone = transactions.run(async (tx) => {
          const [accepted] = await tx.memories.accept(project, [{ content: "a" }]);
          if (accepted === undefined || !("memory" in accepted)) throw new Error("nothing was accepted");
          await tx.memories.remove(project, accepted.memory.id);
          throw new Error("changed my mind");
        });
        expect(await messageOf(() => undone)).toBe("changed my mind");
        expect(await reader.read()).toEqual([]);
        expect(deliveryCalls).toBe(0);
      });
    });

    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_125);
    const rounds = Number(process.env.MNEME_TEST_STEPS ?? 60);
    test(`readers see only complete transactions, even if some fail (${rounds} rounds, seed ${seed})`, async () => {
      const random = seeded(seed);
      const ids = ["a", "b", "c", "d"];
      const home = await addProject(stores);
      await inTurn(ids, (id) => stores.users.upsert(home, { id, metadata: { balance: 10 } }));
      const balanceOf = (metadata: unknown) => (metadata as { readonly balance: number }).balance;
      const total = async () =>
        (await stores.users.list(home, { limit: 9 })).items.reduce((sum, user) => sum + balanceOf(user.metadata), 0);
      const pick = () => ids[Math.floor(random() * ids.length)] ?? "a";
      let committed = 0;
      const transfer = async () => {
        const [from, to, fails] = [pick(), pick(), random() < 0.3];
        try {
          await transactions.run(async (tx) => {
            for (const [id, amount] of [[from, -1] as const, [to, 1] as const]) {
              const user = await tx.users.get(home, id);
              await tx.users.upsert(home, { id, metadata: { balance: balanceOf(user?.metadata) + amount } });
            }
            if (fails) throw new Error("this transfer fails");
          });
          committed += 1;
        } catch (error) {
          expect((error as Error).message).toBe("this transfer fails");
        }
      };
      for (let round = 0; round < rounds; round++) {
        const work = Array.from({ length: 4 }, () => (random() < 0.5 ? transfer() : total()));
        for (const result of await Promise.all(work)) expect(result ?? 40).toBe(40);
      }
      expect(committed).toBeGreaterThan(0);
      expect(await total()).toBe(40);
    });
  });
}

const WEBHOOK = {
  url: "https://hooks.example.com",
  events: ["memory.updated"],
  description: null,
  isEnabled: true,
} as const;
const ANSWER = { fingerprint: new Uint8Array(32), status: 201, body: "{}" };

function slotOf(projectId: ProjectId) {
  return { projectId, userId: null, route: "POST /v1/memories", key: "k" };
}
