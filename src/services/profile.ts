// The profile of a user: facts that hold now, preferences, people and events, each with its place in a memory. Each
// call makes it from a bounded number of passages: those of the newest memories and, if there are more, those that
// resemble statements of a user most, which the index finds among all of them.

import { type ProfileKind, type ProfileSentence, profileKindOf, userNamesOf } from "../answer/profile-kinds.ts";
import { type FittedProfile, fittedProfile, PROFILE_LISTS, type ProfileEntry } from "../answer/profile-text.ts";
import { sentenceSpans } from "../answer/sentences.ts";
import { roleOf } from "../domain/chunk.ts";
import { isConversation } from "../domain/extraction.ts";
import { Fault } from "../domain/fault.ts";
import { narrowed, parseFilter } from "../domain/filter.ts";
import type { ChunkKey, MemoryKey, ProjectId, UserKey } from "../domain/ids.ts";
import { type Memory, supersederOf } from "../domain/memory.ts";
import { type MemoryScope, scopeOf } from "../domain/memory-attributes.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { codePointsOf } from "../kit/code-points.ts";
import { shortened } from "../kit/shortened.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { IndexOf, Passage, PublishedMemories, SearchIndex, StoredChunk } from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Embedder, Embedders } from "../ports/models.ts";
import type { UserStore } from "../ports/user-store.ts";
import { embedderOf } from "../retrieval/search.ts";
import { happenedAt } from "../retrieval/time/time-preference.ts";
import { zoneOf } from "./zones.ts";

/** Number of newest memories that are read. */
const NEWEST_MAX = 400;
/** Number of older passages that the index finds for each of `STATEMENTS`, by vector and by words. */
const OLDER_BY_VECTOR = 100;
const OLDER_BY_WORDS = 50;
/** What older passages are compared with. */
const STATEMENTS = [
  "My name is Ada. I live in the city, I work as a nurse, and I was born in May.",
  "I prefer tea, I like hiking, I do not like meat. Please always answer briefly.",
  "My sister, my husband, my daughter, my friend, my boss, my colleague, my doctor.",
] as const;
/** Maximum number of passages that are read. */
const PASSAGES_MAX = 1_500;
/** A memory with more passages is a document, unless it is a conversation. Documents do not tell of their user. */
const NOTE_PASSAGES_MAX = 4;
/** Maximum size of the contents of the newest memories together, in UTF-8 bytes. */
const CONTENT_BYTES_MAX = 2 * 1024 * 1024;
/** Number of sentences that are classified without a pause for other requests. */
const WITHOUT_PAUSE = 10;
/** Maximum number of sentences whose kinds are kept, so that further calls classify new ones only. */
const KINDS_MAX = 20_000;
/** Maximum number of entries of a list. */
const ENTRIES_MAX = 50;
/** Maximum number of entries about one person. */
const ENTRIES_PER_PERSON_MAX = 3;

const LIST_OF = { fact: "facts", preference: "preferences", event: "events" } as const;

/** A profile. */
export interface Profile extends FittedProfile {
  /** Unix milliseconds. */
  readonly generatedAt: number;
  /** Number of entries that were found and are left out. */
  readonly omitted: number;
}

/** What a profile is made for. */
export interface RequestedProfile extends MemoryScope {
  readonly tokensMax: number;
  /** Number of tokens that an entry takes besides its line of the text; default: 0. */
  readonly besides?: (entry: ProfileEntry) => number;
  /** IANA name; default: the zone of the user, else that of the project, else UTC. */
  readonly timeZone?: string | undefined;
}

/** What the service needs. */
export interface ProfileServiceDependencies {
  readonly index: IndexOf<SearchIndex> & Pick<PublishedMemories, "stored">;
  readonly memories: Pick<MemoryStore, "list" | "getMany" | "userKey">;
  readonly users: Pick<UserStore, "get">;
  readonly accounts: Pick<AccountStore, "project">;
  readonly embedders: Embedders;
  readonly clock: Clock;
}

/** A passage of a user's memory. */
interface Read {
  readonly memory: Memory;
  readonly passage: Passage;
  /** The range of the content that the passage has. */
  readonly content: string;
}

/** Profiles of the users of one project. */
export class ProfileService {
  /** Vectors of `STATEMENTS` by the fingerprint of their model. */
  readonly #vectors = new Map<string, Promise<readonly Float32Array[]>>();
  /** Kinds of the sentences that were classified last, the oldest first. */
  readonly #kinds = new Map<string, ProfileKind | null>();

  constructor(private readonly uses: ProfileServiceDependencies) {}

