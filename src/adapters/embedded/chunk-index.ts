// ChunkIndex on one machine: texts in a TextArchive; vectors, postings and entities in the native core, one folder per
// project.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import { DEFAULT_SETTINGS } from "../../domain/project.ts";
import type {
  ChunkIndex,
  IndexVerification,
  Reconciliation,
  StoredMemory,
  StoredText,
  VectorIndexState,
  VisibleMemory,
} from "../../ports/chunk-index.ts";
import { StoreError } from "../../stores/store-error.ts";
import { addon } from "../native/addon.ts";
import type { NativeIndex } from "../native/addon-types.ts";
import { EmbeddedProjectIndex, type IndexDependencies, type ProjectIndexDependencies } from "./project-index.ts";
import { RecentPassages } from "./recent-passages.ts";

/**
 * If erasing texts takes longer than REST_AFTER_MS, none are erased for REST_FACTOR times the excess. With a sweep
 * every 30 seconds, erasing takes about a sixth of the time if one run is long, and always less than a third. Writes
 * run between its steps.
 */
const REST_FACTOR = 5;
const REST_AFTER_MS = 5_000;

/** ChunkIndex on a TextArchive and the native core. */
export class EmbeddedChunkIndex implements ChunkIndex {
  readonly #parts: ProjectIndexDependencies;
  readonly #projects = new Map<ProjectId, Promise<EmbeddedProjectIndex>>();
  /** Projects that are being closed to save memory. */
  readonly #closing = new Map<ProjectId, Promise<void>>();
  /** Projects whose files may have data of removed chunks. All are, until the first sweep of this process. */
  readonly #toErase = new Set<ProjectId>();
  /** Problem of each project's vector index that was logged last. */
  readonly #loggedProblems = new Map<ProjectId, string>();
  #textsRestUntil = 0;
  /** Projects that were dropped: a caller that still has the id must not create the folder again. */
  readonly #dropped = new Set<ProjectId>();

  constructor(parts: IndexDependencies) {
    this.#parts = { ...parts, recentPassages: new RecentPassages() };
  }

  /** The projects that are open or being opened. */
  protected get opened(): ReadonlyMap<ProjectId, Promise<EmbeddedProjectIndex>> {
    return this.#projects;
  }

  /** Erases removed data from the files of a project at the next `compact`. */
  protected eraseSoon(id: ProjectId): void {
    this.#toErase.add(id);
  }

