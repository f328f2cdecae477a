// Searches of one project in the native core. project-index.ts adds what changes a project; attached-index.ts has the
// searches of further JavaScript threads.

import type { Filter } from "../../domain/filter.ts";
import type { MemoryKey, ProjectId, UserKey } from "../../domain/ids.ts";
import type { VectorIndexName } from "../../domain/project.ts";
import type { Log } from "../../kit/log.ts";
import type {
  AdmissibleSet,
  ChunkKeys,
  EntityCuration,
  EntityNode,
  EntityQuery,
  FoundEntity,
  FoundPath,
  IndexModels,
  Neighbourhood,
  Passage,
  Pool,
  Recall,
  SearchIndex,
  VectorIndexState,
} from "../../ports/chunk-index.ts";
import type { NativeIndex } from "../native/addon-types.ts";
import { faultOfFilter, filterJson } from "../native/filter-json.ts";
import { ENTITY_KINDS } from "./entity-kinds.ts";
import { entityNodeOf, forNativeCuration, forNativeQuery, foundEntityOf, foundPathOf } from "./explored-entities.ts";
import { withOtherModel } from "./model-vectors.ts";
import { recall, walk } from "./recall.ts";
import type { RecentPassages } from "./recent-passages.ts";
import { storedPassages } from "./stored-passages.ts";

/** What searches of a project need besides the native core. */
export interface SearchIndexDependencies {
  readonly recentPassages: RecentPassages;
  readonly log: Log;
  /** Called with the number of passages that were not returned because they are damaged. */
  readonly countDamaged?: (passages: number) => void;
}

/** Searches of one project. */
export class EmbeddedSearchIndex implements SearchIndex, Disposable {
  readonly #reading: SearchIndexDependencies;
  /** `changesEnded` of the core when cached passages were forgotten last. */
  #changesSeen = -1;

  constructor(
    readonly id: ProjectId,
    protected readonly native: NativeIndex,
    reading: SearchIndexDependencies,
  ) {
    this.#reading = reading;
  }

  [Symbol.dispose](): void {}

  admit(userKey: UserKey | null, nowMs: number): AdmissibleSet {
    return this.native.admit(userKey, nowMs);
  }

  async admitWithin(userKey: UserKey | null, nowMs: number, filter: Filter): Promise<AdmissibleSet> {
    try {
      return await this.native.admitWithin(userKey, nowMs, filterJson(filter));
    } catch (cause) {
      throw faultOfFilter(cause) ?? cause;
    }
  }

  async recall(asked: Recall, within: AdmissibleSet): Promise<Pool> {
    return recall(this.native, asked, within);
  }

  walk(...asked: Parameters<SearchIndex["walk"]>): Promise<Pool> {
    return walk(this.native, ...asked);
  }

  storedVectors(fingerprint: string, { chunkKeys, memoryKeys }: ChunkKeys): Promise<Float32Array> {
    return withOtherModel(() => this.native.storedVectors(fingerprint, chunkKeys, memoryKeys));
  }

  async compareVectors({ chunkKeys, memoryKeys }: ChunkKeys): Promise<Float32Array> {
    return this.native.compareVectors(chunkKeys, memoryKeys);
  }

  async neighbourhood(memoryKey: MemoryKey, within: AdmissibleSet, limit: number): Promise<Neighbourhood> {
    const { entities, neighbours } = await this.native.neighbourhood(memoryKey, within, limit);
    return {
      entities: entities.map(({ name, kind, mentions, memories, chunkKeys: keys }) => {
        return { name, kind: ENTITY_KINDS[kind], mentions, memories, chunkKeys: keys };
      }),
      neighbours: neighbours.map((neighbour) => ({ ...neighbour, memoryKey: neighbour.memoryKey as MemoryKey })),
    };
  }

  chooseVectorIndex(name: VectorIndexName): Promise<void> {
    return this.native.chooseVectorIndex(name);
  }

  vectorIndex(): VectorIndexState {
    const { build, ...state } = this.native.vectorIndexStatus();
    if (build === null) return { ...state, build: null };
    const { startedAtMs: startedAt, ...progress } = build;
    return { ...state, build: { ...progress, startedAt } };
  }

  async entities(within: AdmissibleSet, curation: EntityCuration, query: EntityQuery): Promise<readonly EntityNode[]> {
    return (await this.native.entities(within, forNativeCuration(curation), forNativeQuery(query))).map(entityNodeOf);
  }

  async entity(...[hash, within, curation, limit]: Parameters<SearchIndex["entity"]>): Promise<FoundEntity | null> {
    const found = await this.native.entity(hash, within, forNativeCuration(curation), limit);
    return found === null ? null : foundEntityOf(found);
  }

  async entityPath(...[from, to, within, curation]: Parameters<SearchIndex["entityPath"]>): Promise<FoundPath> {
    return foundPathOf(await this.native.entityPath(from, to, within, forNativeCuration(curation)));
  }

  passages(chunkKeys: BigUint64Array): Promise<readonly (Passage | null)[]> {
    const { recentPassages, log, countDamaged } = this.#reading;
    const reports = { projectId: this.id, log, countDamaged };
    this.#forgetChanged();
    return recentPassages.read(this.id, chunkKeys, async (keys) => {
      const found = await storedPassages(this.native, keys, reports);
      this.#forgetChanged();
      return found;
    });
  }

  /** Forgets cached passages, because the index has changed or will be closed. */
  protected forgetPassages(): void {
    this.#reading.recentPassages.forget(this.id);
  }

  // The core counts a change of any JavaScript thread before its promise settles. So no search shows a new row with an
  // old passage.
  #forgetChanged(): void {
    const { changesEnded } = this.native;
    if (changesEnded === this.#changesSeen) return;
    this.#changesSeen = changesEnded;
    this.forgetPassages();
  }

  models(): IndexModels {
    return this.native.models();
  }
}
