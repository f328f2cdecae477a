// Keeps what the models computed for recent questions. Agents and chats ask the same again, and the models take nine
// tenths of a search. Rows, filters and indexes are read for each search, and equal texts have equal vectors and
// logits, so nothing here can be out of date. Only hashes of the texts are kept.

import type { ProjectId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";
import type { Embedder, Embedders, Reader, Reranker, Rerankers } from "../ports/models.ts";

/** Age in milliseconds from which a result is computed again. */
const AGE_MS_MAX = 10 * 60_000;
/** Bytes that an entry takes besides its numbers: key, object and place in the table. */
const ENTRY_BYTES = 256;
/** Maximum share of all bytes for one entry. */
const SHARE_MAX = 1 / 16;

interface Entry {
  readonly values: Float32Array;
  readonly at: number;
}

/** The models of searches. */
export interface SearchModels {
  readonly embedders: Pick<Embedders, "withFingerprint">;
  readonly rerankers: Rerankers;
}

/** What `RecentResults` needs. */
export interface RecentResultsOptions {
  /** Maximum size of all results together; 0: nothing is kept. */
  readonly bytesMax: number;
  readonly clock: Clock;
  /** Called for each call of a model: whether its result was known. */
  readonly count?: (outcome: "known" | "computed") => void;
}

/**
 * Results of models by the texts that they read; the least recently used ones are dropped first. A project gets only
 * its own, so how long an answer takes does not reveal what another project has asked.
 */
export class RecentResults {
  readonly #options: RecentResultsOptions;
  /** In order of use: a Map iterates in order of insertion. */
  readonly #entries = new Map<string, Entry>();
  readonly #rerankerNumbers = new WeakMap<Reranker, number>();
  #rerankers = 0;
  #bytes = 0;

  constructor(options: RecentResultsOptions) {
    this.#options = options;
  }

  /** Size of all results together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The models, which compute what is not known. */
  of(projectId: ProjectId, { embedders, rerankers }: SearchModels): SearchModels {
    if (this.#options.bytesMax === 0) return { embedders, rerankers };
    return {
      embedders: this.#embedders(projectId, embedders),
      rerankers: this.#rerankersOf(projectId, rerankers),
    };
  }

  #embedders(projectId: ProjectId, embedders: SearchModels["embedders"]): SearchModels["embedders"] {
    return {
      withFingerprint: (fingerprint) => {
        const embedder = embedders.withFingerprint(fingerprint);
        return embedder && this.#embedder(projectId, embedder);
      },
    };
  }

  #embedder(projectId: ProjectId, embedder: Embedder): Embedder {
    const { id, dimensions, fingerprint, tokensMax, languages, tuning, isRemote = false } = embedder;
    return {
      ...{ id, dimensions, fingerprint, tokensMax, languages, tuning, isRemote },
      reader: embedder.reader ? this.#reader(projectId, embedder.reader) : null,
      countTokens: (texts, options) => embedder.countTokens(texts, options),
      embed: (texts, options) => {
        if (options.priority !== "query") return embedder.embed(texts, options);
        const key = keyOf(["embed", projectId, fingerprint, options.purpose, ...texts]);
        return this.#resultOf(key, options, () => embedder.embed(texts, options));
      },
    };
  }

  #reader(projectId: ProjectId, { read, ...described }: Reader): Reader {
    return {
      ...described,
      read: (question, passages, options = {}) => {
        const key = keyOf(["read", projectId, described.id, question, ...passages]);
        return this.#resultOf(key, options, () => read(question, passages, options));
      },
    };
  }

  #rerankersOf(projectId: ProjectId, rerankers: Rerankers): Rerankers {
    return {
      for: (embedder, ofProject) => {
        const reranker = rerankers.for(embedder, ofProject);
        return reranker && this.#reranker(projectId, reranker);
      },
    };
  }

  #reranker(projectId: ProjectId, reranker: Reranker): Reranker {
    const number = this.#rerankerNumbers.get(reranker) ?? ++this.#rerankers;
    this.#rerankerNumbers.set(reranker, number);
    return {
      ...{ languages: reranker.languages, isRemote: reranker.isRemote === true },
      ...(reranker.tuning !== undefined && { tuning: reranker.tuning }),
      score: (query, passages, options = {}) => {
        const exit = JSON.stringify(options.earlyExit ?? null);
        const key = keyOf(["score", projectId, String(number), exit, query, ...passages]);
        return this.#resultOf(key, options, () => reranker.score(query, passages, options));
      },
    };
  }

  async #resultOf(
    key: string,
    { signal, onBegin }: { readonly signal?: AbortSignal | undefined; readonly onBegin?: (() => void) | undefined },
    compute: () => Promise<Float32Array>,
  ): Promise<Float32Array> {
    const known = this.#get(key);
    this.#options.count?.(known === null ? "computed" : "known");
    if (known !== null) {
      signal?.throwIfAborted();
      onBegin?.();
      return known;
    }
    const values = await compute();
    // a passage that was not read before the deadline is NaN
    if (!values.some(Number.isNaN)) this.#put(key, values);
    return values;
  }

  #get(key: string): Float32Array | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#remove(key, entry);
    if (this.#options.clock.now() - entry.at >= AGE_MS_MAX) return null;
    this.#add(key, entry);
    return entry.values.slice();
  }

  #put(key: string, values: Float32Array): void {
    const { bytesMax, clock } = this.#options;
    if (sizeOf(values) > bytesMax * SHARE_MAX) return;
    const earlier = this.#entries.get(key);
    if (earlier !== undefined) this.#remove(key, earlier);
    this.#add(key, { values: values.slice(), at: clock.now() });
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= bytesMax) break;
      this.#remove(oldest, entry);
    }
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#bytes += sizeOf(entry.values);
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= sizeOf(entry.values);
  }
}

function sizeOf(values: Float32Array): number {
  return values.byteLength + ENTRY_BYTES;
}

/** A hash of texts. It covers their lengths, so that no two lists of texts look the same to it. */
function keyOf(texts: readonly string[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest("base64");
}
