// Collects the samples that calibration needs: results of questions to personal stores of several sizes and to judged
// collections, in each combination of signals, with final scores and labels. It searches in this process, because no
// API request can switch off the reranker or its deadline. calibration-fit.ts fits curves to the samples.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { finalScores } from "../../src/calibration/regression.ts";
import { RememberingReranker } from "../../src/calibration/remembering-reranker.ts";
import { Progress } from "../../src/cli/terminal.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { ModeName, RankedPassage } from "../../src/domain/ranking.ts";
import {
  SIGNAL_COMBINATIONS,
  type SignalCombination,
  WEIGHTED_SIGNALS,
  type WeightedSignal,
} from "../../src/domain/signals.ts";
import { isRecord, type JsonRecord } from "../../src/kit/record.ts";
import type { Mode } from "../../src/retrieval/modes.ts";
import { search } from "../../src/retrieval/search.ts";
import { type RunningServer, startServer } from "../../test/support/server.ts";
import { readJudgedQueries } from "./beir.ts";
import { spread } from "./collection.ts";
import { benchEmbedder, EMBEDDER_ID, wrappedRerankers } from "./models.ts";
import { type OpenRetrieval, openRetrieval } from "./open-retrieval.ts";
import { memoryOfNote, type Note, type Person, type PersonalQuestion, questionsIn } from "./personal.ts";
import { isRight } from "./personal-scores.ts";
import { collectionContent, documentsAt, ingestLines, serve } from "./served-collection.ts";
import { storeAll } from "./storing.ts";

/** A result of a question. */
export interface SampleResult {
  /** Final score, before calibration. */
  readonly final: number;
  readonly isRelevant: boolean;
  /** Score of each signal, by name. */
  readonly signals: Readonly<Record<string, number>>;
}

/** A question to a store in one combination of signals, with its results, best first. */
export interface ScoreSample {
  /** Person or collection. */
  readonly group: string;
  /** Kind of store, such as `one note`. */
  readonly store: string;
  readonly question: string;
  /** Kind of a personal question, or `judged`. */
  readonly kind: string;
  /** Whether a memory of the store answers the question. */
  readonly isAnswerable: boolean;
  /** Combination of signals. */
  readonly combination: string;
  /** Number of memories that the search could find. */
  readonly admissible: number;
  readonly results: readonly SampleResult[];
}

/** A combination of signals in a final score, and how a search produces it. */
interface Combination {
  readonly name: SignalCombination;
  readonly mode: ModeName;
  readonly changes: Partial<Mode>;
}

const COMBINATIONS = SIGNAL_COMBINATIONS.map((name): Combination => {
  const [text, graph, rerank] = ["text", "graph", "rerank"].map((signal) => name.split(" ").includes(signal));
  if (rerank === true) return { name, mode: graph === true ? "precise" : "balanced", changes: {} };
  return { name, mode: text === true ? "hybrid" : "fast", changes: graph === true ? { usesGraph: true } : {} };
});
/** Number of results per question. Fewer than any mode reranks, so that either all were reranked or none. */
const RESULTS = 10;
/** Number of concurrent searches; several, so that the processes with the models never wait for the bench. */
const SEARCHES_AT_ONCE = 4;

/** A question to a store. */
interface Asking {
  readonly group: string;
  readonly store: string;
  readonly question: string;
  readonly kind: string;
  readonly text: string;
  readonly projectId: ProjectId;
  readonly userId: string | null;
  readonly filters: JsonRecord | null;
  readonly asOf: number | null;
  readonly isAnswerable: boolean;
  readonly isRelevant: (result: RankedPassage) => boolean;
}

/** Samples of the train questions of a judged collection. */
export async function collectionSamples(
  set: string,
  folder: string,
  data: string,
  queriesMax: number,
): Promise<readonly ScoreSample[]> {
  const queries = spread(await readJudgedQueries(folder, "train"), queriesMax);
  await (await serve(await collectionContent(set, folder), data)).stop(); // creates and checks the directory, then closes it
  const documentAt = await documentsAt(folder);
  await using opened = await openRetrieval(join(data, set));
  const askings = queries.map(
    ({ id, text, userId, judgements }): Asking => ({
      group: set,
      store: "collection",
      question: `${set}/${id}`,
      kind: "judged",
      text,
      projectId: opened.projectId,
      userId,
      filters: null,
      asOf: null,
      isAnswerable: true,
      isRelevant: ({ memory, place }) => judgements.has(documentAt(memory.externalId ?? memory.id, place.start)),
    }),
  );
  return await askAll(set, opened, askings);
}