  /** The profile of a user. @throws Fault `user_not_found`; `insufficient_scope` if a confined key names another one */
  async ofUser(viewer: Viewer, userId: string, requested: Omit<RequestedProfile, "userId">): Promise<Profile> {
    userOf(viewer, userId);
    if ((await this.uses.users.get(viewer.projectId, userId)) === null) {
      const message = `There is no user '${shortened(userId)}' in this project.`;
      throw new Fault("user_not_found", message, { param: "userId" });
    }
    return this.of(viewer, { ...requested, userId });
  }

  /**
   * A profile of the memories in a scope that the viewer may see; empty if there are none.
   * @throws Fault `insufficient_scope` if a confined key names another user
   */
  async of(viewer: Viewer, requested: RequestedProfile): Promise<Profile> {
    const { users, clock } = this.uses;
    const { projectId } = viewer;
    const userId = userOf(viewer, requested.userId);
    const scope = { ...scopeOf(requested), ...(userId !== undefined && { userId }) };
    const generatedAt = clock.now();
    const user = userId === undefined ? null : await users.get(projectId, userId);
    const userNames = userNamesOf([userId, user?.name].filter((name) => name != null));
    const zone = requested.timeZone ?? user?.timeZone ?? (await zoneOf(this.uses, projectId, null));
    const read = await this.#read(projectId, scope);
    const found = await this.#entriesOf(read, userNames);
    const listed = {
      facts: found.facts.slice(0, ENTRIES_MAX),
      preferences: found.preferences.slice(0, ENTRIES_MAX),
      people: found.people.slice(0, ENTRIES_MAX),
      events: found.events.slice(0, ENTRIES_MAX),
    };
    const fitted = fittedProfile(listed, requested.tokensMax, zone, requested.besides);
    const count = (lists: FittedProfile["lists"]) => PROFILE_LISTS.reduce((sum, list) => sum + lists[list].length, 0);
    return { ...fitted, generatedAt, omitted: count(found) - count(fitted.lists) };
  }

  /** Passages of the newest memories, and older ones that resemble statements of a user; those of the newest first. */
  async #read(projectId: ProjectId, scope: MemoryScope): Promise<readonly Read[]> {
    const { memories, index } = this.uses;
    const page = await memories.list(projectId, {
      ...scope,
      status: "completed",
      superseded: false,
      limit: NEWEST_MAX,
      contentBytesMax: CONTENT_BYTES_MAX,
    });
    using project = await index.project(projectId);
    const newest = new Map(page.items.map((memory) => [memory.key, memory]));
    const older = page.cursor === null ? [] : await this.#older(project, projectId, scope);
    const rows = await memories.getMany(projectId, [...new Set(older.map(({ memoryKey }) => memoryKey))]);
    const readable = [...newest.values(), ...rows.values()].filter(isOwn);
    const unique = [...new Map(readable.map((memory) => [memory.key, memory])).values()];
    const stored = await index.stored(unique.map(({ key }) => key));
    const wanted = new Set(older.map(({ chunkKey }) => chunkKey));
    const places = unique
      .toSorted((left, right) => happenedAt(right) - happenedAt(left) || Number(right.key - left.key))
      .flatMap((memory) => {
        const text = stored.get(memory.key);
        if (text === undefined || text.version !== memory.version) return [];
        const chunks = text.chunks.filter(({ chunkKey, ordinal }) => {
          return (newest.has(memory.key) || wanted.has(chunkKey)) && supersederOf(memory, ordinal) === null;
        });
        const contents = rangesOf(text.content, chunks);
        return chunks.map((chunk, at) => ({ memory, chunk, content: contents[at] ?? "" })).toReversed();
      })
      .slice(0, PASSAGES_MAX);
    const passages = await project.passages(BigUint64Array.from(places, ({ chunk }) => chunk.chunkKey));
    return places.flatMap(({ memory, content }, at) => {
      const passage = passages[at];
      return passage == null ? [] : [{ memory, passage, content }];
    });
  }

  /** Passages of all memories in a scope that resemble statements of a user most. */
  async #older(project: SearchIndex, projectId: ProjectId, scope: MemoryScope) {
    const { memories, embedders, clock } = this.uses;
    const { userId, ...others } = scope;
    const userKey: UserKey | null = userId === undefined ? null : await memories.userKey(projectId, userId);
    if (userId !== undefined && userKey === null) return [];
    const filter = narrowed(parseFilter({ superseded_by: null }), others);
    const within = await project.admitWithin(userKey, clock.now(), filter);
    const embedder = await embedderOf({ embedders }, project);
    const vectors = await this.#vectorsOf(embedder);
    const found: { readonly chunkKey: ChunkKey; readonly memoryKey: MemoryKey }[] = [];
    for (const [at, text] of STATEMENTS.entries()) {
      const vector = Promise.resolve(vectors[at] ?? new Float32Array());
      const limits = { vectorLimit: OLDER_BY_VECTOR, textLimit: OLDER_BY_WORDS, graph: null };
      const pool = await project.recall({ text, fingerprint: embedder.fingerprint, vector, ...limits }, within);
      for (const [place, chunkKey] of pool.chunkKeys.entries()) {
        const memoryKey = (pool.memoryKeys[place] ?? 0n) as MemoryKey;
        found.push({ chunkKey: chunkKey as ChunkKey, memoryKey });
      }
    }
    return found;
  }

  #vectorsOf(embedder: Embedder): Promise<readonly Float32Array[]> {
    const known = this.#vectors.get(embedder.fingerprint);
    if (known !== undefined) return known;
    const options = { purpose: "query", priority: "query" } as const;
    const vectors = Promise.all(STATEMENTS.map((text) => embedder.embed([text], options)));
    this.#vectors.set(embedder.fingerprint, vectors);
    void vectors.catch(() => this.#vectors.delete(embedder.fingerprint)); // the next call tries again
    return vectors;
  }

  /** What passages say of their user, in their order. The same text counts once. */
  async #entriesOf(read: readonly Read[], userNames: ReadonlySet<string>): Promise<MutableLists> {
    const lists: MutableLists = { facts: [], preferences: [], people: [], events: [] };
    const said = new Set<string>();
    const perPerson = new Map<string, number>();
    let classified = 0;
    for (const { sentence, entry } of read.flatMap((each) => [...sentencesOf(each, userNames)])) {
      const words = wordsOf(entry.text);
      if (said.has(words)) continue;
      said.add(words);
      const kind = this.#kindOf(sentence, () => classified++);
      if (classified % WITHOUT_PAUSE === WITHOUT_PAUSE - 1) await new Promise(setImmediate);
      if (kind === null) continue;
      if (kind.kind !== "person") {
        lists[LIST_OF[kind.kind]].push(entry);
        continue;
      }
      const count = perPerson.get(kind.name) ?? 0;
      perPerson.set(kind.name, count + 1);
      if (count < ENTRIES_PER_PERSON_MAX) lists.people.push({ ...entry, name: kind.name });
    }
    return lists;
  }

  /** The kind of a sentence, from `#kinds` if possible. @param onClassify called if the sentence is classified now */
  #kindOf(sentence: ProfileSentence, onClassify: () => void): ProfileKind | null {
    const { text, language, isSpoken, userNames } = sentence;
    const key = [language, isSpoken, ...userNames, text].join("\n");
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    onClassify();
    const kind = profileKindOf(sentence);
    const oldest = this.#kinds.size < KINDS_MAX ? undefined : this.#kinds.keys().next().value;
    if (oldest !== undefined) this.#kinds.delete(oldest);
    this.#kinds.set(key, kind);
    return kind;
  }
}

