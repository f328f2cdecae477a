// Back-pressure of ingestion: limits the work in progress. It counts texts being prepared, files waiting to be read,
// tokens being embedded, and chunks waiting to be published. worker.ts claims jobs only while all counts are below
// their limits.

import type { ProjectId } from "../domain/ids.ts";

/**
 * No more jobs are claimed while at least this many tokens are being embedded: about two seconds of work for two lanes.
 */
const EMBEDDING_TOKENS_MAX = 48_000;
/**
 * Up to this factor of `EMBEDDING_TOKENS_MAX`, jobs are claimed of projects that have little in progress. So a note
 * does not wait for the next claim of another project's import, which comes a second later.
 */
const SMALL_PROJECTS_FACTOR = 2;
/**
 * Maximum number of tokens that one memory counts towards `EMBEDDING_TOKENS_MAX`. A memory is embedded in slices that
 * take turns with other memories. So three long books do not stop the claiming of other callers' short notes.
 */
const MEMORY_TOKENS_MAX = EMBEDDING_TOKENS_MAX / 4;
/**
 * No more jobs are claimed while at least this many files wait to be read. Only the name of a waiting file is in
 * memory.
 */
const WAITING_FILES_MAX = 256;
/** No more jobs are claimed while at least this many chunks wait to be published. */
const PUBLISHING_CHUNKS_MAX = 4_096;

/** The share of the capacity that a job occupies. */
export interface Slot {
  /** Frees the capacity. A second call does nothing. */
  release(): void;
}

/** Counts the work in progress. */
export class Capacity {
  readonly #publishingChunks: () => number;
  readonly #onRelease: () => void;
  #preparing = 0;
  #waitingFiles = 0;
  #embeddingMemories = 0;
  #embeddingTokens = 0;
  readonly #embeddingTokensOf = new Map<ProjectId, number>();

  /**
   * @param publishingChunks returns the number of chunks that wait to be published
   * @param onRelease called when a slot was released
   */
  constructor(publishingChunks: () => number, onRelease: () => void) {
    this.#publishingChunks = publishingChunks;
    this.#onRelease = onRelease;
  }

  /**
   * Whether more jobs may be claimed, apart from those of `fullProjects`: all claimed texts are prepared, and the steps
   * after preparation are below their limits.
   */
  get hasRoomForJobs(): boolean {
    const isPrepared = this.#preparing === 0 && this.#waitingFiles < WAITING_FILES_MAX;
    const hasRoom = this.#embeddingTokens < SMALL_PROJECTS_FACTOR * EMBEDDING_TOKENS_MAX;
    return isPrepared && hasRoom && this.#publishingChunks() < PUBLISHING_CHUNKS_MAX;
  }

  /** Projects with so much in progress that no more of their jobs may be claimed now. */
  get fullProjects(): readonly ProjectId[] {
    if (this.#embeddingTokens < EMBEDDING_TOKENS_MAX) return [];
    return [...this.#embeddingTokensOf].flatMap(([id, tokens]) => (tokens >= MEMORY_TOKENS_MAX ? [id] : []));
  }

  /** Whether embedding and publishing are below their limits, so that another text may follow. */
  get hasRoomForTexts(): boolean {
    return this.#embeddingTokens < EMBEDDING_TOKENS_MAX && this.#publishingChunks() < PUBLISHING_CHUNKS_MAX;
  }

  /** Whether memories are being embedded that will be ready to publish soon. Those with many tokens do not count. */
  get isEmbedding(): boolean {
    return this.#embeddingMemories > 0;
  }

  /** Takes a slot for a text that is being read and prepared. */
  takePreparing(): Slot {
    this.#preparing += 1;
    return this.#slot(() => {
      this.#preparing -= 1;
    });
  }

  /** Takes a slot for a file that waits to be read. */
  takeWaitingFile(): Slot {
    this.#waitingFiles += 1;
    return this.#slot(() => {
      this.#waitingFiles -= 1;
    });
  }

  /** Takes a slot for a memory whose chunks are being embedded. */
  takeEmbedding(projectId: ProjectId, tokens: number): Slot {
    const counted = Math.min(tokens, MEMORY_TOKENS_MAX);
    const memories = tokens < MEMORY_TOKENS_MAX ? 1 : 0;
    this.#embeddingMemories += memories;
    this.#addTokens(projectId, counted);
    return this.#slot(() => {
      this.#embeddingMemories -= memories;
      this.#addTokens(projectId, -counted);
    });
  }

  #addTokens(projectId: ProjectId, tokens: number): void {
    this.#embeddingTokens += tokens;
    const left = (this.#embeddingTokensOf.get(projectId) ?? 0) + tokens;
    if (left > 0) this.#embeddingTokensOf.set(projectId, left);
    else this.#embeddingTokensOf.delete(projectId);
  }

  #slot(release: () => void): Slot {
    let isTaken = true;
    return {
      release: () => {
        if (!isTaken) return;
        isTaken = false;
        release();
        this.#onRelease();
      },
    };
  }
}
