// Words that stand in another text in the place of a word of the question.

import { describe, expect, test } from "bun:test";
import { placedWords, substitutesIn } from "../../src/retrieval/substitutes.ts";

function substitutes(language: string, question: string, about: string, other: string): readonly string[] {
  const wordsOf = (text: string) => placedWords({ text, language });
  return substitutesIn(wordsOf(question), wordsOf(about), wordsOf(other)).map((each) => `${each.asked}: ${each.other}`);
}

describe("a text about a neighbour has another word in the place of", () => {
  test.each([
    ["en", "When does band A rehearse?", "Band A rehearses on Mondays.", "Band B now rehearses on Thursdays.", "a: b"],
    [
      "it",
      "Quanto costa l'affitto del box?",
      "L'affitto del box costa 90 euro.",
      "Hanno rincarato l'affitto della cantina a 60 euro.",
      "box: cantina",
    ],
    [
      "es",
      "¿Cuándo vence el seguro de la moto?",
      "El seguro de la moto vence el 9 de mayo.",
      "El seguro del coche lo cambiaron al 30 de junio.",
      "moto: coche",
    ],
    ["en", "Where is Tom's bike?", "Tom's bike is in the shed.", "Mia's bike was moved to the cellar.", "tom: mia"],
    [
      "de",
      "Wo ist der Schlüssel vom Keller?",
      "Der Schlüssel vom Keller hängt am Brett.",
      "Der Schlüssel vom Dachboden liegt jetzt in der Lade.",
      "keller: dachboden",
    ],
    [
      "fr",
      "Où est le vélo de Noé ?",
      "Le vélo de Noé est au garage.",
      "Le vélo de Salomé a été déplacé à la cave.",
      "noé: salomé",
    ],
    [
      "es",
      "¿Dónde vive mi sobrina Candela?",
      "Mi sobrina Candela vive en Burgos.",
      "Mi sobrina Julieta se ha mudado a Gijón.",
      "candela: julieta",
    ],
    [
      "nl",
      "Wat is het wachtwoord van de tablet?",
      "Het wachtwoord van de tablet is els-40.",
      "Het wachtwoord van de laptop is nu beuk-66.",
      "tablet: laptop",
    ],
    [
      "ru",
      "Где ключи от дачи?",
      "Ключи от дачи висят в прихожей.",
      "Ключи от гаража теперь лежат в машине.",
      "дачи: гаража",
    ],
    [
      "ja",
      "長女のピアノは何曜日ですか?",
      "長女のピアノは火曜日です。",
      "次女のピアノは木曜日に変わりました。",
      "長女: 次女",
    ],
    ["zh", "爸爸的手机号是多少?", "爸爸的手机号是13800112233。", "妈妈换了新手机号:13900445566。", "爸爸: 妈妈"],
    [
      "ko",
      "첫째 아들의 담임은 누구예요?",
      "첫째 아들의 담임은 박 선생님이다.",
      "둘째 아들의 담임이 최 선생님으로 바뀌었다.",
      "첫째: 둘째",
    ],
    [
      "en",
      "What are Lena and Tom allergic to?",
      "Tom is allergic to penicillin.",
      "Lena is allergic to hazelnuts.",
      "tom: lena",
    ],
  ])("%s: %s", (language, question, about, other, expected) => {
    expect(substitutes(language, question, about, other)).toEqual([expected]);
  });
});

describe("a text about the same thing has none", () => {
  test.each([
    ["en", "Where is Grandpa?", "Grandpa is in ward B7.", "Grandpa was moved to ward D2."],
    [
      "en",
      "Who insures the van?",
      "Insurance for the van is with Albion.",
      "Van insurance: left Albion, signed with Crestway.",
    ],
    [
      "en",
      "Where does dinner club meet?",
      "Dinner club meets at Yusuf's place.",
      "Dinner club will be hosted by Marguerite from now on.",
    ],
    [
      "de",
      "Wer ist unsere Putzhilfe?",
      "Unsere Putzhilfe ist Frau Kowalczyk.",
      "Unsere Putzhilfe hat gewechselt, es ist jetzt Frau Demirel.",
    ],
    [
      "es",
      "¿Dónde vive mi sobrina Candela?",
      "Mi sobrina Candela vive en Burgos.",
      "Candela se ha ido a vivir a Gijón con su novio.",
    ],
    ["tr", "Köpeğin veterineri kim?", "Köpeğin veterineri Doktor Selim.", "Köpeği artık Doktor Aylin'e götürüyoruz."],
    ["hi", "दुकान का किराया कितना है?", "दुकान का किराया 26,000 है।", "जैन साहब ने किराया बढ़ाकर 31,500 कर दिया।"],
    ["zh", "女儿的钢琴老师是谁?", "女儿的钢琴老师是吴老师。", "钢琴课换成了林老师来教。"],
    ["ja", "卓球の練習はいつですか?", "卓球の練習は月曜です。", "卓球の練習は水曜に変わりました。"],
    ["ko", "요가 수업은 언제예요?", "요가 수업은 화요일입니다.", "요가 수업이 목요일로 바뀌었습니다."],
    ["de", "Wer ist mein Hausarzt?", "Hausarzt: Dr. Hunziker", "Dr. Hunziker ist weg. Nachfolgerin: Frau Egli"],
    ["en", "🤒", "Felt 🤒 after the seafood place.", "Felt 😀 after the swim."],
    ["en", "", "", ""],
  ])("%s: %s", (language, question, about, other) => {
    expect(substitutes(language, question, about, other)).toEqual([]);
  });
});

test("a long text is compared up to a limit, in little time", () => {
  const long = `The code of cabin A is 1. ${"cabin B code ".repeat(20_000)}`;
  expect(substitutes("en", "code of cabin A?", long, long)).toEqual([]);
});

describe("no substitute is", () => {
  test.each([
    ["when something has changed", "zh", "小明住在哪里？", "小明住在杭州。", "小明上周搬到苏州了。"],
    [
      "a word of one letter",
      "fr",
      "Où habite Chloé ?",
      "Chloé habite à Lyon.",
      "Chloé a déménagé à Nantes la semaine dernière.",
    ],
    [
      "the same word, cut differently",
      "zh",
      "我在哪里上班？",
      "我在花店上班。",
      "我辞了花店的工作，现在在图书馆上班。",
    ],
    ["a verb of change", "ru", "Сколько стоит бассейн?", "Бассейн стоит 3200.", "Бассейн поднял цену до 3900."],
  ])("%s", (_, language, question, about, other) => {
    expect(substitutes(language, question, about, other)).toEqual([]);
  });
});
