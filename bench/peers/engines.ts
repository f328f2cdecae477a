// The engines of the comparison. The docstring of its module in python/engines/ says how each is configured.

import { UsageError } from "../../src/kit/flags.ts";

/** An engine. */
export interface EngineName {
  /** Module in python/engines/, and name on the command line. */
  readonly module: string;
  /** Name in tables and charts. */
  readonly title: string;
  /** Package group that it needs besides the common one; null if none. */
  readonly needs: "txtai" | "orama" | null;
  /** Whether it is Mneme, and whether it uses the model of the peers. */
  readonly kind: "mneme" | "mneme with another model" | "peer";
}

/** All engines, in the order in which they are measured. */
export const ENGINES: readonly EngineName[] = [
  { module: "mneme", title: "Mneme", needs: null, kind: "mneme" },
  { module: "chroma", title: "Chroma", needs: null, kind: "peer" },
  { module: "lancedb_scan", title: "LanceDB", needs: null, kind: "peer" },
  { module: "lancedb_indexed", title: "LanceDB with vector index", needs: null, kind: "peer" },
  { module: "txtai_default", title: "txtai", needs: "txtai", kind: "peer" },
  { module: "txtai_exact", title: "txtai, exact", needs: "txtai", kind: "peer" },
  { module: "milvus", title: "Milvus Lite", needs: null, kind: "peer" },
  { module: "qdrant", title: "Qdrant, local mode", needs: null, kind: "peer" },
  { module: "mem0", title: "mem0", needs: null, kind: "peer" },
  { module: "pgvector", title: "pgvector", needs: null, kind: "peer" },
  { module: "bm25s_words", title: "bm25s", needs: null, kind: "peer" },
  { module: "orama", title: "Orama", needs: "orama", kind: "peer" },
  { module: "mneme_default", title: "Mneme, default model", needs: null, kind: "mneme with another model" },
];

/**
 * The engines of a comma-separated flag, in the order of `ENGINES`; without the flag, all.
 * @throws UsageError for an unknown name
 */
export function enginesNamed(flag: string | undefined): readonly EngineName[] {
  if (flag === undefined) return ENGINES;
  const names = flag.split(",");
  const unknown = names.find((name) => !ENGINES.some(({ module }) => module === name));
  if (unknown !== undefined) {
    throw new UsageError(`Unknown engine ${unknown}; engines are ${ENGINES.map(({ module }) => module).join(", ")}.`);
  }
  return ENGINES.filter(({ module }) => names.includes(module));
}
