// Baselines: rankings of simpler searches (BM25 alone, vectors alone, equal reciprocal rank fusion). They are computed
// from the signals that `explain` shows in two searches that the bench runs anyway, so they use the same server and
// index.
//
// The baseline "vectors alone" is exact, because the candidates of `fast` are the best passages by vectors. For "BM25
// alone", the candidates of `precise` include the 200 best passages by BM25, but `precise` returns only 100 results, in
// its own order. If they lack one of the ten best passages by BM25, the bench searches a second time, for memories that
// were not returned yet. The results of both searches can be compared, because BM25 scores have the same scale in every
// search.

/** A signal in `explain.signals`: rank among the candidates, from 1, and score. */
export interface LegSignal {
  readonly rank: number;
  readonly score: number;
}

/** A returned passage. */
export interface Passage {
  /** Id of the passage's chunk, `chunk_…`. */
  readonly id: string;
  /** Id of the passage's memory, `mem_…`. */
  readonly memoryId: string;
  /** The document of the collection that the passage belongs to. */
  readonly document: string;
  readonly vector: LegSignal | null;
  readonly text: LegSignal | null;
}

/** The results for one question. */
export interface Answers {
  readonly fast: readonly Passage[];
  readonly precise: readonly Passage[];
  /** Number of candidates of `precise`. */
  readonly poolSize: number;
  /** Results of the second search of `precise`, among the other memories; empty without a second search. */
  readonly further: readonly Passage[];
}

/** Names of the baselines, as printed. */
export const BASELINES = ["BM25 alone", "vectors alone", "equal RRF"] as const;
/** Name of a baseline. */
export type Baseline = (typeof BASELINES)[number];

/** Constant of reciprocal rank fusion (Cormack, Clarke & Büttcher 2009). */
const RRF_K = 60;
/** Depth at which rankings are scored. */
const TOP = 10;

/** The rankings of the baselines for one question, as lists of documents, best first. */
export function baselineRankings({ fast, precise, further }: Answers): Readonly<Record<Baseline, readonly string[]>> {
  const known = [...new Map([...fast, ...further, ...precise].map((passage) => [passage.id, passage])).values()];
  const byVector = ranking(known, ({ vector }) => vector?.score ?? null);
  const byText = ranking(known, textScore);
  const fused = new Map<string, number>();
  for (const leg of [byVector, byText]) {
    for (const [at, { id }] of leg.entries()) fused.set(id, (fused.get(id) ?? 0) + 1 / (RRF_K + at + 1));
  }
  return {
    "BM25 alone": documentsOf(byText),
    "vectors alone": documentsOf(ranking(fast, ({ vector }) => vector?.score ?? null)),
    "equal RRF": documentsOf(ranking(known, ({ id }) => fused.get(id) ?? null)),
  };
}

/** Of the ten best passages by BM25, the number that no search returned. The baseline "BM25 alone" lacks them. */
export function missingByText({
  precise,
  poolSize,
  further,
}: Pick<Answers, "precise" | "poolSize" | "further">): number {
  const unmatchedRanks = precise.flatMap(({ text }) => (text !== null && text.score <= 0 ? [text.rank] : []));
  // All passages after the first one without a matching term have no matching term either.
  const depth = Math.max(0, Math.min(TOP, poolSize, ...unmatchedRanks.map((rank) => rank - 1)));
  const seen = precise.filter(({ text }) => text !== null && text.rank <= depth).length;
  const next = Math.max(0, ...precise.flatMap(({ text }) => (text !== null && text.rank > depth ? [text.score] : [])));
  const found = further.filter((passage) => (textScore(passage) ?? 0) >= next && next > 0).length;
  return Math.max(0, depth - seen - found);
}

// Ranks the passages that have a score, best first. Passages with equal scores keep their order.
function ranking(passages: readonly Passage[], score: (passage: Passage) => number | null): readonly Passage[] {
  return passages
    .flatMap((passage) => {
      const value = score(passage);
      return value === null ? [] : [{ passage, value }];
    })
    .sort((left, right) => right.value - left.value)
    .map(({ passage }) => passage);
}

function documentsOf(passages: readonly Passage[]): readonly string[] {
  return [...new Set(passages.map(({ document }) => document))];
}

// BM25 score; null for passages without a matching term, which full-text search does not return.
function textScore({ text }: Passage): number | null {
  return text !== null && text.score > 0 ? text.score : null;
}
