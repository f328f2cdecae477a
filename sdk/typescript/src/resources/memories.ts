// Memories: store, search, answer.

import {
  type BatchResult,
  batchCreate,
  countMemories,
  createMemory,
  createMemoryFromUrl,
  deleteMemories,
  deleteMemory,
  eraseMemoryHistory,
  forgetRelation,
  type GetMemoryData,
  getJob,
  getMemory,
  getMemoryFile,
  getMemoryGraph,
  getMemoryHistory,
  getMemoryMap,
  type HistoryList,
  type Job,
  listMemories,
  type MatchedMemories,
  type Memory,
  type MemoryGraph,
  type MemoryMap,
  type QueryResult,
  queryMemories,
  type Relation,
  refetchMemory,
  retryMemories,
  retryMemory,
  type SearchResults,
  type SetRelationData,
  searchMemories,
  setRelation,
  updateMemory,
  uploadMemory,
} from "../core/index.ts";
import { List } from "../list.ts";
import { AnswerStream } from "../streams.ts";
import type { CallOptions, CoreOptions, Transport, WriteOptions } from "../transport.ts";
import type {
  DeletionConditions,
  FileAttributes,
  MemoryChange,
  MemoryCountParams,
  MemoryListParams,
  MemoryMapParams,
  NewMemory,
  QueryParams,
  SearchParams,
} from "../types.ts";
import { fetchWithProgress, type UploadProgress } from "../upload.ts";
import { searchable, untilEnded, untilProcessed, type WaitOptions } from "../wait.ts";

/** Options of a call that stores a memory. */
export interface StoreOptions extends WriteOptions, WaitOptions {}
/** Options of an upload. */
export interface UploadOptions extends StoreOptions {
  /** Name of the file, whose ending decides the format. Default: that of the File. */
  readonly filename?: string;
  /** Called as the file is sent. */
  readonly onProgress?: (progress: UploadProgress) => void;
}

/** A part of a file: bytes from `start` to before `end`. Default: from the first, or to the last. */
export interface FilePart {
  readonly start?: number;
  readonly end?: number;
}
/** The file that a memory was made from. */
export interface KeptFile {
  /** Media type. */
  readonly type: string;
  /** Size of `body` in bytes. */
  readonly bytes: number;
  readonly body: ReadableStream<Uint8Array>;
}

/** The operations on memories. */
export class Memories {
  readonly #transport: Transport;
  readonly #fetch: typeof fetch | undefined;

  constructor(transport: Transport, fetch: typeof globalThis.fetch | undefined) {
    this.#transport = transport;
    this.#fetch = fetch;
  }

  /**
   * Stores a text. It is stored when the call returns, and searchable a moment later: `{ wait: true }` waits for that.
   * An existing `externalId` updates its memory.
   */
  async add(memory: string | NewMemory, options: StoreOptions = {}): Promise<Memory> {
    const body = typeof memory === "string" ? { content: memory } : memory;
    const stored = await this.#transport.call((core) => createMemory({ ...core, body }), "keyed", options);
    return this.#waited(stored, options);
  }

