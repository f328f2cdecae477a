// The index of one project on one of several nodes. It follows the project's change sequence: each change is read from
// the shared store and applied here. followed-index.ts opens and closes the projects.

import { Fault } from "../../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../../domain/ids.ts";
import type { Clock } from "../../../kit/clock.ts";
import { within } from "../../../kit/eventually.ts";
import { groupsWithin } from "../../../kit/groups.ts";
import type { Log } from "../../../kit/log.ts";
import { pipelined } from "../../../kit/pipelined.ts";
import {
  type ChunkKeys,
  type IndexModel,
  type ModelVectors,
  OtherModel,
  type Rebuild,
  type VisibleMemory,
} from "../../../ports/chunk-index.ts";
import type { LoadedPublication, SharedIndex, SharedState, WantedPublication } from "../../../ports/shared-index.ts";
import type { ArchivedChunkKeys, TextArchive } from "../../../ports/text-archive.ts";
import type { NativeIndex } from "../../native/addon-types.ts";
import { EmbeddedProjectIndex, type IndexDependencies, type ProjectIndexDependencies } from "../project-index.ts";
import { chunkKeysOf, loadingGroups, publicationsOf, replacingMemory, vectorsByMemory } from "../publication.ts";
import { describable, showable } from "../showable.ts";
import { ComingPublications } from "./coming-publications.ts";

/** Maximum time that a request waits until the index is up to date, in milliseconds. */
const CURRENT_MS_MAX = 10_000;
/** Retry hint in seconds for a request that waited too long. */
const RETRY_SECONDS = 2;
/**
 * Number of memories whose states one statement reads. Short texts of a page are published together: with pages of
 * 1,000 memories, an empty node takes a tenth more processor time to load a project.
 */
const PAGE_MEMORIES = 8_000;
const OVERDUE = "the index is not up to date in time";
/** Key which says, in a list of changed memories, that the project's live model changed. */
const LIVE_MODEL = 0n as MemoryKey;

/** The committed states of some memories. */
interface CommittedPage {
  readonly memoryKeys: readonly MemoryKey[];
  readonly states: readonly SharedState[];
  /** The states whose publications this node has yet to load. */
  readonly missing: readonly SharedState[];
  /** The first publications of `missing`. */
  readonly first: LoadedGroup;
  /** The groups of publications that are loaded after `first`. */
  readonly groups: readonly (readonly WantedPublication[])[];
}

/** Publications to load at once. */
interface LoadedGroup {
  readonly wanted: readonly WantedPublication[];
  /** Fingerprint of the live model when they were read. */
  readonly live: string;
  readonly found: readonly LoadedPublication[];
}

/** What was read of a project while its files were being opened. */
export interface ReadAhead {
  /** The sequence number that was committed before the rest was read. */
  readonly sequence: Promise<number | null>;
  /** The memories that searches may see, in pages. */
  readonly completed: AsyncIterable<readonly VisibleMemory[]>;
  /** The keys of all chunks of the project. */
  readonly chunkKeys: Promise<ArchivedChunkKeys>;
}

/** What following changes needs besides the dependencies of any index. */
export interface FollowDependencies {
  readonly shared: SharedIndex;
  readonly clock: Clock;
  /** The memories of a project that searches may see, in pages. */
  readonly completedOf: (id: ProjectId) => AsyncIterable<readonly VisibleMemory[]>;
  /** Puts completed memories back to `processing`, because no publication of them can be loaded. */
  readonly reopen: (memoryKeys: readonly MemoryKey[]) => Promise<void>;
  /**
   * The model that the project's searches use, null if it is not installed here; and whether it is being changed.
   * Stores the model of this node, `own`, if none is known.
   */
  readonly modelOf: (
    id: ProjectId,
    own: IndexModel,
  ) => Promise<{ readonly live: IndexModel | null; readonly isChanging: boolean }>;
}

/**
 * The index of one project that follows its change sequence.
 *
 * Only the follower makes memories visible or hides them: it reads the committed states one after the other, so the
 * last state that it applies is the newest one. `show` and `hide`, which callers use after their own changes, only wake
 * it.
 */
