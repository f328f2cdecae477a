// Memories: storing, reading, listing, changing, deleting. Decides the order of steps and which memories a caller may
// see. HTTP is handled in api/; rows and files are accessed through ports.

import { Fault, invariant } from "../domain/fault.ts";
import { filteredAttributesJson } from "../domain/filter.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory, MemoryChange, MemoryDraft, ReceivedFile } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import { andThen, type Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { LongText } from "../ports/json-bodies.ts";
import type { Accepted, MemoryListing, MemoryStore } from "../ports/memory-store.ts";
import type { RetirementStore } from "../ports/retirement-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import { ContentCache } from "./content-cache.ts";

/** A memory with its text, as callers see it. */
export interface MemoryWithContent {
  readonly memory: Memory;
  readonly content: string;
}

const NONE: ReadonlySet<MemoryKey> = new Set();

/** Replaces the key of a long text in `content` by the file with the text. */
type WithFile = <D extends Pick<MemoryChange, "content" | "upload">>(draft: D) => D;

/** What the service needs. */
export interface MemoryServiceParts {
  readonly memories: Pick<
    MemoryStore,
    "get" | "getMany" | "list" | "waitingContents" | "waitingTextFiles" | "unreferencedFiles"
  >;
  readonly retirement: Pick<RetirementStore, "markRetracted" | "erase">;
  readonly files: Pick<UploadFiles, "begin" | "keep" | "readText" | "remove">;
  readonly index: ChunkIndex;
  readonly log: Log;
  /** Tells the ingest worker that there may be work. */
  readonly wakeIngest: () => void;
}

/**
 * Memories of one project, as far as a viewer may see them. Memories of other users are treated as absent. Methods that
 * change something take part in the caller's transaction. After its commit, they update the visible memories and wake
 * the ingest worker.
 */
export class MemoryService {
  readonly #parts: MemoryServiceParts;
  readonly #contents = new ContentCache(LIMITS.contentCacheBytes);

  constructor(parts: MemoryServiceParts) {
    this.#parts = parts;
  }

  /**
   * Reads the contents of memories of a project that the caller has just read, in their order. Memories that were
   * deleted meanwhile may be left out.
   */
  async withContents(projectId: ProjectId, memories: readonly Memory[]): Promise<readonly MemoryWithContent[]> {
    const contents = new Map<MemoryKey, string>();
    for (const memory of memories) {
      const content = this.#contents.get(memory);
      if (content !== null) contents.set(memory.key, content);
    }
    const missing = memories.filter((memory) => !contents.has(memory.key));
    const gone = missing.length === 0 ? NONE : await this.#read(projectId, missing, contents);
    const present = gone.size === 0 ? memories : memories.filter(({ key }) => !gone.has(key));
    return present.map((memory) => ({ memory, content: contents.get(memory.key) ?? "" }));
  }

  /**
   * A memory with its text; null if the memory does not exist, is deleted or expired, belongs to another project, or is
   * not visible to the viewer.
   */
  get(viewer: Viewer, id: MemoryId): Eventually<MemoryWithContent | null> {
    return andThen(visibleMemory(this.#parts.memories, viewer, id), (memory) => {
      if (memory === null) return null;
      const content = this.#contents.get(memory);
      if (content !== null) return { memory, content };
      return this.withContents(viewer.projectId, [memory]).then(([shown]) => shown ?? null);
    });
  }

  /** Whether the viewer can read a memory: whether `get` would find it. */
  isVisible(viewer: Viewer, id: MemoryId): Eventually<boolean> {
    return andThen(visibleMemory(this.#parts.memories, viewer, id), (memory) => memory !== null);
  }

  /**
   * One page, newest first.
   * @throws Fault `invalid_cursor`; `insufficient_scope` if a confined viewer asks for another user's memories
   */
  async list(viewer: Viewer, listing: Omit<MemoryListing, "contentBytesMax">): Promise<Page<MemoryWithContent>> {
    const { userId: named, ...conditions } = listing;
    const userId = userOf(viewer, named);
    const page = await this.#parts.memories.list(viewer.projectId, {
      ...conditions,
      ...(userId !== undefined && { userId }),
      contentBytesMax: LIMITS.pageContentBytes,
    });
    return { items: await this.withContents(viewer.projectId, page.items), cursor: page.cursor };
  }

  /**
   * Stores drafts. Returns one result per draft, in order: a Fault if the draft was refused, see MemoryStore.accept. A
   * draft that is already a Fault is returned as its own result.
   * @param userParam returns the name of the field with the user of the draft at this position, for the `param` of a
   *   Fault.
   */
  async create(
    transaction: Transaction,
    viewer: Viewer,
    drafts: readonly (MemoryDraft | Fault)[],
    userParam: (position: number) => string = () => "userId",
  ): Promise<readonly (Accepted | Fault)[]> {
    const owned = drafts.map((draft, position) => ownedDraft(viewer, draft, userParam(position)));
    const admitted = owned.filter((draft): draft is MemoryDraft => !(draft instanceof Fault));
    const results = (await transaction.memories.accept(viewer.projectId, admitted)).values();
    return owned.map((draft) => {
      const result = draft instanceof Fault ? draft : results.next().value;
      invariant(result, "every draft has an outcome");
      if (!(result instanceof Fault)) this.#follow(transaction, viewer.projectId, result);
      return result;
    });
  }

