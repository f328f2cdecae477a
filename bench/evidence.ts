// How well the evidence of an answer tells whether it was stored: questions of invented persons, asked in their own
// memories and in those of others. `bun bench/evidence.ts --help` lists the flags.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import type { ModeName } from "../src/domain/ranking.ts";
import type { EvidenceCurve } from "../src/domain/retrieval-tuning.ts";
import { type EvidenceSigns, evidenceLogit, evidenceSigns, logitOf } from "../src/retrieval/evidence.ts";
import { search } from "../src/retrieval/search.ts";
import { specificsOf } from "../src/retrieval/specifics.ts";
import { fitRegression } from "./lib/logistic.ts";
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
  --data FOLDER  keep the data directory here, so that the next run needs no ingest
  --fit          fit the curve and the threshold on these questions and print them (not with test)
  --dump FILE    write one JSON line per question`;

/** Number of other persons of whom each question is asked. */
const OTHERS = 3;
const RESULTS = 10;
/** Number of passages of a dump. */
const SHOWN = 5;
/** Share of answerable questions that the threshold may refuse. */
const REFUSED_MAX = 0.05;

/** A question with what the search said about evidence. */
interface Sample {
  readonly mode: ModeName;
  /** Kind of the question, or whose memories were asked if they are another person's. */
  readonly group: string;
  readonly isAnswerable: boolean;
  /** Those of the first passages. */
  readonly signs: readonly EvidenceSigns[];
  readonly evidence: number;
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
  for (const mode of modes) samples.push(...(await askAll(opened, persons, mode)));
  const dump = flags.get("--dump");
  if (dump !== undefined) writeFileSync(dump, samples.map((sample) => `${JSON.stringify(sample)}\n`).join(""));
  for (const mode of modes) {
    const own = samples.filter((sample) => sample.mode === mode);
    process.stdout.write(`${mode}\n${table(own, opened.parts.embedders.default.tuning.evidenceMin[mode])}\n`);
  }
  if (flags.has("--fit")) process.stdout.write(`${fit(samples)}\n`);
}

async function askAll(opened: OpenRetrieval, persons: readonly Person[], mode: ModeName): Promise<readonly Sample[]> {
  const progress = new Progress(`${mode}:`);
  const samples: Sample[] = [];
  for (const [at, person] of persons.entries()) {
    for (const [number, question] of person.questions.entries()) {
      samples.push(await ask(opened, mode, person, person, question));
      if (question.notes.length === 0) continue;
      const step = 1 + (number % (persons.length - 1));
      for (let k = 0; k < OTHERS; k++) {
        const other = persons[(at + 1 + ((step + k) % (persons.length - 1))) % persons.length];
        if (other !== undefined) samples.push(await ask(opened, mode, person, other, question));
      }
    }
    progress.show((at + 1) / persons.length, `${at + 1} of ${persons.length} persons`);
  }
  progress.finish(`${mode}: ${samples.length} searches`);
  return samples;
}

async function ask(
  { parts, projectId }: OpenRetrieval,
  mode: ModeName,
  asker: Person,
  asked: Person,
  question: PersonalQuestion,
): Promise<Sample> {
  const user = { id: asked.id, key: await parts.memories.userKey(projectId, asked.id) };
  const request = { scope: { projectId, user }, filter: null, limit: RESULTS, scoreMin: 0, includeGraph: false };
  const language = await parts.languageOf(question.text);
  const { results, evidence } = await search(parts, {
    ...request,
    ...{ query: question.text, mode, wantsEvidence: true, asOf: Date.parse(asker.askedOn) },
  });
  const signs = evidenceSigns(specificsOf(question.text, language), results);
  const hasLanguage = asked.notes.some(({ language }) => language === question.language);
  const others = hasLanguage ? "others, same language" : "others, other language";
  return {
    mode,
    group: asked === asker ? question.kind : others,
    isAnswerable: asked === asker && question.notes.length > 0,
    signs: signs.length > 0 ? signs : [NOTHING],
    evidence: evidence ?? results[0]?.score ?? 0,
    id: question.id,
    question: question.text,
    passages: results.slice(0, SHOWN).map(({ text }) => text),
    isRightFirst: results[0]?.memory.externalId === question.notes[0]?.id,
  };
}

/** Stands for the signs of a search that found nothing. */
const NOTHING: EvidenceSigns = { score: 0, lackingCodes: 0, lackingNames: 0 };

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

/** Number of times that the curve is fitted to the passages that are the best ones by the curve before. */
const ROUNDS = 12;
const FIRST_CURVE: EvidenceCurve = { scoreSlope: 1, codesSlope: 1, namesSlope: 1, offset: 0 };

/** The curve and the threshold that these questions suggest. */
function fit(samples: readonly Sample[]): string {
  // each group of questions without an answer counts as much as the others
  const keyOf = ({ isAnswerable, group }: Sample) => (isAnswerable ? "answerable" : group);
  const sizes = new Map([...Map.groupBy(samples, keyOf)].map(([key, of]) => [key, of.length]));
  const weightOf = (sample: Sample) =>
    ((sample.isAnswerable ? sizes.size - 1 : 1) * samples.length) / (sizes.get(keyOf(sample)) ?? 1);
  let curve = FIRST_CURVE;
  for (let round = 0; round < ROUNDS; round++) {
    const observations = samples.map((sample) => ({
      features: featuresOf(bestSigns(sample, curve)),
      isRelevant: sample.isAnswerable,
      weight: weightOf(sample),
    }));
    const { coefficients, offset } = fitRegression(observations);
    const [scoreSlope = 0, codesSlope = 0, namesSlope = 0] = coefficients;
    curve = { scoreSlope, codesSlope, namesSlope, offset };
  }
  const evidenceOf = (sample: Sample) => 1 / (1 + Math.exp(-evidenceLogit(bestSigns(sample, curve), curve)));
  const fitted = samples.map((sample) => ({ ...sample, evidence: evidenceOf(sample) }));
  const answerable = fitted.filter(({ isAnswerable }) => isAnswerable).map(({ evidence }) => evidence);
  const threshold = answerable.sort((a, b) => a - b)[Math.floor(REFUSED_MAX * answerable.length)] ?? 0;
  return `${JSON.stringify(curve)} threshold ${shortFigure(threshold)}\n${table(fitted, threshold)}`;
}

function featuresOf({ score, lackingCodes, lackingNames }: EvidenceSigns): readonly number[] {
  return [logitOf(score), -lackingCodes, -lackingNames];
}

function bestSigns({ signs }: Sample, curve: EvidenceCurve): EvidenceSigns {
  return signs.reduce((best, each) => (evidenceLogit(each, curve) > evidenceLogit(best, curve) ? each : best));
}

await runMain(HELP, main);
