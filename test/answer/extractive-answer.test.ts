// Answers without a language model: every quote occurs in a source, and its citation refers to this source, in any
// language and for any text.

import { describe, expect, test } from "bun:test";
import { type Answer, type AnswerEvent, collectAnswer } from "../../src/answer/events.ts";
import { extractiveAnswer } from "../../src/answer/extractive-answer.ts";
import { NO_EVIDENCE_ANSWER } from "../../src/answer/no-evidence.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { seeded } from "../support/seeded.ts";
import { passage } from "./passages.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const ROUNDS = 150;
const QUOTE_UNITS_MAX = 400;
const UNBOUND = new AbortController().signal;

const ask = (question: string, passages: readonly RankedPassage[], maxSources = 8): Promise<Answer> =>
  collectAnswer(extractiveAnswer(question, passages, { maxSources, signal: UNBOUND }));

/** The quotes of an answer, each with the citation number behind it. */
function quotesOf(answer: string): readonly { readonly text: string; readonly number: number }[] {
  return [...answer.matchAll(/(.*?) \[(\d+)\](?: |$)/gsu)].map(([, text = "", number]) => ({
    text,
    number: Number(number),
  }));
}
const firstQuote = async (question: string, ...texts: readonly string[]) =>
  quotesOf(
    (
      await ask(
        question,
        texts.map((text) => passage(text)),
      )
    ).answer,
  )[0]?.text;

