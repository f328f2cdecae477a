// The language of the page. English texts stand in the code and are the keys of texts.json, which has the translations
// and is loaded only for another language.

import { signal } from "@preact/signals";
import { keepPreference, preference } from "./storage.ts";

/** The languages, by their own names. All but English were translated by a machine. */
export const LANGUAGES = {
  en: "English",
  de: "Deutsch",
  fr: "Français",
  es: "Español",
  it: "Italiano",
  pt: "Português",
  zh: "中文",
  ja: "日本語",
  ko: "한국어",
  ar: "العربية",
} as const;
/** A language of the page. */
export type Language = keyof typeof LANGUAGES;

type Texts = Readonly<Record<string, readonly string[]>>;

const known = Object.keys(LANGUAGES) as Language[];
/** The language of the page. */
export const language = signal<Language>("en");
const texts = signal<Texts>({});

/** Loads and sets the language that was chosen before; English if none was. */
export async function startLanguage(): Promise<void> {
  const kept = preference("language");
  const chosen = known.find((code) => code === kept);
  if (chosen === undefined || chosen === "en") return;
  try {
    await show(chosen);
  } catch {
    language.value = "en"; // its texts could not be loaded
  }
}

/** Shows the page in another language, and stores the choice in the browser. */
export async function chooseLanguage(code: Language): Promise<void> {
  keepPreference("language", code);
  await show(code);
}

async function show(code: Language): Promise<void> {
  if (code !== "en") texts.value = (await import("../texts.json")).default as unknown as Texts;
  language.value = code;
  document.documentElement.lang = code;
  document.documentElement.dir = code === "ar" ? "rtl" : "ltr";
}

/** Translates an English text into the language of the page. `{name}` in it is replaced by `values.name`. */
export function t(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  const at = known.indexOf(language.value) - 1;
  const shown = (at < 0 ? undefined : texts.value[text]?.[at]) || text;
  return shown.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
