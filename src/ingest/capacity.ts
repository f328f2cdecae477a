// How much work is taken on at once: bounds for texts that are prepared, files that wait, and tokens that are embedded.

/** Tokens that are embedded at once before no more jobs are claimed; about two seconds of two lanes. */
const EMBEDDING_TOKENS_MAX = 48_000;
/**
 * Tokens that one memory counts at most. It is embedded in slices, between which other memories have their turn, so
 * that three books do not keep everybody else's notes waiting for minutes.
 */
const MEMORY_TOKENS_MAX = EMBEDDING_TOKENS_MAX / 4;
/** Files that wait to be read before no more jobs are claimed. Until it is read, each is only a name. */
const WAITING_FILES_MAX = 256;
/** Chunks that wait for publishing before no more jobs are claimed. */
const PUBLISHING_CHUNKS_MAX = 4_096;

/** A place that a job takes up; `leave` gives it back, and a second call does nothing. */
export interface Place {
  leave(): void;
}

/** Counts the work that is in progress. */
export class Capacity {
  readonly #publishingChunks: () => number;
  readonly #onRoom: () => void;
  #preparing = 0;
  #waitingFiles = 0;
  #embeddingMemories = 0;
  #embeddingTokens = 0;

  /**
   * @param publishingChunks chunks that wait for publishing now
   * @param onRoom called when a place was given back
   */
  constructor(publishingChunks: () => number, onRoom: () => void) {
    this.#publishingChunks = publishingChunks;
    this.#onRoom = onRoom;
  }

  /**
   * Whether further jobs may be claimed: the texts claimed before are prepared, and there is room behind preparation.
   */
  get hasRoomForJobs(): boolean {
    return this.#preparing === 0 && this.#waitingFiles < WAITING_FILES_MAX && this.hasRoomForTexts;
  }

  /** Whether another text may be embedded and published. */
  get hasRoomForTexts(): boolean {
    return this.#embeddingTokens < EMBEDDING_TOKENS_MAX && this.#publishingChunks() < PUBLISHING_CHUNKS_MAX;
  }

  /** Whether memories are being embedded, so that more will be ready to publish soon. */
  get isEmbedding(): boolean {
    return this.#embeddingMemories > 0;
  }

  /** A text that is read and prepared. */
  preparing(): Place {
    this.#preparing += 1;
    return this.#place(() => {
      this.#preparing -= 1;
    });
  }

  /** A file that waits to be read. */
  waitingFile(): Place {
    this.#waitingFiles += 1;
    return this.#place(() => {
      this.#waitingFiles -= 1;
    });
  }

  /** A memory whose chunks are embedded. */
  embedding(tokens: number): Place {
    const counted = Math.min(tokens, MEMORY_TOKENS_MAX);
    this.#embeddingMemories += 1;
    this.#embeddingTokens += counted;
    return this.#place(() => {
      this.#embeddingMemories -= 1;
      this.#embeddingTokens -= counted;
    });
  }

  #place(giveBack: () => void): Place {
    let isTaken = true;
    return {
      leave: () => {
        if (!isTaken) return;
        isTaken = false;
        giveBack();
        this.#onRoom();
      },
    };
  }
}