describe("the answer", () => {
  test("quotes the answering sentence before sentences of a better passage", async () => {
    const better = passage("The house on Mill Lane has a garden. Ada likes the smell of lavender there.", 0.6);
    const answering = passage("Nothing happened in May. Ada moved to Berlin in June 2019. She took the train.", 0.5);
    const { answer, sources, tokensUsed } = await ask("When did Ada move to Berlin?", [better, answering]);
    expect(quotesOf(answer)[0]).toEqual({ text: "Ada moved to Berlin in June 2019.", number: 1 });
    expect(sources).toEqual([
      { passage: answering, isCited: true },
      { passage: better, isCited: expect.any(Boolean) },
    ]);
    expect(tokensUsed).toBe(0);
  });

  test("says the day of a note if the question asks when and the note has no number", async () => {
    const noted = (text: string, occurredAtGiven: string | null) => {
      const found = passage(text);
      return { ...found, memory: { ...found.memory, occurredAtGiven } };
    };
    const lunch = "Had lunch with Ben at Mario's.";
    const answerTo = async (question: string, text: string, given: string | null) =>
      (await ask(question, [noted(text, given)])).answer;
    const when = "When did I have lunch with Ben?";
    expect(await answerTo(when, lunch, "2026-11-03")).toBe(`(2026-11-03) ${lunch} [1]`);
    expect(await answerTo(when, lunch, "2026-11-03T12:30:00+01:00")).toBe(`(2026-11-03) ${lunch} [1]`);
    expect(await answerTo("Wann war ich mit Ben essen?", lunch, "2026-11-03")).toBe(`(2026-11-03) ${lunch} [1]`);
    expect(await answerTo(when, lunch, null)).toBe(`${lunch} [1]`);
    expect(await answerTo("Where did I have lunch with Ben?", lunch, "2026-11-03")).toBe(`${lunch} [1]`);
    const dated = "Lunch with Ben is on 5 November.";
    expect(await answerTo(when, dated, "2026-11-03")).toBe(`${dated} [1]`);
    const long = `${lunch} ${"It rained all day. ".repeat(30)}`;
    expect(await answerTo(when, long, "2026-11-03")).toStartWith(lunch);
  });

  test("comes sentence by sentence, then the sources, then a usage of 0 tokens", async () => {
    const passages = [passage("Red kites nest in May. Red kites eat worms."), passage("Mice are what kites look for.")];
    const events: AnswerEvent[] = [];
    for await (const event of extractiveAnswer("What do red kites eat?", passages, {
      maxSources: 8,
      signal: UNBOUND,
    }))
      events.push(event);
    const types = events.map(({ type }) => type);
    expect(types.slice(-2)).toEqual(["sources", "usage"]);
    expect(types.slice(0, -2).every((type) => type === "text")).toBe(true);
    expect(types.length).toBeGreaterThan(3);
    for (const event of events) if (event.type === "text") expect(event.content).toMatch(/ \[\d\]$/);
  });

  test("is deterministic", async () => {
    const passages = ["One kite. Two kites.", "Two kites. Three kites!", "A kite?"].map((text) => passage(text));
    expect(await ask("kites", passages)).toEqual(await ask("kites", passages));
  });

  test.each([
    ["What is Lena allergic to?", "Lena is allergic to hazelnuts.", "Lena is also allergic to cats."],
    ["Was isst Tim nicht?", "Tim isst keine Pilze.", "Tim isst keine Oliven."],
    ["Quelles langues parle Nadia ?", "Nadia parle arabe.", "Nadia parle turc."],
    ["Что собирает Катя?", "Катя собирает марки.", "Катя собирает открытки."],
    ["祖母は何が好き?", "祖母は梅干しが好きだ。", "祖母は落語が好きだ。"],
    ["지수는 무엇을 좋아해?", "지수는 수영을 좋아한다.", "지수는 뜨개질을 좋아한다."],
  ])("names several things that are told in the same words: %s", async (question, first, second) => {
    const { answer } = await ask(question, [passage(first, 0.9), passage(second, 0.8)]);
    for (const text of [first, second]) expect(answer).toContain(text);
  });

  test.each([
    [
      "Which school does Ida go to?",
      "Ida goes to school in the town of Skarn.",
      "Ole goes to school in the town of Tofte.",
    ],
    ["What is the code of the shed?", "The code of the shed is 4410.", "The code of the shed is 9921."],
    ["What does Lena eat?", "Lena eats bread and cheese.", "Lena eats bread."],
  ])("does not name another one's, another number, or less: %s", async (question, first, second) => {
    const options = { maxSources: 8, language: "en", signal: UNBOUND };
    const passages = [passage(first, 0.9), passage(second, 0.8)];
    const { answer } = await collectAnswer(extractiveAnswer(question, passages, options));
    expect(quotesOf(answer).map(({ text }) => text)).toEqual([first]);
  });

  test("does not repeat a sentence", async () => {
    const { answer } = await ask("Where does Ada live?", [
      passage("Ada lives in Berlin."),
      passage("Ada lives in Berlin."),
      passage("Today Ada lives in Berlin!"),
    ]);
    expect(answer).toBe("Ada lives in Berlin. [1]");
  });

  test("adds a sentence for the part of the question that the first one leaves open", async () => {
    const { answer } = await ask("Who founded Acme and where is its headquarters?", [
      passage("Acme was founded by Grace Hopper. Acme was a company of some size. Acme was liked."),
      passage("The headquarters stands in Lisbon."),
    ]);
    const said = quotesOf(answer).map(({ text }) => text);
    expect(said).toContain("Acme was founded by Grace Hopper.");
    expect(said).toContain("The headquarters stands in Lisbon.");
  });

  test("has at most four sentences", async () => {
    const text = Array.from({ length: 30 }, (_, at) => `Kite ${at} is of the colour c${at}x${at}.`).join(" ");
    expect(quotesOf((await ask("Which kite?", [passage(text)])).answer).length).toBeLessThanOrEqual(4);
  });

  test("prefers a statement to a quoted question", async () => {
    const text = "Caroline: Which camera did you buy, Mel?\nMelanie: I went for the small Leica in the end.";
    const said = await firstQuote("Which camera did Melanie buy?", text);
    expect(said).toBe("Melanie: I went for the small Leica in the end.");
  });

  test("covers more than one part of the question", async () => {
    const founders = ["a", "b", "c", "d"].map(
      (name) => `Acme was founded in a garage by ${name}1 ${name}2 ${name}3 ${name}4 ${name}5 ${name}6.`,
    );
    const others = Array.from({ length: 60 }, (_, at) => `Sheep ${at} is fond of grass.`);
    const { answer } = await ask("Acme founded garage headquarters", [
      passage([...founders, "Its headquarters stands by the sea.", ...others].join(" ")),
    ]);
    const said = quotesOf(answer).map(({ text }) => text);
    expect(said.slice(0, 2)).toEqual([expect.stringContaining("garage"), "Its headquarters stands by the sea."]);
  });

  test("matches other forms of a word", async () => {
    expect(await firstQuote("camping", "We ate soup there. We camped by the lake.")).toBe("We camped by the lake.");
  });

  test("prefers a sentence with new words to an echo of the question", async () => {
    const text = "# The key to the shed\n\nUnder the blue pot lies the key to it.";
    expect(await firstQuote("the key to the shed", text)).toBe("Under the blue pot lies the key to it.");
  });

  test("prefers the text under a heading to the heading", async () => {
    const text = "# Holiday budget\n\nThe budget for the holiday is 1,200 euros.";
    expect(await firstQuote("What is the holiday budget?", text)).toBe("The budget for the holiday is 1,200 euros.");
  });

  const asked: readonly (readonly [question: string, text: string, answer: string])[] = [
    [
      "When was the bridge opened?",
      "The bridge was opened by the queen. The bridge was opened in 1932.",
      "The bridge was opened in 1932.",
    ],
    [
      "How many sheep has the farm?",
      "The farm has sheep of two breeds. The farm has 140 sheep in all.",
      "The farm has 140 sheep in all.",
    ],
    [
      "Who repaired the clock?",
      "The clock was repaired in spring by someone. The clock was repaired by Johann Sauter later.",
      "The clock was repaired by Johann Sauter later.",
    ],
    [
      "Wann wurde die Brücke eröffnet?",
      "Die Brücke wurde von ihr eröffnet. Die Brücke wurde 1932 eröffnet.",
      "Die Brücke wurde 1932 eröffnet.",
    ],
    ["桥是什么时候建成的？", "桥建成得很快。桥于1932年建成。", "桥于1932年建成。"],
  ];
  for (const [question, text, answer] of asked) {
    test(`prefers the expected kind of answer: ${question}`, async () => {
      expect(await firstQuote(question, text)).toBe(answer);
    });
  }
});

