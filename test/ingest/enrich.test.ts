// What smart ingestion promises: one question per memory for what its caller did not give, tokens within the project's
// day, and whatever the language model does, a memory that is completed and no other memory that waits for it.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { MemoryDraft } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS, type ProjectSettings } from "../../src/domain/project.ts";
import { CALLS_MAX } from "../../src/ingest/enrich/gate.ts";
import { type LlmAnswer, LlmError, type LlmRequest, type LlmUsage } from "../../src/ports/language-model.ts";
import { DESCRIPTION } from "../support/llm.ts";
import { until } from "../support/until.ts";
import { Gate, openWorkshop, type Workshop } from "./workshop.ts";

const { title, type, tags, language } = DESCRIPTION;
const FOUND = { title, type, tags, language };
const GIVEN = { title: "Given", type: "given", tags: ["given"], language: "fr" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** What the model is asked, and how it answers. */
let asked: LlmRequest[];
let answer: (request: LlmRequest, signal: AbortSignal) => Promise<string> | string;
let usage: LlmUsage;
let shop: Workshop;

const complete = async (request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer> => {
  asked.push(request);
  return { text: await answer(request, signal), usage };
};

beforeEach(async () => {
  asked = [];
  answer = () => JSON.stringify(DESCRIPTION);
  usage = { prompt: 100, completion: 20 };
  shop = await openWorkshop({ complete });
});
afterEach(() => shop.close());

function change(settings: Partial<ProjectSettings>): void {
  shop.accounts.changeProject(shop.projectId, { settings: { ...DEFAULT_SETTINGS, ...settings } });
}

const limit = (tokens: number | null) => change({ smart_ingestion: { enabled: true, daily_token_limit: tokens } });

async function stored(draft: MemoryDraft) {
  const [memory] = shop.accept(draft);
  return shop.settled(memory);
}

const extractionOf = async (draft: MemoryDraft) => {
  const { state } = await stored(draft);
  return state.status === "completed" ? state.extraction : state.status;
};

/** The fields that a request asks for, entities and relations aside. */
const fieldsOf = (request: LlmRequest | undefined) =>
  ((request?.schema?.schema.required ?? []) as readonly string[]).filter(
    (name) => !/^(entities|relations)$/.test(name),
  );

describe("a memory", () => {
  test("of which nothing was given has what the model found, by one question", async () => {
    expect(await stored({ content: "Some text." })).toMatchObject({ ...FOUND, state: { extraction: "llm" } });
    expect(asked.length).toBe(1);
    expect(fieldsOf(asked[0])).toEqual(["title", "type", "tags", "language"]);
    expect(asked[0]).toMatchObject({ temperature: 0, endpoint: { model: "a test's", isTrusted: true } });
  });

  for (const field of ["title", "type", "tags", "language"] as const) {
    test(`that was given its ${field} keeps it, and is asked about for the rest`, async () => {
      const memory = await stored({ content: "Some text.", [field]: GIVEN[field] });
      expect(memory).toMatchObject({ ...FOUND, [field]: GIVEN[field] });
      expect(fieldsOf(asked[0])).not.toContain(field);
      expect(fieldsOf(asked[0])).toHaveLength(3);
    });
  }

  test("that was given no tags, an empty list, has none", async () => {
    expect((await stored({ content: "Some text.", tags: [] })).tags).toEqual([]);
  });

  test("that was given everything is not asked about", async () => {
    expect(await extractionOf({ content: "Some text.", ...GIVEN })).toBe("caller");
    expect(asked).toEqual([]);
  });

  test("of a project without smart ingestion, or without a model, is extracted locally", async () => {
    change({ smart_ingestion: { enabled: false, daily_token_limit: null } });
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    await shop.close();
    shop = await openWorkshop();
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    expect(asked).toEqual([]);
  });

  test("of a project with its own model is asked about there, without the operator's key", async () => {
    const llm = { ...DEFAULT_SETTINGS.llm, base_url: "http://own.test", model: "own", max_output_tokens: 50 };
    change({ llm });
    await stored({ content: "Some text." });
    const endpoint = { baseUrl: "http://own.test", model: "own", apiKey: null, isTrusted: false };
    expect(asked[0]).toMatchObject({ endpoint, outputTokensMax: 50 });
  });

  test("has its found title before its text where it is embedded", async () => {
    const embedded: string[] = [];
    shop.embedder.before = (texts) => {
      embedded.push(...texts);
    };
    await stored({ content: "Some text." });
    expect(embedded.some((text) => text.includes(title))).toBe(true);
  });

  test("given meanwhile what was asked for keeps what was given", async () => {
    const gate = new Gate();
    answer = async () => {
      await gate.pass();
      return JSON.stringify(DESCRIPTION);
    };
    const [memory] = shop.accept({ content: "Some text." });
    await until("the model is asked", () => gate.waiting === 1);
    shop.memories.change(shop.projectId, memory.id, { title: "Given" });
    gate.open();
    expect(await shop.settled(memory)).toMatchObject({ ...FOUND, title: "Given" });
  });
});

describe("a reply that is of no use", () => {
  test("is asked for once more, with what is wrong with it", async () => {
    answer = ({ messages }) => (messages.length === 2 ? "I would rather not." : JSON.stringify(DESCRIPTION));
    expect(await stored({ content: "Some text." })).toMatchObject({ ...FOUND, state: { extraction: "llm" } });
    expect(asked[1]?.messages.slice(2)).toMatchObject([
      { role: "assistant", content: "I would rather not." },
      { role: "user", content: expect.stringContaining("no whole JSON object") },
    ]);
  });

  test("twice leaves the memory to local extraction, and is not asked for a third time", async () => {
    answer = () => "{";
    expect(await extractionOf({ content: "# A heading\n\nSome text." })).toBe("local");
    expect(asked.length).toBe(2);
  });

  test("in part is taken in part", async () => {
    answer = () => JSON.stringify({ title, language: "gibberish" });
    const memory = await stored({ content: "# A heading\n\nThis is English text, and quite a lot of it, too." });
    expect(memory).toMatchObject({ title, language: "en", type: "note", state: { extraction: "llm" } });
    expect(asked.length).toBe(1);
  });
});

describe("a text is paid for once", () => {
  test("although its job has to be tried again, found or not", async () => {
    for (const reply of [JSON.stringify(DESCRIPTION), "nonsense"]) {
      asked = [];
      answer = () => reply;
      let failures = 2;
      shop.embedder.before = () => {
        if (failures-- > 0) throw new Error("the embedder is broken");
      };
      const expected = reply === "nonsense" ? "local" : "llm";
      expect(await extractionOf({ content: "Some text." })).toBe(expected);
      expect(asked.length).toBe(reply === "nonsense" ? 2 : 1);
    }
  });

  test("although it is indexed again", async () => {
    const memory = await stored({ content: "Some text." });
    shop.jobs.reopen([memory.key]);
    shop.worker.wake();
    expect(await shop.settled(memory)).toMatchObject({ ...FOUND, version: 2, state: { extraction: "llm" } });
    expect(asked.length).toBe(1);
  });

  test("although the server goes down while it is in work", async () => {
    const gate = new Gate();
    shop.embedder.before = () => gate.pass();
    const [memory] = shop.accept({ content: "Some text." });
    await until("it is being embedded", () => gate.waiting > 0);
    const stopping = shop.worker.stop();
    gate.open();
    await stopping;
    shop.startWorker();
    expect((await shop.settled(memory)).title).toBe(title);
    expect(asked.length).toBe(1);
  });

  test("but a new text is another one", async () => {
    const memory = await stored({ content: "Some text." });
    shop.memories.change(shop.projectId, memory.id, { content: "Another text." });
    shop.worker.wake();
    await shop.settled(memory);
    expect(asked.map(({ messages }) => messages[1]?.content)).toEqual([
      expect.stringContaining("Some text."),
      expect.stringContaining("Another text."),
    ]);
  });
});

describe("tokens", () => {
  const columns = () =>
    shop.database
      .prepare<{ prompt_tokens: bigint; completion_tokens: bigint }>(
        "SELECT prompt_tokens, completion_tokens FROM memories ORDER BY memory_key",
      )
      .all({})
      .map((row) => [Number(row.prompt_tokens), Number(row.completion_tokens)]);

  test("are counted for the memory, and for its project's day and month", async () => {
    answer = ({ messages }) => (messages.length === 2 ? "no" : JSON.stringify(DESCRIPTION));
    await stored({ content: "Some text." });
    answer = () => JSON.stringify(DESCRIPTION);
    await stored({ content: "Some other text." });
    expect(columns()).toEqual([
      [200, 40],
      [100, 20],
    ]);
    expect(shop.extractions.tokensToday(shop.projectId)).toBe(360);
    expect(shop.accounts.usage(shop.projectId)).toMatchObject({ queries: 0, tokens: { prompt: 300, completion: 60 } });
    shop.clock.advance(DAY_MS);
    expect(shop.extractions.tokensToday(shop.projectId)).toBe(0);
  });

  test("of an answer that broke off are counted too", async () => {
    answer = () => Promise.reject(new LlmError("timed_out", "silent", { usage: { prompt: 7, completion: 3 } }));
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    expect(columns()).toEqual([[7, 3]]);
  });

  test("of a removed project go with it", async () => {
    await stored({ content: "Some text." });
    const other = shop.accounts.createProject({ name: "other", plan: "free", settings: DEFAULT_SETTINGS });
    shop.memories.accept(other.id, [{ content: "Theirs." }]);
    shop.worker.wake();
    await until("the other project has spent", () => shop.extractions.tokensToday(other.id) > 0);
    await until("it is done", () => shop.memories.visible(other.id).length === 1);
    shop.accounts.removeProject(other.id);
    shop.accounts.eraseMemoriesOfRemoved(other.id, shop.accounts.memoriesOfRemoved(other.id, 9));
    shop.accounts.eraseProject(other.id);
    const count = (table: string) =>
      shop.database.prepare<{ n: bigint }>(`SELECT count(*) AS n FROM ${table}`).get({})?.n;
    expect([count("daily_ingestion_tokens"), count("memory_findings")]).toEqual([1n, 1n]);
  });
});

describe("a daily limit", () => {
  test("is exact for memories that come together: what is within it is asked about, nothing beyond", async () => {
    limit(360); // three calls of 120
    const accepted = shop.accept(...Array.from({ length: 8 }, (_, at) => ({ content: `Text number ${at}.` })));
    const done = await Promise.all(accepted.map((memory) => shop.settled(memory)));
    const byModel = done.filter(({ state }) => state.status === "completed" && state.extraction === "llm");
    expect([asked.length, byModel.length]).toEqual([3, 3]);
  });

  test("is passed by less than one call", async () => {
    limit(361);
    const accepted = shop.accept(...Array.from({ length: 8 }, (_, at) => ({ content: `Text number ${at}.` })));
    await Promise.all(accepted.map((memory) => shop.settled(memory)));
    expect(asked.length).toBe(4);
    expect(shop.extractions.tokensToday(shop.projectId)).toBe(480);
  });

  test("of 0 allows nothing; without one there is none", async () => {
    limit(0);
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    limit(null);
    usage = { prompt: 1e6, completion: 1e6 };
    expect(await extractionOf({ content: "Some text." })).toBe("llm");
    expect(await extractionOf({ content: "Some text again." })).toBe("llm");
  });

  test("holds for repetitions of a question", async () => {
    limit(100);
    answer = () => "no";
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    expect(asked.length).toBe(1);
  });

  test("begins anew with the next day, in UTC", async () => {
    limit(120);
    expect(await extractionOf({ content: "One." })).toBe("llm");
    expect(await extractionOf({ content: "Two." })).toBe("local");
    shop.clock.advance(DAY_MS - (shop.clock.now() % DAY_MS));
    expect(await extractionOf({ content: "Three." })).toBe("llm");
  });

  test("is one project's, and said where a memory in work stands", async () => {
    limit(0);
    const gate = new Gate();
    shop.embedder.before = () => gate.pass();
    const [memory] = shop.accept({ content: "Some text." });
    await until("it is being embedded", () => gate.waiting > 0);
    expect(shop.worker.progressOf(memory.key)).toMatchObject({
      stage: "embedding",
      note: "The project's daily token limit is reached: extracted locally until the next day (UTC).",
    });
    gate.open();
    const other = shop.accounts.createProject({ name: "other", plan: "free", settings: DEFAULT_SETTINGS });
    shop.memories.accept(other.id, [{ content: "Theirs." }]);
    shop.worker.wake();
    await until("theirs is asked about", () => asked.length === 1);
  });
});

describe("a model that fails", () => {
  const failing = (detail: { status?: number; retryAfterMs?: number } = {}) => {
    answer = () => Promise.reject(new LlmError("failed", "no luck", detail));
  };

  test("three times in a row is left alone for a minute, then asked again", async () => {
    failing();
    for (const content of ["One.", "Two.", "Three.", "Four."]) expect(await extractionOf({ content })).toBe("local");
    expect(asked.length).toBe(3);
    answer = () => JSON.stringify(DESCRIPTION);
    shop.clock.advance(60_000);
    expect(await extractionOf({ content: "Five." })).toBe("llm");
  });

  test("now and then is asked on", async () => {
    let calls = 0;
    answer = () => {
      calls += 1;
      if (calls % 3 !== 0) throw new LlmError("failed", "no luck");
      return JSON.stringify(DESCRIPTION);
    };
    const extractions: string[] = [];
    for (let at = 0; at < 6; at++) extractions.push(await extractionOf({ content: `Text ${at}.` }));
    expect(extractions).toEqual(["local", "local", "llm", "local", "local", "llm"]);
  });

  test("for a request's own sake is not left alone", async () => {
    failing({ status: 400 });
    for (let at = 0; at < 5; at++) await extractionOf({ content: `Text ${at}.` });
    expect(asked.length).toBe(5);
  });

  test("and asks for a short pause is asked again after it; for a long one it is left alone", async () => {
    answer = () => {
      if (asked.length === 1) throw new LlmError("rate_limited", "slower", { status: 429, retryAfterMs: 2_000 });
      return JSON.stringify(DESCRIPTION);
    };
    expect(await extractionOf({ content: "One." })).toBe("llm");
    expect(asked.length).toBe(2);
    failing({ status: 429, retryAfterMs: 20 * 60_000 });
    expect(await extractionOf({ content: "Two." })).toBe("local");
    expect(await extractionOf({ content: "Three." })).toBe("local");
    expect(asked.length).toBe(3);
  });

  test("by nonsense to one project is asked on by another", async () => {
    answer = ({ messages }) => (messages[1]?.content.includes("Theirs") ? JSON.stringify(DESCRIPTION) : "nonsense");
    for (let at = 0; at < 4; at++) await extractionOf({ content: `Text ${at}.` });
    expect(asked.length).toBe(6);
    const other = shop.accounts.createProject({ name: "other", plan: "free", settings: DEFAULT_SETTINGS });
    shop.memories.accept(other.id, [{ content: "Theirs." }]);
    shop.worker.wake();
    await until("theirs is asked about", () => asked.length === 7);
  });

  test("by a bug of ours is no worse", async () => {
    answer = () => {
      throw new TypeError("undefined is not a function");
    };
    expect(await extractionOf({ content: "One." })).toBe("local");
  });
});

describe("a model that takes its time", () => {
  let gate: Gate;
  beforeEach(() => {
    gate = new Gate();
    answer = async (_request, signal) => {
      const stopped = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => stopped.reject(new LlmError("stopped", "stopped")), { once: true });
      await Promise.race([gate.pass(), stopped.promise]);
      return JSON.stringify(DESCRIPTION);
    };
  });

  /** Another project, whose memories no model is asked about. */
  const newcomer = () => {
    const settings = { ...DEFAULT_SETTINGS, smart_ingestion: { enabled: false, daily_token_limit: null } };
    const { id } = shop.accounts.createProject({ name: "other", plan: "enterprise", settings });
    return (content: string) => {
      const [accepted] = shop.memories.accept(id, [{ content }]);
      if (accepted === undefined || !("memory" in accepted)) throw new Error("nothing was accepted");
      shop.worker.wake();
      return until("it is completed", () => shop.memories.get(id, accepted.memory.id)?.state.status === "completed");
    };
  };

  test("has no more than a few questions at once", async () => {
    const accepted = shop.accept(...Array.from({ length: 10 }, (_, at) => ({ content: `Text ${at}.` })));
    await until("it is asked", () => gate.waiting === CALLS_MAX);
    await stored({ content: "Needs none.", ...GIVEN });
    expect(asked.length).toBe(CALLS_MAX);
    gate.open();
    for (const memory of accepted) expect((await shop.settled(memory)).title).toBe(title);
    expect(asked.length).toBe(10);
  });

  test("holds up no memory that does not wait for it, however many do", async () => {
    const waiting = Array.from({ length: 300 }, (_, at) => ({ content: `Text ${at}.` }));
    const accepted = shop.accept(...waiting);
    await until("it is asked", () => gate.waiting === CALLS_MAX);
    const store = newcomer();
    for (let at = 0; at < 3; at++) await store(`Somebody else's ${at}.`);
    expect(asked.length).toBe(CALLS_MAX);
    gate.open();
    const last = accepted.at(-1);
    if (last !== undefined) await shop.settled(last);
    await until("all are asked about", () => asked.length === 300);
  });

  test("is not asked about what was deleted or rewritten before its turn", async () => {
    const waiting = Array.from({ length: CALLS_MAX }, (_, at) => ({ content: `Text ${at}.` }));
    shop.accept(...waiting);
    await until("it is asked", () => gate.waiting === CALLS_MAX);
    const [gone, rewritten] = shop.accept({ content: "To be deleted." }, { content: "To be rewritten." });
    await until("both are in work", () =>
      [gone, rewritten].every(({ key }) => shop.worker.progressOf(key).stage === "preparing"),
    );
    shop.memories.remove(shop.projectId, gone.id);
    shop.memories.change(shop.projectId, rewritten.id, { content: "Rewritten." });
    shop.worker.wake();
    gate.open();
    await shop.settled(rewritten);
    const texts = asked.map(({ messages }) => messages[1]?.content ?? "");
    expect(texts.filter((text) => text.includes("To be"))).toEqual([]);
    expect(texts.filter((text) => text.includes("Rewritten."))).toHaveLength(1);
  });

  test("does not hold up a stop, after which its memories are asked about again", async () => {
    const [memory] = shop.accept({ content: "Some text." });
    await until("it is asked", () => gate.waiting === 1);
    await shop.worker.stop();
    expect(shop.read(memory)?.state).toEqual({ status: "processing", attempts: 0 });
    gate.open();
    shop.startWorker();
    expect((await shop.settled(memory)).title).toBe(title);
  });
});
