// The answer if no stored text answers the question: one sentence, in the question's language if the list has this
// language.

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

/** The sentence in English, also for questions in other or unknown languages. */
export const NO_EVIDENCE_ANSWER = "Nothing that is stored here answers this question.";

/** The answer if there is no evidence. @param language of the question, BCP 47 */
export function noEvidenceAnswer(language: string): string {
  return SENTENCES[language.split("-")[0] ?? ""] ?? NO_EVIDENCE_ANSWER;
}
