// The models for a request thread. They run on the main thread; when the models of projects have changed, a thread asks
// the main thread for them again.

import type { ProjectId } from "../../domain/ids.ts";
import type { SharedCount } from "../../kit/shared-count.ts";
import type { Embedder, Embedders, EmbedOptions, Reader, Reranker, Rerankers } from "../../ports/models.ts";
import type { ThreadCalls } from "./thread-calls.ts";
import type { KnownEmbedder, SentEmbedding, SentReading, SentScoring } from "./thread-protocol.ts";

/** What is known of one project. */
interface ProjectModels {
  /** Value of the count of changes when the main thread was asked. */
  readonly askedAt: number;
  /** By the id of the embedder. */
  readonly rerankers: ReadonlyMap<string, Reranker>;
}

/** Maximum number of projects whose models are remembered; each takes less than 1 KB. */
const PROJECTS_MAX = 10_000;

/** The models of all projects. Call `know` before a project's models are used. */
export class RemoteModels {
  readonly embedders: Pick<Embedders, "withFingerprint">;
  readonly rerankers: Rerankers;
  readonly #embedders = new Map<string, Embedder>();
  readonly #projects = new Map<ProjectId, ProjectModels>();

  /** @param changes count that grows when models are added or removed, or a project chooses another one */
  constructor(
    private readonly calls: ThreadCalls,
    private readonly changes: SharedCount,
  ) {
    this.embedders = { withFingerprint: (fingerprint) => this.#embedders.get(fingerprint) ?? null };
    this.rerankers = {
      for: ({ id }, projectId) =>
        projectId === undefined ? null : (this.#projects.get(projectId)?.rerankers.get(id) ?? null),
    };
  }

  /** Asks which models a project has now. Resolves at once if nothing has changed since the last call. */
  async know(id: ProjectId): Promise<void> {
    const askedAt = this.changes.value;
    if (this.#projects.get(id)?.askedAt === askedAt) return;
    const known = await this.calls.call<readonly KnownEmbedder[]>("knownModels", id);
    for (const one of known) this.#embedders.set(one.fingerprint, this.#embedder(one));
    const rerankers = known.flatMap((one): [string, Reranker][] => {
      const { id: embedderId, rerankerLanguages: languages, rerankerTuning, isRerankerRemote: isRemote } = one;
      const tuning = rerankerTuning === null ? {} : { tuning: rerankerTuning };
      return languages === null
        ? []
        : [[embedderId, this.#reranker({ embedderId, projectId: id, languages, isRemote, ...tuning })]];
    });
    const [oldest] = this.#projects.keys();
    if (oldest !== undefined && this.#projects.size >= PROJECTS_MAX) this.#projects.delete(oldest);
    this.#projects.set(id, { askedAt, rerankers: new Map(rerankers) });
  }

  #embedder({
    rerankerLanguages: _,
    rerankerTuning: __,
    isRerankerRemote: ___,
    reader,
    ...known
  }: KnownEmbedder): Embedder {
    const { fingerprint } = known;
    const call = <Result>(name: string, texts: readonly string[], { signal, onBegin, ...options }: EmbedOptions) => {
      const sent: SentEmbedding = { fingerprint, texts, options };
      return this.calls.call<Result>(name, sent, { signal, onPart: () => onBegin?.() });
    };
    return {
      ...known,
      reader: reader && this.#reader(fingerprint, reader),
      embed: (texts, options) => call<Float32Array>("embed", texts, options),
      countTokens: (texts, options) => call<readonly number[]>("countTokens", texts, options),
    };
  }

  #reader(fingerprint: string, known: Omit<Reader, "read">): Reader {
    return {
      ...known,
      read: (question, passages, { signal, onBegin, ...options } = {}) => {
        const sent: SentReading = { fingerprint, question, passages, options };
        return this.calls.call<Float32Array>("read", sent, { signal, onPart: () => onBegin?.() });
      },
    };
  }

  #reranker({
    languages,
    isRemote,
    tuning,
    ...from
  }: Pick<SentScoring, "embedderId" | "projectId"> &
    Pick<Reranker, "languages" | "tuning"> & { readonly isRemote: boolean }): Reranker {
    return {
      ...{ languages, isRemote },
      ...(tuning !== undefined && { tuning }),
      score: (query, passages, { signal, onBegin, ...options } = {}) => {
        const sent: SentScoring = { ...from, query, passages, options };
        return this.calls.call<Float32Array>("score", sent, { signal, onPart: () => onBegin?.() });
      },
    };
  }
}
