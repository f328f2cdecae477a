// What a server with its shipped models answers after somebody has said that something is different now, in other words
// than before, and what it answers about a neighbour of what has changed.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type RunningServer, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** What these tests read of responses. */
interface Reply {
  readonly id: string;
  readonly status: string;
  readonly superseded_by: string | null;
  readonly answer: string;
  readonly results: readonly { readonly content: string }[];
}

async function call(method: string, path: string, body?: object): Promise<Reply> {
  const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
  const response = await fetch(`${server.url}${path}`, { method, headers, body: body && JSON.stringify(body) });
  expect(response.status, path).toBeLessThan(300);
  return (await response.json()) as Reply;
}

async function answerAfter(notes: readonly string[], query: string) {
  const userId = crypto.randomUUID();
  for (const content of notes) {
    const { id } = await call("POST", "/v1/memories", { content, userId });
    await until("it is stored", async () => (await call("GET", `/v1/memories/${id}`)).status === "completed");
  }
  const { results } = await call("POST", "/v1/memories/search", { query, userId, limit: 1 });
  return { first: results[0]?.content, ...(await call("POST", "/v1/memories/query", { query, userId })) };
}

describe("what was said last", () => {
  test.each([
    [
      "Grandpa's ward is B7 at St Columba's.",
      "Grandpa was transferred to ward D2 at St Columba's.",
      "Which ward is Grandpa in?",
    ],
    ["Our accountant is Philippa Drury.", "We switched accountants: it's Owain Pryce now.", "Who is our accountant?"],
    [
      "Choir rehearsal starts at 18:45 on Wednesdays.",
      "Choir rehearsal starts at 19:15 from this week on.",
      "When does choir rehearsal start?",
    ],
    [
      "Wir tanken immer bei der Aral an der B27.",
      "Tanken tun wir neuerdings bei der Genossenschaft, viel billiger.",
      "Wo tanken wir?",
    ],
    [
      "Le rendez-vous chez le kiné est à 10 h 30.",
      "Le rendez-vous chez le kiné est repoussé à 16 h 15.",
      "À quelle heure est le rendez-vous chez le kiné ?",
    ],
    [
      "La festa di Ginevra è al parco.",
      "La festa di Ginevra non è più al parco ma in casa di Luca.",
      "Dov'è la festa di Ginevra?",
    ],
    [
      "Mi sobrina Candela vive en Burgos.",
      "Candela se ha ido a vivir a Gijón con su novio.",
      "¿Dónde vive mi sobrina Candela?",
    ],
    ["卓球の練習は月曜の夜七時からです。", "卓球の練習は水曜の夜八時からに変わりました。", "卓球の練習はいつですか?"],
    ["家长会在周五下午三点。", "家长会改到下周一上午十点了。", "家长会是什么时候?"],
    [
      "Toplantı odası 3. katta 305 numara.",
      "Toplantı odası değişti, artık 4. katta 412 numara.",
      "Toplantı odası hangi numara?",
    ],
  ])("replaces %p", async (older, newer, query) => {
    const { first, answer } = await answerAfter([older, newer], query);
    expect(first).toBe(newer);
    expect(answer).toContain(newer);
    expect(answer).not.toContain(older);
  });
});

describe("a change of a neighbour leaves what was said", () => {
  test.each([
    ["Band A rehearses on Mondays.", "Band B now rehearses on Thursdays.", "When does band A rehearse?"],
    [
      "Der Schlüssel vom Keller hängt am Brett.",
      "Der Schlüssel vom Dachboden liegt jetzt in der Schublade.",
      "Wo ist der Schlüssel vom Keller?",
    ],
    ["Le vélo de Noé est au garage.", "Le vélo de Salomé a été déplacé à la cave.", "Où est le vélo de Noé ?"],
    [
      "Mi sobrina Candela vive en Burgos.",
      "Mi sobrina Julieta se ha mudado a Gijón.",
      "¿Dónde vive mi sobrina Candela?",
    ],
    ["Ключи от дачи висят в прихожей.", "Ключи от гаража теперь лежат в машине.", "Где ключи от дачи?"],
    ["長女のピアノは火曜日です。", "次女のピアノは木曜日に変わりました。", "長女のピアノは何曜日ですか?"],
    ["爸爸的手机号是13800112233。", "妈妈换了新手机号:13900445566。", "爸爸的手机号是多少?"],
    ["첫째 아들의 담임은 박 선생님이다.", "둘째 아들의 담임이 최 선생님으로 바뀌었다.", "첫째 아들의 담임은 누구예요?"],
  ])("of %p", async (own, neighbour, query) => {
    expect((await answerAfter([own, neighbour], query)).answer).toContain(own);
  });

  test.each([
    ["Lena is allergic to hazelnuts.", "Lena is also allergic to cats.", "What is Lena allergic to?"],
    ["Mara spielt Geige.", "Mara spielt auch Klarinette.", "Welche Instrumente spielt Mara?"],
    ["Tim isst keine Pilze.", "Tim isst keine Oliven.", "Was isst Tim nicht?"],
  ])("and one of several things replaces none: %p", async (one, other, query) => {
    const { answer } = await answerAfter([one, other], query);
    expect(answer).toContain(one);
  });
});

test("what happened at a time is told of that time, whatever happened later", async () => {
  const userId = crypto.randomUUID();
  for (const [content, occurred_at] of [
    ["Randonnée avec Basile : 21 km.", "2026-05-17"],
    ["Randonnée avec Basile : 14 km.", "2026-11-08"],
  ]) {
    const { id } = await call("POST", "/v1/memories", { content, userId, occurred_at });
    await until("it is stored", async () => (await call("GET", `/v1/memories/${id}`)).status === "completed");
  }
  const query = "Combien de kilomètres a-t-on fait en randonnée en mai ?";
  const { answer } = await call("POST", "/v1/memories/query", { query, userId, asOf: "2026-11-29T12:00:00Z" });
  expect(answer).toContain("21 km");
  expect(answer).not.toContain("14 km");
});

test("what is noted again with another number is superseded, unless it is what happened each time", async () => {
  const userId = crypto.randomUUID();
  const stored = async (content: string) => {
    const { id } = await call("POST", "/v1/memories", { content, userId });
    await until("it is stored", async () => (await call("GET", `/v1/memories/${id}`)).status === "completed");
    return id;
  };
  const supersederOf = async (id: string) => (await call("GET", `/v1/memories/${id}`)).superseded_by;
  const events = [
    ["Paid the gardener 85 pounds.", "Paid the gardener 110 pounds."],
    ["Gefietst met Maud: 33 km.", "Gefietst met Maud: 47 km."],
    ["Randonnée avec Basile : 14 km.", "Randonnée avec Basile : 21 km."],
  ];
  const ids: string[] = [];
  for (const content of events.flat()) ids.push(await stored(content));
  for (const [older, newer] of [
    ["The rent of the studio is 640 euros.", "The rent of the studio is 690 euros."],
    ["Der Code der Garage ist 5512.", "Der Code der Garage ist 9071."],
  ] as const) {
    const [first, second] = [await stored(older), await stored(newer)];
    await until("it is superseded", async () => (await supersederOf(first)) === second);
  }
  for (const id of ids) expect(await supersederOf(id)).toBeNull();
});
