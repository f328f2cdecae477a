// Back-pressure of ingestion: limits the work in progress. It counts texts being prepared, files waiting to be read,
// tokens being embedded, and chunks waiting to be published. worker.ts claims jobs only while all counts are below
// their limits.

import type { ProjectId } from "../domain/ids.ts";
import type { Clock } from "../kit/clock.ts";

/**
 * No more jobs are claimed while more jobs, or more bytes of text, than this wait per preparation process. So while a
 * process works on one claim, the next one waits for it, and texts are prepared, embedded and published at the same
 * time.
 */
const PREPARING_JOBS_MAX = 64;
const PREPARING_BYTES_MAX = 1024 * 1024;
/** Bytes of text per token, for texts that are not prepared yet. */
const BYTES_PER_TOKEN = 4;
/**
 * No more jobs are claimed while at least this many tokens are being prepared or embedded: about two seconds of work
 * for two lanes (processes that run models). If the models are faster, it is what they embed in `EMBEDDING_SECONDS`, up
 * to `TOKENS_MAX`.
 */
const TOKENS_MIN = 48_000;
const TOKENS_MAX = 480_000;
const EMBEDDING_SECONDS = 2;
/** Time in milliseconds of embedding after which its speed is measured again. */
const SPEED_MS = 500;
/** A memory counts as at least this many tokens, because even a very short one takes some RAM. */
const JOB_TOKENS_MIN = 32;
/**
 * Projects that have little in progress may exceed the limit of tokens by this factor. So a note does not wait for the
 * next claim of another project's import, which comes a second later.
 */
const SMALL_PROJECTS_FACTOR = 2;
/**
 * Maximum share of the limit of tokens that one memory counts. A memory is embedded in slices that take turns with
 * other memories. So three long books do not stop the claiming of other callers' short notes.
 */
const MEMORY_SHARE_MAX = 1 / 4;
/**
 * No more jobs are claimed while at least this many files wait to be read. Of a waiting file, only the name is in RAM.
 */
const WAITING_FILES_MAX = 256;
/** No more jobs are claimed while at least this many chunks wait to be published. */
const PUBLISHING_CHUNKS_MAX = 4_096;

/** The share of the capacity that a job occupies. */
export interface Slot {
  /** Frees the capacity. A second call does nothing. */
  release(): void;
}

/** Dependencies of `Capacity`. */
export interface CapacityDependencies {
  /** Returns the number of chunks that wait to be published. */
  readonly publishingChunks: () => number;
  /** Called when a slot was released. */
  readonly onRelease: () => void;
  /** Number of claims that are prepared at the same time. */
  readonly preparers: number;
  readonly clock: Pick<Clock, "now">;
}

/** Counts the work in progress. */
export class Capacity {
  readonly #uses: CapacityDependencies;
  #preparingJobs = 0;
  #preparingBytes = 0;
  #waitingFiles = 0;
  /** Memories that will be ready to publish soon. */
  #soonReady = 0;
  #tokens = 0;
  readonly #tokensOf = new Map<ProjectId, number>();
  readonly #speed: EmbeddingSpeed;

  constructor(uses: CapacityDependencies) {
    this.#uses = uses;
    this.#speed = new EmbeddingSpeed(uses.clock);
  }

  /**
   * Whether more jobs may be claimed, apart from those of `fullProjects`: each preparation process has at most the
   * texts of one claim, and the steps after preparation are below their limits.
   */
  get hasRoomForJobs(): boolean {
    const { preparers, publishingChunks } = this.#uses;
    const canPrepare =
      this.#preparingJobs <= PREPARING_JOBS_MAX * preparers && this.#preparingBytes <= PREPARING_BYTES_MAX * preparers;
    const hasRoom = canPrepare && this.#waitingFiles < WAITING_FILES_MAX;
    return (
      hasRoom && this.#tokens < SMALL_PROJECTS_FACTOR * this.#tokensMax && publishingChunks() < PUBLISHING_CHUNKS_MAX
    );
  }

