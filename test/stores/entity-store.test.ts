// What EntityStore (`src/ports/entity-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { EntityStore } from "../../src/ports/entity-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { addTwoProjects, codeOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const [A, B, C] = [1n, 2n ** 63n + 5n, 2n ** 64n - 1n] as const;

onEachDatabase("EntityStore", (open) => {
  let stores: OpenedStores;
  let store: EntityStore;
  let project: ProjectId;
  let other: ProjectId;

  beforeEach(async () => {
    stores = await openEmpty(open, new ManualClock());
    store = stores.entities;
    [project, other] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  test("keeps names and merges of any hash, changes only what is given, and forgets what null takes back", async () => {
    await store.change(project, A, { name: "Ada" });
    await store.change(project, B, { mergedInto: A });
    await store.change(project, C, { name: "Cy", mergedInto: B });
    await store.change(other, A, { name: "Another" });
    expect(await store.notes(project)).toEqual([
      { entity: A, name: "Ada", mergedInto: null },
      { entity: B, name: null, mergedInto: A },
      { entity: C, name: "Cy", mergedInto: B },
    ]);
    await store.change(project, C, { mergedInto: null });
    await store.change(project, A, { name: null });
    await store.change(project, B, { name: "Bea" });
    expect(await store.notes(project)).toEqual([
      { entity: B, name: "Bea", mergedInto: A },
      { entity: C, name: "Cy", mergedInto: null },
    ]);
    expect(await store.notes(other)).toEqual([{ entity: A, name: "Another", mergedInto: null }]);
  });

  test("refuses merges in a circle of any length", async () => {
    await store.change(project, A, { mergedInto: B });
    await store.change(project, B, { mergedInto: C });
    expect(await codeOf(() => store.change(project, C, { mergedInto: A }))).toBe("invalid_state");
    expect(await codeOf(() => store.change(project, B, { mergedInto: A }))).toBe("invalid_state");
    await store.change(project, A, { mergedInto: null });
    await store.change(project, C, { mergedInto: A });
    expect(await store.notes(project)).toHaveLength(2);
  });

  test("a removed or unknown project has none, and refuses changes", async () => {
    await store.change(other, A, { name: "Ada" });
    await stores.accounts.removeProject(other);
    for (const id of [other, "prj_nowhere" as ProjectId]) {
      expect(await store.notes(id)).toEqual([]);
      expect(await codeOf(() => store.change(id, A, { name: "x" }))).toBe("project_not_found");
    }
    await stores.accounts.eraseProject(other);
  });

  test("the last note below the limit is taken, and one more is refused", async () => {
    // in parts, because a transaction may only take 30 s, also on a busy machine
    for (let from = 0; from < LIMITS.entityNotes; from += 500) {
      const to = Math.min(from + 500, LIMITS.entityNotes);
      await stores.transactions.run(async (tx) => {
        for (let at = from; at < to; at++) await tx.entities.change(project, BigInt(at), { name: "n" });
      });
    }
    expect(await codeOf(() => store.change(project, C, { name: "one more" }))).toBe("invalid_request");
    await store.change(project, A, { name: "changed" });
    expect(await store.notes(project)).toHaveLength(LIMITS.entityNotes);
  });
});
