// Which notes are about one occasion of what happens every week.

import { expect, test } from "bun:test";
import { isExceptionOf } from "../../../src/retrieval/time/occasions.ts";

const isException = (language: string, older: string, newer: string) =>
  isExceptionOf({ text: older, language }, { text: newer, language });

test.each([
  ["en", "Pilates is on Mondays at the chapel hall.", "This Monday Pilates is at the school."],
  ["en", "I swim on Friday evenings.", "I stayed at home last Friday."],
  ["de", "Samstags esse ich immer bei Oma.", "Diesen Samstag war ich bei Tante Hilde."],
  ["fr", "Le mardi, je prends le bus.", "Mardi dernier j'ai pris le taxi."],
  ["es", "Los jueves ceno a las nueve.", "Este jueves cené a las once."],
  ["ja", "水曜日はいつもカレーを食べます。", "今週の水曜日は外で寿司を食べました。"],
])("%s: an exception: %s %s", (language, older, newer) => {
  expect(isException(language, older, newer)).toBeTrue();
});

test.each([
  ["en", "Pilates is on Mondays at the chapel hall.", "From now on Pilates is on Thursdays."],
  ["en", "Pilates is on Mondays at the chapel hall.", "Since last Thursday Pilates is at the school."],
  ["en", "We met last Monday.", "We met this Monday."],
  ["fr", "J'habite rue des Tanneurs.", "J'ai emménagé quai Vauban samedi dernier."],
  ["de", "Der Chor probt am Montag.", "Der Chor probt jetzt am Montag im Pfarrsaal."],
  ["en", "", "This Monday"],
])("%s: no exception: %s %s", (language, older, newer) => {
  expect(isException(language, older, newer)).toBeFalse();
});