  /** Projects with so much in progress that no more of their jobs may be claimed now. */
  get fullProjects(): readonly ProjectId[] {
    const tokensMax = this.#tokensMax;
    if (this.#tokens < tokensMax) return [];
    return [...this.#tokensOf].flatMap(([id, tokens]) => (tokens >= tokensMax * MEMORY_SHARE_MAX ? [id] : []));
  }

  /** Whether embedding and publishing are below their limits, so that another text may follow. */
  get hasRoomForTexts(): boolean {
    return this.#tokens < this.#tokensMax && this.#uses.publishingChunks() < PUBLISHING_CHUNKS_MAX;
  }

  /**
   * Whether memories are being prepared or embedded that will be ready to publish soon. Those with many tokens do not
   * count.
   */
  get isMoreComing(): boolean {
    return this.#soonReady > 0;
  }

  /** Takes a slot for a text of this length that is being read and prepared. */
  takePreparing(projectId: ProjectId, bytes: number): Slot {
    this.#preparingJobs += 1;
    this.#preparingBytes += bytes;
    return this.#slot(this.#count(projectId, bytes / BYTES_PER_TOKEN), () => {
      this.#preparingJobs -= 1;
      this.#preparingBytes -= bytes;
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
    this.#speed.begin();
    return this.#slot(this.#count(projectId, tokens), () => this.#speed.end());
  }

  /** Notes that a model has embedded this many tokens. */
  noteEmbedded(tokens: number): void {
    this.#speed.add(tokens);
  }

  get #tokensMax(): number {
    return Math.min(TOKENS_MAX, Math.max(TOKENS_MIN, EMBEDDING_SECONDS * this.#speed.tokensPerSecond));
  }

  /** Counts the tokens of a memory. Returns a function that stops counting them. */
  #count(projectId: ProjectId, tokens: number): () => void {
    const most = this.#tokensMax * MEMORY_SHARE_MAX;
    const counted = Math.min(Math.max(tokens, JOB_TOKENS_MIN), most);
    const memories = tokens < most ? 1 : 0;
    this.#soonReady += memories;
    this.#addTokens(projectId, counted);
    return () => {
      this.#soonReady -= memories;
      this.#addTokens(projectId, -counted);
    };
  }

  #addTokens(projectId: ProjectId, tokens: number): void {
    this.#tokens += tokens;
    const left = (this.#tokensOf.get(projectId) ?? 0) + tokens;
    if (left > 0) this.#tokensOf.set(projectId, left);
    else this.#tokensOf.delete(projectId);
  }

  #slot(...ends: readonly (() => void)[]): Slot {
    let isTaken = true;
    return {
      release: () => {
        if (!isTaken) return;
        isTaken = false;
        for (const end of ends) end();
        this.#uses.onRelease();
      },
    };
  }
}

/** Measures how fast the models embed, while they have something to embed. */
class EmbeddingSpeed {
  #tokensPerSecond = 0;
  #memories = 0;
  #tokens = 0;
  /** Time of embedding since the last measurement. */
  #ms = 0;
  #sinceMs = 0;

  constructor(private readonly clock: Pick<Clock, "now">) {}

  /** The speed when it was last measured; 0 before. */
  get tokensPerSecond(): number {
    return this.#tokensPerSecond;
  }

  /** Called when a memory begins to be embedded. */
  begin(): void {
    this.#advance();
    this.#memories += 1;
  }

  /** Called when a memory is not embedded any more. */
  end(): void {
    this.#advance();
    this.#memories -= 1;
  }

  add(tokens: number): void {
    this.#advance();
    this.#tokens += tokens;
    if (this.#ms < SPEED_MS) return;
    this.#tokensPerSecond = (this.#tokens / this.#ms) * 1000;
    [this.#tokens, this.#ms] = [0, 0];
  }

  #advance(): void {
    const now = this.clock.now();
    if (this.#memories > 0) this.#ms += Math.max(0, now - this.#sinceMs); // negative if the clock was set back
    this.#sinceMs = now;
  }
}
