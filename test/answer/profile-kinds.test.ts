// What a sentence says of the user, in eleven languages.

import { expect, test } from "bun:test";
import { profileKindOf, userNamesOf } from "../../src/answer/profile-kinds.ts";

const userNames = userNamesOf(["ada-on-tour", "Ada Berg"]);
const kindOf = (text: string, language: string, isSpoken = false) =>
  profileKindOf({ text, language, at: Date.parse("2026-11-29T10:00:00Z"), isSpoken, userNames });

test.each([
  ["en", "I live in Bergen."],
  ["en", "The workshop is in room 220."],
  ["en", "Ada works as a nurse."],
  ["en", "My boss is Swedish."],
  ["en", "Bergen is where my sister lives."],
  ["en", "The plumber comes on Mondays."],
  ["en", "I was born on 3 May 1990."],
  ["de", "Ich wohne in Bergen."],
  ["de", "Der Werkstattschlüssel hängt im Flur."],
  ["fr", "J'habite à Paris."],
  ["es", "Vivo en Madrid."],
  ["ru", "Я живу в Москве."],
  ["ja", "私は東京に住んでいます。"],
  ["zh", "我住在北京。"],
])("facts, %s: %s", (language, text) => {
  expect(kindOf(text, language)).toEqual({ kind: "fact" });
});

test.each([
  ["en", "I prefer window seats."],
  ["en", "Please always answer in German."],
  ["en", "Ada likes green tea."],
  ["de", "Ich mag keinen Koriander."],
  ["fr", "Je préfère le train."],
  ["es", "Prefiero el té."],
])("preferences, %s: %s", (language, text) => {
  expect(kindOf(text, language)).toEqual({ kind: "preference" });
});

test.each([
  ["en", "Dentist appointment on 12 May 2026 at 9."],
  ["en", "Yesterday I ran a marathon."],
  ["de", "Am 12. Mai 2026 war ich beim Zahnarzt."],
  ["fr", "Hier, j'ai vu un film."],
])("events, %s: %s", (language, text) => {
  expect(kindOf(text, language)).toEqual({ kind: "event" });
});

test.each([
  ["en", "My sister Greta lives in Oslo.", "Greta"],
  ["en", "Greta is my older sister.", "Greta"],
  ["en", "Tom Hardy works at Statoil.", "Tom Hardy"],
  ["en", "Greta's birthday is on 3 May.", "Greta"],
  ["en", "My boss is called Ingrid.", "Ingrid"],
  ["en", "Ada's dentist is Dr. Okafor in Mill Street.", "Okafor"],
  ["en", "Ada's sister Camilla works as a nurse.", "Camilla"],
  ["de", "Meine Schwester Greta arbeitet im Hafen.", "Greta"],
  ["de", "Greta ist meine Schwester.", "Greta"],
  ["de", "Mein Chef heißt Jonas Weber.", "Jonas Weber"],
  ["fr", "Ma sœur Camille habite à Lyon.", "Camille"],
  ["es", "Mi hermana Lucía vive en Sevilla.", "Lucía"],
  ["it", "Mia sorella Giulia lavora a Torino.", "Giulia"],
  ["pt", "Minha irmã Ana mora em Lisboa.", "Ana"],
  ["nl", "Mijn zus Sanne woont in Utrecht.", "Sanne"],
  ["ru", "Моя сестра Анна живёт в Киеве.", "Анна"],
  ["ja", "妹の花子は京都に住んでいる。", "花子"],
  ["ja", "佐藤さんの内線は4711です。", "佐藤"],
  ["zh", "我妹妹小红住在上海。", "小红"],
  ["ko", "여동생 지은은 부산에 산다.", "지은"],
])("people, %s: %s", (language, text, name) => {
  expect(kindOf(text, language)).toEqual({ kind: "person", name });
});

test.each([
  ["en", "Where do I live?"],
  ["en", "What is my sister Greta's number?"],
  ["en", "Groceries"],
  ["en", `${"long ".repeat(100)}words`],
])("nothing, %s: %s", (language, text) => {
  expect(kindOf(text, language)).toBeNull();
});

test("what is said in a conversation counts if it speaks of the user or of a person", () => {
  expect(kindOf("Thanks, that helps a lot.", "en", true)).toBeNull();
  expect(kindOf("The weather is nice.", "en", true)).toBeNull();
  expect(kindOf("I work night shifts.", "en", true)).toEqual({ kind: "fact" });
  expect(kindOf("Meine Nachbarin Eva ist Ärztin.", "de", true)).toEqual({ kind: "person", name: "Eva" });
});
