// Finds what the passages of a memory say of passages of other memories of the same user and agent: fetches the nearest
// ones by vector and by words, and lets a judge decide about pairs of sentences.

import { sentenceSpans } from "../answer/sentences.ts";
import { roleOf } from "../domain/chunk.ts";
import { parseFilter } from "../domain/filter.ts";
import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import {
  EVIDENCE_CHARACTERS_MAX,
  type EvidenceSpan,
  FOUND_RELATIONS_MAX,
  type FoundRelation,
  isNewer,
} from "../domain/relation.ts";
import { EVENT_LOGIT_MIN } from "../domain/retrieval-tuning.ts";
import type { Clock } from "../kit/clock.ts";
import { probeLogit } from "../kit/dot.ts";
import type {
  AdmissibleSet,
  IndexOf,
  ModelIndex,
  Passage,
  PublishedMemories,
  SearchIndex,
  StoredMemory,
} from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Embedders } from "../ports/models.ts";
import type { RelationJob } from "../ports/relation-store.ts";
import type { Judge } from "./judge.ts";

/** Maximum number of passages of a memory that are compared: the first ones of a longer document. */
const PASSAGES_MAX = 64;
/** Number of nearest passages by vector, and by words, that a passage is compared with. */
const NEAREST = 24;
const BY_WORDS = 8;
/** Maximum length of the text whose words are looked for, in UTF-16 code units. */
const QUERY_UNITS_MAX = 500;
/** Maximum number of sentences of a passage that are judged. Longer passages are documents. */
const SENTENCES_MAX = 12;
/** Minimum share of a passage's characters for a sentence to count as what the passage is about. */
const SENTENCE_SHARE_MIN = 0.4;

/** What finding relations needs. */
export interface FinderDependencies {
  readonly index: IndexOf<SearchIndex & ModelIndex> & Pick<PublishedMemories, "stored">;
  readonly memories: Pick<MemoryStore, "getMany">;
  readonly judge: Judge;
  readonly embedders: Pick<Embedders, "withFingerprint">;
  readonly clock: Clock;
}

/** One of two passages that are compared, with its memory and its sentences. */
interface Side {
  readonly memory: Memory;
  readonly passage: Passage;
  readonly sentences: readonly EvidenceSpan[];
}

/**
 * The relations of a memory, the surest first, at most `FOUND_RELATIONS_MAX`. None if its project does not look for
 * relations, or if the stored text is of another version.
 * @param stored the text and the chunks of the memory, as `PublishedMemories.stored` gave them
 */
export async function findRelations(
  uses: FinderDependencies,
  { projectId, memory, superseding }: RelationJob,
  stored: StoredMemory | undefined,
): Promise<readonly FoundRelation[]> {
  if (superseding === "off") return [];
  if (stored === undefined || stored.version !== memory.version) return [];
  using project = await uses.index.project(projectId);
  const { agentId, userKey } = memory;
  const filter = parseFilter({ agentId, ...(userKey === null && { userId: null }) });
  const within = await project.admitWithin(userKey, uses.clock.now(), filter);
  if (within.memories < 2) return [];
  const found: FoundRelation[] = [];
  const chunks = stored.chunks.slice(0, PASSAGES_MAX);
  const own = await sidesOf(
    uses,
    project,
    projectId,
    chunks.map(({ chunkKey }) => ({ chunkKey, memory })),
  );
  for (const side of own) {
    const near = await nearest(project, side, within);
    const others = await sidesOf(uses, project, projectId, near);
    for (const other of others) {
      for (const { relation, older, saysChange } of relationsOf(uses.judge, side, other)) {
        const isEvent = relation.kind === "supersedes" && !saysChange && (await tellsOfEvent(uses, project, older));
        if (!isEvent) found.push(relation);
      }
    }
    if (own.length > 1) await new Promise(setImmediate); // lets requests run
  }
  return found
    .filter(({ key, otherKey }) => key === memory.key || otherKey === memory.key)
    .toSorted((left, right) => right.confidence - left.confidence)
    .slice(0, FOUND_RELATIONS_MAX);
}

/** The passages of other memories that are nearest by vector or by words; none if the passage has no vector. */
async function nearest(
  project: SearchIndex & ModelIndex,
  { memory, passage }: Side,
  within: AdmissibleSet,
): Promise<readonly { readonly chunkKey: ChunkKey; readonly memoryKey: MemoryKey }[]> {
  const { fingerprint } = (await project.models()).live;
  const keys = { chunkKeys: BigUint64Array.of(passage.chunkKey), memoryKeys: BigUint64Array.of(memory.key) };
  const vector = await project.storedVectors(fingerprint, keys);
  if (vector.some(Number.isNaN)) return [];
  const query = { text: passage.text.slice(0, QUERY_UNITS_MAX), fingerprint, vector: Promise.resolve(vector) };
  const pool = await project.recall({ ...query, vectorLimit: NEAREST, textLimit: BY_WORDS, graph: null }, within);
  return Array.from(pool.chunkKeys, (chunkKey, at) => ({
    chunkKey: chunkKey as ChunkKey,
    memoryKey: (pool.memoryKeys[at] ?? 0n) as MemoryKey,
  })).filter(({ memoryKey }) => memoryKey !== memory.key);
}

