// How well evidence (docs/glossary.md) tells whether memories answer a question: invented persons' questions, asked in
// their own memories and in those of others. The flag --help lists all flags.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evidenceOf, evidenceThreshold, fitEvidence, NOTHING_FOUND } from "../src/calibration/fit-evidence.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import type { ModeName } from "../src/domain/ranking.ts";
import { type EvidenceSigns, evidenceSigns } from "../src/retrieval/evidence.ts";
import { search } from "../src/retrieval/search.ts";
import { specificsOf } from "../src/retrieval/specifics.ts";
import { mean } from "./lib/metrics.ts";
import { modesOf } from "./lib/modes.ts";
import { type OpenRetrieval, openRetrieval } from "./lib/open-retrieval.ts";
import {
  everyoneIn,
  FITTING_PERSONS,
  HALVES,
  type Person,
  type PersonalQuestion,
  personalContent,
  readPersons,
} from "./lib/personal.ts";
import { runMain } from "./lib/run-main.ts";
import { areaUnderRoc } from "./lib/score-metrics.ts";
import { shortFigure } from "./lib/scores.ts";
import { serve } from "./lib/served-collection.ts";

const HELP = `bun bench/evidence.ts [flags]

Asks the questions of invented persons in their own memories and in those of others, where nothing answers them. Prints,
by kind of question, how the evidence separates them from answerable ones, and how many are refused.

  --half NAME    dev (may choose weights), test (only for figures that are reported; default) or first (${FITTING_PERSONS})
  --mode NAMES   modes, separated by commas (default: balanced)
  --no-reader    without the reader, as with an embedder that has none
  --data FOLDER  keep the data directory here, so that the next run needs no ingest
  --fit          fit the curve and the threshold on these questions and print them (not with test)
  --dump FILE    write one JSON line per question`;

/** Number of other persons in whose memories each question is asked. */
const OTHERS = 3;
const RESULTS = 10;
/** Passages per dumped question. */
const SHOWN = 5;
/** A question with what the search said about evidence. */
interface Sample {
  readonly mode: ModeName;
  /** Kind of the question; in others' memories, whether they have its language. */
  readonly group: string;
  readonly isAnswerable: boolean;
  /** The signs of evidence of the first passages. */
  readonly signs: readonly EvidenceSigns[];
  readonly evidence: number;
  /** Default threshold of this search. */
  readonly evidenceMin: number;
  /** How long the reader took. */
  readonly readMs: number;
  readonly id: string;
  readonly question: string;
  /** Texts of the first passages. */
  readonly passages: readonly string[];
  readonly isRightFirst: boolean;
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const half = flags.get("--half") ?? "test";
  const folder = HALVES.get(half);
  const persons = folder === undefined ? readPersons(FITTING_PERSONS) : readPersons(everyoneIn(folder), folder);
  const modes = modesOf(flags.get("--mode") ?? "balanced");
  const content = personalContent(persons);
  const data = flags.get("--data") ?? join(tmpdir(), "mneme-evidence");
  await (await serve(content, data))[Symbol.asyncDispose]();
  await using opened = await openRetrieval(join(data, content.directory));
  const samples: Sample[] = [];
  const mayRead = !flags.has("--no-reader");
  for (const mode of modes) samples.push(...(await askAll(opened, persons, mode, mayRead)));
  const dump = flags.get("--dump");
  if (dump !== undefined) writeFileSync(dump, samples.map((sample) => `${JSON.stringify(sample)}\n`).join(""));
  for (const mode of modes) {
    const own = samples.filter((sample) => sample.mode === mode);
    const milliseconds = own.map(({ readMs }) => readMs).sort((a, b) => a - b);
    const at = (share: number) => shortFigure(milliseconds[Math.floor(share * milliseconds.length)] ?? 0);
    const threshold = own[0]?.evidenceMin ?? 0;
    process.stdout.write(`${mode}\n${table(own, threshold)}\nreading: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms\n`);
  }
  if (flags.has("--fit")) process.stdout.write(`${fit(samples)}\n`);
}

