// How passages are split into sentences, items of lists and rows of tables.

import { describe, expect, test } from "bun:test";
import { sentenceSpans, sentencesOf } from "../../src/answer/sentences.ts";
import { seeded } from "../support/seeded.ts";

const textsOf = (passage: string) => [...sentencesOf(passage)].map(({ text }) => text);

describe("full stops that end no sentence", () => {
  test.each([
    "Der Termin ist am 19. Juli um 9 Uhr.",
    "Das Fest beginnt am 3. Oktober und endet am 5. Oktober.",
    "Die Wohnung liegt im 3. Stock links.",
    "Er kam im 19. Jahrhundert nach Bremen.",
    "Treffen vom 1.–3. Mai in Ulm.",
    "Sie spielt in der 2. Mannschaft mit.",
    "Seit dem 1. Quartal gilt der neue Tarif.",
    "Termin: 19. Juli, 9 Uhr.",
    "Mødet er den 5. Maj kl. 10.",
    "Schůzka je 14. Října v Brně.",
    "Die Praxis ist in der Humboldtstr. 14 in Bremen.",
    "El Sr. Ruiz vive en la Av. Colón.",
    "La Sig.ra Rossi e il Dott. Bianchi sono qui.",
    "Mme. Dupont et M. Durand arrivent à 9 h.",
    "Dr. Adler is in St. Ives at 3 p.m. on Monday.",
    "Она живёт на ул. Ленина, кв. 5.",
    "Anna sitzt in Zi. 204 Haus B.",
    "Siehe Bd. III Kapitel 4.",
    "Es gilt § 3 Abs. 2 Satz 1 BGB.",
    "Voir chap. 12 Annexe B.",
    "El acuerdo es el núm. 4 Anexo II.",
    "Bydlí v č. 17 Praha 4.",
    "Mieszka przy al. 3 Maja.",
    "Смотри гл. 7 Табл. 2.",
    "Se kap. 5 Tabell 3.",
    "Take form Fm. 30 Part B.",
  ])("%s", (sentence) => {
    expect(textsOf(sentence)).toEqual([sentence]);
  });

  test.each([
    ["He scored 19. Then he left.", ["He scored 19.", "Then he left."]],
    ["Sie wurde 19. Dann zog sie um.", ["Sie wurde 19.", "Dann zog sie um."]],
    ["He ran 5 km. 12 Germans followed.", ["He ran 5 km.", "12 Germans followed."]],
    ["I met Tom. 12 Germans came.", ["I met Tom.", "12 Germans came."]],
    ["That was all. 40 Jahre later he left.", ["That was all.", "40 Jahre later he left."]],
    ["Das ist ein Hut. 12 Leute kamen.", ["Das ist ein Hut.", "12 Leute kamen."]],
    ["Room 12 is in the art. Nobody knows.", ["Room 12 is in the art.", "Nobody knows."]],
    ["Он живёт в лесу. 12 Друзей пришли.", ["Он живёт в лесу.", "12 Друзей пришли."]],
    ["The code is 4711. Keep it.", ["The code is 4711.", "Keep it."]],
    ["Das war 2019. Juli war heiß.", ["Das war 2019.", "Juli war heiß."]],
    ["鍵は青い箱です。番号は5です。", ["鍵は青い箱です。", "番号は5です。"]],
  ])("%s are two sentences", (passage, sentences) => {
    expect(textsOf(passage)).toEqual(sentences);
  });
});

