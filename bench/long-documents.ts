// Compares ways to index the chunks of long documents. The ways differ in the neighbours that the context of a chunk
// includes, in the texts that title and headings are added to, and in the text that the reranker reads. The bench
// stores books, manuals and papers together and asks questions whose answer is in a known chunk. `bun
// bench/long-documents.ts --help` lists the flags.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createLanes, type Lanes } from "../src/adapters/inference/lanes.ts";
import { queryLanguage } from "../src/adapters/preparation/query-language.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { type Chunk, type ChunkTexts, indexedText } from "../src/domain/chunk.ts";
import { ChunkIds, PROJECT_SECRET_BYTES } from "../src/domain/chunk-ids.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { systemClock } from "../src/kit/clock.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { createLog } from "../src/kit/log.ts";
import type { Reranker } from "../src/ports/models.ts";
import type { RetrievalParts } from "../src/retrieval/request.ts";
import { search } from "../src/retrieval/search.ts";
import { CachingReranker } from "./lib/caching-reranker.ts";
import {
  type ChunkedDocument,
  chunkedDocuments,
  type IndexVariant,
  openVariant,
  PROJECT,
  rowsOf,
} from "./lib/index-variant.ts";
import { pairedDifference } from "./lib/intervals.ts";
import {
  chunksWithEvidence,
  type LongDocumentQuestion,
  longDocumentQuestions,
  longDocuments,
} from "./lib/long-documents.ts";
import { type Judgements, mean, ndcgAt, recallAt, reciprocalRank } from "./lib/metrics.ts";
import { benchEmbedder, EMBEDDER_ID, MODELS_DIR } from "./lib/models.ts";
import { lastRows, type Row, sameRow, writeRows } from "./lib/record.ts";
import { rounded, signed } from "./lib/scores.ts";

const SHARED = resolve(import.meta.dir, "../../shared/data");
const HELP = `bun bench/long-documents.ts [flags]
  --data FOLDER      cache the models' results here for the next run
  --from FOLDER      folder with documents/ and scale/ (${SHARED})
  --variants NAMES   by comma; the shipped variant is always included (all)
  --modes NAMES      by comma (${MODE_NAMES.join(",")})
  --record           write bench/results/long-documents.json

Every third question is in the split dev, which is used to choose a variant; the others are in test. Changes are differences of
nDCG@10 to the shipped variant, with the 95 % interval of a paired bootstrap.`;

/** Name of the variant that Mneme uses, as recorded results contain it. */
const SHIPPED = "kept";
const PASSAGE_BREAK = "\n\n";

/** Choices of a variant: how it builds the texts of a chunk. */
interface Choices {
  readonly embedsTitle: boolean;
  readonly embedsHeadings: boolean;
  readonly indexesTitle: boolean;
  readonly indexesHeadings: boolean;
  /** Number of chunks before, and behind, a chunk that its context includes; 0 means no context. */
  readonly neighbours: number;
  /** Whether a context ends where the headings change. */
  readonly staysInSection: boolean;
  readonly neighbourWeight: number;
  /** Whether the reranker reads the title before the passage. */
  readonly reranksTitle: boolean;
  readonly reranksHeadings: boolean;
}

const SHIPPED_CHOICES: Choices = {
  embedsTitle: true,
  embedsHeadings: false,
  indexesTitle: true,
  indexesHeadings: true,
  neighbours: 1,
  staysInSection: false,
  neighbourWeight: 0,
  reranksTitle: false,
  reranksHeadings: false,
};

