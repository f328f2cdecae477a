// Which numbers, codes and names of a question a passage lacks.

import { describe, expect, test } from "bun:test";
import { lackingSpecifics, specificsOf } from "../../src/retrieval/specifics.ts";

const lacking = (question: string, passage: string, language = "en") =>
  lackingSpecifics(specificsOf(question, language), passage);
const lacksCodes = (question: string, passage: string, language?: string) => lacking(question, passage, language).codes;
const lacksNames = (question: string, passage: string, language?: string) => lacking(question, passage, language).names;

describe("codes", () => {
  test.each([
    ["wifi password of cabin 9?", "Cabin 9: heron-58"],
    ["wifi password of cabin 9?", "All of the cabins 7 to 12 share heron-58"],
    ["wifi password of cabin 9?", "cabins 7–12: heron-58"],
    ["the 20 mg tablets", "20mg, one in the morning"],
    ["total of invoice BL-2318", "BL2318 came to 412"],
    ["what does E119 mean", "error E-119: gas regulator"],
    ["is 1,234.50 paid?", "1234.50 went out"],
    ["is 1234,50 paid?", "1.234,50 € überwiesen"],
    ["who is on the 7th floor", "floor 7: Ines"],
    ["شقة ٩", "شقة 9: مريم"],
    ["कमरा 12", "कमरा १२ खाली है"],
    ["EF66のDCCアドレスは何番?", "アドレス:EF66が66番"],
    ["What is chapter 3 about?", "Chapter three is about the flood"],
    ["who is on the 7th floor", "Ines: seventh floor"],
    ["Wer wohnt im 2. Stock?", "Im zweiten Stock wohnt Ines"],
    ["第3章は何ですか", "第三章は洪水"],
    ["3号室の鍵は?", "三号室の鍵は玄関"],
    ["发票NB-20-126的金额", "的发票 NB-20-126,€3,975"],
  ])("%s: in %s", (question, passage) => {
    expect(lacksCodes(question, passage)).toBe(0);
  });

  test.each([
    ["wifi password of cabin 9?", "Cabin 4: heron-58"],
    ["wifi password of cabin 9?", "cabins 3 to 5: heron-58"],
    ["wifi password of cabin 9?", "cabin 19: heron-58, cabin 9.5"],
    ["the 20 mg tablets", "5 mg, one in the morning, 120 mg at most"],
    ["total of invoice BL-2318", "BL-2317 came to 412"],
    ["is 1,234.50 paid?", "1,243.50 went out"],
    ["iOS 17.2 crashes", "iOS 172"],
    ["شقة ٩", "شقة 4: مريم"],
    ["What is chapter 3 about?", "Chapter thirteen is about the flood"],
    ["3号室の鍵は?", "十三号室の鍵は玄関"],
    ["E-52の原因は?", "アラームE-17。原因はリミットスイッチ"],
  ])("%s: not in %s", (question, passage) => {
    expect(lacksCodes(question, passage)).toBe(1);
  });

  test.each([
    ["What are the top 3 things about Skarn?", "en"],
    ["List 5 facts about the lighthouse", "en"],
    ["Summarise the trip in 50 words", "en"],
    ["What did I do in the last 7 days?", "en"],
    ["Give me 2 reasons to keep the car", "en"],
    ["Nenne 3 Gründe für den Umzug", "de"],
    ["Fasse die Reise in 20 Wörtern zusammen", "de"],
    ["Donne 4 raisons de déménager", "fr"],
    ["Dame 3 ideas para la cena", "es"],
    ["旅行の思い出を3つ教えて", "ja"],
    ["说出5个理由", "zh"],
  ])("a number that only counts is none: %s", (question, language) => {
    expect(lacksCodes(question, "nothing of it", language)).toBe(0);
  });

  test.each([
    ["the password of cabin 9", "en"],
    ["who drives truck 117 today", "en"],
    ["the 20 mg tablets", "en"],
    ["Wer wohnt in Wohnung 5 oben?", "de"],
    ["Qui a le casier 31 ?", "fr"],
    ["12号室の鍵は?", "ja"],
    ["drops for the 60 litre tank", "en"],
    ["who lives at 41 Larch Street?", "en"],
    ["8 numaralı odanın şifresi", "tr"],
  ])("a number that tells things apart is one: %s", (question, language) => {
    expect(lacksCodes(question, "nothing of it", language)).toBe(1);
  });

  test("a share of several", () => {
    expect(lacksCodes("what did error E119 on the boiler in cabin 4 mean", "Boiler in cabin 4 threw E133")).toBe(0.5);
  });

  test.each(["What did I pay in 2024?", "the talk at 15:30", "on 3.5.2024", "2024-05-03のこと", "meeting at 3 pm"])(
    "a time is none: %s",
    (question) => {
      expect(lacksCodes(question, "nothing of it")).toBe(0);
    },
  );
});

describe("names", () => {
  test.each([
    ["What is Isla's shoe size?", "Isla wears 31", "en"],
    ["Isla's shoe size?", "Isla wears 31", "en"],
    ["Wann kommt Tante Hedda?", "Tante Hedda kommt am 3.5.", "de"],
    ["Welcher Tag passt Merles Lehrerin?", "Lehrerin von Merle: freitags", "de"],
    ["adresse de Ledru-Rollin", "école Ledru-Rollin, rue 5", "fr"],
    ["телефон Анны Петровой", "Анна Петрова: 555", "ru"],
    ["佐藤さんの内線は?", "佐藤は内線121", "ja"],
    ["what colour is the garage?", "the door is grey", "en"],
    ["WHAT COLOUR IS THE GARAGE?", "the door is grey", "en"],
    ["Does the Garage open on Monday?", "garage: weekdays", "en"],
    ["Wie alt ist die Waschmaschine?", "Seit 2014", "de"],
    ["Dr Kessler's number", "Kessler: 555", "en"],
  ])("%s: in %s", (question, passage, language) => {
    expect(lacksNames(question, passage, language)).toBe(0);
  });

  test.each([
    ["What is Isla's shoe size?", "Finn wears 31", "en"],
    ["佐藤さんの内線は?", "鈴木は内線120", "ja"],
    ["김민수 씨 전화번호", "박지훈: 555", "ko"],
  ])("%s: not in %s", (question, passage, language) => {
    expect(lacksNames(question, passage, language)).toBe(1);
  });

  test("a person of the same surname lacks half of the name", () => {
    expect(lacksNames("Phone number of Moira Pringle?", "Fergus Pringle: 555")).toBe(0.5);
    expect(lacksNames("Handynummer von Dario Petrić", "Mirko Petrić: 0151", "de")).toBe(0.5);
  });
});

test("a question of any length takes time that is linear in it", () => {
  const question = "cabin 9 and Moira Pringle, 20 mg. ".repeat(240);
  expect(lacking(question, "x".repeat(100_000))).toEqual({ codes: 1, names: 1 });
});
