// Memories: storing, reading, listing, changing, deleting. Decides the order of steps and which memories a caller may
// see. HTTP is handled in api/; rows and files are accessed through ports.

import { stat } from "node:fs/promises";
import { countsWithoutParts, type PartCounts } from "../domain/containers.ts";
import { isConversation } from "../domain/extraction.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { filteredAttributesJson } from "../domain/filter.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory, MemoryChange, MemoryDraft, MemorySource, MemoryState, ReceivedFile } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import { userOf, type Viewer, withinViewer } from "../domain/scope.ts";
import { isoTime } from "../kit/clock.ts";
import { andThen, type Eventually } from "../kit/eventually.ts";
import { groupsWithin } from "../kit/groups.ts";
import type { Log } from "../kit/log.ts";
import { nullIfMissing } from "../kit/missing-files.ts";
import type { PublishedMemories, StoredText } from "../ports/chunk-index.ts";
import type { Accepted, MemoryListing, MemoryStore, RemovedMemory } from "../ports/memory-store.ts";
import type { RetirementStore } from "../ports/retirement-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import { changeParts, mayHaveParts } from "./container-parts.ts";
import { ContentCache } from "./content-cache.ts";
import { withOriginals } from "./originals.ts";
import { withZonedDates } from "./zones.ts";

/** A memory with its text, as callers see it. */
export interface MemoryWithContent {
  readonly memory: Memory;
  readonly content: string;
  /** Counts of the memories of the files in its file; absent if it contains none, unless it is an archive. */
  readonly parts?: PartCounts;
}

/** Memories whose contents could not be read: those that were deleted, and those with a damaged text. */
interface Unread {
  readonly gone: ReadonlySet<MemoryKey>;
  readonly damaged: ReadonlySet<MemoryKey>;
}
const ALL_READ: Unread = { gone: new Set(), damaged: new Set() };
/** The state of a memory whose stored text does not match its row. */
const UNREADABLE = {
  status: "failed",
  error: {
    code: "processing_error",
    message:
      "The stored text of this memory is missing or damaged, so it is not shown. Send the text again, or ask the " +
      "operator to run `mneme verify --repair`.",
  },
} as const satisfies MemoryState;

const LOST_ORIGINAL =
  "The kept file of this memory is missing or damaged. Send it again, or ask the operator to run `mneme verify --repair`.";

/** The original of a memory's file. */
export interface Original {
  /** Identifies the bytes: another file has another name. */
  readonly name: string;
  readonly source: MemorySource;
  /** Path of the complete file on this machine. @throws Fault `internal_error` if it is lost */
  readonly locate: () => Promise<string>;
}

/** Maximum length, in UTF-16 code units, of the contents that are stored without a pause for other requests. */
const PART_CHARACTERS_MAX = 2_000_000;

/** Number of failed memories that are put back to `processing` without a pause for other requests. */
const PART_RETRIED = 100;

/** The result of a change. */
export interface Changed extends Accepted {
  /** Whether the memory is processed again: it has a new content, or is a conversation with another day. */
  readonly isProcessedAgain: boolean;
}

/** What the service needs. */
export interface MemoryServiceDependencies {
  readonly memories: Pick<
    MemoryStore,
    "get" | "getMany" | "isMadeFrom" | "list" | "partCounts" | "waitingContents" | "waitingTextFiles"
  >;
  readonly retirement: Pick<RetirementStore, "markRetracted" | "erase">;
  readonly files: Pick<UploadFiles, "fetch" | "readText" | "remove">;
  readonly index: PublishedMemories;
  readonly log: Log;
  /** Called with the number of texts that were not shown because they do not match their rows. */
  readonly countDamaged?: (texts: number) => void;
  /** Tells the ingest worker that there may be work. */
  readonly wakeIngest: () => void;
}

/**
 * Memories of one project, as far as a viewer may see them. Memories of other users are treated as absent. Methods that
 * change something take part in the caller's transaction. After its commit, they update the visible memories and wake
 * the ingest worker.
 */
export class MemoryService {
  readonly #uses: MemoryServiceDependencies;
  readonly #contents = new ContentCache(LIMITS.contentCacheBytes);

  constructor(uses: MemoryServiceDependencies) {
    this.#uses = uses;
  }