describe("citations", () => {
  test("are numbered by first appearance; a source keeps its number", async () => {
    const passages = [
      passage("Ravens are black birds.", 0.2),
      passage("Swans in the park are white as snow. Swans eat grass and weeds.", 0.9),
      passage("Flamingos owe their pink to what they eat.", 0.3),
    ];
    const { answer, sources } = await ask("What do swans eat, why are flamingos pink, are ravens black?", passages);
    const numbers = quotesOf(answer).map(({ number }) => number);
    let highest = 0;
    for (const number of numbers) {
      expect(number).toBeLessThanOrEqual(highest + 1);
      highest = Math.max(highest, number);
    }
    const cited = sources.filter(({ isCited }) => isCited);
    expect(cited.length).toBe(highest);
    for (const { text, number } of quotesOf(answer)) expect(cited[number - 1]?.passage.text).toContain(text);
  });

  test("cited sources come first, the other passages after them in their order", async () => {
    const passages = [
      passage("Tides."),
      passage("Clouds."),
      passage("Ada planted eleven apple trees behind the barn.", 0.9),
      passage("Rain."),
    ];
    const { sources } = await ask("How many apple trees did Ada plant?", passages);
    expect(sources.map(({ passage: { text }, isCited }) => [text.split(" ")[0], isCited])).toEqual([
      ["Ada", true],
      ["Tides.", false],
      ["Clouds.", false],
      ["Rain.", false],
    ]);
  });

  test("refer to maxSources passages at most; so does the list of sources", async () => {
    const passages = ["Kites are red.", "Kites eat worms.", "Kites nest in oaks.", "Kites sing at dawn."].map((text) =>
      passage(text),
    );
    for (const maxSources of [1, 2, 3, 4, 50]) {
      const { answer, sources } = await ask("kites", passages, maxSources);
      expect(sources.length).toBe(Math.min(maxSources, passages.length));
      expect(Math.max(...quotesOf(answer).map(({ number }) => number))).toBeLessThanOrEqual(maxSources);
    }
  });

  const lookalikes: readonly (readonly [string, string])[] = [
    ["Kites soar [3] above the hill.", "Kites soar (3) above the hill."],
    ["Kites soar [1, 2] above the hill.", "Kites soar (1, 2) above the hill."],
    ["Kites soar [1-3] and [1–3] above.", "Kites soar (1-3) and (1–3) above."],
    ["Kites soar [ 12 ] above the hill.", "Kites soar ( 12 ) above the hill."],
    ["Kites soar [[7]] above the hill.", "Kites soar [(7)] above the hill."],
    ["Kites soar [٣] above the hill.", "Kites soar (٣) above the hill."],
    ["Kites soar [sic] above [a1] the hill [ ].", "Kites soar [sic] above [a1] the hill [ ]."],
  ];
  for (const [text, quoted] of lookalikes) {
    test(`in the quoted text get round brackets: ${text}`, async () => {
      expect((await ask("kites", [passage(text)])).answer).toBe(`${quoted} [1]`);
    });
  }
});

