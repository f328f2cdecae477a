// Copies between the two stores have all tables and columns: one that is added to a schema fails here until it is
// copied or is named as not copied.

import { expect, test } from "bun:test";
import { storeLayout } from "../../src/compose/migration/layout.ts";
import {
  COPIED_EXPRESSIONS,
  NOT_COPIED,
  NUMBERS,
  OWN_COLUMNS,
} from "../../src/stores/postgres/copies/table-differences.ts";
import { columnsOf, emptyDatabase, withPostgres } from "../stores/open-postgres.ts";

withPostgres("the columns of copies", () => {
  test("every table and column of both stores is copied, computed, or named as not copied", async () => {
    const { url, giveBack } = await emptyDatabase();
    const inPostgres = await columnsOf(url);
    await giveBack();
    const { tables } = storeLayout();
    const copied = tables.filter(({ table }) => !NUMBERS.includes(table));
    expect(copied.length).toBeGreaterThan(15);
    expect([...inPostgres.keys()].sort()).toEqual(
      [...copied.map(({ table }) => table), ...NOT_COPIED.filter((table) => table !== "mneme_migration")].sort(),
    );
    for (const { table, columns: inCopy } of copied) {
      const here = inPostgres.get(table) ?? [];
      const computed = inCopy.filter((name) => `${table}.${name}` in COPIED_EXPRESSIONS);
      const own = here.filter((name) => !inCopy.includes(name));
      expect([table, ...own]).toEqual([table, ...own.filter((name) => `${table}.${name}` in OWN_COLUMNS)]);
      expect([table, ...inCopy.filter((name) => !here.includes(name))]).toEqual([table, ...computed]);
    }
  });
});