  /**
   * Reads the contents of memories of a project that the caller has just read, in their order. Memories that were
   * deleted meanwhile may be left out. A memory whose stored text does not match its row has no content and counts as
   * failed here, because neither an earlier text nor an empty one may pass for its text.
   */
  async withContents(projectId: ProjectId, memories: readonly Memory[]): Promise<readonly MemoryWithContent[]> {
    const contents = new Map<MemoryKey, string>();
    for (const memory of memories) {
      const content = this.#contents.get(memory);
      if (content !== null) contents.set(memory.key, content);
    }
    const missing = memories.filter((memory) => !contents.has(memory.key));
    const { gone, damaged } = missing.length === 0 ? ALL_READ : await this.#read(projectId, missing, contents);
    const present = gone.size === 0 ? memories : memories.filter(({ key }) => !gone.has(key));
    const counts = await this.#partCounts(projectId, present);
    return present.map((memory) => {
      const parts = partsOf(memory, counts);
      return damaged.has(memory.key)
        ? { memory: { ...memory, state: UNREADABLE }, content: "", ...parts }
        : { memory, content: contents.get(memory.key) ?? "", ...parts };
    });
  }

  /** Counts of the parts of those memories whose files can contain files. */
  async #partCounts(projectId: ProjectId, memories: readonly Memory[]): Promise<ReadonlyMap<string, PartCounts>> {
    const containers = memories.filter(mayHaveParts).map(({ id }) => id);
    return containers.length === 0 ? NO_COUNTS : this.#uses.memories.partCounts(projectId, containers);
  }

  /**
   * A memory with its text; null if the memory does not exist, is deleted or expired, belongs to another project, or is
   * not visible to the viewer.
   * @throws Fault `internal_error` if the stored text does not match the row
   */
  get(viewer: Viewer, id: MemoryId): Eventually<MemoryWithContent | null> {
    return andThen(visibleMemory(this.#uses.memories, viewer, id), (memory) => {
      if (memory === null) return null;
      const content = this.#contents.get(memory);
      if (content !== null && !mayHaveParts(memory)) return { memory, content };
      return this.withContents(viewer.projectId, [memory]).then(([shown]) => {
        if (shown?.memory.state === UNREADABLE) throw new Fault("internal_error", UNREADABLE.error.message);
        return shown ?? null;
      });
    });
  }

  /** Whether the viewer can read a memory: whether `get` would find it. */
  async isVisible(viewer: Viewer, id: MemoryId): Promise<boolean> {
    return (await visibleMemory(this.#uses.memories, viewer, id)) !== null;
  }

  /**
   * The original of a memory's file, and where it is on this machine. null if the memory does not exist for this
   * viewer.
   * @throws Fault `file_not_found` if the file is not kept; `internal_error` if it is lost
   */
  async original(viewer: Viewer, id: MemoryId): Promise<Original | null> {
    const memory = await visibleMemory(this.#uses.memories, viewer, id);
    if (memory === null) return null;
    const { source, originalFile: name } = memory;
    if (source === null || name === null) throw notKept(source);
    const locate = async () => {
      const path = await this.#uses.files.fetch(name);
      const found = await stat(path).catch(nullIfMissing);
      if (found?.size === source.bytes) return path;
      this.#uses.log.error(
        { memory: id, file: name },
        "a kept file is missing or damaged: run `mneme verify --repair`",
      );
      throw new Fault("internal_error", LOST_ORIGINAL);
    };
    return { name, source, locate };
  }

  /**
   * One page, newest first unless the listing names another order.
   * @throws Fault `invalid_cursor`; `insufficient_scope` if a confined viewer asks for another user's memories
   */
  async list(viewer: Viewer, listing: Omit<MemoryListing, "contentBytesMax">): Promise<Page<MemoryWithContent>> {
    const page = await this.#uses.memories.list(viewer.projectId, {
      ...withinViewer(viewer, listing),
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
    const accepted: (Accepted | Fault)[] = [];
    const parts = [...groupsWithin(admitted, PART_CHARACTERS_MAX, ({ content }) => content.length)];
    // without drafts, `accept` still refuses a project that does not exist
    for (const part of parts.length === 0 ? [[]] : parts) {
      const dated = await withZonedDates(transaction, viewer.projectId, part);
      const kept = await withOriginals(transaction, viewer.projectId, dated);
      const sent = kept.map((draft) => ({ ...draft, ...senderOf(viewer) }));
      accepted.push(...(await transaction.memories.accept(viewer.projectId, sent)));
      if (part.length < admitted.length) await new Promise(setImmediate); // lets other requests run
    }
    const results = accepted.values();
    const followed: (Accepted | Fault)[] = [];
    for (const draft of owned) {
      const result = draft instanceof Fault ? draft : results.next().value;
      invariant(result, "every draft has an outcome");
      if (draft instanceof Fault || result instanceof Fault) followed.push(result);
      // the memory's earlier day is not known here, but a draft without a day does not change it
      else followed.push(await this.#followAll(transaction, viewer.projectId, result, draft, dayOf(draft) !== null));
    }
    return followed;
  }

  /** Whether a memory of a project that the caller has just read was made from this file. */
  async isMadeFrom(projectId: ProjectId, id: MemoryId, file: Omit<ReceivedFile, "file">): Promise<boolean> {
    return this.#uses.memories.isMadeFrom(projectId, id, { ...file, file: "" });
  }

  /**
   * Changes a memory. Returns null if it does not exist for this viewer. A conversation with another day is processed
   * again, because its turns have that day.
   * @throws Fault as MemoryStore.change does; `insufficient_scope` if a confined viewer would give the memory to
   *   another user
   */
  async change(transaction: Transaction, viewer: Viewer, id: MemoryId, change: MemoryChange): Promise<Changed | null> {
    refuseGivingAway(viewer, change.userId);
    const before = await visibleMemory(transaction.memories, viewer, id);
    if (before === null) return null;
    const { userId = before.userId } = change;
    const [dated] = await withZonedDates(transaction, viewer.projectId, [{ ...change, userId }]);
    const occurred = dated?.occurredAt === undefined ? {} : { occurredAt: dated.occurredAt };
    const [kept = change] = await withOriginals(transaction, viewer.projectId, [change]);
    const changed = { ...kept, ...occurred, ...senderOf(viewer) };
    const accepted = await transaction.memories.change(viewer.projectId, id, changed);
    if (accepted === null) return null;
    const hasNewDay = dayOf(before) !== dayOf(accepted.memory);
    return this.#followAll(transaction, viewer.projectId, accepted, change, hasNewDay);
  }

  /**
   * Processes a failed memory again. Returns null if it does not exist for this viewer.
   * @throws Fault `invalid_state` for any other status
   */
  async retry(transaction: Transaction, viewer: Viewer, id: MemoryId): Promise<Memory | null> {
    if ((await visibleMemory(transaction.memories, viewer, id)) === null) return null;
    const memory = await transaction.memories.retry(viewer.projectId, id);
    if (memory !== null) transaction.afterCommit(this.#uses.wakeIngest);
    return memory;
  }

  /**
   * Processes failed memories again, the oldest first, at most `LIMITS.retriedMemories`. Returns their number.
   * @throws Fault `insufficient_scope` if a confined viewer names another user
   */
  async retryFailed(transaction: Transaction, viewer: Viewer, named: string | undefined): Promise<number> {
    const userId = userOf(viewer, named);
    const ofUser = userId === undefined ? {} : { userId };
    let [retried, rows] = [0, 0];
    do {
      const limit = Math.min(PART_RETRIED, LIMITS.retriedMemories - retried);
      rows = await transaction.memories.retryFailed(viewer.projectId, { ...ofUser, limit });
      retried += rows;
      await new Promise(setImmediate); // lets other requests run
    } while (rows === PART_RETRIED && retried < LIMITS.retriedMemories);
    if (retried > 0) transaction.afterCommit(this.#uses.wakeIngest);
    return retried;
  }

  /**
   * Deletes a memory softly: after the transaction, no read or search returns it. With `purges`, the caller calls
   * `purgeNow` after that. If the memory is a container, such as a ZIP file, its parts are deleted too. Returns null if
   * the memory does not exist for this viewer.
   */
  async remove(
    transaction: Transaction,
    viewer: Viewer,
    id: MemoryId,
    options: { readonly purges: boolean },
  ): Promise<RemovedMemory | null> {
    if ((await visibleMemory(transaction.memories, viewer, id)) === null) return null;
    const removed = await transaction.memories.remove(viewer.projectId, id, options);
    if (removed !== null) this.#hideAfterCommit(transaction, viewer.projectId, removed.keys);
    return removed;
  }

  /**
   * Erases memories that were deleted with `purges`: vectors, postings and texts, then the rows. Never rejects: if a
   * step fails here, the worker's sweep repeats it. A worker that is still publishing one of these memories leaves no
   * data behind: either its lease is void, or it writes before this method does.
   */
  async purgeNow(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<void> {
    const { index, retirement, files, log } = this.#uses;
    try {
      await index.retract(projectId, keys);
      await retirement.markRetracted(keys);
      await index.purge(keys);
      for (const file of await retirement.erase(keys)) await files.remove(file);
    } catch (err) {
      log.warn({ err, memories: keys.length }, "deleted memories could not be purged yet; the sweep tries again");
    }
  }

  // Adds the contents of memories to `contents`. Contents of memories that are not yet published are in the rows or in
  // files; they are not cached, because both are fast to read. The index may no longer have the text of a memory that
  // was deleted meanwhile, and may have an earlier text of one that was not published.
  async #read(projectId: ProjectId, memories: readonly Memory[], contents: Map<MemoryKey, string>): Promise<Unread> {
    const waiting = new Map(await this.#uses.memories.waitingContents(memories.map((memory) => memory.key)));
    const inFiles = memories.filter(({ key, source }) => waiting.get(key) === "" && source === null);
    if (inFiles.length > 0) await this.#readFiles(inFiles, waiting);
    for (const [key, content] of waiting) contents.set(key, content);
    const published = memories.filter((memory) => !waiting.has(memory.key));
    if (published.length === 0) return ALL_READ;
    const archived = await this.#uses.index.contents(published.map((memory) => memory.key));
    const doubtful: Memory[] = [];
    for (const memory of published) {
      const text = archived.get(memory.key);
      if (!isTextOf(memory, text)) doubtful.push(memory);
      else {
        contents.set(memory.key, text.content);
        this.#contents.put(memory, text.content);
      }
    }
    return doubtful.length === 0 ? ALL_READ : this.#readAgain(projectId, doubtful, archived, contents);
  }

  // Reads the rows of memories again whose text is missing, or not the one of their row.
  async #readAgain(
    projectId: ProjectId,
    memories: readonly Memory[],
    archived: ReadonlyMap<MemoryKey, StoredText>,
    contents: Map<MemoryKey, string>,
  ): Promise<Unread> {
    const { memories: store, log, countDamaged } = this.#uses;
    const keys = memories.map(({ key }) => key);
    const rows = await store.getMany(projectId, keys);
    const gone = new Set(keys.filter((key) => !rows.has(key)));
    const damaged = new Set<MemoryKey>();
    const changed: Memory[] = [];
    for (const memory of memories) {
      const row = rows.get(memory.key);
      if (row === undefined) continue;
      const text = archived.get(memory.key);
      if (memory.state.status !== "completed") contents.set(memory.key, text?.content ?? "");
      else if (row.version !== memory.version) changed.push(row);
      else damaged.add(memory.key);
    }
    if (damaged.size > 0) {
      const ids = memories.flatMap(({ key, id }) => (damaged.has(key) ? [id] : []));
      log.error({ projectId, memories: ids }, "stored texts do not match their rows: run `mneme verify --repair`");
      countDamaged?.(damaged.size);
    }
    if (changed.length === 0) return { gone, damaged };
    const later = await this.#read(projectId, changed, contents);
    return { gone: gone.union(later.gone), damaged: damaged.union(later.damaged) };
  }

  // Reads long texts from their files. Memories that were published meanwhile are removed from `waiting`. The job of a
  // damaged file fails, and says so.
  async #readFiles(memories: readonly Memory[], waiting: Map<MemoryKey, string>): Promise<void> {
    const files = await this.#uses.memories.waitingTextFiles(memories.map(({ key }) => key));
    for (const { key } of memories) {
      const file = files.get(key);
      const content = file === undefined ? "missing" : await this.#uses.files.readText(file);
      if (content === "missing") waiting.delete(key);
      else waiting.set(key, content === "damaged" ? "" : content.slice(0));
    }
  }

  /** Does what follows from a change, also for the parts of a container. @param hasNewDay see `#follow` */
  async #followAll(
    transaction: Transaction,
    projectId: ProjectId,
    accepted: Accepted,
    change: MemoryChange,
    hasNewDay: boolean,
  ): Promise<Changed> {
    for (const part of await changeParts(transaction, projectId, accepted.memory, change)) {
      await this.#follow(transaction, projectId, part, false);
    }
    return this.#follow(transaction, projectId, accepted, hasNewDay);
  }

  /** @param hasNewDay whether the day of the memory may have changed */
  async #follow(
    transaction: Transaction,
    projectId: ProjectId,
    accepted: Accepted,
    hasNewDay: boolean,
  ): Promise<Changed> {
    const { index, files, wakeIngest } = this.#uses;
    const { memory, outcome, releasedFile } = accepted;
    const { status } = memory.state;
    if (hasNewDay && outcome === "updated" && status === "completed" && isConversation(memory.type)) {
      await transaction.jobs.reopen([memory.key]);
      this.#hideAfterCommit(transaction, projectId, [memory.key]);
      const reopened = await transaction.memories.get(projectId, memory.id);
      invariant(reopened, "a memory that was just changed exists");
      return { ...accepted, memory: reopened, isProcessedAgain: true };
    }
    if (hasNewDay && outcome === "updated" && status === "processing") {
      await transaction.jobs.restart([memory.key]); // whether it is a conversation may not be known yet
      transaction.afterCommit(wakeIngest);
    }
    if (releasedFile !== null) transaction.afterCommit(() => files.remove(releasedFile));
    if (outcome === "updated" && memory.state.status === "completed") {
      const { key: memoryKey, userKey, expiresAt } = memory;
      const attributes = filteredAttributesJson(memory);
      transaction.afterCommit(() => index.show(projectId, [{ memoryKey, userKey, expiresAt, attributes }]));
    }
    if (outcome === "rewritten") this.#hideAfterCommit(transaction, projectId, [memory.key]);
    if (outcome === "created") transaction.afterCommit(wakeIngest);
    return { ...accepted, isProcessedAgain: outcome === "rewritten" };
  }

  #hideAfterCommit(transaction: Transaction, projectId: ProjectId, keys: readonly MemoryKey[]): void {
    hideAfterCommit(transaction, this.#uses.index, projectId, keys);
    transaction.afterCommit(() => {
      for (const key of keys) this.#contents.forget(key);
      this.#uses.wakeIngest();
    });
  }
}

const NO_COUNTS: ReadonlyMap<string, PartCounts> = new Map();

/** The counts that a memory shows: an archive always has them, a message only if it has attachments. */
function partsOf({ id, source }: Memory, counts: ReadonlyMap<string, PartCounts>): { readonly parts?: PartCounts } {
  const parts = counts.get(id) ?? countsWithoutParts(source);
  return parts === undefined ? {} : { parts };
}

/** The day that turns without a day of their own have, as a text for comparisons; null if the caller gave none. */
function dayOf(dated: Pick<MemoryDraft, "occurredAt" | "occurredAtGiven" | "metadata"> | Memory): string | null {
  const { occurredAt, occurredAtGiven, metadata } = dated;
  if (occurredAt != null) return (occurredAtGiven ?? isoTime(occurredAt)).slice(0, "2026-11-21".length);
  return metadata?.date === undefined ? null : JSON.stringify(metadata.date);
}

/** Who sends a draft or a change. */
function senderOf({ keyId }: Viewer): { readonly by?: string } {
  return keyId === undefined ? {} : { by: keyId };
}

function notKept(source: MemorySource | null): Fault {
  const why =
    source === null
      ? "This memory was not made from a file."
      : source.container !== undefined
        ? `A file in a file is kept with it only: ask for the file of memory ${source.container}.`
        : "The file of this memory was not kept: set `keep_files` in the project, and send the file again.";
  return new Fault("file_not_found", why);
}

/** Whether the content of a draft or a change is processed: it is new, or its memory had failed. */
export function isToProcess(outcome: Accepted["outcome"]): boolean {
  return outcome === "created" || outcome === "rewritten";
}

/** Hides memories from searches after the commit of the transaction that deletes or rewrites them. */
export function hideAfterCommit(
  transaction: Transaction,
  index: Pick<PublishedMemories, "hide">,
  projectId: ProjectId,
  keys: readonly MemoryKey[],
): void {
  transaction.afterCommit(() => index.hide(projectId, keys));
}

/** Whether a text is the one that a completed memory was published with. Only `mneme verify` compares hashes. */
function isTextOf({ state, version, contentBytes }: Memory, text: StoredText | undefined): text is StoredText {
  if (state.status !== "completed" || text === undefined) return false;
  return text.version === version && Buffer.byteLength(text.content) === contentBytes;
}

/** The memory with this id; null if it does not exist or belongs to a user that the viewer may not see. */
export function visibleMemory(
  memories: Pick<MemoryStore, "get">,
  viewer: Viewer,
  id: MemoryId,
): Eventually<Memory | null> {
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
