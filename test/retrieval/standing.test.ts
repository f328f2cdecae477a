// Which passages hold beyond their subject, and how they are offered to queries for advice or work.

import { describe, expect, test } from "bun:test";
import type { ChunkKey, MemoryKey } from "../../src/domain/ids.ts";
import type { Standing } from "../../src/domain/ranking.ts";
import type { Candidate, Hydrated } from "../../src/retrieval/candidate.ts";
import {
  asksForWork,
  offerStanding,
  offersStanding,
  standingOf,
  standingOfPassage,
} from "../../src/retrieval/standing.ts";
import { completedMemory } from "../support/memory.ts";

test.each<[language: string, text: string, kind: Standing | null]>([
  ["en", "Always answer in bullet points.", "instruction"],
  ["en", "Thanks. From now on call me Alex.", "instruction"],
  ["en", "Never suggest dairy, please.", "instruction"],
  ["en", "Whenever you give me a price, add the tax.", "instruction"],
  ["en", "I prefer window seats.", "preference"],
  ["en", "I'm packing, and I hate wheeled bags, so what should I take?", "preference"],
  ["en", "I love that idea!", null],
  ["en", "I always forget my keys.", null],
  ["en", "Did you never suggest dairy?", null],
  ["en", "My flat is in Lund.", null],
  ["de", "Antworte immer in Stichpunkten.", "instruction"],
  ["de", "Ab jetzt nenn mich Alex.", "instruction"],
  ["de", "Ich sitze lieber am Gang.", "preference"],
  ["de", "Ich hasse Spinat.", "preference"],
  ["de", "Meine Wohnung ist in Lund.", null],
  ["fr", "Désormais, réponds en phrases courtes.", "instruction"],
  ["fr", "Je déteste les épinards.", "preference"],
  ["fr", "Mon appartement est à Lund.", null],
  ["es", "A partir de ahora llámame Alex.", "instruction"],
  ["es", "No me gustan las espinacas.", "preference"],
  ["es", "Mi piso está en Lund.", null],
  ["it", "D'ora in poi chiamami Alex.", "instruction"],
  ["it", "Preferisco il posto al finestrino.", "preference"],
  ["it", "Il mio appartamento è a Lund.", null],
  ["pt", "A partir de agora me chame de Alex.", "instruction"],
  ["pt", "Eu prefiro o assento da janela.", "preference"],
  ["pt", "Meu apartamento fica em Lund.", null],
  ["nl", "Noem me vanaf nu Alex.", "instruction"],
  ["nl", "Ik zit het liefst bij het raam.", "preference"],
  ["nl", "Mijn flat is in Lund.", null],
  ["pl", "Od teraz mów mi Alex.", "instruction"],
  ["pl", "Nie lubię szpinaku.", "preference"],
  ["pl", "Moje mieszkanie jest w Lund.", null],
  ["ru", "Впредь зови меня Алекс.", "instruction"],
  ["ru", "Я не люблю шпинат.", "preference"],
  ["ru", "Моя квартира в Лунде.", null],
  ["tr", "Bundan sonra bana Alex de.", "instruction"],
  ["tr", "Pencere kenarını tercih ederim.", "preference"],
  ["tr", "Dairem Lund'da.", null],
  ["ar", "من الآن فصاعدا نادني أليكس.", "instruction"],
  ["ar", "أكره السبانخ.", "preference"],
  ["ar", "شقتي في لوند.", null],
  ["hi", "आगे से मुझे एलेक्स बुलाना।", "instruction"],
  ["hi", "मुझे पालक पसंद नहीं।", "preference"],
  ["hi", "मेरा घर लुंड में है।", null],
  ["ja", "今後は箇条書きで答えてください。", "instruction"],
  ["ja", "窓側の席が好きです。", "preference"],
  ["ja", "家はルンドにあります。", null],
  ["zh", "从现在起请叫我小艾。", "instruction"],
  ["zh", "我喜欢靠窗的座位。", "preference"],
  ["zh", "我的公寓在隆德。", null],
  ["ko", "앞으로 나를 알렉스라고 불러.", "instruction"],
  ["ko", "나는 창가 자리를 좋아해.", "preference"],
  ["ko", "내 집은 룬드에 있어.", null],
  ["und", "Never suggest dairy.", "instruction"],
  ["en", "", null],
])("%s: %p is %p", (language, text, kind) => {
  expect(standingOf(text, language)).toBe(kind);
});