  /** Closes a project that nobody holds. Its files stay, and the next use opens it again. */
  protected closeUntilUsed(id: ProjectId, index: EmbeddedProjectIndex): Promise<void> {
    this.#projects.delete(id);
    this.#toErase.delete(id);
    const closing = index.close().finally(() => this.#closing.delete(id));
    this.#closing.set(id, closing);
    return closing;
  }

  protected create(
    id: ProjectId,
    native: NativeIndex,
    parts: ProjectIndexDependencies,
    repairs: readonly string[],
  ): EmbeddedProjectIndex {
    return new EmbeddedProjectIndex(id, native, parts, repairs);
  }

  async project(id: ProjectId): Promise<EmbeddedProjectIndex> {
    if (this.#dropped.has(id)) throw new Fault("project_not_found", `There is no project '${id}' any more.`);
    let opening = this.#projects.get(id);
    if (opening === undefined) {
      const isClosed = this.#closing.get(id) ?? Promise.resolve();
      const open = () => openProject(id, this.#parts, this.create.bind(this));
      opening = isClosed.then(open, open);
      this.#projects.set(id, opening);
      this.#toErase.add(id);
      // If opening fails, the next caller tries again.
      opening.catch(() => this.#projects.delete(id));
    }
    return opening;
  }

  current(id: ProjectId): Promise<EmbeddedProjectIndex> {
    return this.project(id);
  }

  async show(id: ProjectId, memories: readonly VisibleMemory[]): Promise<void> {
    using project = await this.project(id);
    project.show(memories);
  }

  async hide(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void> {
    using project = await this.project(id);
    project.hide(memoryKeys);
  }

  async retract(id: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<void> {
    using index = await this.project(id);
    index.hide(memoryKeys);
    await index.retract(memoryKeys);
  }

  contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredText>> {
    return this.#parts.archive.contents(memoryKeys);
  }

  stored(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredMemory>> {
    return this.#parts.archive.stored(memoryKeys);
  }

  async purge(memoryKeys: readonly MemoryKey[]): Promise<void> {
    // earlier calls of `publish` must reach the archive first
    for (const opening of [...this.#projects.values()]) await (await opening).changesStarted;
    await this.#parts.archive.remove(memoryKeys);
    if (memoryKeys.length > 0) this.#eraseLater();
  }

  async eraseReplaced(): Promise<void> {
    await this.#parts.archive.noteReplaced();
    this.#eraseLater();
  }

  #eraseLater(): void {
    this.#parts.quarantine.clear();
    for (const id of this.#projects.keys()) this.#toErase.add(id);
  }

  async verify(
    id: ProjectId,
    completed: AsyncIterable<readonly Pick<VisibleMemory, "memoryKey">[]>,
    onProgress: (done: number, total: number) => void = () => undefined,
  ): Promise<IndexVerification> {
    using index = await this.project(id);
    return await index.verify(completed, onProgress);
  }

  async reconcile(id: ProjectId, completed: AsyncIterable<readonly VisibleMemory[]>): Promise<Reconciliation> {
    using index = await this.project(id);
    return await index.reconcile(completed);
  }

  async drop(id: ProjectId): Promise<void> {
    this.#dropped.add(id);
    const opened = this.#projects.get(id);
    this.#projects.delete(id);
    if (opened !== undefined) await (await opened).close();
    await this.#closing.get(id);
    await rm(join(this.#parts.directory, id), { recursive: true, force: true });
  }

  async compact(erasesNow = false): Promise<boolean> {
    for (const [id, opening] of [...this.#projects]) {
      using index = await opening;
      if (!index.hold()) continue;
      await index.compact();
      await this.#followVectorIndex(id, index);
      if (!this.#toErase.has(id)) continue;
      this.#toErase.delete(id); // before the call, so that a purge during it is not forgotten
      if (!(await this.#erase(index))) this.#toErase.add(id);
    }
    const areTextsErased = await this.#eraseTexts(erasesNow);
    for (const panic of addon().takePanics()) this.#parts.log.error({ panic }, "a thread of the native core failed");
    return areTextsErased && this.#toErase.size === 0;
  }

  async vectorIndexes(): Promise<ReadonlyMap<ProjectId, VectorIndexState>> {
    const states = new Map<ProjectId, VectorIndexState>();
    for (const [id, opening] of [...this.#projects]) states.set(id, (await opening).vectorIndex());
    return states;
  }

  /** Applies a setting that another thread or node has changed, and logs problems of the vector index. */
  async #followVectorIndex(id: ProjectId, index: EmbeddedProjectIndex): Promise<void> {
    const { vectorIndexOf, log } = this.#parts;
    try {
      await index.chooseVectorIndex((await vectorIndexOf?.(id)) ?? DEFAULT_SETTINGS.vector_index);
      const { build, note } = index.vectorIndex();
      const problem = build?.error ?? note;
      if (problem !== null && problem !== this.#loggedProblems.get(id)) {
        log.warn({ projectId: id }, `vector index: ${problem}`);
      }
      if (problem === null) this.#loggedProblems.delete(id);
      else this.#loggedProblems.set(id, problem);
    } catch (err) {
      log.warn({ projectId: id, err }, "the vector index of a project could not be chosen; trying again later");
    }
  }

  /**
   * Erases removed texts from the archive. All texts are written again, so after a run of more than REST_AFTER_MS it
   * does nothing for REST_FACTOR times the excess, except with `erasesNow`. So the first purge after a while is erased
   * at once, and many purges take a small share of the disk's time. Returns whether the archive has nothing of removed
   * texts any more.
   */
  async #eraseTexts(erasesNow: boolean): Promise<boolean> {
    const startedAt = performance.now();
    if (startedAt < this.#textsRestUntil && !erasesNow) return false;
    const erase = () =>
      this.#parts.archive.eraseRemoved().catch((err: unknown) => {
        this.#parts.log.warn({ err }, "texts of removed memories could not be erased yet; trying again later");
        return false;
      });
    // The first call may have joined an erasure that had begun before these memories were removed.
    const isErased = (await erase()) || (erasesNow && (await erase()));
    const endedAt = performance.now();
    this.#textsRestUntil = endedAt + (endedAt - startedAt - REST_AFTER_MS) * REST_FACTOR;
    return isErased;
  }

  /** Returns whether no file has data of removed chunks any more. */
  async #erase(index: EmbeddedProjectIndex): Promise<boolean> {
    try {
      return await index.eraseRemoved();
    } catch (err) {
      this.#parts.log.warn({ err }, "data of removed memories could not be erased from an index; trying again later");
      return false;
    }
  }

  async close(): Promise<void> {
    for (const opening of this.#projects.values()) await (await opening).close();
    await Promise.all(this.#closing.values());
  }
}

async function openProject(
  id: ProjectId,
  parts: ProjectIndexDependencies,
  create: EmbeddedChunkIndex["create"],
): Promise<EmbeddedProjectIndex> {
  const directory = join(parts.directory, id);
  const isNew = !existsSync(directory) || readdirSync(directory).length === 0;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const newModel = (isNew ? await parts.earlierModelOf?.(id) : null) ?? parts.models()[0];
  const index = await addon().openProject({ directory, newModel });
  await index.chooseVectorIndex((await parts.vectorIndexOf?.(id)) ?? DEFAULT_SETTINGS.vector_index);
  const { live } = index.models();
  const models = parts.models();
  if (!models.some((model) => model.fingerprint === live.fingerprint)) {
    await index.close();
    const installed = models.map(({ fingerprint }) => fingerprint).join(", ");
    throw new StoreError(
      "other_model",
      `${directory} has vectors of the model ${live.fingerprint}, which is not installed (installed: ${installed}): put the folder of that model back.`,
    );
  }
  return create(id, index, parts, isNew ? [] : parts.quarantine.collect(id, directory, index.repairs()));
}
