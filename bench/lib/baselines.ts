// What would simpler searches have found? Words alone, vectors alone and equal reciprocal rank fusion, put together from
// what `explain` shows of two searches that are asked anyway, so that they come from the same server, index and moment.
//
// Vectors alone are exact: `fast` is ranked by them. Of words alone `precise` shows what it returns: its pool holds the 200
// best by words, of which the 100 best in its own eyes come back. Where one of the ten best by words is not among them, the
// bench asks a second time, for memories that were not returned yet: a words score means the same in every search.

/** A leg as `explain.signals` shows it: place in the pool from 1, and score. */
export interface LegSignal {
  readonly rank: number;
  readonly score: number;
}

/** A returned passage. */
export interface Passage {
  /** `chunk_…`. */
  readonly id: string;
  /** `mem_…`. */
  readonly memoryId: string;
  /** The document of the collection that it belongs to. */
  readonly document: string;
  readonly vector: LegSignal | null;
  readonly text: LegSignal | null;
}

/** What one question brought back. */
export interface Answers {
  readonly fast: readonly Passage[];
  readonly precise: readonly Passage[];
  /** How many passages `precise` chose from. */
  readonly poolSize: number;
  /** What `precise` returned of the other memories; empty where it was not asked again. */
  readonly further: readonly Passage[];
}

/** The simpler searches, by the names under which they are printed. */
export const BASELINES = ["BM25 alone", "vectors alone", "equal RRF"] as const;
/** One of them. */
export type Baseline = (typeof BASELINES)[number];

/** Cormack, Clarke & Büttcher 2009. */
const RRF_K = 60;
/** The depth at which rankings are judged. */
const TOP = 10;

/** What the simpler searches make of one question: documents, best first. */
export function baselineRankings({ fast, precise, further }: Answers): Readonly<Record<Baseline, readonly string[]>> {
  const known = [...new Map([...fast, ...further, ...precise].map((passage) => [passage.id, passage])).values()];
  const byVector = ranking(known, ({ vector }) => vector?.score ?? null);
  const byWords = ranking(known, wordsScore);
  const fused = new Map<string, number>();
  for (const leg of [byVector, byWords]) {
    for (const [at, { id }] of leg.entries()) fused.set(id, (fused.get(id) ?? 0) + 1 / (RRF_K + at + 1));
  }
  return {
    "BM25 alone": documentsOf(byWords),
    "vectors alone": documentsOf(ranking(fast, ({ vector }) => vector?.score ?? null)),
    "equal RRF": documentsOf(ranking(known, ({ id }) => fused.get(id) ?? null)),
  };
}

/** How many of the ten best passages by words did not come back, so that words alone go without them. */
export function missingByWords({
  precise,
  poolSize,
  further,
}: Pick<Answers, "precise" | "poolSize" | "further">): number {
  const wordless = precise.flatMap(({ text }) => (text !== null && text.score <= 0 ? [text.rank] : []));
  // behind the first passage without a word of the question there is none with one
  const depth = Math.max(0, Math.min(TOP, poolSize, ...wordless.map((rank) => rank - 1)));
  const seen = precise.filter(({ text }) => text !== null && text.rank <= depth).length;
  const next = Math.max(0, ...precise.flatMap(({ text }) => (text !== null && text.rank > depth ? [text.score] : [])));
  const found = further.filter((passage) => (wordsScore(passage) ?? 0) >= next && next > 0).length;
  return Math.max(0, depth - seen - found);
}

// Best first; passages without a score are left out, and of equals the one that was returned first goes first.
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

// Full text returns nothing that has no word of the question.
function wordsScore({ text }: Passage): number | null {
  return text !== null && text.score > 0 ? text.score : null;
}