test.each<[language: string, query: string, asks: boolean]>([
  ["en", "What should I cook tonight?", true],
  ["en", "Plan a weekend in Porto.", true],
  ["en", "Can you recommend a book?", true],
  ["en", "When is my flight?", false],
  ["en", "Who is the treasurer?", false],
  ["de", "Schlag ein Abendessen vor.", true],
  ["de", "Wann geht mein Flug?", false],
  ["fr", "Comment organiser la fête ?", true],
  ["fr", "Comment s'appelle la maire ?", false],
  ["es", "¿Cómo puedo ahorrar?", true],
  ["es", "¿Cómo cambió la medicación?", false],
  ["ja", "夕食を提案して", true],
  ["ja", "便名は何ですか", false],
  ["zh", "帮我写一封信", true],
  ["zh", "航班几点起飞", false],
])("%s: %p asks for work: %p", (language, query, asks) => {
  expect(asksForWork(query, language)).toBe(asks);
});

const RULE = "Never suggest dairy.";

function passageOf(key: number, text: string, speaker?: string): Hydrated {
  const label = speaker === undefined ? "" : `${speaker}: `;
  const turn = speaker === undefined ? {} : { turn: { session: 0, speaker, date: null, labelUnits: label.length } };
  const place = { ordinal: 0, start: 0, end: 1, headings: [], ...turn };
  const memory = completedMemory({ key: BigInt(key) as MemoryKey, language: "en" });
  return { memory, passage: { chunkKey: BigInt(key) as ChunkKey, text: label + text, place } };
}

describe("the kind of a passage", () => {
  test("is shown for turns of users and for notes", () => {
    expect(standingOfPassage(passageOf(1, RULE, "user"))).toBe("instruction");
    expect(standingOfPassage(passageOf(1, RULE))).toBe("instruction");
  });
  test("is not shown for turns of an assistant or a person, documents and long notes", () => {
    expect(standingOfPassage(passageOf(1, RULE, "assistant"))).toBe(null);
    expect(standingOfPassage(passageOf(1, RULE, "Ada"))).toBe(null);
    expect(standingOfPassage(passageOf(1, RULE + " Really.".repeat(200)))).toBe(null);
    const upload = passageOf(1, RULE);
    const source = { filename: "rules.txt", media_type: "text/plain", bytes: 20 };
    expect(standingOfPassage({ ...upload, memory: { ...upload.memory, source } })).toBe(null);
  });
});

describe("standing passages are offered", () => {
  /** Keys in the order of the results, for candidates 1 to `count` of which some are standing. */
  function offered(query: string, limit: number, standing: readonly number[], count = 40) {
    const keys = Array.from({ length: count }, (_, at) => at + 1);
    const hydrated = new Map(
      keys.map((key) => [BigInt(key), passageOf(key, standing.includes(key) ? RULE : "The roof is red.", "user")]),
    );
    const candidates = keys.map((key): Candidate => {
      const [chunkKey, memoryKey] = [BigInt(key) as ChunkKey, 1n as MemoryKey];
      return { chunkKey, memoryKey, signals: {}, hybridScore: -key, finalScore: -key };
    });
    const ordered = offersStanding(query, "en", limit) ? offerStanding(candidates, hydrated, limit) : candidates;
    expect(ordered.length).toBe(count);
    for (const [at, { finalScore }] of ordered.slice(1, 10).entries()) {
      expect(finalScore).toBeLessThanOrEqual(ordered[at]?.finalScore ?? Number.NaN);
    }
    return ordered.map(({ chunkKey }) => Number(chunkKey));
  }
  const COOK = "What should I cook tonight?";

  test("at the end of the first ten results, two at most", () => {
    expect(offered(COOK, 10, [20, 30, 35]).slice(0, 13)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 20, 30, 9, 10, 11]);
    expect(offered(COOK, 100, [20]).slice(0, 11)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 10]);
  });
  test("never among the first three", () => {
    expect(offered(COOK, 5, [20, 30]).slice(0, 6)).toEqual([1, 2, 3, 20, 30, 4]);
    expect(offered(COOK, 4, [20, 30]).slice(0, 5)).toEqual([1, 2, 3, 20, 4]);
    expect(offered(COOK, 3, [20, 30]).slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
  });
  test("and passages that are there anyway keep their places", () => {
    expect(offered(COOK, 10, [2, 7]).slice(0, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(offered(COOK, 10, [9], 9)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
  test("not to a query for a fact, or for what the assistant said", () => {
    for (const query of ["When is my flight?", "What did you suggest for dinner?"]) {
      expect(offered(query, 10, [20]).slice(0, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
  });
});