async function askAll(
  opened: OpenRetrieval,
  persons: readonly Person[],
  mode: ModeName,
  mayRead: boolean,
): Promise<readonly Sample[]> {
  const progress = new Progress(`${mode}:`);
  const samples: Sample[] = [];
  for (const [at, person] of persons.entries()) {
    for (const [number, question] of person.questions.entries()) {
      samples.push(await ask(opened, { mode, mayRead }, person, person, question));
      if (question.notes.length === 0) continue;
      const step = 1 + (number % (persons.length - 1));
      for (let k = 0; k < OTHERS; k++) {
        const other = persons[(at + 1 + ((step + k) % (persons.length - 1))) % persons.length];
        if (other !== undefined) samples.push(await ask(opened, { mode, mayRead }, person, other, question));
      }
    }
    progress.show((at + 1) / persons.length, `${at + 1} of ${persons.length} persons`);
  }
  progress.finish(`${mode}: ${samples.length} searches`);
  return samples;
}

async function ask(
  { parts, projectId }: OpenRetrieval,
  { mode, mayRead }: { readonly mode: ModeName; readonly mayRead: boolean },
  asker: Person,
  asked: Person,
  question: PersonalQuestion,
): Promise<Sample> {
  const user = { id: asked.id, key: await parts.memories.userKey(projectId, asked.id) };
  const request = { scope: { projectId, user }, filter: null, limit: RESULTS, scoreMin: 0, includeGraph: false };
  const language = await parts.languageOf(question.text);
  const { results, evidence, evidenceMin, answers, stages } = await search(parts, {
    ...request,
    ...{ query: question.text, mode, wantsEvidence: true, mayRead, asOf: Date.parse(asker.askedOn) },
  });
  const signs = evidenceSigns(specificsOf(question.text, language), results, answers);
  const hasLanguage = asked.notes.some(({ language }) => language === question.language);
  const others = hasLanguage ? "others, same language" : "others, other language";
  return {
    mode,
    group: asked === asker ? question.kind : others,
    isAnswerable: asked === asker && question.notes.length > 0,
    signs: signs.length > 0 ? signs : [NOTHING_FOUND],
    evidence: evidence ?? results[0]?.score ?? 0,
    evidenceMin,
    readMs: stages.find(({ name }) => name === "read")?.ms ?? 0,
    id: question.id,
    question: question.text,
    passages: results.slice(0, SHOWN).map(({ text }) => text),
    isRightFirst: results[0]?.memory.externalId === question.notes[0]?.id,
  };
}

function table(samples: readonly Sample[], threshold: number): string {
  const answerable = samples.filter(({ isAnswerable }) => isAnswerable);
  const rows = [...new Set(samples.map(({ group }) => group))].map((group) => {
    const of = samples.filter((sample) => sample.group === group);
    const refused = mean(of.map(({ evidence }) => Number(evidence < threshold)));
    const isAnswerable = of.some((sample) => sample.isAnswerable);
    const auc = (value: (sample: Sample) => number) =>
      isAnswerable ? "" : shortFigure(areaUnderRoc(answerable.map(value), of.map(value)));
    const topScore = ({ signs }: Sample) => Math.max(...signs.map(({ score }) => score));
    const cells = [auc(({ evidence }) => evidence), auc(topScore)];
    const first = isAnswerable ? shortFigure(mean(of.map(({ isRightFirst }) => Number(isRightFirst)))) : "";
    return [group, String(of.length), shortFigure(refused), ...cells, first];
  });
  const header = ["group", "questions", "refused", "AUC", "score alone", "right first"];
  return alignRows([header, ...rows]).join("\n");
}

/** The curve and the threshold that these questions suggest. */
function fit(samples: readonly Sample[]): string {
  const curve = fitEvidence(
    samples,
    samples.some(({ readMs }) => readMs > 0),
  );
  const fitted = samples.map((sample) => ({ ...sample, evidence: evidenceOf(sample, curve) }));
  const threshold = evidenceThreshold(samples, curve);
  return `${JSON.stringify(curve)} threshold ${shortFigure(threshold)}\n${table(fitted, threshold)}`;
}

await runMain(HELP, main);
