// Compares a run with an earlier one: ratios of the figures in rows with the same keys.

import { machineDifferences } from "../lib/machine.ts";
import { type Cell, type Column, numeric, type Result, ratio, type Table } from "./result.ts";

/** The comparison of two runs. */
export interface Comparison {
  /** Sentences about differences that make the figures hard to compare. */
  readonly warnings: readonly string[];
  /** One table per table that both runs have. Its figures are ratios: `now` divided by the earlier run. */
  readonly tables: readonly Table[];
}

/** Compares `now` with an earlier run of the same benchmark. */
export function compareResults(before: Result, now: Result): Comparison {
  if (before.benchmark !== now.benchmark) {
    return { warnings: [`The earlier run is of bench ${before.benchmark}, so nothing is compared.`], tables: [] };
  }
  const machines = machineDifferences(before.machine, now.machine);
  const options = [...new Set([...Object.keys(before.options), ...Object.keys(now.options)])].flatMap((name) => {
    const [old, current] = [before.options[name] ?? null, now.options[name] ?? null];
    return old === current ? [] : [`${name}: ${old} then, ${current} now`];
  });
  const isSameModel = before.models.fingerprint === now.models.fingerprint;
  return {
    warnings: [
      machines.length > 0
        ? `The machines differ, so ratios tell little about the program. ${machines.join("; ")}.`
        : [],
      isSameModel ? [] : `The embedding models differ: ${before.models.embedder} then, ${now.models.embedder} now.`,
      options.length > 0 ? `The options differ. ${options.join("; ")}.` : [],
    ].flat(),
    tables: now.tables.flatMap((table) => {
      const earlier = before.tables.find(({ name }) => name === table.name);
      return earlier === undefined ? [] : [comparedTable(earlier, table)];
    }),
  };
}

function comparedTable(before: Table, now: Table): Table {
  const keys = now.columns.filter(({ isKey }) => isKey);
  const figures = now.columns.filter(({ better }) => better !== null);
  const columns: readonly Column[] = [
    ...keys,
    ...figures.map((column) => ({ ...column, title: `${column.title} (${column.better} is better)`, unit: "" })),
  ];
  const rows = now.rows.flatMap((row) => {
    const earlier = before.rows.find((other) => keys.every(({ key }) => other[key] === row[key]));
    if (earlier === undefined) return [];
    const names = keys.map(({ key }) => [key, row[key] ?? null] as const);
    const ratios = figures.map(({ key }) => [key, ratio(numeric(row[key]), numeric(earlier[key]))] as const);
    return [Object.fromEntries<Cell>([...names, ...ratios])];
  });
  return { ...now, title: `${now.title}, now / then`, columns, rows };
}
