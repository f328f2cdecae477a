// Tests that tags are up to eight key phrases: complete expressions that are topics in their language, without
// duplicates.

import { describe, expect, test } from "bun:test";
import { EXTRACTED_TAGS_MAX } from "../../src/domain/extraction.ts";
import { extractTags } from "../../src/preparation/tags.ts";

test("names are complete, including the small words inside them", () => {
  const tags = extractTags(
    "The treaty was signed in New York by the World Health Organization, near Charles de Gaulle Airport and the United States embassy.",
    "en",
  );
  expect(tags).toEqual(
    expect.arrayContaining([
      "new york",
      "world health organization",
      "charles de gaulle airport",
      "united states embassy",
    ]),
  );
});

test("an expression that occurs once is taken as a whole or not at all", () => {
  const tags = extractTags(
    "Bees maintain the homeostatic tissue regeneration. It involves multiple anatomical sites.",
    "en",
  );
  expect(tags).toContain("homeostatic tissue regeneration");
  for (const part of ["homeostatic tissue", "tissue regeneration", "maintain homeostatic", "involves multiple"]) {
    expect(tags).not.toContain(part);
  }
});

describe("no two tags are duplicates", () => {
  test.each([
    ["plural", "The gene is old. Genes are long. A synthetic gene is new. Synthetic genes are rare."],
    ["hyphen", "Heat transfer matters. The heat-transfer coefficient rises. Heat transfer again, heat-transfer again."],
    ["acronym", "Hematopoietic stem cells (HSCs) divide. HSCs rest. Hematopoietic stem cells age, and HSCs die."],
    [
      "overlap",
      "World health organization choosing it. The world health organization. Health organization choosing again.",
    ],
  ])("%s", (_, text) => {
    const tags = extractTags(text, "en");
    const stems = tags.map((tag) => tag.split(/[ -]/).map((word) => word.replace(/s$/, "")));
    for (const [at, one] of stems.entries()) {
      for (const other of stems.slice(at + 1))
        expect(one.filter((stem) => other.includes(stem)).length).toBeLessThan(Math.min(one.length, other.length, 2));
    }
    expect(tags.includes("hscs") && tags.includes("hematopoietic stem cells")).toBe(false);
  });
});

test.each([
  [
    "en",
    "In March 2026, two million people quickly moved, and it was considered relatively expected by three of them.",
  ],
  ["de", "Am Montag im Januar kamen zwei Millionen, und das dauerte drei Tage und vier Wochen."],
  ["fr", "En janvier, deux millions, et pendant trois semaines, puis quatre ans."],
])("dates, numbers and verbs are not tags (%s)", (language, text) => {
  for (const tag of extractTags(text, language)) {
    expect(tag).not.toMatch(
      /march|2026|million|quickly|considered|relatively|expected|januar|montag|tage|wochen|janvier|semaine|\bans\b/,
    );
  }
});

test("a German tag is a noun", () => {
  const tags = extractTags(
    "Die Wärmepumpe läuft leise und heizt das Haus. Im Winter braucht die Wärmepumpe mehr Strom, doch die Kosten bleiben niedrig.",
    "de",
  );
  expect(tags).toContain("wärmepumpe");
  for (const tag of tags) expect(tag).not.toMatch(/läuft|leise|heizt|braucht|bleiben|niedrig$/);
});

test.each([
  ["fr", "L'électricité coûte cher. Le prix de l'électricité monte, et l'électricité manque.", "électricité"],
  ["it", "L'energia costa. Il prezzo dell'energia sale, e l'energia manca all'industria.", "energia"],
])("an elided article is not part of a tag (%s)", (language, text, tag) => {
  const tags = extractTags(text, language);
  expect(tags).toContain(tag);
  for (const each of tags) expect(each).not.toMatch(/['’]/);
});

test("a phrase that occurs only inside a longer one is not a tag, in scripts without spaces too", () => {
  expect(extractTags("การประชุมคณะกรรมการบริหาร การประชุมคณะกรรมการบริหาร", "th")).toEqual(["ประชุมคณะกรรมการ"]);
  const chinese = "机器学习模型训练需要数据。机器学习模型训练很慢。";
  expect(extractTags(chinese, "zh")).not.toContain("模型训练");
  expect(extractTags(`${chinese}模型训练失败。`, "zh")).toContain("模型训练");
});

test.each([
  ["zh", "向量数据库存储文本的向量。检索时，向量数据库比较这些向量，然后返回最相近的文本。"],
  ["ja", "ベクトルデータベースは文章のベクトルを保存します。検索のときはベクトルデータベースを使います。"],
  ["th", "ฐานข้อมูลเวกเตอร์เก็บเวกเตอร์ของข้อความ การค้นหาใช้ฐานข้อมูลเวกเตอร์เพื่อหาข้อความที่ใกล้เคียง"],
])("tags in scripts without spaces have at least two characters (%s)", (language, text) => {
  const tags = extractTags(text, language);
  expect(tags.length).toBeGreaterThan(0);
  for (const tag of tags) expect(Array.from(tag).length).toBeGreaterThanOrEqual(2);
});

test("Thai and Korean function words are not tags", () => {
  const thai = extractTags("สะพานข้ามแม่น้ำแควใหญ่ในจังหวัดกาญจนบุรีเป็นสะพานรถไฟที่สร้างในสมัยสงครามโลกครั้งที่สอง", "th");
  expect(thai).toContain("จังหวัดกาญจนบุรี");
  for (const grammar of ["ใน", "ที่", "เป็น"]) expect(thai).not.toContain(grammar);
  const korean = extractTags("그리고 함부르크 필하모니 때문에 함부르크 필하모니 그러나 여기서", "ko");
  expect(korean).toEqual(["함부르크 필하모니"]);
});

test("markup, addresses and numbers are not tags", () => {
  const text = '<p class="x">12 &nbsp; 34</p> https://example.org/path someone@example.org 2026-11-21 ```ts\n``` 42';
  expect(extractTags(text, "en")).toEqual([]);
});

test("hostile texts give well-formed tags in reasonable time", () => {
  for (const piece of ["<", "a", "a ", "A ", "de ", "l'", "a-", "a@", "\0", "\ud800", "字", "ก", "New York of "]) {
    const tags = extractTags(piece.repeat(100_000), "fr");
    expect(tags.length).toBeLessThanOrEqual(EXTRACTED_TAGS_MAX);
    for (const tag of tags) expect(tag.isWellFormed()).toBe(true);
  }
});