  /**
   * Keeps an uploaded file while `store` stores the memory that refers to it. The file is removed again if no row
   * refers to it in the end, because `store` failed or the memory has this content already.
   * @throws Fault `overloaded` if the disk is full; and everything that `store` throws
   */
  async withUpload(
    upload: Omit<ReceivedFile, "file"> & { readonly path: string },
    store: (file: ReceivedFile) => Promise<Accepted>,
  ): Promise<Accepted> {
    const { path, ...rest } = upload;
    const { files } = this.#parts;
    const file = await files.keep(path);
    let isReferred = false;
    try {
      const accepted = await store({ ...rest, file });
      isReferred = accepted.outcome !== "updated";
      return accepted;
    } finally {
      if (!isReferred) await files.remove(file);
    }
  }

  /**
   * Keeps long texts in files while `store` stores the memories that refer to them. Files that no row refers to in the
   * end are removed again. `store` gets a function that replaces the key of a long text by its file.
   * @throws Fault `overloaded` if the disk is full; and everything that `store` throws
   */
  async withLongTexts<T>(
    longTexts: ReadonlyMap<string, LongText>,
    store: (inFile: WithFile) => Promise<T>,
  ): Promise<T> {
    if (longTexts.size === 0) return store((draft) => draft);
    const { memories, files } = this.#parts;
    const kept = new Map<string, ReceivedFile>();
    try {
      for (const [key, text] of longTexts) kept.set(key, await this.#keep(text));
      return await store((draft) => {
        const upload = draft.content === undefined ? undefined : kept.get(draft.content);
        return upload === undefined ? draft : { ...draft, content: "", upload };
      });
    } finally {
      const names = Array.from(kept.values(), ({ file }) => file);
      for (const name of await memories.unreferencedFiles(names)) await files.remove(name);
    }
  }

  async #keep({ bytes, sha256, pieces }: LongText): Promise<ReceivedFile> {
    const { files } = this.#parts;
    const incoming = await files.begin();
    try {
      for (const piece of pieces()) await incoming.write(piece);
      await incoming.end();
      return { file: await files.keep(incoming.path), bytes, sha256, source: null };
    } catch (error) {
      await incoming.discard();
      throw error;
    }
  }

  /**
   * Changes a memory. Returns null if it does not exist for this viewer.
   * @throws Fault as MemoryStore.change does; `insufficient_scope` if a confined viewer would give the memory to
   *   another user
   */
  async change(transaction: Transaction, viewer: Viewer, id: MemoryId, change: MemoryChange): Promise<Accepted | null> {
    refuseGivingAway(viewer, change.userId);
    if ((await visibleMemory(transaction.memories, viewer, id)) === null) return null;
    const accepted = await transaction.memories.change(viewer.projectId, id, change);
    if (accepted !== null) this.#follow(transaction, viewer.projectId, accepted);
    return accepted;
  }

