// SQL conditions for sets of memory keys.

/**
 * Maximum difference of neighbouring memory keys that are read by one query. DuckDB reads 2,048 rows at once, so a
 * smaller gap costs nothing, and a larger one costs more than a second query.
 */
const GAP_MAX = 2_048n;

/** Groups keys that are read together (see GAP_MAX), in ascending order and without duplicates. */
export function clusters(keys: readonly bigint[]): readonly (readonly bigint[])[] {
  const found: bigint[][] = [];
  for (const key of BigUint64Array.from(new Set(keys)).sort()) {
    const cluster = found.at(-1);
    const last = cluster?.at(-1);
    if (cluster === undefined || last === undefined || key - last > GAP_MAX) found.push([key]);
    else cluster.push(key);
  }
  return found;
}

/**
 * Condition for the memories of a cluster. The bounds (BETWEEN) let DuckDB skip row groups and, within a row group,
 * read the other columns only for rows within the bounds. With the list of keys (IN) alone, DuckDB does neither.
 */
export function toCondition(cluster: readonly bigint[]): string {
  const bounds = `memory_key BETWEEN ${cluster[0]} AND ${cluster.at(-1)}`;
  return `${bounds} AND memory_key IN (${cluster.join(",")})`;
}
