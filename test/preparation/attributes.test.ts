// Tests the extracted attributes: language, type, title and tags. Attributes that the caller gave are kept.

import { describe, expect, test } from "bun:test";
import { EXTRACTED_TAGS_MAX } from "../../src/domain/extraction.ts";
import { detectLanguage } from "../../src/preparation/language.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { extractTags } from "../../src/preparation/tags.ts";
import { extractTitle } from "../../src/preparation/title.ts";
import { detectType } from "../../src/preparation/type.ts";
import { input, models } from "./fixtures/models.ts";

describe("language", () => {
  test.each([
    ["en", "The committee approved the budget for the coming year without any changes."],
    ["en", "Luis Méndez de Haro, 6th Marquis of Carpio, was a Spanish general and the minister of Felipe IV."],
    ["de", "Der Ausschuss hat den Haushalt für das kommende Jahr ohne Änderungen beschlossen."],
    ["fr", "Le comité a approuvé le budget de l'année prochaine sans aucune modification."],
    ["es", "El comité aprobó el presupuesto del próximo año sin ningún cambio."],
    ["it", "Il comitato ha approvato il bilancio per il prossimo anno senza modifiche."],
    ["pt", "O comitê aprovou o orçamento do próximo ano sem nenhuma alteração, não houve discussão."],
    ["nl", "De commissie heeft de begroting voor het komende jaar zonder wijzigingen goedgekeurd."],
    ["pl", "Komisja zatwierdziła budżet na przyszły rok bez żadnych zmian."],
    ["ru", "Комитет утвердил бюджет на следующий год без каких-либо изменений."],
    ["uk", "Комітет затвердив бюджет на наступний рік без будь-яких змін."],
    ["tr", "Komite gelecek yılın bütçesini hiçbir değişiklik yapmadan onayladı."],
    ["ar", "وافقت اللجنة على ميزانية العام المقبل دون أي تغييرات."],
    ["hi", "समिति ने अगले वर्ष के बजट को बिना किसी बदलाव के मंजूरी दे दी है।"],
    ["ja", "委員会は来年度の予算を承認しました。"],
    ["zh", "委员会批准了明年的预算。"],
    ["zh", "委员会批准了 budget 和 roadmap 的修改"],
    ["ko", "위원회는 내년 예산을 승인했습니다."],
    ["th", "คณะกรรมการอนุมัติงบประมาณสำหรับปีหน้า"],
    ["el", "Η επιτροπή ενέκρινε τον προϋπολογισμό."],
    ["he", "הוועדה אישרה את התקציב."],
  ])("%s is recognised in: %s", (language, text) => {
    expect(detectLanguage(text)).toBe(language);
  });

  test.each(["", "12345 !!", "ok", "Hola", "asdf qwer zxcv", "🎉🎉🎉"])(
    "is und if it cannot be determined: %p",
    (text) => {
      expect(detectLanguage(text)).toBe("und");
    },
  );
});

