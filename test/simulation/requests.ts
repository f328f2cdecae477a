// Requests of the simulated clients: what they send, what the oracle expects of their commit, and what their answers
// may contain.

import { Fault } from "../../src/domain/fault.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import type { MemoryId, ProjectId } from "../../src/domain/ids.ts";
import type { MemoryChange, MemoryDraft } from "../../src/domain/memory.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import type { Viewer } from "../../src/domain/scope.ts";
import type { Accepted } from "../../src/ports/memory-store.ts";
import type { IncomingFile } from "../../src/ports/upload-files.ts";
import { askerOf } from "../support/asker.ts";
import {
  type Given,
  isLive,
  type KnownMemory,
  newest,
  type Oracle,
  type Span,
  type State,
  statesWithin,
  stateThroughout,
} from "./oracle.ts";
import { UNREADABLE } from "./ports.ts";
import type { Server } from "./server.ts";

const USERS = ["ada", "bo"];
const TAGS = ["red", "blue"];
/** Answers contain at most this many passages: more than a run stores, so that every memory is found. */
const RESULTS_MAX = 150;

/** What clients act on and report to. */
export interface World {
  readonly oracle: Oracle;
  readonly projects: readonly ProjectId[];
  /** Draws what clients do: numbers in 0..1. */
  readonly random: () => number;
  readonly now: () => number;
  /** Called with each violation of a promise. */
  readonly onProblem: (problem: string) => void;
}

/** A request: its description for the trace, and a function that sends it and checks its answer. */
export interface ClientRequest {
  readonly description: string;
  send(server: Server): Promise<void>;
}

/** Draws requests. */
export class Clients {
  readonly #world: World;
  #words = 0;

  constructor(world: World) {
    this.#world = world;
  }