test("a title before a quote has no brackets that read as a citation", async () => {
  const quoted = passage("It begins in the first week of May.");
  const titled = { ...quoted, memory: { ...quoted.memory, title: "Plan [1] ［2］【3】", given: ["title" as const] } };
  expect((await ask("When does the plan begin?", [titled])).answer).toBe(
    "Plan (1) (2)(3): It begins in the first week of May. [1]",
  );
});

describe("without evidence", () => {
  const nothing: Answer = { answer: NO_EVIDENCE_ANSWER, sources: [], tokensUsed: 0, state: "not_found" };
  test("the answer says so, and has no sources", async () => {
    expect(await ask("Where does Ada live?", [])).toEqual(nothing);
  });
  test("the answer is the caller's text if there is one", async () => {
    const options = { maxSources: 8, signal: UNBOUND, noEvidenceAnswer: "Nichts." };
    const { answer } = await collectAnswer(extractiveAnswer("Wo wohnt Ada?", [passage("---")], options));
    expect(answer).toBe("Nichts.");
  });
  for (const text of ["", "  \n\t ", "---", "```\n```", "| --- | --- |", "?!… – »"]) {
    test(`a passage without quotable text does not count: ${JSON.stringify(text)}`, async () => {
      expect(await ask("Where does Ada live?", [passage(text), passage(text)])).toEqual(nothing);
    });
  }
  test("a blank passage next to a good one is not cited", async () => {
    const { answer, sources } = await ask("Where does Ada live?", [passage("   ", 0.9), passage("In Rome.", 0.1)]);
    expect(answer).toBe("In Rome. [1]");
    expect(sources.map(({ isCited }) => isCited)).toEqual([true, false]);
  });
});

describe("sentences", () => {
  const firsts: readonly (readonly [name: string, question: string, text: string, quote: string])[] = [
    ["Chinese", "她在哪里工作？", "今天下雨。她在图书馆工作。明天放假。", "她在图书馆工作。"],
    ["Japanese", "猫の名前は何ですか", "犬は元気です。猫の名前はタマです。鳥もいます。", "猫の名前はタマです。"],
    [
      "Japanese over two lines",
      "猫の名前",
      `${"猫の名前は".repeat(8)}\nタマです。`,
      `${"猫の名前は".repeat(8)}タマです。`,
    ],
    ["Thai", "แมวชื่ออะไร", "แมวชื่อมะลิ", "แมวชื่อมะลิ"],
    ["Arabic", "أين تعيش ليلى؟", "الطقس جميل اليوم. تعيش ليلى في القاهرة. هل تحب القراءة؟", "تعيش ليلى في القاهرة."],
    ["emoji", "🎉", "🎉🎉🎉", "🎉🎉🎉"],
    ["titles", "Where does Dr. Smith work?", "Dr. Smith works in Leeds. It rains.", "Dr. Smith works in Leeds."],
    [
      "initials",
      "Who wrote it?",
      "It was J. R. R. Tolkien who wrote it. He smoked.",
      "It was J. R. R. Tolkien who wrote it.",
    ],
    [
      "e.g.",
      "Which tools?",
      "Bring tools, e.g. Allen keys and pliers. Go.",
      "Bring tools, e.g. Allen keys and pliers.",
    ],
    [
      "a wrapped line",
      "What is wrapped?",
      "The text is wrapped here at seventy characters\nby hand. Yes.",
      "The text is wrapped here at seventy characters by hand.",
    ],
    [
      "a bullet",
      "What about milk?",
      "- buy two loaves of bread\n- fetch milk from the farm\n- sleep",
      "fetch milk from the farm",
    ],
    ["a numbered item", "What about milk?", "1. Buy bread\n2) Fetch milk from the farm\n", "Fetch milk from the farm"],
    ["a quotation", "What about milk?", "> > Fetch milk from the farm", "Fetch milk from the farm"],
    [
      "a row of a table",
      "Population of Berlin",
      "| City | People |\n|:--|--:|\n| Rome | 2.7 |\n| Berlin | 3.7 |",
      "City: Berlin; People: 3.7",
    ],
    ["Windows lines", "milk", "Buy bread now.\r\nFetch milk from the farm.\r\n", "Fetch milk from the farm."],
  ];
  for (const [name, question, text, quote] of firsts) {
    test(`are split in: ${name}`, async () => expect(await firstQuote(question, text)).toBe(quote));
  }

  test("of more than 400 characters are quoted in part, cut at words, around the answer", async () => {
    const filler = (word: string) => `${word} `.repeat(60);
    const text = `${filler("before")}the key lies under the blue pot${filler(" after").trimEnd()}.`;
    const said = await firstQuote("Where does the key lie?", text);
    expect(said).toContain("the key lies under the blue pot");
    expect(said).toMatch(/^…(before )*the key/);
    expect(said).toMatch(/after…$/);
    expect(said?.length).toBeLessThanOrEqual(QUOTE_UNITS_MAX);
  });

  test("of more than 400 characters are not quoted twice, although their parts overlap", async () => {
    const words = Array.from({ length: 100 }, (_, at) => `w${at}`.padEnd(50, "x"));
    const { answer } = await ask("?", [passage(words.join(" "))]);
    const quoted = answer.match(/w\d+x+/g) ?? [];
    expect(quotesOf(answer).length).toBeGreaterThan(1);
    expect(new Set(quoted).size).toBe(quoted.length);
  });

  test("of exactly 400 characters are quoted whole, of 401 in part", async () => {
    const whole = "x ".repeat(200).replace(/ $/, ".");
    expect(whole.length).toBe(QUOTE_UNITS_MAX);
    expect(await firstQuote("x", whole)).toBe(whole);
    expect(await firstQuote("x", `a${whole}`)).toContain("…");
  });

  test("are never cut within a character", async () => {
    for (const unit of ["👩‍👩‍👧‍👦", "😀", "e\u0301", "ก็", "字"]) {
      const { answer } = await ask("?", [passage(unit.repeat(1_500))]);
      for (const { text } of quotesOf(answer)) expect(text.replaceAll(unit, "")).toMatch(/^…{0,2}$/);
    }
  });

  test("of a long text are processed in several turns of the event loop", async () => {
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await ask("Where does the key lie?", [passage("The key lies under the blue pot today. ".repeat(3_000))]);
    isDone = true;
    expect(turns).toBeGreaterThan(5);
  });
});