/** A store with notes of one person, and the questions that are asked there. */
interface PersonalStore {
  readonly kind: string;
  readonly project: string;
  readonly person: Person;
  readonly notes: readonly Note[];
  readonly questions: readonly PersonalQuestion[];
  readonly userId: string | null;
  readonly filters: JsonRecord | null;
}

/**
 * Samples of the questions of persons in stores of several sizes: one note, five notes, all notes of the person; these
 * notes in a project that also has those of all persons; and, if there is `filler`, these notes together with it.
 * Questions are left out if they or their notes are in a language that the embedder does not support: scores are fitted
 * for the texts that a model was made for.
 * @param filler unrelated memories
 */
export async function personalSamples(
  persons: readonly Person[],
  filler: readonly JsonRecord[],
  data: string,
): Promise<readonly ScoreSample[]> {
  const own = persons.flatMap(ownStores);
  const shared = persons.flatMap((person) => sharedStores(person, filler.length));
  const names = persons.map(({ id }) => id).join("-");
  const folder = join(data, `samples-${names}-${filler.length}`);
  if (!existsSync(join(folder, "mneme.sqlite"))) await fillStores(folder, persons, own, filler);
  await using opened = await openRetrieval(folder);
  const { languages } = benchEmbedder();
  const supported = new Set(persons.flatMap((person) => questionsIn(languages, person)));
  const askings = [...own, ...shared].flatMap(({ kind, project, person, notes, questions, userId, filters }) => {
    const stored = new Set(notes.map(({ id }) => id));
    const asked = questions.filter((question) => supported.has(question));
    return asked.map((question): Asking => {
      const projectId = project === "" ? opened.projectId : opened.projects.get(project);
      if (projectId === undefined) throw new Error(`${folder} has no project ${project}; remove the folder`);
      return {
        group: person.id,
        store: kind,
        question: question.id,
        kind: question.kind,
        text: question.text,
        projectId,
        userId,
        filters,
        asOf: Date.parse(person.askedOn),
        isAnswerable: question.notes.some(({ id }) => stored.has(id)),
        isRelevant: ({ memory }) => isRight(question, memory.externalId ?? ""),
      };
    });
  });
  return await askAll("personal", opened, askings);
}

// Stores in projects of their own, because the word statistics of full-text search are those of a whole project.
function ownStores(person: Person): readonly PersonalStore[] {
  const store = (kind: string, start: number, notes: readonly Note[], questions: readonly PersonalQuestion[]) => ({
    kind,
    project: `${person.id} ${kind} ${start}`,
    person,
    notes,
    questions,
    userId: null,
    filters: null,
  });
  const small = [
    { kind: "one note", size: 1, stride: 8 },
    { kind: "five notes", size: 5, stride: 10 },
  ].flatMap(({ kind, size, stride }) =>
    starts(person.notes.length - size, stride).map((start) => {
      const notes = person.notes.slice(start, start + size);
      const ids = new Set(notes.map(({ id }) => id));
      const isAnswered = (question: PersonalQuestion) => question.notes.some(({ id }) => ids.has(id));
      const others = person.questions.filter((question) => !isAnswered(question));
      const asked = others.filter((_, at) => at % OTHERS_PER_QUESTION === (start / stride) % OTHERS_PER_QUESTION);
      return store(kind, start, notes, [...person.questions.filter(isAnswered), ...asked]);
    }),
  );
  return [...small, store("all notes", 0, person.notes, person.questions)];
}

/** One in this many of the questions that a small store does not answer is asked. */
const OTHERS_PER_QUESTION = 7;

function starts(last: number, stride: number): readonly number[] {
  return Array.from({ length: Math.floor(last / stride) + 1 }, (_, at) => at * stride);
}

// Stores within the default project, which has all notes and the unrelated memories.
function sharedStores(person: Person, filler: number): readonly PersonalStore[] {
  const common = { project: "", person, notes: person.notes, questions: person.questions };
  const among = (kind: string, owners: readonly string[]) => ({
    ...common,
    kind,
    userId: null,
    filters: { "metadata.owner": { $in: [person.id, ...owners] } },
  });
  return [
    { ...common, kind: "user among others", userId: person.id, filters: null },
    ...(filler === 0 ? [] : [among("with many others", ["many"])]),
  ];
}

