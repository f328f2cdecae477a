// Measures the quality of extracted attributes. Prepares passages without their known titles, and counts how often the
// extracted title and tags share a content word with the known title. Also counts the sentences whose language is
// detected correctly. `bun bench/extraction.ts --help` lists the flags.

import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { readLines } from "../src/kit/lines.ts";
import { stopWordsOf } from "../src/kit/stop-words.ts";
import { detectLanguage } from "../src/preparation/language.ts";
import { prepare } from "../src/preparation/prepare.ts";
import { SENTENCES, UNDETERMINED_TEXTS } from "../test/preparation/fixtures/languages.ts";
import { seeded } from "../test/support/seeded.ts";
import { COLLECTIONS, collectionsFolder, corpusFile } from "./lib/collection.ts";
import { mean } from "./lib/metrics.ts";
import { benchTokenizer } from "./lib/models.ts";
import { type Row, writeRows } from "./lib/record.ts";

const HELP = `bun bench/extraction.ts [flags]
  --set NAMES    collections of English texts with titles, by comma (scifact,hotpotqa,2wikimultihop,cranfield)
  --from FOLDER  folder of the collections (${COLLECTIONS})
  --passages N   total number of passages, the same from each collection (200)
  --seed N       seed of the random choice of passages (1)
  --show         print each title and its tags
  --record       write bench/results/extraction.json`;

interface Passage {
  readonly title: string;
  readonly text: string;
}

/** The extracted attributes of a passage. */
interface ExtractedAttributes {
  readonly title: string;
  readonly tags: readonly string[];
  readonly language: string;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--set": "value",
    "--from": "value",
    "--passages": "value",
    "--seed": "value",
    "--show": "switch",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const from = collectionsFolder(flags.get("--from"));
  const sets = (flags.get("--set") ?? "scifact,hotpotqa,2wikimultihop,cranfield").split(",");
  const count = Math.ceil(Number(flags.get("--passages") ?? 200) / sets.length);
  const next = seeded(Number(flags.get("--seed") ?? 1));

  const tokenizer = benchTokenizer();
  const extract = ({ text }: Passage): ExtractedAttributes => {
    const input = { content: text, title: null, type: null, tags: null, language: null, date: null, createdAt: null };
    const { extracted } = prepare(input, { countTokens: (part) => tokenizer.count(part) });
    return { ...extracted, title: extracted.title ?? "" };
  };

  const all: (readonly [Passage, ExtractedAttributes])[] = [];
  const rows: Row[] = [];
  for (const set of sets) {
    const passages = randomSample(await titledPassages(corpusFile(join(from, set))), count, next);
    const pairs = passages.map((passage) => [passage, extract(passage)] as const);
    if (flags.has("--show")) for (const pair of pairs) show(...pair);
    rows.push(attributesRow(set, pairs));
    all.push(...pairs);
  }
  rows.push(attributesRow("all", all));
  printAttributes(rows);

  const languages = [
    ...Object.entries(SENTENCES).map(([language, sentences]) => languageRow(language, sentences)),
    languageRow("und", UNDETERMINED_TEXTS),
  ];
  printLanguages(languages);
  if (flags.has("--record")) {
    process.stdout.write(`written to ${writeRows("extraction", [...rows, ...languages])}\n`);
  }
}

/** All passages of a corpus that have a title and a text. */
async function titledPassages(file: string): Promise<readonly Passage[]> {
  const passages: Passage[] = [];
  for await (const line of readLines(file)) {
    const { title = "", text = "" } = JSON.parse(line.text) as Partial<Passage>;
    if (contentWords(title).size > 0 && text.trim() !== "") passages.push({ title, text });
  }
  return passages;
}

/** Draws `count` different passages at random, without replacement. */
function randomSample(passages: readonly Passage[], count: number, next: () => number): readonly Passage[] {
  const left = [...passages];
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const at = Math.floor(next() * left.length);
    const [passage] = left.splice(at, 1);
    return passage as Passage;
  });
}

function attributesRow(set: string, pairs: readonly (readonly [Passage, ExtractedAttributes])[]): Row {
  const share = (test: (passage: Passage, extracted: ExtractedAttributes) => boolean) =>
    rounded(mean(pairs.map(([passage, extracted]) => (test(passage, extracted) ? 1 : 0))), 3);
  return {
    set,
    passages: pairs.length,
    titleShare: share((passage, { title }) => sharesWord(passage.title, title)),
    titleCutShare: share((_, { title }) => title.endsWith("…")),
    titleCharacters: rounded(mean(pairs.map(([, { title }]) => [...title].length)), 1),
    tagsShare: share((passage, { tags }) => sharesWord(passage.title, tags.join(" "))),
    tags: rounded(mean(pairs.map(([, { tags }]) => tags.length)), 2),
    tagDuplicates: pairs.reduce((sum, [, { tags }]) => sum + duplicatesAmong(tags), 0),
    englishShare: share((_, { language }) => language === "en"),
  };
}

function languageRow(language: string, sentences: readonly string[]): Row {
  const wrong = sentences.map(detectLanguage).filter((detected) => detected !== language);
  return {
    language,
    sentences: sentences.length,
    rightShare: rounded(1 - wrong.length / sentences.length, 3),
    takenFor: [...new Set(wrong)].sort().join(" "),
  };
}

function sharesWord(known: string, extracted: string): boolean {
  const words = contentWords(extracted);
  return [...contentWords(known)].some((word) => words.has(word));
}

/**
 * The words of at least three letters or digits that are not stop words, in lower case, with plurals changed to
 * singulars.
 */
function contentWords(text: string): ReadonlySet<string> {
  const stopWords = stopWordsOf("en");
  const words = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  return new Set(words.filter((word) => !stopWords.has(word)).map(singular));
}

function singular(word: string): string {
  return word.length > 4 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

/** Number of pairs of tags in which one tag contains all words of the other. */
function duplicatesAmong(tags: readonly string[]): number {
  const words = tags.map((tag) => new Set((tag.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(singular)));
  let duplicates = 0;
  for (const [at, one] of words.entries()) {
    for (const other of words.slice(at + 1)) if (one.isSubsetOf(other) || other.isSubsetOf(one)) duplicates++;
  }
  return duplicates;
}

function show({ title }: Passage, extracted: ExtractedAttributes): void {
  const tags = extracted.tags.join(" ");
  const marks = [extracted.title, tags].map((text) => (sharesWord(title, text) ? "+" : "-"));
  process.stdout.write(`${marks.join("")} ${title}\n   ${extracted.title}\n   ${extracted.tags.join(" | ")}\n`);
}

function printAttributes(rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const body = rows.map((row) => columns.map((column) => String(row[column])));
  process.stdout.write(`${alignRows([columns, ...body], true).join("\n")}\n\n`);
}

function printLanguages(rows: readonly Row[]): void {
  const known = rows.filter(({ language }) => language !== "und");
  const sentences = known.reduce((sum, row) => sum + Number(row.sentences), 0);
  const right = known.reduce((sum, row) => sum + Number(row.sentences) * Number(row.rightShare), 0);
  const body = rows.map((row) => [
    String(row.language),
    String(row.sentences),
    Number(row.rightShare).toFixed(3),
    String(row.takenFor),
  ]);
  const header = ["language", "sentences", "correct", "confused with"];
  process.stdout.write(`${alignRows([header, ...body], true).join("\n")}\n`);
  process.stdout.write(`${known.length} languages: ${(right / sentences).toFixed(3)} correct\n`);
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

await main();