  /**
   * Processes a failed memory again. Returns null if it does not exist for this viewer.
   * @throws Fault `invalid_state` for any other status
   */
  async retry(transaction: Transaction, viewer: Viewer, id: MemoryId): Promise<Memory | null> {
    if ((await visibleMemory(transaction.memories, viewer, id)) === null) return null;
    const memory = await transaction.memories.retry(viewer.projectId, id);
    if (memory !== null) transaction.afterCommit(this.#parts.wakeIngest);
    return memory;
  }

  /**
   * Deletes a memory softly: after the transaction, no read or search returns it. With `purges`, the caller calls
   * `purgeNow` after that. Returns null if the memory does not exist for this viewer.
   */
  async remove(
    transaction: Transaction,
    viewer: Viewer,
    id: MemoryId,
    options: { readonly purges: boolean },
  ): Promise<Memory | null> {
    if ((await visibleMemory(transaction.memories, viewer, id)) === null) return null;
    const memory = await transaction.memories.remove(viewer.projectId, id, options);
    if (memory !== null) this.#hideAfterCommit(transaction, viewer.projectId, [memory.key]);
    return memory;
  }

  /**
   * Erases memories that were deleted with `purges`: vectors, postings and texts, then the rows. Never rejects: if a
   * step fails here, the worker's sweep repeats it. A worker that is still publishing one of these memories leaves no
   * data behind: either its lease is void, or it writes before this method does.
   */
  async purgeNow(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<void> {
    const { index, retirement, files, log } = this.#parts;
    try {
      const project = await index.project(projectId);
      await project.retract(keys);
      await retirement.markRetracted(keys);
      await index.purge(keys);
      for (const file of await retirement.erase(keys)) await files.remove(file);
    } catch (err) {
      log.warn({ err, memories: keys.length }, "deleted memories could not be purged yet; the sweep tries again");
    }
  }

  // Adds the contents of memories to `contents`. Contents of memories that are not yet published are in the rows or in
  // files; they are not cached, because both are fast to read. Returns memories that were deleted meanwhile: the index
  // may have lost their text already, or may have an earlier text if they were not published.
  async #read(
    projectId: ProjectId,
    memories: readonly Memory[],
    contents: Map<MemoryKey, string>,
  ): Promise<ReadonlySet<MemoryKey>> {
    const waiting = new Map(await this.#parts.memories.waitingContents(memories.map((memory) => memory.key)));
    const inFiles = memories.filter(({ key, source }) => waiting.get(key) === "" && source === null);
    if (inFiles.length > 0) await this.#readFiles(inFiles, waiting);
    for (const [key, content] of waiting) contents.set(key, content);
    const published = memories.filter((memory) => !waiting.has(memory.key));
    if (published.length === 0) return NONE;
    const archived = await this.#parts.index.contents(published.map((memory) => memory.key));
    const isDoubtful = ({ key, state }: Memory) => !archived.has(key) || state.status !== "completed";
    const doubtful = published.filter(isDoubtful).map(({ key }) => key);
    const rows = doubtful.length === 0 ? null : await this.#parts.memories.getMany(projectId, doubtful);
    const gone = new Set(doubtful.filter((key) => rows?.has(key) !== true));
    for (const memory of published) {
      const content = archived.get(memory.key);
      if (content === undefined || gone.has(memory.key)) continue;
      contents.set(memory.key, content);
      this.#contents.put(memory, content);
    }
    return gone;
  }

  // Reads long texts from their files. Memories that were published meanwhile are removed from `waiting`.
  async #readFiles(memories: readonly Memory[], waiting: Map<MemoryKey, string>): Promise<void> {
    const names = await this.#parts.memories.waitingTextFiles(memories.map(({ key }) => key));
    for (const { key } of memories) {
      const name = names.get(key);
      const content = name === undefined ? null : await this.#parts.files.readText(name);
      if (content === null) waiting.delete(key);
      else waiting.set(key, content);
    }
  }

  #follow(transaction: Transaction, projectId: ProjectId, { memory, outcome, releasedFile }: Accepted): void {
    const { index, files, wakeIngest } = this.#parts;
    if (releasedFile !== null) transaction.afterCommit(() => files.remove(releasedFile));
    if (outcome === "updated" && memory.state.status === "completed") {
      const { key: memoryKey, userKey, expiresAt } = memory;
      const attributes = filteredAttributesJson(memory);
      transaction.afterCommit(async () => {
        const project = await index.project(projectId);
        await project.show([{ memoryKey, userKey, expiresAt, attributes }]);
      });
    }
    if (outcome === "rewritten") this.#hideAfterCommit(transaction, projectId, [memory.key]);
    if (outcome === "created") transaction.afterCommit(wakeIngest);
  }

  #hideAfterCommit(transaction: Transaction, projectId: ProjectId, keys: readonly MemoryKey[]): void {
    hideAfterCommit(transaction, this.#parts.index, projectId, keys);
    transaction.afterCommit(() => {
      for (const key of keys) this.#contents.forget(key);
      this.#parts.wakeIngest();
    });
  }
}

/** Hides memories from searches after the commit of the transaction that deletes or rewrites them. */
export function hideAfterCommit(
  transaction: Transaction,
  index: Pick<ChunkIndex, "project">,
  projectId: ProjectId,
  keys: readonly MemoryKey[],
): void {
  transaction.afterCommit(async () => (await index.project(projectId)).hide(keys));
}

/** The memory with this id; null if it does not exist or belongs to a user that the viewer may not see. */
function visibleMemory(memories: Pick<MemoryStore, "get">, viewer: Viewer, id: MemoryId): Eventually<Memory | null> {
  return andThen(memories.get(viewer.projectId, id), (memory) => {
    return memory === null || (viewer.userId !== null && memory.userId !== viewer.userId) ? null : memory;
  });
}

/**
 * Sets the user that a draft is stored for. Returns a Fault if the viewer cannot act for that user. A draft that is
 * already a Fault is returned unchanged.
 */
function ownedDraft(viewer: Viewer, draft: MemoryDraft | Fault, param: string): MemoryDraft | Fault {
  if (draft instanceof Fault) return draft;
  try {
    const userId = userOf(viewer, draft.userId, param);
    return userId === undefined ? draft : { ...draft, userId };
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function refuseGivingAway(viewer: Viewer, userId: string | null | undefined): void {
  if (userId !== null) userOf(viewer, userId);
  else if (viewer.userId !== null) {
    throw new Fault("insufficient_scope", "This key is confined to one user and cannot make a memory nobody's.", {
      param: "userId",
    });
  }
}
