// The models that can be used now, by name: built-in ones, those that were added from files, and remote ones. Follows
// the store, so that a model that was added or deleted by another process is noticed within seconds.

import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { type AddedModel, NO_RERANKER } from "../domain/installed-model.ts";
import { NEUTRAL_TUNING, withoutCalibration } from "../domain/neutral-tuning.ts";
import type { RetrievalTuning } from "../domain/retrieval-tuning.ts";
import type { Clock } from "../kit/clock.ts";
import { errorMessage } from "../kit/error-message.ts";
import type { Log } from "../kit/log.ts";
import { type Round, WakingLoop } from "../kit/waking-loop.ts";
import type { InstalledModelStore } from "../ports/installed-model-store.ts";
import type {
  Embedder,
  Embedders,
  FoundModel,
  LocalModels,
  ModelProblems,
  RemoteModels,
  Reranker,
  Rerankers,
} from "../ports/models.ts";
import type { ProjectModelStore } from "../ports/project-model-store.ts";

/** Milliseconds between two looks at the store. */
const POLL_MS = 2_000;

/** What the registry needs. */
export interface ModelRegistryDependencies {
  readonly store: Pick<InstalledModelStore, "list">;
  readonly projectModels: Pick<ProjectModelStore, "list">;
  /** The built-in models, and the default. */
  readonly builtIn: { readonly embedders: Embedders; readonly rerankers: Rerankers };
  readonly local: LocalModels;
  /** Called when other models can be used than before, or other ones were chosen. */
  readonly onChange: () => void;
  readonly remote: Pick<RemoteModels, "open">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A model that was added, as it can be used here. */
interface Known {
  readonly row: AddedModel;
  /** As it was opened. */
  readonly opened: FoundModel | null;
  /** The same with the tuning that was fitted for it. */
  readonly found: FoundModel | null;
  /** Why it cannot be used here; null if it can. */
  readonly problem: string | null;
}

/** All models that can be used. */
export class ModelRegistry {
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
  readonly #uses: ModelRegistryDependencies;
  readonly #loop: WakingLoop;
  #known: ReadonlyMap<string, Known> = new Map();
  /** Rerankers that were chosen for projects. */
  #chosen: ReadonlyMap<ProjectId, string> = new Map();
  /** Chosen rerankers with the tuning for an embedder, by the ids of both. Kept, so that a pair stays one object. */
  #paired = new Map<string, Reranker>();