describe(`for any passages and question (seed ${SEED})`, () => {
  const chance = seeded(SEED);
  const below = (count: number) => Math.floor(chance() * count);
  const FRAGMENTS = [
    ..."Ada moved to Berlin. |Really? |e.g. |[3] |[1, 2]|see [ 4 ]. |\n|\n\n|- item |# Head\n|1. |`code` |```\n|---\n".split(
      "|",
    ),
    ..."| cell |; * ;他在北京工作。;いつですか？;สวัสดีครับ;مرحبا بالعالم. ;🎉;👩‍👩‍👧‍👦;e\u0301;\u2028;[;];(;[1;2];\u0000;…".split(
      ";",
    ),
    "word ".repeat(120),
    "x".repeat(900),
    "在".repeat(450),
  ];
  const text = (most: number) =>
    Array.from({ length: below(most) }, () => FRAGMENTS[below(FRAGMENTS.length)] ?? "").join("");

  test("every citation refers to a cited source with the quote, and nothing else looks like a citation", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const passages = Array.from({ length: below(9) }, () => passage(text(14), chance()));
      const maxSources = 1 + below(9);
      const { answer, sources, tokensUsed } = await ask(text(5), passages, maxSources);
      const cited = sources.filter(({ isCited }) => isCited);
      const numbers = [...answer.matchAll(/\[[\s\p{Nd},;-]+\]/gu)].map(([found]) => found);
      const quotes = quotesOf(answer);

      expect(tokensUsed).toBe(0);
      expect(sources.length).toBe(cited.length === 0 ? 0 : Math.min(maxSources, passages.length));
      expect(new Set(sources.map((source) => source.passage)).size).toBe(sources.length);
      expect(sources.slice(0, cited.length)).toEqual(cited);
      if (cited.length === 0) {
        expect(answer).toBe(NO_EVIDENCE_ANSWER);
        continue;
      }
      expect(numbers.filter((found) => /\d/.test(found))).toEqual(quotes.map(({ number }) => `[${number}]`));
      expect([...new Set(quotes.map(({ number }) => number))]).toEqual(cited.map((_, at) => at + 1));
      expect(quotes.length).toBeLessThanOrEqual(4);
      for (const { text: quote, number } of quotes) {
        expect(quote.length).toBeLessThanOrEqual(QUOTE_UNITS_MAX);
        expect(quote).not.toMatch(/[\n\r\u2028]/);
        expect(bare(cited[number - 1]?.passage.text ?? "")).toContain(bare(quote));
      }
    }
  });

  // Removes everything that quoting may add or remove: white space, numbers, brackets, Markdown, ellipses of cuts.
  function bare(quote: string): string {
    return quote.replace(/[\s\d[\]().,;|#>*…`-]/g, "");
  }
});