/** Whether a memory can tell of its user: a note or a conversation, but no file. */
function isOwn({ state, source, type }: Memory): boolean {
  if (state.status !== "completed" || source !== null) return false;
  return isConversation(type) || state.chunkCount <= NOTE_PASSAGES_MAX;
}

/** The ranges of a content that chunks have. @param chunks in ascending order of their beginnings */
function rangesOf(content: string, chunks: readonly StoredChunk[]): readonly string[] {
  let at = 0;
  let point = 0;
  const advanced = (from: number, points: number) => {
    let to = from;
    for (let passed = 0; passed < points && to < content.length; passed++) {
      to += (content.codePointAt(to) ?? 0) > 0xffff ? 2 : 1;
    }
    return to;
  };
  return chunks.map(({ start, end }) => {
    at = advanced(at, start - point);
    point = start;
    return content.slice(at, advanced(at, end - start));
  });
}

type MutableLists = { readonly [List in (typeof PROFILE_LISTS)[number]]: ProfileEntry[] };

function wordsOf(text: string): string {
  const words = text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, " ");
  return words.trim();
}

/** The sentences of a passage that may tell of its user, with their places. */
function* sentencesOf({ memory, passage, content }: Read, userNames: ReadonlySet<string>) {
  const { turn, start } = passage.place;
  if (isConversation(memory.type) && roleOf(turn?.speaker ?? null) === "assistant") return;
  const { occurredAt, occurredAtGiven, language } = memory;
  const said = passage.text.slice(turn?.labelUnits ?? 0);
  let from = 0; // in the content
  for (const span of sentenceSpans(said)) {
    const text = said.slice(span.start, span.end);
    const at = content.indexOf(text, from);
    if (at === -1) continue; // it is escaped in the JSON of a conversation
    const first = start + codePointsOf(content.slice(0, at));
    from = at + text.length;
    const range = { text, start: first, end: first + codePointsOf(text) };
    const entry: ProfileEntry = { memoryId: memory.id, ...range, occurredAt, occurredAtGiven };
    const isSpoken = turn !== undefined;
    const sentence = { text, language: language ?? "und", at: happenedAt(memory), isSpoken, userNames };
    yield { sentence, entry };
  }
}