  constructor(uses: ModelRegistryDependencies) {
    this.#uses = uses;
    this.embedders = this.#embedders();
    this.rerankers = { for: (embedder, projectId) => this.#rerankerFor(embedder, projectId) };
    this.#loop = new WakingLoop((round) => this.#round(round));
  }

  /** Begins to follow the store. Call `refresh` first. */
  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Reads the store now. */
  async refresh(): Promise<void> {
    const { store, projectModels } = this.#uses;
    const [rows, projects] = [await store.list(), await projectModels.list()];
    const known = new Map(rows.map((row) => [row.id, this.#know(row)]));
    const chosen = new Map(
      projects.flatMap(({ projectId, reranker }) => (reranker === null ? [] : [[projectId, reranker] as const])),
    );
    const isSame = isEqual(
      known,
      this.#known,
      (one, other) => one.found === other?.found && haveSameTunings(one.row, other.row),
    );
    const isSameChoice = isEqual(chosen, this.#chosen, (one, other) => one === other);
    this.#known = known;
    this.#chosen = chosen;
    if (isSame && isSameChoice) return;
    this.#paired = new Map();
    this.#uses.onChange();
  }

  /** Why models that were added and are ready cannot be used on this node, by their ids. */
  problems(): ModelProblems {
    return new Map(
      [...this.#known.values()].flatMap(({ row, problem }) => (problem === null ? [] : [[row.id, problem] as const])),
    );
  }

  /** A built-in model, or one that was added and is ready; null if there is none. */
  find(id: string): FoundModel | null {
    return this.#uses.local.builtInModel(id) ?? this.#known.get(id)?.found ?? null;
  }

  async #round({ woken }: Round): Promise<void> {
    try {
      await this.refresh();
    } catch (err) {
      this.#uses.log.warn({ err }, "the list of models could not be read; trying again");
    }
    await this.#uses.clock.sleep(POLL_MS, woken);
  }

  #know(row: AddedModel): Known {
    const before = this.#known.get(row.id);
    const isSame =
      before?.row.key === row.key &&
      before.row.status === row.status &&
      before.row.manifestSha256 === row.manifestSha256 &&
      before.row.fingerprint === row.fingerprint;
    if (isSame && before.problem === null) {
      return haveSameTunings(before.row, row)
        ? { ...before, row }
        : { ...before, row, found: withFittedTuning(before.opened, row) };
    }
    if (row.status !== "ready") return { row, opened: null, found: null, problem: null };
    try {
      const opened = this.#open(row);
      return { row, opened, found: withFittedTuning(opened, row), problem: null };
    } catch (error) {
      const problem = errorMessage(error);
      if (before?.problem !== problem)
        this.#uses.log.warn({ model: row.id, err: error }, "a model cannot be used here");
      const found = unusable(row, problem);
      return { row, opened: found, found, problem };
    }
  }

  #open(row: AddedModel): FoundModel {
    return row.kind === "remote" ? this.#uses.remote.open(row) : this.#uses.local.open(row);
  }

  #embedders(): Embedders {
    const { embedders: builtIn } = this.#uses.builtIn;
    const added = () =>
      [...this.#known.values()].flatMap(({ found }) => (found?.task === "embed" ? [found.embedder] : []));
    const idsNow = () => [...new Set([...builtIn.ids, ...added().map(({ id }) => id)])].sort();
    // the default can be one that was added: then it has the tuning that was fitted for it
    const usable = (embedder: Embedder) => {
      const known = this.#known.get(embedder.id);
      return known?.problem === null && known.found?.task === "embed" ? known.found.embedder : embedder;
    };
    return {
      get default() {
        return usable(builtIn.default);
      },
      get ids() {
        return idsNow();
      },
      get: (id) => {
        if (builtIn.ids.includes(id)) return usable(builtIn.get(id));
        const found = added().find((embedder) => embedder.id === id);
        if (found !== undefined) return found;
        const known = idsNow().join(", ");
        throw new Fault("invalid_request", `There is no embedding model ${JSON.stringify(id)}; there are: ${known}.`);
      },
      withFingerprint: (fingerprint) => {
        const found = builtIn.withFingerprint(fingerprint);
        return found === null
          ? (added().find((embedder) => embedder.fingerprint === fingerprint) ?? null)
          : usable(found);
      },
    };
  }

  #rerankerFor({ id }: Pick<Embedder, "id">, projectId: ProjectId | undefined): Reranker | null {
    const chosen = projectId === undefined ? undefined : this.#chosen.get(projectId);
    const own = this.#ownReranker(id);
    const named = chosen === undefined || chosen === own ? null : this.#reranker(chosen);
    if (chosen !== undefined && named !== null) return this.#pair(id, chosen, named);
    if (this.#known.get(id)?.found?.task !== "embed") return this.#uses.builtIn.rerankers.for({ id });
    return own === null ? null : this.#reranker(own);
  }

  #reranker(id: string): Reranker | null {
    const found = this.find(id);
    return found?.task === "rerank" ? found.reranker : null;
  }

  /** Id of the reranker that belongs to an embedder; null if it has none. */
  #ownReranker(id: string): string | null {
    const found = this.#known.get(id)?.found ?? this.find(id);
    return found?.task === "embed" ? found.reranker : null;
  }

  /** A reranker that was chosen, with the tuning for this embedder. */
  #pair(embedderId: string, rerankerId: string, reranker: Reranker): Reranker {
    const key = `${embedderId} ${rerankerId}`;
    const known = this.#paired.get(key);
    if (known !== undefined) return known;
    const score: Reranker["score"] = (query, passages, options) => reranker.score(query, passages, options);
    const { languages, isRemote = false } = reranker;
    const paired = { languages, isRemote, tuning: this.#pairTuning(embedderId, rerankerId), score };
    this.#paired.set(key, paired);
    return paired;
  }

  #pairTuning(embedderId: string, rerankerId: string): RetrievalTuning {
    const fitted =
      this.#known.get(embedderId)?.row.tunings[rerankerId] ?? this.#known.get(rerankerId)?.row.tunings[embedderId];
    return fitted ?? withoutCalibration(this.embedders.get(embedderId).tuning);
  }
}

function isEqual<Key, Value>(
  one: ReadonlyMap<Key, Value>,
  other: ReadonlyMap<Key, Value>,
  isSame: (value: Value, other: Value | undefined) => boolean,
): boolean {
  return one.size === other.size && [...one].every(([key, value]) => isSame(value, other.get(key)));
}

function haveSameTunings(one: Pick<AddedModel, "tunings">, other: Pick<AddedModel, "tunings">): boolean {
  return JSON.stringify(one.tunings) === JSON.stringify(other.tunings);
}

/** The model with the tuning that was fitted for it and its own reranker, if there is one. */
function withFittedTuning(found: FoundModel | null, { tunings }: Pick<AddedModel, "tunings">): FoundModel | null {
  const tuning = found?.task === "embed" ? tunings[found.reranker ?? NO_RERANKER] : undefined;
  return found?.task !== "embed" || tuning === undefined
    ? found
    : { ...found, embedder: { ...found.embedder, tuning } };
}

/** An embedder whose vectors an index may have, but that cannot compute here. null for a reranker. */
function unusable(row: AddedModel, problem: string): FoundModel | null {
  const { id, task, fingerprint, dimensions, tokensMax, languages } = row;
  if (task === "rerank" || fingerprint === null || dimensions === null || tokensMax === null) return null;
  const refuse = () => Promise.reject(new Fault("model_unavailable", problem, { retryAfterSeconds: 60 }));
  const embedder = { id, fingerprint, dimensions, tokensMax, languages, tuning: NEUTRAL_TUNING };
  return {
    task: "embed",
    embedder: { ...embedder, embed: refuse, countTokens: refuse },
    reranker: null,
    references: [],
  };
}
