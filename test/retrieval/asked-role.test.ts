// Which questions ask for what an assistant said, in the words of many languages.
//
// asked-role/chosen-on.tsv and asked-role/unseen.tsv: invented questions in 23 languages. A line holds the language,
// `+` or `-` (asks or does not ask for it), and the question. Words of the lists may be chosen on the first file only.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { asksForAssistant } from "../../src/retrieval/asked-role.ts";

const SHARE_MIN = 0.97;

describe.each(["chosen-on.tsv", "unseen.tsv"])("of the questions in %s", (file) => {
  const lines = readFileSync(join(import.meta.dir, "asked-role", file), "utf8")
    .trim()
    .split("\n");
  const questions = lines.map((line) => {
    const [language = "", sign, query = ""] = line.split("\t");
    return { language, isAsking: sign === "+", query };
  });
  test.each([
    ["that ask for what the assistant said are recognised", true],
    ["that do not are left alone", false],
  ])(`${SHARE_MIN} of those %s`, (_, isAsking) => {
    const group = questions.filter((question) => question.isAsking === isAsking);
    const wrong = group.filter(({ query, language }) => asksForAssistant(query, language) !== isAsking);
    expect(group.length).toBeGreaterThan(120);
    expect({ wrong, isEnough: wrong.length <= (1 - SHARE_MIN) * group.length }).toMatchObject({ isEnough: true });
  });
});

const asking: readonly (readonly [language: string, query: string, asks: boolean])[] = [
  ["en", "What did you suggest for the roof?", true],
  ["en", "Can you tell me where my flat is?", false],
  ["en", "In which month did I tell you about the roof?", false],
  ["en", "How would you paint the roof?", false],
  ["en", "According to your estimate, what does the roof cost?", true],
  ["en", "What does the roof cost?", false],
  ["de", "Was hast du mir für das Dach empfohlen?", true],
  ["de", "Kannst du mir sagen, wann das Dach fertig wird?", false],
  ["fr", "Quel couvreur m'avais-tu conseillé ?", true],
  ["fr", "Quel est le prix du toit ?", false],
  ["es", "¿Qué tejas me recomendaste?", true],
  ["es", "¿En qué consiste el tejado?", false],
  ["it", "Quale tetto mi hai consigliato?", true],
  ["pl", "Jaki dach mi poleciłaś?", true],
  ["ja", "あなたはどの屋根を勧めましたか", true],
  ["ja", "屋根はいくらですか", false],
  ["zh", "你建议我用什么屋顶?", true],
  ["zh", "你能告诉我屋顶多少钱吗?", false],
  ["ru", "Какую крышу ты мне советовал?", true],
  ["ru", "Какая у меня крыша?", false],
  ["und", "", false],
];
for (const [language, query, asks] of asking) {
  test(`${JSON.stringify(query)} ${asks ? "asks" : "does not ask"} for it`, () => {
    expect(asksForAssistant(query, language)).toBe(asks);
  });
}
test("words of single languages do not count where the language is unknown", () => {
  expect(asksForAssistant("Salı gününe kaç set koydun?", "tr")).toBe(true);
  expect(asksForAssistant("Aladdin and Saladdin?", "und")).toBe(false);
  expect(asksForAssistant("Aladdin and Saladdin?", "en")).toBe(false);
  expect(asksForAssistant("Was hast du empfohlen?", "und")).toBe(true);
});

test("a capital letter tells the polite form", () => {
  expect(asksForAssistant("Wann haben Sie das berechnet?", "de")).toBe(true);
  expect(asksForAssistant("Wann haben sie das berechnet?", "de")).toBe(false);
});

test("a question that is a whole document is read in milliseconds", () => {
  const long = "I told my neighbour about the roof and the tiles. ".repeat(164);
  expect(asksForAssistant(long, "en")).toBe(false);
  expect(asksForAssistant(`${long} What did you say?`, "en")).toBe(true);
});