/** The passages of chunks that can be compared: of completed memories, not said by an assistant, and not too long. */
async function sidesOf(
  { memories }: FinderDependencies,
  project: SearchIndex,
  projectId: RelationJob["projectId"],
  chunks: readonly { readonly chunkKey: ChunkKey; readonly memory?: Memory; readonly memoryKey?: MemoryKey }[],
): Promise<readonly Side[]> {
  if (chunks.length === 0) return [];
  const unread = chunks.flatMap(({ memoryKey }) => memoryKey ?? []);
  const rows = await memories.getMany(projectId, [...new Set(unread)]);
  const passages = await project.passages(BigUint64Array.from(chunks, ({ chunkKey }) => chunkKey));
  return chunks.flatMap(({ memory, memoryKey }, at) => {
    const row = memory ?? rows.get(memoryKey ?? (0n as MemoryKey));
    const passage = passages[at];
    if (row?.state.status !== "completed" || passage == null) return [];
    if (roleOf(passage.place.turn?.speaker ?? null) === "assistant") return [];
    const sentences = spansOf(passage);
    return sentences.length === 0 || sentences.length > SENTENCES_MAX ? [] : [{ memory: row, passage, sentences }];
  });
}

/**
 * Whether a passage is about an event, by its vector: "Paid the gardener 85 pounds" is not corrected by what was paid
 * later. false if the model has no probe (a linear classifier) for it, or the index no vector of the passage.
 */
async function tellsOfEvent(
  { embedders }: FinderDependencies,
  project: SearchIndex & ModelIndex,
  { memory, passage }: Side,
): Promise<boolean> {
  const { fingerprint } = (await project.models()).live;
  const probe = embedders.withFingerprint(fingerprint)?.tuning.replacement?.eventProbe;
  if (probe === undefined) return false;
  const keys = { chunkKeys: BigUint64Array.of(passage.chunkKey), memoryKeys: BigUint64Array.of(memory.key) };
  const vector = await project.storedVectors(fingerprint, keys);
  return !vector.some(Number.isNaN) && probeLogit(probe, vector) >= EVENT_LOGIT_MIN;
}

/** A relation, the passage that is older, and whether the newer one says that something has changed. */
interface JudgedPair {
  readonly relation: FoundRelation;
  readonly older: Side;
  readonly saysChange: boolean;
}

/** What one passage says of another one, by their sentences. */
function* relationsOf(judge: Judge, own: Side, other: Side): Generator<JudgedPair> {
  if (isOfOtherSpeaker(own.passage, other.passage)) return;
  const [newer, older] = isNewer(own.memory, other.memory) ? [own, other] : [other, own];
  for (const said of newer.sentences) {
    for (const before of older.sentences) {
      if (!isMain(before, older) || !isMain(said, newer)) continue;
      const verdict = judge(
        { text: before.text, language: older.memory.language ?? "und" },
        { text: said.text, language: newer.memory.language ?? "und" },
      );
      if (verdict === null) continue;
      const relation: FoundRelation = {
        ...{ kind: verdict.kind, confidence: verdict.confidence, by: "rule" },
        ...{ key: newer.memory.key, otherKey: older.memory.key },
        versions: { own: newer.memory.version, other: older.memory.version },
        ...{ ownPassage: newer.passage.place.ordinal, otherPassage: older.passage.place.ordinal },
        evidence: { own: said, other: before },
      };
      yield { relation, older, saysChange: verdict.saysChange === true };
      return;
    }
  }
}

/** Whether two turns are of different persons, so that "I" is not the same one. */
function isOfOtherSpeaker({ place: { turn: left } }: Passage, { place: { turn: right } }: Passage): boolean {
  return (left?.speaker ?? null) !== (right?.speaker ?? null) && left !== undefined && right !== undefined;
}

/** Whether a sentence is what its passage is about, so that the passage can be superseded for it. */
function isMain({ text }: EvidenceSpan, { passage, sentences }: Side): boolean {
  return sentences.length === 1 || text.length >= SENTENCE_SHARE_MIN * passage.text.length;
}

/** The sentences of a passage with their places in the content. A turn of a conversation has one place. */
function spansOf({ text, place }: Passage): readonly EvidenceSpan[] {
  const label = place.turn?.labelUnits ?? 0;
  const spans: EvidenceSpan[] = [];
  for (const { start: from, end: to } of sentenceSpans(text.slice(label))) {
    const sentence = text.slice(label + from, label + to);
    const characters = [...sentence].length;
    if (characters > EVIDENCE_CHARACTERS_MAX) continue;
    const start = place.start + [...text.slice(0, label + from)].length;
    const [first, last] = place.turn === undefined ? [start, start + characters] : [place.start, place.end];
    spans.push({ start: first, end: last, text: sentence });
  }
  return spans;
}