/** Most variants change one choice of the shipped variant. */
const VARIANTS: Readonly<Record<string, Partial<Choices>>> = {
  [SHIPPED]: {},
  "no context": { neighbours: 0 },
  "context of 2": { neighbours: 2 },
  "context of 1 in section": { staysInSection: true },
  "context of 2 in section": { neighbours: 2, staysInSection: true },
  "passage alone embedded": { embedsTitle: false },
  "headings embedded": { embedsHeadings: true },
  "headings in the place of the title embedded": { embedsTitle: false, embedsHeadings: true },
  "title not in full text": { indexesTitle: false },
  "headings not in full text": { indexesHeadings: false },
  "passage alone in full text": { indexesTitle: false, indexesHeadings: false },
  "reranked with title": { reranksTitle: true },
  "reranked with headings": { reranksHeadings: true },
  "reranked with title and headings": { reranksTitle: true, reranksHeadings: true },
  "vectors smoothed by .1": { neighbourWeight: 0.1 },
  "vectors smoothed by .2": { neighbourWeight: 0.2 },
};

/** A question with the chunks that answer it. */
interface JudgedQuestion extends LongDocumentQuestion {
  readonly judgements: Judgements;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--data": "value",
    "--from": "value",
    "--variants": "value",
    "--modes": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const variants = variantsNamed(flags.get("--variants"));
  const modes = modesNamed(flags.get("--modes"));
  const data = flags.get("--data") ?? mkdtempSync(join(tmpdir(), "mneme-long-documents-"));
  const from = resolve(flags.get("--from") ?? SHARED);
  const models = await createLanes({ modelsDir: MODELS_DIR, embedder: EMBEDDER_ID, log: createLog("warn") });
  try {
    const documents = chunkedDocuments(await longDocuments(from));
    await models.ready();
    const rows = await measure(models, documents, variants, modes, data);
    print(rows, lastRows("long-documents"));
    if (flags.has("--record")) process.stdout.write(`written to ${writeRows("long-documents", rows)}\n`);
  } finally {
    await models.close();
    if (!flags.has("--data")) rmSync(data, { recursive: true, force: true });
  }
}

function variantsNamed(names: string | undefined): readonly string[] {
  if (names === undefined) return Object.keys(VARIANTS);
  const unknown = names.split(",").find((name) => !(name in VARIANTS));
  if (unknown !== undefined) throw new UsageError(`There is no variant '${unknown}'.`);
  return [...new Set([SHIPPED, ...names.split(",")])];
}

function modesNamed(names: string | undefined): readonly ModeName[] {
  const wanted = names?.split(",");
  const modes = MODE_NAMES.filter((mode) => wanted === undefined || wanted.includes(mode));
  if (modes.length !== (wanted ?? modes).length) throw new UsageError(`Modes are ${MODE_NAMES.join(", ")}.`);
  return modes;
}

async function measure(
  models: Lanes,
  documents: readonly ChunkedDocument[],
  variants: readonly string[],
  modes: readonly ModeName[],
  folder: string,
): Promise<readonly Row[]> {
  const chunks = documents.reduce((sum, document) => sum + document.chunks.length, 0);
  process.stderr.write(`${documents.length} documents, ${chunks} chunks\n`);
  checkShipped(documents);
  const questions = judge(await longDocumentQuestions(), documents);
  const embedder = models.embedders.default;
  const shipped = models.rerankers.for(embedder);
  if (shipped === null) throw new Error(`${embedder.id} has no reranker`);
  const reranker = new CachingReranker(shipped, join(folder, `reranked-${benchEmbedder().reranker}.json`));
  const rankings = new Map<string, ReadonlyMap<ModeName, readonly (readonly string[])[]>>();
  for (const name of variants) {
    const choices = { ...SHIPPED_CHOICES, ...VARIANTS[name] };
    await using variant = await openVariant(embedder, documents, indexVariant(choices), folder);
    const parts = {
      index: variant.index,
      memories: rowsOf(documents),
      accounts: { chunkIds: () => new ChunkIds(new Uint8Array(PROJECT_SECRET_BYTES)) },
      embedders: models.embedders,
      rerankers: { for: () => withPrefixes(reranker, documents, choices) },
      languageOf: queryLanguage,
      clock: systemClock,
      rerankDeadlineMs: Number.POSITIVE_INFINITY,
    };
    rankings.set(name, await ask(name, parts, modes, questions));
    reranker.save();
  }
  return scoreRows(questions, rankings, modes);
}

