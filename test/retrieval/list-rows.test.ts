// Which pairs of notes are rows of one list, and which may be corrections.

import { describe, expect, test } from "bun:test";
import { areRowsOfList } from "../../src/retrieval/list-rows.ts";
import { placedWords } from "../../src/retrieval/substitutes.ts";

const areRows = (language: string, older: string, newer: string) =>
  areRowsOfList(placedWords({ text: older, language }), placedWords({ text: newer, language }));

describe("rows of a list", () => {
  test.each([
    ["en", "Bus 7 to Lund leaves at 8:15.", "Bus 9 to Lund leaves at 9:15."],
    ["en", "7 Lund 8:15", "9 Lund 9:15"],
    ["en", "Ann's shift starts at 8.", "Bob's shift starts at 9."],
    ["en", "Rent is 850 euros and the deposit is 1700.", "Rent is 600 euros and the deposit is 1200."],
    ["de", "Linie 4 zum Hafen fährt um 7:10 Uhr ab.", "Linie 6 zum Hafen fährt um 7:40 Uhr ab."],
    ["fr", "Le casier 12 contient 30 lampes.", "Le casier 15 contient 8 lampes."],
    ["es", "La taquilla 21 se abre con 4410.", "La taquilla 33 se abre con 9052."],
    ["pl", "Szafka 21 otwiera się kodem 4410.", "Szafka 33 otwiera się kodem 9052."],
    ["ru", "Ключ 5 открывает дверь 12.", "Ключ 6 открывает дверь 19."],
    ["ar", "الحافلة ٧ إلى جدة تغادر في ٨:١٥.", "الحافلة ٩ إلى جدة تغادر في ٩:١٥."],
    ["ja", "ルンド行きの7番バスは8時15分に出ます。", "ルンド行きの9番バスは9時15分に出ます。"],
    ["zh", "7号柜子的密码是4410。", "9号柜子的密码是9052。"],
    ["ko", "7번 버스는 룬드로 8시 15분에 출발한다.", "9번 버스는 룬드로 9시 15분에 출발한다."],
  ])("%s: %s %s", (language, older, newer) => {
    expect(areRows(language, older, newer)).toBeTrue();
  });
});

describe("no rows", () => {
  test.each([
    ["en", "The bus to Lund leaves at 8:15.", "The bus to Lund leaves at 9:40."],
    ["en", "The dentist is on Monday at 3 pm.", "The dentist is on Thursday at 5 pm."],
    ["en", "The meeting is on 3 May at 14:00.", "The meeting is on 5 May at 15:30."],
    ["en", "The shop opens at 9:00 and closes at 17:00.", "The shop opens at 8:30 and closes at 16:00."],
    ["en", "Our car is a blue Golf, plate AB 123.", "Our car is a red Polo, plate CD 456."],
    ["en", "My dentist is Dr Fenwick in Mill Street.", "My dentist is Dr Osgood in Park Street."],
    ["en", "The alarm code of the shop is 6650.", "The alarm code of the shop is 1294."],
    ["de", "Die Probe ist am 3. Mai um 19:00 Uhr.", "Die Probe ist am 8. Juni um 20:00 Uhr."],
    ["es", "La cita es el 3 de mayo a las 9:00.", "La cita es el 8 de junio a las 10:30."],
    ["ja", "会議は月曜日の9時からです。", "会議は水曜日の10時からです。"],
    ["en", "We live in Lund.", "Sold the house. We moved to 12 Mill Street, number 4."],
    ["en", "", "Bus 9 to Lund leaves at 9:15."],
  ])("%s: %s %s", (language, older, newer) => {
    expect(areRows(language, older, newer)).toBeFalse();
  });
});