describe("type", () => {
  const prose = "The committee met on Tuesday to discuss the budget, and it was long. ";
  test.each([
    ["note", "Buy milk and call Anna."],
    ["note", "Name: Ada\nBorn: 1815\nDied: 1852\nField: mathematics"],
    ["article", prose.repeat(40)],
    ["article", `# Report\n\n${prose.repeat(20)}\n\n- one\n- two\n\n${prose.repeat(20)}`],
    ["conversation", "Ann: Hi Bob!\nBob: Hi, how are you?\nAnn: Fine, thanks.\nBob: Good."],
    ["conversation", "[10:01] Ann: Hi!\n[10:02] Bob: Hello.\n[10:03] Ann: Lunch?\n[10:04] Bob: Yes."],
    ["code", "import os\n\ndef main():\n    print(os.name)\n    return 0\n\nif __name__ == '__main__':\n    main()"],
    ["code", "const a = 1;\nfunction f(x) {\n  return x + a;\n}\nexport default f;"],
    ["code", '{\n  "name": "x",\n  "list": [\n    1,\n    2\n  ]\n}'],
    ["table", "name,age,city\nAda,36,London\nAlan,41,Wilmslow\nGrace,85,Arlington"],
    ["table", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"],
    ["list", "Groceries\n- milk\n- bread\n- eggs"],
    ["email", "From: ann@example.com\nTo: bob@example.com\nSubject: Lunch\n\nHi Bob, lunch on Friday?"],
  ])("%s (row %#)", (type, text) => {
    expect(detectType(text)).toBe(type as ReturnType<typeof detectType>);
  });
});

describe("title", () => {
  test.each([
    ["first heading", "Some preface.\n\n# **The** [Plan](http://x.org) #\n\nText.", "The Plan"],
    ["underlined heading", "The Plan\n========\n\nText.", "The Plan"],
    ["short first line", "Board meeting, May\n\nThe committee met on Tuesday.", "Board meeting, May"],
    ["first sentence", "Anna called. She wants the report by Friday. It is late.", "Anna called."],
    ["whole text when it is short", "Buy milk", "Buy milk"],
    ["list marker dropped", "- buy milk\n- buy bread", "buy milk"],
    ["subject of an email", "From: a@x.org\nTo: b@x.org\nSubject: Lunch on Friday\n\nHi!", "Lunch on Friday"],
  ])("%s", (_, text, title) => {
    expect(extractTitle(text, detectType(text))).toBe(title);
  });

  test("of a long sentence is cut at a word, to at most 80 characters", () => {
    const title = extractTitle("Considerable improvements of the pipeline were made ".repeat(5), "note");
    expect(Array.from(title).length).toBeLessThanOrEqual(80);
    expect(title).toMatch(/ (?:of|the|pipeline|were|made|improvements|Considerable)…$/);
  });

  test("is never empty for a text with visible characters", () => {
    for (const text of ["...", "🎉", "\n\n\n!", "#", "我们"]) expect(extractTitle(text, "note")).not.toBe("");
  });
});

describe("tags", () => {
  test("are the topics of a text, in lower case, without stop words", () => {
    const tags = extractTags(
      "Vector databases store embeddings. A vector database answers nearest neighbour queries. Many teams use " +
        "PostgreSQL for embeddings, and nearest neighbour search needs an index. With vector databases, PostgreSQL is optional.",
      "en",
    );
    expect(tags).toContain("nearest neighbour");
    expect(tags).toContain("postgresql");
    expect(tags.some((tag) => tag.startsWith("vector database"))).toBe(true);
    for (const tag of tags) expect(tag).toBe(tag.toLowerCase());
  });

  test.each([
    ["de", "Die Wärmepumpe senkt Kosten. Eine Wärmepumpe braucht Strom, und der Strom kommt vom Dach.", "wärmepumpe"],
    ["fr", "La pompe à chaleur réduit les coûts. Cette pompe utilise de l'électricité.", "pompe"],
    ["ru", "Тепловой насос снижает расходы. Тепловой насос использует электричество.", "тепловой насос"],
    ["ja", "言語モデルは便利です。新しい言語モデルを使います。", "言語モデル"],
    ["zh", "语言模型很重要。新的语言模型在检索中使用。", "语言模型"],
  ])("are extracted from texts in %s", (language, text, tag) => {
    expect(extractTags(text, language)).toContain(tag);
  });

  test("are at most eight, without duplicates, and none is part of another", () => {
    const tags = extractTags(
      "Alpha particles, beta decay, gamma rays, neutron stars, proton beams, quark matter, lepton number, photon flux, " +
        "gluon fields and boson masses. Neutron stars and a neutron star.",
      "en",
    );
    expect(tags.length).toBe(EXTRACTED_TAGS_MAX);
    for (const tag of tags) expect(tags.filter((other) => other.includes(tag))).toEqual([tag]);
  });

  test("are empty for a text without a topic", () => {
    for (const text of ["", "and then it was", "12 34 56", "!!!"]) expect(extractTags(text, "en")).toEqual([]);
  });
});

test("attributes that the caller gave are kept, the others are extracted", () => {
  const text = "Der Ausschuss hat den Haushalt für das kommende Jahr beschlossen.";
  const given = { title: "T", type: "memo", tags: ["x"], language: "en" };
  expect(prepare(input(text, given), models).extracted).toEqual(given);
  const { extracted } = prepare(input(text, { tags: [] }), models);
  expect(extracted).toMatchObject({ type: "note", tags: [], language: "de" });
});