/** @throws Error if `SHIPPED_CHOICES` no longer leads to the texts that ingestion builds for chunks. */
function checkShipped(documents: readonly ChunkedDocument[]): void {
  const { textsOf } = indexVariant(SHIPPED_CHOICES);
  for (const document of documents) {
    const built = textsOf(document);
    for (const chunk of document.chunks) {
      const isSame = (["passage", "embeddedText", "searchText", "contextText"] as const).every((text) => {
        return built[text](chunk) === document.texts[text](chunk);
      });
      if (!isSame)
        throw new Error(`ingest makes other texts of chunk ${chunk.ordinal} of ${document.memory.externalId}`);
    }
  }
}

/**
 * Adds to each question the chunks that answer it.
 * @throws Error if a document does not contain the evidence of a question
 */
function judge(
  questions: readonly LongDocumentQuestion[],
  documents: readonly ChunkedDocument[],
): readonly JudgedQuestion[] {
  const byName = new Map(documents.map((document) => [document.memory.externalId, document]));
  return questions.map((question) => {
    const document = byName.get(question.document);
    if (document === undefined) throw new Error(`${question.document} is not stored`);
    const answers = chunksWithEvidence(question.evidence, document.content, document.chunks);
    return { ...question, judgements: new Map(answers.map((ordinal) => [`${question.document} ${ordinal}`, 1])) };
  });
}

function indexVariant(choices: Choices): IndexVariant {
  return { textsOf: (document) => variantTexts(document, choices), neighbourWeight: choices.neighbourWeight };
}

function variantTexts(document: ChunkedDocument, choices: Choices): ChunkTexts {
  const { cut, texts } = document;
  const prefixOf = ({ ordinal }: Chunk, hasTitle: boolean, hasHeadings: boolean) => {
    const range = cut.ranges[ordinal];
    if (range === undefined) throw new Error(`there is no chunk ${ordinal}`);
    return (hasTitle && range.hasTitle ? cut.titlePrefix : "") + (hasHeadings ? range.section.prefix : "");
  };
  const searchPrefixOf = (chunk: Chunk) => prefixOf(chunk, choices.indexesTitle, choices.indexesHeadings);
  return {
    passage: (chunk) => texts.passage(chunk),
    embeddedText: (chunk) => prefixOf(chunk, choices.embedsTitle, choices.embedsHeadings) + texts.passage(chunk),
    searchText: (chunk) => searchPrefixOf(chunk) + texts.passage(chunk),
    contextText: (chunk) => contextOf(document, chunk.ordinal, choices, searchPrefixOf(chunk)),
  };
}

// Builds the context text of a chunk. A document with one chunk has no context in any variant.
function contextOf(
  { chunks, texts }: ChunkedDocument,
  ordinal: number,
  { neighbours, staysInSection }: Choices,
  lead: string,
): string | null {
  if (chunks.length === 1 || neighbours === 0) return null;
  const sectionOf = (at: number) => JSON.stringify(chunks[at]?.headings);
  const around = chunks.slice(Math.max(0, ordinal - neighbours), ordinal + neighbours + 1).filter((chunk) => {
    return !staysInSection || sectionOf(chunk.ordinal) === sectionOf(ordinal);
  });
  return around.length === 1 ? null : lead + around.map((chunk) => texts.passage(chunk)).join(PASSAGE_BREAK);
}

// For a document with several chunks, the reranker reads passages without title and headings. This adds them if the
// variant requires it.
function withPrefixes(
  inner: Reranker,
  documents: readonly ChunkedDocument[],
  { reranksTitle, reranksHeadings }: Choices,
): Reranker {
  if (!reranksTitle && !reranksHeadings) return inner;
  // A passage that occurs more than once gets the prefix of its last occurrence.
  const prefixed = new Map(
    documents.flatMap(({ memory: { title }, chunks, texts }) =>
      chunks.map((chunk) => {
        const passage = texts.passage(chunk);
        const headings = reranksHeadings ? chunk.headings : [];
        return [passage, indexedText(reranksTitle ? title : null, headings, passage)] as const;
      }),
    ),
  );
  return {
    languages: inner.languages,
    score: (query, texts, options) => {
      const read = texts.map((text) => prefixed.get(text) ?? text);
      return inner.score(query, read, options);
    },
  };
}