async function fillStores(
  folder: string,
  persons: readonly Person[],
  stores: readonly PersonalStore[],
  filler: readonly JsonRecord[],
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await using server = await startServer({
    dataDir: folder,
    environment: { MNEME_LOG_LEVEL: "warn", MNEME_EMBEDDER: EMBEDDER_ID, MNEME_QUERY_CACHE: "off" },
  });
  const owned = persons.flatMap((person) => person.notes.map((note) => memoryOf(person, note)));
  const others = filler.map((memory) => ({
    ...memory,
    metadata: { owner: "many" },
  }));
  await ingestLines(
    server,
    [...owned, ...others].map((memory) => JSON.stringify(memory)),
  );
  for (const { project, person, notes } of stores) {
    await fillProject(
      server,
      project,
      notes.map((note) => memoryOf(person, note)),
    );
  }
}

function memoryOf(person: Person, note: Note): JsonRecord {
  return { ...memoryOfNote(person.id, note), metadata: { owner: person.id } };
}

async function fillProject(server: RunningServer, name: string, memories: readonly JsonRecord[]): Promise<void> {
  const { body } = await server.call("POST", "/v1/projects", { name, plan: "enterprise" });
  await storeAll({ url: server.url, key: isRecord(body) ? String(body.key) : "" }, memories);
}

async function askAll(
  label: string,
  opened: OpenRetrieval,
  askings: readonly Asking[],
): Promise<readonly ScoreSample[]> {
  const rerankers = wrappedRerankers(opened.parts.rerankers, (reranker) => new RememberingReranker(reranker));
  const parts = { ...opened.parts, rerankers };
  const samples: ScoreSample[] = [];
  for (const combination of COMBINATIONS) {
    const progress = new Progress(`${label}, ${combination.name}:`);
    for (let at = 0; at < askings.length; at += SEARCHES_AT_ONCE) {
      const part = askings.slice(at, at + SEARCHES_AT_ONCE);
      const found = await Promise.all(part.map((asking) => ask({ ...opened, parts }, asking, combination)));
      samples.push(...found.filter((sample) => sample !== null));
      progress.show(at / askings.length, `${at} of ${askings.length} questions`);
    }
    progress.finish(`${label}, ${combination.name}: ${askings.length} questions`);
  }
  return samples;
}

// The final scores are recovered from the calibrated ones with the inverse curve. null if the search had other signals
// than the combination, such as no graph because it found nothing, or no reranker because of the question's language.
async function ask(
  { parts }: Pick<OpenRetrieval, "parts">,
  { projectId, userId, text, filters, asOf, isRelevant, ...named }: Asking,
  { name, mode, changes }: Combination,
): Promise<ScoreSample | null> {
  const user = userId === null ? null : { id: userId, key: await parts.memories.userKey(projectId, userId) };
  const request = {
    query: text,
    mode,
    limit: RESULTS,
    scoreMin: 0,
    includeGraph: false,
    scope: { projectId, user },
    filter: filters === null ? null : parseFilter(filters),
    ...(asOf !== null && { asOf }),
  } as const;
  const ranking = await search(parts, request, changes);
  const foundBy = (signal: WeightedSignal) =>
    signal === "graph"
      ? ranking.stages.some((stage) => stage.name === "graph" && stage.candidates > 0)
      : ranking.results.some(({ signals }) => signals[signal] !== undefined);
  const expected = new Set(name.split(" "));
  if (WEIGHTED_SIGNALS.some((each) => each !== "vector" && foundBy(each) !== expected.has(each))) return null;
  const scores = ranking.results.map(({ score }) => score);
  const finals = finalScores(scores, benchEmbedder().tuning.curves[name], ranking.admissible);
  return {
    ...named,
    combination: name,
    admissible: ranking.admissible,
    results: ranking.results.map((result, at) => ({
      final: finals[at] ?? 0,
      isRelevant: isRelevant(result),
      signals: Object.fromEntries(Object.entries(result.signals).map(([of, { score }]) => [of, score])),
    })),
  };
}

/** Writes samples as JSON lines. */
export function writeSamples(path: string, samples: readonly ScoreSample[]): void {
  writeFileSync(path, samples.map((sample) => `${JSON.stringify(sample)}\n`).join(""));
}

/** Reads samples that `writeSamples` wrote. */
export function readSamples(path: string): readonly ScoreSample[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ScoreSample);
}
