// LLM extraction during ingestion: one call per memory for the attributes that the caller did not give, within the
// project's daily token limit. Whatever the language model does, memories are completed, and others do not wait for it.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { MemoryDraft } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS, type ProjectSettings } from "../../src/domain/project.ts";
import { CALLS_MAX } from "../../src/kit/keyed-semaphore.ts";
import { type LlmAnswer, LlmError, type LlmRequest, type LlmUsage } from "../../src/ports/language-model.ts";
import { ALL_VISIBLE } from "../contract/stores.ts";
import { DESCRIPTION } from "../support/llm.ts";
import { until } from "../support/until.ts";
import { Gate, type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

const { title, type, tags, language } = DESCRIPTION;
const EXTRACTED = { title, type, tags, language };
const GIVEN = { title: "Given", type: "given", tags: ["given"], language: "fr" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Requests that the model received. */
let requests: LlmRequest[];
/** Gives the model's answer to a request. */
let answer: (request: LlmRequest, signal: AbortSignal) => Promise<string> | string;
let usage: LlmUsage;
let harness: IngestHarness;

const complete = async (request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer> => {
  requests.push(request);
  return { text: await answer(request, signal), usage };
};

beforeEach(async () => {
  requests = [];
  answer = () => JSON.stringify(DESCRIPTION);
  usage = { prompt: 100, completion: 20 };
  harness = await openIngestHarness({ complete });
});
afterEach(() => harness.close());

async function change(settings: Partial<ProjectSettings>): Promise<void> {
  await harness.accounts.changeProject(harness.projectId, { settings: { ...DEFAULT_SETTINGS, ...settings } });
}

const limit = (tokens: number | null) => change({ smart_ingestion: { enabled: true, daily_token_limit: tokens } });

async function stored(draft: MemoryDraft) {
  const [memory] = await harness.accept(draft);
  return harness.settled(memory);
}

const extractionOf = async (draft: MemoryDraft) => {
  const { state } = await stored(draft);
  return state.status === "completed" ? state.extraction : state.status;
};

/** Attributes that a request asks the model for, without entities and relations. */
const fieldsOf = (request: LlmRequest | undefined) =>
  ((request?.schema?.schema.required ?? []) as readonly string[]).filter(
    (name) => !/^(entities|relations)$/.test(name),
  );

describe("a memory", () => {
  test("without given attributes has those that the model extracted in one call", async () => {
    expect(await stored({ content: "Some text." })).toMatchObject({ ...EXTRACTED, state: { extraction: "llm" } });
    expect(requests.length).toBe(1);
    expect(fieldsOf(requests[0])).toEqual(["title", "type", "tags", "language"]);
    expect(requests[0]).toMatchObject({ temperature: 0, endpoint: { model: "a test's", isTrusted: true } });
  });

  for (const field of ["title", "type", "tags", "language"] as const) {
    test(`with a given ${field} keeps it, and the model extracts the others`, async () => {
      const memory = await stored({ content: "Some text.", [field]: GIVEN[field] });
      expect(memory).toMatchObject({ ...EXTRACTED, [field]: GIVEN[field] });
      expect(fieldsOf(requests[0])).not.toContain(field);
      expect(fieldsOf(requests[0])).toHaveLength(3);
    });
  }

  test("with an empty list of tags keeps the empty list", async () => {
    expect((await stored({ content: "Some text.", tags: [] })).tags).toEqual([]);
  });

  test("with all attributes given causes no call", async () => {
    expect(await extractionOf({ content: "Some text.", ...GIVEN })).toBe("caller");
    expect(requests).toEqual([]);
  });

  test("of a project without a model is extracted locally", async () => {
    await harness.close();
    harness = await openIngestHarness();
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    expect(requests).toEqual([]);
  });

  test("of a project without smart ingestion is not extracted, only its language is detected", async () => {
    await change({ smart_ingestion: { enabled: false, daily_token_limit: null } });
    const content = "# The harbour\n\nThe engineers measured the water level near the old harbour every day.";
    const embedded: string[] = [];
    harness.embedder.before = (texts) => {
      embedded.push(...texts);
    };
    expect(await stored({ content })).toMatchObject({ title: null, type: null, tags: [], language: "en" });
    expect(embedded).toEqual([content]);
    const given = { title: "Water", type: "note", tags: ["river"] };
    expect(await stored({ content, ...given })).toMatchObject({ ...given, language: "en" });
    expect(requests).toEqual([]);
  });

  test("of a project with its own model is extracted by that model, without the operator's key", async () => {
    const llm = { ...DEFAULT_SETTINGS.llm, base_url: "http://own.test", model: "own", max_output_tokens: 50 };
    await change({ llm });
    await stored({ content: "Some text." });
    const endpoint = { baseUrl: "http://own.test", model: "own", apiKey: null, isTrusted: false };
    expect(requests[0]).toMatchObject({ endpoint, outputTokensMax: 50 });
  });

  test("is embedded with its extracted title", async () => {
    const embedded: string[] = [];
    harness.embedder.before = (texts) => {
      embedded.push(...texts);
    };
    await stored({ content: "Some text." });
    expect(embedded.some((text) => text.includes(title))).toBe(true);
  });

  test("keeps a title that the caller gave while the model was extracting one", async () => {
    const gate = new Gate();
    answer = async () => {
      await gate.pass();
      return JSON.stringify(DESCRIPTION);
    };
    const [memory] = await harness.accept({ content: "Some text." });
    await until("the model is called", () => gate.waiting === 1);
    await harness.memories.change(harness.projectId, memory.id, { title: "Given" });
    gate.open();
    expect(await harness.settled(memory)).toMatchObject({ ...EXTRACTED, title: "Given" });
  });
});

describe("an unusable reply", () => {
  test("leads to one more call, with the problem", async () => {
    answer = ({ messages }) => (messages.length === 2 ? "I would rather not." : JSON.stringify(DESCRIPTION));
    expect(await stored({ content: "Some text." })).toMatchObject({ ...EXTRACTED, state: { extraction: "llm" } });
    expect(requests[1]?.messages.slice(2)).toMatchObject([
      { role: "assistant", content: "I would rather not." },
      { role: "user", content: expect.stringContaining("no complete JSON object") },
    ]);
  });

  test("twice leads to local extraction, without a third call", async () => {
    answer = () => "{";
    expect(await extractionOf({ content: "# A heading\n\nSome text." })).toBe("local");
    expect(requests.length).toBe(2);
  });

  test("with some valid attributes is used for those", async () => {
    answer = () => JSON.stringify({ title, language: "gibberish" });
    const memory = await stored({ content: "# A heading\n\nThis is English text, and quite a lot of it, too." });
    expect(memory).toMatchObject({ title, language: "en", type: "note", state: { extraction: "llm" } });
    expect(requests.length).toBe(1);
  });
});

describe("a text is sent to the model once", () => {
  test("although its job is retried, whether the model's reply was usable or not", async () => {
    for (const reply of [JSON.stringify(DESCRIPTION), "nonsense"]) {
      requests = [];
      answer = () => reply;
      let failures = 2;
      harness.embedder.before = () => {
        if (failures-- > 0) throw new Error("the embedder is broken");
      };
      const expected = reply === "nonsense" ? "local" : "llm";
      expect(await extractionOf({ content: "Some text." })).toBe(expected);
      expect(requests.length).toBe(reply === "nonsense" ? 2 : 1);
    }
  });

  test("although it is indexed again", async () => {
    const memory = await stored({ content: "Some text." });
    await harness.jobs.reopen([memory.key]);
    harness.worker.wake();
    expect(await harness.settled(memory)).toMatchObject({ ...EXTRACTED, version: 2, state: { extraction: "llm" } });
    expect(requests.length).toBe(1);
  });

  test("although the server stops while it is processed", async () => {
    const gate = new Gate();
    harness.embedder.before = () => gate.pass();
    const [memory] = await harness.accept({ content: "Some text." });
    await until("it is being embedded", () => gate.waiting > 0);
    const stopping = harness.worker.stop();
    gate.open();
    await stopping;
    harness.startWorker();
    expect((await harness.settled(memory)).title).toBe(title);
    expect(requests.length).toBe(1);
  });

  test("but a new text is sent again", async () => {
    const memory = await stored({ content: "Some text." });
    await harness.memories.change(harness.projectId, memory.id, { content: "Another text." });
    harness.worker.wake();
    await harness.settled(memory);
    expect(requests.map(({ messages }) => messages[1]?.content)).toEqual([
      expect.stringContaining("Some text."),
      expect.stringContaining("Another text."),
    ]);
  });
});

describe("tokens", () => {
  const columns = () =>
    harness.database
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
    expect(await harness.extractions.tokensToday(harness.projectId)).toBe(360);
    expect(await harness.accounts.usage(harness.projectId)).toMatchObject({
      queries: 0,
      tokens: { prompt: 300, completion: 60 },
    });
    harness.clock.advance(DAY_MS);
    expect(await harness.extractions.tokensToday(harness.projectId)).toBe(0);
  });

  test("of an aborted answer are counted too", async () => {
    answer = () => Promise.reject(new LlmError("timed_out", "silent", { usage: { prompt: 7, completion: 3 } }));
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    expect(columns()).toEqual([[7, 3]]);
  });

  test("of a removed project are deleted with it", async () => {
    await stored({ content: "Some text." });
    const other = await harness.accounts.createProject({ name: "other", plan: "free", settings: DEFAULT_SETTINGS });
    await harness.memories.accept(other.id, [{ content: "Theirs." }]);
    harness.worker.wake();
    await until("the other project has used tokens", async () => (await harness.extractions.tokensToday(other.id)) > 0);
    await until("it is done", async () => (await harness.memories.visible(other.id, ALL_VISIBLE)).length === 1);
    await harness.accounts.removeProject(other.id);
    await harness.accounts.eraseMemoriesOfRemoved(other.id, await harness.accounts.memoriesOfRemoved(other.id, 9));
    await harness.accounts.eraseProject(other.id);
    const count = (table: string) =>
      harness.database.prepare<{ n: bigint }>(`SELECT count(*) AS n FROM ${table}`).get({})?.n;
    expect([count("daily_ingestion_tokens"), count("memory_findings")]).toEqual([1n, 1n]);
  });
});

describe("a daily limit", () => {
  test("is exact for memories that arrive together: the model is called up to the limit and not beyond", async () => {
    await limit(360); // three calls of 120
    const accepted = await harness.accept(...Array.from({ length: 8 }, (_, at) => ({ content: `Text number ${at}.` })));
    const done = await Promise.all(accepted.map((memory) => harness.settled(memory)));
    const byModel = done.filter(({ state }) => state.status === "completed" && state.extraction === "llm");
    expect([requests.length, byModel.length]).toEqual([3, 3]);
  });

  test("is exceeded by less than one call", async () => {
    await limit(361);
    const accepted = await harness.accept(...Array.from({ length: 8 }, (_, at) => ({ content: `Text number ${at}.` })));
    await Promise.all(accepted.map((memory) => harness.settled(memory)));
    expect(requests.length).toBe(4);
    expect(await harness.extractions.tokensToday(harness.projectId)).toBe(480);
  });

  test("of 0 allows no call, and null allows any number", async () => {
    await limit(0);
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    await limit(null);
    usage = { prompt: 1e6, completion: 1e6 };
    expect(await extractionOf({ content: "Some text." })).toBe("llm");
    expect(await extractionOf({ content: "Some text again." })).toBe("llm");
  });

  test("also holds for repeated calls after an unusable reply", async () => {
    await limit(100);
    answer = () => "no";
    expect(await extractionOf({ content: "Some text." })).toBe("local");
    expect(requests.length).toBe(1);
  });

  test("starts again with the next day in UTC", async () => {
    await limit(120);
    expect(await extractionOf({ content: "One." })).toBe("llm");
    expect(await extractionOf({ content: "Two." })).toBe("local");
    harness.clock.advance(DAY_MS - (harness.clock.now() % DAY_MS));
    expect(await extractionOf({ content: "Three." })).toBe("llm");
  });

  test("holds for one project, and is shown in the progress of its memories", async () => {
    await limit(0);
    const gate = new Gate();
    harness.embedder.before = () => gate.pass();
    const [memory] = await harness.accept({ content: "Some text." });
    await until("it is being embedded", () => gate.waiting > 0);
    expect(harness.worker.progressOf(memory.key)).toMatchObject({
      stage: "embedding",
      note: "The project's daily token limit is reached: extracted locally until the next day (UTC).",
    });
    gate.open();
    const other = await harness.accounts.createProject({ name: "other", plan: "free", settings: DEFAULT_SETTINGS });
    await harness.memories.accept(other.id, [{ content: "Theirs." }]);
    harness.worker.wake();
    await until("the other project's memory is sent to the model", () => requests.length === 1);
  });
});

describe("a model that fails", () => {
  const failing = (detail: { status?: number; retryAfterMs?: number } = {}) => {
    answer = () => Promise.reject(new LlmError("failed", "no luck", detail));
  };

  test("three times in a row is not called for a minute, then called again", async () => {
    failing();
    for (const content of ["One.", "Two.", "Three.", "Four."]) expect(await extractionOf({ content })).toBe("local");
    expect(requests.length).toBe(3);
    answer = () => JSON.stringify(DESCRIPTION);
    harness.clock.advance(60_000);
    expect(await extractionOf({ content: "Five." })).toBe("llm");
  });

  test("less than three times in a row is still called", async () => {
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

  test("because of a bad request is still called", async () => {
    failing({ status: 400 });
    for (let at = 0; at < 5; at++) await extractionOf({ content: `Text ${at}.` });
    expect(requests.length).toBe(5);
  });

  test("and requests a short wait is called again after it; after requesting a long one it is not called", async () => {
    answer = () => {
      if (requests.length === 1) throw new LlmError("rate_limited", "slower", { status: 429, retryAfterMs: 2_000 });
      return JSON.stringify(DESCRIPTION);
    };
    expect(await extractionOf({ content: "One." })).toBe("llm");
    expect(requests.length).toBe(2);
    failing({ status: 429, retryAfterMs: 20 * 60_000 });
    expect(await extractionOf({ content: "Two." })).toBe("local");
    expect(await extractionOf({ content: "Three." })).toBe("local");
    expect(requests.length).toBe(3);
  });

  test("with unusable replies to one project is still called for another", async () => {
    answer = ({ messages }) => (messages[1]?.content.includes("Theirs") ? JSON.stringify(DESCRIPTION) : "nonsense");
    for (let at = 0; at < 4; at++) await extractionOf({ content: `Text ${at}.` });
    expect(requests.length).toBe(6);
    const other = await harness.accounts.createProject({ name: "other", plan: "free", settings: DEFAULT_SETTINGS });
    await harness.memories.accept(other.id, [{ content: "Theirs." }]);
    harness.worker.wake();
    await until("the other project's memory is sent to the model", () => requests.length === 7);
  });

  test("because of a bug of ours leads to local extraction", async () => {
    answer = () => {
      throw new TypeError("undefined is not a function");
    };
    expect(await extractionOf({ content: "One." })).toBe("local");
  });
});

describe("a slow model", () => {
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

  /** Creates another project, without LLM extraction. Returns a function that stores a memory in it. */
  const projectWithoutModel = async () => {
    const settings = { ...DEFAULT_SETTINGS, smart_ingestion: { enabled: false, daily_token_limit: null } };
    const { id } = await harness.accounts.createProject({ name: "other", plan: "enterprise", settings });
    return async (content: string) => {
      const [accepted] = await harness.memories.accept(id, [{ content }]);
      if (accepted === undefined || !("memory" in accepted)) throw new Error("nothing was accepted");
      harness.worker.wake();
      return until(
        "it is completed",
        async () => (await harness.memories.get(id, accepted.memory.id))?.state.status === "completed",
      );
    };
  };

  test("has a limited number of concurrent calls", async () => {
    const accepted = await harness.accept(...Array.from({ length: 10 }, (_, at) => ({ content: `Text ${at}.` })));
    await until("it is called", () => gate.waiting === CALLS_MAX);
    await stored({ content: "Needs none.", ...GIVEN });
    expect(requests.length).toBe(CALLS_MAX);
    gate.open();
    for (const memory of accepted) expect((await harness.settled(memory)).title).toBe(title);
    expect(requests.length).toBe(10);
  });

  test("delays no memory that does not need it, however many wait", async () => {
    const waiting = Array.from({ length: 300 }, (_, at) => ({ content: `Text ${at}.` }));
    const accepted = await harness.accept(...waiting);
    await until("it is called", () => gate.waiting === CALLS_MAX);
    const store = await projectWithoutModel();
    for (let at = 0; at < 3; at++) await store(`Somebody else's ${at}.`);
    expect(requests.length).toBe(CALLS_MAX);
    gate.open();
    const last = accepted.at(-1);
    if (last !== undefined) await harness.settled(last);
    await until("all are sent to the model", () => requests.length === 300);
  });

  test("receives no text that was deleted or rewritten before its call", async () => {
    const waiting = Array.from({ length: CALLS_MAX }, (_, at) => ({ content: `Text ${at}.` }));
    await harness.accept(...waiting);
    await until("it is called", () => gate.waiting === CALLS_MAX);
    const [gone, rewritten] = await harness.accept({ content: "To be deleted." }, { content: "To be rewritten." });
    await until("both are being processed", () =>
      [gone, rewritten].every(({ key }) => harness.worker.progressOf(key).stage === "preparing"),
    );
    await harness.memories.remove(harness.projectId, gone.id);
    await harness.memories.change(harness.projectId, rewritten.id, { content: "Rewritten." });
    harness.worker.wake();
    gate.open();
    await harness.settled(rewritten);
    const texts = requests.map(({ messages }) => messages[1]?.content ?? "");
    expect(texts.filter((text) => text.includes("To be"))).toEqual([]);
    expect(texts.filter((text) => text.includes("Rewritten."))).toHaveLength(1);
  });

  test("does not delay a stop, and receives its memories again after the next start", async () => {
    const [memory] = await harness.accept({ content: "Some text." });
    await until("it is called", () => gate.waiting === 1);
    await harness.worker.stop();
    expect((await harness.read(memory))?.state).toEqual({ status: "processing", attempts: 0 });
    gate.open();
    harness.startWorker();
    expect((await harness.settled(memory)).title).toBe(title);
  });
});