async function ask(
  name: string,
  parts: RetrievalParts,
  modes: readonly ModeName[],
  questions: readonly JudgedQuestion[],
): Promise<ReadonlyMap<ModeName, readonly (readonly string[])[]>> {
  const rankings = new Map<ModeName, (readonly string[])[]>();
  for (const mode of modes) {
    const progress = new Progress(`${name}, ${mode}:`);
    const results: (readonly string[])[] = [];
    for (const [at, { text }] of questions.entries()) {
      progress.show(at / questions.length, `${at} of ${questions.length} questions`);
      const request = {
        query: text,
        mode,
        limit: LIMITS.searchResults,
        scoreMin: 0,
        includeGraph: false,
        scope: { projectId: PROJECT, user: null },
        filter: null,
      } as const;
      const { results: hits } = await search(parts, request);
      results.push(hits.map(({ memory, place }) => `${memory.externalId} ${place.ordinal}`));
    }
    progress.finish(`${name}, ${mode}: ${questions.length} questions`);
    rankings.set(mode, results);
  }
  return rankings;
}

function scoreRows(
  questions: readonly JudgedQuestion[],
  rankings: ReadonlyMap<string, ReadonlyMap<ModeName, readonly (readonly string[])[]>>,
  modes: readonly ModeName[],
): readonly Row[] {
  return modes.flatMap((mode) =>
    (["dev", "test"] as const).flatMap((split) => {
      const each = (variant: string, score: (ranking: readonly string[], judgements: Judgements) => number) => {
        const ranked = rankings.get(variant)?.get(mode) ?? [];
        return questions.flatMap(({ split: its, judgements }, at) =>
          its === split ? [score(ranked[at] ?? [], judgements)] : [],
        );
      };
      const gains = (variant: string) => each(variant, (ranking, judgements) => ndcgAt(10, ranking, judgements));
      const recall = (variant: string, depth: number) =>
        rounded(mean(each(variant, (ranking, judgements) => recallAt(depth, ranking, judgements))), 4);
      return [...rankings.keys()].map((variant) => {
        const change = pairedDifference(gains(variant), gains(SHIPPED));
        return {
          mode,
          split,
          variant,
          questions: gains(variant).length,
          "nDCG@10": rounded(mean(gains(variant)), 4),
          "R@1": recall(variant, 1),
          "R@5": recall(variant, 5),
          "R@10": recall(variant, 10),
          MRR: rounded(mean(each(variant, reciprocalRank)), 4),
          change: rounded(change.mean, 4),
          changeLow: rounded(change.low, 4),
          changeHigh: rounded(change.high, 4),
        };
      });
    }),
  );
}

function print(rows: readonly Row[], before: readonly Row[]): void {
  const columns = ["nDCG@10", "R@1", "R@5", "R@10", "MRR"];
  const body = rows.map((row) => {
    const last = sameRow(before, row, ["mode", "split", "variant", "questions"]);
    const change = `${signed(Number(row.change))} (${signed(Number(row.changeLow))} to ${signed(Number(row.changeHigh))})`;
    return [
      String(row.mode),
      String(row.split),
      String(row.variant),
      String(row.questions),
      ...columns.map((column) => Number(row[column]).toFixed(4)),
      row.variant === SHIPPED ? "" : change,
      last === undefined ? "" : signed(Number(row["nDCG@10"]) - Number(last["nDCG@10"]), 4),
    ];
  });
  const header = ["mode", "split", "indexing", "questions", ...columns, "change of nDCG@10", "since last run"];
  process.stdout.write(`${alignRows([header, ...body], true).join("\n")}\n`);
}

await main();
