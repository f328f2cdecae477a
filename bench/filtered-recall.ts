// Recall of filtered search, and results that the filter should have excluded. It searches many passages with filters
// that admit all, a tenth, a hundredth and a thousandth of them. It compares the results with an exact computation of
// all cosines, and counts results outside the filter. `bun bench/filtered-recall.ts --help` lists the flags.
//
// The bench determines the passages that a filter admits from the passages' file and not with the engine. There are
// three kinds of filters: unrelated to the question (a position in any book), admitting its source (the book that the
// question is from), or excluding its source (another book).

import { resolve } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import type { MemoryKey } from "../src/domain/ids.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { readLines } from "../src/kit/lines.ts";
import { isRecord } from "../src/kit/record.ts";
import { seeded } from "../test/support/seeded.ts";
import { ask, type Search, type SearchReply } from "./lib/ask.ts";
import { PASSAGES_FILE, passagesContent } from "./lib/haystack.ts";
import { mean, percentile } from "./lib/metrics.ts";
import { type OpenRetrieval, openRetrieval } from "./lib/open-retrieval.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { rounded } from "./lib/scores.ts";
import { memoryNames, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/filtered-recall.ts --data FOLDER [flags]

Measures recall@10 under filters against exact search, counts results outside the filter, and times filter and vector stage.

  --data FOLDER    folder of data directories, shared with bench/search.ts and bench/haystack.ts; a missing one is filled
  --passages FILE  book passages, BEIR format with metadata.book and metadata.n, the position in the book
                   (default: ${PASSAGES_FILE})
  --count N        use only the first N passages
  --questions N    number of questions, which are sentences of passages (default: 150); a tenth of them also run in balanced
                   and precise
  --seed N         seed for questions and filters (default: 1)
  --record         write bench/results/filtered-recall.json`;

const SHARES = [0.1, 0.01, 0.001];
const DEPTH = 10;
/** Minimum and maximum number of words of a question. */
const WORDS = { min: 8, max: 30 };
/**
 * Every n-th question runs in all modes, the others only in fast, because a search with reranking takes fifty times as
 * long.
 */
const ALL_MODES_EVERY = 10;
/** Number of chunks per call when all cosines are computed. */
const CHUNKS_PER_CALL = 20_000;

/** A passage of the file. */
interface BookPassage {
  readonly externalId: string;
  readonly text: string;
  readonly book: string;
  /** Position of the passage in its book, from 0. */
  readonly place: number;
}

/** A filter in two forms: one for the request, and a predicate for the passages of the file. */
interface Filter {
  readonly kind: "none" | "any place" | "own book" | "other book";
  readonly share: number;
  readonly asked: NonNullable<Search["within"]>;
  readonly admits: (passage: BookPassage) => boolean;
}

interface Answer {
  readonly filter: Filter;
  readonly mode: ModeName;
  readonly question: number;
  readonly asked: SearchReply;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--data": "value",
    "--passages": "value",
    "--count": "value",
    "--questions": "value",
    "--seed": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const data = flags.get("--data");
  if (data === undefined) throw new UsageError("Give a folder with --data.");
  const file = flags.get("--passages") ?? PASSAGES_FILE;
  const holding = await passagesContent(file, Number(flags.get("--count") ?? Number.POSITIVE_INFINITY));
  const passages = (await passagesOf(file)).filter(({ externalId }) => holding.externalIds.has(externalId));
  const chance = seeded(Number(flags.get("--seed") ?? 1));
  const asked = drawQuestions(passages, Number(flags.get("--questions") ?? 150), chance);
  const counts = countPassages(passages);
  const filters = asked.map(({ passage }) => filtersFor(passage, counts, chance));

  const answers = await askAll(holding, data, asked, filters);
  const passageById = new Map(passages.map((passage) => [passage.externalId, passage]));
  const nearest = await exactSearch(resolve(data, holding.directory), passageById, asked, filters);
  const rows = rowsOf(answers, passageById, nearest);
  print(rows);
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("filtered-recall", rows)}\n`);
}

async function passagesOf(file: string): Promise<readonly BookPassage[]> {
  const passages: BookPassage[] = [];
  for await (const { text } of readLines(file)) {
    const line: unknown = JSON.parse(text);
    const metadata = isRecord(line) && isRecord(line.metadata) ? line.metadata : {};
    if (!isRecord(line) || typeof metadata.book !== "string" || typeof metadata.n !== "number") {
      throw new UsageError(`${file}: passages need metadata.book and metadata.n`);
    }
    passages.push({
      externalId: String(line._id),
      text: String(line.text),
      book: metadata.book,
      place: metadata.n,
    });
  }
  return passages;
}

interface Question {
  readonly text: string;
  /** The passage that contains the question. */
  readonly passage: BookPassage;
}

function drawQuestions(passages: readonly BookPassage[], count: number, chance: () => number): readonly Question[] {
  const questions: Question[] = [];
  while (questions.length < count) {
    const passage = drawn(passages, chance);
    const text = passage.text.split(/(?<=[.!?])\s+/).find((sentence) => {
      const words = sentence.split(/\s+/).length;
      return words >= WORDS.min && words <= WORDS.max;
    });
    if (text !== undefined) questions.push({ text, passage });
  }
  return questions;
}