  next(): ClientRequest {
    const kinds: readonly (readonly [number, () => ClientRequest])[] = [
      [5, () => this.#create()],
      [2, () => this.#upload()],
      [4, () => this.#rewrite()],
      [3, () => this.#changeAttributes()],
      [3, () => this.#remove()],
      [0.7, () => this.#removeUser()],
      [1, () => this.#retry()],
      [3, () => this.#get()],
      [1.5, () => this.list()],
      [4, () => this.search()],
      [1, () => this.#changeModel()],
    ];
    let left = this.#world.random() * kinds.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of kinds) {
      left -= weight;
      if (left < 0) return make();
    }
    return this.#create();
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#world.random() * values.length)] as T;
  }

  #chance(probability: number): boolean {
    return this.#world.random() < probability;
  }

  #viewer(projectId = this.#pick(this.#world.projects)): Viewer {
    return { projectId, userId: this.#chance(0.25) ? this.#pick(USERS) : null };
  }

  /** A text of one to three lines, each with a word of its own. Some texts cannot be prepared, some are large. */
  #content(): string {
    const lines = 1 + Math.floor(this.#world.random() * 3);
    const line = () => `word${++this.#words} of a note about ${this.#pick(["apples", "pears", "plums"])}`;
    const text = Array.from({ length: lines }, line).join("\n");
    if (this.#chance(0.06)) return `${text} ${UNREADABLE}`;
    return this.#chance(0.15) ? `${text}\n${line()}\n${line()}\n${line()}` : text;
  }

  /** A memory of any state; a recent one is more probable, so that requests meet. */
  #target(): KnownMemory | null {
    const all = [...this.#world.oracle.memories.values()];
    const recent = this.#chance(0.6) ? all.slice(-4) : all;
    return recent.length === 0 ? null : this.#pick(recent);
  }

  #draft(viewer: Viewer, content: string): { readonly draft: MemoryDraft; readonly given: Given } {
    const userId = viewer.userId ?? (this.#chance(0.5) ? this.#pick(USERS) : null);
    const externalId = this.#chance(0.2) ? this.#pick(["x1", "x2"]) : null;
    const tag = this.#chance(0.5) ? this.#pick(TAGS) : null;
    const expiresAt = this.#chance(0.15)
      ? this.#world.now() + 1_000 + Math.floor(this.#world.random() * 200_000)
      : null;
    const draft = {
      content,
      ...(viewer.userId === null && userId !== null && { userId }),
      ...(externalId !== null && { externalId }),
      ...(tag !== null && { tags: [tag] }),
      ...(expiresAt !== null && { expiresAt }),
    };
    return { draft, given: { content, isFile: false, userId, externalId, tag, expiresAt } };
  }

  #create(): ClientRequest {
    const viewer = this.#viewer();
    const { draft, given } = this.#draft(viewer, this.#content());
    const { userId, expiresAt, externalId } = given;
    return {
      description: `create ${JSON.stringify({ ...draft, userId, expiresAt, externalId })}`,
      send: async (server) => {
        const { memories } = server;
        const create = (tx: Parameters<typeof memories.create>[0]) => memories.create(tx, viewer, [draft]);
        const end = this.#begin(this.#holderOf(viewer, given));
        try {
          await server.transaction(create, ([result], beganMs) => {
            this.#applyCreated(viewer, given, result, beganMs);
          });
        } finally {
          end();
        }
      },
    };
  }

  #upload(): ClientRequest {
    const viewer = this.#viewer();
    const content = this.#content();
    const { draft, given } = this.#draft(viewer, "");
    return {
      description: `upload ${JSON.stringify({ ...draft, content })}`,
      send: async (server) => {
        const { memories, intake, files } = server;
        const end = this.#begin(this.#holderOf(viewer, given));
        let incoming: IncomingFile | null = null;
        try {
          incoming = await files.begin();
          await incoming.write(Buffer.from(content));
          await incoming.end();
          const bytes = Buffer.byteLength(content);
          const source = { filename: "note.txt", media_type: "text/plain", bytes };
          const sha256 = new Uint8Array(Bun.SHA256.hash(content).buffer);
          await using received = await intake.file({ path: incoming.path, bytes, sha256, source });
          const [accepted] = await server.transaction(
            (tx) => memories.create(tx, viewer, [{ ...draft, upload: received.kept }]),
            ([result], beganMs) => {
              this.#applyCreated(viewer, { ...given, content, isFile: true }, result, beganMs);
            },
          );
          if (accepted === undefined || accepted instanceof Fault) throw accepted;
        } finally {
          await incoming?.discard();
          end();
        }
      },
    };
  }

  #holderOf({ projectId }: Viewer, { userId, externalId }: Given): readonly KnownMemory[] {
    const holder = this.#world.oracle.holder(projectId, userId, externalId, this.#world.now());
    return holder === null ? [] : [holder];
  }

  #applyCreated({ projectId }: Viewer, given: Given, result: Accepted | Fault | undefined, beganMs: number): void {
    const { oracle, now, onProblem } = this.#world;
    const holderAt = (nowMs: number) => oracle.holder(projectId, given.userId, given.externalId, nowMs);
    // The holder may expire while the transaction runs.
    const wasCreated = result !== undefined && !(result instanceof Fault) && result.outcome === "created";
    const holder = wasCreated ? holderAt(now()) : holderAt(beganMs);
    if (result === undefined) {
      onProblem("a draft has no result");
      return;
    }
    if (result instanceof Fault) {
      if (result.code !== "document_quota_exceeded") onProblem(`a draft was refused with ${result.code}`);
      if (holder !== null || oracle.hasRoom(projectId, beganMs))
        onProblem("a draft was refused although there was room");
      return;
    }
    const { memory, outcome } = result;
    if (holder !== null) {
      if (memory.id !== holder.id) onProblem(`a draft with the external id of ${holder.id} changed ${memory.id}`);
      const known = newest(holder);
      const tag = given.tag ?? known.tag;
      oracle.set(memory.id, projectId, { ...given, tag, expiresAt: given.expiresAt ?? known.expiresAt });
      return;
    }
    if (outcome !== "created" || oracle.get(memory.id) !== null) onProblem(`${memory.id} existed before its creation`);
    if (!oracle.hasRoom(projectId, now())) onProblem(`${memory.id} was stored although there was no room`);
    oracle.set(memory.id, projectId, { ...given, isDeleted: false });
  }

  #rewrite(): ClientRequest {
    const content = this.#content();
    const tag = this.#chance(0.3) ? this.#pick(TAGS) : null;
    return this.#change({ content, ...(tag !== null && { tags: [tag] }) });
  }

  #changeAttributes(): ClientRequest {
    const kind = this.#world.random();
    if (kind < 0.5) return this.#change({ tags: [this.#pick(TAGS)] });
    if (kind < 0.7) return this.#change({ userId: this.#pick([...USERS, null]) });
    if (kind < 0.8) return this.#change({ externalId: this.#pick(["x1", "x2", null]) });
    return this.#change({
      expiresAt: this.#chance(0.5) ? null : this.#world.now() + Math.floor(this.#world.random() * 300_000),
    });
  }

