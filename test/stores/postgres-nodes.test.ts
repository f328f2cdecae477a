// Two servers ("nodes") on one PostgreSQL database at the same time: what one writer guarantees for SQLite must hold
// here for concurrent transactions on different connections.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { SQL } from "bun";
import { Fault } from "../../src/domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { FIRST_KEY } from "../../src/domain/key.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS, PLANS } from "../../src/domain/project.ts";
import type { Transaction } from "../../src/ports/transactions.ts";
import { openPostgresStores, type PostgresStores } from "../../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { EXTRACTED, LEASE_MS } from "../contract/memory-actions.ts";
import { addProject, codeOf, errorOf } from "../contract/stores.ts";
import { execute } from "../support/postgres.ts";
import { seeded } from "../support/seeded.ts";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "./open-postgres.ts";

const WEBHOOK = { url: "https://hooks.example.com", events: [], description: null, isEnabled: true } as const;

withPostgres("two nodes", () => {
  let clock: ManualClock;
  let database: EmptyDatabase;
  let nodes: readonly [PostgresStores, PostgresStores];
  let project: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    database = await emptyDatabase();
    const open = () =>
      openPostgresStores({
        ...{ url: database.url, clock, newWebhookSecret, describe: ({ id }) => ({ id }) },
        onEffectFailure: (error) => {
          throw error;
        },
      });
    nodes = await Promise.all([open(), open()]);
    project = await addProject(nodes[0]);
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    await database.giveBack();
  });

  /** Calls `work` `count` times at once, half of them on each node. */
  const everywhere = <T>(count: number, work: (node: PostgresStores, index: number) => T | Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, async (_, index) => work(nodes[(index % 2) as 0 | 1], index)));
  const rows = async <Row>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> => {
    const beside = new SQL({ url: database.url, max: 1 });
    try {
      return [...(await beside.unsafe(sql, [...values]))] as Row[];
    } finally {
      await beside.close();
    }
  };
  /** Returns "done", or the code of the Fault that a call rejects with. */
  const outcomeOf = async (call: () => unknown): Promise<string> => {
    try {
      await call();
      return "done";
    } catch (error) {
      if (error instanceof Fault) return error.code;
      throw error;
    }
  };
  /** Opens a transaction on the first node, runs `change` in it, and leaves it open until `end` is called. */
  const openTransaction = async (change: (tx: Transaction) => unknown) => {
    const [changed, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const running = nodes[0].transactions.run(async (tx) => {
      await change(tx);
      changed.resolve();
      await ending.promise;
    });
    await changed.promise;
    return {
      end: () => {
        ending.resolve();
        return running;
      },
    };
  };
  const acceptedOf = async (node: PostgresStores, content: string, more = {}) => {
    const [result] = await node.memories.accept(project, [{ content, ...more }]);
    if (result === undefined) throw new Error("nothing was accepted");
    return result;
  };

  test("200 parallel drafts in 10 projects with room for 10 each: exactly 10 are stored in each", async () => {
    const projects = await Promise.all(Array.from({ length: 10 }, () => addProject(nodes[0], "free")));
    const results = await everywhere(200, async (node, index) => {
      const [result] = await node.memories.accept(projects[(index >> 1) % 10] ?? project, [{ content: "text" }]);
      return result instanceof Fault ? result.code : "stored";
    });
    expect(results.filter((result) => result === "stored")).toHaveLength(10 * PLANS.free.documents);
    expect(new Set(results)).toEqual(new Set(["stored", "document_quota_exceeded"]));
    for (const each of projects) expect((await nodes[1].accounts.usage(each)).documents).toBe(PLANS.free.documents);
  });

  test("parallel drafts with one externalId make one memory", async () => {
    const results = await everywhere(40, (node, index) =>
      acceptedOf(node, `text ${index}`, { externalId: "same", userId: "u" }),
    );
    const ids = results.map((result) => (result instanceof Fault ? result.code : result.memory.id));
    expect(new Set(ids).size).toBe(1);
    expect(results.filter((result) => !(result instanceof Fault) && result.outcome === "created")).toHaveLength(1);
    expect((await nodes[0].memories.list(project, { limit: 100 })).items).toHaveLength(1);
  });

  test("parallel changes to one externalId: one memory gets it, the others are refused", async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => acceptedOf(nodes[0], `text ${index}`)),
    );
    const ids = made.map((result) => (result instanceof Fault ? null : result.memory.id));
    const outcomes = await everywhere(10, async (node, index) => {
      const id = ids[index];
      if (id === null || id === undefined) throw new Error("nothing was accepted");
      return outcomeOf(() => node.memories.change(project, id, { externalId: "wanted" }));
    });
    expect(outcomes.toSorted()).toEqual(["done", ...Array(9).fill("external_id_conflict")].toSorted());
  });

  test("a request that runs on both nodes at once with one Idempotency-Key changes something once", async () => {
    const slot = { projectId: project, userId: null, route: "POST /v1/memories", key: "k" };
    const request = async (tx: Transaction) => {
      await tx.memories.accept(project, [{ content: "once" }]);
      await tx.idempotency.remember(slot, { fingerprint: new Uint8Array(32), status: 202, body: "{}" }, []);
    };
    const outcomes = await everywhere(20, (node) => outcomeOf(() => node.transactions.run(request)));
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "idempotency_conflict")).toHaveLength(19);
    expect((await nodes[1].memories.list(project, { limit: 100 })).items).toHaveLength(1);
  });

  test("transactions that read and then write lose no update", async () => {
    await everywhere(60, (node) =>
      node.transactions.run(async (tx) => {
        const count = Number((await tx.users.get(project, "u"))?.metadata?.count ?? 0);
        await tx.users.upsert(project, { id: "u", metadata: { count: count + 1 } });
      }),
    );
    expect((await nodes[0].users.get(project, "u"))?.metadata).toEqual({ count: 60 });
  });

  test("queries, tokens and webhooks are counted exactly", async () => {
    await everywhere(50, (node) => node.accounts.countQuery(project, { prompt: 3, completion: 2 }));
    const { queries, tokens } = await nodes[0].accounts.usage(project);
    expect({ queries, tokens }).toEqual({ queries: 50, tokens: { prompt: 150, completion: 100 } });
    const created = await everywhere(30, (node) => outcomeOf(() => node.webhooks.create(project, WEBHOOK)));
    expect(created.filter((outcome) => outcome === "done")).toHaveLength(LIMITS.webhooksPerProject);
    expect(new Set(created)).toEqual(new Set(["done", "webhook_limit_reached"]));
  });

  test("the activity of both nodes adds up, also if both store it at once", async () => {
    const projects = await Promise.all(Array.from({ length: 5 }, () => addProject(nodes[0])));
    for (let round = 0; round < 4; round++) {
      await everywhere(20, (node, index) => node.activity.note(projects[(index >> 1) % 5] ?? project, "answered"));
      await everywhere(2, (node) => node.activity.flush());
    }
    const range = { step: "day", from: 0, to: 9e15 } as const;
    for (const each of projects) {
      const [day] = await nodes[1].activity.list(each, range);
      expect(Object.fromEntries(day?.counts ?? [])).toEqual({ answered: 16 });
    }
  });

  test("chunk keys are never reserved twice", async () => {
    const firsts = await everywhere(40, (node) => node.jobs.reserveChunkKeys(10));
    const sorted = firsts.toSorted((a, b) => (a < b ? -1 : 1));
    expect(sorted).toEqual(Array.from({ length: 40 }, (_, index) => BigInt(1 + 10 * index)));
  });

  test("a key that one node removes is refused by the other at once", async () => {
    const { key, secret } = await nodes[0].accounts.issueKey(project, FIRST_KEY);
    expect((await nodes[1].accounts.authenticate(secret))?.projectId).toBe(project);
    await nodes[0].accounts.removeKey(project, key.id);
    expect(await nodes[1].accounts.authenticate(secret)).toBeNull();
  });

  test("a memory that a node has read is as the other node has left it, also within the same millisecond", async () => {
    const accepted = await acceptedOf(nodes[0], "a text");
    if (accepted instanceof Fault) throw accepted;
    const { memory } = accepted;
    const read = () => nodes[1].memories.get(project, memory.id);
    const first = await read();
    expect(await read()).toBe(first as Memory); // the same object, so its JSON is made once
    for (let at = 0; at < 20; at++) {
      await nodes[0].memories.change(project, memory.id, { title: `title ${at}` });
      expect((await read())?.title).toBe(`title ${at}`);
    }
    const other = await addProject(nodes[0]);
    expect(await nodes[1].memories.get(other, memory.id)).toBeNull();

    // what a transaction has changed is not seen by others before its commit, and never if it is undone
    const undone = new Error("undone");
    const changing = nodes[1].transactions.run(async (tx) => {
      await tx.memories.change(project, memory.id, { title: "undone" });
      expect((await tx.memories.get(project, memory.id))?.title).toBe("undone");
      expect((await read())?.title).toBe("title 19");
      throw undone;
    });
    expect(await errorOf(() => changing)).toBe(undone);
    expect((await read())?.title).toBe("title 19");

    await nodes[0].memories.change(project, memory.id, { expiresAt: clock.now() + 10 });
    expect((await read())?.title).toBe("title 19");
    clock.advance(10);
    expect(await read()).toBeNull();
    await nodes[0].memories.change(project, memory.id, { expiresAt: null });
    await nodes[0].memories.remove(project, memory.id);
    expect(await read()).toBeNull();
  });

  test("both nodes find the same default project and operator key", async () => {
    const ids = await everywhere(20, (node) => node.accounts.defaultProject());
    expect(new Set(ids).size).toBe(1);
    const secret = `ctx_${"o".repeat(43)}`;
    await everywhere(10, (node) => node.accounts.setOperatorKey(secret));
    const [home] = ids;
    if (home === undefined) throw new Error("there is no default project");
    expect((await nodes[0].accounts.listKeys(home, { limit: 100 })).items).toHaveLength(1);
    expect((await nodes[1].accounts.authenticate(secret))?.projectId).toBe(home);
  });

  test("a user and all that belongs to it can be removed while the other node adds to it", async () => {
    await acceptedOf(nodes[0], "before", { userId: "u" });
    const removal = nodes[0].transactions.run(async (tx) => {
      await tx.memories.removeAllOf(project, "u");
      await tx.chats.removeAllOf(project, "u");
      await tx.users.removeEvents(project, "u");
      await tx.users.forget(project, "u");
    });
    const additions = everywhere(30, async (node, index) => {
      await acceptedOf(node, `text ${index}`, { userId: "u" });
      await node.chats.create(project, { userId: "u", title: null });
      await node.users.addEvent(project, "u", { type: "seen", data: {} });
    });
    await Promise.all([removal, additions]);
    // the removal took place before, between or after the additions; what came after it is whole
    const left = (await nodes[1].memories.list(project, { limit: 100, userId: "u" })).items.length;
    expect((await nodes[1].users.get(project, "u")) !== null || left === 0).toBe(true);
    expect((await nodes[1].accounts.usage(project)).documents).toBe(left);
  });

  test("each job is claimed once, and projects take turns", async () => {
    const projects = [project, await addProject(nodes[0]), await addProject(nodes[0])];
    for (const each of projects) {
      const drafts = Array.from({ length: 40 }, (_, index) => ({ content: `${index}` }));
      await nodes[0].memories.accept(each, drafts);
    }
    const claims = await everywhere(40, (node) => node.jobs.claim({ jobs: 3, contentBytes: 1e6, leaseMs: LEASE_MS }));
    const jobs = claims.flat();
    expect(jobs).toHaveLength(120);
    expect(new Set(jobs.map(({ memory }) => memory.key)).size).toBe(120);
    expect(new Set(jobs.map(({ lease }) => lease)).size).toBe(120);
    for (const claim of claims.slice(0, 20)) expect(new Set(claim.map(({ projectId }) => projectId)).size).toBe(3);
    expect(await nodes[1].jobs.nextJobInMs()).toBe(LEASE_MS);
  });

  test("a job whose lease ended goes to the other node, and its former worker is refused everything", async () => {
    await acceptedOf(nodes[0], "text");
    const options = { jobs: 1, contentBytes: 1e6, leaseMs: LEASE_MS };
    const [former] = await nodes[0].jobs.claim(options);
    clock.advance(LEASE_MS);
    // both nodes claim and the former worker renews, all at once: only one of them has the job afterwards
    const [renewed, ...claims] = await Promise.all([
      former === undefined ? [] : nodes[0].jobs.renew([former], LEASE_MS),
      ...Array.from({ length: 8 }, async (_, index) => nodes[(index % 2) as 0 | 1].jobs.claim(options)),
    ]);
    const claimed = claims.flat();
    expect(renewed.length + claimed.length).toBe(1);
    if (former === undefined || claimed[0] === undefined) return;
    expect(claimed[0].lease).toBeGreaterThan(former.lease);
    const completion = { extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 } as const;
    expect(await nodes[0].jobs.complete([{ job: former, ...completion }])).toEqual([]);
    expect(await nodes[1].jobs.complete([{ job: claimed[0], ...completion }])).toHaveLength(1);
  });

  test("a claim does not wait for an open transaction of the same project, and a change does", async () => {
    await acceptedOf(nodes[0], "a job");
    const changed = await acceptedOf(nodes[0], "a job that is changed");
    const first = await openTransaction(async (tx) => {
      if (!(changed instanceof Fault)) await tx.memories.change(project, changed.memory.id, { title: "new" });
    });
    let isChanged = false;
    const change = acceptedOf(nodes[1], "waits").then(() => {
      isChanged = true;
    });
    const jobs = await nodes[1].jobs.claim({ jobs: 9, contentBytes: 1e6, leaseMs: LEASE_MS });
    expect(jobs.map(({ content }) => content)).toEqual(["a job"]);
    expect(isChanged).toBe(false);
    // another project is not concerned
    await nodes[1].memories.accept(await addProject(nodes[1]), [{ content: "elsewhere" }]);
    expect(isChanged).toBe(false);
    await Promise.all([first.end(), change]);
    expect(await nodes[0].jobs.claim({ jobs: 9, contentBytes: 1e6, leaseMs: LEASE_MS })).toHaveLength(3);
  });

  test("more parallel transactions of one project than connections leave connections for other projects", async () => {
    const other = await addProject(nodes[0]);
    const first = await openTransaction((tx) => tx.users.upsert(project, { id: "u" }));
    const waiting = Array.from({ length: 100 }, async (_, index) =>
      nodes[0].users.upsert(project, { id: `u${index}` }),
    );
    await nodes[0].users.upsert(other, { id: "elsewhere" });
    expect((await nodes[0].users.list(project, { limit: 9 })).items).toEqual([]);
    await Promise.all([first.end(), ...waiting]);
    expect((await nodes[1].users.list(project, { limit: 100 })).items).toHaveLength(100);
  });

  test("calls that find their project by a row wait for it without a connection, so that none waits for ever", async () => {
    const { webhook } = await nodes[0].webhooks.create(project, WEBHOOK);
    const deliveries = await Promise.all(
      Array.from({ length: 20 }, () => nodes[0].webhooks.addTest(project, webhook.id)),
    );
    const first = await openTransaction((tx) => tx.users.upsert(project, { id: "u" }));
    const second = acceptedOf(nodes[0], "the next one, which has no connection yet");
    const attempt = { at: 1, statusCode: 200, error: null, ms: 1 };
    const others = deliveries.flatMap((delivery) => [
      delivery === null ? null : nodes[0].webhooks.record(delivery.id, { attempt, next: "delivered", disables: false }),
      nodes[0].retirement.retired(1),
      nodes[0].jobs.reopen([1n as MemoryKey]),
    ]);
    // reads show that the calls above have got as far as they can
    for (let read = 0; read < 20; read++) await nodes[0].users.list(project, { limit: 1 });
    await Promise.all([first.end(), second, ...others]);
    expect(await nodes[0].webhooks.nextDueInMs()).toBeNull();
  });

  test("opening an empty database on several nodes at once creates the tables once", async () => {
    const empty = await emptyDatabase();
    await execute(empty.url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public");
    const onEffectFailure = () => undefined;
    const opened = await Promise.all(
      Array.from({ length: 5 }, () => openPostgresStores({ url: empty.url, clock, newWebhookSecret, onEffectFailure })),
    );
    await addProject({ ...nodes[0], ...opened[4] });
    expect(await opened[0]?.accounts.projects()).toHaveLength(1);
    await Promise.all(opened.map((node) => node.close()));
    await empty.giveBack();
  });

  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_201);
  const steps = Number(process.env.MNEME_TEST_STEPS ?? 300);
  test(`${steps} random changes on both nodes at once keep counters and claims exact, and none fails (seed ${seed})`, async () => {
    const random = seeded(seed);
    const integer = (below: number) => Math.floor(random() * below);
    const projects = [project, await addProject(nodes[0]), await addProject(nodes[1])] as const;
    for (const each of projects) await nodes[0].webhooks.create(each, { ...WEBHOOK, events: ["memory.completed"] });
    let known: MemoryKey[] = [];
    const step = async (node: PostgresStores) => {
      const home = projects[integer(3)] ?? project;
      const [userId, externalId] = [`u${integer(3)}`, `e${integer(6)}`];
      switch (integer(9)) {
        case 0:
        case 1:
        case 2: {
          const draft = { content: "x".repeat(integer(50)), userId, externalId, tags: [`t${integer(3)}`] };
          const results = await node.memories.accept(home, [draft, { content: "y", expiresAt: clock.now() + 5 }]);
          known = [...known, ...results.flatMap((one) => (one instanceof Fault ? [] : [one.memory.key]))].slice(-50);
          return;
        }
        case 3: {
          const jobs = await node.jobs.claim({ jobs: 4, contentBytes: 1e6, leaseMs: LEASE_MS });
          await node.jobs.renew(jobs, LEASE_MS);
          const done = jobs.map((job) => ({ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 }) as const);
          await node.jobs.complete(done);
          return;
        }
        case 4:
          await node.memories.removeAllOf(home, userId);
          return;
        case 5: {
          clock.advance(3);
          const retired = await node.retirement.retired(20);
          await node.retirement.markRetracted(retired.map(({ memoryKey }) => memoryKey));
          await node.retirement.erase(retired.map(({ memoryKey }) => memoryKey));
          return;
        }
        case 6:
          await node.jobs.reopen(known);
          return;
        case 7:
          await node.accounts.usage(home);
          await node.accounts.flush();
          return;
        default: {
          const chat = await node.chats.create(home, { userId, title: null });
          const sources = known.slice(-2).map((memoryKey) => ({ memoryKey, shown: {} }));
          const message = {
            role: "assistant",
            content: "hi",
            sources,
            isInterrupted: false,
            answerState: null,
          } as const;
          await node.chats.append(home, chat.id, message);
          await node.idempotency.prune();
        }
      }
    };
    for (let done = 0; done < steps; done += 12) await everywhere(12, (node) => step(node));
    const counted = await rows<{ documents: string; bytes: string; is: string; are: string }>(
      `SELECT projects.documents::text, projects.storage_bytes::text AS bytes, count(memory_key)::text AS is,
         coalesce(sum(content_bytes), 0)::text AS are
       FROM projects LEFT JOIN memories ON memories.project_key = projects.project_key AND memories.deleted_at IS NULL
       GROUP BY projects.project_key`,
    );
    for (const row of counted) expect([row.documents, row.bytes]).toEqual([row.is, row.are]);
    const twice = `SELECT 1 FROM memories WHERE deleted_at IS NULL AND external_id IS NOT NULL
      GROUP BY project_key, user_key, external_id HAVING count(*) > 1`;
    expect(await rows(twice)).toEqual([]);
    expect(await rows("SELECT 1 FROM memories GROUP BY lease HAVING lease IS NOT NULL AND count(*) > 1")).toEqual([]);
    const tags = `SELECT 1 FROM memory_tags FULL JOIN (SELECT memory_key, jsonb_array_elements_text(tags::jsonb) AS tag
      FROM memories WHERE tags IS NOT NULL) AS given USING (memory_key, tag)
      WHERE memory_tags.memory_key IS NULL OR memory_tags.project_key IS NULL`;
    expect(await rows(tags)).toEqual([]);
  });

  test("a project can be removed and erased while the other node uses it", async () => {
    const other = await addProject(nodes[0]);
    const writes = everywhere(30, (node, index) =>
      outcomeOf(() => node.memories.accept(other, [{ content: `${index}` }])),
    );
    expect(await nodes[1].accounts.removeProject(other)).toBe(true);
    expect(new Set(await writes).difference(new Set(["done", "project_not_found"])).size).toBe(0);
    const keys = await nodes[0].accounts.memoriesOfRemoved(other, 100);
    await nodes[0].accounts.eraseMemoriesOfRemoved(other, keys);
    await nodes[1].accounts.eraseProject(other);
    expect(await rows("SELECT 1 FROM projects WHERE id = $1", [other])).toEqual([]);
    expect(await codeOf(() => nodes[0].memories.accept(other, [{ content: "late" }]))).toBe("project_not_found");
    expect(await errorOf(() => nodes[0].accounts.usage(other))).toBeInstanceOf(Fault);
    await nodes[0].accounts.changeProject(project, { settings: DEFAULT_SETTINGS });
  });
});