/** All passages, with the number of passages at each position and in each book. */
interface PassageCounts {
  readonly passages: readonly BookPassage[];
  readonly atPlace: ReadonlyMap<number, number>;
  readonly inBook: ReadonlyMap<string, number>;
}

function countPassages(passages: readonly BookPassage[]): PassageCounts {
  const atPlace = new Map<number, number>();
  const inBook = new Map<string, number>();
  for (const { place, book } of passages) {
    atPlace.set(place, (atPlace.get(place) ?? 0) + 1);
    inBook.set(book, (inBook.get(book) ?? 0) + 1);
  }
  return { passages, atPlace, inBook };
}

function filtersFor(passage: BookPassage, counts: PassageCounts, chance: () => number): readonly Filter[] {
  const other = () => {
    for (;;) {
      const found = drawn(counts.passages, chance);
      if (found.book !== passage.book) return found;
    }
  };
  return [
    { kind: "none", share: 1, asked: {}, admits: () => true },
    ...SHARES.flatMap((share): Filter[] => [
      { kind: "any place", share, ...placesOf(counts, share, chance) },
      { kind: "own book", share, ...booksAround(passage, counts, share, chance) },
      { kind: "other book", share, ...booksAround(other(), counts, share, chance) },
    ]),
  ];
}

type FilterForms = Pick<Filter, "asked" | "admits">;

/** A filter for a range of positions in every book that admits the given share of all passages. */
function placesOf({ passages, atPlace }: PassageCounts, share: number, chance: () => number): FilterForms {
  const wanted = share * passages.length;
  let first = Math.floor(chance() * 200);
  let end = first;
  let found = 0;
  while (found < wanted) {
    // If the range reaches the end of the longest book, it grows at its beginning.
    if (atPlace.has(end)) found += atPlace.get(end++) ?? 0;
    else found += atPlace.get(--first) ?? 0;
  }
  const asked = { filters: { "metadata.n": { $gte: first, $lt: end } } };
  return { asked, admits: ({ place }) => place >= first && place < end };
}

/**
 * A filter for the passages around a given one in its book, or for several whole books if the book has too few
 * passages.
 */
function booksAround(
  passage: BookPassage,
  { passages, inBook }: PassageCounts,
  share: number,
  chance: () => number,
): FilterForms {
  const wanted = Math.round(share * passages.length);
  const books = new Set([passage.book]);
  let found = inBook.get(passage.book) ?? 0;
  if (found > wanted) {
    const first = passage.place - Math.floor(wanted / 2);
    const end = first + wanted;
    const asked = { filters: { "metadata.book": passage.book, "metadata.n": { $gte: first, $lt: end } } };
    return { asked, admits: ({ book, place }) => book === passage.book && place >= first && place < end };
  }
  while (found < wanted) {
    const { book } = drawn(passages, chance);
    if (!books.has(book)) found += inBook.get(book) ?? 0;
    books.add(book);
  }
  return { asked: { filters: { "metadata.book": { $in: [...books] } } }, admits: ({ book }) => books.has(book) };
}

function drawn<Item>(items: readonly Item[], chance: () => number): Item {
  const item = items[Math.floor(chance() * items.length)];
  if (item === undefined) throw new UsageError("There are no passages.");
  return item;
}

async function askAll(
  holding: Awaited<ReturnType<typeof passagesContent>>,
  data: string,
  questions: readonly Question[],
  filters: readonly (readonly Filter[])[],
): Promise<readonly Answer[]> {
  await using server = await serve(holding, data);
  const client = new Client(server.url, server.key);
  const documentOf = await memoryNames(client);
  const progress = new Progress("asking:");
  const answers: Answer[] = [];
  for (const [at, { text }] of questions.entries()) {
    progress.show(at / questions.length, `${at} of ${questions.length} questions`);
    const modes = at % ALL_MODES_EVERY === 0 ? MODE_NAMES : (["fast"] as const);
    for (const filter of filters[at] ?? []) {
      for (const mode of modes) {
        const search = { query: text, mode, limit: LIMITS.searchResults, within: filter.asked };
        answers.push({ filter, mode, question: at, asked: await ask(client, search, documentOf) });
      }
    }
  }
  progress.finish(`${answers.length} searches`);
  return answers;
}

/**
 * Exact search: finds the passages with the highest cosine within each filter. It computes all cosines, and uses the
 * passages' file to decide which passages a filter admits.
 * @returns for each question, the document names by filter
 */