describe("lines", () => {
  test("of wrapped prose are one text", () => {
    const wrapped =
      "The workshop was moved to room 220 because the heating of\nroom 114 failed on Monday morning, and nobody could repair\nit before the end of the week.";
    expect(textsOf(wrapped)).toEqual([wrapped.replaceAll("\n", " ")]);
  });

  test("of wrapped Japanese prose are joined without a space", () => {
    const line = "これは折り返された長い文章であり、途中の改行には意味がないので、空白を入れずに";
    expect(textsOf(`${line}${line}\nつなげます。`)).toEqual([`${line}${line}つなげます。`]);
  });

  test.each([
    "The ferry to the northern islands leaves from the old pier at half past\nseven, and the tickets are sold on board. Bicycles travel free of charge\nexcept in July and August.",
    "Die Fähre zu den nördlichen Inseln fährt um halb acht vom alten Anleger\nab, und Fahrkarten gibt es nur an Bord. Fahrräder fahren außer im\nSommer kostenlos mit, wenn noch Platz ist.",
    "Le bac pour les îles du nord part du vieux quai à sept heures et demie\net les billets se vendent à bord. Les vélos voyagent gratuitement sauf\nen juillet et en août.",
    "El transbordador a las islas del norte sale del muelle viejo a las siete\ny media, y los billetes se venden a bordo. Las bicicletas viajan gratis\nsalvo en julio y agosto.",
    "Паром на северные острова отходит от старого причала в половине восьмого\nутра, а билеты продаются только на борту. Велосипеды перевозят бесплатно\nкроме июля и августа.",
    "Kuzey adalarına giden vapur sabah yedi buçukta eski iskeleden kalkıyor ve\nbiletler yalnızca gemide satılıyor. Bisikletler temmuz ve ağustos dışında\nücretsiz taşınıyor.",
    "تغادر العبارة إلى الجزر الشمالية من الرصيف القديم في السابعة والنصف وتباع\nالتذاكر على متنها فقط. تنقل الدراجات مجانا إلا في شهري يوليو وأغسطس من كل\nسنة.",
    "북쪽 섬으로 가는 배는 아침 일곱 시 반에 오래된 부두에서 출발하며 표는 배에서만 판다.\n자전거는 칠월과 팔월을 빼고 무료로 실을 수 있고 자리가 없으면 다음 배를 기다려야\n한다.",
    "i went down to the old pier at half past seven because the ferry to the\nislands leaves from there, and bought a ticket on board. bicycles are free\nexcept in july.",
  ])("of wrapped prose are one text: %s", (passage) => {
    expect(textsOf(passage)).toEqual(textsOf(passage.replaceAll("\n", " ")));
  });

  test.each([
    [
      "items with marks",
      "- The blue bicycle belongs to Ines from the second floor\n- The red one belongs to Marten, who never locks it\n",
    ],
    [
      "numbered items",
      "1. Unscrew the cover at the back of the boiler carefully\n2. Take out the old filter and rinse it with cold water\n",
    ],
    [
      "items without marks",
      "Paint the fence in the back garden before the first frost\nCall Ines about the kitchen\nOrder twelve bags of the dark potting soil from the depot\nSharpen the saw\n",
    ],
    [
      "fields",
      "Name of the insured person: Ines Marten of Lower Harbour Street\nNumber of the policy: 4711-0815-2203-19\nValid until the end of the year: 2031\n",
    ],
    [
      "rows with commas",
      "Ines Marten, Lower Harbour Street 14, Bremen, 0421 555 0133\nJonas Adler, Upper Market Square 3, Oldenburg, 0441 555 0190\n",
    ],
    [
      "rows with tabs",
      "Ines Marten of Lower Harbour Street\t0421 555 0133\tBremen\nJonas Adler of Upper Market Square\t0441 555 0190\tOldenburg\n",
    ],
    [
      "log lines",
      "2031-05-04 10:00:01 the pump of the cellar started by itself\n2031-05-04 10:05:44 the pump of the cellar stopped by itself\n",
    ],
    [
      "entries of a log without times",
      "ERROR disk sda1 is nearly full, 92 percent used on host alpha\nWARN network eth0 lost 4 packets on host beta within an hour\nINFO backup of host gamma finished after 12 minutes and ok\n",
    ],
    [
      "entries of a log in small letters",
      "error disk sda1 nearly full 92 percent used on host alpha\nwarn network eth0 lost 4 packets on host beta one hour ago\ninfo backup host gamma finished after twelve minutes\n",
    ],
    [
      "addresses",
      "Ada Lovelace, 12 St James's Square, London SW1Y 4LB, England\nCharles Babbage, 1 Dorset Street, Marylebone, London W1U 4EG\nGrace Hopper, 1500 Wilson Boulevard, Arlington, Virginia 22209\n",
    ],
    [
      "notes",
      "Call the plumber about the leaking tap in the kitchen\nBuy two bags of cement and a trowel for the garden wall\nAsk Ida whether the boat is free on the second weekend\nReturn the blue ladder to Mr Olsen before his holiday\n",
    ],
    [
      "two notes",
      "Return the blue ladder to Mr Olsen before his long summer holiday\nAsk Ida whether the boat is free on the second weekend of June\n",
    ],
    [
      "German notes",
      "Kaffee mit Milch und Zucker für die Gäste aus Bremen besorgen\nFahrkarten nach Lübeck für den Ausflug am Schalter abholen\nDen Schlüssel der Werkstatt bei Frau Petersen hinterlegen\n",
    ],
    [
      "Russian notes",
      "Купить два мешка цемента и мастерок для садовой стены\nПозвонить сантехнику насчёт крана на маленькой кухне\nВернуть синюю лестницу господину Олсену до праздника\n",
    ],
    [
      "rows without separators",
      "Tiller light 10 100 20 3 in stock since the month of May\nUpstand light 11 107 21 4 in stock since the month of June\nValve light 12 114 22 5 not in stock until the next spring\n",
    ],
    [
      "rows of a workbook",
      "Room: 114, Person: Ines Marten, Key: blue, Code: 4711\nRoom: 220, Person: Jonas Adler, Key: green, Code: 2203\n",
    ],
  ])("%s stay apart", (_, passage) => {
    const lines = passage.trimEnd().split("\n");
    expect(textsOf(passage)).toHaveLength(lines.length);
    for (const [at, text] of textsOf(passage).entries()) expect(lines[at]?.replaceAll("\t", " ")).toEndWith(text);
  });

  test("a row of a table has the names of its columns", () => {
    const table =
      "| Cabin | Network | Password |\n|---|:---:|---|\n| 3 | CurlewCroft | tawny-58 |\n| 4 |  | heron-44 |\n\nSee below.";
    expect(textsOf(table)).toEqual([
      "Cabin | Network | Password",
      "Cabin: 3; Network: CurlewCroft; Password: tawny-58",
      "Cabin: 4; Password: heron-44",
      "See below.",
    ]);
  });
});