  /** Stores up to 100 texts. Each is accepted or refused on its own. With `wait`, some can have the status `failed`. */
  async addMany(memories: readonly NewMemory[], options: StoreOptions = {}): Promise<BatchResult> {
    const body = { memories: [...memories] };
    const result = await this.#transport.call((core) => batchCreate({ ...core, body }), "keyed", options);
    if (options.wait !== true) return result;
    const data: BatchResult["data"] = [];
    for (const item of result.data) {
      data.push("memory" in item ? { ...item, memory: await this.#processed(item.memory, options) } : item);
    }
    return { ...result, data };
  }

  /**
   * Stores the text of a file, up to 100 MB: PDF, Office, OpenDocument, RTF, EPUB, HTML, Markdown, plain text and
   * source code, CSV, JSON, XML, YAML, notebooks, subtitles, calendars, address cards, e-mails and ZIP archives.
   */
  async upload(file: Blob | File, attributes: FileAttributes = {}, options: UploadOptions = {}): Promise<Memory> {
    const named = options.filename === undefined ? file : new File([file], options.filename, { type: file.type });
    const { tags, metadata, ...texts } = attributes;
    const fields = Object.fromEntries(
      Object.entries(texts).filter(([, value]) => value !== null && value !== undefined),
    );
    const body = {
      ...fields,
      ...(tags != null && { tags: JSON.stringify(tags) }),
      ...(metadata != null && { metadata: JSON.stringify(metadata) }),
      file: named,
    };
    const { onProgress } = options;
    const progress = onProgress === undefined ? {} : { fetch: fetchWithProgress(onProgress, this.#fetch) };
    const send = (core: CoreOptions) => uploadMemory({ ...core, ...progress, body });
    return this.#waited(await this.#transport.call(send, "keyed", options), options);
  }

  /** Stores the text of a page or file that the server fetches. @throws ApiError `unsafe_url`, `fetch_failed` */
  async addUrl(url: string, attributes: FileAttributes = {}, options: StoreOptions = {}): Promise<Memory> {
    const body = { ...attributes, url };
    const stored = await this.#transport.call((core) => createMemoryFromUrl({ ...core, body }), "keyed", options);
    return this.#waited(stored, options);
  }

  /** Fetches the URL of a memory again. Nothing changes if the page is the same. */
  async refetch(id: string, options: CallOptions & WaitOptions = {}): Promise<Memory> {
    const send = (core: CoreOptions) => refetchMemory({ ...core, path: { id } });
    return this.#waited(await this.#transport.call(send, "always", options), options);
  }

  /** Reads a memory. `knownAt`: with its text and relations of that time. */
  get(id: string, { knownAt, ...options }: CallOptions & GetMemoryData["query"] = {}): Promise<Memory> {
    const query = knownAt === undefined ? {} : { knownAt };
    return this.#transport.call((core) => getMemory({ ...core, path: { id }, query }), "always", options);
  }

  /** Number of memories that `list` would list, limited by `filters`. */
  async count({ filters, ...params }: MemoryCountParams = {}, options?: CallOptions): Promise<number> {
    const query = { ...params, ...(filters !== undefined && { filters: JSON.stringify(filters) }) };
    return (await this.#transport.call((core) => countMemories({ ...core, query }), "always", options)).count;
  }

  /** Lists memories, newest first or, with `order: "oldest"`, oldest first. */
  list(params: MemoryListParams = {}, options?: CallOptions): List<Memory> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listMemories({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Changes a memory. A new text is processed again; `null` clears a field. */
  async update(id: string, change: MemoryChange, options: CallOptions & WaitOptions = {}): Promise<Memory> {
    const send = (core: CoreOptions) => updateMemory({ ...core, path: { id }, body: change });
    return this.#waited(await this.#transport.call(send, "always", options), options);
  }

  /** Deletes a memory. `purge` removes it permanently at once, without retention. */
  delete(id: string, options: CallOptions & { readonly purge?: boolean } = {}): Promise<void> {
    const { purge = false } = options;
    return this.#transport.remove((core) => deleteMemory({ ...core, path: { id }, query: { purge } }), options);
  }

  /** Number of memories that `deleteMatching` would delete now. */
  async countMatching(conditions: DeletionConditions, options?: CallOptions): Promise<number> {
    const body = { ...conditions, dryRun: true };
    const counted = await this.#transport.call((core) => deleteMemories({ ...core, body }), "always", options);
    return (counted as MatchedMemories).matched;
  }

  /**
   * Deletes all memories that meet the conditions, from the newest to the oldest. A large deletion goes on after the
   * call: `wait` waits until it has ended. With `matched`, the number from `countMatching`, nothing is deleted if
   * another number matches now.
   * @throws ConflictError if another number than `matched` matches
   */
  async deleteMatching(
    conditions: DeletionConditions,
    options: CallOptions & WaitOptions & { readonly matched?: number } = {},
  ): Promise<Job> {
    const { matched } = options;
    const body = { ...conditions, ...(matched !== undefined && { matched }) };
    const send = (core: CoreOptions) => deleteMemories({ ...core, body });
    const job = (await this.#transport.call(send, "refused", options)) as Job;
    return options.wait === true ? untilEnded(job, (id) => this.job(id, options), options, options.signal) : job;
  }

  /** How far a deletion is. */
  job(id: string, options?: CallOptions): Promise<Job> {
    return this.#transport.call((core) => getJob({ ...core, path: { id } }), "always", options);
  }

  /** Processes a memory again that failed. */
  async retry(id: string, options: StoreOptions = {}): Promise<Memory> {
    const memory = await this.#transport.call((core) => retryMemory({ ...core, path: { id } }), "keyed", options);
    return this.#waited(memory, options);
  }

  /**
   * Processes failed memories again, at most 1,000 per call. Returns their number.
   * @param userId only those of this user
   */
  async retryFailed(userId?: string, options?: WriteOptions): Promise<number> {
    const body = userId === undefined ? {} : { userId };
    return (await this.#transport.call((core) => retryMemories({ ...core, body }), "keyed", options)).retried;
  }

  /** The entities of a memory, and the memories that share them. @param limit how many neighbours at most */
  graph(id: string, limit?: number, options?: CallOptions): Promise<MemoryGraph> {
    const query = limit === undefined ? {} : { limit };
    return this.#transport.call((core) => getMemoryGraph({ ...core, path: { id }, query }), "always", options);
  }

  /** Places of memories on a plane, where memories with similar meaning lie close together. */
  map({ filters, ...params }: MemoryMapParams = {}, options?: CallOptions): Promise<MemoryMap> {
    const query = { ...params, ...(filters !== undefined && { filters: JSON.stringify(filters) }) };
    return this.#transport.call((core) => getMemoryMap({ ...core, query }), "always", options);
  }

  /** Sets the relation of a memory to another one. Returns the relations of the memory, newest first. */
  async relate(
    id: string,
    otherId: string,
    type: SetRelationData["body"]["type"],
    options?: CallOptions,
  ): Promise<Relation[]> {
    const body = { memory_id: otherId, type };
    return (await this.#transport.call((core) => setRelation({ ...core, path: { id }, body }), "always", options)).data;
  }

  /** Forgets the relation that `relate` has set. The server may find one again by itself. */
  async forgetRelation(id: string, otherId: string, options?: CallOptions): Promise<void> {
    const query = { memory_id: otherId };
    await this.#transport.remove((core) => forgetRelation({ ...core, path: { id }, query }), options);
  }

  /** Lists the texts that a memory has and had, and when relations were set and removed, newest first. */
  history(
    id: string,
    { limit, ...options }: CallOptions & { readonly limit?: number } = {},
  ): List<HistoryList["data"][number]> {
    return new List((cursor) => {
      const query = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
      return this.#transport.call((core) => getMemoryHistory({ ...core, path: { id }, query }), "always", options);
    });
  }

  /**
   * Reads the file that a memory was made from, or a part of it, if the project keeps files (`keep_files`).
   * @throws ApiError `file_not_found`, `range_not_satisfiable`
   */
  async file(id: string, part: FilePart = {}, options?: CallOptions): Promise<KeptFile> {
    const { start = 0, end } = part;
    const isPart = start > 0 || end !== undefined;
    const range = isPart ? { Range: `bytes=${start}-${end === undefined ? "" : end - 1}` } : {};
    const { body, headers } = await this.#transport.file(
      (core) => getMemoryFile({ ...core, path: { id }, headers: { ...core.headers, ...range } }),
      options,
    );
    const type = headers.get("content-type") ?? "application/octet-stream";
    return { type, bytes: Number(headers.get("content-length")), body };
  }

  /** Erases all earlier texts of a memory for good. */
  async eraseHistory(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.remove((core) => eraseMemoryHistory({ ...core, path: { id } }), options);
  }

  /** Finds passages, best first. */
  search(query: string, params: SearchParams = {}, options?: CallOptions): Promise<SearchResults> {
    const body = { ...params, query };
    return this.#transport.call((core) => searchMemories({ ...core, body }), "always", options);
  }

  /** Answers a question from the stored memories, with sources. */
  query(query: string, params: QueryParams = {}, options?: CallOptions): Promise<QueryResult> {
    const body = { ...params, query };
    return this.#transport.call((core) => queryMemories({ ...core, body }), "refused", options);
  }

  /** Like `query`, as a stream of events. */
  async queryStream(query: string, params: QueryParams = {}, options?: CallOptions): Promise<AnswerStream> {
    const body = { ...params, query, stream: true };
    return new AnswerStream(
      await this.#transport.stream((core) => queryMemories({ ...core, body }), "refused", options),
    );
  }

  /** Waits until a memory is searchable. @throws ProcessingError, WaitTimeoutError */
  async wait(id: string, options: CallOptions & Omit<WaitOptions, "wait"> = {}): Promise<Memory> {
    return this.#waited(await this.get(id, options), { ...options, wait: true });
  }

  async #waited(memory: Memory, options: CallOptions & WaitOptions): Promise<Memory> {
    return options.wait === true ? searchable(await this.#processed(memory, options)) : memory;
  }

  #processed(memory: Memory, options: CallOptions & WaitOptions): Promise<Memory> {
    return untilProcessed(memory, (id) => this.get(id, options), options, options.signal);
  }
}
