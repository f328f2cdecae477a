// The answer if no stored text answers the question, in the question's language if the lists have this language: one
// sentence, or two that name what is missing and what is stored instead.

import type { RankedPassage } from "../domain/ranking.ts";
import { withoutCitations } from "./citation-marks.ts";
import type { Gap } from "./gaps.ts";

const SENTENCES: Readonly<Record<string, string>> = {
  ar: "لا شيء مما هو مخزَّن هنا يجيب عن هذا السؤال.",
  cs: "Nic z toho, co je zde uloženo, na tuto otázku neodpovídá.",
  da: "Intet af det, der er gemt her, besvarer dette spørgsmål.",
  de: "Nichts, was hier gespeichert ist, beantwortet diese Frage.",
  es: "Nada de lo que está guardado aquí responde a esta pregunta.",
  fr: "Rien de ce qui est enregistré ici ne répond à cette question.",
  hi: "यहाँ संग्रहीत कुछ भी इस प्रश्न का उत्तर नहीं देता।",
  it: "Nulla di ciò che è memorizzato qui risponde a questa domanda.",
  ja: "ここに保存されているものの中に、この質問への答えはありません。",
  ko: "여기에 저장된 것 중에는 이 질문에 대한 답이 없습니다.",
  nl: "Niets van wat hier is opgeslagen, beantwoordt deze vraag.",
  pl: "Nic, co jest tu zapisane, nie odpowiada na to pytanie.",
  pt: "Nada do que está guardado aqui responde a esta pergunta.",
  ru: "Ничто из сохранённого здесь не отвечает на этот вопрос.",
  sv: "Inget av det som är sparat här besvarar frågan.",
  th: "ไม่มีสิ่งใดที่เก็บไว้ที่นี่ตอบคำถามนี้",
  tr: "Burada saklananların hiçbiri bu soruyu yanıtlamıyor.",
  uk: "Ніщо зі збереженого тут не відповідає на це запитання.",
  vi: "Không có gì được lưu ở đây trả lời câu hỏi này.",
  zh: "这里存储的内容都没有回答这个问题。",
};

const SENTENCE_END = /[.。।]$/u;

/** The sentence in English, also for questions in other or unknown languages. */
export const NO_EVIDENCE_ANSWER = "Nothing that is stored here answers this question.";

/** The answer if there is no evidence. @param language of the question, BCP 47 */
export function noEvidenceAnswer(language: string): string {
  return SENTENCES[language.split("-")[0] ?? ""] ?? NO_EVIDENCE_ANSWER;
}

/** The same sentence with a part of a question: "Nothing that is stored here answers this question: “…”". */
export function noEvidenceFor(part: string, language: string): string {
  return `${noEvidenceAnswer(language).replace(SENTENCE_END, "")}: “${withoutCitations(part)}”`;
}

/**
 * Sentences for a gap, by language: one names what is missing, the other what is stored instead. `{}` is replaced by
 * names in the words of the question or of passages.
 */
const GAP_SENTENCES: Readonly<Record<string, readonly [missing: string, instead: string]>> = {
  ar: ["لا شيء مما هو مخزَّن هنا يجيب عن هذا السؤال بشأن «{}».", "يوجد شيء عن: {}."],
  cs: ["Nic z toho, co je zde uloženo, na tuto otázku neodpovídá pro „{}“.", "Něco je tu o: {}."],
  da: ["Intet af det, der er gemt her, besvarer dette spørgsmål for »{}«.", "Der er noget om: {}."],
  de: ["Nichts, was hier gespeichert ist, beantwortet diese Frage für „{}“.", "Gespeichert ist etwas zu: {}."],
  en: ["Nothing that is stored here answers this for {}.", "There is something about {}."],
  es: ["Nada de lo que está guardado aquí responde a esta pregunta para «{}».", "Hay algo sobre: {}."],
  fr: ["Rien de ce qui est enregistré ici ne répond à cette question pour « {} ».", "Il y a quelque chose sur : {}."],
  hi: ["यहाँ संग्रहीत कुछ भी “{}” के लिए इस प्रश्न का उत्तर नहीं देता।", "इनके बारे में कुछ है: {}।"],
  it: ["Nulla di ciò che è memorizzato qui risponde a questa domanda per «{}».", "C'è qualcosa su: {}."],
  ja: [
    "ここに保存されているものの中に、「{}」についてのこの質問への答えはありません。",
    "保存されているのは次のものです：{}。",
  ],
  ko: ["여기에 저장된 것 중에는 ‘{}’에 대한 이 질문의 답이 없습니다.", "저장된 것은 다음과 같습니다: {}."],
  nl: ["Niets van wat hier is opgeslagen, beantwoordt deze vraag voor ‘{}’.", "Er is wel iets over: {}."],
  pl: ["Nic, co jest tu zapisane, nie odpowiada na to pytanie dla „{}”.", "Jest coś o: {}."],
  pt: ["Nada do que está guardado aqui responde a esta pergunta para «{}».", "Há algo sobre: {}."],
  ru: ["Ничто из сохранённого здесь не отвечает на этот вопрос для «{}».", "Есть сведения о другом: {}."],
  sv: ["Inget av det som är sparat här besvarar frågan för ”{}”.", "Det finns något om: {}."],
  th: ["ไม่มีสิ่งใดที่เก็บไว้ที่นี่ตอบคำถามนี้สำหรับ “{}”", "มีข้อมูลเกี่ยวกับ: {}"],
  tr: ["Burada saklananların hiçbiri bu soruyu “{}” için yanıtlamıyor.", "Şunlar hakkında bir şey var: {}."],
  uk: ["Ніщо зі збереженого тут не відповідає на це запитання для «{}».", "Є відомості про інше: {}."],
  vi: ["Không có gì được lưu ở đây trả lời câu hỏi này cho “{}”.", "Có thông tin về: {}."],
  zh: ["这里存储的内容都没有回答关于“{}”的这个问题。", "存储的是：{}。"],
};
const ENGLISH = "en";

/**
 * The sentences that name a gap: what is missing, and unless a part of the question is answered, what is stored
 * instead, with the numbers of its sources.
 * @param language of the question, BCP 47
 * @param sources the sources of the answer, in the order of their numbers; neighbours from other passages are not named
 */
export function gapAnswer(
  language: string,
  { missing, isPartial, neighbours }: Gap,
  sources: readonly RankedPassage[],
): string {
  const [lack = "", instead = ""] = GAP_SENTENCES[language.split("-")[0] ?? ""] ?? GAP_SENTENCES[ENGLISH] ?? [];
  const fill = (sentence: string, names: readonly string[]) => sentence.replace("{}", () => names.join(", "));
  const gap = fill(lack, missing.map(withoutCitations));
  const stored = neighbours.filter(({ passage }) => sources.includes(passage));
  if (isPartial || stored.length === 0) return gap;
  const named = stored.map(({ text, passage }) => `${withoutCitations(text)} [${sources.indexOf(passage) + 1}]`);
  return `${gap} ${fill(instead, named)}`;
}