export class FollowedProjectIndex extends EmbeddedProjectIndex {
  readonly #follow: FollowDependencies;
  readonly #reserve: IndexDependencies["reserveChunkKeys"];
  readonly #archive: TextArchive;
  readonly #log: Log;
  /** Every change up to this sequence number is applied; null before the first load. */
  #applied: number | null = null;
  /** The follower's newest step. Steps run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #opening: Promise<void> | null = null;
  #catchingUp: Promise<void> | null = null;
  #isClosed = false;
  #hasRetracted = false;
  /** Number of holders that have not given the index back. */
  #holders = 0;
  #isRetired = false;
  #ahead: ReadAhead | null;
  readonly #coming: ComingPublications;
  /** When somebody last got the index: a number that grows with each use of any project. */
  lastUse = 0;

  constructor(
    id: ProjectId,
    native: NativeIndex,
    parts: ProjectIndexDependencies,
    {
      repairs,
      follow,
      ahead,
    }: { readonly repairs: readonly string[]; readonly follow: FollowDependencies; readonly ahead: ReadAhead | null },
  ) {
    super(id, native, parts, repairs);
    this.#follow = follow;
    this.#archive = parts.archive;
    this.#log = parts.log;
    this.#reserve = parts.reserveChunkKeys;
    this.#ahead = ahead;
    this.#coming = new ComingPublications(
      (wanted, isWanted) => this.#loadAhead(wanted, isWanted),
      (err) => this.#log.debug({ projectId: id, err }, "a large memory could not be loaded before it is completed"),
    );
  }

  /** The sequence number up to which every change is applied. */
  get applied(): number {
    return this.#applied ?? 0;
  }

  override hold(): boolean {
    if (!this.#isRetired) this.#holders += 1;
    return !this.#isRetired;
  }

  override [Symbol.dispose](): void {
    if (!this.#isRetired) this.#holders -= 1;
  }

  /** From now on, nobody can hold the index. Returns false if somebody holds it; then nothing changes. */
  retire(): boolean {
    this.#isRetired ||= this.#holders === 0;
    return this.#isRetired;
  }

  /** Whether memories were retracted since the last call. */
  takeHasRetracted(): boolean {
    const had = this.#hasRetracted;
    this.#hasRetracted = false;
    return had;
  }

  /** Brings the files of this node up to date. The second and later calls return the result of the first. */
  opened(): Promise<void> {
    this.#opening ??= this.#inTurn(async () => {
      if (this.#applied === null) await this.#open();
    }).catch((error: unknown) => {
      this.#opening = null; // the next caller tries again
      throw error;
    });
    return this.#opening;
  }

  /**
   * Waits until every change that was committed before this call is applied.
   * @throws Fault `overloaded` if that takes longer than CURRENT_MS_MAX, `project_not_found` if the project was dropped
   */
  async untilCurrent(): Promise<void> {
    const committed = await this.#committed();
    if (this.#includes(committed)) return;
    try {
      await within(this.#until(committed), CURRENT_MS_MAX, OVERDUE);
    } catch (error) {
      if (!(error instanceof Error) || error.message !== OVERDUE) throw error;
      throw new Fault(
        "overloaded",
        "This node has not seen all changes of the project yet, so it does not answer from an outdated index. Try again soon.",
        { retryAfterSeconds: RETRY_SECONDS, cause: error },
      );
    }
  }

  /** Applies new changes soon. */
  wake(): void {
    // the next request meets the failure again, and tells its caller
    this.#catchUp().catch((err: unknown) => {
      this.#log.debug({ projectId: this.id, err }, "changes of other nodes could not be applied; trying again");
    });
  }

  override show(): void {
    this.wake();
  }

  override hide(): void {
    this.wake();
  }

  /** Also applies the committed states again: another node may have published one of these memories meanwhile. */
  override async retract(memoryKeys: readonly MemoryKey[]): Promise<void> {
    super.hide(memoryKeys);
    for (const memoryKey of memoryKeys) this.#coming.remove(memoryKey);
    await super.retract(memoryKeys);
    await this.#inTurn(() => this.#apply(memoryKeys));
  }

  /** Replaces publications in the shared store; then all nodes load them, this one too. The chunks get new keys. */
  override async rebuild(memories: readonly Rebuild[]): Promise<readonly MemoryKey[]> {
    if (memories.length === 0) return [];
    const { live } = this.models();
    if (memories.some(({ vectors }) => vectors[0]?.fingerprint !== live.fingerprint)) {
      throw new OtherModel(`the vectors are not of the model ${live.fingerprint}, which is live now`);
    }
    let nextKey = await this.#reserve(memories.reduce((sum, { chunks }) => sum + chunks.length, 0));
    const replacing = memories.map((memory) => {
      const first = nextKey;
      nextKey += BigInt(memory.chunks.length);
      return replacingMemory(this.id, memory, first);
    });
    const replaced = await this.#follow.shared.replace(this.id, replacing);
    await this.#until(await this.#committed());
    return memories.flatMap(({ memoryKey }) => (replaced.has(memoryKey) ? [] : [memoryKey]));
  }

  /** Also stores the vectors for the other nodes. */
  override async addVectors(chunks: ChunkKeys, vectors: ModelVectors): Promise<number> {
    await this.#follow.shared.addVectors(vectorsByMemory(chunks, vectors));
    return super.addVectors(chunks, vectors);
  }

  override async dropBuilding(): Promise<void> {
    await super.dropBuilding();
    await this.#keepModels();
  }

  override async forgetPrevious(): Promise<void> {
    await super.forgetPrevious();
    await this.#keepModels();
  }

  /** Removes vectors that no node needs from the shared store. */
  async #keepModels(): Promise<void> {
    const { live, building, previous } = this.models();
    const kept = [live, building, previous].flatMap((model) => model?.fingerprint ?? []);
    await this.#follow.shared.keepModels(this.id, kept);
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#last, this.#coming.stop()]);
    await super.close();
  }

  async #committed(): Promise<number> {
    const committed = await this.#follow.shared.sequence(this.id);
    if (committed === null) throw new Fault("project_not_found", `There is no project '${this.id}' any more.`);
    return committed;
  }

  #includes(committed: number): boolean {
    return this.#applied !== null && this.#applied >= committed;
  }

  /** Applies changes up to `committed`. A running step may have read them before it; then one more is needed. */
  async #until(committed: number): Promise<void> {
    while (!this.#includes(committed)) await this.#catchUp();
  }

  #catchUp(): Promise<void> {
    this.#catchingUp ??= this.#inTurn(async () => {
      this.#catchingUp = null; // a change that is committed from now on needs another step
      await this.#applyNew();
    });
    return this.#catchingUp;
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const running = this.#last.then(() => {
      if (this.#isClosed) throw new Fault("project_not_found", `The index of project '${this.id}' was closed.`);
      return step();
    });
    const ended = () => undefined;
    this.#last = running.then(ended, ended); // the caller gets the error
    return running;
  }

  // The sequence number is read first: changes that are committed meanwhile are applied again, which is harmless.
  async #open(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = null;
    const sequence = (await ahead?.sequence) ?? (await this.#committed());
    const { chunks, textChunks } = this.native.stats();
    if (chunks === 0 && textChunks === 0) await this.#applyEverything();
    else {
      const completed = ahead?.completed ?? this.#follow.completedOf(this.id);
      const { incomplete } = await super.reconcileWith(completed, ahead?.chunkKeys ?? this.#archive.chunkKeys(this.id));
      await this.#applyAll([LIVE_MODEL, ...incomplete]);
    }
    this.#applied = sequence;
  }

  async #applyNew(): Promise<void> {
    const { shared } = this.#follow;
    if (this.#applied === null) return this.#open();
    const committed = await this.#committed();
    if (committed === this.#applied) return;
    const changes = await shared.changesAfter(this.id, this.#applied);
    // the number goes back if the database was restored
    if (changes.isIncomplete || changes.sequence < committed || committed < this.#applied) {
      await this.#applyEverything();
      this.#applied = committed;
    } else {
      // a memory whose publication was loaded ahead is not in `changes` if it has failed
      await this.#applyAll([...changes.memoryKeys, ...this.#coming.memoryKeys]);
      this.#applied = changes.sequence;
    }
  }

  /** Applies the states of all memories that are visible or were loaded. */
  async #applyEverything(): Promise<void> {
    const keys = new Set<MemoryKey>([LIVE_MODEL, ...this.held.memoryKeys, ...this.#coming.memoryKeys]);
    for await (const page of this.#follow.shared.completed(this.id)) for (const memoryKey of page) keys.add(memoryKey);
    await this.#applyAll([...keys]);
  }

  async #applyAll(memoryKeys: readonly MemoryKey[]): Promise<void> {
    const again = memoryKeys.includes(LIVE_MODEL) ? await this.#followModel() : [];
    const keys = [...new Set([...again, ...memoryKeys])].filter((key) => key !== LIVE_MODEL);
    const pages = groupsWithin(keys, PAGE_MEMORIES, () => 1);
    await pipelined(
      pages,
      (page) => this.#read(page),
      (committed) => this.#applyRead(committed),
    );
  }

  /** Brings these memories to their committed states. */
  async #apply(memoryKeys: readonly MemoryKey[]): Promise<void> {
    await this.#applyRead(await this.#read(memoryKeys));
  }

  async #read(memoryKeys: readonly MemoryKey[]): Promise<CommittedPage> {
    const states = await this.#follow.shared.states(this.id, memoryKeys);
    for (const { memoryKey, firstChunkKey, visible } of states) {
      if (visible !== null) await this.#coming.finish(memoryKey, firstChunkKey);
    }
    const missing = states.filter((state) => this.#isMissing(state));
    const [first = [], ...groups] = loadingGroups(publicationsOf(missing));
    return { memoryKeys, states, missing, first: await this.#readGroup(first), groups };
  }

  async #applyRead({ memoryKeys, states, missing, first, groups }: CommittedPage): Promise<void> {
    const [shown, gone] = [[] as VisibleMemory[], new Set<MemoryKey>(memoryKeys)];
    for (const state of states) {
      const isEmpty = state.visible !== null && state.chunkCount === 0;
      if (!state.isDeleted && !isEmpty) gone.delete(state.memoryKey);
      if (state.visible !== null) shown.push(state.visible);
    }
    const visible = new Set(shown.map(({ memoryKey }) => memoryKey));
    const hidden = memoryKeys.filter((key) => !visible.has(key));
    super.hide([...hidden, ...missing.map(({ memoryKey }) => memoryKey)]);
    for (const memoryKey of this.#followComing(memoryKeys, states)) gone.add(memoryKey);
    const retracted = [...gone].filter((key) => this.held.isAnyHere(key));
    if (retracted.length > 0) {
      await super.retract(retracted);
      this.#hasRetracted = true;
    }
    const lost = new Set<MemoryKey>(missing.map(({ memoryKey }) => memoryKey));
    const load = async (group: LoadedGroup) => {
      for (const memoryKey of await this.#loadGroup(group)) lost.delete(memoryKey);
    };
    await load(first);
    await pipelined(groups, (group) => this.#readGroup(group), load);
    if (lost.size > 0) await this.#reopen([...lost]);
    await this.#showAll(shown.filter(({ memoryKey }) => !lost.has(memoryKey)));
  }

  /**
   * Begins to load the stored publications of memories that are not completed yet. Returns the memories whose
   * publications were loaded ahead and are not wanted any more.
   */
  #followComing(memoryKeys: readonly MemoryKey[], states: readonly SharedState[]): readonly MemoryKey[] {
    const stateOf = new Map(states.map((state) => [state.memoryKey, state]));
    const surplus = memoryKeys.filter((memoryKey) => {
      const firstChunkKey = this.#coming.firstChunkKeyOf(memoryKey);
      const state = stateOf.get(memoryKey);
      if (firstChunkKey === null || state?.coming?.firstChunkKey === firstChunkKey) return false;
      this.#coming.remove(memoryKey);
      const isCompleted = state?.visible != null && state.firstChunkKey === firstChunkKey;
      return !isCompleted && this.held.isHere({ memoryKey, firstChunkKey });
    });
    for (const { coming } of states) if (coming !== null && !this.held.isHere(coming)) this.#coming.add(coming);
    return surplus;
  }

  async #loadAhead(wanted: WantedPublication, isWanted: () => boolean): Promise<void> {
    const { live, found } = await this.#readGroup([wanted]);
    const [publication] = found;
    if (publication?.vectors[0]?.fingerprint === live) await this.loadInParts(publication, isWanted);
  }

  /** Like `show` of the base class, for many memories: their attributes do not occupy the JavaScript thread. */
  async #showAll(memories: readonly VisibleMemory[]): Promise<void> {
    if (memories.length === 0) return;
    await this.native.describe(...describable(memories));
    this.native.show(...showable(memories));
  }

  #isMissing({ memoryKey, visible, chunkCount, firstChunkKey }: SharedState): boolean {
    if (visible === null || chunkCount === 0) return false;
    return firstChunkKey === null || !this.held.isComplete({ memoryKey, firstChunkKey });
  }

  async #readGroup(wanted: readonly WantedPublication[]): Promise<LoadedGroup> {
    const { live, building } = this.models();
    const models = [live, building].flatMap((model) => model?.fingerprint ?? []);
    return { wanted, live: live.fingerprint, found: await this.#follow.shared.publications(wanted, models) };
  }

  /** Adds publications to the index of this node. Returns the memories that were loaded. */
  async #loadGroup(group: LoadedGroup): Promise<readonly MemoryKey[]> {
    const { live } = this.models();
    // the model was changed after the publications were read
    if (group.live !== live.fingerprint) return this.#loadGroup(await this.#readGroup(group.wanted));
    const usable = group.found.filter(({ vectors }) => vectors[0]?.fingerprint === live.fingerprint);
    for (const same of Map.groupBy(usable, ({ vectors }) => vectors.length).values()) await this.load(same);
    return usable.map(({ memoryKey }) => memoryKey);
  }

  // A publication can be replaced while it is loaded. Then the row is not completed any more, and nothing is reopened.
  async #reopen(memoryKeys: readonly MemoryKey[]): Promise<void> {
    const { shared, modelOf, reopen } = this.#follow;
    const states = await shared.states(this.id, memoryKeys);
    const missing = states.filter((state) => this.#isMissing(state)).map(({ memoryKey }) => memoryKey);
    if (missing.length === 0) return;
    const { live, isChanging } = await modelOf(this.id, this.models().live);
    const isOwnModel = live?.fingerprint === this.models().live.fingerprint;
    if (isOwnModel && !isChanging) return reopen(missing);
    // other nodes publish with a model that this one has yet to take over, or that is not installed here
    const why = isOwnModel || live !== null ? "is being changed" : "is not installed on this node";
    throw new Fault("overloaded", `The embedding model of this project ${why}. Try again later.`, {
      retryAfterSeconds: RETRY_SECONDS,
    });
  }

  /**
   * Takes over the project's live model if another node has changed it. Returns the memories that must be loaded again,
   * because vectors of the new model were missing.
   */
  async #followModel(): Promise<readonly MemoryKey[]> {
    const { live: wanted } = await this.#follow.modelOf(this.id, this.models().live);
    if (wanted === null || wanted.fingerprint === this.models().live.fingerprint) return [];
    const { building } = this.models();
    if (building !== null && building.fingerprint !== wanted.fingerprint) await super.dropBuilding();
    await this.beginModel(wanted);
    const again: MemoryKey[] = [];
    do {
      const { memoryKeys } = await this.missingVectors();
      const added = await this.#addStoredVectors(memoryKeys, wanted);
      const without = memoryKeys.filter((key) => !added.has(key));
      if (without.length > 0) await super.retract(without);
      again.push(...without);
    } while (!(await this.swapModel()));
    await super.forgetPrevious();
    return again;
  }

  async #addStoredVectors(memoryKeys: readonly MemoryKey[], model: IndexModel): Promise<ReadonlySet<MemoryKey>> {
    const added = new Set<MemoryKey>();
    for (let first = 0; first < memoryKeys.length; first += PAGE_MEMORIES) {
      const page = memoryKeys.slice(first, first + PAGE_MEMORIES);
      const states = await this.#follow.shared.states(this.id, page);
      const present = states.filter((state) => state.chunkCount > 0 && !this.#isMissing(state));
      for (const wanted of loadingGroups(publicationsOf(present))) {
        for (const found of await this.#follow.shared.publications(wanted, [model.fingerprint])) {
          const [vectors] = found.vectors;
          if (vectors === undefined) continue;
          if ((await super.addVectors(chunkKeysOf(found), vectors)) > 0) added.add(found.memoryKey);
        }
      }
    }
    return added;
  }
}
