// Notes about relatives: a newer note about "my mother" corrects nothing that an older one says of "my father".

import { describe, expect, test } from "bun:test";
import { areOfOtherRelatives } from "../../src/retrieval/relatives.ts";

describe("a newer note is about another relative", () => {
  test.each([
    ["Welches Auto fährt mein Vater?", "Mein Vater fährt einen Saab.", "Meine Mutter hat einen Kia gekauft."],
    ["哥哥在哪里上班？", "哥哥在船厂上班。", "姐姐辞职了，现在在邮局上班。"],
    ["이모 집은 어디에 있어?", "이모 집은 강릉에 있다.", "삼촌은 지난주에 원주로 이사했다."],
    ["이모 집은 어디에 있어?", "이모 집은 강릉에 있다.", "지난주에 마포구로 이사했다."],
    ["أين تسكن جدتي؟", "تسكن جدتي في حي الصفا.", "انتقل عمي أمس إلى حي المرجان."],
    ["Где живёт дедушка?", "Дедушка живёт на Речной.", "Дядя переехал на Лесную."],
    ["Où est-ce que j'habite ?", "J'habite rue des Tanneurs.", "Mon oncle a emménagé boulevard Carnot."],
    ["Welches Auto fährt mein Vater?", "Mein Vater fährt einen Saab.", "Den Skoda habe ich verkauft, jetzt ein Zoe."],
    ["Where does my aunt live?", "My aunt lives in Hull.", "I moved to Leeds last week."],
    ["Où habite ma tante ?", "Ma tante habite rue des Tilleuls.", "J'ai emménagé quai Vauban samedi dernier."],
    ["哥哥在哪里上班？", "哥哥在船厂上班。", "我辞了花店的工作，现在在图书馆上班。"],
    ["Где живёт бабушка?", "Бабушка живёт в Твери.", "На прошлой неделе я переехала в Самару."],
    ["Gdzie pracuje Kuba?", "Kuba pracuje w tartaku.", "Siostra Kuby zmieniła pracę."],
    ["妹の学校はどこ？", "妹の学校は浦和にあります。", "弟の塾が大宮に移転しました。"],
    ["What does my son play?", "My son plays the cello.", "My daughter has switched to the drums."],
    ["Babam nerede oturuyor?", "Babam Bursa'da oturuyor.", "Amcam geçen hafta İzmir'e taşındı."],
  ])("%s", (question, older, newer) => {
    expect(areOfOtherRelatives(question, older, newer)).toBe(true);
  });
});

describe("a newer note may be about the same person", () => {
  test.each([
    ["of another word for them", "Where does my father live?", "My father lives in Hull.", "Dad has moved to Leeds."],
    ["of a pronoun", "Where does my father live?", "My father lives in Hull.", "He has moved to Leeds."],
    ["of a Danish preposition", "Hvor bor min far?", "Min far bor i Vejle.", "I går flyttede han til Odense."],
    ["of a Polish and", "Gdzie mieszka tata?", "Tata mieszka w Łodzi.", "Sprzedał dom i przeprowadził się do Gdyni."],
    ["of a Dutch you", "Waar woont mijn vader?", "Mijn vader woont in Breda.", "Je vindt hem nu in Tilburg."],
    ["of nobody", "Who is my physio?", "Physio with Mr Lomax.", "Mr Lomax has retired; Ms Adeyemi treats me."],
    ["of somebody at its end", "Where do we live?", "We rent a flat.", "Home is 31 Weaver Street, near my sister."],
    ["of two", "父の病院は?", "父の病院は中央病院です。", "父は母と同じ市民病院に移った。"],
    ["of what is done for them", "Who drives Mum?", "My brother drives Mum.", "My sister drives Mum now."],
    ["in another language", "Wo wohnt meine Schwester?", "Meine Schwester wohnt in Ulm.", "Ma sœur a déménagé à Metz."],
    ["of a word of another language", "¿Dónde son las clases?", "Son en el aula 3.", "Ahora son en el aula 5."],
    ["of a possessive", "Quel est son code ?", "Son code est 1234.", "Son code a changé : 9876."],
  ])("because %s", (_, question, older, newer) => {
    expect(areOfOtherRelatives(question, older, newer)).toBe(false);
  });
});
