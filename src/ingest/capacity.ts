// Back-pressure of ingestion: limits the work in progress. It counts texts being prepared, files waiting to be read,
// tokens being embedded, and chunks waiting to be published. worker.ts claims jobs only while all counts are below
// their limits.

/**
 * No more jobs are claimed while at least this many tokens are being embedded: about two seconds of work for two lanes.
 */
const EMBEDDING_TOKENS_MAX = 48_000;
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

  /**
   * @param publishingChunks returns the number of chunks that wait to be published
   * @param onRelease called when a slot was released
   */
  constructor(publishingChunks: () => number, onRelease: () => void) {
    this.#publishingChunks = publishingChunks;
    this.#onRelease = onRelease;
  }

  /**
   * Whether more jobs may be claimed: all claimed texts are prepared, and the steps after preparation are below their
   * limits.
   */
  get hasRoomForJobs(): boolean {
    return this.#preparing === 0 && this.#waitingFiles < WAITING_FILES_MAX && this.hasRoomForTexts;
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
  takeEmbedding(tokens: number): Slot {
    const counted = Math.min(tokens, MEMORY_TOKENS_MAX);
    const memories = tokens < MEMORY_TOKENS_MAX ? 1 : 0;
    this.#embeddingMemories += memories;
    this.#embeddingTokens += counted;
    return this.#slot(() => {
      this.#embeddingMemories -= memories;
      this.#embeddingTokens -= counted;
    });
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
