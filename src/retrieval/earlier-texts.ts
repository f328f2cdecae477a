// Searches at an earlier time (`knownAt`). The index has only today's texts. So hydration.ts leaves out memories that
// had another text at that time. This file reads those earlier texts, scores their passages by vectors, and merges them
// into the results.

import type { ChunkKey, MemoryKey } from "../domain/ids.ts";
import { type Memory, supersederOf } from "../domain/memory.ts";
import type { RankedPassage, Ranking } from "../domain/ranking.ts";
import { fittingTogether } from "../kit/fitting.ts";
import { fold } from "../kit/fold.ts";
import type { EarlierText } from "../ports/history-store.ts";
import type { Embedder } from "../ports/models.ts";
import { PrepareFailure, type PrepareInput, type Preparer } from "../ports/preparer.ts";
import { isLanguageSupported } from "./coverage.ts";
import { currentPassagesFirst } from "./current-first.ts";
import { fuse } from "./fuse.ts";
import { readRowsOf } from "./hydration.ts";
import { calibrationCurve, modeFor, tuningOf } from "./modes.ts";
import type { RetrievalDependencies, SearchRequest } from "./request.ts";
import { calibrate } from "./results.ts";
import { embedderOf, search } from "./search.ts";
import { Stopwatch } from "./stopwatch.ts";
import { verdictOn } from "./verdict.ts";

/** Maximum number of earlier texts that one search reads, those that were replaced last first. */
export const EARLIER_TEXTS_READ_MAX = 500;
/** Maximum size of these texts together, in UTF-16 code units. One text is read even if it is larger. */
const CHARACTERS_MAX = 1_000_000;
/** Maximum number of passages whose vectors are computed: those that share most pairs of letters with the query. */
const PASSAGES_MAX = 64;
/**
 * Minimum share of the query's pairs of letters that a passage must have if the embedder does not know the language.
 */
const COMMON_MIN = 0.5;
/** Chunk keys of earlier texts have the highest bit, which those of the index never have. */
const EARLIER_KEYS = 1n << 63n;
/** Maximum number of passages of a text; more than a text of `CHARACTERS_MAX` has. */
const ORDINALS = 1n << 16n;

/** Dependencies of a search at an earlier time. The preparer splits earlier texts into passages. */
export type EarlierDependencies = RetrievalDependencies & { readonly preparer: Pick<Preparer, "prepare"> };

/** A search at an earlier time: Unix milliseconds. Its filter admits only memories that were accepted by then. */
export type EarlierRequest = SearchRequest & { readonly knownAt: number };

interface EarlierPassage {
  readonly memory: Memory;
  readonly chunkKey: ChunkKey;
  readonly text: string;
  readonly embeddedText: string;
  readonly place: RankedPassage["place"];
}

/**
 * Runs a search among the texts of `knownAt`.
 * @throws Fault as `search` does
 */
export async function searchThen(parts: EarlierDependencies, request: EarlierRequest): Promise<Ranking> {
  const ranking = await search(parts, request);
  const earlier = await rankedPassages(parts, request, ranking);
  if (earlier.length === 0) return ranking;
  const language = await parts.languageOf(request.query);
  const byScore = [...ranking.results, ...earlier].toSorted((one, other) => other.score - one.score);
  const results = currentPassagesFirst({ text: request.query, language }, byScore).slice(0, request.limit);
  if (request.wantsEvidence !== true) return { ...ranking, results };
  using index = await parts.index.current(request.scope.projectId);
  const embedder = await embedderOf(parts, index);
  const tuning = tuningOf(request.mode, embedder, parts.rerankers.for(embedder, request.scope.projectId));
  const hasVectors = ranking.degraded === null;
  const judged = { parts, request, embedder, tuning, language, watch: new Stopwatch(), hasVectors };
  return { ...ranking, ...(await verdictOn(judged, results)) };
}

