// Whether a question asks for what was so before, by its words.

import { describe, expect, test } from "bun:test";
import { askedTense, asksEarlierState } from "../../../src/retrieval/time/tense.ts";

describe("a question for an earlier state", () => {
  test.each([
    ["ar", "كم كان إيجار المكتب قبل الزيادة؟"],
    ["ar", "أين كنت أسكن قبل الانتقال؟"],
    ["ar", "ما كان رقم الغرفة في البداية؟"],
    ["ar", "من كان طبيبي السابق؟"],
    ["hi", "शुरू में मृणाल का TSH कितना था?"],
    ["hi", "डॉ. सेन से पहले ऊपर का किराया कितना मिलता था?"],
    ["hi", "पहले किराया कितना था?"],
    ["en", "what was the monthly amount before the raise"],
    ["en", "what did we pay at first?"],
    ["en", "what was the rent originally"],
    ["en", "what was her dose to begin with"],
    ["en", "who was our vet until last summer"],
    ["en", "where did we live prior to the move"],
    ["en", "which room were we in initially"],
    ["de", "Wie hoch war die Miete vor der Erhöhung?"],
    ["de", "Was haben wir anfangs gezahlt?"],
    ["de", "Wo wohnten wir ursprünglich?"],
    ["de", "Wo war der Workshop zuerst?"],
    ["fr", "Combien payions-nous avant l'augmentation ?"],
    ["fr", "Quel était le loyer au départ ?"],
    ["fr", "Quelle salle au début ?"],
    ["es", "¿Cuánto pagábamos antes de la subida?"],
    ["es", "¿Cuál era la sala al principio?"],
    ["it", "Che rata pagavamo prima di rinegoziare?"],
    ["it", "Qual era l'aula all'inizio?"],
    ["pt", "O que a vó tomava de pressão antes do anlodipino?"],
    ["pt", "Qual era a sala no início?"],
    ["nl", "Wat was de huur voor de verhoging?"],
    ["nl", "In welke zaal was het eerst?"],
    ["nl", "Wat was de huur aanvankelijk?"],
    ["id", "Berapa sewa kantor sebelum naik?"],
    ["id", "Awalnya ruangannya di mana?"],
    ["ru", "Сколько мы платили до повышения?"],
    ["ru", "В какой аудитории было сначала?"],
    ["zh", "涨价之前房租是多少?"],
    ["zh", "一开始在哪个教室?"],
    ["zh", "最初的密码是什么"],
    ["ja", "値上げの前の家賃はいくらだった?"],
    ["ja", "最初の教室はどこだった?"],
    ["ja", "以前、父のデイサービスは何曜日だった?"],
    ["ko", "인상 전 월세는 얼마였어?"],
    ["ko", "처음에는 몇 호실이었어?"],
  ])("%s: %s", (language, question) => {
    expect(askedTense(question, language)).toBe("past");
    expect(asksEarlierState(question, language)).toBe(true);
  });
});

describe("a question for the present, or for what comes before something", () => {
  test.each([
    ["ar", "كم إيجار المكتب؟"],
    ["ar", "ماذا أشتري قبل السفر؟"],
    ["hi", "किराया कितना है?"],
    ["hi", "यात्रा से पहले क्या खरीदना है?"],
    ["en", "what to buy before the trip?"],
    ["de", "Was muss ich vor der Reise kaufen?"],
    ["fr", "Que dois-je acheter avant le voyage ?"],
    ["es", "¿Qué compro antes del viaje?"],
    ["it", "Cosa compro prima del viaggio?"],
    ["pt", "a mala já foi encontrada?"],
    ["ru", "Что купить перед поездкой?"],
    ["zh", "出差前要买什么?"],
    ["ja", "旅行の前に何を買う?"],
  ])("%s: %s", (language, question) => {
    expect(asksEarlierState(question, language)).toBe(false);
  });
});