test("sentences have their places: the text at a place is the sentence, but for markup and white space", () => {
  const passage = "# Cabins\n\n- Cabin 3: tawny-58 [1]\n- Cabin 4.\tIt is   small.\n";
  const plain = (text: string) => text.replace(/\s+/g, " ").replaceAll("[1]", "(1)");
  for (const { start, end, text } of sentencesOf(passage)) expect(plain(passage.slice(start, end))).toBe(text);
  expect(textsOf(passage)).toEqual(["Cabins", "Cabin 3: tawny-58 (1)", "Cabin 4.", "It is small."]);
});

test("spans of any text are in order, do not overlap, and cover all that can be seen", () => {
  const random = seeded(7);
  const pieces = [
    "a.",
    " ",
    "\n",
    "| x |",
    "|---|---|",
    "- ",
    "19. ",
    "Juli",
    "# ",
    "。",
    "鍵",
    "\t",
    "Z: ",
    "\r\n",
    "…",
    "“",
    "word ".repeat(9),
  ];
  for (let round = 0; round < 300; round++) {
    const passage = Array.from({ length: 40 }, () => pieces[Math.floor(random() * pieces.length)]).join("");
    for (const spans of [[...sentenceSpans(passage)], [...sentencesOf(passage)]]) {
      spans.reduce((before, { start, end }) => {
        expect(start).toBeGreaterThanOrEqual(before);
        expect(end).toBeGreaterThanOrEqual(start);
        return end;
      }, 0);
    }
    const shown = [...sentenceSpans(passage)].map(({ start, end }) => passage.slice(start, end)).join("");
    expect(shown.replace(/\s/g, "")).toBe(passage.replace(/\s/g, ""));
  }
});
