// Which members of a series a question names, and which ones passages are about.

import { describe, expect, test } from "bun:test";
import { type Series, type SeriesText, seriesIn } from "../../src/retrieval/series.ts";

const ASKED_ON = Date.parse("2026-11-29T12:00:00Z");
const series = (question: string, language: string) => seriesIn(question, { language, asOf: ASKED_ON, time: null });
const passage = (text: string, happenedAt: readonly number[] = [], storedAt = ASKED_ON): SeriesText => ({
  ...{ text, happenedAt, storedAt },
});
const membersOf = (all: readonly Series[]) => all.map(({ asked }) => asked.map(({ text }) => text));
const othersIn = (question: string, text: string, language: string) =>
  series(question, language).flatMap((each) => each.othersIn(passage(text)));
const presence = (question: string, text: string, language: string) =>
  series(question, language).map(({ asked }) => asked.map((member) => member.presence(passage(text))));

describe("a neighbour is named in the words of the passage", () => {
  test.each([
    ["password of cabin 4?", "Cabin 3: heron", "en", "Cabin 3"],
    ["password of cabin four?", "Cabin 3: heron", "en", "Cabin 3"],
    ["password of cabin 4?", "Cabin three: heron", "en", "Cabin 3"],
    ["what is the code of room seven now?", "Room five has the code 8812.", "en", "Room 5"],
    ["Wie ist das Passwort von Zimmer sieben?", "Zimmer 5: kiesel", "de", "Zimmer 5"],
    ["Quel est le code du gîte douze ?", "gîte 11 : code 8841", "fr", "gîte 11"],
    ["¿Cuál es la clave de la cabaña nueve?", "Cabaña 4: garza", "es", "Cabaña 4"],
    ["Qual è la password della camera otto?", "Camera 3: airone", "it", "Camera 3"],
    ["Qual é a senha do quarto sete?", "Quarto 4: garça", "pt", "Quarto 4"],
    ["Wat is het wachtwoord van kamer zeven?", "Kamer 5: reiger", "nl", "Kamer 5"],
    ["Какой пароль в комнате семь?", "Комната 5: клён", "ru", "Комната 5"],
    ["how much was invoice BL-2317?", "invoice BL-2318 came to 412", "en", "invoice BL-2318"],
    ["how much was invoice number 2317?", "Invoice no. 2318 came to 412", "en", "Invoice no. 2318"],
    ["when do I take the 20 mg tablets?", "5 mg tablets in the morning", "en", "5 mg"],
    ["when do I take the 20mg tablets?", "one 5 milligram tablet in the morning", "en", "5 milligram"],
    ["price of part 77-B?", "part 77-A costs 12 euros", "en", "part 77-A"],
    ["who lives at number 14?", "No. 41: the Petersons", "en", "No. 41"],
    ["5G tariff price?", "4G tariff: 12 euros", "en", "4G tariff"],
    ["รหัสห้อง 9", "รหัสห้อง 3 คือ 4471", "th", "รหัสห้อง 3"],
    ["كلمة مرور الكوخ 9", "كلمة مرور الكوخ 3 هي زهرة", "ar", "الكوخ 3"],
    ["when does flight TK 1921 leave?", "TK 1903 leaves at ten", "en", "TK 1903"],
    ["who lives at 41 Larch Street?", "14 Larch Street: the plumber", "en", "14 Larch"],
    ["for whom is seat 17F?", "Seat 14C is Ravi's", "en", "Seat 14C"],
    ["what needs version 5.1?", "Version 4.2 needs Windows 10", "en", "Version 4.2"],
    ["Was bedeutet Fehler E119?", "Fehler E133: Gasregler", "de", "Fehler E133"],
    ["Wann nehme ich die 40-mg-Tabletten?", "10-mg-Tabletten: morgens", "de", "10-mg"],
    ["Passwort von Zimmer 17?", "In den Zimmern gibt es Kaffee, Zimmer 11: kiesel", "de", "Zimmer 11"],
    ["le code du gîte 12 ?", "gîte 31 : code 8841", "fr", "gîte 31"],
    ["какой пароль в домике 8?", "Домик 3: клён", "ru", "Домик 3"],
    ["8号室のパスワードは？", "3号室はkaedeです", "ja", "3号室"],
    ["請求書2219の金額は？", "請求書2203は38,000円", "ja", "請求書2203"],
    ["订单5536是什么？", "订单5510是书架", "zh", "订单5510"],
    ["주문 번호 4436은?", "주문 번호 4410은 책장", "ko", "주문 번호 4410"],
    ["8 numaralı odanın şifresi?", "3 numaralı oda: çınar", "tr", "3 numaralı"],
    ["number of Gordon Acheson?", "Call Miriam Acheson on 0144", "en", "Miriam Acheson"],
    ["number of gordon acheson?", "Miriam Acheson: 0144", "en", "Miriam Acheson"],
    ["телефон Игоря Кравцова?", "Анна Кравцова: 34", "ru", "Анна Кравцова"],
    ["鈴木さんの内線は？", "佐藤さんの内線は4410", "ja", "佐藤"],
    ["what was on 19 May 2026?", "On 12 May 2026: the bank", "en", "12 May 2026"],
    ["Wo waren wir am 28. Juli?", "Am 21. Juli im Museum", "de", "21. Juli"],
  ])("%s: %s", (question, text, language, other) => {
    expect(othersIn(question, text, language)).toContain(other);
    expect(presence(question, text, language).flat()).toContain("absent");
  });
});

