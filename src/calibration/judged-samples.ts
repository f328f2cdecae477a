// The judged samples that ship with the program (data/judged): texts, and questions with the texts that answer them.

import abstracts from "../../data/judged/abstracts.jsonl" with { type: "text" };
import d01 from "../../data/judged/personal/d01.tsv" with { type: "text" };
import d02 from "../../data/judged/personal/d02.tsv" with { type: "text" };
import d03 from "../../data/judged/personal/d03.tsv" with { type: "text" };
import d04 from "../../data/judged/personal/d04.tsv" with { type: "text" };
import d05 from "../../data/judged/personal/d05.tsv" with { type: "text" };
import d06 from "../../data/judged/personal/d06.tsv" with { type: "text" };
import d07 from "../../data/judged/personal/d07.tsv" with { type: "text" };
import d08 from "../../data/judged/personal/d08.tsv" with { type: "text" };
import d09 from "../../data/judged/personal/d09.tsv" with { type: "text" };
import d10 from "../../data/judged/personal/d10.tsv" with { type: "text" };
import d11 from "../../data/judged/personal/d11.tsv" with { type: "text" };
import d12 from "../../data/judged/personal/d12.tsv" with { type: "text" };
import { parsedJson, recordsIn } from "../kit/record.ts";
import { isLanguageSupported } from "../retrieval/coverage.ts";
import { parsePerson, type QuestionKind } from "./persons.ts";

const PERSONS = { d01, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11, d12 };
/** Owner of the abstracts. */
export const ABSTRACTS = "abstracts";
/** Number of notes in the small stores. */
const SMALL_NOTES = 5;

/** A text to store. */
export interface SampleText {
  readonly id: string;
  /** Id of a person, `ABSTRACTS` or `OWN_TEXTS`. */
  readonly owner: string;
  /** The small store to which a judged text belongs, such as `d01/0`; it has at most five texts. */
  readonly part: string;
  readonly title: string | null;
  readonly content: string;
  /** BCP 47; null: to be detected. */
  readonly language: string | null;
  /** Unix milliseconds; null if it has no date. */
  readonly createdAt: number | null;
}

/** A question about the texts of an owner. */
export interface SampleQuestion {
  readonly owner: string;
  /** See persons.ts. Questions of the kinds `off` and `near` have no answer. */
  readonly kind: QuestionKind;
  readonly text: string;
  /** Time at which it is asked, in Unix milliseconds; null: now. */
  readonly asOf: number | null;
  /** Ids of the texts that answer it. Of notes that contradict each other, only the one that it asks for. */
  readonly answers: readonly string[];
}

/** Texts and questions. */
export interface JudgedSamples {
  readonly texts: readonly SampleText[];
  readonly questions: readonly SampleQuestion[];
}

/**
 * All texts, and the questions whose own language and that of their answers are among the given ones.
 * @param languages BCP 47; empty: any
 */
export function judgedSamples(languages: readonly string[]): JudgedSamples {
  const isKnown = ({ text, language }: { readonly text: string; readonly language: string }) =>
    isLanguageSupported(text, language, languages);
  const persons = Object.entries(PERSONS).map(([id, text]) => parsePerson(id, text));
  const notes = persons.flatMap(({ id: owner, notes: all }) =>
    all.map(({ id, date, language, text }, at): SampleText => {
      const part = `${owner}/${Math.floor(at / SMALL_NOTES)}`;
      return { id, owner, part, title: null, content: text, language, createdAt: Date.parse(date) };
    }),
  );
  const personal = persons.flatMap(({ id: owner, questions, askedOn }) =>
    questions
      .filter((question) => isKnown(question) && question.notes.every(isKnown))
      .map(({ kind, text, notes: answering }): SampleQuestion => {
        return {
          owner,
          kind,
          text,
          asOf: Date.parse(askedOn),
          answers: (kind === "twostep" ? answering : answering.slice(0, 1)).map(({ id }) => id),
        };
      }),
  );
  const { texts, questions } = abstractSamples();
  const asked = questions.filter(({ text }) => isKnown({ text, language: "en" }));
  return { texts: [...notes, ...texts], questions: [...personal, ...asked] };
}

function abstractSamples(): JudgedSamples {
  const records = recordsIn(abstracts.trimEnd().split("\n").map(parsedJson));
  const idOf = (id: unknown) => `${ABSTRACTS}/${String(id)}`;
  const texts = records
    .filter(({ id }) => id !== undefined)
    .map(({ id, title, text }, at): SampleText => {
      const part = `${ABSTRACTS}/${Math.floor(at / SMALL_NOTES)}`;
      const fixed = { owner: ABSTRACTS, part, language: "en", createdAt: null };
      return { ...fixed, id: idOf(id), title: String(title), content: String(text) };
    });
  const questions = records
    .filter(({ question }) => question !== undefined)
    .map(({ question, answers }): SampleQuestion => {
      const ids = Array.isArray(answers) ? answers.map(idOf) : [];
      return { owner: ABSTRACTS, kind: "direct", text: String(question), asOf: null, answers: ids };
    });
  return { texts, questions };
}