  #change(change: MemoryChange): ClientRequest {
    const target = this.#target();
    if (target === null) return this.#create();
    const viewer = this.#viewer(this.#chance(0.95) ? target.projectId : undefined);
    return {
      description: `change ${target.id} ${JSON.stringify({ ...viewer, ...change })}`,
      send: async (server) => {
        const { memories } = server;
        const end = this.#begin([target]);
        try {
          await server.transaction(
            (tx) => memories.change(tx, viewer, target.id, change),
            (accepted, beganMs) => {
              this.#checkAllowed(viewer, target, accepted !== null, beganMs);
              if (accepted !== null) this.#applyChange(target, change);
            },
          );
        } finally {
          end();
        }
      },
    };
  }

  #applyChange(target: KnownMemory, { content, tags, userId, externalId, expiresAt }: MemoryChange): void {
    const tag = tags?.[0];
    this.#world.oracle.set(target.id, target.projectId, {
      ...(content !== undefined && { content, isFile: false }),
      ...(tag !== undefined && { tag }),
      ...(userId !== undefined && { userId }),
      ...(externalId !== undefined && { externalId }),
      ...(expiresAt !== undefined && { expiresAt }),
    });
  }

  /** A change must find the memory if it is live and the viewer may see it, and only then. */
  #checkAllowed(viewer: Viewer, target: KnownMemory, wasFound: boolean, beganMs: number): void {
    const state = newest(target);
    const isInScope =
      target.projectId === viewer.projectId && (viewer.userId === null || viewer.userId === state.userId);
    const isLiveAt = (nowMs: number) => isInScope && isLive(state, nowMs);
    if (isLiveAt(beganMs) === wasFound || isLiveAt(this.#world.now()) === wasFound) return;
    this.#world.onProblem(`${target.id} ${wasFound ? "was changed by somebody who must not see it" : "was not found"}`);
  }

  #remove(): ClientRequest {
    const target = this.#target();
    if (target === null) return this.#create();
    const viewer = this.#viewer(this.#chance(0.95) ? target.projectId : undefined);
    const purges = this.#chance(0.5);
    return {
      description: `${purges ? "purge" : "delete"} ${target.id} ${JSON.stringify(viewer)}`,
      send: async (server) => {
        const { memories } = server;
        const end = this.#begin([target]);
        try {
          const removed = await server.transaction(
            (tx) => memories.remove(tx, viewer, target.id, { purges }),
            (memory, beganMs) => {
              this.#checkAllowed(viewer, target, memory !== null, beganMs);
              if (memory !== null) this.#world.oracle.set(target.id, target.projectId, { isDeleted: true });
            },
          );
          if (removed !== null && purges) await memories.purgeNow(viewer.projectId, removed.keys);
        } finally {
          end();
        }
      },
    };
  }

  #removeUser(): ClientRequest {
    const viewer = { projectId: this.#pick(this.#world.projects), userId: null };
    const userId = this.#pick(USERS);
    const { oracle, now } = this.#world;
    const owned = () => oracle.live(viewer.projectId, now()).filter((memory) => newest(memory).userId === userId);
    return {
      description: `delete user ${userId} of ${viewer.projectId}`,
      send: async (server) => {
        const { users } = server;
        const end = this.#begin(owned());
        try {
          await server.transaction(
            (tx) => users.remove(tx, viewer, userId, true),
            () => {
              for (const { id, projectId } of owned()) oracle.set(id, projectId, { isDeleted: true });
            },
          );
        } finally {
          end();
        }
      },
    };
  }

  #retry(): ClientRequest {
    const { oracle } = this.#world;
    const failed = [...oracle.memories.values()].filter((memory) => newest(memory).status === "failed");
    const target = failed.length === 0 ? this.#target() : this.#pick(failed);
    if (target === null) return this.#create();
    const viewer = { projectId: target.projectId, userId: null };
    return {
      description: `retry ${target.id}`,
      send: async (server) => {
        const { memories } = server;
        await server.transaction(
          (tx) => memories.retry(tx, viewer, target.id),
          (memory, beganMs) => this.#checkAllowed(viewer, target, memory !== null, beganMs),
        );
      },
    };
  }

  #get(): ClientRequest {
    const target = this.#target();
    if (target === null) return this.#create();
    const viewer = this.#viewer(this.#chance(0.9) ? target.projectId : undefined);
    return {
      description: `get ${target.id} ${JSON.stringify(viewer)}`,
      send: (server) => this.get(server, viewer, target.id),
    };
  }

  /** Reads a memory and checks the answer. */
  async get(server: Server, viewer: Viewer, id: MemoryId): Promise<void> {
    const begin = this.#now();
    const shown = await server.memories.get(viewer, id);
    const span = this.#since(begin);
    const memory = this.#world.oracle.get(id);
    if (memory === null) return;
    const isVisible = (state: State) =>
      memory.projectId === viewer.projectId && (viewer.userId === null || state.userId === viewer.userId);
    if (shown !== null) {
      this.#checkShown(memory, shown, span, isVisible, "get");
      return;
    }
    const state = stateThroughout(memory, span);
    if (state !== null && isVisible(state) && isLive(state, span.fromMs)) {
      this.#world.onProblem(`get does not find ${id}, although it is live`);
    }
  }

  #checkShown(
    memory: KnownMemory,
    shown: { readonly content: string; readonly memory: { readonly state: { readonly status: string } } },
    span: Span,
    isVisible: (state: State) => boolean,
    where: string,
  ): void {
    const states = statesWithin(memory, span).filter((state) => isVisible(state) && isLive(state, span.fromMs));
    if (states.length === 0) {
      this.#world.onProblem(`${where} shows ${memory.id}, which it must not`);
      return;
    }
    const hasContent = ({ content, isFile, status }: State) =>
      shown.content === content || (isFile && status !== "completed" && shown.content === "");
    if (!states.some(hasContent)) {
      this.#world.onProblem(
        `${where} shows ${memory.id} (${shown.memory.state.status}) with ${JSON.stringify(shown.content)}`,
      );
    }
  }

  /** A list of a project's memories. */
  list(viewer = this.#viewer()): ClientRequest {
    const { oracle, onProblem } = this.#world;
    return {
      description: `list ${JSON.stringify(viewer)}`,
      send: async ({ memories }) => {
        const begin = this.#now();
        const { items } = await memories.list(viewer, { limit: RESULTS_MAX });
        const span = this.#since(begin);
        const isVisible = (state: State) => viewer.userId === null || state.userId === viewer.userId;
        const listed = new Set<MemoryId>();
        for (const item of items) {
          const memory = oracle.get(item.memory.id);
          if (memory?.projectId !== viewer.projectId) {
            onProblem(`list shows ${item.memory.id}, which the project does not have`);
            continue;
          }
          listed.add(memory.id);
          this.#checkShown(memory, item, span, isVisible, "list");
        }
        for (const memory of oracle.live(viewer.projectId, span.toMs)) {
          const state = stateThroughout(memory, span);
          if (state !== null && isVisible(state) && !listed.has(memory.id)) onProblem(`list lacks ${memory.id}`);
        }
      },
    };
  }

  /** A search, for a line of some memory or for words that many have. */
  search(): ClientRequest {
    const target = this.#target();
    const viewer = this.#viewer(target !== null && this.#chance(0.8) ? target.projectId : undefined);
    const named = viewer.userId === null && this.#chance(0.3) ? this.#pick(USERS) : null;
    const tag = this.#chance(0.3) ? this.#pick(TAGS) : null;
    const contents = target?.states.map(({ content }) => content) ?? [];
    const query = contents.length > 0 && this.#chance(0.7) ? this.#pick(this.#pick(contents).split("\n")) : "apples";
    const mode = this.#pick(MODE_NAMES);
    const { oracle, onProblem } = this.#world;
    const userId = viewer.userId ?? named;
    return {
      description: `search ${JSON.stringify({ ...viewer, named, tag, query, mode })}`,
      send: async (server) => {
        const begin = this.#now();
        const { results } = await server.search.search(
          viewer,
          {
            ...{ query, mode, limit: RESULTS_MAX, scoreMin: 0, includeGraph: this.#chance(0.3) },
            ...(named !== null && { userId: named }),
            filter: tag === null ? null : parseFilter({ tags: { $contains: tag } }),
          },
          askerOf(),
        );
        const span = this.#since(begin);
        const isWithin = (state: State) =>
          state.status === "completed" &&
          (userId === null || state.userId === userId) &&
          (tag === null || state.tag === tag);
        const found = new Map<MemoryId, string[]>();
        for (const { memory: shown, text } of results) {
          const memory = oracle.get(shown.id);
          const isPossible = (state: State) =>
            isWithin(state) && isLive(state, span.fromMs) && state.content.split("\n").includes(text);
          if (memory?.projectId !== viewer.projectId || !statesWithin(memory, span).some(isPossible)) {
            onProblem(`search shows ${shown.id} with ${JSON.stringify(text)}`);
          }
          found.set(shown.id, [...(found.get(shown.id) ?? []), text]);
        }
        for (const memory of oracle.live(viewer.projectId, span.toMs)) {
          const state = stateThroughout(memory, span);
          if (state === null || !isWithin(state)) continue;
          const texts = (found.get(memory.id) ?? []).sort().join("\n");
          const expected = state.content.split("\n").sort().join("\n");
          if (texts !== expected) onProblem(`search lacks ${memory.id}, or passages of it`);
        }
      },
    };
  }

  #changeModel(): ClientRequest {
    const projectId = this.#pick(this.#world.projects);
    const kind = this.#pick(["embedder-a", "embedder-b", "embedder-b", "cancel", "forget"]);
    return {
      description: `model of ${projectId}: ${kind}`,
      send: async (server) => {
        const { models } = server;
        await server.transaction(
          async (tx) => {
            if (kind === "cancel") return models.cancel(tx, projectId);
            return kind === "forget" ? models.forget(tx, projectId) : models.change(tx, projectId, kind);
          },
          () => undefined,
        );
      },
    };
  }

  #begin(memories: readonly KnownMemory[]): () => void {
    return this.#world.oracle.begin(memories);
  }

  #now(): { readonly moment: number; readonly ms: number } {
    return { moment: this.#world.oracle.moment, ms: this.#world.now() };
  }

  #since({ moment, ms }: { readonly moment: number; readonly ms: number }): Span {
    return { from: moment, to: this.#world.oracle.moment, fromMs: ms, toMs: this.#world.now() };
  }
}
