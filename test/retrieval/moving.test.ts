// Notes that say where somebody has moved: they correct where that person lives, and nobody else.

import { describe, expect, test } from "bun:test";
import { askedDweller, saysLives, saysMoved } from "../../src/retrieval/moving.ts";
import { placedWords } from "../../src/retrieval/substitutes.ts";

function corrects(language: string, question: string, older: string, newer: string): boolean {
  const words = (text: string) => placedWords({ text, language });
  const dweller = askedDweller({ text: question, language }, words(question));
  if (dweller === null) return false;
  return saysLives(older, dweller, words(older)) && saysMoved(newer, dweller, words(newer));
}

describe("a move corrects where somebody lives", () => {
  test.each([
    ["en", "Where do I live?", "I live in Norwich.", "I moved to Carlisle last week."],
    ["en", "What's my address?", "My address is 9 Quarry Lane.", "We've moved to 31 Weaver Street."],
    ["en", "Where do we live now?", "We live in Hull.", "Moved to Leeds on Saturday."],
    ["en", "Where does Karin live?", "Karin lives in Bergen.", "Karin moved to Oslo in March."],
    ["en", "Where does my sister live?", "My sister lives in Leeds.", "My sister just moved to Derby."],
    ["de", "Wo wohne ich?", "Ich wohne in Hamburg-Altona.", "Ich bin letzte Woche nach Lüneburg gezogen."],
    ["de", "Wo wohnen wir?", "Wir wohnen in Ulm.", "Umgezogen: wir sind jetzt in Kempten."],
    [
      "fr",
      "Où est-ce que j'habite ?",
      "J'habite rue des Tanneurs, au 14.",
      "J'ai emménagé quai Vauban samedi dernier.",
    ],
    ["fr", "Où habitons-nous ?", "Nous habitons à Nantes.", "Nous avons déménagé à Rennes."],
    ["es", "¿Dónde vivo?", "Vivo en Sevilla.", "La semana pasada me mudé a Granada."],
    ["es", "¿Dónde vivimos?", "Vivimos en Cádiz.", "Nos hemos mudado a Jaén."],
    ["it", "Dove abito?", "Abito a Modena.", "La settimana scorsa mi sono trasferita a Ferrara."],
    ["pt", "Onde moro?", "Moro em Braga.", "Mudei-me para Évora no domingo."],
    ["nl", "Waar woon ik?", "Ik woon op de Lindegracht 22.", "Vorige week ben ik verhuisd naar Zwolle."],
    ["sv", "Var bor jag?", "Jag bor i Uppsala.", "Jag flyttade till Gävle i förra veckan."],
    ["da", "Hvor bor jeg?", "Jeg bor i Vejle.", "Jeg er flyttet til Odense."],
    ["pl", "Gdzie mieszkam?", "Mieszkam w Krakowie.", "W zeszłym tygodniu przeprowadziłem się do Tarnowa."],
    ["cs", "Kde bydlím?", "Bydlím v Plzni.", "Minulý týden jsem se přestěhovala do Zlína."],
    ["ru", "Где я живу?", "Я живу в Казани.", "На прошлой неделе я переехала в Самару."],
    ["uk", "Де я живу?", "Я живу у Львові.", "Минулого тижня я переїхала до Луцька."],
    ["tr", "Nerede oturuyorum?", "İzmir'de oturuyorum.", "Geçen hafta Bursa'ya taşındım."],
    ["hu", "Hol lakom?", "Szegeden lakom.", "Múlt héten Pécsre költöztem."],
    ["fi", "Missä asun?", "Asun Turussa.", "Muutin viime viikolla Ouluun."],
    ["el", "Πού μένω;", "Μένω στη Λάρισα.", "Μετακόμισα στον Βόλο."],
    ["ja", "どこに住んでいますか？", "東京に住んでいます。", "先週、大阪に引っ越しました。"],
    ["zh", "我住在哪里？", "我住在杭州。", "上周搬到了苏州。"],
    ["ko", "저는 어디에 살아요?", "저는 대전에 살아요.", "지난주에 전주로 이사했어요."],
    ["ar", "أين أسكن؟", "أسكن في عمان.", "انتقلت الأسبوع الماضي إلى إربد."],
    ["vi", "Tôi sống ở đâu?", "Tôi sống ở Huế.", "Tuần trước tôi đã chuyển vào Cần Thơ."],
  ])("%s: %s %s", (language, question, older, newer) => {
    expect(corrects(language, question, older, newer)).toBe(true);
  });
});

describe("nothing else does", () => {
  test.each([
    ["another person", "en", "Where do I live?", "I live in Norwich.", "Ben moved to Carlisle last week."],
    ["a relative", "en", "Where do I live?", "I live in Norwich.", "My sister moved to Derby; I helped."],
    ["a thing", "en", "Where do I live?", "I live in Norwich.", "I moved the sofa to the attic."],
    ["another question", "en", "Where do I work?", "I work in Norwich.", "I moved to Carlisle last week."],
    ["a move of long ago", "en", "Where do I live?", "I live in Norwich.", "I moved to Hull in 2014."],
    ["a wish", "en", "Where do I live?", "I live in Norwich.", "I would love to move to Carlisle."],
    ["the rent", "en", "What is our rent?", "Our rent is 900 euros.", "We moved to Hull on Friday."],
    ["an e-mail address", "en", "What's my email address?", "My email address is j@x.org.", "We moved to Hull."],
    ["a visit", "en", "Where do I live?", "I live in Norwich.", "I spent the weekend in Carlisle."],
    ["the writer's move", "en", "Where does Karin live?", "Karin lives in Bergen.", "I moved to Oslo."],
    ["another one's home", "en", "Where do I live?", "My aunt lives in Hull.", "I moved to Leeds."],
    ["another person", "de", "Wo wohne ich?", "Ich wohne in Ulm.", "Jonas ist nach Kempten gezogen."],
    ["another person", "es", "¿Dónde vivo?", "Vivo en Sevilla.", "Lucía se mudó a Granada."],
    ["another person", "da", "Hvor bor jeg?", "Jeg bor i Vejle.", "Mads flyttede til Odense i går."],
    ["another person", "ja", "どこに住んでいますか？", "東京に住んでいます。", "田中さんが大阪に引っ越しました。"],
    ["another person", "zh", "我住在哪里？", "我住在杭州。", "小李搬到了苏州。"],
    ["another person", "ko", "저는 어디에 살아요?", "저는 대전에 살아요.", "지민이가 전주로 이사했어요."],
    ["another person", "ru", "Где я живу?", "Я живу в Казани.", "Олег переехал в Самару."],
  ])("not %s (%s): %s", (_, language, question, older, newer) => {
    expect(corrects(language, question, older, newer)).toBe(false);
  });
});