async function exactSearch(
  dataDir: string,
  passages: ReadonlyMap<string, BookPassage>,
  questions: readonly Question[],
  filters: readonly (readonly Filter[])[],
): Promise<readonly ReadonlyMap<Filter, ReadonlySet<string>>[]> {
  await using opened = await openRetrieval(dataDir);
  const { parts, archive, projectId } = opened;
  const embedder = parts.embedders.default;
  const index = await parts.index.project(projectId);
  const { chunkKeys, memoryKeys } = await archive.chunkKeys(projectId);
  const passageOfChunk = await passagesOfMemories(
    opened,
    Array.from(memoryKeys, (key) => key as MemoryKey),
    passages,
  );
  const progress = new Progress("computing cosines:");
  const nearest: ReadonlyMap<Filter, ReadonlySet<string>>[] = [];
  for (const [at, { text }] of questions.entries()) {
    progress.show(at / questions.length, `${at} of ${questions.length} questions`);
    const vector = await embedder.embed([text], { purpose: "query", priority: "query" });
    const cosines = new Float32Array(chunkKeys.length);
    for (let first = 0; first < chunkKeys.length; first += CHUNKS_PER_CALL) {
      const end = first + CHUNKS_PER_CALL;
      const part = { chunkKeys: chunkKeys.slice(first, end), memoryKeys: memoryKeys.slice(first, end) };
      cosines.set(await index.scoreVectors(embedder.fingerprint, vector, part), first);
    }
    const order = [...cosines.keys()].sort((left, right) => (cosines[right] ?? 0) - (cosines[left] ?? 0));
    nearest.push(new Map((filters[at] ?? []).map((filter) => [filter, bestWithin(filter, order, passageOfChunk)])));
  }
  progress.finish(`${questions.length} questions, ${chunkKeys.length} cosines each`);
  return nearest;
}

async function passagesOfMemories(
  { parts, projectId }: OpenRetrieval,
  memoryKeys: readonly MemoryKey[],
  passages: ReadonlyMap<string, BookPassage>,
): Promise<readonly (BookPassage | undefined)[]> {
  const memories = await parts.memories.getMany(projectId, [...new Set(memoryKeys)]);
  return memoryKeys.map((key) => passages.get(memories.get(key)?.externalId ?? ""));
}

function bestWithin(
  filter: Filter,
  order: readonly number[],
  passageOfChunk: readonly (BookPassage | undefined)[],
): ReadonlySet<string> {
  const best = new Set<string>();
  for (const chunk of order) {
    const passage = passageOfChunk[chunk];
    if (passage !== undefined && filter.admits(passage)) best.add(passage.externalId);
    if (best.size === DEPTH) break;
  }
  return best;
}

function rowsOf(
  answers: readonly Answer[],
  passages: ReadonlyMap<string, BookPassage>,
  nearest: readonly ReadonlyMap<Filter, ReadonlySet<string>>[],
): readonly Row[] {
  const groups = Map.groupBy(answers, ({ mode, filter }) => `${mode} ${filter.kind} ${filter.share}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const found = group.map(({ asked }) => asked.passages.length);
    const outside = group.map(({ asked, filter }) => {
      return asked.passages.filter(({ document }) => {
        const passage = passages.get(document);
        return passage === undefined || !filter.admits(passage);
      }).length;
    });
    const stageMs = (name: string) => {
      return group.map(({ asked }) => asked.stages.find((stage) => stage.name === name)?.ms ?? 0);
    };
    return {
      mode: first.mode,
      filter: first.filter.kind,
      share: first.filter.share,
      questions: group.length,
      admissible: Math.round(mean(group.map(({ asked }) => asked.admissible))),
      // Recall is measured in fast only, because its results are exactly those of vector search.
      ...(first.mode === "fast" && {
        recallAt10: rounded(
          mean(group.map((answer) => recall(answer, nearest[answer.question]?.get(answer.filter)))),
          4,
        ),
      }),
      results: total(found),
      outside: total(outside),
      filterP50Ms: rounded(percentile(0.5, stageMs("filter")), 2),
      vectorP50Ms: rounded(percentile(0.5, stageMs("vector")), 2),
    };
  });
}

// Recall of the results, which are first sorted by cosine again, because their scores include the sibling boost.
function recall({ asked }: Answer, expected: ReadonlySet<string> | undefined): number {
  if (expected === undefined || expected.size === 0) return 1;
  const byCosine = [...asked.passages].sort((left, right) => (right.vector?.score ?? -1) - (left.vector?.score ?? -1));
  const best = [...new Set(byCosine.map(({ document }) => document))].slice(0, DEPTH);
  return best.filter((document) => expected.has(document)).length / expected.size;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function print(rows: readonly Row[]): void {
  const heads = ["mode", "filter", "share", "questions", "admissible", "recallAt10", "results", "outside"];
  const times = ["filterP50Ms", "vectorP50Ms"];
  const cells = rows.map((row) => [...heads, ...times].map((head) => String(row[head] ?? "")));
  const labels = [...heads.slice(0, 5), "R@10", "results", "outside", "filter p50 ms", "vector p50 ms"];
  process.stdout.write(`${alignRows([labels, ...cells], true).join("\n")}\n`);
  const results = total(rows.map(({ results: found }) => Number(found)));
  const outside = total(rows.map((row) => Number(row.outside)));
  process.stdout.write(`\n${outside} of ${results} results were outside their filter\n`);
}

await main();
