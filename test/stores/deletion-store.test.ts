// What DeletionStore (`src/ports/deletion-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { type DeletionId, isId, type ProjectId } from "../../src/domain/ids.ts";
import type { DeletionStore } from "../../src/ports/deletion-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const CONDITIONS = {
  userId: "u",
  agentId: "a",
  sessionId: "s",
  filters: { tags: { $in: ["x", null] }, "metadata.é": 1 },
};
const UNKNOWN = "job_00000000000000000000000000" as DeletionId;

onEachDatabase("DeletionStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: DeletionStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.deletions;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const create = async (conditions = {}, of = project) => await store.create(of, { conditions, matched: 7 });

  test("creates a deletion with its conditions and counts", async () => {
    const deletion = await create(CONDITIONS);
    expect(isId("job", deletion.id)).toBe(true);
    expect(deletion).toEqual({
      ...{ id: deletion.id, userId: "u", status: "processing", matched: 7, deleted: 0, error: null },
      ...{ createdAt: clock.now(), updatedAt: clock.now() },
    });
    expect(await store.get(project, deletion.id)).toEqual(deletion);
    expect(await store.work(project, deletion.id)).toEqual({ conditions: CONDITIONS, cursor: null });
    expect((await create()).userId).toBeNull();
    expect(await codeOf(async () => await create({}, "prj_nowhere" as ProjectId))).toBe("project_not_found");
  });

  test("goes on at the cursor, sums what was deleted, and ends completed, without its conditions", async () => {
    const { id } = await create(CONDITIONS);
    clock.advance(10);
    const advanced = await store.advance(project, id, { deleted: 2, cursor: "c1", isLast: false });
    expect(advanced).toMatchObject({ status: "processing", deleted: 2, updatedAt: clock.now() });
    expect(await store.work(project, id)).toEqual({ conditions: CONDITIONS, cursor: "c1" });
    expect(await store.openOf(project)).toBe(1);
    expect(await store.advance(project, id, { deleted: 0, cursor: null, isLast: false })).toMatchObject({ deleted: 2 });
    expect(await store.work(project, id)).toEqual({ conditions: CONDITIONS, cursor: null });
    const ended = await store.advance(project, id, { deleted: 3, cursor: null, isLast: true });
    expect(ended).toMatchObject({ status: "completed", deleted: 5, error: null });
    expect(await store.get(project, id)).toEqual(ended);
    expect([await store.work(project, id), await store.openOf(project)]).toEqual([null, 0]);
    expect(await store.advance(project, id, { deleted: 1, cursor: null, isLast: true })).toBeNull();
    await store.fail(project, id, "late");
    expect(await store.get(project, id)).toEqual(ended);
  });

  test("ends failed with its reason", async () => {
    const { id } = await create(CONDITIONS);
    await store.advance(project, id, { deleted: 2, cursor: "c1", isLast: false });
    await store.fail(project, id, "The store is gone.");
    expect(await store.get(project, id)).toMatchObject({ status: "failed", deleted: 2, error: "The store is gone." });
    expect(await store.work(project, id)).toBeNull();
    expect(await store.open(9)).toEqual([]);
  });

  test("is not seen, changed or removed from another project", async () => {
    const { id } = await create(CONDITIONS);
    expect([await store.get(other, id), await store.work(other, id), await store.openOf(other)]).toEqual([
      null,
      null,
      0,
    ]);
    expect(await store.advance(other, id, { deleted: 1, cursor: null, isLast: true })).toBeNull();
    await store.fail(other, id, "foreign");
    await store.forgetUser(other, "u");
    expect(await store.work(project, id)).toEqual({ conditions: CONDITIONS, cursor: null });
    expect([await store.get(project, UNKNOWN), await store.work(project, UNKNOWN)]).toEqual([null, null]);
  });

  test("open lists those in progress, oldest first, of existing projects", async () => {
    const [a, b, c] = [await create(), await create({}, other), await create({ userId: "u" })];
    const ids = async (limit: number) => (await store.open(limit)).map(({ id }) => id);
    expect(await store.open(1)).toEqual([{ projectId: project, id: a.id }]);
    expect(await ids(9)).toEqual([a.id, b.id, c.id]);
    await store.advance(project, a.id, { deleted: 0, cursor: null, isLast: true });
    expect(await ids(9)).toEqual([b.id, c.id]);
    await stores.accounts.removeProject(other);
    expect(await ids(9)).toEqual([c.id]);
    expect(await store.get(other, b.id)).toBeNull();
  });

  test("forgetUser removes those of a user only, also in progress", async () => {
    const [running, ended, all] = [await create({ userId: "u" }), await create({ userId: "u" }), await create()];
    await store.advance(project, ended.id, { deleted: 0, cursor: null, isLast: true });
    await store.forgetUser(project, "u");
    expect([await store.get(project, running.id), await store.get(project, ended.id)]).toEqual([null, null]);
    expect(await store.get(project, all.id)).toEqual(all);
  });

  test("prune removes those that ended before a time, and never those in progress", async () => {
    const [running, early, late] = [await create(), await create(), await create()];
    await store.advance(project, early.id, { deleted: 0, cursor: null, isLast: true });
    clock.advance(5);
    await store.fail(project, late.id, "x");
    await store.prune(clock.now());
    expect(await store.get(project, early.id)).toBeNull();
    expect([await store.get(project, running.id), await store.get(project, late.id)]).not.toContain(null);
  });

  test("takes part in transactions", async () => {
    const { id } = await create(CONDITIONS);
    const undone = stores.transactions.run(async (tx) => {
      await tx.deletions.advance(project, id, { deleted: 2, cursor: "c1", isLast: false });
      await tx.deletions.create(project, { conditions: {}, matched: 1 });
      throw new Error("undone");
    });
    expect(await undone.catch((error: Error) => error.message)).toBe("undone");
    expect([await store.work(project, id), await store.openOf(project)]).toEqual([
      { conditions: CONDITIONS, cursor: null },
      1,
    ]);
  });
});
