// Verb forms by which a question asks for the past.

import type { TimeLanguage } from "./lexicon.ts";

/** Verb forms of the past that need no list: "who visited" without "is", and "habe … gewohnt". */
const PAST_FORMS: readonly {
  readonly language: TimeLanguage;
  readonly verb: RegExp;
  readonly auxiliary: RegExp;
  /** Whether the auxiliary makes the form no past. */
  readonly excludes?: boolean;
}[] = [
  {
    language: "en",
    verb: /[a-z]{2}ed(?![a-z])/,
    auxiliary: /\b(?:is|are|am|do|does|has|have|be|get|gets)\b/,
    excludes: true,
  },
  {
    language: "de",
    verb: /(?<!\p{L})(?:\p{L}{2,5})?ge\p{L}{2,}(?:t|en)(?!\p{L})/u,
    auxiliary: /\b(?:habe|hab|hast|hat|haben|habt|bin|bist|sind|ist|seid)\b/,
  },
];

/** Whether a folded text has a verb form of the past that is not in the word list. */
export function hasPastForm(text: string, language: TimeLanguage): boolean {
  return PAST_FORMS.some(({ language: of, verb, auxiliary, excludes = false }) => {
    return of === language && auxiliary.test(text) !== excludes && verb.test(text);
  });
}