describe("no neighbour", () => {
  test.each([
    ["password of cabin 4?", "Cabin 4: heron", "en"],
    ["password of cabin four?", "Cabin 4: heron", "en"],
    ["password of cabin 4?", "Cabin four: heron", "en"],
    ["Who are the two of us?", "Cabin 4: heron", "en"],
    ["Which cabins have three beds?", "Cabin 4 has 2 beds", "en"],
    ["Combien a coûté le vélo neuf ?", "Le vélo 3 a coûté 40 euros", "fr"],
    ["Di che colore sei?", "Colore 3: blu", "it"],
    ["password of cabin 4?", "The cabins were painted in 2019.", "en"],
    ["who drives truck 117, and what is his number?", "Lorne's cell is 204-555-0163", "en"],
    ["Top 3 things about the cabins", "Cabin 4: heron", "en"],
    ["when do I take the 20mg tablets?", "20 milligram: in the evening", "en"],
    ["what did the 3 of us eat?", "the 4 of us ate soup", "en"],
    ["when was the house built?", "house 12 was built in 1920", "en"],
    ["Which trips cost over 500 euros?", "The trip to Oslo cost 812 euros", "en"],
    ["where does Aunt Velma live?", "Velma Hart lives in Penzance", "en"],
    ["number of Gordon Acheson?", "Gordon Acheson: 0871", "en"],
    ["when is the swimming lesson?", "Swimming Pool: code 4471", "en"],
    ["number of miriam acheson?", "Miriam Acheson: 0144", "en"],
    ["number of Miriam Rose Acheson?", "Miriam Rose Acheson: 0144", "en"],
    ["Wo waren wir am 28. Juli?", "Am 28. Juli 2024 im Freibad", "de"],
    ["what was on 5 May 2026?", "Lunch with Salma", "en"],
    ["is the permit valid on 5 May 2027?", "The permit is valid until 30 June 2027", "en"],
    ["Gilt das Abo am 5. Mai 2027?", "Das Abo gilt bis zum 30. Juni 2027", "de"],
    ["5月5日は休みですか？", "休みは5月9日までです", "ja"],
  ])("%s: %s", (question, text, language) => {
    expect(othersIn(question, text, language)).toEqual([]);
  });
});

describe("what a question names together is one series", () => {
  test.each([
    ["passwords of cabins 4 and 9?", "en", [["cabins 4", "9"]]],
    ["passwords of cabin 4 and cabin 9?", "en", [["cabin 4", "cabin 9"]]],
    ["when do flights BA 492 and BA 487 leave?", "en", [["BA 492", "BA 487"]]],
    ["when do trains 204 and 218 leave?", "en", [["trains 204", "218"]]],
    ["Türcodes von Haus 25 und Haus 29?", "de", [["Haus 25", "Haus 29"]]],
    ["montants des factures 5534 et 5560 ?", "fr", [["factures 5534", "5560"]]],
    ["3号室と5号室のパスワードは？", "ja", [["3号室", "5号室"]]],
    ["2号房和5号房的钥匙在哪里？", "zh", [["2号房", "5号房"]]],
    ["where were we on 8 October and on 15 October?", "en", [["8 October", "15 October"]]],
    ["does flight BA 487 leave from gate B36?", "en", [["BA 487"], ["gate B36"]]],
  ] as const)("%s", (question, language, members) => {
    expect(membersOf(series(question, language))).toEqual(members as never);
  });
});

test("a member is placed, somewhere or absent", () => {
  expect(presence("password of cabin 9?", "cabin 9: heron", "en")).toEqual([["placed"]]);
  expect(presence("password of cabin 9?", "9 guests came", "en")).toEqual([["somewhere"]]);
  expect(presence("password of cabin 9?", "cabins 7 to 12: heron", "en")).toEqual([["somewhere"]]);
  expect(presence("password of cabin 9?", "cabin 19: heron", "en")).toEqual([["absent"]]);
});

test("a day is placed where a memory happened or was stored on it, in any zone", () => {
  const [day] = series("what did I eat on 5 May 2026?", "en");
  const on = (time: string) => day?.asked[0]?.presence(passage("Lunch with Salma", [Date.parse(time)]));
  expect(on("2026-05-05T23:30:00Z")).toBe("placed");
  expect(on("2026-05-04T13:00:00Z")).toBe("placed");
  expect(on("2026-05-03T13:00:00Z")).toBe("absent");
  const stored = (text: string) => day?.asked[0]?.presence(passage(text, [], Date.parse("2026-05-05")));
  expect(stored("Lunch with Salma")).toBe("placed");
  expect(stored("On 12 May: lunch with Salma")).toBe("absent");
  expect(stored("Holidays from 3 May to 9 May 2026")).toBe("somewhere");
});

test("a day that only bounds a time is no member", () => {
  const time = { from: null, to: Date.parse("2026-05-05"), expression: "before 5 May 2026" };
  expect(seriesIn("what did I eat before 5 May 2026?", { language: "en", asOf: ASKED_ON, time })).toEqual([]);
});

test("a question and a passage of any length take time that is linear in them", () => {
  const question = "cabin 9 and Moira Pringle, 20 mg on 5 May. ".repeat(190);
  const text = "cabin 4, Fergus Pringle, 5 mg on 6 May. ".repeat(2_000);
  const started = performance.now();
  const found = series(question, "en").map((each) => each.othersIn(passage(text)).length);
  expect(found.length).toBeGreaterThan(0);
  expect(performance.now() - started).toBeLessThan(60_000);
});