/** The passages of earlier texts that the search may show, best first. */
async function rankedPassages(
  parts: EarlierDependencies,
  request: EarlierRequest,
  { admissible }: Ranking,
): Promise<readonly RankedPassage[]> {
  const { projectId } = request.scope;
  const texts = await parts.history.earlierTexts(projectId, request.knownAt, EARLIER_TEXTS_READ_MAX);
  if (texts.length === 0) return [];
  const rows = await readRowsOf(
    parts,
    request,
    texts.map(({ key }) => key),
  );
  const shown = texts.flatMap((text) => {
    const memory = rows.get(text.key);
    return memory === undefined ? [] : { text, memory };
  });
  const passages = await passagesOf(
    parts.preparer,
    fittingTogether(shown, CHARACTERS_MAX, ({ text }) => text.content.length),
  );
  if (passages.length === 0) return [];
  using index = await parts.index.current(projectId);
  const embedder = await embedderOf(parts, index);
  const language = await parts.languageOf(request.query);
  const isKnown = isLanguageSupported(request.query, language, embedder.languages);
  const nearest = mostInCommon(request.query, passages, isKnown ? 0 : COMMON_MIN);
  const chunkIds = await parts.accounts.chunkIds(projectId);
  if (nearest.length === 0 || chunkIds === null) return [];
  const candidates = fuse(await poolOf(embedder, request, nearest), modeFor("fast", embedder.tuning));
  const curve = calibrationCurve(new Set(["vector"]), embedder.tuning);
  const scores = calibrate(candidates, curve, Math.max(1, admissible));
  const byKey = new Map(nearest.map((passage) => [passage.chunkKey, passage]));
  return candidates.flatMap(({ chunkKey, signals }, position): RankedPassage[] => {
    const passage = byKey.get(chunkKey);
    const score = scores[position] ?? 0;
    if (passage === undefined || score < request.scoreMin) return [];
    const { memory, text, place } = passage;
    const supersededBy = supersederOf(memory, place.ordinal);
    const shownSignals = signals.vector === undefined ? {} : { vector: signals.vector };
    return [
      {
        ...{ chunkId: chunkIds.of(chunkKey), memory, text, place, score, signals: shownSignals },
        ...{ fusedRank: position + 1, supersededBy, outdatedBy: supersededBy, standing: null },
      },
    ];
  });
}

interface ShownText {
  readonly text: EarlierText;
  readonly memory: Memory;
}

async function passagesOf(
  preparer: Pick<Preparer, "prepare">,
  texts: readonly ShownText[],
): Promise<readonly EarlierPassage[]> {
  if (texts.length === 0) return [];
  const prepared = await preparer.prepare(texts.map(inputOf));
  return texts.flatMap(({ text, memory }, at): readonly EarlierPassage[] => {
    const outcome = prepared[at];
    if (outcome === undefined || outcome instanceof PrepareFailure) return [];
    return outcome.chunks.map((chunk) => {
      const { ordinal, start, end, headings, turn } = chunk;
      return {
        memory,
        chunkKey: (EARLIER_KEYS | (text.id * ORDINALS + BigInt(ordinal))) as ChunkKey,
        text: outcome.texts.passage(chunk),
        embeddedText: outcome.texts.embeddedText(chunk),
        place: { ordinal, start, end, headings, ...(turn !== undefined && { turn }) },
      };
    });
  });
}

/**
 * Passes on only attributes that a caller gave, because these apply to every text of a memory. Extracted attributes
 * belong to the current text.
 */
function inputOf({ text, memory }: ShownText): PrepareInput {
  const given = <Value>(name: "title" | "type" | "language", value: Value) =>
    memory.given.includes(name) ? value : null;
  return {
    content: text.content,
    title: given("title", memory.title),
    type: given("type", memory.type),
    tags: [],
    language: given("language", memory.language),
    date: null,
    createdAt: memory.createdAt,
  };
}

/** The passages that share most pairs of letters with the query; pairs of letters work in every script. */
function mostInCommon(query: string, passages: readonly EarlierPassage[], shareMin: number): readonly EarlierPassage[] {
  const asked = [...new Set(pairsOf(query))];
  const shareOf = ({ text }: EarlierPassage) => {
    const folded = fold(text);
    return asked.filter((pair) => folded.includes(pair)).length / Math.max(1, asked.length);
  };
  return passages
    .map((passage) => ({ passage, share: shareOf(passage) }))
    .filter(({ share }) => share >= shareMin)
    .toSorted((one, other) => other.share - one.share)
    .slice(0, PASSAGES_MAX)
    .map(({ passage }) => passage);
}

function pairsOf(text: string): readonly string[] {
  const words = fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.flatMap((word) => {
    const letters = [...word];
    return letters.length === 1 ? [word] : letters.slice(1).map((letter, at) => `${letters[at]}${letter}`);
  });
}

async function poolOf(embedder: Embedder, { query, signal }: SearchRequest, passages: readonly EarlierPassage[]) {
  const options = { priority: "query", hasTurn: true, signal } as const;
  const [asked, vectors] = await Promise.all([
    embedder.embed([query], { ...options, purpose: "query" }),
    embedder.embed(
      passages.map(({ embeddedText }) => embeddedText),
      { ...options, purpose: "passage" },
    ),
  ]);
  const { dimensions } = embedder;
  const cosine = (at: number) => {
    let sum = 0;
    for (let each = 0; each < dimensions; each++) {
      sum += (asked[each] ?? 0) * (vectors[at * dimensions + each] ?? 0);
    }
    return sum;
  };
  return {
    chunkKeys: BigUint64Array.from(passages, ({ chunkKey }) => chunkKey),
    memoryKeys: BigUint64Array.from(passages, ({ memory }) => memory.key as MemoryKey),
    cosines: Float32Array.from(passages, (_, at) => cosine(at)),
    textScores: null,
  };
}
