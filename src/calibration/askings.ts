// Chooses the searches of a calibration. Each asks a judged question in one store, which has some of the judged texts
// and, for one kind of store, texts of a project. The stores differ in size, because the same score is weaker evidence
// in a larger store, and some lack the answer.

import { ABSTRACTS, type JudgedSamples, type SampleQuestion, type SampleText } from "./judged-samples.ts";
import type { SampleScope } from "./sample-store.ts";

/** Owner of texts that come from memories of a project. No question is about them. */
export const OWN_TEXTS = "own";

/** Kinds of stores. Each counts the same when curves are fitted, however many questions it has. */
type StoreKind = "one text" | "few texts" | "all texts" | "with others" | "other person" | "abstracts";

/** One search: a question, and the store in which it is asked. */
export interface Asking {
  readonly question: SampleQuestion;
  readonly store: StoreKind;
  /** The texts in the store. */
  readonly scope: SampleScope;
  /** Ids of the texts in the store that answer the question. */
  readonly relevant: ReadonlySet<string>;
}

/** Maximum number of questions per kind of store. The stores of kind `other person` have no answers. */
const QUESTIONS: Readonly<Record<StoreKind, number>> = {
  "one text": 120,
  "few texts": 120,
  "all texts": 240,
  "with others": 120,
  "other person": 120,
  abstracts: 60,
};

/** All searches of a calibration. */
export function askingsOf({ texts, questions }: JudgedSamples): readonly Asking[] {
  const personal = questions.filter(({ owner }) => owner !== ABSTRACTS);
  const answerable = personal.filter(({ answers }) => answers.length > 0);
  const byId = new Map(texts.map((text) => [text.id, text]));
  const owners = [...new Set(personal.map(({ owner }) => owner))];
  const asked = (
    store: StoreKind,
    of: readonly SampleQuestion[],
    scopeOf: (question: SampleQuestion, at: number) => SampleScope,
  ) =>
    spread(of, QUESTIONS[store]).map((question, at): Asking => {
      const scope = scopeOf(question, at);
      const { field, values } = scope;
      const isStored = (id: string) => values.includes(byId.get(id)?.[field] ?? "");
      return { question, store, scope, relevant: new Set(question.answers.filter(isStored)) };
    });
  // every `every`-th small store holds the answer; the others hold different texts of the same owner
  const smallScope = (field: "id" | "part", every: number) => (question: SampleQuestion, at: number) => {
    const answer = byId.get(question.answers[0] ?? "");
    const others = texts.filter(({ owner, part }) => owner === question.owner && part !== answer?.part);
    const text: SampleText | undefined = at % every === 0 ? answer : others[at % others.length];
    return { field, values: [text?.[field] ?? ""] };
  };
  const ownerScope = (...owner: readonly string[]): SampleScope => ({ field: "owner", values: owner });
  return [
    ...asked("one text", answerable, smallScope("id", 6)),
    ...asked("few texts", answerable, smallScope("part", 2)),
    ...asked("all texts", personal, ({ owner }) => ownerScope(owner)),
    ...asked("with others", personal, ({ owner }) => ownerScope(owner, ABSTRACTS, OWN_TEXTS)),
    ...(owners.length > 1
      ? asked("other person", answerable, ({ owner }) => {
          return ownerScope(owners[(owners.indexOf(owner) + 1) % owners.length] ?? "");
        })
      : []),
    ...asked(
      "abstracts",
      questions.filter(({ owner }) => owner === ABSTRACTS),
      ({ owner }) => ownerScope(owner),
    ),
  ];
}

/** At most `countMax` of the items, evenly spread over the list. */
export function spread<Item>(items: readonly Item[], countMax: number): readonly Item[] {
  if (items.length <= countMax) return items;
  return Array.from({ length: countMax }, (_, at) => items[Math.floor((at * items.length) / countMax)]).filter(
    (item) => item !== undefined,
  );
}
